"""Bids as people spell them: three fives, 3 5s, 3 f."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from cli.render import NUMBERS
from p2pdice.moves import FACE_NAMES, MAX_QUANTITY, Bid

_TEENS: Final = ("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS: Final = {name: number for number, name in enumerate((*NUMBERS, *_TEENS)) if number}
_TENFOLD: Final = {name: 10 * number for number, name in enumerate(_TENS, 2)}
_FACES: Final = (*enumerate(FACE_NAMES, 1), (1, "aces"))
_TOKENS: Final = re.compile(r"[0-9]+|[a-z]+")
_BIDDING: Final = re.compile(r"[0-9a-z](?:[0-9a-z ]|[×*,:/-](?! ?[×*,:/-]))*")
NUMBER_WORDS: Final = (*_NUMBERS, *_TENFOLD)


def spelled_bids(plain: str) -> Iterator[Bid]:
    """Yield the bids that a line can spell: three fives, 3 5s, 3 f."""
    if not _BIDDING.fullmatch(plain):
        return
    tokens = _TOKENS.findall(plain)
    if len(tokens) > 2 and tokens[-1] == "s" and tokens[-2].isdigit():
        del tokens[-1]  # of 5s
    first, *between, last = tokens if len(tokens) > 1 else ("", "")
    number = [first, *(token for token in between if token not in ("x", "of", "times"))]
    if len(number) > 1 and first == "1" and plain.startswith(f"1 {number[1]}") and number[1][0] != "0":
        del number[0]  # it announces a bid, as in the strict text; in 1,005 or 1 005 it is a part of the number
    quantity = _quantity(number)
    if 1 <= quantity <= MAX_QUANTITY:
        yield from (Bid(quantity, face) for face in named_faces(last))


def _quantity(tokens: Sequence[str]) -> int:
    match tokens:
        case [digits] if digits.isdigit():
            return int(digits) if len(digits) <= len(str(MAX_QUANTITY)) else 0
        case [word]:
            return _NUMBERS.get(word, 0) or _TENFOLD.get(word, 0)
        case [tens, units] if tens in _TENFOLD and 0 < _NUMBERS.get(units, 0) < 10:
            return _TENFOLD[tens] + _NUMBERS[units]
    return 0


def named_faces(token: str) -> list[int]:
    """Return the faces that a digit, a word or its beginning can be."""
    if token.isdigit():
        return [int(token)] if token in ("1", "2", "3", "4", "5", "6") else []
    return sorted({face for face, name in _FACES if name.startswith(token)})
