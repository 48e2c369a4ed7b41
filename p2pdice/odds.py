"""Exact probabilities of a bid for a player who knows one hand: all other dice are independent and fair.

An unknown die stands for a bid on its face with chance 1/6, or 1/3 where ones are wild and the bid is not on them; how
many of n stand is binomial. All results are fractions, so they are exact for any number of dice.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb

from p2pdice.bids import count
from p2pdice.inputs import Hand


def at_least(quantity: int, face: int, hand: Hand, unknown: int, ones_wild: bool) -> Fraction:
    """Return the chance that a bid is true, when ``hand`` is known and ``unknown`` dice are not.

    >>> at_least(2, 5, (1, 5), 3, ones_wild=True), at_least(1, 5, (), 2, ones_wild=False)
    (Fraction(1, 1), Fraction(11, 36))
    """
    tails, total = _tails(unknown, _against(face, ones_wild))
    needed = min(max(quantity - count((hand,), face, ones_wild), 0), unknown + 1)
    return Fraction(tails[needed], total)


def exactly(quantity: int, face: int, hand: Hand, unknown: int, ones_wild: bool) -> Fraction:
    """Return the chance that a bid is exact, when ``hand`` is known and ``unknown`` dice are not.

    >>> exactly(1, 5, (), 2, ones_wild=False)
    Fraction(5, 18)
    """
    return at_least(quantity, face, hand, unknown, ones_wild) - at_least(quantity + 1, face, hand, unknown, ones_wild)


def _against(face: int, ones_wild: bool) -> int:
    # An unknown die stands for the bid in one case out of 1 + this.
    return 2 if ones_wild and face != 1 else 5


@lru_cache(maxsize=256)
def _tails(dice: int, against: int) -> tuple[tuple[int, ...], int]:
    """Return by k, up to ``dice`` + 1, in how many cases at least k dice stand; and the number of all cases."""
    cases = (comb(dice, k) * against ** (dice - k) for k in range(dice, -1, -1))
    return (*reversed([0, *accumulate(cases)]),), (1 + against) ** dice
