"""A node's copy of the history, and everything that may still change it.

Theory of operation
-------------------
::

    signed message ──▶ take ──▶ for the open step: held            ─┐
                           ├──▶ for a later step: kept until then   │
                           ├──▶ a vote: counted                     ├──▶ close_steps: the open step, if it is due
                           ├──▶ proof of misconduct: kept          ─┘    how a closed step was closed
                           └──▶ of another history, or too late for this one: put aside, and compared with what its
                                author signs next

A step closes by itself when every message is there, unless this node has voted on it, or a proven cheat owes it a
message. (A complete LOCK is final all the same.) Or it closes as a majority has decided
(:mod:`protocol.consensus.absence`). A decision may drop what came after its step, but nothing before a complete LOCK.

A node that was cut off may have voted on a step that the others have long closed. It then folds their history beside
its own (:meth:`Replica.follow`). Once that history has a newer complete LOCK or the latest majority, it replaces the
node's own.

:mod:`~protocol.consensus.holdings` has everything that a node holds, :mod:`~protocol.consensus.intake` takes messages,
and :mod:`~protocol.consensus.drafts` folds the histories of peers. None of them, and not this module, has a clock, a
secret or I/O. This module closes steps and switches to other histories. The messages to store and to pass on are in
:attr:`Replica.news`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy

from protocol.consensus.drafts import Draft
from protocol.consensus.electorate import Place
from protocol.consensus.errors import MisconductError, RejectedMessageError
from protocol.consensus.history import History
from protocol.consensus.intake import Intake
from protocol.consensus.news import Replace, Rewound
from protocol.consensus.steps import FORMED
from protocol.wire.messages import VOTES, Kind, Signed


class Replica(Intake):
    """The history of one match at one node, and everything that may still change it."""

    def __init__(self, genesis_data: bytes, me: int | None) -> None:
        super().__init__(genesis_data, me)
        self._final = 0
        """The step of the last complete LOCK when votes were last forgotten."""

    def take_stored(self, messages: Iterable[Signed]) -> None:
        """Take the messages of a store, in their order. Then the history is where the node left it.

        :raises RejectedMessageError: if one does not belong to this match.
        """
        votes = set()
        for signed in messages:
            author = signed.message.author
            try:
                self.take(signed)
            except RejectedMessageError:
                is_aside = any(each.id == signed.id for each in self._aside.get(author, {}).values())
                if author == self.absence.me or not is_aside:  # of others, half of a proof
                    raise
            self.close_steps()
            if signed.message.kind in VOTES:
                votes.add(signed.id)
        self._stored_votes = votes
        self.news.clear()

    # Closing steps

    def close_steps(self) -> None:
        """Close all steps that are complete or decided."""
        progress = True
        while progress:
            progress = self._take_later() or self._decide() or self._close()

    def _take_later(self) -> bool:
        if not self._later:
            return False
        step = self.history.position.step
        found = False
        for author in sorted(self._later):
            kept = self._later[author]
            for slot in sorted(slot for slot in kept if slot[0] <= step):
                found = True
                with suppress(RejectedMessageError):  # it may fit no step now
                    self.take(kept.pop(slot))
        self._later = {author: kept for author, kept in self._later.items() if kept}
        return found

    def _decide(self) -> bool:
        """Close a step as it was decided, unless it was closed in that way."""
        decision = self.absence.decision(self) if self.absence.ballots else None
        if decision is None:
            return False
        place, votes = decision
        draft = self.history.fork(place.step)
        known = {signed.id: signed for signed in self._known_for(place)}
        try:
            for entry in votes[0].entries:
                if entry:
                    draft.hold(known[entry])
            draft.close_without([vote.source for vote in votes])
        except (KeyError, RejectedMessageError, MisconductError):
            return False  # a message that belongs to the decision is not here yet
        is_rewind = self.history.closed(place.step) is not None
        self.store_votes(votes)
        self._switch_to(draft, place.step)
        if is_rewind:
            self.news.append(Rewound(place.step))
        return True

    def _switch_to(self, draft: History, since: int) -> None:
        """Replace the history by one that closes step ``since`` otherwise. Take the messages of that step and of all
        later ones anew, and those that had no place before."""
        replaced, aside = copy(self.history), self._aside
        self.history.adopt(draft)
        self._drop_final()
        self._replaced, self._aside = (replaced,), {}
        entries = (position.entries for position in replaced.chain[since + 1 :])
        without = [signed for book in (*entries, replaced.held) for signed in book.values()]
        without += [signed for kept in aside.values() for signed in kept.values()]
        for signed in without:
            if self.history.goes_through(signed.message):  # an author may have signed another message on this history
                with suppress(RejectedMessageError):
                    self.take(signed)
            else:
                self._put_aside(signed)

    def _close(self) -> bool:
        history, position = self.history, self.history.position
        if not history.is_complete:
            return False
        is_doubtful = self.absence.has_voted(position.tip) or not self.proven.keys().isdisjoint(position.owed)
        if is_doubtful and position.kind is not Kind.LOCK and position.step >= FORMED:
            return False  # a complete LOCK is final, whatever was voted, and so is a formed match
        history.close()
        self._drop_final()
        return True

    def _drop_final(self) -> None:
        """Drop everything that concerns only final steps, when a LOCK has been completed."""
        if self.history.position.locked != self._final:
            self._final = self.history.position.locked
            tips = {position.tip for position in self.history.chain[max(1, self._final) :]}
            for tip, ballot in self.absence.ballots.items():
                if tip not in tips:
                    for vote in ballot.votes():
                        self._put_aside(vote.source)
            self.absence.keep_only(tips)
            self.own = {slot: signed for slot, signed in self.own.items() if slot[0] in tips}
            self._second = {slot: signed for slot, signed in self._second.items() if slot[0] in tips}
            self._drafts.clear()
            self._replaced = ()
            if self._stored_votes:
                self._stored_votes.clear()
                self.news.append(Replace(tuple(self.messages())))

    # Following others

    def drop_shown(self, peer: int) -> None:
        """Drop the history that a peer has shown so far: the peer begins again."""
        self._drafts.pop(peer, None)

    def follow(self, peer: int, messages: Sequence[Signed]) -> None:
        """Fold the messages that a peer shows from a step of the tail on, beside this node's own history. Go over
        to the peer's history if it has a newer complete LOCK or the latest majority.
        """
        history, final = self.history, self.history.chain[self.history.position.locked]
        draft = self._drafts.pop(peer, None)
        if draft is None or not draft.history.goes_through(final):
            draft = Draft(history.fork(final.step))
        for error in draft.fold(messages):
            self._prove(error)
        draft.count(signed for signed in messages if signed.message.kind in VOTES)
        ballots = [self.absence.ballots[place.tip] for place in self.tail() if place.tip in self.absence.ballots]
        if draft.history.position.locked > final.step or draft.leads(history, ballots):
            self._adopt(draft.history, tuple(draft.votes()))
        else:
            self._drafts[peer] = draft

    def _adopt(self, draft: History, votes: Iterable[Signed]) -> None:
        ours, theirs = self.history.chain, draft.chain
        pairs = enumerate(zip(ours, theirs, strict=False))
        since = next((step for step, (one, other) in pairs if one.tip != other.tip), min(len(ours), len(theirs)))
        self._switch_to(draft, since - 1)
        for signed in votes:
            with suppress(RejectedMessageError):
                self.take(signed)
        messages = (*self.messages(), *self._own_elsewhere())
        self._stored_votes.update(signed.id for signed in messages if signed.message.kind in VOTES)
        self.news += [Replace(messages), Rewound(since)]

    def _own_elsewhere(self) -> Iterator[Signed]:
        """Yield the messages and votes that this node has signed on histories that it has left."""
        tail = {place.tip for place in self.tail()}
        yield from (signed for (tip, _), signed in sorted(self.own.items()) if tip not in tail)
        for tip, ballot in sorted(self.absence.ballots.items()):
            if tip not in tail:
                yield from (vote.source for vote in ballot.votes() if vote.author == self.absence.me)

    def _known_for(self, place: Place) -> Iterator[Signed]:
        """Yield the messages with which a step may be closed."""
        chain = self.history.chain
        yield from (chain[place.step + 1].entries if place.step + 1 < len(chain) else self.history.held).values()
        others = (*self._second.values(), *(signed for kept in self._aside.values() for signed in kept.values()))
        yield from (signed for signed in others if signed.message.tip == place.tip)
        yield from (signed for error in self.proven.values() for signed in error.evidence)
