"""Moves and their text. ``str(move)`` is the canonical spelling; :func:`parse_move` reads it back, and more besides."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from p2pdice.errors import MalformedMove

MAX_QUANTITY: Final = 999
"""The wire's limit, above any number of dice: ten cups of 99 hold 990."""
FACES: Final = (1, 2, 3, 4, 5, 6)
FACE_NAMES: Final = ("ones", "twos", "threes", "fours", "fives", "sixes")


@dataclass(frozen=True, slots=True)
class Bid:
    """At least ``quantity`` dice of all cups show ``face``, wild ones counted.

    >>> str(Bid(3, 5))
    '3x5'
    """

    quantity: int
    """1 to 999."""
    face: int
    """1 to 6."""

    def __str__(self) -> str:
        return f"{self.quantity}x{self.face}"


@dataclass(frozen=True, slots=True)
class Liar:
    """The standing bid is called false."""

    def __str__(self) -> str:
        return "liar"


@dataclass(frozen=True, slots=True)
class Exact:
    """The standing bid is called true to the die."""

    def __str__(self) -> str:
        return "exact"


@dataclass(frozen=True, slots=True)
class Side:
    """After a challenge: who is believed to be right."""

    side: Literal["accuser", "accused"]

    def __str__(self) -> str:
        return self.side


@dataclass(frozen=True, slots=True)
class Concede:
    """Leave the match, in any state, whoever's turn it is."""

    def __str__(self) -> str:
        return "concede"


Move = Bid | Liar | Exact | Side | Concede

LIAR: Final = Liar()
EXACT: Final = Exact()
SIDES: Final = (Side("accuser"), Side("accused"))

_WORDS: Final[dict[str, Move]] = {
    "liar": LIAR,
    "bs": LIAR,
    "dudo": LIAR,
    "challenge": LIAR,
    "0": LIAR,
    "exact": EXACT,
    "spot-on": EXACT,
    "spot on": EXACT,
    "calza": EXACT,
    "2": EXACT,
    "accuser": SIDES[0],
    "accused": SIDES[1],
    "concede": Concede(),
}
_BID: Final = re.compile(r"(?:1 )?0{0,9}([1-9][0-9]{0,2}) ?[x×*] ?([1-6])")
_SPACE: Final = re.compile(r"\s+")


@lru_cache(maxsize=4096)
def _bid(quantity: int, face: int) -> Bid:
    return Bid(quantity, face)


def parse_move(text: str) -> Move:
    """Return the move that ``text`` spells, whatever its case and spacing, by its name or an alias.

    >>> parse_move(" 3 X 5 "), parse_move("1 3x5") == parse_move("3x5"), parse_move("BS")
    (Bid(quantity=3, face=5), True, Liar())

    :raises MalformedMove: if it spells none; whether a move is legal is the engine's question.
    """
    plain = _SPACE.sub(" ", text.strip()).lower()
    if plain in _WORDS:
        return _WORDS[plain]
    match = _BID.fullmatch(plain)
    if match:
        return _bid(int(match[1]), int(match[2]))
    shown = text if len(text) <= 40 else text[:40] + "…"
    raise MalformedMove(
        f"{shown!a} is no move: bid as in 3x5 (three fives, quantity 1 to {MAX_QUANTITY}, face 1 to 6), or say"
        " liar, exact, accuser, accused or concede"
    )
