"""Colours for plain lines, as on the full screen in 16 colours."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TextIO

from cli.render import NUMBERS
from cli.table.terminal import has_colors
from cli.table.theme import inks_16
from p2pdice.motes import MOTES
from p2pdice.moves import FACE_NAMES

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

    >>> painted("Your turn: raise three fives, or call it.", "dark")
    '\x1b[1;96mYour turn\x1b[0m: raise \x1b[1mthree fives\x1b[0m, or call it.'
    """
    return _STANDS_OUT.sub(
        partial(_paint, inks_16("dark" if color == "dark" else "light" if color == "light" else "unknown")), text
    )


def _paint(inks: Mapping[str, int], found: re.Match[str]) -> str:
    kind = found.lastgroup
    ink = inks[found[0].lower() if kind == "mote" else "seat0" if kind == "turn" else "bad"]
    codes = {"bid": "1", "turn": f"1;{ink}"}.get(kind or "", str(ink or ""))
    return f"\x1b[{codes}m{found[0]}\x1b[0m" if codes else found[0]
