"""The locator finds the addresses of nodes by typed and advertised names, and advertises this node.

This module also defines how long a node searches and dials, and the errors that its owner is shown.

Advertisements are only hints. If discovery fails, people type addresses; no match depends on it.
"""

from __future__ import annotations

import asyncio
import contextlib
import unicodedata
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence, Set
from difflib import get_close_matches
from functools import partial
from typing import Final, NamedTuple

from protocol.crypto.hashing import HASH_BYTES
from protocol.crypto.keys import fingerprint
from protocol.crypto.short_code import looks_like_a_code, looks_like_a_part_of_a_code
from protocol.errors import LOOK_ON, SEE_TABLES, ErrorCode, NodeError, RefuseCode
from protocol.events import NamesakeError, PlayerInfo
from protocol.limits import ADDRESSES_PER_NAME
from protocol.match.lobby import HostedTable
from protocol.match.match import Match
from protocol.net.addresses import Address, PortError, parse_address, parse_join_line
from protocol.net.dialer import DialError
from protocol.net.discovery import LOBBY, PLAYING, PRIVATE, Advertisement, Sighting
from protocol.net.interfaces import is_cut_off
from protocol.net.mdns import Discovery, DiscoveryUnavailable
from protocol.net.mesh import RefusedError
from protocol.version import PROTOCOL_VERSION
from protocol.wire.genesis import TABLE_ID_BYTES, MalformedGenesisError, is_private
from protocol.wire.names import is_table_name, ruleset_label

OnMissing = Callable[[NodeError], None]
"""Receives the reason why a table is not found. After that, the locator waits for the table."""

# Durations in seconds for ``join``, ``watch`` and ``rejoin``. Each address has limits.HANDSHAKE to answer.

FINDING: Final = 3.0
"""Time to look for a table by its name or number. After that ``join`` reports that there is none; at a terminal or with
``--wait`` it continues indefinitely, otherwise it fails."""
SETTLING: Final = 0.25
"""Time to keep listening after a find: others may have the same name, and answers come up to 0.12 s late (RFC 6762)."""
NEXT_HOST: Final = 0.25
"""Time from one try of a short code to the next, if the first host is slow (RFC 8305, §5)."""
RIVALS: Final = 0.5
"""Time to wait for answers from further addresses once every record has one. Milliseconds would do on a LAN, and
addresses that do not answer must not keep a player waiting."""
INQUIRIES: Final = 3
"""The number of inquiries for one name. Another one follows if the advertisements changed during the last."""
AGAIN: Final = 2.0
"""Time between two attempts to sit down at the table of the last match, after its end."""
GONE: Final = 20.0
"""Time after which a guest who plays on gives up an unreachable host: to change networks can take a laptop so long."""
NEXT_PLAYER: Final = 0.5
"""Time between a failed attempt to watch through one player and an attempt through the next."""

_NEAR: Final = 3
"""The maximum number of similar names that an error suggests."""
BY_LINE: Final = "ask the host for the join line, and type that instead of the name"
"""The hint when a name cannot lead to the table."""
A_CODE: Final = "a short code is a number and two words, as in 417-tiger-olive"
"""The hint when only a part of a code was typed."""
ID_DIGITS: Final = 4
"""The minimum number of digits of a match id that can name the match."""
LEFT: Final = "they have left"
"""The reason given for the end of a link after LEAVE."""
_CLOSING: Final = frozenset(RefuseCode) - {RefuseCode.PLAYING, RefuseCode.NO_MATCH}
_KEPT: Final = {each.value: each for each in (ErrorCode.VERSION, ErrorCode.RULES, ErrorCode.FULL)}


class Target(NamedTuple):
    """A table to join or a match to watch, as far as it is known."""

    addresses: tuple[Address, ...]
    id: bytes = b""
    """The id of the table or match; empty for any."""
    fingerprint: str = ""
    """The fingerprint of the key that must answer; empty if any key may."""
    token: str = ""
    """The secret in a private table's join line."""
    name: str = ""
    """The name of an open table known by name only. Its id and addresses may then be forged."""

    def may_be(self, identity: bytes) -> bool:
        """Return whether a peer with this identity may answer there."""
        return self.fingerprint in ("", fingerprint(identity))

    def check_name(self, shown: str) -> None:
        """Check the name of the table that a host shows.

        :raises MalformedGenesisError: if the target has another name.
        """
        if self.name not in ("", shown):
            raise MalformedGenesisError(f'the table is called "{shown}", not "{self.name}"')


