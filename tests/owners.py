"""Owners of nodes under test: the moves of a program at the keyboard, and how they reach the node.

All tests that play matches use this module, whether their nodes are processes, run in the test, or are simulated.
A :class:`p2pdice.players.Player` decides how an owner plays.
"""

from __future__ import annotations

from p2pdice.moves import Bid, Concede, Move
from p2pdice.players import OddsPlayer, Player
from p2pdice.views import View
from protocol.node.node import Node


def make(node: Node, move: Move, token: int) -> None:
    """Make a move in the turn with this token.

    :raises NodeError: if that turn is over.
    """
    if isinstance(move, Concede):
        node.concede()
    else:
        node.play(move, token)


class Creeper(OddsPlayer):
    """Raises by as little as possible until half of all dice are bid, so that a match takes long."""

    def choose(self, view: View) -> Move:
        # Ones may count double, which skips half of the bids.
        raises = [move for move in view.legal if isinstance(move, Bid) and move.face != 1]
        standing = view.state.bid
        if raises and (standing is None or 2 * standing.quantity < sum(view.state.dice)):
            return min(raises, key=lambda each: (each.quantity, each.face))
        return super().choose(view)


class Quitter(Player):
    """Concedes at the first turn."""

    def choose(self, view: View) -> Move:
        return Concede()
