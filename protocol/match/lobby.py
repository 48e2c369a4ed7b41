"""The lobby: how players come to sign one genesis. Sans-I/O.

The convenor keeps a :class:`HostedTable`, every other player a :class:`Seat` at it. The convenor has no power but this:
to say who is invited to sign. Until everybody named has locked the genesis there is no match, and anyone leaves freely.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from p2pdice import Ruleset
from protocol.errors import PeerError, RefuseCode
from protocol.wire.canonical import Value
from protocol.wire.frames import Table, TableAim, WatchAim
from protocol.wire.genesis import (
    Genesis,
    JoinRecord,
    MalformedGenesisError,
    Patience,
    UnknownRulesError,
    parse_genesis,
    parse_join_record,
    parse_patience,
    parse_ruleset,
)
from protocol.wire.nicknames import NicknameError, check_nickname
from protocol.wire.table_id import admits

NO_TABLE: Final = "no table is open at this address"


class NotAdmittedError(PeerError):
    """The convenor does not admit a player; ``code`` is that of the REFUSE frame."""

    def __init__(self, code: RefuseCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def check_token(table: bytes, token: str) -> None:
    """Hold what a dialler shows against what a table asks for.

    :raises NotAdmittedError: if the table is private and the token is wrong.
    """
    if not admits(table, token):
        raise NotAdmittedError(RefuseCode.REFUSED, "this table is private: it takes the whole join line of its host")


@dataclass(frozen=True, slots=True)
class TableSettings:
    """What a convenor chooses when opening a table."""

    name: str
    ruleset: Ruleset
    seats: int
    """Players in all, the convenor included: 2–10."""
    patience: Patience = field(default_factory=Patience)
    private: bool = False
    """Only who has the join line is admitted, and the table is not advertised."""


class HostedTable:
    """The convenor's side of a lobby.

    :param table: its id, from :mod:`protocol.wire.table_id`.
    :param own: the convenor's own join record.
    :param token: the secret behind the id of a private table, for its join line; empty for an open one.
    """

    def __init__(self, settings: TableSettings, table: bytes, own: JoinRecord, token: str) -> None:
        self.settings = settings
        self.table = table
        self.token = token
        self.expected: set[bytes] = set()
        """Who has played here before, and is to find a seat now: others get only what they leave."""
        self._own = own
        self._guests: dict[bytes, JoinRecord] = {}

    @property
    def records(self) -> tuple[JoinRecord, ...]:
        """Join records of all who sit here: the convenor's, then the guests' in the order of joining."""
        return (self._own, *self._guests.values())

    @property
    def is_full(self) -> bool:
        """Every seat is taken."""
        return len(self.records) >= self.settings.seats

    def check_aim(self, aim: TableAim | WatchAim) -> None:
        """Hold what a dialler wants against what this table is.

        :raises NotAdmittedError: if it is another table, or a private one and the token is wrong.
        """
        wanted = aim.id if isinstance(aim, WatchAim) else aim.table
        if wanted not in (b"", self.table):
            raise NotAdmittedError(RefuseCode.NO_TABLE, "the table is gone; another one is open at this address")
        check_token(self.table, aim.token)

    def check_room(self, identity: bytes) -> None:
        """See whether there is a seat for a player.

        :raises NotAdmittedError: if there is none, or the last ones are kept for others.
        """
        if identity in self._guests:
            return
        if self.is_full:
            raise NotAdmittedError(RefuseCode.FULL, "all seats are taken")
        if identity not in self.expected and self.settings.seats - len(self.records) <= len(self.expected):
            raise NotAdmittedError(
                RefuseCode.FULL, "the last seats are kept for a moment for those who have just played here"
            )

    def admit(self, identity: bytes, value: Value) -> None:
        """Give the player behind a link a seat; again for whoever already sits here replaces the join record.

        :param identity: the key that the link has proven.
        :raises NotAdmittedError: if the record is wrong or there is no seat left.
        """
        try:
            record = parse_join_record(value)
            _check_names((record.join.nickname,))
        except MalformedGenesisError as error:
            raise NotAdmittedError(RefuseCode.REFUSED, str(error)) from None
        if record.join.identity != identity:
            raise NotAdmittedError(RefuseCode.REFUSED, "the request for a seat has another key than the connection")
        if record.join.table != self.table:
            raise NotAdmittedError(RefuseCode.NO_TABLE, "the request for a seat is for another table")
        others = [known for known in self.records if known.join.identity != identity]
        if any(known.join.match_key == record.join.match_key for known in others):
            raise NotAdmittedError(RefuseCode.REFUSED, "the request for a seat has the key of another player")
        self.check_room(identity)
        self._guests[identity] = record
        self.expected.discard(identity)

    def release(self, identity: bytes) -> bool:
        """Take a guest's seat back; tell whether there was one."""
        return self._guests.pop(identity, None) is not None

    def renew(self, own: JoinRecord) -> None:
        """Sit here with another join record: what was withdrawn must not be proposed again under the same id."""
        self._own = own

    def frame(self) -> Table:
        """Return what every guest is told."""
        settings = self.settings
        players = tuple((record.join.nickname, record.join.identity) for record in self.records)
        return Table(settings.name, settings.ruleset.options(), settings.seats, tuple(settings.patience), players)

    def genesis(self) -> Genesis:
        """Return the proposal for whoever sits here now."""
        roster = tuple(sorted(self.records, key=lambda record: record.join.identity))
        return Genesis(self.table, self.settings.ruleset, self.settings.patience, roster)