class PossibleHost(NamedTuple):
    """A player who may have opened the table again."""

    identity: bytes
    player: PlayerInfo
    addresses: tuple[Address, ...]
    """The player's addresses in the last match."""


class WayBack(NamedTuple):
    """How to get back to a table."""

    hosts: tuple[PossibleHost, ...]
    """The host; or all players, if this node does not know which of them is the host."""
    match: bytes
    """The id of the last match, which its players advertise."""
    token: str = ""
    """The secret in the table's join line, if the table is private."""


def known_code(code: str) -> RefuseCode:
    """Return the code for :class:`~protocol.events.TableClosed`, given a peer's code, which may be any text."""
    return RefuseCode(code) if code in _CLOSING else RefuseCode.REFUSED


def host_gone(reason: str) -> str:
    """Return why a table has closed, given why the link to its host went down."""
    return "the host has left" if reason == LEFT else f"the host is gone ({reason})"


def unreachable(error: DialError) -> NodeError:
    """Return the error to show the owner after a failed dial."""
    hint = "check the address, and that no firewall is in between; the host's join line works most reliably"
    if error.is_other:
        hint = "the join line is of another table, or an old one: ask the host for the one that is shown now"
    return NodeError(ErrorCode.UNREACHABLE, str(error), hint)


class NamesakesSeatedError(RefusedError):
    """A player at the table has a trusted name but another key, so this node did not ask for a seat."""

    def __init__(self, players: tuple[PlayerInfo, ...]) -> None:
        super().__init__(RefuseCode.REFUSED, about_namesakes(players))
        self.players = players


def about_namesakes(players: Sequence[PlayerInfo]) -> str:
    """Return the complaint about players who have a trusted name but another key."""
    names = ", ".join(f"{player.name} ({player.fingerprint})" for player in players)
    return f"a name that you trust came with another key: {names}"


def error_for_owner(error: RefusedError) -> NodeError:
    """Return the error to show the owner after a refusal."""
    if isinstance(error, NamesakesSeatedError):
        return NamesakeError(str(error), error.players)
    if error.code == RefuseCode.PLAYING:
        return NodeError(ErrorCode.REFUSED, str(error), choices=LOOK_ON)
    return NodeError(_KEPT.get(error.code, ErrorCode.REFUSED), str(error))


