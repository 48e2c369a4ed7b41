"""The lobby: how players agree on one genesis. Sans-I/O.

The host has a :class:`HostedTable`, and an :class:`Attendance`, which tracks guests who hold up a match. Every other
player has a :class:`GuestTable`. The host decides which players may sign, and nothing else.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from p2pdice.rulesets import Ruleset
from protocol import limits
from protocol.errors import PeerError, RefuseCode
from protocol.events import Asks
from protocol.rate_limit import Bucket
from protocol.wire.canonical import Value
from protocol.wire.frames import Customs, Table, TableAim, WatchAim
from protocol.wire.genesis import (
    Genesis,
    JoinRecord,
    MalformedGenesisError,
    Patience,
    UnknownRulesError,
    admits,
    check_keys,
    parse_genesis,
    parse_join_record,
    parse_patience,
    parse_ruleset,
)
from protocol.wire.names import NicknameError, check_nickname, is_rules_name, is_table_name

NO_TABLE: Final = "no table is open at this address"


class NotAdmittedError(PeerError):
    """The host does not admit a player. ``code`` is the code of the REFUSE frame."""

    code: RefuseCode

    def __init__(self, code: RefuseCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def check_token(table: bytes, token: str) -> None:
    """Check the token of a peer that connects.

    :raises NotAdmittedError: if the table is private and the token is wrong.
    """
    if not admits(table, token):
        reason = "this table is private: you need the host's short code or join line"
        if token:
            reason = "the last part of the join line is wrong: compare it with the line that the host sees"
        raise NotAdmittedError(RefuseCode.REFUSED, reason)


@dataclass(frozen=True, slots=True)
class TableSettings:
    """The choices of a host who opens a table."""

    name: str
    ruleset: Ruleset
    seats: int
    """The number of players, including the host: 2–10."""
    patience: Patience = field(default_factory=Patience)
    private: bool = False
    """Whether players need the short code or the join line. Then only the code's number is advertised."""
    rules_name: str = ""
    """The host's name for house rules, in the form of :func:`protocol.wire.names.is_rules_name`; empty if there is
    none. The name is only for people, and nobody signs it."""
    customs: Customs = field(default_factory=Customs)
    asks: Asks = "strangers"
    unlisted: bool = False
    """Whether the table has no short code, and neither the table nor its match is advertised: nobody else should
    come."""


class HostedTable:
    """The host's side of a lobby.

    :param table_id: the id of the table, from :mod:`protocol.wire.genesis`.
    :param own: the host's own join record.
    :param token: the secret behind the id of a private table, for its join line; empty for an open table.
    """

    def __init__(self, settings: TableSettings, table_id: bytes, own: JoinRecord, token: str) -> None:
        self.settings = settings
        self.id = table_id
        self.token = token
        self.expected: set[bytes] = set()
        """Players of the previous match, whose seats are reserved. Others get only the remaining seats."""
        self._own = own
        self._guests: dict[bytes, JoinRecord] = {}

    @property
    def records(self) -> tuple[JoinRecord, ...]:
        """The join records of all players at the table: the host's, then the guests' in the order of joining."""
        return (self._own, *self._guests.values())

    @property
    def is_full(self) -> bool:
        """Whether every seat is taken."""
        return len(self.records) >= self.settings.seats

    def check_aim(self, aim: TableAim | WatchAim) -> None:
        """Check that a peer that connects wants this table.

        :raises NotAdmittedError: if it wants another table, or the table is private and the token is wrong.
        """
        wanted = aim.id if isinstance(aim, WatchAim) else aim.table
        if wanted not in (b"", self.id):
            raise NotAdmittedError(RefuseCode.NO_TABLE, "the table is gone; another one is open at this address")
        check_token(self.id, aim.token)

    def check_room(self, identity: bytes) -> None:
        """Check that there is a seat for a player.

        :raises NotAdmittedError: if there is none, or the last seats are reserved for others.
        """
        if identity in self._guests:
            return
        if self.is_full:
            raise NotAdmittedError(RefuseCode.FULL, "all seats are taken")
        if identity not in self.expected and self.settings.seats - len(self.records) <= len(self.expected):
            raise NotAdmittedError(
                RefuseCode.FULL, "the last seats are kept for a moment for the players of the last match"
            )

    def check_join(self, identity: bytes, value: Value) -> JoinRecord:
        """Return the join record of the player behind a link, after checking that they can have a seat with it.

        :param identity: the key that the link has proven.
        :raises NotAdmittedError: if the record is wrong or no seat is left.
        """
        try:
            record = parse_join_record(value)
            _check_names((record.join.nickname,))
            others = (each.join for each in self.records if each.join.identity != record.join.identity)
            check_keys([record.join, *others])
        except MalformedGenesisError as error:
            raise NotAdmittedError(RefuseCode.REFUSED, str(error)) from None
        if record.join.identity != identity:
            raise NotAdmittedError(RefuseCode.REFUSED, "the request for a seat has a different key from the connection")
        if record.join.table != self.id:
            raise NotAdmittedError(RefuseCode.NO_TABLE, "the request for a seat is for another table")
        if (seated := self._guests.get(identity)) is not None and seated.join.nickname != record.join.nickname:
            raise NotAdmittedError(RefuseCode.REFUSED, "a guest cannot change names at the table")
        self.check_room(identity)
        return record

    def admit(self, identity: bytes, value: Value) -> None:
        """Give the player behind a link a seat. If the player has one already, replace the join record.

        :raises NotAdmittedError: if :meth:`check_join` does.
        """
        self._guests[identity] = self.check_join(identity, value)
        self.expected.discard(identity)

    def release(self, identity: bytes) -> bool:
        """Free a guest's seat, and return whether the guest had one."""
        return self._guests.pop(identity, None) is not None

    def renew(self, own: JoinRecord) -> None:
        """Replace the host's join record, so that a withdrawn proposal is never made again under the same match id."""
        self._own = own

    def frame(self) -> Table:
        settings = self.settings
        players = tuple((record.join.nickname, record.join.identity) for record in self.records)
        rules, called = settings.ruleset.options(), "" if settings.ruleset.name else settings.rules_name
        return Table(settings.name, rules, settings.seats, tuple(settings.patience), players, called, settings.customs)

    def genesis(self) -> Genesis:
        """Return the genesis for the players who are now at the table."""
        roster = tuple(sorted(self.records, key=lambda record: record.join.identity))
        return Genesis(self.id, self.settings.ruleset, self.settings.patience, roster)


