"""Canonical encodings: the decoder accepts exactly the output of the encoder."""

from __future__ import annotations

from protocol.wire.canonical import NotCanonicalError, decode, encode
from tests.fuzz.target import Target


def check(data: bytes) -> None:
    try:
        value = decode(data)
    except NotCanonicalError as error:
        assert str(error)
        return
    assert encode(value) == data
    assert decode(encode(value)) == value


def examples() -> tuple[bytes, ...]:
    values = (
        encode((1, -1, 127, 128, -33, 2**64 - 1, -(2**63))),
        encode((b"", b"x" * 300, "", "é" * 40, "x" * 300)),
        encode(((((((),),),),),)),
        encode((0,) * 17),
    )
    foreign = (b"\xc0", b"\xc3", b"\x81\xa1a\x01", b"\xcb" + bytes(8), b"\xd6\xff\0\0\0\0", b"\xc7\x0c\xff" + bytes(12))
    return (*values, *foreign)


TARGETS = (Target("canonical", check, examples),)
