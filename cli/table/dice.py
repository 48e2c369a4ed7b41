"""Dice, numbers and letters that are drawn large.

A die is XL (14 by 7 cells), L (7 by 3) or a tile (3 by 1). In ASCII, rows of a die stand in brackets, and numbers are
made of seven segments.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from cli.table.canvas import Canvas
    from cli.table.theme import Theme

Size = Literal["L", "XL"]
Kind = Literal["die", "counts", "miss", "closed", "gone", "slot"]
"""A die that is seen, one that counts for the bid, one that does not, one whose face is not seen, one that is lost, and
a place for a die that is still to count."""

WIDTH: Final[dict[Size, int]] = {"L": 7, "XL": 14}
HEIGHT: Final[dict[Size, int]] = {"L": 3, "XL": 7}

_PIPS: Final = {
    1: ("     ", "  ●  ", "     "),
    2: ("●    ", "     ", "    ●"),
    3: ("●    ", "  ●  ", "    ●"),
    4: ("●   ●", "     ", "●   ●"),
    5: ("●   ●", "  ●  ", "●   ●"),
    6: ("●   ●", "●   ●", "●   ●"),
}
_SEGMENTS: Final = (
    " _     _  _     _  _  _  _  _ ",
    "| |  | _| _||_||_ |_   ||_||_|",
    "|_|  ||_  _|  | _||_|  ||_| _|",
)
"""The rows of the digits, three columns each."""
_DIGITS: Final = """
0 01110 11011 11011 11011 11011 01110  1 00110 01110 00110 00110 00110 01111  2 11110 00011 00110 01100 11000 11111
3 11110 00011 01110 00011 00011 11110  4 11011 11011 11011 11111 00011 00011  5 11111 11000 11110 00011 00011 11110
6 01111 11000 11110 11011 11011 01110  7 11111 00011 00110 00110 01100 01100  8 01110 11011 01110 11011 11011 01110
9 01110 11011 11011 01111 00011 11110
"""
_LETTERS: Final = """
A 010 101 111 101 101  B 110 101 110 101 110  C 011 100 100 100 011  D 110 101 101 101 110  E 111 100 110 100 111
F 111 100 110 100 100  G 011 100 101 101 011  H 101 101 111 101 101  I 111 010 010 010 111  J 001 001 001 101 010
K 101 101 110 101 101  L 100 100 100 100 111  M 10001 11011 10101 10001 10001  N 1001 1101 1011 1001 1001
O 010 101 101 101 010  P 110 101 110 100 100  Q 010 101 101 110 011  R 110 101 110 101 101  S 011 100 010 001 110
T 111 010 010 010 010  U 101 101 101 101 111  V 101 101 101 101 010  W 10001 10001 10101 11011 10001
X 101 101 010 101 101  Y 101 101 010 010 010  Z 111 001 010 100 111  0 010 101 101 101 010  1 010 110 010 010 111
2 110 001 010 100 111  3 110 001 010 001 110  4 101 101 111 001 001  5 111 100 110 001 110  6 011 100 110 101 010
7 111 001 010 010 010  8 010 101 010 101 010  9 010 101 011 001 110  - 00 00 11 00 00  _ 0 0 0 0 0
"""
"""The pixels of each sign, row by row. The last one is the blank."""
_TALL: Final = (0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5)
"""The row of an L number that each row of pixels of an XL number repeats."""


def die(canvas: Canvas, x: int, y: int, face: int, kind: Kind = "die", size: Size = "L") -> None:
    """Draw a die of some kind: ``closed`` shows no face."""
    theme = canvas.theme
    ground: str = "hidden" if kind in ("miss", "closed") else kind
    pips = ("     ", "  ?  ", "     ") if kind == "closed" else _PIPS[face]
    if kind == "gone" and theme.is_mono:
        ground, pips = "", ("     ", "  ✕  ", "     ")
    is_framed = theme.is_ascii or not theme.ground_of(ground)
    if size == "XL":
        if not theme.is_ascii:
            for row, line in enumerate(_pips_of_xl(pips)):
                canvas.put(x, y + row, f"[{line[1:-1]}]" if is_framed else line, on=ground)
            return
        x, y = x + 3, y + 2
    form = "[{}]" if is_framed else " {} "
    for row, line in enumerate(pips):
        canvas.put(x, y + row, form.format(line), on=ground, bold=kind == "counts")


def tile(canvas: Canvas, x: int, y: int, face: int, kind: Kind = "die", width: int = 3) -> int:
    """Draw a die in one row, two or three cells wide, and return the column behind it."""
    theme = canvas.theme
    sign = {"closed": "?", "slot": "·", "gone": "✕"}.get(kind, str(face))
    if not (theme.is_mono or theme.is_ascii):
        ground = "hidden" if kind in ("miss", "closed") else kind
        return canvas.put(x, y, f" {sign} "[:width], on=ground, bold=kind == "counts")
    if width < 3:
        return canvas.put(x, y, sign + {"counts": "*", "gone": "!"}.get(kind, " "), bold=kind == "counts")
    form = {"counts": "[{}]", "gone": "[{}]", "closed": "({})", "slot": "({})"}.get(kind, " {} ")
    return canvas.put(x, y, form.format(sign), bold=kind == "counts")


def number(
    canvas: Canvas, x: int, y: int, value: int, role: str = "text", on: str | None = None, size: Size = "L"
) -> int:
    """Draw a number as high as a die of this size, and return the column behind it."""
    if canvas.theme.is_ascii:
        y += (HEIGHT[size] - HEIGHT["L"]) // 2
    for digit in str(value):
        at = 3 * int(digit)
        rows = [row[at : at + 3] for row in _SEGMENTS] if canvas.theme.is_ascii else _digit(digit, size)
        for row, line in enumerate(rows):
            canvas.put(x, y + row, line, role, on, bold=canvas.theme.is_ascii)
        x += len(rows[0]) + 1
    return x - 1


def number_width(value: int, theme: Theme, size: Size = "L") -> int:
    """Return how many columns a number takes."""
    return len(str(value)) * (4 if theme.is_ascii else 11 if size == "XL" else 6) - 1


def letters(canvas: Canvas, x: int, y: int, text: str, role: str = "text", on: str | None = None) -> int:
    """Draw capital letters, digits, hyphens and blanks, three rows high, and return the column behind them.

    In ASCII they are one row: ``*** A LIE ***``, and a code is spaced.
    """
    wanted = letters_width(text, canvas.theme)
    if canvas.theme.is_ascii:
        spelled = _spelled(text)
        canvas.put(x + (wanted - len(spelled)) // 2, y + 1, spelled, role, on, bold=True)
        return x + wanted
    for letter in text.upper():
        rows = _letter(letter)
        for row, line in enumerate(rows):
            canvas.put(x, y + row, line, role, on)
        x += len(rows[0]) + 1
    return x - 1


def letters_width(text: str, theme: Theme) -> int:
    """Return how many columns letters take."""
    drawn = sum(len(_letter(letter)[0]) + 1 for letter in text.upper()) - 1
    return max(drawn, len(_spelled(text))) if theme.is_ascii else drawn


def _spelled(text: str) -> str:
    return " ".join(text) if "-" in text else f"*** {text} ***"


def _pips_of_xl(pips: tuple[str, str, str]) -> list[str]:
    rows = [" " * WIDTH["XL"]] * HEIGHT["XL"]
    for row, line in zip((1, 3, 5), pips, strict=True):
        rows[row] = "  {0}  {2}  {4}  ".format(*(each * 2 if each != "●" else "██" for each in line))
    return rows


@cache
def _digit(digit: str, size: Size) -> list[str]:
    rows = _pixels(_DIGITS, digit)
    return _blocks([rows[row] for row in _TALL], 2) if size == "XL" else _blocks(rows)


@cache
def _letter(letter: str) -> list[str]:
    return _blocks(_pixels(_LETTERS, letter.replace(" ", "_")))


def _pixels(signs: str, sign: str) -> list[str]:
    return signs.replace("  ", "\n").partition(f"\n{sign} ")[2].partition("\n")[0].split() or ["0"]


def _blocks(pixels: list[str], across: int = 1) -> list[str]:
    """Return rows of pixels as half blocks, two rows in one; each pixel is some columns wide."""
    pairs = zip(pixels[::2], [*pixels[1::2], *["0" * len(pixels[0])] * (len(pixels) % 2)], strict=True)
    return ["".join(" ▀▄█"[int(a) + 2 * int(b)] * across for a, b in zip(*pair, strict=True)) for pair in pairs]
