"""A canvas: the cells of a picture, each a sign with the role of its ink and of the ground that it stands on.

What is drawn is the same in all colours. A theme says what a role looks like, and what stands for a sign in ASCII.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from prompt_toolkit.utils import get_cwidth

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


class Canvas:
    """Cells of a terminal, from the upper left corner. What is put beyond the edges is cut off.

    A text is one line of printable characters: foreign text is escaped before. A role is a class of the theme's style;
    ``on`` is the role of the ground, ``""`` is the terminal's own, and None keeps the ground of each cell.
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
        """Write a text from a cell on, and return the column behind it."""
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
        """Write a text that ends before a column, and return the column where it begins."""
        start = x - width(text)
        self.put(start, y, text, role, on, bold=bold)
        return start

    def centre(
        self, x: int, y: int, room: int, text: str, role: str = "text", on: str | None = None, *, bold: bool = False
    ) -> int:
        """Write a text in the middle of some columns, cut to them, and return the column behind it."""
        text = cut(text, room)
        return self.put(x + (room - width(text)) // 2, y, text, role, on, bold=bold)

    def fill(self, x: int, y: int, width: int, height: int, on: str, role: str = "text") -> None:
        """Clear a rectangle to a ground."""
        for row in range(y, y + height):
            self.put(x, row, " " * width, role, on)

    def frame(self, x: int, y: int, width: int, height: int, role: str = "text", on: str | None = None) -> None:
        """Draw the edges of a rectangle."""
        for row, line in ((y, f"╭{'─' * (width - 2)}╮"), (y + height - 1, f"╰{'─' * (width - 2)}╯")):
            self.put(x, row, line, role, on)
        for row in range(y + 1, y + height - 1):
            self.put(x, row, "│", role, on)
            self.put(x + width - 1, row, "│", role, on)

    def felt(self, area: Area) -> Area:
        """Draw a felt, and return the area within its edges."""
        x, y, width, height = area
        if self.theme.is_framed:
            self.frame(x, y, width, height, "quiet")
            return Area(x + 1, y + 1, width - 2, height - 2)
        self.put(x, y, "▄" * width, "felt")
        self.fill(x, y + 1, width, height - 2, "felt")
        self.put(x, y + height - 1, "▀" * width, "felt")
        return Area(x, y + 1, width, height - 2)

    def gauge(self, x: int, y: int, width: int, share: Fraction | float) -> None:
        """Draw a bar that is filled to a share."""
        full = round(share * width)
        done, left = ("=", ".") if self.theme.is_ascii else ("━", "─")
        self.put(self.put(x, y, done * full, "counts", bold=True), y, left * (width - full), "quiet")

    def text(self) -> str:
        """Return the signs, row by row, without the blanks at their ends."""
        return "\n".join("".join(row).rstrip() for row in self._signs)

    def fragments(self) -> StyleAndTextTuples:
        """Return the picture as prompt_toolkit paints it. It takes less time without the blanks at the ends of rows."""
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
    """Return how many cells a text takes."""
    return len(text) if text.isascii() else get_cwidth(text)


def cut(text: str, columns: int) -> str:
    """Return a text in at most so many columns. What tells players of one name apart is kept, as long as it fits.

    >>> cut("Maximilian", 6), cut("五五五", 5), cut("Ada", 3), cut("Maximilian [K7QF]", 12)
    ('Maxim…', '五五…', 'Ada', 'Maxi… [K7QF]')
    """
    if width(text) <= columns:
        return text
    head, bracket, tail = text.rpartition(" [")
    tail = bracket + tail
    tail = tail if tail.endswith("]") and width(tail) + 2 <= columns else ""
    room = columns - width(tail) - 1
    taken = 0
    for place, character in enumerate(head if tail else text):
        taken += get_cwidth(character)
        if taken > room:
            return f"{text[:place]}…{tail}" if columns > 0 else ""
    return text


@lru_cache(4096)
def _cells(text: str) -> tuple[str, ...]:
    """Return the signs of a text, cell by cell; behind a wide one, an empty one."""
    if text.isascii():
        return tuple(text)
    cells: list[str] = []
    for character in text:
        columns = get_cwidth(character)
        if columns:
            cells += (character, *[""] * (columns - 1))
        elif cells:  # a mark on the sign before it
            place = -1 if cells[-1] else -2
            cells[place] += character
    return tuple(cells)


@lru_cache(1024)
def _ink(role: str, bold: bool, underline: bool) -> str:
    role = "" if role == "text" else f"class:{role}"
    return " ".join(filter(None, (role, "bold" * bold, "underline" * underline)))