class Locator:
    """Discovery for one node. It is started when first needed, and the node works without it.

    :param interface: the name or address of the only interface to use; None to use all.
    """

    def __init__(self, interface: str | None, *, is_enabled: bool) -> None:
        self._interface = interface
        self._is_enabled = is_enabled
        self._discovery: Discovery | None = None
        self._has_started = False
        self._advertised: tuple[Advertisement, int] | None = None
        self.problem = "looking for tables is switched off"
        """Why multicast cannot find tables; meaningful only if it cannot."""

    async def start(self) -> bool:
        """Start discovery if that is possible and not done yet; return whether it works."""
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

    @property
    def left_out(self) -> tuple[str, ...]:
        """The names of interfaces without multicast, if discovery works on others."""
        return self._discovery.left_out if self._discovery is not None else ()

    async def interfaces_changed(self) -> None:
        """Search again after sleep or a change of network, even if discovery could not start before."""
        if self._discovery is not None:
            await self._discovery.interfaces_changed()
        elif self._has_started:
            self._has_started = False
            await self.start()

    async def tables(self, seconds: float) -> tuple[Sighting, ...]:
        """Return the tables on the LAN, after listening for this many seconds.

        :raises NodeError: if multicast does not work on this machine.
        """
        discovery = await self._working()
        await asyncio.sleep(seconds)
        return discovery.tables()

    async def resolve(
        self, wanted: str | Sequence[Sighting], on_missing: OnMissing | None = None
    ) -> tuple[Target, ...]:
        """Return the targets for a table, given as ``NAME``, ``HOST:PORT``, a join line, or sightings.

        :param wanted: a text, or all sightings of the name of a sighted table.
        :param on_missing: if given, wait for a name that is not advertised yet.
        :returns: for a name, one target for each record that was advertised under it, including earlier records.
        :raises NodeError: if no such table is known, or it can no longer be joined.
        """
        if isinstance(wanted, str):
            if (direct := direct_target(wanted)) is not None:
                return (direct,)
            hint = A_CODE if looks_like_a_part_of_a_code(wanted) else ""
            told = await self._find(partial(tables_called, name=wanted), wanted, hint, on_missing)
        else:
            told = tuple(wanted)
        return _open_targets(told)

    async def resolve_to_watch(self, wanted: str) -> tuple[Target, ...]:
        """Return targets where a match or table can be watched, one for each node that shows it, in any order.

        :param wanted: ``NAME``, ``HOST:PORT``, a join line, or the first digits of a match id.
        :returns: for the name of an open table, one target for each of its records, as in :meth:`resolve`.
        :raises NodeError: if nothing of that name is known, or several matches have it.
        """
        if looks_like_a_code(wanted):
            hint = "to watch, type the table's name, or the long join line that the host sees"
            raise NodeError(ErrorCode.REFUSED, "a short code is for joining, not for watching", hint)
        if (direct := direct_target(wanted)) is not None:
            return (direct,)
        told = await self._find(partial(_watchable, wanted=wanted), wanted)
        matches = tuple(each for each in told if each.advertisement.status == PLAYING)
        if not matches:
            return _open_targets(told)
        ids = _ids(matches)
        if len(ids) > 1:
            hint = "name one by its id: " + ", ".join(each[:8] for each in ids)
            raise NodeError(ErrorCode.NOT_FOUND, f'{len(ids)} matches are called "{wanted}"', hint)
        return tuple(Target(each.addresses, _match_id(each.advertisement)) for each in matches)

    async def numbered(
        self, number: int, on_missing: OnMissing | None = None
    ) -> AsyncGenerator[tuple[Sighting, ...], None]:
        """Yield the sightings of tables whose short code has this number, again after each change.

        The iteration ends if advertisements change too often.

        :param on_missing: if given, wait for a number that is not advertised yet.
        :raises NodeError: before the first sighting, if there is none or multicast does not work on this machine.
        """
        discovery = await self._working()
        told: tuple[Sighting, ...] = ()

        def has_changed() -> bool:
            return discovery.numbered(number) != told

        try:
            if not await _appear(discovery, has_changed, FINDING):
                problem = f"no table here has number {number}"
                hint = "type the code as the host sees it now, or the long join line below it"
                self._report(NodeError(ErrorCode.NOT_FOUND, problem, hint), on_missing)
            while await _appear(discovery, has_changed):
                yield (told := discovery.numbered(number))
        except DiscoveryUnavailable as error:
            if not told:
                raise NodeError(ErrorCode.REFUSED, str(error), BY_LINE) from None

    def numbers(self) -> frozenset[int]:
        """Return the numbers of the short codes of all known other tables."""
        return self._discovery.numbers() if self._discovery is not None else frozenset()

    async def _find(
        self,
        fits: Callable[[tuple[Sighting, ...]], tuple[Sighting, ...]],
        wanted: str,
        hint: str = "",
        on_missing: OnMissing | None = None,
    ) -> tuple[Sighting, ...]:
        """Return the sightings that ``fits`` selects; for a name, also earlier records under that name.

        Return as soon as these are of one table or match, or when the time is up; then a prefix is enough if only one
        name begins with ``wanted``. A table whose match is beginning has two ids for a moment.

        :param hint: the hint in the error, if no similar name is known.
        :param on_missing: if given, search indefinitely. From then on only the whole name counts, as no person may be
            watching.
        :raises NodeError: if nothing is found.
        """
        discovery = await self._working()

        def found() -> tuple[Sighting, ...]:
            return fits(discovery.tables())

        def begun() -> tuple[Sighting, ...]:
            return found() or _by_prefix(discovery.tables(), wanted)

        fitting = begun
        if not await _appear(discovery, found, FINDING) and not begun():
            self._report(_not_found(wanted, discovery.tables(), hint, self._interface), on_missing)
            await _appear(discovery, fitting := found)
        await asyncio.sleep(SETTLING)
        await _appear(discovery, lambda: len(_ids(found())) < 2, FINDING)
        if not (there := fitting()):
            raise _not_found(wanted, discovery.tables(), hint, self._interface)
        start = _folded(wanted)
        by_name = {each.advertisement.name for each in there if _folded(each.advertisement.name).startswith(start)}
        if not by_name:
            return there
        try:
            return tuple(each for each in discovery.told() if each.advertisement.name in by_name)
        except DiscoveryUnavailable as error:
            raise NodeError(ErrorCode.REFUSED, str(error), BY_LINE) from None

    def _report(self, error: NodeError, on_missing: OnMissing | None) -> None:
        """Raise the error for a table that is not found; or pass it to ``on_missing``, if waiting makes sense."""
        if on_missing is None or is_cut_off(self._interface):
            raise error
        on_missing(error)

    async def _working(self) -> Discovery:
        await self.start()
        if self._discovery is None:
            raise NodeError(ErrorCode.UNREACHABLE, f"cannot look for tables: {self.problem}", BY_LINE)
        return self._discovery

    def addresses_of(self, match: bytes, taken: Set[Address]) -> tuple[Address, ...]:
        """Return the addresses of nodes that advertise a match, except those with one of the ``taken`` addresses."""
        others = (each for each in self._sighted(match) if taken.isdisjoint(each.addresses))
        return tuple(address for sighting in others for address in sighting.addresses)

    def table_of(self, match: bytes) -> str:
        """Return the name under which a running match is advertised; empty if there are several or none.

        Anybody can advertise anything, so the name is unproven.
        """
        names = {each.advertisement.name for each in self._sighted(match)} - {_anonymous(match)}
        return names.pop() if len(names) == 1 else ""

    def _sighted(self, match: bytes) -> tuple[Sighting, ...]:
        tables = self._discovery.tables() if self._discovery is not None else ()
        return tuple(each for each in tables if each.advertisement.id == match.hex())

    async def advertise(self, advertisement: Advertisement, port: int) -> None:
        """Advertise a table or match at ``port`` of this machine, replacing any earlier advertisement."""
        self._advertised = advertisement, port
        if self._discovery is not None:
            await self._discovery.advertise(advertisement, port)

    async def withdraw(self) -> None:
        self._advertised = None
        if self._discovery is not None:
            await self._discovery.withdraw()

    async def close(self) -> None:
        if self._discovery is not None:
            await self._discovery.close()


