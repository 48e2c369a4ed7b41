"""The way back to a table whose match is over: its host can open it again, and who was there sits down again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
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
"""Seconds between two questions whether the table is open."""
GONE: Final = 20.0
"""Seconds after which a host who cannot be reached is given up. It takes a laptop that long to change networks."""

_LATER: Final[dict[str, HostIs]] = {
    RefuseCode.NO_TABLE: "there",
    RefuseCode.FULL: "full",
    RefuseCode.PLAYING: "playing",
}
"""Codes of a refusal after which it is worth asking again, and how it stands with the host then. If several may host,
the first counts that one of them has answered."""


class PossibleHost(NamedTuple):
    """Somebody who may have opened the table again."""

    identity: bytes
    player: PlayerInfo
    addresses: tuple[Address, ...]
    """Where they were in the last match."""


class WayBack(NamedTuple):
    """How to get back to a table."""

    hosts: tuple[PossibleHost, ...]
    """The host; or all players, if nobody here knows which of them hosts."""
    match: bytes
    """Id of the last match: its players can be found on the network by it."""
    token: str = ""
    """What the table asks for, if it is private."""


async def come_back(runtime: Runtime, way: WayBack, enter: Callable[[Target], Awaitable[None]]) -> Target | None:
    """Sit down as soon as a table is open.

    :return: where a match is played without this player; None if there is a seat.
    :raises NodeError: if the host has been gone for long, or does not admit this player.
    """
    last_seen = runtime.loop.time()
    told = _awaiting(way, "asked")
    runtime.tell(told)
    while not runtime.is_silent:
        refused: dict[str, Target] = {}
        for host in way.hosts:
            place = _place(runtime, way, host)
            try:
                await enter(place)
            except RefusedError as error:
                if error.code not in _LATER:
                    raise refusal(error) from None
                refused[error.code] = place
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


def _place(runtime: Runtime, way: WayBack, host: PossibleHost) -> Target:
    sighted = runtime.locator.playing(way.match)
    addresses = dict.fromkeys((*host.addresses, *runtime.store.addresses(host.identity), *sighted))
    own = set(runtime.mesh.addresses)
    places = tuple(address for address in addresses if address not in own)
    return Target(places, b"", host.player.fingerprint, way.token)


def hosts_among(candidates: Sequence[PossibleHost], convenor: bytes) -> tuple[PossibleHost, ...]:
    """Return who of the players may open the table again: its convenor, if that is known to be one of them."""
    return tuple(host for host in candidates if host.identity == convenor) or tuple(candidates)
