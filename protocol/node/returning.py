"""The way back to a table whose match is over: the host opens it again, and the others sit down again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from protocol.errors import ErrorCode, NodeError, RefuseCode
from protocol.events import AwaitingHost, HostIs, PlayerInfo
from protocol.net.addresses import Address
from protocol.net.dialer import DialError
from protocol.net.mesh import RefusedError
from protocol.node.locator import Target
from protocol.node.refusals import refusal
from protocol.node.runtime import Runtime

AGAIN: Final = 2.0
"""Seconds between two attempts to sit down."""
GONE: Final = 20.0
"""Seconds after which an unreachable host is given up: a laptop takes that long to change networks."""

_LATER: Final[dict[str, HostIs]] = {
    RefuseCode.NO_TABLE: "there",
    RefuseCode.FULL: "full",
    RefuseCode.PLAYING: "playing",
}
"""Refusals after which this node asks again, and the state of the host that each means. If several players may host,
the first code here that one of them gave counts."""


class PossibleHost(NamedTuple):
    """A player who may have opened the table again."""

    identity: bytes
    player: PlayerInfo
    addresses: tuple[Address, ...]
    """Where they were in the last match."""


class WayBack(NamedTuple):
    """How to get back to a table."""

    hosts: tuple[PossibleHost, ...]
    """The host; or all players, if this node does not know which of them hosts."""
    match: bytes
    """Id of the last match: its players advertise it."""
    token: str = ""
    """The secret of the table's join line, if it is private."""


async def come_back(runtime: Runtime, way: WayBack, enter: Callable[[Target], Awaitable[None]]) -> Target | None:
    """Sit down as soon as a table is open.

    :return: None if there is a seat; otherwise where a match is played without this player.
    :raises NodeError: if the host has been gone for long, or does not admit this player.
    """
    last_seen = runtime.loop.time()
    told = _awaiting(way, "asked")
    runtime.tell(told)
    while not runtime.is_silent:
        refused: dict[str, Target] = {}
        for host in way.hosts:
            target = _target(runtime, way, host)
            try:
                await enter(target)
            except RefusedError as error:
                if error.code not in _LATER:
                    raise refusal(error) from None
                refused[error.code] = target
            except DialError:
                continue
            else:
                return None
        now = runtime.loop.time()
        if refused:
            last_seen = now
        elif now > last_seen + GONE:
            break
        host_is: HostIs = next((state for code, state in _LATER.items() if code in refused), "silent")
        if (awaiting := _awaiting(way, host_is)) != told:
            told = awaiting
            runtime.tell(told)
        if host_is == "playing":
            return refused[RefuseCode.PLAYING]
        await asyncio.sleep(AGAIN)
    if runtime.is_silent:
        raise NodeError(ErrorCode.FAILED, "this program has stopped")
    who = way.hosts[0].player.name if len(way.hosts) == 1 else "anybody who played"
    raise NodeError(
        ErrorCode.UNREACHABLE, f"{who} cannot be reached any more", "host a table of your own, or join another one"
    )


def _awaiting(way: WayBack, host_is: HostIs) -> AwaitingHost:
    return AwaitingHost(way.hosts[0].player if len(way.hosts) == 1 else None, host_is, GONE)


def _target(runtime: Runtime, way: WayBack, host: PossibleHost) -> Target:
    addresses = runtime.where(host.identity, way.match, host.addresses)
    return Target(tuple(addresses), b"", host.player.fingerprint, way.token)
