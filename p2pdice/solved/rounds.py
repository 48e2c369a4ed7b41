"""One round of classic between two players with few dice: where it begins, and every way to bid in it.

Everything here comes from the engine: a match is played up to the beginning of the round, and the bid sequences are the
moves that the engine lists. It lists bids up to the dice in play. Higher ones are legal, but certainly false.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Final

from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.inputs import Hand, Hands, Play, Rolled
from p2pdice.moves import FACES, LIAR, Bid
from p2pdice.rulesets import PRESETS
from p2pdice.state import State

MOST: Final = 3
"""The most dice in a cup at the tables that are solved."""
OPENER: Final = 0
"""The seat that opens the round."""
RESPONDER: Final = 1


def beginning(opener: int, responder: int) -> State:
    """Return the state in which a round begins: seat 0 opens it with ``opener`` dice, and seat 1 has ``responder``.

    The loser of a round opens the next, so seat 1 loses its dice first, in a match that starts with one die more.
    """
    start = max(opener, responder) + 1
    state = new_match(PRESETS["classic"].with_options({"dice": str(start)}), 2)
    for loser in (RESPONDER,) * (start - responder) + (OPENER,) * (start - opener):
        state, _ = apply(state, Rolled())
        bidder = state.turn
        state, _ = apply(state, Play(bidder, Bid(1, 6)))
        state, _ = apply(state, Play(state.turn, LIAR))
        shown = 2 if loser == bidder else 6
        state, _ = apply(state, Hands(tuple((shown,) * number for number in state.dice)))
    state, _ = apply(state, Rolled())
    return state


def bids(state: State) -> Iterator[Bid]:
    """Yield the bids that the engine lists in this state."""
    return (move for move in legal_moves(state) if isinstance(move, Bid))


def sequences(state: State) -> Iterator[tuple[Bid, ...]]:
    """Yield every sequence of bids, of one bid or more, that can be made in the round that begins in this state."""
    for bid in bids(state):
        after, _ = apply(state, Play(state.turn, bid))
        yield (bid,)
        yield from ((bid, *further) for further in sequences(after))


def hands(number: int) -> dict[Hand, int]:
    """Return every hand of ``number`` dice, and how many of the 6 ** ``number`` throws show it."""
    return {
        hand: factorial(number) // prod(factorial(hand.count(face)) for face in FACES)
        for hand in combinations_with_replacement(FACES, number)
    }
