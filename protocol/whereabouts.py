"""Where nodes are: what a person typed or multicast told, turned into addresses; and telling others where we are.

All of it is hints. A failure of discovery costs convenience, never a match.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, NamedTuple

from p2pdice import Ruleset
from protocol.addresses import Address, parse_address
from protocol.admission import is_private
from protocol.discovery import LOBBY, PLAYING, Advertisement, Discovery, DiscoveryUnavailable, Sighting, is_table_name
from protocol.errors import NodeError
from protocol.genesis import TABLE_ID_BYTES
from protocol.hashing import HASH_BYTES
from protocol.joinline import parse_join_line
from protocol.lobby import HostedTable
from protocol.match import Match
from protocol.rulesets import ruleset_label
from protocol.wire import PROTOCOL_VERSION

FINDING: Final = 3.0
"""Seconds to look for a table by its name."""
SETTLING: Final = 0.25
"""Seconds to listen on when one was found: several can bear its name, and answers come 0.12 late at most (RFC 6762)."""
ID_DIGITS: Final = 4
"""Digits of a match's id that it takes to name it."""


class Target(NamedTuple):
    """A table that somebody wants to join, or a match to watch, as far as is known."""

    addresses: tuple[Address, ...]
    id: bytes = b""
    """Of the table or match; empty for whichever is there."""
    fingerprint: str = ""
    """Of the key that must answer; empty if any may."""
    token: str = ""
    """What a private table asks for."""


class Whereabouts:
    """Discovery as a node uses it: started when it is first needed, and done without where there is none.

    :param interface: name or address of the only interface to use.
    """

    def __init__(self, interface: str | None, *, is_enabled: bool) -> None:
        self._interface = interface
        self._is_enabled = is_enabled
        self._discovery: Discovery | None = None
        self._has_started = False
        self._advertised: tuple[Advertisement, int] | None = None
        self.problem = "it is switched off"
        """Why tables cannot be found by multicast, if they cannot."""

    async def start(self) -> bool:
        """Begin to look around, if that is possible and has not begun; tell whether it has."""
        if self._is_enabled and not self._has_started:
            self._has_started = True
            discovery = Discovery()
            try:
                await discovery.start(self._interface)
            except DiscoveryUnavailable as error:
                self.problem = str(error)
            else:
                self._discovery = discovery
                if self._advertised is not None:
                    await discovery.advertise(*self._advertised)
        return self._discovery is not None

    async def interfaces_changed(self) -> None:
        """Look around anew, after sleep or a change of network; also where that was not possible before."""
        if self._discovery is not None:
            await self._discovery.interfaces_changed()
        elif self._has_started:
            self._has_started = False
            await self.start()

    async def tables(self, seconds: float) -> tuple[Sighting, ...]:
        """Return the tables on the LAN after listening for some seconds.

        :raises NodeError: if this machine cannot do multicast.
        """
        discovery = await self._working()
        await asyncio.sleep(seconds)
        return discovery.tables()

    async def resolve(self, wanted: str | Sighting) -> Target:
        """Return where a table is: one that was sighted, ``NAME``, ``HOST:PORT`` or a join line.

        :raises NodeError: if nothing is known of it, or it cannot be joined any more.
        """
        if isinstance(wanted, str):
            if (direct := _direct(wanted)) is not None:
                return direct
            wanted = await self._find_open(wanted)
        if wanted.advertisement.status != LOBBY:
            raise NodeError("refused", f"the match at {wanted.advertisement.name!r} has begun already")
        return Target(wanted.addresses, _id(wanted.advertisement))

    async def resolve_to_watch(self, wanted: str) -> tuple[Target, ...]:
        """Return where a match or table can be watched: one place for each node that advertises it, in any order.

        :param wanted: ``NAME``, ``HOST:PORT``, a join line, or the first digits of a match's id.
        :raises NodeError: if nothing is known of it.
        """
        if (direct := _direct(wanted)) is not None:
            return (direct,)
        found = await self._find(partial(_watchable, wanted=wanted))
        ids = _ids(found)
        if not ids:
            hint = "see what is there with: p2pdice tables"
            raise NodeError("not-found", f"nothing called {wanted!r} is advertised on this network", hint)
        if len(ids) > 1:
            hint = "name one by its id: " + ", ".join(each[:8] for each in ids)
            raise NodeError("not-found", f"{len(ids)} tables and matches are called {wanted!r}", hint)
        return tuple(Target(each.addresses, _id(each.advertisement)) for each in found)

    async def _find_open(self, name: str) -> Sighting:
        found = await self._find(partial(_called, name=name))
        if not found:
            hint = "see what is there with: p2pdice tables"
            raise NodeError("not-found", f"no table called {name!r} is advertised on this network", hint)
        # Of a match that has begun all its players tell.
        tables = [each for each in found if each.advertisement.status == LOBBY] or found[:1]
        if len(tables) > 1:
            hint = "ask the host of the right one for its join line"
            raise NodeError("not-found", f"{len(tables)} tables are called {name!r}", hint)
        return tables[0]

    async def _find(self, fits: Callable[[tuple[Sighting, ...]], tuple[Sighting, ...]]) -> tuple[Sighting, ...]:
        """Return what ``fits`` picks of the sighted, as soon as that is one table or match, or when the time is up.

        A table whose match begins is known by two ids for a moment.
        """
        discovery = await self._working()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FINDING):
                while not fits(discovery.tables()):
                    await discovery.changed()
                await asyncio.sleep(SETTLING)
                while len(_ids(fits(discovery.tables()))) > 1:
                    await discovery.changed()
        return fits(discovery.tables())

    async def _working(self) -> Discovery:
        await self.start()
        if self._discovery is None:
            hint = "ask the host for the join line, and type: p2pdice join HOST:PORT/FINGERPRINT"
            raise NodeError("unreachable", f"cannot look for tables: {self.problem}", hint)
        return self._discovery

    def playing(self, match: bytes) -> tuple[Address, ...]:
        """Return where nodes that advertise a match have been sighted."""
        if self._discovery is None:
            return ()
        seen = (each for each in self._discovery.tables() if each.advertisement.id == match.hex())
        return tuple(address for sighting in seen for address in sighting.addresses)

    async def advertise(self, advertisement: Advertisement, port: int) -> None:
        """Tell others of a table or match at ``port`` of this machine, instead of what was told before."""
        self._advertised = advertisement, port
        if self._discovery is not None:
            await self._discovery.advertise(advertisement, port)

    async def withdraw(self) -> None:
        """Tell others that what was advertised is there no more."""
        self._advertised = None
        if self._discovery is not None:
            await self._discovery.withdraw()

    async def close(self) -> None:
        """Stop looking and being seen."""
        if self._discovery is not None:
            await self._discovery.close()


