"""Notices to the owner while a match stands still. Sans-I/O.

If a player who owes a message is not linked, or is a proven cheat, the owner is told when patience ends; or, if the
others are too few to go on, that the match is suspended. It is also suspended while this node, restarted, signs nothing
because too few players have shown what they hold. If a linked player takes long to choose, the owner is told shortly
before patience ends, or, if the others are too few to go on, when it has ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Final

from protocol.consensus.kinds import stage_of
from protocol.consensus.position import Stage
from protocol.consensus.replica import Replica
from protocol.events import Continued, NodeEvent, Overdue, PlayerInfo, Suspended
from protocol.match.timeouts import Timeouts

AWAITED_AFTER: Final = 1.0
"""Seconds that a player who owes a message may be unlinked before that is shown."""
RETURNING: Final = 3.0
"""The same where this node was restarted: links take a moment to come up, and others may be starting too."""
WARNING: Final = 30.0
"""Seconds before the end of patience at which linked but slow players are shown."""


class StallNotices:
    """Tells the owner of one node which players it waits for.

    :param me: this node's index in the roster, None for a spectator.
    :param show: tells the owner an event.
    """

    def __init__(
        self,
        replica: Replica,
        timeouts: Timeouts,
        info: tuple[PlayerInfo, ...],
        me: int | None,
        show: Callable[[NodeEvent], None],
    ) -> None:
        self._replica = replica
        self._history = replica.history
        self._timeouts = timeouts
        self._info = info
        self._me = me
        self._show = show
        self._since: float | None = None
        """When the first missing player was noticed."""
        self._awaited: tuple[int, ...] = ()
        """Those for whom the match was shown to wait without end."""
        self._tip = b""
        """Tip of the step that was open when that was shown."""
        self._is_cut_off = False
        """Some of them were missing, so nobody's time ran meanwhile."""
        self._warned = b""
        """Tip of the step that the last warning was about."""

    @property
    def misses_somebody(self) -> bool:
        """A player who owes a message was missing at the last look."""
        return self._since is not None

    def extended(self) -> None:
        """The owner waits longer: who can be put out is told again with the new time. The match still waits."""
        self._warned = b""

    def look(self, now: float, linked: Collection[int], has_quorum: bool, unheard: Collection[int]) -> float:
        """Tell the owner about missing or slow players.

        :param now: monotonic time in seconds.
        :param has_quorum: more than half of the base are linked.
        :param unheard: players who must show what they hold before this node, restarted, signs anything.
        :return: when to look again, infinity if nothing is waited for.
        """
        position, missing = self._history.position, self._history.missing()
        culprits = self._replica.proven
        # A proven cheat cannot give an acceptable message any more than a missing player.
        away = {*missing}.difference(linked).union(culprits).intersection(position.owed).difference((self._me,))
        gone = tuple(author for author in unheard if author not in linked) or tuple(sorted(away))
        if not gone:
            self._since = None
            if self._is_cut_off or self._tip != position.tip:
                self._continue(missing, now)
            return self._warn_of_the_slow(missing, now) if has_quorum else math.inf
        if self._since is None:
            self._since = now
        shown_at = self._since + (RETURNING if unheard else AWAITED_AFTER)
        if now < shown_at:
            return shown_at
        if has_quorum and (unheard or self._can_be_put_out(gone)):
            self._continue(missing, now)
            if not unheard:
                self._warn(gone, now)
        else:
            self._is_cut_off = True
            self._suspend(gone)
        return math.inf

    def _can_be_put_out(self, gone: Collection[int]) -> bool:
        due = self._timeouts.due(gone, self._history.position.witnesses)
        return due < math.inf and self._replica.ballot.goes_on_without(gone)

    def _suspend(self, awaited: tuple[int, ...]) -> None:
        self._tip = self._history.position.tip
        if awaited != self._awaited:
            self._awaited = awaited
            self._show(Suspended(tuple(self._info[author] for author in awaited)))

    def _continue(self, missing: tuple[int, ...], now: float) -> None:
        if self._awaited:
            self._awaited = ()
            self._show(Continued())
        if self._is_cut_off:
            self._is_cut_off = False
            self._timeouts.restart(missing, now)

    def _warn_of_the_slow(self, missing: tuple[int, ...], now: float) -> float:
        if not missing or now < self._timeouts.earliest:
            return math.inf
        due = self._timeouts.due(missing, self._history.position.witnesses)
        if now < due - WARNING:
            return due - WARNING
        if self._replica.ballot.goes_on_without(missing):
            self._continue(missing, now)
            if stage_of(self._history.position) is Stage.CHOOSE:
                self._warn(missing, now)
            return math.inf
        if now < due:
            return due
        if slow := tuple(author for author in missing if author != self._me):
            self._suspend(slow)
        else:
            self._continue(missing, now)
        return math.inf

    def _warn(self, awaited: tuple[int, ...], now: float) -> None:
        tip = self._history.position.tip
        seconds = self._timeouts.due(awaited, self._history.position.witnesses) - now
        if self._warned != tip and seconds > 0:
            self._warned = tip
            self._show(Overdue(tuple(self._info[author] for author in awaited), math.ceil(seconds)))
