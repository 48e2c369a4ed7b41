"""The one palette: what stands out at a table, in colours that can be read on dark and on light backgrounds alike.

Whatever a colour says, a sign or a word says too, so nothing is lost without colours. Text keeps the foreground of the
terminal; only what stands out gets one of the 16 colours that every terminal lets its owner choose, and none of those
that vanish on black or on white.
"""

from __future__ import annotations

from typing import Final, NamedTuple

HEADER: Final = "class:header"
TITLE: Final = "class:title"
QUIET: Final = "class:quiet"
YOU: Final = "class:you"
TURN: Final = "class:turn"
BID: Final = "class:bid"
COUNTED: Final = "class:counted"
LOST: Final = "class:lost"
GAINED: Final = "class:gained"
ALARM: Final = "class:alarm"
KEY: Final = "class:key"

STYLES: Final[dict[str, str]] = {
    "header": "reverse",
    "title": "bold",
    "quiet": "",
    "you": "bold",
    "turn": "bold ansimagenta",
    "bid": "bold ansimagenta",
    "counted": "bold ansimagenta",
    "lost": "ansired",
    "gained": "bold",
    "alarm": "bold ansired reverse",
    "key": "bold",
    "light": "bold",
    "grey": "",
    "neutral": "",
    "blue": "ansibrightblue",
    "red": "ansired",
    "dark": "underline",
    "prompt": "bold",
}
"""What each class looks like. Without colours bold, underlined and reverse text is left."""


_ON: Final = {
    "dark": {"turn": "bold ansibrightcyan", "counted": "bold ansibrightgreen", "neutral": "ansibrightyellow"},
    "light": {"turn": "bold ansiblue", "counted": "bold ansigreen", "blue": "ansiblue"},
}
"""What else can be read where the background is known."""


def styles(color: str) -> dict[str, str]:
    """Return what each class looks like on a background: ``dark``, ``light``, or any other word for either."""
    return STYLES | _ON.get(color, {})


class Glyphs(NamedTuple):
    """The signs of a drawing, and whether letters beyond ASCII can be shown."""

    is_ascii: bool
    die: str
    gone: str
    pip: str
    side: str
    turn: str
    rule: str
    bar: str
    full: str
    empty: str
    more: str
    times: str


PICTURES: Final = Glyphs(False, "■", "·", "●", "┃", "▶", "─", "│", "▮", "▯", "…", "×")
ASCII: Final = Glyphs(True, "#", ".", "o", "|", ">", "-", "|", "#", ".", "...", "x")
"""For terminals whose encoding has no pictures."""
