"""When one player votes, and what must be shown and stored before. Sans-I/O.

The ballot (:mod:`protocol.consensus.ballot`) gives the votes, this module their times.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from protocol import limits
from protocol.consensus.kinds import Vote
from protocol.consensus.replica import Replica
from protocol.match.effects import Broadcast, Effect
from protocol.match.timeouts import Timeouts
from protocol.wire.frames import Carried


class Voter:
    """The votes of one player, and the times that they wait for.

    :param emit: takes the messages to show to others.
    """

    def __init__(self, replica: Replica, timeouts: Timeouts, emit: Callable[[Effect], None]) -> None:
        self._replica = replica
        self._timeouts = timeouts
        self._emit = emit
        self._close: tuple[Vote, float] | None = None
        """The CLOSE that waits for its half second, and when its grounds were shown."""
        self._nil: tuple[bytes, int, float] | None = None
        """Root and number of the round that may end without a decision, and since when it lasts."""
        self.wake = math.inf
        """When to ask again, if nothing comes before."""

    def restart(self, now: float) -> None:
        """Restart the time of the current round: this machine slept, or no majority was there."""
        if self._nil is not None:
            self._nil = (*self._nil[:2], now)
        if self._close is not None:
            self._close = self._close[0], now

    def vote(self, now: float, has_quorum: bool) -> Vote | None:
        """Return the vote that this player is to sign now, after what it rests on has been shown and stored.

        :param now: monotonic time in seconds.
        :param has_quorum: more than half of the base are linked: patience is over only then.
        """
        ballot = self._replica.ballot
        self.wake = math.inf
        over = set()
        for author in ballot.missing if has_quorum else ():
            due = self._timeouts.due((author,), ballot.line[-1].witnesses)
            if self._is_over(due, now):
                over.add(author)
        vote = ballot.absent(over)
        if vote is not None:
            self._show(vote)
            return vote
        return self._ripe_close(now) or self._ripe_nil(now)

    def _ripe_close(self, now: float) -> Vote | None:
        """Return the CLOSE for which all had time to see the majority, and to prove that somebody voted twice."""
        vote = self._replica.ballot.close
        if vote is None:
            self._close = None
            return None
        if self._close is None or self._close[0] != vote:
            self._close = vote, now
            self._show(vote)
        return vote if self._is_over(self._close[1] + limits.RELAY, now) else None

    def _ripe_nil(self, now: float) -> Vote | None:
        ballot = self._replica.ballot
        vote = ballot.nil
        if vote is None:
            return None
        if self._nil is None or self._nil[:2] != (vote.root, vote.round):
            self._nil = vote.root, vote.round, now
        return vote if self._is_over(self._nil[2] + self._timeouts.round_seconds, now) else None

    def _is_over(self, due: float, now: float) -> bool:
        if now < due:
            self.wake = min(self.wake, due)
        return now >= due

    def _show(self, vote: Vote) -> None:
        grounds = self._replica.ballot.grounds(vote)
        for signed in grounds:
            self._emit(Broadcast(Carried(*signed.wire)))
        self._replica.store_votes(grounds)
