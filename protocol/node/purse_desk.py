"""The purses at the table of a host: who has yet to show one, and who has to see what of those of others."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple

from protocol import limits
from protocol.consensus.purse_proofs import End, Relation, Shown, compare
from protocol.match.lobby import HostedTable
from protocol.node.purse_keeper import Taken
from protocol.node.runtime import Runtime
from protocol.rate_limit import Bucket, Buckets
from protocol.wire.frames import ShowPurse
from protocol.wire.genesis import JoinRecord


class _Question(NamedTuple):
    """What a guest has asked: how a purse goes on from what they know of it."""

    since: bytes
    """Id of the head that they knew."""
    known: Shown
    """What they know by now."""
    answer: tuple[bytes, ...] = ()
    """What they were shown."""


class PurseDesk:
    """See the module.

    :param lose: gives away the seat of a guest, whose purse did not get in order for this reason.
    :param look: looks, by :meth:`judge`, at what a guest has shown that had to wait.
    """

    def __init__(
        self,
        runtime: Runtime,
        table: HostedTable,
        lose: Callable[[JoinRecord, str], None],
        look: Callable[[bytes, bytes], None],
    ) -> None:
        self._runtime = runtime
        self._table = table
        self._lose = lose
        self._look = look
        self._paces: Buckets[bytes] = Buckets(limits.PURSE_RATE, limits.PURSE_BURST, limits.PLAYERS)
        """Of each guest, so that none keeps the purses of others from being looked at."""
        self._pace = Bucket(limits.TABLE_PURSE_RATE, limits.TABLE_PURSE_BURST, runtime.loop.time())
        """Bytes, of all guests."""
        self._waiting: OrderedDict[bytes, deque[bytes]] = OrderedDict()
        """What came too fast for that, by guests: they have their turns one after the other."""
        self._next: asyncio.TimerHandle | None = None
        """Of the next turn."""
        self._delays: Counter[bytes] = Counter()
        """How often a guest was given more time because of that."""
        self._expecting: dict[bytes, asyncio.TimerHandle] = {}
        """Guests whose purse is not in order."""
        self._shown: set[tuple[bytes, bytes]] = set()
        """Guests, and hashes of what they were shown of the purses of others."""
        self._shown_ends: set[tuple[bytes, bytes]] = set()
        """Owners, and matches whose end they were shown."""
        self._asking: dict[tuple[bytes, bytes], _Question] = {}
        """Questions of guests who know a purse from long ago, by them and its key. Its owner has to show the rest."""
        self._answers: dict[tuple[bytes, bytes], tuple[bytes, ...]] = {}
        """What owners have shown of late: how a purse goes on from one head to another. Whoever asks the same is shown
        the same, as an owner shows only so much."""
        self._answered: set[tuple[bytes, bytes]] = set()
        """Guests who have asked so, and the head up to which they were shown the rest: they do not hold up the table by
        asking again."""

    @property
    def has_stakes(self) -> bool:
        """The rules of the table ask for purses."""
        return self._table.settings.ruleset.stakes

    def expect(self) -> None:
        """Give every guest whose purse is not in order a while to show it, or to take over newer entries."""
        if not self.has_stakes:
            return
        for record in self._table.records[1:]:
            identity = record.join.identity
            if not self._flaw(record):
                if (timer := self._expecting.pop(identity, None)) is not None:
                    timer.cancel()
            elif identity not in self._expecting:
                self._give_time(identity)

    def _give_time(self, identity: bytes) -> None:
        wait = self._runtime.bounds.handshake
        self._expecting[identity] = self._runtime.loop.call_later(wait, self._stop_waiting, identity)

    def _stop_waiting(self, identity: bytes) -> None:
        if identity in self._waiting and self._delays[identity] < limits.PURSE_DELAYS:
            self._delays[identity] += 1
            self._give_time(identity)
            return
        self._expecting.pop(identity, None)
        record = self._record(identity)
        with self._runtime.stopping_at_disk_errors():
            if record is not None and (flaw := self._flaw(record)):
                self._lose(record, flaw)

    def _record(self, identity: bytes) -> JoinRecord | None:
        return next((each for each in self._table.records[1:] if each.join.identity == identity), None)

    def _flaw(self, record: JoinRecord) -> str:
        """Return why a purse at the table is not in order, for this node or for a guest; empty if it is."""
        if flaw := self._runtime.purses.flaw(record.join):
            return flaw
        purse = record.join.purse
        asking = purse is not None and any(key == purse.key for _, key in self._asking)
        return "it was not shown how the purse goes on from what others at the table know of it" if asking else ""

    def are_in_order(self) -> bool:
        """Tell whether all purses are in order, so that the match can be proposed."""
        return not self.has_stakes or not any(self._flaw(record) for record in self._table.records)

    def show(self) -> None:
        """Show all purses to all guests but their owners."""
        if not self.has_stakes:
            return
        for guest in self._table.records[1:]:
            for record in self._table.records:
                proof = self._runtime.purses.known(record.join)
                pair = guest.join.identity, sha256(proof).digest()
                if record is not guest and pair not in self._shown:
                    self._shown.add(pair)
                    self._runtime.post(guest.join.identity, ShowPurse(proof))

    def take(self, identity: bytes, proof: bytes) -> Taken | None:
        """Look at a guest's purse, or at what a guest knows of another; None if there is nothing to look at, or if it
        has to wait.

        :raises MalformedPurseError: if it is not right.
        """
        purses = self._runtime.purses
        if not self.has_stakes or self._record(identity) is None:
            return None
        if purses.knows(proof) and not self._asking:  # a guest who has asked may lack what this node knows
            return None
        now = self._runtime.loop.time()
        if not self._paces.bucket(identity, now).admits(now):
            return None  # then the guest's purse does not get in order
        if self._waiting or self._pace.wait(now):
            self._waiting.setdefault(identity, deque(maxlen=limits.PURSES_DELAYED)).append(proof)
            self._plan_turn()
            return None
        self._pace.take(len(proof))
        return self.judge(identity, proof)

    def _plan_turn(self) -> None:
        if self._waiting and self._next is None:
            loop = self._runtime.loop
            self._next = loop.call_later(self._pace.wait(loop.time()), self._take_turn)

    def _take_turn(self) -> None:
        self._next = None
        if not self._waiting:
            return
        identity, shown = self._waiting.popitem(last=False)
        proof = shown.popleft()
        if shown:
            self._waiting[identity] = shown
        self._pace.take(len(proof))
        self._plan_turn()
        with self._runtime.stopping_at_disk_errors():
            self._look(identity, proof)

    def judge(self, identity: bytes, proof: bytes) -> Taken | None:
        """Look at what a guest has shown, whatever else was looked at of late; None if there is nothing to look at.

        :raises MalformedPurseError: if it is not right.
        """
        taken = self._runtime.purses.take(proof)
        if taken.end is not None and not self._note_end(taken.end):
            return None
        shown = taken.shown
        if shown is not None and taken.has_gap and shown.identity != identity:
            if not taken.news:
                self._ask(identity, taken.key, shown, proof)
            return taken
        if not self._is_answer(identity, taken):
            for back in taken.back:
                self._runtime.post(identity, ShowPurse(back))
        if shown is not None:
            self._answer(identity, taken.key, shown, proof)
        return taken

    def _is_answer(self, identity: bytes, taken: Taken) -> bool:
        """Tell whether an owner whose own purse is in order shows how it got there: then nothing newer is handed
        back."""
        record = self._record(identity)
        is_asked = any(key == taken.key for _, key in self._asking)
        if record is None or record.join.purse is None or record.join.purse.key != taken.key:
            return False
        return is_asked and not self._runtime.purses.flaw(record.join)

    def _note_end(self, end: End) -> bool:
        """Note an end for its owner at the table; return False if it was noted, or is of no use to them."""
        for record in self._table.records:
            purse, pair = record.join.purse, (record.join.identity, end.match)
            is_new = pair not in self._shown_ends
            if purse is not None and purse.key == end.key and purse.frozen_for(end.match) and is_new:
                self._shown_ends.add(pair)
                return True
        return False

    def hand_back(self, identity: bytes) -> None:
        """Show a guest how matches have ended for which something is frozen in their purse, if it is in order."""
        record = self._record(identity)
        if not self.has_stakes or record is None or self._flaw(record):
            return
        shown = {match for owner, match in self._shown_ends if owner == identity}
        for end in self._runtime.purses.ends(record.join, shown):
            if self._note_end(end):
                self._runtime.post(identity, ShowPurse(end.encoded()))

    def _ask(self, identity: bytes, key: bytes, known: Shown, proof: bytes) -> None:
        """Show the owner what a guest knows of a purse, so that the owner shows the rest: once, as answers use up what
        the owner may show."""
        for record in self._table.records[1:]:
            purse, owner = record.join.purse, record.join.identity
            if purse is None or purse.key != key or owner == identity:
                continue
            if (identity, key) in self._asking or (identity, purse.head) in self._answered:
                continue
            since = known.purse.head
            if answer := self._answers.get((since, purse.head)):
                self._answered.add((identity, purse.head))
                for each in answer:
                    self._runtime.post(identity, ShowPurse(each))
                continue
            is_asked = any(each.since == since and not each.answer for each in self._asking.values())
            self._asking[identity, key] = _Question(since, known)
            if not is_asked:
                self._runtime.post(owner, ShowPurse(proof))

    def _answer(self, owner: bytes, key: bytes, shown: Shown, proof: bytes) -> None:
        """Pass on what an owner shows to those who have asked for it.

        :raises MalformedPurseError: if the purse goes on from something else than what one of them knows.
        """
        record = self._record(owner)
        if record is None or record.join.purse is None or record.join.purse.key != key:
            return
        head = record.join.purse.head
        for pair, question in tuple(self._asking.items()):
            guest, asked = pair
            if asked == key and compare(question.known, shown) is Relation.NEWER:
                self._runtime.post(guest, ShowPurse(proof))
                self._asking[pair] = _Question(question.since, shown, (*question.answer, proof))
                if shown.purse.height >= record.join.purse.height:
                    self._answers[question.since, head] = self._asking.pop(pair).answer
                    self._answered.add((guest, head))
        while len(self._answers) > limits.PURSE_ANSWERS:
            del self._answers[next(iter(self._answers))]

    def release(self, identity: bytes) -> None:
        """Forget a guest who leaves, what they have asked, and what was asked about their purse."""
        self._waiting.pop(identity, None)
        self._delays.pop(identity, None)
        if (timer := self._expecting.pop(identity, None)) is not None:
            timer.cancel()
        others = [record.join for record in self._table.records if record.join.identity != identity]
        keys = {join.purse.key for join in others if join.purse is not None}
        self._shown = {each for each in self._shown if each[0] != identity}
        self._shown_ends = {each for each in self._shown_ends if each[0] != identity}
        self._answered = {each for each in self._answered if each[0] != identity}
        self._asking = {
            (guest, key): each for (guest, key), each in self._asking.items() if guest != identity and key in keys
        }

    def close(self) -> None:
        """Cancel all timers."""
        for timer in (*self._expecting.values(), self._next):
            if timer is not None:
                timer.cancel()
