"""Rounds of classic between two players: their beginnings, bid sequences and hands, and numbers for moves.

Rounds come from the engine: a match is played up to the start of a round, and bid sequences consist of the bids that
the engine lists. The engine lists bids up to the dice in play. Higher bids are legal, but certainly false.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Final

from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.moves import FACES, LIAR, Bid, Hand, Hands, Liar, Play, Rolled
from p2pdice.rulesets import PRESETS
from p2pdice.state import State

OPENER: Final = 0
"""The seat that opens the round."""
RESPONDER: Final = 1


def highest_bid(dice: int) -> int:
    """Return the highest quantity that policies bid with this number of dice in play. They call every higher bid.

    With more than six dice the highest quantities are omitted: they are hardly ever true, and few rounds reach them.
    """
    return min(dice, 6) if dice <= 8 else 7


def beginning(opener: int, responder: int) -> State:
    """Return the state in which seat 0 opens a round with ``opener`` dice, and seat 1 has ``responder`` dice.

    The match starts with more dice. The loser of a round opens the next one, so seat 1 loses its dice first.
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
    """Yield every non-empty sequence of bids that is possible in the round that starts in this state."""
    for bid in bids(state):
        after, _ = apply(state, Play(state.turn, bid))
        yield (bid,)
        yield from ((bid, *further) for further in sequences(after))


def hands(number: int) -> dict[Hand, int]:
    """Return every hand of ``number`` dice with the number of throws, out of 6 ** ``number``, that show it."""
    return {
        hand: factorial(number) // prod(factorial(hand.count(face)) for face in FACES)
        for hand in combinations_with_replacement(FACES, number)
    }


def number_of(move: Bid | Liar) -> int:
    """Return the number of a move in files and arrays: 0 for a call, 6 * (quantity - 1) + face for a bid."""
    return 6 * (move.quantity - 1) + move.face if isinstance(move, Bid) else 0


def move_of(number: int) -> Bid | Liar:
    """Return the move with this number: see :func:`number_of`."""
    return Bid((number - 1) // 6 + 1, (number - 1) % 6 + 1) if number else LIAR