def _direct(wanted: str) -> Target | None:
    """Return what an address or a join line says; None for a name.

    :raises NodeError: for a join line that is none.
    """
    try:
        if "/" not in wanted:
            return Target((parse_address(wanted),))
        line = parse_join_line(wanted)
    except ValueError as error:
        if "/" in wanted:
            raise NodeError("not-found", f"{wanted!r} is no join line: {error}") from None
        return None
    return Target(line.addresses, b"", line.fingerprint, line.token)


def _ids(found: Iterable[Sighting]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.advertisement.id for each in found))


def _called(found: Iterable[Sighting], name: str) -> tuple[Sighting, ...]:
    return tuple(each for each in found if name in (each.advertisement.name, each.advertisement.id))


def _watchable(found: Iterable[Sighting], wanted: str) -> tuple[Sighting, ...]:
    named = tuple(each for each in found if each.advertisement.name == wanted)
    if named or len(wanted) < ID_DIGITS:
        return named
    start = wanted.lower()
    return tuple(
        each for each in found if each.advertisement.status == PLAYING and each.advertisement.id.startswith(start)
    )


def _id(advertisement: Advertisement) -> bytes:
    """Return the id of what is advertised, or nothing: the record may be anybody's, and the id none."""
    length = HASH_BYTES if advertisement.status == PLAYING else TABLE_ID_BYTES
    return bytes.fromhex(advertisement.id) if len(advertisement.id) == 2 * length else b""


def open_table(hosted: HostedTable) -> Advertisement:
    """Return what is advertised of a table that waits for players."""
    settings = hosted.settings
    return _advertisement(hosted.table, settings.name, settings.ruleset, len(hosted.records), settings.seats, LOBBY)


def running_match(match: Match, name: str) -> Advertisement:
    """Return what every player of a running match advertises, so that whoever was cut off finds any of them.

    :param name: what its table was called; not told if that was private, and replaced if it can be no name.
    """
    genesis = match.record.genesis
    players = len(genesis.roster)
    if is_private(genesis.table) or not is_table_name(name):
        name = f"match {match.record.match.hex()[:8]}"
    return _advertisement(match.record.match, name, genesis.ruleset, players, players, PLAYING)


def _advertisement(
    identifier: bytes, name: str, ruleset: Ruleset, taken: int, seats: int, status: str
) -> Advertisement:
    return Advertisement(identifier.hex(), name, ruleset_label(ruleset), taken, seats, status, PROTOCOL_VERSION)
