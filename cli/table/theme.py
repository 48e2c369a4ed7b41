"""Themes: how each role in a picture looks in 24-bit colour, 256 colours, 16 colours, monochrome, and ASCII.

A role names an ink (text colour) or a ground (fill). As a ground, the role ``felt`` has the class ``on-felt``, which
also sets the ink of plain text there. An ink that would be illegible on a ground has another shade there. Whatever a
colour means, a sign or a word says it, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Final, Literal

from prompt_toolkit.utils import get_cwidth

from p2pdice.motes import MOTES
from p2pdice.moves import FACE_NAMES
from p2pdice.plurals import NUMBERS
from p2pdice.powers import POWERS

if TYPE_CHECKING:
    from fractions import Fraction

    from prompt_toolkit.styles import Style

    from p2pdice.powers import Color

Colors = Literal["24", "256", "16", "none"]
Ground = Literal["dark", "light", "unknown"]

MARKS: Final = "●▲■◆★✚▼○△□"
"""A mark for each seat, so that players can be told apart without colours."""

_ASCII: Final = str.maketrans(
    "●▲■◆★✚▼○△□×│─−▶◀·…›‹–—’‘“”▄▀█✓✕→←↑↓╭╮╰╯━▸▎┄⚀⚁⚂⚃⚄⚅▏",
    "o^#*%+vOAHx|--><.~><--''\"\"   +x><^v++++=>|-123456|",
)

_SEATS: Final = {
    "dark": ("3aa5ff", "e8971a", "2fe08c", "f2b0d4", "ecf47a", "ff6257", "d0b8ff", "e9f2f8"),
    "light": ("0b57c2", "945800", "003f2e", "c0107f", "5a4a00", "5e0b00", "5a22d6", "4a545e"),
}
"""Inks of the seats. The ninth and tenth seats reuse the first two colours, but have different marks."""
_INKS: Final = {
    "quiet": ("8d97a3", "5b6672"),
    "faint": ("4a525c", "b4bcc6"),
    "good": ("4cc26a", "116b30"),
    "bad": ("ff6b60", "b3261e"),
    "warn": ("e3a93a", "7d5200"),
    "counts": ("ffd166", "7d5200"),
    "felt": ("123a2b", "dcf0e4"),
}
"""RGB for a dark background, and for a light one."""
_MOTES: Final[dict[Color, tuple[str, str]]] = {
    "white": ("f4f4ee", "8a8a80"),
    "grey": ("aab2bc", "5b6672"),
    "yellow": ("f2d24b", "7d6500"),
    "blue": ("6cb6ff", "0a5fa0"),
    "red": ("ff7b6b", "b3261e"),
    "black": ("9d86c9", "4b3a78"),
}
_GROUNDS: Final = {
    "felt": (("123a2b", "eef4ef"), ("dcf0e4", "10301f")),
    "slot": (("0d2a20", "aab6c2"), ("bfdfcc", "424d59")),
    "die": (("f4ecd9", "17191c"), ("2b333d", "ffffff")),
    "counts": (("ffc53d", "17191c"), ("ffb300", "17191c")),
    "hidden": (("36414d", "aab6c2"), ("c2ccd6", "424d59")),
    "gone": (("7a2320", "ffffff"), ("e6a09a", "17191c")),
    "bar": (("232a33", "d7dbe0"), ("e3e8ee", "22272e")),
    "plate": (("1d222a", "d7dbe0"), ("f3f5f8", "22272e")),
    "key": (("39434f", "f0f3f6"), ("c9d2dc", "1b2027")),
    "sel": (("d7dbe0", "15181d"), ("22272e", "ffffff")),
    "band-right": (("1e5c33", "ffffff"), ("116b30", "ffffff")),
    "band-wrong": (("7a2320", "ffffff"), ("a8231c", "ffffff")),
    "band-waiting": (("6b4a0e", "ffffff"), ("8a5a00", "ffffff")),
}
"""(fill, ink of plain text on it) for a dark background, and for a light one."""
_QUIET_ON_FELT: Final = ("a3c5b4", "3c6450")
_PAPER: Final = ("15181d", "ffffff")
_FELT_OF_256: Final = ("005f00", "d7ffd7")
"""Colours 22 and 194 of the 256, because those closest to the 24-bit felt are grey."""

_ANSI_COLORS: Final = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "gray")
_SEATS_16: Final = {"dark": (96, 93, 92, 95, 97, 91, 94, 37), "light": (34, 33, 32, 35, 30, 31, 36, 90)}
_INKS_16: Final = {
    "quiet": (37, 90),
    "faint": (90, 37),
    "good": (92, 32),
    "bad": (91, 31),
    "warn": (93, 33),
    "counts": (93, 33),
}
_MOTES_16: Final[dict[Color, tuple[int, int, int]]] = {
    "white": (97, 90, 0),
    "grey": (37, 90, 0),
    "yellow": (93, 33, 0),
    "blue": (94, 34, 94),
    "red": (91, 31, 31),
    "black": (95, 35, 35),
}
"""SGR parameters for a dark, a light and an unknown background; 0 is the terminal's default ink."""
_GROUNDS_16: Final = {
    "die": ((107, 30), (40, 97)),
    "counts": ((103, 30), (43, 30)),
    "hidden": ((100, 97), (47, 30)),
    "gone": ((41, 97), (41, 97)),
    "bar": ((47, 30), (40, 97)),
    "key": ((47, 30), (100, 97)),
    "sel": ((107, 30), (40, 97)),
    "band-right": ((42, 30), (42, 97)),
    "band-wrong": ((41, 97), (41, 97)),
    "band-waiting": ((43, 30), (43, 97)),
}
"""SGR parameters (fill, ink) for a dark background, and for a light one. Seats and motes have fills, too."""
_EITHER_16: Final = {"quiet": 0, "faint": 0, "good": 32, "bad": 31, "warn": 0, "counts": 0}
"""Inks that are legible on both black and white."""
_SEATS_EITHER: Final = (34, 35, 32, 31, 36, 94, 35, 0)
_REVERSED: Final = ("bar", "die", "counts", "sel", "key", "gone", "band-right", "band-wrong", "band-waiting")


