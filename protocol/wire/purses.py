"""The wire format of purses: the ledger of one identity, with a record for each match in which it had a stake.

The identity signs the head of its ledger in join records, so a ledger needs no signatures of its own. Its ids bind the
records, and the Twin Souls after each of them, to the head, as in a hash chain (S. Haber and W. S. Stornetta, *How to
time-stamp a digital document*, 1991).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from operator import call
from typing import Any, Final, NamedTuple, TypeGuard

from p2pdice.motes import TWIN_SOULS
from p2pdice.moves import MAX_COINS
from p2pdice.stakes import NEWCOMER_COINS
from protocol.crypto.hashing import HASH_BYTES, tagged_hash
from protocol.errors import PeerError
from protocol.limits import LEDGER, RECORDS, SOULS
from protocol.wire.canonical import Value, encode

MATCH_BYTES: Final = 16
"""A record holds this many leading bytes of a match id."""
SOUL_NAMES: Final = ("", *TWIN_SOULS.values())
"""Names of the Twin Souls by number; number 0 means none."""
NUMBER_LIMIT: Final = 2**32
"""Eras, heights and steps are below this number."""


class MalformedPurseError(PeerError, ValueError):
    """The bytes are not a purse, or break one of its rules. The message names the fault."""


class Head(NamedTuple):
    """The summary of a purse that its owner signs in a join record."""

    era: int
    height: int
    """Records since the era began."""
    id: bytes
    balance: int
    """Coins."""
    tickets: int
    """Run tickets."""


Staked = tuple[bytes, int, int]
"""The match, bet and tickets of a STAKE, which the next record has to repeat."""


class PurseState(NamedTuple):
    """The state of a purse after one of its records."""

    height: int
    id: bytes
    balance: int
    tickets: int
    souls: tuple[tuple[int, int], ...]
    """Twin Souls as pairs of number, from 1, and count."""


class Record(NamedTuple):
    """The outcome of a stake in a finished match."""

    match: bytes
    """The first :data:`MATCH_BYTES` bytes of the match id."""
    bet: int
    tickets: int
    """Run tickets staked."""
    change: int
    """Coins received minus the bet."""
    ticket_change: int
    soul: int
    """Number of the Twin Soul that was won, or 0."""

    @property
    def staked(self) -> Staked:
        return self[:3]

    @property
    def is_loss(self) -> bool:
        """Whether the whole stake was lost and nothing received. Such a record needs no evidence."""
        return (self.change, self.ticket_change, self.soul) == (-self.bet, -self.tickets, 0)


def loss(match: bytes, bet: int, tickets: int) -> Record:
    """Return the record of a stake that is lost or abandoned."""
    return Record(match[:MATCH_BYTES], bet, tickets, -bet, -tickets, 0)


class Relation(Enum):
    """How a purse that a peer shows relates to the known one. An open stake counts as a record."""

    SAME = "same"
    LONGER = "longer"
    """It continues the known purse, or belongs to a later era."""
    OLDER = "older"
    """The known purse continues it, or belongs to a later era."""
    FORK = "fork"
    """The two contradict each other."""
    FOLDED = "folded"
    """It is longer, but starts above the end of the known purse."""


class Purse:
    """The checked ledger of one identity: a state and the records after it.

    :param owner: identity key.
    :raises MalformedPurseError: if a rule is broken.
    """

    __slots__ = ("era", "owner", "records", "states")

    def __init__(self, owner: bytes, era: int, start: PurseState, records: tuple[Record, ...]) -> None:
        self.owner = owner
        self.era = era
        self.records = records
        if not start.height and start != _first(owner, era):
            raise MalformedPurseError("the first state of the purse is wrong")
        if not _fits(era, start, records):
            raise MalformedPurseError("the purse is too long")
        if len({record.match for record in records}) < len(records):
            raise MalformedPurseError("the purse has two records of one match")
        states = [start]
        for record in records:
            states.append(_after(states[-1], record))
        self.states = tuple(states)
        """The states from the first shown to the last. Each but the first results from a record."""

    @classmethod
    def new(cls, owner: bytes, era: int = 0) -> Purse:
        """Return the purse with which an era begins. Only era 0 begins with a newcomer's coins."""
        return cls(owner, era, _first(owner, era), ())

    @property
    def end(self) -> PurseState:
        return self.states[-1]

    @property
    def head(self) -> Head:
        return Head(self.era, *self.end[:4])

    @property
    def wire(self) -> tuple[Value, ...]:
        """The value to be shown and stored."""
        return _spell(self.era, self.states[0], self.records)

    def at(self, height: int) -> PurseState | None:
        """Return the state at a height, or None if it is not shown."""
        index = height - self.states[0].height
        return self.states[index] if 0 <= index < len(self.states) else None

    def record_after(self, height: int) -> Record | None:
        """Return the record after the state at a height, or None if it is not shown or does not exist."""
        index = height - self.states[0].height
        return self.records[index] if 0 <= index < len(self.records) else None

    def with_record(self, record: Record) -> Purse:
        """Return the purse with one more record. If there is no room, the older half is folded into the first state.

        :raises MalformedPurseError: if the record does not fit the state before it.
        """
        start, records = self.states[0], (*self.records, record)
        if not _fits(self.era, start, records):
            half = len(self.records) // 2
            start, records = self.states[half], records[half:]
        return Purse(self.owner, self.era, start, records)

    def relation_of(self, shown: Purse, staked: Staked | None = None, shown_staked: Staked | None = None) -> Relation:
        """Compare a purse of the same owner with this one.

        :param staked: the open stake on this purse, if known.
        :param shown_staked: the open stake on the other purse, if known.
        """
        if shown.era != self.era:
            return Relation.LONGER if shown.era > self.era else Relation.OLDER
        if shown.end.height < self.end.height:
            return Relation.FORK if shown._goes_on_in(self, shown_staked) is False else Relation.OLDER
        if shown.end.height > self.end.height:
            goes_on = self._goes_on_in(shown, staked)
            return Relation.FOLDED if goes_on is None else Relation.LONGER if goes_on else Relation.FORK
        if shown.end != self.end or (staked != shown_staked and None not in (staked, shown_staked)):
            return Relation.FORK
        if staked == shown_staked:
            return Relation.SAME
        return Relation.LONGER if staked is None else Relation.OLDER

    def _goes_on_in(self, longer: Purse, staked: Staked | None) -> bool | None:
        """Return whether ``longer`` continues this purse with this stake; None if it starts above this one's end."""
        state, record = longer.at(self.end.height), longer.record_after(self.end.height)
        if state is None or record is None:
            return None
        return state == self.end and staked in (None, record.staked)


