"""Owners of nodes under test: what a program at the keyboard answers, and how the answer reaches the node.

Every test that plays a match asks here, whether its nodes are processes, whole nodes beside the test, or simulated.
How an owner plays is the choice of a :class:`p2pdice.players.Player`.
"""

from __future__ import annotations

from p2pdice.moves import Bid, Concede, Move
from p2pdice.players import OddsPlayer, Player
from p2pdice.state import Expect
from p2pdice.views import View
from protocol.node.node import Node


def decide(player: Player, view: View) -> Move:
    """Return what a player answers to a turn: a stake out of what they have, or a move."""
    if view.state.awaits is Expect.STAKES:
        return player.stake(view.funds, view.tickets)
    return player.choose(view)


def make(node: Node, move: Move, token: int) -> None:
    """Make a move in the turn of that token.

    :raises NodeError: if that turn is over.
    """
    if isinstance(move, Concede):
        node.concede()
    else:
        node.play(move, token)


class Creeper(OddsPlayer):
    """Raises by as little as possible until half of all dice are bid, so that a match lasts."""

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
