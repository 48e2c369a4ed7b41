"""How dice count towards a bid, and the probability of a bid for a player who knows one hand.

A :class:`Counting` defines how many dice each face counts as. It implements one value of the option ``wild``; another
way of counting is another subclass in :data:`COUNTINGS`.

Probabilities assume that all unknown dice are independent and fair. Screens show exact fractions. House players read
rows of floats, each the float nearest to the exact fraction.
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
    """Count each face for itself only; subclasses count in other ways.

    Each class has a single instance. Copying and pickling preserve it, so instances are compared by identity.
    """

    name: ClassVar[str] = "never"
    """The value of the option ``wild``."""
    rule: ClassVar[str] = "Nothing is wild: a one is a one."
    """The sentence that explains this counting on the rules page."""
    brief: ClassVar[str] = "nothing wild"
    """A short form for lists of the differences between rulesets."""
    note: ClassVar[str] = "ones aren't wild"
    """A short form for remarks about the current round."""
    ones_wild: ClassVar[bool] = False
    """Whether a one counts for every face, as reported in JSON."""

    def __init__(self) -> None:
        self.weights: Final = tuple(tuple(self.weight(die, face) for die in FACES) for face in (0, *FACES))
        """Weights, indexed by the face of the bid (0 is unused) and by the face of the die minus one."""
        self._counting = tuple(
            tuple((die, weight) for die, weight in enumerate(weights, 1) if weight) for weights in self.weights
        )

    def weight(self, die: int, face: int) -> int:
        """Return the weight of one die showing ``die`` in a bid on ``face``: a small integer, possibly negative."""
        return int(die == face)

    def counts(self, die: int, face: int) -> bool:
        """Return whether a die showing ``die`` counts for a bid on ``face``, with any weight but 0."""
        return self.weight(die, face) != 0

    def opened(self, _face: int) -> Counting:
        """Return the counting for a round whose first bid is on the given face; 0 stands for no bid yet."""
        return self

    def what_counts(self, face: int) -> str:
        """Return a description of the dice that count for a bid on ``face``: ``sixes and wild ones``."""
        return FACE_NAMES[face - 1]

    def tally(self, hand: Hand, face: int) -> int:
        """Return how much ``hand`` adds to the count for a bid on ``face``. The sum can be negative."""
        return sum([weight * hand.count(die) for die, weight in self._counting[face]])

    def count(self, hands: Iterable[Hand], face: int) -> int:
        """Return how many dice count for a bid on ``face`` in all ``hands`` together, at least 0.

        >>> ONES_WILD.count([(1, 3, 3), (1, 5)], 3), NOTHING_WILD.count([(1, 3, 3), (1, 5)], 3)
        (4, 2)
        """
        counted = 0
        for hand in hands:
            for die, weight in self._counting[face]:
                counted += weight * hand.count(die)
        return max(counted, 0)

    def bounds(self, hands: Iterable[Hand], hidden: int, face: int) -> tuple[int, int]:
        """Return the minimum and maximum count for a bid on ``face`` and ``hidden`` dice with unknown faces."""
        counted, weights = sum(self.tally(hand, face) for hand in hands), self.weights[face]
        return max(counted + hidden * min(weights), 0), max(counted + hidden * max(weights), 0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __reduce__(self) -> tuple[object, ...]:
        return _named, (self.name,)


class OnesWild(Counting):
    """Count a one for every face; only ones count for a bid on ones."""

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
    """Count ones as wild, except in a round whose first bid is on ones."""

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
"""The countings by value of the option ``wild``."""


def _named(name: str) -> Counting:
    return COUNTINGS[name]


# Probabilities


def at_least(quantity: int, face: int, hand: Hand, unknown: int, counting: Counting) -> Fraction:
    """Return the probability that a bid is true, given ``hand`` and ``unknown`` other dice.

    >>> at_least(2, 5, (1, 5), 3, ONES_WILD), at_least(1, 5, (), 2, NOTHING_WILD)
    (Fraction(1, 1), Fraction(11, 36))
    """
    lowest, tails, total = _tails(unknown, counting.weights[face])
    needed = quantity - counting.tally(hand, face) - lowest
    return Fraction(tails[min(max(needed, 0), len(tails) - 1)], total)


def exactly(quantity: int, face: int, hand: Hand, unknown: int, counting: Counting) -> Fraction:
    """Return the probability that exactly ``quantity`` dice count, given ``hand`` and ``unknown`` other dice.

    >>> exactly(1, 5, (), 2, NOTHING_WILD)
    Fraction(5, 18)
    """
    return at_least(quantity, face, hand, unknown, counting) - at_least(quantity + 1, face, hand, unknown, counting)


@lru_cache(maxsize=4096)
def rows(hand: Hand, unknown: int, counting: Counting) -> tuple[tuple[float, ...], ...]:
    """Return a :func:`row` for each face: :func:`at_least` by quantity, as floats.

    Item 0 is empty, because no face is 0. A row ends with probability 0, which holds for all higher quantities too.

    >>> rows((1, 5), 3, ONES_WILD)[5]
    (1.0, 1.0, 1.0, 0.7037037037037037, 0.25925925925925924, 0.037037037037037035, 0.0)
    """
    return ((), *(row(counting.tally(hand, face), unknown, face, counting) for face in FACES))


def in_row(row: tuple[float, ...], quantity: int) -> float:
    """Return the probability at ``quantity`` in one of the :func:`rows`."""
    return row[quantity] if quantity < len(row) else 0.0


@lru_cache(maxsize=4096)
def row(counted: int, unknown: int, face: int, counting: Counting) -> tuple[float, ...]:
    """Return, by quantity, the probability of a bid on ``face`` for a player whose own dice count ``counted`` for it.

    The row never rises and ends with probability 0.
    """
    lowest, tails, total = _tails(unknown, counting.weights[face])
    certain = counted + lowest
    return (1.0,) * certain + tuple(tail / total for tail in tails[max(-certain, 0) :] or (0,))


@lru_cache(maxsize=256)
def _tails(dice: int, weights: tuple[int, ...]) -> tuple[int, tuple[int, ...], int]:
    """Count the throws of ``dice`` dice that reach each total; ``weights`` has the value of each face.

    :returns: the lowest possible total; for each total from the lowest up, the number of throws with at least that
        total, ending with a 0; and the number of all throws.
    """
    standing = sum(weights)
    if set(weights) <= {0, 1}:  # the total is binomially distributed
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