class Attendance:
    """The guests who hold up a host's match, and whether they may keep their seats.

    A guest *fails* a proposal by leaving, by sending a wrong message, by a JOIN that is refused, by being without a
    link for :data:`~protocol.limits.LINK_LOST` seconds, or by being silent for :data:`~protocol.limits.UNSIGNED`
    seconds in total over all proposals at this table. A guest also fails if a second proposal must be withdrawn because
    of the guest's JOIN or purse. The caller reports when proposals are made. Times are monotonic, in seconds.
    """

    def __init__(self) -> None:
        self.is_started = False
        """Whether the host wants the match to begin with the players now at the table."""
        self._failures = 0
        self.returned: set[bytes] = set()
        """Guests who caused a proposal to be withdrawn: by their JOIN, their purse, or a LEDGER of the host's purse."""
        self._silence = defaultdict[bytes, float](float)
        """The seconds for which each guest was silent until :attr:`_since`; infinity for a guest who is barred."""
        self._awaited: Collection[bytes] = ()
        self._since = 0.0
        """The time since which the host waits for the awaited guests."""
        self._lost: dict[bytes, float] = {}
        """The time since which a guest has had no link."""

    @property
    def is_closed(self) -> bool:
        """Whether no new guest gets a seat, and a match is proposed to the players who remain."""
        return self.is_started or self._failures >= limits.FAILURES

    def check(self, identity: bytes, guests: Collection[bytes]) -> None:
        """Check that a player may sit down.

        :raises NotAdmittedError: if the player has failed here, or new guests no longer get a seat.
        """
        if self._silence[identity] >= limits.UNSIGNED:
            raise NotAdmittedError(RefuseCode.CLOSED, "a match was proposed here, and you kept it from forming")
        if self.is_closed and guests and identity not in guests:
            raise NotAdmittedError(RefuseCode.FULL, "the match is about to begin with those who sit here")

    def note_return(self, identity: bytes) -> bool:
        """Record that a proposal is withdrawn for a guest in :attr:`returned`; return whether it is the first time."""
        is_first = identity not in self.returned
        self.returned.add(identity)
        return is_first

    def await_(self, guests: Collection[bytes], now: float) -> None:
        """Record that the host waits for messages from exactly these guests from now on."""
        for identity in self._awaited:
            self._silence[identity] += now - self._since
        self._awaited, self._since = guests, now

    def lost(self, identity: bytes, now: float) -> None:
        """Record that a guest's link is down."""
        self._lost.setdefault(identity, now)

    def linked(self, identity: bytes) -> None:
        """Record that a guest's link is up."""
        self._lost.pop(identity, None)

    def _ends(self, identity: bytes) -> float:
        """Return the time at which this guest will fail unless something changes."""
        silent = self._since - self._silence[identity] if identity in self._awaited else math.inf
        return min(self._lost.get(identity, math.inf) + limits.LINK_LOST, silent + limits.UNSIGNED)

    def due(self) -> float:
        """Return the time at which the next guest will fail; infinity for never."""
        return min(map(self._ends, {*self._awaited, *self._lost}), default=math.inf)

    def late(self, now: float) -> list[bytes]:
        """Return the guests whose time is up."""
        return sorted(identity for identity in {*self._awaited, *self._lost} if now >= self._ends(identity))

    def fail(self, identity: bytes, *, is_barred: bool = True) -> None:
        """Count a guest who has failed.

        :param is_barred: whether the guest is refused from now on; False if they left.
        """
        self._failures += 1
        if is_barred:
            self._silence[identity] = math.inf

    def release(self, identity: bytes) -> None:
        """Record that a guest no longer has a seat. Earlier failures are remembered."""
        self._lost.pop(identity, None)