def _first(owner: bytes, era: int) -> PurseState:
    return PurseState(0, tagged_hash("purse", owner, era), NEWCOMER_COINS if era == 0 else 0, 0, ())


def _after(before: PurseState, record: Record) -> PurseState:
    """Return the state after a record.

    :raises MalformedPurseError: if the record does not fit the state before it.
    """
    if record.bet > before.balance or record.tickets > before.tickets:
        raise MalformedPurseError("more was staked than the purse held")
    if record.change < -record.bet or record.ticket_change < -record.tickets:
        raise MalformedPurseError("more was lost than was staked")
    souls = dict(before.souls)
    if record.soul:
        souls[record.soul] = souls.get(record.soul, 0) + 1
    owned = tuple(sorted(souls.items()))
    after = PurseState(
        before.height + 1,
        tagged_hash("record", before.id, encode(tuple(record)), encode(owned)),
        before.balance + record.change,
        before.tickets + record.ticket_change,
        owned,
    )
    if not (is_amount(after.balance) and is_amount(after.tickets) and after.height < NUMBER_LIMIT):
        raise MalformedPurseError("the purse exceeds the largest amount or height")
    return after


def _spell(era: int, start: PurseState, records: tuple[Record, ...]) -> tuple[Value, ...]:
    return era, tuple(start), tuple(map(tuple, records))


def _fits(era: int, start: PurseState, records: tuple[Record, ...]) -> bool:
    return len(records) <= RECORDS and len(encode(_spell(era, start, records))) <= LEDGER


def parse_head(value: Value) -> Head:
    """Return the head in a join record.

    :raises MalformedPurseError: if its form is not valid.
    """
    return Head(*parts(value, "the head of a purse", is_number, is_number, is_id, is_amount, is_amount))


def parse_purse(owner: bytes, value: Value) -> Purse:
    """Return the purse of this owner after checking all rules.

    :raises MalformedPurseError: if one is broken.
    """
    era, start, records = parts(value, "a purse", is_number, is_array, is_array)
    state = PurseState(*parts(start, "the first state of a purse", is_number, is_id, is_amount, is_amount, _are_souls))
    # An owner never folds a ledger below 400 records, so a peer who passes it on can hide only a few more.
    if state.height and len(records) < RECORDS // 3:
        raise MalformedPurseError("the purse shows too few records")
    return Purse(owner, era, state, tuple(map(_parse_record, records)))


def _parse_record(value: Value) -> Record:
    changes = (_is_change, _is_change, _is_soul_or_none)
    return Record(*parts(value, "a record of a purse", _is_match, is_amount, is_amount, *changes))


def parts(value: object, what: str, *checks: Callable[[Any], bool]) -> tuple[Any, ...]:
    """Return the parts of an array after applying one check to each.

    :raises MalformedPurseError: if their number is wrong or a check fails.
    """
    if isinstance(value, tuple) and len(value) == len(checks) and all(map(call, checks, value)):
        return value
    raise MalformedPurseError(f"{what} has the wrong form")


def _is_match(value: object) -> bool:
    return is_bytes(value, MATCH_BYTES)


def _is_change(value: object) -> bool:
    return type(value) is int and abs(value) <= MAX_COINS


def _is_soul_or_none(value: object) -> bool:
    return type(value) is int and 0 <= value <= SOULS


def _are_souls(value: object) -> bool:
    if type(value) is not tuple or not all(type(each) is tuple and len(each) == 2 for each in value):
        return False
    numbers = [number for number, count in value if number and _is_soul_or_none(number) and count and is_amount(count)]
    return len(numbers) == len(value) and numbers == sorted(set(numbers))


def is_array(value: object) -> bool:
    return type(value) is tuple


def is_id(value: object) -> bool:
    """Return whether a value has the form of a hash, match id or purse id."""
    return is_bytes(value, HASH_BYTES)


def is_bytes(value: object, size: int) -> TypeGuard[bytes]:
    """Return whether a value is a byte string of ``size`` bytes."""
    return type(value) is bytes and len(value) == size


def is_amount(value: object) -> TypeGuard[int]:
    """Return whether a value can be an amount of coins or run tickets."""
    return type(value) is int and 0 <= value <= MAX_COINS


def is_number(value: object) -> TypeGuard[int]:
    """Return whether a value can be an era, a height or a step."""
    return type(value) is int and 0 <= value < NUMBER_LIMIT