class Lobby:
    """A table as everybody but its convenor sees it: a guest, or a spectator who waits for the start."""

    def __init__(self, table_id: bytes, convenor: bytes) -> None:
        self.id = table_id
        self.convenor = convenor
        """Identity key of the table's host."""
        self.table: Table | None = None
        """The latest word of the convenor."""
        self.ruleset: Ruleset | None = None

    def update(self, table: Table) -> None:
        """Take the convenor's word on who is here and what is played.

        :raises MalformedGenesisError: if the rules or the patience are none that this node plays by, the rules changed
            since this player sat down, or who sits there could not sign a genesis together.
        """
        ruleset = parse_ruleset(table.ruleset)
        parse_patience(table.patience)
        _check_names(name for name, _ in table.players)
        if len({identity for _, identity in table.players}) != len(table.players):
            raise MalformedGenesisError("somebody has two seats at the table")
        if self.ruleset is not None and ruleset != self.ruleset:
            raise UnknownRulesError("the host changed the rules after we sat down")
        self.ruleset = ruleset
        self.table = table

    def check_genesis(self, data: bytes) -> Genesis:
        """Return the genesis if it is one for this table.

        :raises MalformedGenesisError: if it is malformed, or is not for this table, these rules and its convenor.
        """
        genesis = parse_public_genesis(data)
        if genesis.table != self.id:
            raise MalformedGenesisError("the match is for another table")
        if genesis.ruleset != self.ruleset:
            raise UnknownRulesError("the match has other rules than the table")
        if all(record.join.identity != self.convenor for record in genesis.roster):
            raise MalformedGenesisError("the host does not play in the match")
        return genesis


class Seat(Lobby):
    """A guest's side of a lobby."""

    def __init__(self, own: JoinRecord, convenor: bytes) -> None:
        super().__init__(own.join.table, convenor)
        self.own = own

    def check_proposal(self, data: bytes) -> Genesis:
        """Return the proposed genesis if this player can sign it.

        :raises MalformedGenesisError: if :meth:`check_genesis` does, or this player's own join record is not in it.
        """
        genesis = self.check_genesis(data)
        if self.own not in genesis.roster:
            raise MalformedGenesisError("our own entry in the match is not as we wrote it")
        return genesis


def parse_public_genesis(data: bytes) -> Genesis:
    """Return a genesis whose players have names that can be shown.

    :raises MalformedGenesisError: for any other.
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
