"""How dice count for a bid, and the chance of a bid for a player who knows one hand.

A :class:`Counting` says for how many dice each face counts in a bid. It is a value of the option ``wild``, and another
way to count is another subclass in :data:`COUNTINGS`.

For the chances all other dice are independent and fair. People are shown fractions, which are exact for any number of
dice. House players look them up in a row of floats instead, where each is the nearest to its fraction.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb
from typing import ClassVar, Final

from p2pdice.moves import FACE_NAMES, FACES, Hand


class Counting:
    """Counts each face for itself alone. Subclasses count otherwise.

    There is one object of each, so they are compared by identity, also after they are copied or pickled.
    """

    name: ClassVar[str] = "never"
    """The value of the option ``wild``."""
    rule: ClassVar[str] = "Nothing is wild: a one is a one."
    """Its sentence of the rules page."""
    brief: ClassVar[str] = "nothing wild"
    """The same in a list of what sets a ruleset apart."""
    note: ClassVar[str] = "ones aren't wild"
    """The same about the round that is played."""
    ones_wild: ClassVar[bool] = False
    """Whether a one counts for every face, as programs are told."""

    def __init__(self) -> None:
        self.weights: Final = tuple(tuple(self.weight(die, face) for die in FACES) for face in (0, *FACES))
        """By face of the bid, from 0, and by face of the die, from 1."""
        self._counting = tuple(
            tuple((die, weight) for die, weight in enumerate(weights, 1) if weight) for weights in self.weights
        )

    def weight(self, die: int, face: int) -> int:
        """Return for how many dice one that shows ``die`` counts in a bid on ``face``: a small number, also below 0."""
        return int(die == face)

    def opened(self, _face: int) -> Counting:
        """Return how dice count in a round whose first bid is on this face; 0 before there is one."""
        return self

    def what_counts(self, face: int) -> str:
        """Return the dice that count for a bid, in words: ``sixes and wild ones``."""
        return FACE_NAMES[face - 1]

    def tally(self, hand: Hand, face: int) -> int:
        """Return for how many dice a hand counts, which may be below 0."""
        return sum([weight * hand.count(die) for die, weight in self._counting[face]])

    def count(self, hands: Iterable[Hand], face: int) -> int:
        """Return how many dice stand for a bid on ``face``, at least 0.

        >>> ONES_WILD.count([(1, 3, 3), (1, 5)], 3), NOTHING_WILD.count([(1, 3, 3), (1, 5)], 3)
        (4, 2)
        """
        counted = 0
        for hand in hands:
            for die, weight in self._counting[face]:
                counted += weight * hand.count(die)
        return max(counted, 0)

    def bounds(self, hands: Iterable[Hand], hidden: int, face: int) -> tuple[int, int]:
        """Return the fewest and the most dice that can stand for a bid on ``face``, with ``hidden`` dice unknown."""
        counted, weights = sum(self.tally(hand, face) for hand in hands), self.weights[face]
        return max(counted + hidden * min(weights), 0), max(counted + hidden * max(weights), 0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __reduce__(self) -> tuple[object, ...]:
        return _named, (self.name,)


class OnesWild(Counting):
    """Counts a one for every face; a bid on ones is for ones alone."""

    name = "ones"
    rule = "Ones are wild: they count for every face. Only a bid on ones counts the ones alone."
    brief = "ones wild"
    note = "ones are wild"
    ones_wild = True

    def weight(self, die: int, face: int) -> int:
        return int(die in (face, 1))

    def what_counts(self, face: int) -> str:
        return FACE_NAMES[face - 1] if face == 1 else f"{FACE_NAMES[face - 1]} and wild ones"


class WildUnlessOpened(OnesWild):
    """Counts ones as wild, except in rounds whose first bid is on ones."""

    name = "unless-opened"
    rule = (
        "Ones are wild: they count for every face. But if the first bid of a round is on ones, they are a face like any"
        " other until the round is over."
    )
    brief = "ones wild unless opened"

    def opened(self, face: int) -> Counting:
        return NOTHING_WILD if face == 1 else ONES_WILD


ONES_WILD: Final = OnesWild()
NOTHING_WILD: Final = Counting()
COUNTINGS: Final[dict[str, Counting]] = {each.name: each for each in (ONES_WILD, NOTHING_WILD, WildUnlessOpened())}
"""By value of the option ``wild``."""


def _named(name: str) -> Counting:
    return COUNTINGS[name]


# Chances


def at_least(quantity: int, face: int, hand: Hand, unknown: int, counting: Counting) -> Fraction:
    """Return the chance that a bid is true, when ``hand`` is known and ``unknown`` dice are not.

    >>> at_least(2, 5, (1, 5), 3, ONES_WILD), at_least(1, 5, (), 2, NOTHING_WILD)
    (Fraction(1, 1), Fraction(11, 36))
    """
    lowest, tails, total = _tails(unknown, counting.weights[face])
    needed = quantity - counting.tally(hand, face) - lowest
    return Fraction(tails[min(max(needed, 0), len(tails) - 1)], total)


def exactly(quantity: int, face: int, hand: Hand, unknown: int, counting: Counting) -> Fraction:
    """Return the chance that a bid is exact, when ``hand`` is known and ``unknown`` dice are not.

    >>> exactly(1, 5, (), 2, NOTHING_WILD)
    Fraction(5, 18)
    """
    return at_least(quantity, face, hand, unknown, counting) - at_least(quantity + 1, face, hand, unknown, counting)


@lru_cache(maxsize=4096)
def rows(hand: Hand, unknown: int, counting: Counting) -> tuple[tuple[float, ...], ...]:
    """Return a :func:`row` for each face: by quantity the chance that a bid is true, :func:`at_least` as a number.

    Face 0 is empty. A row ends with a chance of 0, and so has every higher quantity.

    >>> rows((1, 5), 3, ONES_WILD)[5]
    (1.0, 1.0, 1.0, 0.7037037037037037, 0.25925925925925924, 0.037037037037037035, 0.0)
    """
    return ((), *(row(counting.tally(hand, face), unknown, face, counting) for face in FACES))


def in_row(row: tuple[float, ...], quantity: int) -> float:
    """Return the chance of a quantity out of one of the :func:`rows`."""
    return row[quantity] if quantity < len(row) else 0.0


@lru_cache(maxsize=4096)
def row(counted: int, unknown: int, face: int, counting: Counting) -> tuple[float, ...]:
    """Return by quantity the chance that a bid is true for a player with ``counted`` dice that stand for it.

    It ends with a chance of 0, and never rises.
    """
    lowest, tails, total = _tails(unknown, counting.weights[face])
    certain = counted + lowest
    return (1.0,) * certain + tuple(tail / total for tail in tails[max(-certain, 0) :] or (0,))


@lru_cache(maxsize=256)
def _tails(dice: int, weights: tuple[int, ...]) -> tuple[int, tuple[int, ...], int]:
    """Return in how many throws of some dice at least so many count.

    :return: the lowest number that can count; by what is above it, up to one more than possible, in how many throws
        at least so many count; and the number of all throws.
    """
    standing = sum(weights)
    if set(weights) <= {0, 1}:  # how many stand is binomial
        against = len(weights) // standing - 1
        cases = [comb(dice, k) * against ** (dice - k) for k in range(dice + 1)]
        return 0, (*reversed([0, *accumulate(reversed(cases))]),), (1 + against) ** dice
    lowest = min(weights)
    cases = [1]
    for _ in range(dice):
        longer = [0] * (len(cases) + max(weights) - lowest)
        for weight in weights:
            for total, ways in enumerate(cases):
                longer[total + weight - lowest] += ways
        cases = longer
    return dice * lowest, (*reversed([0, *accumulate(reversed(cases))]),), len(weights) ** dice
