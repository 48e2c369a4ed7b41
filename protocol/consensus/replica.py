"""A node's copy of the history, and everything that may still change it.

Theory of operation
-------------------
::

    signed message ──▶ take ──▶ behind the root: the ballot keeps it ─────┐
                           ├──▶ a vote on the root: the same              ├──▶ settle: the history follows the ballot's
                           ├──▶ proof of misconduct: kept                 │    line; behind a final step the ballot of
                           ├──▶ for a root that is not known: kept       ─┘    the next root begins
                           └──▶ of another history, or too late for this one: put aside, and compared with what its
                                author signs next

All that follows from the messages behind the root is :class:`~protocol.consensus.ballot.Ballot`'s; all that a node
holds and shows is :class:`~protocol.consensus.holdings.Holdings`'. None of them, and not this module, has a clock, a
secret or I/O. The messages to store and to pass on are in :attr:`Replica.news`.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from protocol import limits
from protocol.consensus.ballot import Ballot, Closed
from protocol.consensus.branches import Outcome
from protocol.consensus.errors import MisconductError, OtherStateError, RejectedMessageError
from protocol.consensus.history import History
from protocol.consensus.holdings import Holdings, is_vote
from protocol.consensus.kinds import RULES
from protocol.consensus.kinds.rule import Slot
from protocol.consensus.news import Learned, News, Proven, Replace, Rewound
from protocol.consensus.position import FORMED
from protocol.consensus.proofs import contradiction
from protocol.consensus.transcript import write_proof
from protocol.consensus.votes import read_vote
from protocol.wire.messages import VOTES, Kind, Message, Signed


class Replica(Holdings):
    """The history of one match at one node, and everything that may still change it."""

    def __init__(self, genesis_data: bytes, me: int | None) -> None:
        super().__init__(genesis_data, me)
        self.news: list[News] = []
        """What has changed since the owner last looked."""
        self._stored_votes: set[bytes] = set()
        """Ids of the votes on this root that were stored."""
        self._is_settled = True
        self._silent_at_lock: frozenset[int] = frozenset()
        """Those who had not signed the LOCK that votes have just closed."""

    @property
    def hurried(self) -> frozenset[int]:
        """Those for whom nobody waits in the open step: proven cheats, and behind a LOCK that votes have closed those
        who had not signed it."""
        is_behind = self.history.position.step == self.ballot.root.step
        return self._silent_at_lock.union(self.proven) if is_behind else frozenset(self.proven)

    def take_stored(self, messages: Iterable[Signed]) -> None:
        """Take the messages of a store, in their order. Then the history is where the node left it.

        :raises RejectedMessageError: if one does not belong to this match.
        """
        votes = set()
        for signed in messages:
            self.history.check_signature(signed)
            with suppress(RejectedMessageError):  # half of a proof, or a vote that nothing rests on any more
                self.take(signed)
            self.settle()
            if is_vote(signed):
                votes.add(signed.id)
        self._stored_votes = votes
        self.news.clear()

    # Taking messages

    def take(self, signed: Signed) -> Outcome:
        """Take one message of any author, and compare it with everything that is kept of that author.

        :raises RejectedMessageError: if it does not belong here; that proves nothing about its author.
        """
        message = signed.message
        if message.match != self.history.match:
            raise RejectedMessageError("a message of another match")
        said = self._said(message)
        known = next((each for each in said if each.id == signed.id), None)
        if known is not None:
            signed = known  # its signature was checked
        elif message.author not in self.proven:
            other = next((each for each in said if contradiction(each, signed)), None)
            if other is not None:
                signed = self.history.check_signature(signed)
                reason = contradiction(other, signed)
                self._prove(MisconductError(message.author, message.step, reason, (other, signed)))
                with suppress(RejectedMessageError):
                    return self._sort_in(signed)
                return Outcome.DUPLICATE
        return self._sort_in(signed)

    def _said(self, message: Message) -> list[Signed]:
        """Return the messages that are kept of an author in the place of a message, and may contradict it."""
        author = message.author
        said = [signed for slot in (False, True) if (signed := self._aside.get((author, slot))) is not None]
        said += (*self.history.said(message), *self.history.withdrawn(message))
        if message.kind is Kind.RESULT:
            said += [self.history.results[author]] if author in self.history.results else []
            said += self.ballot.branches.own(author)  # of whatever end: one player signs one in a match
        elif message.kind in VOTES:
            said += self.ballot.by(author) if message.tip == self.ballot.root.tip else ()
            said += self._votes_ahead.get(author, {}).values()
        else:
            said += self.ballot.branches.said(message.tip, author)
        return said

    def _sort_in(self, signed: Signed) -> Outcome:
        history, message = self.history, signed.message
        slot = RULES[message.kind].slot
        try:
            if slot is Slot.VOTE:
                outcome = self._take_vote(signed)
            elif slot is Slot.LOCK:
                outcome = history.countersign(signed)
            elif slot is Slot.END or (message.kind is Kind.RESIGN and message.step < FORMED):
                outcome = history.hold(signed)
            elif message.step < self.ballot.root.step:
                outcome = history.weigh(signed)
            else:
                signed = history.check_signature(signed)
                outcome = self.ballot.take(signed, is_mine=message.author == self.me)
                self._is_settled = self._is_settled and outcome is not Outcome.ADDED
        except MisconductError as error:
            self._prove(error)
            return Outcome.DUPLICATE
        except OtherStateError:
            self._put_aside(signed)
            raise
        if outcome is Outcome.ADDED and slot is not Slot.VOTE:
            self.news.append(Learned(signed))
        if outcome is Outcome.FUTURE and slot in (Slot.LOCK, Slot.END, Slot.ANY_STEP):
            self.ballot.branches.keep_for_later(history.check_signature(signed))
        if outcome in (Outcome.FOREIGN, Outcome.LATE):
            self._put_aside(signed)
        return outcome

    def _take_vote(self, signed: Signed) -> Outcome:
        history, message, root = self.history, signed.message, self.ballot.root
        signed = history.check_signature(signed)
        if message.tip != root.tip:
            if message.step <= root.step:
                return Outcome.FOREIGN
            kept = self._votes_ahead.setdefault(message.author, {})
            kept.setdefault((message.step, read_vote(signed).round, message.tip, message.kind), signed)
            if len(kept) > limits.FUTURE_PER_AUTHOR:
                del kept[max(kept)]
            return Outcome.FUTURE
        outcome = self.ballot.take(signed)
        if outcome is Outcome.FOREIGN:
            self._put_aside(signed)
            raise RejectedMessageError("a vote by a player who may not vote on this root")
        if outcome in (Outcome.ADDED, Outcome.LATE):
            self._is_settled = False
        if outcome is Outcome.ADDED:
            if message.author == self.me:
                self.store_votes((signed,))
            elif read_vote(signed).round <= self.ballot.round + 1:
                self.news.append(Learned(signed, must_store=False))
        return outcome

    def _put_aside(self, signed: Signed) -> None:
        """Keep a message that has no place. Its signature was checked."""
        self._aside[signed.message.author, is_vote(signed)] = signed._replace(checked=True)

    def store_votes(self, votes: Iterable[Signed]) -> None:
        """Have the votes stored on which a vote of this node, or a step that it closes, rests."""
        for signed in votes:
            if signed.id not in self._stored_votes and is_vote(signed):
                self._stored_votes.add(signed.id)
                self.news.append(Learned(signed))

    def _prove(self, error: MisconductError) -> None:
        if error.author not in self.proven:
            self.proven[error.author] = error
            self.ballot.convict(error.author, error.evidence[0].message.tip if len(error.evidence) == 1 else b"")
            self._is_settled = False
            proof = write_proof(self._history_at(error.evidence[0]), error)
            self.news += [*(Learned(signed) for signed in error.evidence), Proven(error, proof)]

    # Following the ballot

    def settle(self) -> None:
        """Close all steps that can be closed, and follow the branch that the ballot follows."""
        if self._is_settled:
            return
        while True:
            self._grow()
            closed = self.ballot.closed
            if closed is None:
                break
            self._close(closed)
        self._follow(self.history.follow(self.ballot.line, self.ballot.held))
        self._is_settled = True
        for signed in [*self.ballot.branches.ripe()]:  # signatures of witnesses
            with suppress(RejectedMessageError):
                self.take(signed)

    def _grow(self) -> None:
        while again := self.ballot.grow():
            evidence = [signed for error in self.proven.values() for signed in error.evidence]
            for signed in (*again, *evidence):
                with suppress(RejectedMessageError):
                    self.take(signed)

    def _follow(self, void: int | None) -> None:
        if void is not None:
            self.news.append(Rewound(void))

    def _close(self, closed: Closed) -> None:
        """Close a step for good, and begin the ballot on what follows."""
        history, old = self.history, self.ballot
        self._follow(history.follow(old.branches.path(closed.position.tip), closed.entries))
        history.settle(closed.entries, closed.certificate)
        is_lock = closed.position.kind is Kind.LOCK and bool(closed.certificate)
        silent = set(closed.position.owed).difference(old.branches.messages[closed.position.tip])
        self._silent_at_lock = frozenset(silent) if is_lock else frozenset()
        root = history.position
        self.ballot = Ballot(self.me, root, history, self.proven)
        kept = [signed for slots in old.branches.messages.values() for each in slots.values() for signed in each]
        void = [signed for signed in kept if all(each.id != signed.id for each in history.said(signed.message))]
        for signed in (*void, *(vote.signed for vote in old.votes())):
            self._put_aside(signed)
        later = [signed for each in old.branches.later.values() for signed in each.values()]
        ahead = [signed for each in self._votes_ahead.values() for signed in each.values()]
        self._votes_ahead = {}
        for signed in (*later, *ahead):
            with suppress(RejectedMessageError):
                self.take(signed)
        if self._stored_votes or closed.certificate or void:
            self._stored_votes.clear()
            self.news.append(Replace(tuple(self.messages())))

    def _history_at(self, signed: Signed) -> History:
        """Return the history by which a message is judged: this node's own, or one along a branch."""
        tip = signed.message.tip
        if self.history.goes_through(signed.message) or tip not in self.ballot.branches.positions:
            return self.history
        return self.history.along(self.ballot.branches.path(tip))
