"""The dice that count for a bid, and the chance of a bid for a player who knows one hand.

All other dice are independent and fair.

An unknown die stands for a bid on its face with chance 1/6, or 1/3 where ones are wild and the bid is not on them; how
many of n stand is binomial. People are shown fractions, which are exact for any number of dice. House players
look them up in a row of floats instead, where each is the nearest to its fraction.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb

from p2pdice.moves import Hand


def count(hands: Iterable[Hand], face: int, ones_wild: bool) -> int:
    """Count the dice that stand for a bid on ``face``. Wild ones stand for every face; a bid on ones is for ones alone.

    >>> count([(1, 3, 3), (1, 5)], 3, ones_wild=True), count([(1, 3, 3), (1, 5)], 3, ones_wild=False)
    (4, 2)
    """
    wild = ones_wild and face != 1
    counted = 0
    for hand in hands:
        counted += hand.count(face)
        if wild:
            counted += hand.count(1)
    return counted


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


@lru_cache(maxsize=4096)
def rows(hand: Hand, unknown: int, ones_wild: bool) -> tuple[tuple[float, ...], ...]:
    """Return a :func:`row` for each face: by quantity the chance that a bid is true, :func:`at_least` as a number.

    Face 0 is empty. A row ends with a chance of 0, and so has every higher quantity.

    >>> rows((1, 5), 3, ones_wild=True)[5]
    (1.0, 1.0, 1.0, 0.7037037037037037, 0.25925925925925924, 0.037037037037037035, 0.0)
    """
    return (
        (),
        *(row(count((hand,), face, ones_wild), unknown, face, ones_wild) for face in range(1, 7)),
    )


def in_row(row: tuple[float, ...], quantity: int) -> float:
    """Return the chance of a quantity out of one of the :func:`rows`."""
    return row[quantity] if quantity < len(row) else 0.0


@lru_cache(maxsize=4096)
def row(counted: int, unknown: int, face: int, ones_wild: bool) -> tuple[float, ...]:
    """Return by quantity the chance that a bid is true for a player with ``counted`` dice that stand for it.

    It ends with a chance of 0, and never rises.
    """
    tails, total = _tails(unknown, _against(face, ones_wild))
    return (1.0,) * counted + tuple(tail / total for tail in tails)


def _against(face: int, ones_wild: bool) -> int:
    # An unknown die stands for the bid in one case out of 1 + this.
    return 2 if ones_wild and face != 1 else 5


@lru_cache(maxsize=256)
def _tails(dice: int, against: int) -> tuple[tuple[int, ...], int]:
    """Return by k, up to ``dice`` + 1, in how many cases at least k dice stand; and the number of all cases."""
    cases = (comb(dice, k) * against ** (dice - k) for k in range(dice, -1, -1))
    return (*reversed([0, *accumulate(cases)]),), (1 + against) ** dice
