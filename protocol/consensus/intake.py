"""Taking messages: where each belongs among those that a node holds, and what it contradicts."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from protocol import limits
from protocol.consensus.drafts import Draft
from protocol.consensus.electorate import Place
from protocol.consensus.errors import MisconductError, OtherStateError, RejectedMessageError
from protocol.consensus.history import History, Outcome
from protocol.consensus.holdings import Holdings
from protocol.consensus.kinds import RULES
from protocol.consensus.kinds.rule import Slot
from protocol.consensus.news import Learned, News, Proven
from protocol.consensus.proofs import contradiction
from protocol.consensus.steps import FORMED
from protocol.consensus.votes import ContradictionError, Vote, read_vote
from protocol.wire.messages import VOTES, Message, Signed


class Intake(Holdings):
    """The holdings of a node, and how a message comes to be among them. No step closes here."""

    def __init__(self, genesis_data: bytes, me: int | None) -> None:
        super().__init__(genesis_data, me)
        self.news: list[News] = []
        """What has changed since the owner last looked."""
        self._stored_votes: set[bytes] = set()
        """Ids of the votes that were stored since the last complete LOCK."""
        self._drafts: dict[int, Draft] = {}
        """The history of each peer, as far as the peer has shown it."""
        self._replaced: tuple[History, ...] = ()
        """The history that was last replaced, if no LOCK was completed since."""

    def take(self, signed: Signed) -> Outcome:
        """Take one message of any author, and compare it with everything that is kept of that author.

        :raises RejectedMessageError: if it does not belong here; that proves nothing about its author.
        """
        message, other = signed.message, None
        if message.author not in self.proven and (said := self._said(message)):
            signed = next((each for each in said if each.id == signed.id), signed)  # its signature was checked
            other = next((each for each in said if contradiction(each, signed)), None)
        if other is None:
            outcome = self._sort_in(signed)
        else:
            signed, outcome = self.history.check_signature(signed), Outcome.DUPLICATE
            with suppress(RejectedMessageError):
                outcome = self._sort_in(signed)
            self._prove(MisconductError(message.author, message.step, contradiction(other, signed), (other, signed)))
        return outcome

    def _said(self, message: Message) -> list[Signed]:
        """Return the messages that may contradict a message, apart from the one that the history has in its slot."""
        author = message.author
        said: list[Signed] = []
        for kept in (self._aside, self._later):
            if author in kept:
                said += kept[author].values()
        if message.kind in VOTES:
            said += [vote.source for vote in self.absence.on(message.tip).by(author)]
            said += self.history.said(message)
        others: tuple[History | Draft, ...] = (*self._replaced, *self._drafts.values())
        for other in others:
            said += other.said(message)
        return said

    def _sort_in(self, signed: Signed) -> Outcome:
        if signed.message.kind in VOTES:
            return self._take_vote(signed)
        is_beside = RULES[signed.message.kind].slot is Slot.LOCK
        try:
            outcome = self.history.countersign(signed) if is_beside else self.history.hold(signed)
        except MisconductError as error:
            return self._prove(error)
        except OtherStateError:
            self._put_aside(signed)
            raise
        if outcome is Outcome.ADDED:
            if signed.message.author == self.absence.me:
                self.own[signed.message.tip, signed.message.step] = signed
            self.news.append(Learned(signed))
            return outcome
        if outcome is Outcome.FUTURE:
            return self._keep_for_later(self.history.check_signature(signed), 0)
        return outcome if outcome is Outcome.DUPLICATE else self._put_aside(signed)

    def _take_vote(self, signed: Signed) -> Outcome:
        history, message = self.history, signed.message
        if message.match != history.match:
            raise RejectedMessageError("a message of another match")
        if message.step > history.position.step:
            return self._keep_for_later(history.check_signature(signed), read_vote(signed).round)
        if not history.goes_through(message) or message.step < history.position.locked:
            return self._put_aside(history.check_signature(signed))
        if not self.absence.may_be_news(read_vote(signed)):
            return Outcome.DUPLICATE
        try:
            vote = history.check_vote(signed)
        except RejectedMessageError:
            self._put_aside(history.check_signature(signed))
            raise
        try:
            if not self.absence.take(vote, history.place(message.step)):
                return Outcome.LATE
        except ContradictionError:
            pass  # it counts all the same
        if vote.author == self.absence.me:
            self.store_votes((vote,))
        elif vote.round <= self.absence.last_counted(self, history.place(message.step).majority):
            self.news.append(Learned(vote.source, must_store=False))
        return Outcome.ADDED

    def _put_aside(self, signed: Signed) -> Outcome:
        """Keep a message that has no place in the history. Its signature was checked."""
        is_vote, is_here = signed.message.kind in VOTES, self.history.goes_through(signed.message)
        if not is_here:
            self._remember_own(signed)
        self._aside.setdefault(signed.message.author, {})[is_vote, is_here] = signed._replace(checked=True)
        return Outcome.DUPLICATE if is_here else Outcome.FOREIGN

    def store_votes(self, votes: Iterable[Vote]) -> None:
        """Have the votes stored on which a vote of this node, or a step that it closes, rests."""
        for vote in votes:
            if vote.source.id not in self._stored_votes:
                self._stored_votes.add(vote.source.id)
                self.news.append(Learned(vote.source))

    def _remember_own(self, signed: Signed) -> None:
        """Remember a message of this node's own on another history: it was signed before a restart.

        A vote still binds the node, so it is counted. Any other message is kept, as that history may return.
        """
        message = signed.message
        if message.author != self.absence.me or message.step < self.history.position.locked:
            return
        if message.kind in VOTES:
            with suppress(ContradictionError):
                self.absence.take(
                    read_vote(signed),
                    Place(message.step, message.tip, owed=(), base=(), staying=(), live=(), players=()),
                )
        elif RULES[message.kind].slot is not Slot.END:
            self.own.setdefault((message.tip, message.step), signed)

    def _keep_for_later(self, signed: Signed, vote_round: int) -> Outcome:
        message = signed.message
        self._remember_own(signed)
        kept = self._later.setdefault(message.author, {})
        is_one_of_several = RULES[message.kind].slot in (Slot.VOTE, Slot.ANY_STEP)
        slot = (message.step, message.kind if is_one_of_several else 0, vote_round)
        if slot not in kept:
            kept[slot] = signed
            if len(kept) > limits.FUTURE_PER_AUTHOR:  # the one for the latest step is needed last
                del kept[max(kept)]
        return Outcome.FUTURE

    def _prove(self, error: MisconductError) -> Outcome:
        last = error.evidence[-1]
        is_first = error.author not in self.proven
        is_second = len(error.evidence) == 2 and last.message.kind not in VOTES and self._is_wanted(last)
        if is_first:
            self.proven[error.author] = error
        if is_second:
            self._second[last.message.tip, error.author] = last
        if is_first or is_second:
            self.news += [*(Learned(signed) for signed in error.evidence), Proven(error, is_first)]
        return Outcome.DUPLICATE

    def _is_wanted(self, signed: Signed) -> bool:
        """Tell whether to keep the second of two messages for one step, as the step may be closed with it.

        Of further messages only one that a majority has voted for takes its place.
        """
        tip = signed.message.tip
        if signed.message.step < FORMED:  # it closes with LOCKs and COMMITs only
            return False
        if tip != self.history.position.tip and not any(place.tip == tip for place in self.tail()):
            return False
        known, best = self._second.get((tip, signed.message.author)), self.absence.on(tip).best()
        return known is None or (known.id != signed.id and bool(best) and signed.id in best[0].entries)
