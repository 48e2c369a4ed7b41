"""A hand, and the chances of bids as its owner sees them, laid out for the models of ``mind``."""

from __future__ import annotations

from functools import lru_cache
from math import exp
from typing import Final, NamedTuple

from p2pdice.bids import count
from p2pdice.inputs import Hand
from p2pdice.moves import FACES
from p2pdice.odds import row

PULL: Final = 0.12
"""The temperature of the softmax: a bid that is likelier by this weighs e times as much."""

Row = tuple[float, ...]


class Chances(NamedTuple):
    """The bids on one face, by quantity, up to a few more than the dice in play."""

    row: Row
    """The chance that a bid is true."""
    negated: Row
    """The same with a minus sign: a row that rises, as a binary search needs it."""
    pull: Row
    """The weight of each bid in a softmax of the chances."""


class Held(NamedTuple):
    """A hand, and the chances of bids as its owner sees them."""

    hand: Hand
    chances: tuple[Row, ...]
    """By face and quantity, up to all dice in play."""
    negated: tuple[Row, ...]
    """The same with a minus sign."""
    pull: tuple[Row, ...]
    """The weight of each bid in a softmax of the chances."""
    trusting: tuple[Row, ...]
    """The chances if one of the others is known to hold a die that counts for the bid."""
    counts: tuple[int, ...]
    """By face: the dice of this hand that count for a bid on it."""


_NO_FACE: Final = Chances((), (), ())


@lru_cache(maxsize=20_000)
def held(hand: Hand, dice: int, ones_wild: bool) -> Held:
    """Return a hand with the chances of bids where ``dice`` are in play."""
    unknown = dice - len(hand)
    counts = [count((hand,), face, ones_wild) for face in FACES]
    known = [_chances(counts[face - 1], unknown, face, ones_wild, dice) for face in FACES]
    trusting = known
    if unknown:
        trusting = [_chances(counts[face - 1] + 1, unknown - 1, face, ones_wild, dice) for face in FACES]
    rows, negated, pull = zip(_NO_FACE, *known, strict=True)
    return Held(hand, rows, negated, pull, ((), *(each.row for each in trusting)), (0, *counts))


@lru_cache(maxsize=20_000)
def _chances(counted: int, unknown: int, face: int, ones_wild: bool, dice: int) -> Chances:
    chances = (row(counted, unknown, face, ones_wild) + (0.0,) * (dice + 3))[: dice + 3]
    return Chances(chances, tuple(-chance for chance in chances), tuple(exp(chance / PULL) for chance in chances))
