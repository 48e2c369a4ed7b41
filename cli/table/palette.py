"""The one palette: colours that can be read on dark and on light backgrounds alike.

A sign or a word always says the same as a colour, so nothing is lost without colours. Plain text keeps the foreground
of the terminal. Text that stands out gets one of the 16 colours that every terminal lets its owner choose, but none
that vanishes on black or on white.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from p2pdice import POWERS

if TYPE_CHECKING:
    from p2pdice.powers.power import Color

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
    "prompt": "bold",
}
"""The style of each class that is no mote. Without colours, bold, underlined and reverse text is left."""

_COLORS: Final[dict[Color, str]] = {
    "white": "bold",
    "grey": "",
    "yellow": "",
    "blue": "ansibrightblue",
    "red": "ansired",
    "black": "underline",
}
"""The style of each colour that a mote can have. Its class is the mote's name."""

_ON: Final = {
    "dark": {"turn": "bold ansibrightcyan", "counted": "bold ansibrightgreen"},
    "light": {"turn": "bold ansiblue", "counted": "bold ansigreen"},
}
_COLORS_ON: Final[dict[str, dict[Color, str]]] = {"dark": {"yellow": "ansibrightyellow"}, "light": {"blue": "ansiblue"}}
"""Styles that can also be read if the background is known."""


def styles(color: str) -> dict[str, str]:
    """Return the style of each class on a background: ``dark``, ``light``, or any other word for either."""
    colors = _COLORS | _COLORS_ON.get(color, {})
    return STYLES | _ON.get(color, {}) | {power.mote: colors[power.color] for power in POWERS.values()}


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
