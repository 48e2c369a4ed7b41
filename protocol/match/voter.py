"""When one player votes that others are absent, and the votes that must be shown and stored before. Sans-I/O.

The absence rule (:mod:`protocol.consensus.absence`) gives the votes, this module their times. A round of votes on the
open step begins when patience with the missing players is over; on a step in which a proven cheat owes something, at
once. The next round begins when the one before has lasted long enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from protocol import limits
from protocol.consensus.replica import Replica
from protocol.consensus.votes import Vote
from protocol.match.effects import Broadcast, Effect
from protocol.match.timeouts import Timeouts
from protocol.wire.frames import Carried


class Voter:
    """The votes of one player, and the times that they wait for.

    :param emit: takes the votes to show to others.
    """

    def __init__(self, replica: Replica, timeouts: Timeouts, emit: Callable[[Effect], None]) -> None:
        self._replica = replica
        self._history = replica.history
        self._timeouts = timeouts
        self._emit = emit
        self._round_began: float | None = None
        """When this player began its round of votes; None outside a round."""
        self._certified: tuple[tuple[bytes, int], float] | None = None
        """Tip and round of the last majority of ABSENTs that calls for a CLOSE, and when this player saw it."""

    def restart(self, now: float) -> None:
        """Restart the time of the current round: this machine slept, or no majority was there."""
        if self._round_began is not None:
            self._round_began = now

    def is_early(self, now: float) -> bool:
        """Tell whether it is too early to vote on anything, without looking at the missing players."""
        return now < self._timeouts.earliest and not self._replica.absence.ballots and not self._replica.proven

    def votes(self, now: float, rounds: Iterable[tuple[bytes, float]]) -> list[Vote]:
        """Return the votes that this player owes now.

        :param now: monotonic time in seconds.
        :param rounds: what :meth:`rounds_due` returned.
        """
        replica = self._replica
        expired = {tip for tip, due in rounds if now >= due}
        if not expired and not replica.absence.ballots:
            return []
        is_lingering = self._round_began is not None and now < self._round_began + self._timeouts.shortest_round
        lingering = {place.tip for place in replica.tail()} if is_lingering else set()
        votes = replica.absence.due(replica, expired, lingering)
        return [vote for vote in votes if not vote.is_close or self._is_ripe(vote, now)]

    def rounds_due(self, now: float, has_quorum: bool, is_deciding: bool) -> list[tuple[bytes, float]]:
        """Return the tips of steps in which this player begins a round of votes by itself, and when.

        :param now: monotonic time in seconds.
        :param has_quorum: more than half of the base are here, so that a vote can come to something.
        :param is_deciding: patience stands still for a vote on an earlier step.
        """
        if not has_quorum or self.is_early(now):
            return []
        replica, position, missing = self._replica, self._history.position, self._history.missing()
        due = [(tip, now) for tip in replica.tainted()]
        if missing and not is_deciding and not replica.absence.has_voted(position.tip):
            due.append((position.tip, self._timeouts.due(missing, position.witnesses)))
        current = replica.absence.current(replica)
        if current is not None:
            if self._round_began is None:  # this player voted before its node was restarted
                self._round_began = now
            due.append((current.tip, self._round_began + self._timeouts.round_seconds))
        return due

    def times(self) -> list[float]:
        """Return the times at which to look at current votes again."""
        times = [] if self._round_began is None else [self._round_began + self._timeouts.shortest_round]
        return times if self._certified is None else [*times, self._certified[1] + limits.RELAY]

    def prepare(self, vote: Vote, now: float) -> None:
        """Show and store the votes that a vote rests on, before it is signed."""
        number = vote.round if vote.is_close else vote.newest
        rests_on = self._replica.absence.ballots[vote.tip].majorities[number] if number >= 0 else ()
        if not vote.is_close:  # before the vote that refers to them
            self._show(rests_on)
        self._replica.store_votes(rests_on)
        if not vote.is_close:
            self._round_began = now

    def _is_ripe(self, close: Vote, now: float) -> bool:
        """Tell whether all had time to see the majority behind a CLOSE, and to prove that somebody voted twice."""
        what = (close.tip, close.round)
        if self._certified is None or self._certified[0] != what:
            self._certified = what, now
            self._show(self._replica.absence.ballots[close.tip].majorities[close.round])
        return now >= self._certified[1] + limits.RELAY

    def _show(self, votes: Iterable[Vote]) -> None:
        for vote in votes:
            self._emit(Broadcast(Carried(*vote.source.wire)))
