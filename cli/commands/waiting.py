"""Lines for a person at a terminal who waits for the network."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from typing import Final

from cli.exits import ExitCode, Failure
from cli.output import complain
from cli.render import escape

MOMENT: Final = 0.8
"""Seconds. Shorter waits print nothing."""


@asynccontextmanager
async def waiting(text: str) -> AsyncIterator[None]:
    """Print ``text`` if the block takes longer than a moment and a person can read it.

    It is a line of its own on standard error: a screen reader reads it, and it never mixes with data.
    """
    if not sys.stderr.isatty():
        yield
        return
    word = asyncio.get_running_loop().call_later(MOMENT, _say, text)
    try:
        yield
    finally:
        word.cancel()


def _say(text: str) -> None:
    with suppress(OSError):  # the terminal is gone: the block will notice
        complain(text)


def place_in(typed: str) -> str:
    """Return the target that was typed. It may be a whole command, pasted between quotes.

    :raises Failure: if it is an address without a port.

    >>> place_in("p2pdice join 192.0.2.7:7000/T4Z5-WFHY-2XDW-PX45-WP3P"), place_in("Friday night")
    ('192.0.2.7:7000/T4Z5-WFHY-2XDW-PX45-WP3P', 'Friday night')
    """
    program, _, rest = typed.strip().partition(" ")
    command, _, place = rest.strip().partition(" ")
    is_command = program == "p2pdice" and command in ("join", "watch")
    target = place.strip(" '\"") or typed if is_command else typed
    with suppress(ValueError):
        address = ip_address(target.strip("[] "))
        example = f"{address}:40312" if address.version == 4 else f"[{address}]:40312"
        raise Failure(
            f"{address} is an address without a port.",
            hint=f"Type the port behind it, as the host sees it: {example}",
            code=ExitCode.USAGE,
        )
    return target


def shown(target: str) -> str:
    """Return the target as it was typed, without a join line's token."""
    return escape(target.partition("/")[0])