async def _appear(discovery: Discovery, is_there: Callable[[], object], seconds: float | None = None) -> bool:
    """Wait until the condition holds after a change of the advertisements; return whether it does.

    :param seconds: the time limit; None for no limit.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not is_there():
                await discovery.changed()
    return bool(is_there())


def direct_target(wanted: str) -> Target | None:
    """Return the target of an address or a join line; None for a name.

    :raises NodeError: if the address or join line is malformed.
    """
    try:
        if "/" not in wanted:
            return Target((parse_address(wanted),))
        line = parse_join_line(wanted)
    except ValueError as error:
        if "/" not in wanted and isinstance(error, PortError):
            raise NodeError(ErrorCode.NOT_FOUND, f"{wanted!r} is not an address: {error}") from None
        if "/" in wanted:
            raise NodeError(ErrorCode.NOT_FOUND, f"{wanted!r} is not a join line: {error}") from None
        return None
    return Target(line.addresses, b"", line.fingerprint, line.token)


def _ids(found: Iterable[Sighting]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.advertisement.id for each in found))


def tables_called(found: Iterable[Sighting], name: str) -> tuple[Sighting, ...]:
    """Return the tables with this name or id. Case is ignored, unless a name or id matches exactly."""
    known, spelled = tuple(found), unicodedata.normalize("NFC", name.strip())
    exact = tuple(each for each in known if spelled in (each.advertisement.name, each.advertisement.id))
    return exact or tuple(each for each in known if _folded(each.advertisement.name) == _folded(name))


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name.strip()).casefold()


def _by_prefix(found: Iterable[Sighting], wanted: str) -> tuple[Sighting, ...]:
    """Return the tables with the only name that has this prefix; an empty tuple if several names have it.

    Call this only when the time is up, as the whole name may not be advertised yet.
    """
    start = _folded(wanted)
    begun = tuple(each for each in found if start and _folded(each.advertisement.name).startswith(start))
    return begun if len({each.advertisement.name for each in begun}) == 1 else ()


def _watchable(found: Iterable[Sighting], wanted: str) -> tuple[Sighting, ...]:
    known = tuple(found)
    named = tables_called(known, wanted)
    if named or len(wanted) < ID_DIGITS:
        return named
    start = wanted.lower()
    return tuple(
        each for each in known if each.advertisement.status == PLAYING and each.advertisement.id.startswith(start)
    )


def _not_found(wanted: str, known: Iterable[Sighting], hint: str, interface: str | None) -> NodeError:
    """Return the error that says why no table has this name.

    :param interface: the name or address of the only interface used for the search.
    """
    if is_cut_off(interface):
        place = f"the network interface {interface}" if interface else "this machine"
        problem = f'no table called "{wanted}" can be found: {place} is in no network'
        return NodeError(ErrorCode.NOT_FOUND, problem, "connect it by Wi-Fi or cable")
    by_fold = {_folded(each.advertisement.name): each.advertisement.name for each in known}
    near = [each for each in by_fold if each.startswith(_folded(wanted))] or get_close_matches(_folded(wanted), by_fold)
    if near:
        meant = " or ".join(f'"{by_fold[each]}"' for each in near[:_NEAR])
        hint = f"did you mean {meant}?"
    problem = f'no table called "{wanted}" is advertised on this network'
    return NodeError(ErrorCode.NOT_FOUND, problem, hint, SEE_TABLES)


def _open_targets(told: Sequence[Sighting]) -> tuple[Target, ...]:
    """Return a target for each record of an open table, so that a forged record cannot displace the true one.

    :raises NodeError: if there is no open table, or there are too many addresses to ask.
    """
    name = told[0].advertisement.name
    open_ones = [each for each in told if each.advertisement.status == LOBBY]
    if not open_ones:
        raise NodeError(ErrorCode.REFUSED, f'the match at "{name}" has begun already', choices=LOOK_ON)
    tables = [each for each in open_ones if len(each.advertisement.id) == 2 * TABLE_ID_BYTES]
    if not tables:
        raise NodeError(ErrorCode.NOT_FOUND, f'what is advertised as "{name}" is not a table', choices=SEE_TABLES)
    if len({address for each in tables for address in each.addresses}) > ADDRESSES_PER_NAME:
        raise NodeError(ErrorCode.REFUSED, f'"{name}" is advertised at more addresses than can be asked', BY_LINE)
    targets = (
        Target(each.addresses, bytes.fromhex(each.advertisement.id), name=each.advertisement.name) for each in tables
    )
    return tuple(dict.fromkeys(targets))


def _match_id(advertisement: Advertisement) -> bytes:
    """Return the id of an advertised match; empty if it is malformed, as anybody may have sent the record."""
    return bytes.fromhex(advertisement.id) if len(advertisement.id) == 2 * HASH_BYTES else b""


def open_table(hosted: HostedTable, number: int) -> Advertisement:
    """Return the advertisement of a table that waits for players. For a private table, it reveals only the code's
    number.

    :param number: the number of the table's short code; 0 if it has none.
    """
    settings = hosted.settings
    if settings.private:
        return Advertisement("00000000", "-", "-", 0, 2, PRIVATE, PROTOCOL_VERSION, number)
    taken = len(hosted.records)
    label = ruleset_label(settings.ruleset, settings.rules_name)
    return Advertisement(hosted.id.hex(), settings.name, label, taken, settings.seats, LOBBY, PROTOCOL_VERSION, number)


def running_match(match: Match, name: str, number: int = 0) -> Advertisement:
    """Return the advertisement of a running match. Every player sends it, so that a player who was cut off can find
    one.

    :param name: the table's name; omitted for a private table, and replaced if it cannot be advertised.
    :param number: the number of the table's short code, if this node is the host.
    """
    genesis = match.history.genesis
    players = len(genesis.roster)
    if is_private(genesis.table) or not is_table_name(name):
        name = _anonymous(match.history.match)
    rules = ruleset_label(genesis.ruleset)  # each player may have another name for the rules
    identifier = match.history.match.hex()
    return Advertisement(identifier, name, rules, players, players, PLAYING, PROTOCOL_VERSION, number)


def _anonymous(match: bytes) -> str:
    """Return the name under which a match is advertised if its table's name is not."""
    return f"match {match.hex()[:8]}"
