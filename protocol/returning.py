"""The way back to a table whose match is over: its host can open it again, and who was there sits down again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from protocol.addresses import Address
from protocol.errors import NodeError
from protocol.events import AwaitingHost, PlayerInfo
from protocol.mesh import RefusedError
from protocol.refusals import refusal
from protocol.shell import Shell
from protocol.transport import DialError
from protocol.whereabouts import Target

AGAIN: Final = 2.0
"""Seconds between two questions whether the table is open."""
GONE: Final = 20.0
"""Seconds after which a host who cannot be reached is given up. It takes a laptop that long to change networks."""


class Host(NamedTuple):
    """Somebody who may have opened the table again."""

    identity: bytes
    player: PlayerInfo
    addresses: tuple[Address, ...]
    """Where they were in the last match."""


class WayBack(NamedTuple):
    """How to get back to a table."""

    hosts: tuple[Host, ...]
    """The host; or all players, if nobody here knows which of them hosts."""
    match: bytes
    """Id of the last match: its players can be found on the network by it."""
    token: str = ""
    """What the table asks for, if it is private."""


async def come_back(shell: Shell, way: WayBack, enter: Callable[[Target], Awaitable[None]]) -> None:
    """Sit down as soon as a table is open.

    :raises NodeError: if the host has been gone for long, or does not admit this player.
    """
    last_seen = shell.loop.time()
    told = _awaiting(way, set())
    shell.tell(told)
    while not shell.is_silent:
        refused = set()
        for host in way.hosts:
            try:
                await enter(_place(shell, way, host))
            except RefusedError as error:
                if error.code not in ("no-table", "playing"):
                    raise refusal(error) from None
                refused.add(error.code)
            except DialError:
                continue
            else:
                return
        now = shell.loop.time()
        if refused:
            last_seen = now
        elif now > last_seen + GONE:
            break
        if (awaiting := _awaiting(way, refused)) != told:
            told = awaiting
            shell.tell(told)
        await asyncio.sleep(AGAIN)
    if shell.is_silent:
        raise NodeError("failed", "this program has stopped")
    who = way.hosts[0].player.name if len(way.hosts) == 1 else "anybody who played"
    raise NodeError("unreachable", f"{who} cannot be reached any more", "host a table of your own, or join another one")


def _awaiting(way: WayBack, refused: set[str]) -> AwaitingHost:
    """Return what there is to wait for, by the codes with which those who may host have refused."""
    host = way.hosts[0].player if len(way.hosts) == 1 else None
    return AwaitingHost(host, "there" if "no-table" in refused else "playing" if refused else "asked", GONE)


def _place(shell: Shell, way: WayBack, host: Host) -> Target:
    sighted = shell.whereabouts.playing(way.match)
    addresses = dict.fromkeys((*host.addresses, *shell.store.addresses(host.identity), *sighted))
    own = set(shell.mesh.addresses)
    places = tuple(address for address in addresses if address not in own)
    return Target(places, b"", host.player.fingerprint, way.token)


def hosts_among(candidates: Sequence[Host], convenor: bytes) -> tuple[Host, ...]:
    """Return who of the players may open the table again: its convenor, if that is known to be one of them."""
    return tuple(host for host in candidates if host.identity == convenor) or tuple(candidates)
