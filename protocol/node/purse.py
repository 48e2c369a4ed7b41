"""The purse of this node's player, and judgement of other players' purses.

Data is stored before anything that depends on it is signed or sent: the busy purse and the other players' purses before
the COMMIT of the first roll, and a stake before its STAKE.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, cast

from p2pdice.plurals import coins, plural
from protocol.consensus.ends import End, Shown, end_of, gather, read_evidence, read_shown, stake_in, stakes_of
from protocol.consensus.kinds import parse_signed
from protocol.errors import NodeError, PeerError
from protocol.match.match import Match
from protocol.storage import archive
from protocol.storage.database import DamagedPurseError, StoreError
from protocol.storage.match_names import short_id
from protocol.storage.purses import Met, OwnPurse
from protocol.storage.stakes import has_signed_end
from protocol.storage.store import Store
from protocol.wire.canonical import Value, decode, encode
from protocol.wire.genesis import Genesis, JoinRecord, parse_genesis
from protocol.wire.messages import Kind, Signed
from protocol.wire.purses import MATCH_BYTES, SOUL_NAMES, MalformedPurseError, Purse, Record, Relation, loss

log = logging.getLogger(__name__)

HANDED: Final = 8
"""How many handed-back purses are remembered for each owner."""
FOLDED: Final = "it no longer shows the records that are known here, so the two cannot be compared"
"""The refusal of a purse that a person may have reason to accept anyway."""


class PurseVerdict(NamedTuple):
    """The judgement on a purse that was shown. It is in order if both fields are empty."""

    refusal: str = ""
    """Why the purse is refused."""
    back: Shown | None = None
    """The purse to hand back to the owner, with records or a stake that the owner lacks."""

    @property
    def flaw(self) -> str:
        """Why the purse is not in order; empty if it is."""
        known = "a stake or a match is missing from it that is known here, and its owner's program has not added it"
        return self.refusal or (known if self.back is not None else "")


@dataclass(slots=True)
class _Written:
    """How much of a match is stored."""

    stakes: int = 0
    are_staked: bool = False
    """Whether all stakes that count have been opened."""
    is_ended: bool = False
    """Whether the end is stored with the evidence for it."""


class PurseKeeper:
    """The purse of this node's player, with the knowledge of others' purses.

    :param identity: the identity key of this node's player.
    :param tell: shows the owner a sentence.
    """

    def __init__(self, store: Store, identity: bytes, tell: Callable[[str], None]) -> None:
        self._store = store
        self._kept = store.purses
        self._identity = identity
        self._tell = tell
        self._own: OwnPurse | None = None
        self._live: dict[bytes, _Written] = {}
        """The matches that bind this node and that it follows."""
        self.shown: dict[bytes, Shown] = {}
        """The purses that others have shown at the present table, by owner."""
        self.handed: dict[bytes, list[Shown]] = {}
        """The purses that others have handed back at the present table, by owner."""

    # The owner's purse

    @property
    def own(self) -> OwnPurse:
        """The owner's purse; a new one if there is none yet.

        :raises StoreError: if the store cannot be read, or the stored purse is damaged.
        """
        if self._own is None:
            with _reading_the_store():
                self._own = self._kept.own(self._identity) or OwnPurse(Purse.new(self._identity))
        return self._own

    def _keep(self, own: OwnPurse) -> None:
        self._kept.keep(own)
        self._own = own

    def find_hindrance(self) -> str:
        """Settle earlier matches if possible. Return why the purse still cannot be brought to another match; empty if
        it is idle.

        :raises StoreError: as :attr:`own`, or if the store cannot be written.
        """
        self._settle_late()
        if self.own.busy not in self._live:
            self._free()  # no STAKE of that match can be signed any more
        if not (busy := self.own.busy):
            return ""
        name = self._store.name(busy) or short_id(busy)
        return f"your purse is busy with {name} until that match is over, or you give up what you staked there"

    def _free(self) -> None:
        """Make the purse idle, unless a stake has been signed."""
        if self.own.busy and self.own.stake is None:
            self._keep(self.own._replace(busy=b""))

    def show(self, record: JoinRecord) -> Shown:
        """Return the owner's purse as it is shown at a table, for this join record.

        :raises StoreError: as :attr:`own`.
        """
        return Shown(record, self.own.purse, self.own.evidence)

    def open_stake(self, match: bytes, genesis: Genesis, stake: tuple[int, int]) -> bool:
        """Store a match's stake before it is signed, and return whether it may be signed. Repeating the same stake is
        allowed.

        :raises StoreError: as :attr:`own`, or if the store cannot be written.
        """
        own = self.own
        author = next((each.join for each in genesis.roster if each.join.identity == self._identity), None)
        if author is None or author.head != own.purse.head or own.busy != match or own.stake not in (None, stake):
            return False
        if own.stake is None:
            self._keep(own._replace(stake=stake))
        return True

    def forfeit(self) -> None:
        """Give up the stake in the match that the purse is busy with.

        :raises StoreError: as :attr:`own`, or if the store cannot be written.
        """
        self._free()
        if self.own.stake is not None:
            self._write(loss(self.own.busy, *self.own.stake))

    def has_settled(self, match: bytes) -> bool:
        """Return whether the purse has a record of a match, so that nothing in that match can change the purse any
        more.

        :raises StoreError: as :attr:`own`.
        """
        return any(match.startswith(each.match) for each in self.own.purse.records)

    def take_evidence(self, evidence: Value) -> None:
        """Store how a match has ended, or that it is void, and write its record.

        :raises MalformedPurseError: if the evidence is invalid.
        :raises StoreError: as :attr:`own`, or if the store cannot be written.
        """
        self.take_end(read_evidence(evidence), evidence)

    def _write(self, record: Record, evidence: Value | None = None) -> None:
        """Write the record of the match that the purse is busy with.

        :raises MalformedPurseError: if the record cannot follow the last one.
        """
        own = self.own
        purse = own.purse.with_record(record)
        self._keep(OwnPurse(purse, own.evidence if evidence is None else evidence))
        change = f"{record.change:+,d} {plural(record.change, 'coin')}"
        soul = f" and a Twin Soul, {SOUL_NAMES[record.soul]}" if record.soul else ""
        self._tell(f"{change}{soul}: your purse has {coins(purse.end.balance)} now")

    def _settle(self, end: End, evidence: Value | None) -> None:
        """Write the record of the match that the purse is busy with. Only a loss needs no evidence of the end."""
        own, author = self.own, end.author(self._identity)
        if own.busy != end.match or author is None:
            return
        if own.stake is None:
            self._free()
            return
        record = end.record(author, own.stake)
        known = next((each.outcome for each in self._kept.met(self._identity) if each.match == end.match), b"")
        if end.stakes.get(author, own.stake) != own.stake or known not in (b"", _outcome(record)):
            return
        if evidence is not None or record.is_loss:
            with suppress(MalformedPurseError):  # a liar's evidence
                self._write(record, evidence)

    def take_own(self, shown: Shown) -> bool:
        """Accept the owner's purse as handed back by others; return whether it changed here.

        All of it is signed by this identity. Additional records were lost here. A contradiction shows that the owner
        played on from an old backup: then the next era begins, without coins.

        :raises StoreError: as :attr:`own`, or if the store cannot be written.
        """
        before, purse = self.own, self.own.purse
        relation = purse.relation_of(shown.purse, before.staked, shown.staked)
        if relation is Relation.FORK:
            self._keep(OwnPurse(Purse.new(self._identity, purse.era + 1)))
            self._tell(
                "Your purse was played on from an old backup, so it contradicts itself. You begin a new one, without"
                " coins. Nobody takes this for cheating"
            )
        elif relation in (Relation.LONGER, Relation.FOLDED):
            theirs = before if shown.purse.head == purse.head else OwnPurse(shown.purse, shown.evidence)
            if shown.stake is not None:
                theirs = theirs._replace(busy=shown.stake.message.match, stake=stake_in(shown.stake))
            self._keep(theirs)
            self._tell(f"Others knew more of your purse than you: it has {coins(theirs.purse.end.balance)} now")
        if shown.end is not None:
            self._settle(shown.end, shown.evidence)
        return self.own != before

    # Matches

    def may_sign(self, match: bytes, genesis: Genesis) -> bool:
        """Return whether this node may sign LOCK and COMMIT of a proposed match.

        It may if the owner's purse is in the state that the match names and busy with no other match, and all other
        purses are in order.

        :raises StoreError: if the store cannot be read, or stored purses are damaged.
        """
        if not genesis.ruleset.stakes:
            return True
        own = self.own
        if not genesis.has_purses or own.busy not in (b"", match):
            return False
        return all(
            each.join.head == own.purse.head if each.join.identity == self._identity else not self.flaw(each)
            for each in genesis.roster
        )

    def follow(self, match: Match, *, is_over: bool, is_given_up: bool = False) -> None:
        """Store what the last input of a match with purses has changed, before anything that depends on it is sent.

        :param is_over: whether the end of the match is stored.
        :param is_given_up: whether this node does not play the match. The others may, and their stakes count.
        :raises StoreError: if the store cannot be written. Calling again tries again.
        """
        history = match.history
        written = self._live.get(history.match)
        if written is None:
            if not (match.is_bound or match.is_formed):
                return
            self.bind(history.match, history.genesis, is_given_up=is_given_up)
            written = self._live[history.match]
        position = history.position
        are_open = position.state is not None and bool(position.state.wagers)
        if not written.are_staked and (are_open or position.kind is Kind.STAKE):
            stakes = stakes_of(history)
            if len(stakes) > written.stakes:
                self.note_stakes(history.match, history.genesis, stakes)
                written.stakes = len(stakes)
            written.are_staked = are_open
        if is_over and not written.is_ended:
            written.is_ended = self.take_end(end_of(history), gather(history))

    def bind(self, match: bytes, genesis: Genesis, *, is_given_up: bool = False) -> None:
        """Store that this node is bound to a match, with the purses shown for it, before the COMMIT of the first roll
        is sent. Do nothing if that was stored before a restart.

        :param is_given_up: whether this node has been bound and is free again, so that its own purse stays idle.
        :raises StoreError: as :attr:`own`, or if the store cannot be written.
        """
        self._live[match] = _Written()
        if any(each.match == match for each in self._kept.met(self._identity)):
            return
        players, own = [], self.own
        for record in genesis.roster:
            head, shown = record.join.head, self.shown.get(record.join.identity)
            assert head is not None
            told = encode(shown.wire) if shown is not None and shown.record == record else b""
            players.append((record.join.identity, head.era, head.height, told))
            if head == own.purse.head and not (own.busy or is_given_up):
                own = own._replace(busy=match)
        self._kept.bind(own, match, players)
        self._own = own

    def note_stakes(self, match: bytes, genesis: Genesis, stakes: Mapping[int, Signed]) -> None:
        """Store the STAKEs opened in a match, by author."""
        roster = genesis.roster
        rows = [(roster[author].join.identity, encode(signed.wire)) for author, signed in stakes.items()]
        self._kept.note_stakes(match, rows)

    def take_end(self, end: End, evidence: Value | None) -> bool:
        """Store the end of a match as this node knows it, and write its record; return whether the end is settled.

        :param evidence: None as long as too few players have signed the end.
        :raises StoreError: as :attr:`own`, or if the store cannot be written.
        """
        outcomes = [
            (each.join.identity, _outcome(end.record(author, end.stakes.get(author, (0, 0)))))
            for author, each in enumerate(end.genesis.roster)
        ]
        self._kept.note_end(end.match, outcomes, evidence or ())
        self._settle(end, evidence)
        return evidence is not None

    def give_up(self, match: bytes, *, may_form: bool) -> None:
        """Stop following a match that bound this node, and free the owner's purse from it.

        :param may_form: whether the match may be formed without this node. If not, the purses shown for it are deleted.
        :raises StoreError: as :attr:`own`, or if the store cannot be written.
        """
        self._live.pop(match, None)
        if self.own.busy == match:
            self._free()
        if not may_form:
            self._kept.unbind(match)

    def release(self, match: bytes) -> None:
        """Stop following a match, which can still be formed or resumed."""
        self._live.pop(match, None)

    def _settle_late(self) -> None:
        """Settle matches that are over but unsettled, as too few had signed their end or the power failed."""
        for match in {*self._kept.open_ends(), *filter(None, (self.own.busy,))} - self._live.keys():
            stored = self._store.match(match)
            if stored is None or not stored.over:
                continue
            try:
                history = archive.replica(self._store, stored).history
            except (NodeError, StoreError) as error:
                log.warning("match %s cannot be settled: %s", match.hex()[:8], error)
                continue
            if history.position.kind is None:
                self.take_end(end_of(history), gather(history))

    # Other players' purses

    def flaw(self, record: JoinRecord) -> str:
        """Return why the purse for a join record is not in order; empty if it is.

        :raises StoreError: as :meth:`judge`.
        """
        shown = self.shown.get(record.join.identity)
        if shown is None or shown.record != record:
            return "the purse was not shown"
        return self.judge(shown).flaw

    def judge(self, shown: Shown) -> PurseVerdict:
        """Compare a purse shown by its owner with every version of it known here.

        :raises StoreError: if the store cannot be read, or stored purses are damaged.
        """
        purse, met = shown.purse, self._kept.met(shown.owner)
        for each in reversed((*_read(met), *self.handed.get(shown.owner, ()))):
            relation = each.purse.relation_of(purse, each.staked)
            if relation in (Relation.OLDER, Relation.FORK):
                return PurseVerdict(back=self._with_end(each))
            if relation is Relation.FOLDED:
                return PurseVerdict(FOLDED)
        records = {record.match: record for record in purse.records}
        for there in met:
            if there.era == purse.era and (flaw := self._differs(there, purse, records.get(there.match[:MATCH_BYTES]))):
                return PurseVerdict(flaw)
        return PurseVerdict()

    def _differs(self, there: Met, purse: Purse, record: Record | None) -> str:
        """Return how a purse contradicts what this node saw in a match with its owner; empty if it does not."""
        stake = stake_in(_read_stake(there.stake)) if there.stake else None
        if record is None:
            is_shown = purse.states[0].height <= there.height < purse.end.height
            return "it lacks a match in which its owner had a stake" if stake is not None and is_shown else ""
        if stake is not None and (record.bet, record.tickets) != stake:
            return "its stake for a match is not the one that was opened there"
        if record.is_loss:
            return ""
        if there.outcome:
            return "" if there.outcome == _outcome(record) else "its result of a match is not the one known here"
        return "it has the end of a match that is not over" if self._has_not_ended(there.match) else ""

    def _has_not_ended(self, match: bytes) -> bool:
        """Return whether a match certainly has no evidence of its end: it has two players, and this one has signed
        neither an end nor a RESIGN."""
        stored = self._store.match(match)
        if stored is None or stored.void:
            return False
        with _reading_the_store():
            players = len(parse_genesis(stored.genesis).roster)
        return players == 2 and not has_signed_end(self._store, stored)

    def _with_end(self, known: Shown) -> Shown:
        """Return the purse to hand back, with evidence for the match of its STAKE if that is known."""
        if known.stake is None:
            return known
        match = known.stake.message.match
        with _reading_the_store():
            if evidence := self._kept.evidence(match):
                return known._replace(evidence=evidence, end=read_evidence(evidence))
        handed = (each for each in self.handed.get(known.owner, ()) if each.purse.head == known.purse.head)
        return next((each for each in handed if each.stake == known.stake and _has_its_end(each)), known)

    def take_handed(self, shown: Shown) -> bool:
        """Remember a purse that a peer hands back to its owner; return whether anything in it is new.

        :raises StoreError: as :meth:`judge`.
        """
        handed = self.handed.setdefault(shown.owner, [])
        for known in (*_read(self._kept.met(shown.owner)), *handed, *filter(None, [self.shown.get(shown.owner)])):
            relation = known.purse.relation_of(shown.purse, known.staked, shown.staked)
            is_end_new = _has_its_end(shown) and not _has_its_end(self._with_end(known))
            if relation is Relation.OLDER or (relation is Relation.SAME and not is_end_new):
                return False
        del handed[: max(0, len(handed) + 1 - HANDED)]
        handed.append(shown)
        return True


def _has_its_end(shown: Shown) -> bool:
    """Return whether the evidence belongs to the match of the STAKE."""
    return shown.end is not None and shown.stake is not None and shown.end.match == shown.stake.message.match


def _outcome(record: Record) -> bytes:
    return encode((record.change, record.ticket_change, record.soul))


@contextmanager
def _reading_the_store() -> Iterator[None]:
    """Turn errors about bytes from the store into :class:`DamagedPurseError`: no peer has caused them."""
    try:
        yield
    except PeerError as error:
        raise DamagedPurseError(f"the store is damaged: {error}") from None


@lru_cache(64)
def _read_stake(data: bytes) -> Signed:
    with _reading_the_store():
        return parse_signed(*cast("tuple[bytes, bytes]", decode(data)))


@lru_cache(64)
def _read_known(shown: bytes) -> Shown:
    """Return a purse that was shown for a match, read from its stored form."""
    with _reading_the_store():
        return read_shown(*cast("tuple[Value, Value, Value, Value]", decode(shown)))


def _read(met: Sequence[Met]) -> Iterator[Shown]:
    """Yield the purse as it was shown for each match, with the STAKE opened there."""
    for each in met:
        if each.shown:
            known = _read_known(each.shown)
            yield known._replace(stake=_read_stake(each.stake) if each.stake else None)
