"""Colours for plain lines, from the palette of the full screen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TextIO

from cli.render import NUMBERS
from cli.table.palette import styles
from cli.table.terminal import has_colors
from p2pdice import MOTES
from p2pdice.moves import FACE_NAMES

_CODES: Final = {
    "bold": "1",
    "underline": "4",
    "reverse": "7",
    "ansired": "31",
    "ansigreen": "32",
    "ansiblue": "34",
    "ansimagenta": "35",
    "ansibrightgreen": "92",
    "ansibrightyellow": "93",
    "ansibrightblue": "94",
    "ansibrightcyan": "96",
}
"""The SGR parameter for each word of a style."""
_COUNTS: Final = "|".join((*NUMBERS[1:], "[0-9]+"))
_FACES: Final = "|".join((*FACE_NAMES, *NUMBERS[1:7]))
_STANDS_OUT: Final = re.compile(
    rf"(?P<turn>^Your turn)|(?P<bid>\b(?:(?:{_COUNTS}) (?:{_FACES})|[0-9]+x[1-6])\b)|(?P<lost>^You lose\b)"
    rf"|(?P<mote>\b(?:{'|'.join(mote.capitalize() for mote in MOTES)})\b)",
    re.MULTILINE,
)


def painter(stream: TextIO, color: str) -> Callable[[str], str]:
    """Return a function that paints a text for a stream. Without colours it leaves the text as it is.

    :param color: the setting: a background, ``auto``, or ``none``.
    """
    return partial(painted, color=color) if color != "none" and has_colors(stream) else str


def painted(text: str, color: str = "auto") -> str:
    r"""Return a text with colours for turns, bids and losses.

    >>> painted("Ada bids three fives.")
    'Ada bids \x1b[1;35mthree fives\x1b[0m.'
    """
    return _STANDS_OUT.sub(partial(_paint, styles(color)), text)


def _paint(looks: Mapping[str, str], found: re.Match[str]) -> str:
    kind = found.lastgroup or ""
    style = looks[found[0].lower() if kind == "mote" else kind]
    codes = ";".join(_CODES[word] for word in style.split())
    return f"\x1b[{codes}m{found[0]}\x1b[0m" if codes else found[0]
