"""Lines of styled text: measured, cut, filled up, wrapped and put side by side by columns of a terminal.

A line is a list of (style, text) as prompt_toolkit draws it. Widths are those of prompt_toolkit, so the picture is
painted as it is computed: combining marks take no column, wide characters two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from prompt_toolkit.utils import get_cwidth

from cli.render import wrapped

if TYPE_CHECKING:
    from cli.table.palette import Glyphs

Line = list[tuple[str, str]]


def width(line: Line) -> int:
    """Return how many columns a line takes."""
    return sum(get_cwidth(text) for _, text in line)


def cut(text: str, columns: int, more: str = "…") -> str:
    """Return ``text`` in at most ``columns`` columns. If it is cut, it has a sign at its end.

    >>> cut("Maximilian", 6), cut("五五五", 5), cut("Ada", 3)
    ('Maxim…', '五五…', 'Ada')
    """
    if get_cwidth(text) <= columns:
        return text
    room = columns - get_cwidth(more)
    if room < 0:
        return more[: max(columns, 0)]
    return _first(text, room) + more


def _first(text: str, columns: int) -> str:
    """Return the longest start that fits, with the marks that stand on its last character."""
    taken = 0
    for place, character in enumerate(text):
        taken += get_cwidth(character)
        if taken > columns:
            return text[:place]
    return text


def fitted(line: Line, columns: int, more: str = "…") -> Line:
    """Return a line in at most ``columns`` columns."""
    left = columns
    shown: Line = []
    for number, (style, text) in enumerate(line):
        needed = get_cwidth(text)
        if needed > left or (needed == left and any(each for _, each in line[number + 1 :])):
            shown.append((style, cut(text + " ", left, more) if needed == left else cut(text, left, more)))
            return shown
        shown.append((style, text))
        left -= needed
    return shown


def filled(line: Line, columns: int, style: str = "") -> Line:
    """Return a line in exactly ``columns`` columns."""
    line = fitted(line, columns)
    return [*line, (style, " " * (columns - width(line)))]


def with_more(line: Line, more: int, columns: int) -> Line:
    """Return a line that ends in the number of players for whom there is no room; as it is if there are none."""
    return [*filled(line, columns - len(f"  +{more}")), ("", f"  +{more}")] if more else line


def text(content: str, style: str = "") -> Line:
    """Return a line of one style."""
    return [(style, content)]


def bar(done: int, total: int, glyphs: Glyphs) -> str:
    """Return a bar of ``total`` blocks: full ones as far as it is done, then empty ones."""
    full = min(done, total)
    return glyphs.full * full + glyphs.empty * (total - full)


def rows(said: str, columns: int) -> list[str]:
    """Return a text in lines of at most ``columns`` columns, broken between words.

    A longer path or command is broken between its parts, and a longer part where it must be.

    >>> rows("one two\\n    p2pdice verify file\\n    ~/evenings/friday", 15)
    ['one two', '    p2pdice ', '    verify file', '    ~/evenings/', '    friday']
    """
    return [row for line in wrapped(said, columns + 1).split("\n") for row in _broken(line, columns)]


def _broken(line: str, columns: int) -> list[str]:
    if get_cwidth(line) <= columns:
        return [line]
    indent = line[: len(line) - len(line.lstrip())][: columns // 2]
    shown = []
    rest = line
    while get_cwidth(rest) > columns:
        start = _first(rest, columns)
        if len(start) <= len(indent):  # nothing fits behind it
            indent, rest = "", rest.lstrip()
            start = _first(rest, columns) or rest[:1]
        part = max(map(start.rfind, " /\\")) + 1
        shown.append(start if part <= len(indent) else start[:part])
        rest = indent + rest[len(shown[-1]) :]
    return [*shown, rest]


def flowing(parts: Iterable[Line], columns: int, between: str = "  ") -> list[Line]:
    """Return pieces one after the other, in as many lines as they need; no piece is broken."""
    lines: list[Line] = []
    for part in parts:
        if lines and width(lines[-1]) + get_cwidth(between) + width(part) <= columns:
            lines[-1] += [("", between), *part]
        else:
            lines.append(fitted(part, columns))
    return lines


def beside(left: Sequence[Line], right: Sequence[Line], columns: int, between: str) -> list[Line]:
    """Return two blocks side by side.

    :param columns: of the left one.
    """
    nothing: Line = []
    return [[*filled(a, columns), ("", between), *b] for a, b in zip_longest(left, right, fillvalue=nothing)]


def plain(lines: Iterable[Line]) -> list[str]:
    """Return the text of lines, without styles and the blanks at their ends."""
    return ["".join(each for _, each in line).rstrip() for line in lines]


def as_ascii(line: Line) -> Line:
    """Return a line without anything beyond ASCII, in as many columns."""
    return [(style, each if each.isascii() else "".join(map(_ascii, each))) for style, each in line]


def _ascii(character: str) -> str:
    return character if character.isascii() else _ALIKE.get(character, "?" * get_cwidth(character))


_ALIKE = {"×": "x", "–": "-", "—": "-", "’": "'", "…": "~", "“": '"', "”": '"'}
