"""A player who bids by the solved tables."""

from __future__ import annotations

from collections.abc import Sequence

from p2pdice.moves import Bid, Move
from p2pdice.players import OddsPlayer
from p2pdice.solved.policy import solved_move
from p2pdice.views import View


class SolvedPlayer(OddsPlayer):
    """Plays rounds that are solved by their policy, which nobody beats for long, and others like ``odds``."""

    def bid_or_call(self, view: View, bids: Sequence[Bid], calls: Sequence[Move]) -> Move:
        return solved_move(view, self._rng) or super().bid_or_call(view, bids, calls)
