"""A restarted node: which players have shown it what they hold, and when that is enough to sign again. Sans-I/O.

A message that the node sent before the crash and then lost comes back from those who have it. It asks all players of
the base and all other linked players. A majority might not do: the lost message may have reached one player only. When
patience with the others is over, more than half of the base are enough.
"""

from __future__ import annotations

from collections.abc import Set

from protocol.consensus.history import History
from protocol.match.timeouts import Timeouts


class Restart:
    """The wait of one node after a restart.

    :param me: this node's index in the roster, None for a spectator.
    :param is_over: the node was not restarted in this match.
    """

    def __init__(self, history: History, timeouts: Timeouts, me: int | None, *, is_over: bool) -> None:
        self.is_over = is_over
        """The node may sign; or there is nothing to wait for."""
        self._history = history
        self._timeouts = timeouts
        self._me = me
        self._heard: set[int] = set()
        """Players who have shown what they hold since the restart."""
        self._since: float | None = None

    def begin(self, now: float) -> None:
        """The node asks the others from now on. Saying so again changes nothing."""
        if self._since is None:
            self._since = now

    def heard(self, author: int) -> None:
        """A player has shown everything."""
        self._heard.add(author)

    def unheard(self) -> tuple[int, ...]:
        """Return the players of the base who must still show what they hold."""
        if self.is_over:
            return ()
        return tuple(author for author in self._history.position.base if author not in (self._me, *self._heard))

    def due(self) -> float:
        """Return when more than half of the base are enough."""
        assert self._since is not None
        return self._since + self._timeouts.round_seconds

    def is_enough(self, linked: Set[int], now: float) -> bool:
        """Tell whether the others have shown enough of what they hold for this node to sign again.

        :param linked: the players who are linked.
        """
        unheard = self.unheard()
        if not unheard and linked <= self._heard:
            return True
        position = self._history.position
        return now >= self.due() and len(position.base) - len(unheard) >= position.majority
