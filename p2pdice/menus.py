"""The lists of bids and calls. Each is made once and shared by all states that need the same one.

There is one list for each standing bid; the :class:`Menus` of a round hold those that were asked for. A state carries
them, so that listing the moves, the most frequent step, is one lookup.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final

from p2pdice.bids import raises
from p2pdice.moves import EXACT, LIAR, Bid, Move

_KEPT: Final = 100_000
"""Moves listed in one :class:`Menus` before it starts afresh: a megabyte. Cups of 99 dice make long lists."""


class Menus(dict[tuple[int, int], tuple[Move, ...]]):
    """Lists of moves by quantity and face of the standing bid; (0, 0) opens a round. Made when first looked up.

    Each list has the bids up to the limit, by quantity, then by face; then the calls.

    >>> [str(move) for move in menus_of("strict", (1, 2, 3, 4, 5, 6), 4, False)[2, 5]]
    ['2x6', '3x5', '4x5', 'liar']
    """

    __slots__ = ("_listed", "faces", "order", "terms")

    def __init__(self, order: str, faces: tuple[int, ...], limit: int, exact: bool) -> None:
        """Make the menus of bids in this raise order, on these faces, up to ``limit`` dice, and of the calls."""
        self.order = order
        self.faces = faces
        self.terms = (order, faces, limit, exact)
        self._listed = 0

    def __missing__(self, standing: tuple[int, int]) -> tuple[Move, ...]:
        order, faces, limit, exact = self.terms
        calls: tuple[Move, ...] = () if not standing[0] else (LIAR, EXACT) if exact else (LIAR,)
        moves = (*_bids(raises(order, *standing), faces, limit), *calls)
        self._listed += len(moves)
        if self._listed > _KEPT:
            self.clear()
            self._listed = len(moves)
        self[standing] = moves
        return moves

    def up_to(self, limit: int) -> Menus:
        """Return the same menus with another limit."""
        order, faces, _limit, exact = self.terms
        return menus_of(order, faces, limit, exact)

    # States are compared, hashed and copied with their menus, so the lists made so far make no difference.

    def __eq__(self, other: object) -> bool:
        return self.terms == other.terms if isinstance(other, Menus) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]  # its terms never change
        return hash(self.terms)

    def __repr__(self) -> str:
        return f"Menus{self.terms}"

    def __reduce__(self) -> tuple[object, ...]:
        return menus_of, self.terms


def _bids(allowed: tuple[range, ...], faces: tuple[int, ...], limit: int) -> list[Bid]:
    columns = [(face, allowed[face - 1]) for face in faces if allowed[face - 1]]
    lowest = min((quantities.start for _, quantities in columns), default=limit + 1)
    return [
        _bid(quantity, face)
        for quantity in range(lowest, limit + 1)
        for face, quantities in columns
        if quantity in quantities
    ]


@cache  # 999 x 6 at most, and shared by all menus
def _bid(quantity: int, face: int) -> Bid:
    return Bid(quantity, face)


@lru_cache(maxsize=128)
def menus_of(order: str, faces: tuple[int, ...], limit: int, exact: bool) -> Menus:
    """Return the menus of these terms, from a cache."""
    return Menus(order, faces, limit, exact)