_COUNTS: Final = "|".join((*NUMBERS[1:], "[0-9]+"))
_FACE_PATTERN: Final = "|".join((*FACE_NAMES, *NUMBERS[1:7]))
_STANDS_OUT: Final = re.compile(
    rf"(?P<turn>^Your turn)|(?P<bid>\b(?:(?:{_COUNTS}) (?:{_FACE_PATTERN})|[0-9]+x[1-6])\b)|(?P<lost>^You lose\b)"
    rf"|(?P<mote>\b(?:{'|'.join(mote.capitalize() for mote in MOTES)})\b)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Theme:
    """The display of a terminal: its colour depth, its background, and whether it is limited to ASCII."""

    depth: Colors = "24"
    ground: Ground = "dark"
    is_ascii: bool = False

    @property
    def is_mono(self) -> bool:
        """Whether no colours are used."""
        return self.depth == "none"

    @property
    def is_framed(self) -> bool:
        """Whether the felt and the cups need edges, because fills or half blocks cannot show them."""
        return self.is_ascii or self.depth in ("16", "none")

    def sign(self, text: str) -> str:
        """Return a text as this terminal can show it. In ASCII, other signs become substitutes or ``?``."""
        if text.isascii() or not self.is_ascii:
            return text
        text = text.translate(_ASCII)
        return text if text.isascii() else "".join(c if c.isascii() else "?" * get_cwidth(c) for c in text)

    def mark(self, seat: int) -> str:
        """Return the mark of a seat, as this terminal can show it."""
        return self.sign(MARKS[seat % len(MARKS)])

    def ground_of(self, role: str) -> str:
        """Return the style class of a ground; empty if this terminal does not fill it."""
        return _grounds(self.depth).get(role, "")

    def style(self) -> Style:
        """Return the prompt_toolkit style for all classes."""
        from prompt_toolkit.styles import Style

        return Style(list(_rules(self.depth, self.ground).items()))


@cache
def _grounds(depth: Colors) -> dict[str, str]:
    """Return the class of each ground that is filled at this depth, by role."""
    seats = [f"seat{seat}" for seat in range(len(MARKS))]
    roles: list[str] = [*seats, *_REVERSED]
    if depth == "16":
        roles = [*seats, *_GROUNDS_16, *POWERS]
    elif depth != "none":
        roles = [*seats, *(f"dim-{seat}" for seat in seats), *_GROUNDS, *POWERS]
    return {role: f"class:on-{role}" for role in roles}


def _rules(depth: Colors, ground: Ground) -> dict[str, str]:
    if depth == "none":
        return {name.removeprefix("class:"): "reverse" for name in _grounds(depth).values()}
    side = int(ground == "light")
    if depth == "16":
        return _rules_16(ground, side)
    seats = [*_SEATS["light" if side else "dark"]] * 2
    inks = {role: each[side] for role, each in _INKS.items()}
    inks |= {power.mote: _MOTES[power.color][side] for power in POWERS.values()}
    inks |= {f"seat{seat}": seats[seat] for seat in range(len(MARKS))}
    inks |= {f"dim-seat{seat}": _mixed(seats[seat], _PAPER[side], 0.42) for seat in range(len(MARKS))}
    grounds = {role: each[side] for role, each in _GROUNDS.items()}
    grounds |= {role: (inks[role], _PAPER[side]) for role in inks if role.startswith("seat") or role in POWERS}
    grounds |= {
        role: (color, "22272e" if side else "ffffff") for role, color in inks.items() if role.startswith("dim-")
    }
    lifted: dict[str, str] = {}
    if depth == "256":
        inks["felt"] = _FELT_OF_256[side]
        grounds["felt"] = (_FELT_OF_256[side], grounds["felt"][1])
        if not side:  # in 256 colours the dark felt is lighter, so its inks must be lighter
            lifted = {f"on-felt {role}": f"#{_mixed(color, 'ffffff', 0.55)}" for role, color in inks.items()}
    rules = {f"on-{role}": f"bg:#{below} #{ink}" for role, (below, ink) in grounds.items()}
    rules |= {role: f"#{color}" for role, color in inks.items()}
    if ground == "unknown":
        # Only inside filled areas is the background known.
        bare = {role: _ansi(code) for role, code in inks_16(ground).items()}
        bare |= {f"seat{seat}": f"#{_on_either(seat % len(_SEATS['dark']))}" for seat in range(len(MARKS))}
        rules |= {f"on-{role} {ink}": f"#{inks[ink]}" for role in grounds for ink in bare}
        rules |= bare
        rules = {key: rules[key] for key in sorted(rules, key=lambda key: " " in key)}
    quiet = f"#{_QUIET_ON_FELT[side]}"
    return rules | {"on-felt quiet": quiet, "on-felt faint": quiet} | lifted


def _rules_16(ground: Ground, side: int) -> dict[str, str]:
    filled = inks_16("light" if side else "dark")
    rules = {
        f"on-{role}": f"bg:{_ansi(each[side][0] - 10)} {_ansi(each[side][1])}" for role, each in _GROUNDS_16.items()
    }
    ink = "ansiwhite" if side else "ansiblack"
    rules |= {f"on-{role}": f"bg:{_ansi(code)} {ink}" for role, code in filled.items() if role not in _INKS_16}
    rules |= {role: _ansi(code) for role, code in inks_16(ground).items()}
    # Few of the 16 inks are legible on a filled area, so text there has the ink of the area.
    return rules | {f"on-{role} {ink}": rules[f"on-{role}"] for role in _GROUNDS_16 for ink in ("quiet", "counts")}


def inks_16(ground: Ground) -> dict[str, int]:
    """Return each role's ink among the 16 colours, as an SGR parameter; 0 is the terminal's default ink."""
    side = ("dark", "light", "unknown").index(ground)
    inks = _EITHER_16 if side == 2 else {role: each[side] for role, each in _INKS_16.items()}
    seats = [*(_SEATS_EITHER if ground == "unknown" else _SEATS_16[ground])] * 2
    motes = {power.mote: _MOTES_16[power.color][side] for power in POWERS.values()}
    return inks | {f"seat{seat}": seats[seat] for seat in range(len(MARKS))} | motes


def _ansi(code: int) -> str:
    """Return prompt_toolkit's name for an ink, given its SGR parameter; empty for 0.

    >>> _ansi(31), _ansi(97), _ansi(90), _ansi(37), _ansi(0)
    ('ansired', 'ansiwhite', 'ansibrightblack', 'ansigray', '')
    """
    if not code:
        return ""
    if code < 90:
        return f"ansi{_ANSI_COLORS[code - 30]}"
    return "ansiwhite" if code == 97 else f"ansibright{_ANSI_COLORS[code - 90]}"


@cache
def _on_either(seat: int) -> str:
    """Return an ink for a seat that is legible on both black and white: its two inks mixed, and darkened if necessary.

    The hue stays the same, so that a player is recognizable inside and outside filled areas.
    """
    color = _mixed(_SEATS["dark"][seat], _SEATS["light"][seat], 0.5)
    while luminance(color) > 0.3:  # less than 3:1 contrast with white
        color = _mixed(color, "000000", 0.95)
    return color


def luminance(color: str) -> float:
    """Return the relative luminance of a colour such as ``3aa5ff``, from 0 to 1, as WCAG defines it."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _mixed(color: str, other: str, share: float) -> str:
    """Mix two colours.

    :param share: the share of the first colour, from 0 to 1.
    """
    parts = [round(int(color[at : at + 2], 16) * share + int(other[at : at + 2], 16) * (1 - share)) for at in (0, 2, 4)]
    return "".join(f"{part:02x}" for part in parts)


def heat(chance: Fraction) -> str:
    """Return the role of a chance: ``good`` from 66 %, ``warn`` from 33 %, else ``bad``."""
    return "good" if 100 * chance >= 66 else "warn" if 100 * chance >= 33 else "bad"


# Plain lines


def painted(text: str, color: str = "auto") -> str:
    r"""Return a text in which turns, bids, losses and motes are highlighted.

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
