"""A canvas: a grid of terminal cells to draw on. Each cell has a sign, an ink (its colour) and a ground (its fill).

Inks and grounds are roles, such as ``quiet``; a theme maps roles to colours, and signs to ASCII. A die is XL (14 by 7
cells), L (7 by 3) or a tile (3 by 1). In ASCII, the rows of a die are in brackets, and numbers have seven segments.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from prompt_toolkit.utils import get_cwidth

from cli.render import wrapped
from protocol.wire.names import BOT_MARKS

if TYPE_CHECKING:
    from fractions import Fraction

    from prompt_toolkit.formatted_text import StyleAndTextTuples

    from cli.table.theme import Theme


class Area(NamedTuple):
    """A rectangle of cells."""

    x: int
    y: int
    width: int
    height: int


Size = Literal["L", "XL"]
DieLook = Literal["die", "counts", "miss", "closed", "gone", "slot"]
"""A visible die, one that counts for the bid, one that does not, one with a hidden face, a lost one, and an empty slot
for a die still to be counted."""

DIE_WIDTH: Final[dict[Size, int]] = {"L": 7, "XL": 14}
DIE_HEIGHT: Final[dict[Size, int]] = {"L": 3, "XL": 7}

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
"""The digits 0 to 9 side by side, three columns each, in three rows."""
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
"""Each sign and its rows of pixels. ``_`` stands for a blank."""
_TALL: Final = (0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5)
"""For each row of pixels of an XL number, the row of the L number that it repeats."""


class Canvas:
    """Cells of a terminal, counted from the upper left corner. Anything beyond the edges is cut off.

    A text must be one line of printable characters: escape foreign text first. A role is a class in the theme's style.
    ``on`` is the role of the ground: ``""`` for the terminal's own, None to keep the ground of each cell.
    """

    def __init__(self, width: int, height: int, theme: Theme) -> None:
        self.width, self.height, self.theme = width, height, theme
        self._signs = [[" "] * width for _ in range(height)]
        self._inks = [[""] * width for _ in range(height)]
        self._grounds = [[""] * width for _ in range(height)]

    def put(
        self,
        x: int,
        y: int,
        text: str,
        role: str = "text",
        on: str | None = None,
        *,
        bold: bool = False,
        underline: bool = False,
    ) -> int:
        """Write a text whose first cell is at (x, y), and return the column after it."""
        cells = _cells(text if text.isascii() or not self.theme.is_ascii else self.theme.sign(text))
        end = x + len(cells)
        start, stop = max(x, 0), min(end, self.width)
        if not 0 <= y < self.height or start >= stop:
            return end
        signs = self._signs[y]
        if not signs[start] and start:  # the right half of a wide sign
            signs[start - 1] = " "
        if stop < self.width and not signs[stop]:
            signs[stop] = " "
        signs[start:stop] = cells[start - x : stop - x]
        if not signs[start]:
            signs[start] = " "
        if stop < end and not cells[stop - x]:
            signs[stop - 1] = " "
        self._inks[y][start:stop] = [_ink(role, bold, underline)] * (stop - start)
        if on is not None:
            self._grounds[y][start:stop] = [self.theme.ground_of(on)] * (stop - start)
        return end

    def right(self, x: int, y: int, text: str, role: str = "text", on: str | None = None, *, bold: bool = False) -> int:
        """Write a text that ends just before column ``x``, and return the column where it begins."""
        start = x - width(text)
        self.put(start, y, text, role, on, bold=bold)
        return start

    def centre(self, x: int, y: int, room: int, text: str, role: str = "text", *, bold: bool = False) -> None:
        """Write a text centred in ``room`` columns, cut to fit."""
        text = cut(text, room)
        self.put(x + (room - width(text)) // 2, y, text, role, bold=bold)

    def fill(self, x: int, y: int, width: int, height: int, on: str) -> None:
        """Clear a rectangle, and fill it with a ground."""
        for row in range(y, y + height):
            self.put(x, row, " " * width, on=on)

    def frame(self, x: int, y: int, width: int, height: int, role: str = "text", on: str | None = None) -> None:
        """Draw a frame along the edges of a rectangle."""
        for row, line in ((y, f"╭{'─' * (width - 2)}╮"), (y + height - 1, f"╰{'─' * (width - 2)}╯")):
            self.put(x, row, line, role, on)
        for row in range(y + 1, y + height - 1):
            self.put(x, row, "│", role, on)
            self.put(x + width - 1, row, "│", role, on)

    def felt(self, area: Area) -> Area:
        """Draw the background of the felt, and return the area within its edges."""
        x, y, width, height = area
        if self.theme.is_framed:
            self.frame(x, y, width, height, "quiet")
            return Area(x + 1, y + 1, width - 2, height - 2)
        self.put(x, y, "▄" * width, "felt")
        self.fill(x, y + 1, width, height - 2, "felt")
        self.put(x, y + height - 1, "▀" * width, "felt")
        return Area(x, y + 1, width, height - 2)

    def gauge(self, x: int, y: int, width: int, share: Fraction | float) -> None:
        """Draw a horizontal bar.

        :param share: the filled part, from 0 to 1.
        """
        full = round(share * width)
        done, left = ("=", ".") if self.theme.is_ascii else ("━", "─")
        self.put(self.put(x, y, done * full, "counts", bold=True), y, left * (width - full), "quiet")

    def die(self, x: int, y: int, face: int, kind: DieLook = "die", size: Size = "L") -> None:
        """Draw a die. A ``closed`` die shows no face."""
        ground: str = "hidden" if kind in ("miss", "closed") else kind
        pips = ("     ", "  ?  ", "     ") if kind == "closed" else _PIPS[face]
        if kind == "gone" and self.theme.is_mono:
            ground, pips = "", ("     ", "  ✕  ", "     ")
        is_framed = self.theme.is_ascii or not self.theme.ground_of(ground)
        if size == "XL":
            if not self.theme.is_ascii:
                for row, line in enumerate(_pips_of_xl(pips)):
                    self.put(x, y + row, f"│{line[1:-1]}│" if is_framed else line, on=ground)
                return
            x, y = x + 3, y + 2
        # On a tile, brackets mean that the die counts, so the edges of a large die look different.
        form = "[{}]" if self.theme.is_ascii else "│{}│" if is_framed else " {} "
        for row, line in enumerate(pips):
            self.put(x, y + row, form.format(line), on=ground, bold=kind == "counts")

    def tile(self, x: int, y: int, face: int, kind: DieLook = "die", width: int = 3) -> int:
        """Draw a die in one row, two or three cells wide, and return the column after it."""
        sign = {"closed": "?", "slot": "·", "gone": "✕"}.get(kind, str(face))
        if not (self.theme.is_mono or self.theme.is_ascii):
            ground = "hidden" if kind in ("miss", "closed") else kind
            return self.put(x, y, f" {sign} "[:width], on=ground, bold=kind == "counts")
        if width < 3:
            return self.put(x, y, sign + {"counts": "*", "gone": "!"}.get(kind, " "), bold=kind == "counts")
        form = {"counts": "[{}]", "gone": "[{}]", "closed": "({})", "slot": "({})"}.get(kind, " {} ")
        return self.put(x, y, form.format(sign), bold=kind == "counts")

    def number(self, x: int, y: int, value: int, role: str = "text", size: Size = "L") -> int:
        """Draw a number as high as a die of this size (in ASCII, always L); return the column after it."""
        if self.theme.is_ascii:
            y += (DIE_HEIGHT[size] - DIE_HEIGHT["L"]) // 2
        for digit in str(value):
            at = 3 * int(digit)
            rows = [row[at : at + 3] for row in _SEGMENTS] if self.theme.is_ascii else _digit(digit, size)
            for row, line in enumerate(rows):
                self.put(x, y + row, line, role, bold=self.theme.is_ascii)
            x += len(rows[0]) + 1
        return x - 1

    def number_width(self, value: int, size: Size = "L") -> int:
        """Return the width of a number in columns."""
        return len(str(value)) * (4 if self.theme.is_ascii else 11 if size == "XL" else 6) - 1

    def letters(self, x: int, y: int, text: str, role: str = "text") -> int:
        """Draw capital letters, digits, hyphens and blanks, three rows high, and return the column after them.

        In ASCII they take one row: ``*** A LIE ***``, or spaced letters if the text has a hyphen, as codes do.
        """
        wanted = self.letters_width(text)
        if self.theme.is_ascii:
            spelled = _spelled(text)
            self.put(x + (wanted - len(spelled)) // 2, y + 1, spelled, role, bold=True)
            return x + wanted
        for letter in text.upper():
            rows = _letter(letter)
            for row, line in enumerate(rows):
                self.put(x, y + row, line, role)
            x += len(rows[0]) + 1
        return x - 1

    def letters_width(self, text: str) -> int:
        """Return the width of letters in columns."""
        drawn = sum(len(_letter(letter)[0]) + 1 for letter in text.upper()) - 1
        return max(drawn, len(_spelled(text))) if self.theme.is_ascii else drawn

    def text(self) -> str:
        """Return the signs row by row, without trailing blanks."""
        return "\n".join("".join(row).rstrip() for row in self._signs)

    def fragments(self) -> StyleAndTextTuples:
        """Return the picture for prompt_toolkit. Trailing blanks without a ground are omitted, to paint faster."""
        shown: StyleAndTextTuples = []
        for y, (signs, inks, grounds) in enumerate(zip(self._signs, self._inks, self._grounds, strict=True)):
            if y:
                shown.append(("", "\n"))
            start, ink, ground = 0, "", ""
            for x, (each, below) in enumerate(zip(inks, grounds, strict=True)):
                if each != ink or below != ground:
                    if x > start:
                        shown.append((f"{ground} {ink}", "".join(signs[start:x])))
                    start, ink, ground = x, each, below
            rest = "".join(signs[start:])
            if rest := rest if ground else rest.rstrip(" "):
                shown.append((f"{ground} {ink}", rest))
        return shown


def width(text: str) -> int:
    """Return the number of cells that a text takes."""
    return len(text) if text.isascii() else get_cwidth(text)


def cut(text: str, columns: int) -> str:
    """Return a text cut to ``columns`` columns. A suffix that distinguishes namesakes stays if it fits.

    >>> cut("Maximilian", 6), cut("五五五", 5), cut("Ada", 3), cut("Maximilian [K7QF]", 12), cut("Maximilian (bot)", 9)
    ('Maxim…', '五五…', 'Ada', 'Maxi… [K7QF]', 'Ma… (bot)')
    """
    if width(text) <= columns:
        return text
    head, bracket, tail = text.rpartition(" (" if text.endswith(BOT_MARKS) else " [")
    tail = bracket + tail
    tail = tail if tail.endswith((*BOT_MARKS, "]")) and width(tail) + 2 <= columns else ""
    room = columns - width(tail) - 1
    taken = 0
    for place, character in enumerate(head if tail else text):
        taken += get_cwidth(character)
        if taken > room:
            return f"{text[:place]}…{tail}" if columns > 0 else ""
    return text


def broken(said: str, columns: int) -> list[str]:
    """Return a text in lines of at most ``columns`` columns, broken between words.

    A path or command that is too long is broken between its parts. A part that is too long is broken anywhere. An
    indented line that is too long is not indented, so that a copy of it contains no added spaces.

    >>> broken("one two\\n    p2pdice verify file\\n    ~/evenings/friday", 15)
    ['one two', 'p2pdice verify ', 'file', '~/evenings/', 'friday']
    """
    columns = max(columns, 2)  # a wide sign must fit
    return [row for line in wrapped(said, columns + 1).split("\n") for row in _broken_line(line, columns)]


def _broken_line(line: str, columns: int) -> list[str]:
    rest = line if width(line) <= columns else line.lstrip()
    shown = []
    while width(rest) > columns:
        start = _first(rest, columns)
        part = max(map(start.rfind, " /\\")) + 1
        shown.append(start[:part] or start)
        rest = rest[len(shown[-1]) :]
    return [*shown, rest]


def _first(text: str, columns: int) -> str:
    """Return the longest prefix that fits, including the combining marks on its last character."""
    taken = 0
    for place, character in enumerate(text):
        taken += width(character)
        if taken > columns:
            return text[:place]
    return text


@lru_cache(4096)
def _cells(text: str) -> tuple[str, ...]:
    """Return the signs of a text, cell by cell. An empty sign follows a wide one."""
    if text.isascii():
        return tuple(text)
    cells: list[str] = []
    for character in text:
        columns = get_cwidth(character)
        if columns:
            cells += (character, *[""] * (columns - 1))
        elif cells:  # it combines with the sign before it
            place = -1 if cells[-1] else -2
            cells[place] += character
    return tuple(cells)


@lru_cache(1024)
def _ink(role: str, bold: bool, underline: bool) -> str:
    role = "" if role == "text" else f"class:{role}"
    return " ".join(filter(None, (role, "bold" * bold, "underline" * underline)))


def _spelled(text: str) -> str:
    return " ".join(text) if "-" in text else f"*** {text} ***"


def _pips_of_xl(pips: tuple[str, str, str]) -> list[str]:
    rows = [" " * DIE_WIDTH["XL"]] * DIE_HEIGHT["XL"]
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
    """Return pixels as half blocks, with two rows of pixels in each row and ``across`` columns for each pixel."""
    pairs = zip(pixels[::2], [*pixels[1::2], *["0" * len(pixels[0])] * (len(pixels) % 2)], strict=True)
    return ["".join(" ▀▄█"[int(a) + 2 * int(b)] * across for a, b in zip(*pair, strict=True)) for pair in pairs]
