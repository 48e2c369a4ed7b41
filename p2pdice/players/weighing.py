"""How likely each move is to turn out right, as far as its player can know from their own dice."""

from __future__ import annotations

from collections.abc import Sequence

from p2pdice.moves import Bid, Exact, Move, Side
from p2pdice.odds import in_row, rows
from p2pdice.rulesets import Ruleset
from p2pdice.views import View


def is_good_to_be_right(ruleset: Ruleset) -> bool:
    """Whether the aim is to be right: the wrong one loses a die that is wanted, or the right one puts one away."""
    return (ruleset.verdict == "right-side-discards") == (ruleset.goal == "first-out")


def weigh(
    view: View, bids: Sequence[Bid], calls: Sequence[Move], trust: float = 0.0
) -> tuple[list[float], list[float]]:
    """Return the weight of each bid and of each call: the chance to be right, or to be wrong where that is the aim.

    :param calls: liar, exact, and the sides to take.
    :param trust: how far a bid counts as evidence: 0 not at all, 1 as if its bidder were sure to have a die that
        stands for it.
    """
    state, hand = view.state, view.hand
    unknown = sum(state.dice) - len(hand)
    wild = state.ones_wild
    table = rows(hand, unknown, wild)
    try:
        bidding = [table[bid.face][bid.quantity] for bid in bids]
    except IndexError:  # bids of more dice than there are, where one has to be made
        bidding = [in_row(table[bid.face], bid.quantity) for bid in bids]
    calling = []
    if calls and state.bids:
        quantity, face, bidder = state.bids[-1]
        stands = in_row(table[face], quantity)
        believed = stands
        if trust and unknown and bidder != view.seat:
            likely = in_row(rows(hand, unknown - 1, wild)[face], quantity - 1)
            believed += trust * (likely - stands)
        for call in calls:
            if type(call) is Exact:
                calling.append(stands - in_row(table[face], quantity + 1))
            else:
                calling.append(believed if type(call) is Side and call.side == "accused" else 1 - believed)
    if is_good_to_be_right(state.ruleset):
        return bidding, calling
    return [1 - chance for chance in bidding], [1 - chance for chance in calling]
