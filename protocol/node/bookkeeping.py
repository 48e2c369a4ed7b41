"""What one match does to purses: to those of its players as this node knows them, and to the one of its own player.

The purses of a proposed match are held as long as this node may play it, so strangers cannot fill the disk with
proposals. They are kept for good when this node binds itself to the match: without that it cannot be formed.
"""

from __future__ import annotations

from protocol.match.match import Match
from protocol.node.purse_keeper import PurseKeeper


class Bookkeeping:
    """See the module.

    :param match: that this node is about to sign, or returns to.
    """

    def __init__(self, purses: PurseKeeper, match: Match) -> None:
        self._purses = purses
        self._match = match
        self._is_met = self._is_noted = self._is_settled = False
        self._purses.hold(match.history.genesis)

    def follow(self, *, is_over: bool) -> None:
        """Write what has changed with the last input of the match, before anything that rests on it is sent:

        - whose purses it is played with, once this node is bound to it,
        - what is frozen, once the stakes are open,
        - the settlement, once enough have signed the end.

        :param is_over: the end of the match is stored.
        :raises StoreError: if that cannot be written. Calling this again tries again.
        """
        history = self._match.history
        if not history.genesis.has_purses:
            return
        if is_over or self._match.is_called_off:
            self._purses.expect_no_stake(history.genesis)
        if not self._is_met and (self._match.is_bound or self._match.is_formed):
            self._purses.meet(history.genesis)
            self._is_met = True
        state = history.position.state
        if not self._is_noted and state is not None and state.wagers:
            self._purses.note(history)
            self._is_noted = True
            if not is_over:
                self._purses.remind(history)
        if is_over and not self._is_settled:
            self._is_settled = self._purses.settle(history)

    def close(self) -> None:
        """Hold the purses no more."""
        self._purses.release(self._match.history.genesis)
