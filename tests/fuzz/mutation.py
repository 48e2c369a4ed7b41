"""Changes of inputs, in their bytes or in the values that the bytes encode.

Most data of the protocol is canonical msgpack, often nested inside byte strings. Inputs with changed bytes seldom get
past the decoder. So :func:`mutate` decodes a value, changes one node of it at any depth, and encodes it again.
"""

from __future__ import annotations

import contextlib
from random import Random
from typing import Final, cast

import msgpack

from protocol.wire.canonical import NotCanonicalError, Value, decode, encode

_NUMBERS: Final = (
    *(-1, 0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 31, 32, 63, 64, 127, 128, 200, 255, 256, 999, 1000, 65535, 65536),
    *(2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, -32, -33, -128, -129, -(2**31), -(2**63)),
)
_TEXTS: Final = (
    *("", " ", "\0", "\n", "\x1b[2J", "\x1b]0;x\x07", "\u202e", "\u200d", "a\u0300\u0300\u0300", "\u0130", "ß", "…"),
    *("1x1", "999x6", "liar", "exact", "pass", "concede", "accused", "accuser", "stake 5", "x" * 201, "é" * 41),
    *("lose red@1", "crown light@0", "play grey@1", "play red@1 on 0", "play dark@0 destroy red@1", "play blue@1"),
)
_BYTES: Final = (b"", b"\0", b"\xff", bytes(31), bytes(32), bytes(33), bytes(64), b"\xff" * 32, b"\xc1", b"\n", b"\x1b")
_PIECES: Final = (
    *(b"\x90", b"\x80", b"\x9f", b"\xc0", b"\xc3", b"\xca\x7f\xc0\0\0", b"\xd4\xff\0", b"\xdd\xff\xff\xff\xff"),
    *(
        b"\xdb\xff\xff\xff\xff",
        b"\xcf" + b"\xff" * 8,
        b"[",
        b"{",
        b'"',
        b"\\u0000",
        b"\r\n",
        b"1e999",
        b"NaN",
        b"9" * 30,
    ),
)


def mutate(rng: Random, data: bytes) -> bytes:
    """Return ``data`` with one change, usually in the encoded value if there is one."""
    with contextlib.suppress(ValueError):  # NotCanonicalError is a subclass
        value = decode(data)
        if rng.randrange(4):
            return encode(mutate_value(rng, value))
        if not rng.randrange(4):
            return encode_loosely(rng, value)
    return mutate_bytes(rng, data)


def mutate_bytes(rng: Random, data: bytes) -> bytes:
    """Return ``data`` with one change in its bytes."""
    place = rng.randrange(len(data) + 1)
    end = min(len(data), place + rng.choice((1, 1, 1, 2, 4, 8, 32, len(data))))
    match rng.randrange(8):
        case 0 if place < len(data):
            return data[:place] + bytes((data[place] ^ 1 << rng.randrange(8),)) + data[place + 1 :]
        case 1 if place < len(data):
            return data[:place] + bytes((rng.randrange(256),)) + data[place + 1 :]
        case 2:
            return data[:place] + data[end:]
        case 3:
            return data[:end] + data[place:]
        case 4:
            return data[:place]
        case 5:
            return data[:place] + rng.choice(_BYTES + _PIECES) + data[place:]
        case 6:
            other = rng.randrange(len(data) + 1)
            return data[:place] + data[other : other + end - place] + data[end:]
    return data[:place] + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 5))) + data[place:]


def mutate_value(rng: Random, value: Value) -> Value:
    """Return ``value`` with one changed node, which may be in an encoded value inside a byte string."""
    if isinstance(value, tuple) and value and rng.randrange(8):
        place = rng.randrange(len(value))
        return (*value[:place], mutate_value(rng, value[place]), *value[place + 1 :])
    if isinstance(value, bytes) and len(value) > 1 and rng.randrange(8):
        with contextlib.suppress(NotCanonicalError):
            if isinstance(inner := decode(value), tuple):
                return encode(mutate_value(rng, inner))
    return _change(rng, value)


def _change(rng: Random, value: Value) -> Value:
    if not rng.randrange(6):
        return _any_value(rng)
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, value ^ 1 << rng.randrange(16), rng.choice(_NUMBERS)))
    if isinstance(value, bytes):
        return rng.choice(_BYTES) if not rng.randrange(4) else mutate_bytes(rng, value)
    if isinstance(value, str):
        place = rng.randrange(len(value) + 1)
        piece = rng.choice((rng.choice(_TEXTS), chr(rng.randrange(1, 0xD800))))
        return rng.choice((piece, value[:place], value[:place] + piece + value[place:]))
    return _change_array(rng, value)


def _change_array(rng: Random, value: tuple[Value, ...]) -> Value:
    place = rng.randrange(len(value) + 1)
    if not value:
        return (_any_value(rng),)
    other = rng.randrange(len(value))
    match rng.randrange(6):
        case 0:
            return value[:other] + value[other + 1 :]
        case 1:
            return (*value[:place], value[other], *value[place:])
        case 2:
            return (*value[:place], _any_value(rng), *value[place:])
        case 3:
            return value[:place]
        case 4:
            return tuple(reversed(value))
    return (value,)


def _any_value(rng: Random) -> Value:
    match rng.randrange(4):
        case 0:
            return rng.choice(_NUMBERS)
        case 1:
            return rng.choice(_BYTES)
        case 2:
            return rng.choice(_TEXTS)
    return cast("Value", ((),) * rng.randrange(3))


def encode_loosely(rng: Random, value: Value) -> bytes:
    """Return a non-canonical msgpack encoding of ``value``.

    :raises ValueError: if there is none, as for an integer of more than 32 bits.
    """
    canonical = encode(value)
    for _ in range(100):
        loose = _loosely(rng, value)
        if loose != canonical:
            return loose
    raise ValueError(f"{value!r} has only one encoding")


def _loosely(rng: Random, value: Value) -> bytes:
    if isinstance(value, int):
        forms = []
        for place, size in enumerate((1, 2, 4, 8)):
            if 0 <= value < 256**size:
                forms.append(bytes((0xCC + place,)) + value.to_bytes(size))
            if -(256**size) <= 2 * value < 256**size:
                forms.append(bytes((0xD0 + place,)) + value.to_bytes(size, signed=True))
        return rng.choice(forms)
    if isinstance(value, tuple):
        items = b"".join(_loosely(rng, item) if rng.randrange(2) else encode(item) for item in value)
        return _header(rng, 0xDC, 2, len(value), msgpack.Packer().pack_array_header(len(value))) + items
    content = value.encode() if isinstance(value, str) else value
    header = encode(value)[: -len(content) or None]
    return _header(rng, 0xD9 if isinstance(value, str) else 0xC4, 1, len(content), header) + content


def _header(rng: Random, first: int, size: int, length: int, canonical: bytes) -> bytes:
    forms = [canonical]
    for place in range(3 if size == 1 else 2):
        if length < 256 ** (size << place):
            forms.append(bytes((first + place,)) + length.to_bytes(size << place))
    return rng.choice(forms)
