"""The list of legal moves, made lazily: its length and any item of it cost no list of hundreds of bids.

Listed bids run by quantity, then by face. Which faces can be bid changes at a few quantities only, so the list is a few
*blocks* of rows alike: a block is its first index, its first quantity, and the faces of each of its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple, overload

from p2pdice.bids import raises
from p2pdice.moves import Bid, Move


class Block(NamedTuple):
    """Rows of quantities for which the same faces can be bid."""

    start: int
    """Index of its first bid in the list."""
    quantity: int
    """Of its first row."""
    faces: tuple[int, ...]
    stop: int
    """The index behind its last bid."""


def blocks(order: str, quantity: int, face: int, faces: tuple[int, ...], limit: int) -> tuple[Block, ...]:
    """Return what raises ``quantity`` x ``face`` (quantity 0: no bid) with one of ``faces``, up to ``limit`` dice."""
    allowed = raises(order, quantity, face)
    columns = [(new, allowed[new - 1].start, min(allowed[new - 1].stop, limit + 1)) for new in faces]
    edges = sorted({edge for _, start, stop in columns if start < stop for edge in (start, stop)})
    found: list[Block] = []
    index = 0
    for first, behind in pairwise(edges):
        row = tuple(new for new, start, stop in columns if start <= first < stop)
        if row:
            found.append(Block(index, first, row, index + len(row) * (behind - first)))
            index = found[-1].stop
    return tuple(found)


@cache  # 999 x 6 at most: what is asked for comes from the blocks
def _bid(quantity: int, face: int) -> Bid:
    return Bid(quantity, face)


class Menu(Sequence[Move]):
    """A read-only sequence of moves: bids in rising order, then the calls and whatever else.

    >>> from p2pdice import Liar
    >>> menu = menu_of("strict", 2, 5, (1, 2, 3, 4, 5, 6), 4, (Liar(),))
    >>> menu
    Menu(2x6, 3x5, 4x5, liar)
    >>> len(menu), menu[2], Bid(3, 6) in menu
    (4, Bid(quantity=4, face=5), False)
    """

    __slots__ = ("_bids", "_blocks", "_calls", "_left_out", "_length")

    def __init__(self, blocks: tuple[Block, ...], calls: tuple[Move, ...], left_out: Iterable[Bid] = ()) -> None:
        """Make the list of these blocks without the bids ``left_out``, and of the calls."""
        self._blocks = blocks
        self._calls = calls
        indices = [self._index(bid) for bid in left_out]
        self._left_out = sorted(index for index in indices if index is not None)
        self._bids = (blocks[-1].stop if blocks else 0) - len(self._left_out)
        self._length = self._bids + len(calls)

    def without(self, bids: Iterable[Bid]) -> Menu:
        """Return this list without some bids, of a list from which none is left out yet."""
        return Menu(self._blocks, self._calls, bids)

    def followed_by(self, moves: Iterable[Move]) -> Menu:
        """Return this list with other moves behind the calls."""
        more = tuple(moves)
        if not more:
            return self
        left_out = (move for move in map(self._at, self._left_out) if isinstance(move, Bid))
        return Menu(self._blocks, (*self._calls, *more), left_out)

    def _index(self, bid: Bid) -> int | None:
        for start, quantity, faces, stop in self._blocks:
            index = start + (bid.quantity - quantity) * len(faces)
            if start <= index < stop and bid.face in faces:
                return index + faces.index(bid.face)
        return None

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Move: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Move, ...]: ...
    def __getitem__(self, index: int | slice) -> Move | tuple[Move, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        if index < 0:
            index += self._length
        if index < 0:
            raise IndexError("before the first move")
        if index >= self._bids:
            return self._calls[index - self._bids]
        for left_out in self._left_out:
            index += left_out <= index
        return self._at(index)

    def _at(self, index: int) -> Bid:
        for start, quantity, faces, stop in self._blocks:
            if index < stop:
                row, column = divmod(index - start, len(faces))
                return _bid(quantity + row, faces[column])
        raise AssertionError("the blocks hold as many bids as counted")

    def __contains__(self, move: object) -> bool:
        if isinstance(move, Bid):
            index = self._index(move)
            return index is not None and index not in self._left_out
        return move in self._calls

    def __repr__(self) -> str:
        return f"Menu({', '.join(map(str, self))})"


@lru_cache(maxsize=8192)
def menu_of(order: str, quantity: int, face: int, faces: tuple[int, ...], limit: int, calls: tuple[Move, ...]) -> Menu:
    """Return the list of :func:`blocks` of these arguments and of the calls. Few differ in a match, so it is kept."""
    return Menu(blocks(order, quantity, face, faces, limit), calls)
