"""Raise orders and counting: the bids that may follow a bid, and the number of dice that stand for it.

Every raise order says, for a standing bid and a new face, which quantities raise it: a range. Legality, the list of
moves and the advice in an error message are all read from that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from p2pdice.inputs import Hand
from p2pdice.moves import FACES, MAX_QUANTITY

_NONE: Final = range(0)


def _from(quantity: int) -> range:
    return range(quantity, MAX_QUANTITY + 1)


def _standard(quantity: int, face: int, new: int) -> range:
    return _from(quantity if new > face else quantity + 1)


def _strict(quantity: int, face: int, new: int) -> range:
    if new == face:
        return _from(quantity + 1)
    return range(quantity, quantity + 1) if new > face else _NONE


def _reset_quantity(quantity: int, face: int, new: int) -> range:
    if new == face:
        return _from(quantity + 1)
    return _from(1) if new > face else _NONE


def _either(quantity: int, face: int, new: int) -> range:
    return _from(1 if new > face else quantity + 1)


def _half_ones(quantity: int, face: int, new: int) -> range:
    if new == 1 and face != 1:
        return _from((quantity + 1) // 2)
    if face == 1 and new != 1:
        return _from(2 * quantity + 1)
    return _standard(quantity, face, new)


def _double_ones(quantity: int, face: int, new: int) -> range:
    weight = 2 * quantity if face == 1 else quantity
    if new == 1:
        return _from(weight // 2 + 1)  # no face is below one, so the weight must grow
    return _from(weight if new > face else weight + 1)


RAISES: Final[Mapping[str, Callable[[int, int, int], range]]] = MappingProxyType(
    {
        "standard": _standard,
        "strict": _strict,
        "reset-quantity": _reset_quantity,
        "either": _either,
        "half-ones": _half_ones,
        "double-ones": _double_ones,
    }
)
"""By value of the option ``raise``: from the standing bid (quantity, face) and a new face to the quantities that raise
it. ``either`` also refuses the earlier bids of the round, which the standing bid does not tell.
"""

RAISES_IN_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "standard": "more dice, or as many of a higher face",
        "strict": "more of the same face, or as many of a higher one",
        "reset-quantity": "more of the same face, or any number of a higher one",
        "either": "more dice, or any number of a higher face, but no bid twice",
        "half-ones": "more dice, or as many of a higher face, ones at half the number",
        "double-ones": "more dice, or as many of a higher face, where ones count double",
    }
)
"""The bids that raise another, in words, by value of the option ``raise``."""

_ANY: Final = (_from(1),) * len(FACES)


@lru_cache(maxsize=8192)  # one raise order has 5,995 standing bids, "none yet" included
def raises(order: str, quantity: int, face: int) -> tuple[range, ...]:
    """Return for each face, ones first, the quantities that raise ``quantity`` x ``face``; quantity 0 is no bid yet.

    >>> [len(quantities) for quantities in raises("strict", 3, 5)]
    [0, 0, 0, 0, 996, 1]
    """
    if not quantity:
        return _ANY
    return tuple(RAISES[order](quantity, face, new) for new in FACES)


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
