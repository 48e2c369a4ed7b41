"""Typed join lines, short codes and addresses: they are read, or refused with a printable sentence."""

from __future__ import annotations

import asyncio

from cli.boundary import as_failure
from protocol.crypto.keys import parse_fingerprint
from protocol.crypto.short_code import UnknownWordError, parse_short_code
from protocol.errors import NodeError
from protocol.net.addresses import format_address, parse_address, parse_join_line
from protocol.node.locator import Locator
from tests.fuzz.target import Target

NOWHERE = Locator(None, is_enabled=False)


def check(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    try:
        address = parse_address(text)
    except ValueError as error:
        assert str(error).isprintable()
    else:
        assert parse_address(format_address(address)) == address
    try:
        fingerprint = parse_fingerprint(text)
    except ValueError as error:
        assert str(error).isprintable()
    else:
        assert parse_fingerprint(fingerprint) == fingerprint
    try:
        line = parse_join_line(text)
    except ValueError as error:
        assert str(error).isprintable()
    else:
        assert parse_join_line(str(line)) == line
    try:
        code = parse_short_code(text)
    except UnknownWordError as error:
        assert str(error).isprintable()
    else:
        assert code is None or parse_short_code(str(code)) == code
    try:
        (target,) = asyncio.run(NOWHERE.resolve(text))
    except NodeError as error:
        failure = as_failure(error)
        assert failure is not None
        assert f"{failure.what}{failure.why}{failure.hint}".isprintable()
    else:
        assert target.addresses


def examples() -> tuple[bytes, ...]:
    return (
        b"192.0.2.7:7000/T4Z5-WFHY-2XDW-PX45-WP3P",
        b"192.0.2.7:7000,[fe80::1%eth0]:65535/t4z5wfhy2xdwpx45wp3p/ABCDEFGH234567AB",
        b"T4Z5-WFHY-2XDW-PX45-WP3P",
        b"T4Z5-WFHY-2XDW-PX45-WP3Q",
        b"[::1]:1",
        "bücher.example:7000/T4Z5-WFHY-2XDW-PX45-WP3P/\u0130ß".encode(),
    )


TARGETS = (Target("join-line", check, examples),)
