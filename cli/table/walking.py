"""The moves that arrow keys lead to: up and down change the number of dice, left and right their face.

If no bid can be made, the keys go through the legal moves. The move is put into the line as if it had been typed; Enter
makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from cli.text.choices import is_stake
from cli.text.move_forms import offers
from cli.text.speech import hear_bid
from p2pdice.moves import Bid
from p2pdice.views import View

Step = Literal["up", "down", "left", "right"]

_COINS: Final[dict[Step, int]] = {"up": 50, "down": -50, "right": 10, "left": -10}


def walk(view: View, names: Sequence[str], at: str, step: Step) -> str:
    """Return the move that one step leads to.

    :param names: by seat.
    :param at: where the last step led; empty for the first one.
    """
    if is_stake(view):
        coins = at.removeprefix("stake ")
        return f"stake {min(max((int(coins) if coins.isdecimal() else 0) + _COINS[step], 0), view.funds)}"
    bids = [move for move in view.legal if isinstance(move, Bid)]
    if not bids:
        return _through(offers(view, names), at, 1 if step in ("down", "right") else -1)
    here = hear_bid(at) if at else None
    if here is None:
        if view.state.bid is None:
            return str(bids[0])
        here = Bid(view.state.bid.quantity, view.state.bid.face)
    return str(_next_bid(bids, here, step))


def _through(moves: list[str], at: str, step: int) -> str:
    if at in moves:
        return moves[(moves.index(at) + step) % len(moves)]
    return moves[0 if step > 0 else -1]


def _next_bid(bids: list[Bid], here: Bid, step: Step) -> Bid:
    if step in ("up", "down"):
        sign = 1 if step == "up" else -1
        further = [bid for bid in bids if (bid.quantity - here.quantity) * sign > 0]
        same = [bid for bid in further if bid.face == here.face]
        # With some rules another number means another face.
        return _nearest(same or further or [here if here in bids else bids[0]], here)
    for distance in range(1, 7):
        face = (here.face - 1 + (distance if step == "right" else -distance)) % 6 + 1
        there = [bid for bid in bids if bid.face == face]
        if there:
            return _nearest(there, here)
    raise AssertionError("there are bids, so one of the six faces has one")


def _nearest(bids: list[Bid], here: Bid) -> Bid:
    """Return the bid nearest to another one: in its number of dice, then in its face; rather more dice than fewer."""
    return min(bids, key=lambda bid: (abs(bid.quantity - here.quantity), abs(bid.face - here.face), -bid.quantity))
