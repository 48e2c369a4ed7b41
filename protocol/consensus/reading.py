"""Reading a file into a history: each message belongs to the open step, and each step closes with its last message.

A node does not close steps this way: it may hold several messages for one slot, and takes votes in any order
(:mod:`protocol.consensus.replica`).
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from protocol.consensus.ballot import elect, leavers
from protocol.consensus.branches import Outcome
from protocol.consensus.history import History
from protocol.consensus.kinds import Vote, contradiction, read_vote
from protocol.consensus.position import FORMED, Position, Purpose
from protocol.consensus.rule import MisconductError, RejectedMessageError
from protocol.limits import STATES_APART
from protocol.wire.messages import VOTES, Kind, Signed

_DROPPED = Position(step=0, tip=b"", purpose=Purpose.END, place_in_script=0, kind=None, owed=(), base=(), players=())
"""Replaces each position that :meth:`Reading.drop_position` drops."""


class Reading:
    """A history that grows by messages and votes in the order of a file."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.votes: list[Signed] = []
        """The votes read so far to close the open step."""

    def add(self, signed: Signed) -> Outcome:
        """Take one message. Close the open step if it is complete, or if the votes suffice to close it.

        :raises RejectedMessageError: if the message does not belong here; nothing changes.
        :raises MisconductError: if the message proves that its author broke a rule; nothing changes.
        """
        history = self.history
        if signed.message.kind in VOTES:
            signed = self._check_vote(signed).signed
            self._compare(signed)
            votes = [*self.votes, signed]
            if sum(vote.message.kind is Kind.CLOSE for vote in votes) < history.position.majority:
                self.votes = votes
            else:
                self._close_by(votes)
            return Outcome.ADDED
        outcome = history.hold(signed)
        if outcome is Outcome.ADDED and history.position.kind is not None and not history.missing():
            history.settle(dict(sorted(history.held.items())), ())
            self.votes = []
        return outcome

    def weigh(self, signed: Signed) -> Outcome:
        """Return what :meth:`History.hold` would return, or raise what it would raise, without changing anything.

        :raises MisconductError: also if the message contradicts a vote to close the open step.
        """
        self._compare(signed)
        return self.history.weigh(signed)

    def _compare(self, signed: Signed) -> None:
        for vote in self.votes:
            if reason := contradiction(vote, signed):
                message = self.history.check_signature(signed).message
                raise MisconductError(message.author, message.step, reason, (vote, signed))

    def _close_by(self, votes: Sequence[Signed]) -> None:
        """Close the open step by a certificate, with the messages held for it.

        :param votes: the ABSENTs needed to back the majority, then exactly a majority of CLOSEs, each by author.
        :raises RejectedMessageError: if the votes are not a certificate for these messages; nothing changes.
        """
        history, position = self.history, self.history.position
        read = [read_vote(signed) for signed in votes]
        backers = tuple(vote.author for vote in read if not vote.is_close)
        closers = tuple(vote.author for vote in read if vote.is_close)
        values = {vote.value for vote in read}
        if len(values) != 1 or len({vote.round for vote in read if vote.is_close}) != 1:
            raise RejectedMessageError("the votes to close the step differ")
        (value,) = values
        assert value is not None
        is_lock = position.kind is Kind.LOCK
        held = {} if is_lock else dict(sorted(history.held.items()))
        if not is_lock and value.entries != tuple(held[each].id if each in held else b"" for each in position.owed):
            raise RejectedMessageError("the votes do not name the messages of the step")
        leaving = set() if is_lock else leavers(position, held)
        if (*backers, *closers) != elect(position, leaving, closers, backers):
            raise RejectedMessageError("the votes are not a valid certificate: one per voter, in order, a majority")
        history.settle(held, tuple(votes))
        self.votes = []

    def _check_vote(self, signed: Signed) -> Vote:
        """Check and read a vote to close the open step.

        :raises RejectedMessageError: if the message is not a valid vote on that step, its signature is invalid, or its
            author may not vote there.
        """
        position, message = self.history.position, signed.message
        if position.step < FORMED or position.kind is None:
            raise RejectedMessageError("a vote on a step that cannot be voted on")
        vote = read_vote(self.history.check_signature(signed))
        value, is_lock = vote.value, position.kind is Kind.LOCK
        is_here = (message.step, message.tip) == (position.root_step, position.root_tip)
        if not is_here or value is None or value[:2] != (position.step, position.tip):
            raise RejectedMessageError("a vote on another history, or on another step")
        if isinstance(value.entries, bytes) is not is_lock or (is_lock and self.history.held):
            raise RejectedMessageError("a vote with the value of another kind of step, or beside messages of a LOCK")
        is_right = value.entries == position.signed_hash or (
            len(value.entries) == len(position.owed) and b"" in value.entries
        )
        if not is_right:
            raise RejectedMessageError("a vote whose value does not fit the step")
        if vote.author not in position.base or vote.author in position.left:
            raise RejectedMessageError("a vote by a player who may not vote on the step")
        return vote

    def drop_state(self) -> None:
        """Drop the game state before the step that closed last; every :data:`~protocol.limits.STATES_APART`-th state is
        kept.

        A state holds all bids of its round, so a long match with long rounds would fill the memory. Callers that seldom
        look back call this after each step. :meth:`History.full` recomputes the state.
        """
        chain = self.history.chain
        last = len(chain) - 2
        if last > 0 and last % STATES_APART:
            chain[last] = chain[last]._replace(state=None, happened=(), is_without_state=True)

    def drop_position(self, kept: Container[int] = ()) -> None:
        """Drop the position before the step that closed last, unless ``kept`` contains that step.

        Callers that look back only to ``kept`` call this after each step, so that memory use does not grow with the
        match. No message fits a dropped position: a message for its step counts as part of another history.
        """
        chain = self.history.chain
        last = len(chain) - 2
        if last not in kept:
            chain[last] = _DROPPED