class Lobby:
    """A table, as its guests and spectators see it."""

    def __init__(self, table_id: bytes, host: bytes) -> None:
        self.id = table_id
        self.host = host
        """The identity key of the table's host."""
        self.shown: Table | None = None
        """The host's latest TABLE frame."""
        self.ruleset: Ruleset | None = None
        """The rules of the table, once the host has shown them."""
        self._pace = Bucket(limits.LOBBY_RATE, limits.LOBBY_BURST, now=0)

    def hear(self, now: float) -> None:
        """Count a TABLE or PROPOSE frame from the host, as these are rate-limited.

        :param now: monotonic time in seconds.
        :raises MalformedGenesisError: if the frames come too fast.
        """
        if not self._pace.admits(now):
            raise MalformedGenesisError("the host changes the table too often")

    def update(self, table: Table) -> None:
        """Apply the host's description of the table.

        :raises MalformedGenesisError: if this node does not know the rules, the patience is invalid, a name cannot be
            shown, rules or customs changed since the last frame, or a player has two seats.
        """
        ruleset = parse_ruleset(table.ruleset)
        parse_patience(table.patience)
        if not is_table_name(table.name):
            raise MalformedGenesisError("the table has a name that cannot be shown")
        if table.rules_name and (ruleset.name or not is_rules_name(table.rules_name)):
            raise MalformedGenesisError("the rules have a name that cannot be theirs")
        _check_names(name for name, _ in table.players)
        if len({identity for _, identity in table.players}) != len(table.players):
            raise MalformedGenesisError("somebody has two seats at the table")
        if self.ruleset is not None and ruleset != self.ruleset:
            raise UnknownRulesError("the host changed the rules after we sat down")
        if self.shown is not None and table.customs != self.shown.customs:
            raise MalformedGenesisError("the host changed the customs after we sat down")
        self.ruleset = ruleset
        self.shown = table

    def check_genesis(self, data: bytes) -> Genesis:
        """Return the genesis in ``data``, if it is one for this table.

        :raises MalformedGenesisError: if it is malformed, or does not match the table's id, rules, patience and host.
        """
        genesis = parse_public_genesis(data)
        if genesis.table != self.id:
            raise MalformedGenesisError("the match is for another table")
        if genesis.ruleset != self.ruleset:
            raise UnknownRulesError("the rules of the match are not those of the table")
        if self.shown is None or genesis.patience != parse_patience(self.shown.patience):
            raise MalformedGenesisError("the match gives its players other times to act than the table")
        if all(record.join.identity != self.host for record in genesis.roster):
            raise MalformedGenesisError("the host does not play in the match")
        return genesis


class GuestTable(Lobby):
    """A guest's side of a lobby."""

    def __init__(self, table_id: bytes, host: bytes) -> None:
        super().__init__(table_id, host)
        self.own: JoinRecord | None = None
        """This player's latest join record; None before the player asks for a seat."""

    def check_proposal(self, data: bytes) -> Genesis | None:
        """Return the proposed genesis; None if it lacks this player's join record, which the host may not have yet.

        :raises MalformedGenesisError: if :meth:`check_genesis` does, or if the host has shown other players.
        """
        genesis = self.check_genesis(data)
        if self.own not in genesis.roster:
            return None
        assert self.shown is not None
        if {(record.join.nickname, record.join.identity) for record in genesis.roster} != {*self.shown.players}:
            raise MalformedGenesisError("the match has other players than the table")
        return genesis


def parse_public_genesis(data: bytes) -> Genesis:
    """Return a genesis whose nicknames can all be shown.

    :raises MalformedGenesisError: if it is malformed, or a nickname cannot be shown.
    """
    genesis = parse_genesis(data)
    _check_names(record.join.nickname for record in genesis.roster)
    return genesis


def _check_names(names: Iterable[str]) -> None:
    try:
        for name in names:
            check_nickname(name)
    except NicknameError as error:
        raise MalformedGenesisError(str(error)) from None
