"""When one player votes that others are absent, and what must be shown and stored before. Sans-I/O.

The absence rule (:mod:`protocol.consensus.absence`) says what can be voted; here is when. A round of votes on the open
step begins when patience with whoever is missing is over, and at once on a step that a proven cheat owes something. The
next round begins when the one before has lasted long enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from protocol import limits
from protocol.consensus.absence import Vote
from protocol.consensus.replica import Replica
from protocol.match.effects import Broadcast, Effect
from protocol.match.timeouts import Timeouts
from protocol.wire.frames import Carried


class Voter:
    """The votes of one player, and the times that they wait for.

    :param emit: takes what others are to be shown.
    """

    def __init__(self, replica: Replica, timeouts: Timeouts, emit: Callable[[Effect], None]) -> None:
        self._replica = replica
        self._record = replica.record
        self._timeouts = timeouts
        self._emit = emit
        self._round_began: float | None = None
        """When this player came into its round of votes; None if it is in none."""
        self._certified: tuple[tuple[bytes, int], float] | None = None
        """Tip and round of the last majority of ABSENTs that this player shall CLOSE on, and when it saw that."""

    def restart(self, now: float) -> None:
        """Let the round under way last from now on: this machine slept, or no majority was there."""
        if self._round_began is not None:
            self._round_began = now

    def is_early(self, now: float) -> bool:
        """Tell whether there is nothing to vote on yet, without looking at who is missing."""
        return now < self._timeouts.earliest and not self._replica.absence.ballots and not self._replica.proven

    def votes(self, now: float, has_quorum: bool, is_deciding: bool) -> list[Vote]:
        """Return the votes that this player owes now.

        :param now: monotonic time in seconds.
        :param has_quorum: more than half of the base are here, so that a vote can come to something.
        :param is_deciding: patience stands still for a vote on an earlier step.
        """
        if self.is_early(now):
            return []
        replica = self._replica
        expired = {tip for tip, due in self.rounds_due(now, has_quorum, is_deciding) if now >= due}
        if not expired and not replica.absence.ballots:
            return []
        is_settling = self._round_began is not None and now < self._round_began + self._timeouts.settling
        settling = {place.tip for place in replica.tail()} if is_settling else set()
        votes = replica.absence.due(replica, expired, settling)
        return [vote for vote in votes if not vote.is_close or self._is_ripe(vote, now)]

    def rounds_due(self, now: float, has_quorum: bool, is_deciding: bool) -> list[tuple[bytes, float]]:
        """Return the tips of steps in which this player begins a round of votes by itself, and when."""
        if not has_quorum:
            return []
        replica, position, missing = self._replica, self._record.position, self._record.missing()
        due = [(tip, now) for tip in replica.tainted()]
        if missing and not is_deciding and not replica.absence.has_voted(position.tip):
            due.append((position.tip, self._timeouts.due(missing, position.witnesses)))
        current = replica.absence.current(replica)
        if current is not None:
            if self._round_began is None:  # this player voted before its node was restarted
                self._round_began = now
            due.append((current.tip, self._round_began + self._timeouts.round))
        return due

    def times(self) -> list[float]:
        """Return the times at which votes under way are to be looked at again."""
        times = [] if self._round_began is None else [self._round_began + self._timeouts.settling]
        return times if self._certified is None else [*times, self._certified[1] + limits.RELAY]

    def prepare(self, vote: Vote, now: float) -> None:
        """Show and store what a vote rests on, before it is signed."""
        number = vote.round if vote.is_close else vote.newest
        rests_on = self._replica.absence.ballots[vote.tip].certificates[number] if number >= 0 else ()
        if not vote.is_close:  # what it refers to goes first
            self._show(rests_on)
        self._replica.store_votes(rests_on)
        if not vote.is_close:
            self._round_began = now

    def _is_ripe(self, close: Vote, now: float) -> bool:
        """Tell whether everybody had time to see the majority that a CLOSE rests on, and to show who votes twice."""
        what = (close.tip, close.round)
        if self._certified is None or self._certified[0] != what:
            self._certified = what, now
            self._show(self._replica.absence.ballots[close.tip].certificates[close.round])
        return now >= self._certified[1] + limits.RELAY

    def _show(self, votes: Iterable[Vote]) -> None:
        for vote in votes:
            self._emit(Broadcast(Carried(*vote.source.wire)))
