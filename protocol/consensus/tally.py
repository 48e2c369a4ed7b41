"""The votes on all steps that can still change, and what they come to: decisions, and steps to vote against."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Final, Protocol, Self

from protocol.consensus.ballot import Ballot
from protocol.consensus.electorate import Entries, Place
from protocol.consensus.votes import Vote


class HistoryView(Protocol):
    """The history of the node that votes, as far as the absence rule asks about it."""

    def tail(self) -> Sequence[Place]:
        """Return the steps that a vote can still change, the open one last."""

    def closed(self, step: int) -> Entries | None:
        """Return what a step of the tail was closed with; None for the open one."""

    def held(self, step: int) -> Mapping[int, bytes]:
        """Return the ids of the messages that this node holds for a step of the tail, one for each author."""

    def culprits(self) -> Set[int]:
        """Return the authors who are proven to have broken the rules."""

    def elsewhere(self) -> Iterable[tuple[int, int]]:
        """Return author and round of each vote on a step that this node does not know, because the step is later, or of
        another history."""


_EMPTY: Final = Ballot(Place(step=0, tip=b"", owed=(), base=(), staying=(), live=(), players=()))


class Tally:
    """The votes on all steps that can still change, as one node knows them.

    :param me: index of this node in the roster; None for a node without a vote.
    """

    def __init__(self, me: int | None) -> None:
        self.me = me
        self.ballots: dict[bytes, Ballot] = {}
        """The ballot on each step, by tip."""

    def copy(self) -> Self:
        """Return an independent copy, for the explorer of small worlds."""
        twin = type(self)(self.me)
        twin.ballots = {tip: ballot.copy() for tip, ballot in self.ballots.items()}
        return twin

    def take(self, vote: Vote, place: Place) -> bool:
        """Count anybody's vote on a step of the tail; tell whether it was news.

        :raises ContradictionError: if its author contradicts themselves.
        """
        ballot = self.ballots.setdefault(vote.tip, Ballot(place))
        if place.base:
            ballot.place = place  # it is empty for a vote of this node's own on a history that it has left
        if vote.author == self.me:
            ballot.round = max(ballot.round, vote.round)
        return ballot.take(vote)

    def on(self, tip: bytes) -> Ballot:
        """Return the ballot on a step; an empty one if nobody has voted there. It is to be read only."""
        return self.ballots.get(tip, _EMPTY)

    def may_be_news(self, vote: Vote) -> bool:
        """Tell whether a vote may change anything. If not, its signature need not be checked."""
        return self.on(vote.tip).may_be_news(vote)

    def has_voted(self, tip: bytes) -> bool:
        """Tell whether this node has voted on a step. If so, only a decision closes that step here."""
        return self.on(tip).round >= 0

    @property
    def round(self) -> int:
        """The latest round in which this node has voted, on any step; -1 if there is none."""
        return max((ballot.round for ballot in self.ballots.values()), default=-1)

    def leaders(self) -> list[Ballot]:
        """Return the ballots that have a majority, the latest majority first.

        On the history of the first one, the steps before its step stand. The same holds for each further one that
        agrees with all later majorities.
        """
        found = (ballot for ballot in self.ballots.values() if ballot.best())
        return sorted(found, key=lambda ballot: (*(-int(each) for each in ballot.rank()), ballot.place.tip))

    def unsettled(self, history: HistoryView) -> list[tuple[Place, Ballot]]:
        """Return the steps of the tail with their ballots, without those that a later majority settles.

        A majority settles all steps before its own: they stand as they were closed.
        """
        found: list[tuple[Place, Ballot]] = []
        highest = (-1, False)
        for place in reversed(history.tail()):
            ballot = self.ballots.get(place.tip) or Ballot(place)
            if ballot.rank() >= highest:
                highest = ballot.rank()
                found.append((place, ballot))
        return found[::-1]

    def decision(self, history: HistoryView) -> tuple[Place, tuple[Vote, ...]] | None:
        """Return the first step that was decided otherwise than it was closed, with the votes that decide it.

        All ballots are counted anew first if somebody was proven to have broken the rules since.
        """
        for ballot in self.ballots.values():
            ballot.convict(history.culprits())
        for place, ballot in self.unsettled(history):
            if ballot.decided and history.closed(place.step) != ballot.decided[0].entries:
                return place, ballot.decided
        return None

    def is_reopened(self, history: HistoryView) -> bool:
        """Tell whether this node votes against a step that it had closed. If so, it signs nothing after that step."""
        return any(self.is_against(ballot, history.closed(place.step)) for place, ballot in self.unsettled(history))

    def is_against(self, ballot: Ballot, closed: Entries | None) -> bool:
        """Tell whether this node votes otherwise than it closed an unsettled step.

        :param closed: what the step was closed with; None if it is open.
        """
        if closed is None or ballot.decided or self.me is None:
            return False
        best, own = ballot.best(), ballot.latest(self.me)
        return (bool(best) and best[0].entries != closed) or (own is not None and own.entries != closed)

    def current(self, history: HistoryView) -> Place | None:
        """Return the step in which this node's latest round goes on; None if that step is decided or settled."""
        number = self.round
        ballots = (self.ballots.get(place.tip) for place in history.tail())
        voted = next((ballot for ballot in ballots if ballot is not None and ballot.round == number >= 0), None)
        unsettled = self.unsettled(history) if voted is not None and not voted.decided else ()
        return next((place for place, ballot in unsettled if ballot is voted), None)

    def keep_only(self, tips: Collection[bytes]) -> None:
        """Drop the votes on all steps but those with these tips."""
        self.ballots = {tip: ballot for tip, ballot in self.ballots.items() if tip in tips}
