"""What this process's terminal can show (signs, colours, a full screen), and how a table is shown on it."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, TextIO, cast

import typer

from cli.output import is_interactive, unguarded, wants_color
from cli.preferences import SLOWEST, Ui, preferences
from cli.render import FACE_SIGNS, can_show, harmless
from cli.settings import Settings
from cli.table.theme import MARKS, Colors, Ground, Theme

if TYPE_CHECKING:
    from prompt_toolkit.output import Output

    from cli.table.writer import Writer

ASCII_VARIABLE: Final = "P2PDICE_ASCII"
"""The environment variable that limits output to ASCII, unless it is empty."""
SMALLEST: Final = (40, 12)
"""Minimum columns and lines for a full screen."""
_SIGNS: Final = f"{FACE_SIGNS}{MARKS}×│─▶◀·…›▄▀█✓╭╮╰╯━▸"
_PLAIN: Final = ("", "dumb", "unknown")
_MONOCHROME: Final = ("vt100", "vt102", "vt220", "xterm-mono", "screen-mono")
"""Terminals without colours. Other monochrome terminals have names that end in ``-m`` or ``-mono``."""
_ANSWER_TIMEOUT: Final = 0.1
"""Timeout in seconds for the terminal's report of its background."""
_ASK: Final = "\x1b]11;?\x07"
TOLD: Final = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)[^\x07\x1b]*(?:\x07|\x1b\\)")
"""The terminal's answer to the query :data:`_ASK`, which may arrive late."""
_LATE: Final = re.compile(r"\x1b\]11;[rgba:0-9a-fA-F/]{0,40}(?:\x07|\x1b\\)?")
_BEGUN: Final = re.compile(r"\x1b(?:\](?:1(?:1(?:;[rgba:0-9a-fA-F/]{0,40}\x1b?)?)?)?)?\Z")
"""The beginning of an answer. If it is just one escape character, it may also be the Escape key."""


def is_ascii(stream: TextIO) -> bool:
    """Return whether to draw only ASCII, because the encoding lacks a sign, the locale is C, or the user wants it."""
    told = os.environ.get("LC_ALL") or os.environ.get("LANG", "")
    speaks_ascii = told in ("C", "POSIX") or bool(os.environ.get(ASCII_VARIABLE))
    return speaks_ascii or not can_show(_SIGNS, stream)


def has_colors(stream: TextIO) -> bool:
    """Return whether a terminal has colours and the user wants them."""
    term = os.environ.get("TERM", "")
    return wants_color(stream) and term not in _MONOCHROME and not term.endswith(("-m", "-mono"))


def theme_of(stream: TextIO, color: str, ground: Ground) -> Theme:
    """Return the theme for a terminal.

    :param color: the setting: a background, ``auto``, or ``none``.
    :param ground: the background that the terminal reports; a background in ``color`` overrides it.
    """
    grounds: dict[str, Ground] = {"dark": "dark", "light": "light"}
    ground = grounds.get(color, ground)
    return Theme("none" if color == "none" else _depth(stream), ground, is_ascii(stream))


def _depth(stream: TextIO) -> Colors:
    if not has_colors(stream):
        return "none"
    if os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit") or os.environ.get("WT_SESSION"):
        return "24"
    return "256" if "256" in os.environ.get("TERM", "") else "16"


def ground_told() -> Ground:
    """Return the terminal's background according to the environment variable ``COLORFGBG``, such as ``15;0``."""
    told = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    if not told.isdecimal():
        return "unknown"
    return "light" if int(told) in (7, 15) else "dark"


def ask_ground(screen: TextIO) -> tuple[Ground, str]:
    """Query the terminal's background, and return it with the keys pressed during the query.

    Terminals that do not support the query ignore it. Without an answer, :func:`ground_told` decides.
    """
    term = os.environ.get("TERM", "")
    if sys.platform == "win32" or sys.stdin is None or not sys.stdin.isatty() or term in (*_PLAIN, "linux"):
        return ground_told(), ""
    import select
    import termios
    import tty

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    read = b""
    try:
        tty.setcbreak(fd, termios.TCSANOW)
        screen.write(_ASK)
        screen.flush()
        until = time.monotonic() + _ANSWER_TIMEOUT
        while not TOLD.search(read) and select.select([fd], [], [], max(until - time.monotonic(), 0))[0]:
            if not (more := os.read(fd, 1024)):
                break
            read += more
    except OSError:  # the terminal is gone, which the next read reports
        pass
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, before)
    told = TOLD.search(read)
    if told is None:
        return ground_told(), read.decode(errors="replace")
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in told.groups())
    is_light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
    return "light" if is_light else "dark", (read[: told.start()] + read[told.end() :]).decode(errors="replace")


class LateAnswers:
    """Removes the terminal's late answers from the input, even if they arrive in pieces."""

    def __init__(self) -> None:
        self._held = ""

    def without(self, read: str, feed: Callable[[str], object]) -> None:
        """Feed the input without answers. Hold back a possible beginning of an answer."""
        read, self._held = self._held + read, ""
        begun = _BEGUN.search(read)
        feed(_LATE.sub("", read[: begun.start()] if begun else read))
        self._held = begun[0] if begun else ""

    def flush(self, feed: Callable[[str], object]) -> None:
        """Feed the text that was held back, because nothing has followed it; keep it if it cannot be a key."""
        if self._held and not self._held.startswith("\x1b]1"):
            held, self._held = self._held, ""
            feed(held)


def can_move_cursor() -> bool:
    """Return whether the terminal can move the cursor."""
    return sys.platform == "win32" or os.environ.get("TERM", "").lower() not in _PLAIN


def has_title() -> bool:
    """Return whether the terminal has a window title. Otherwise it would print the escape sequence for titles."""
    return not os.environ.get("TERM", "").startswith(("vt", "linux", "dumb"))


def can_paint() -> bool:
    """Return whether the terminal can show the full screen: it moves the cursor and has the :data:`SMALLEST` size."""
    columns, lines = get_terminal_size()
    return can_move_cursor() and columns >= SMALLEST[0] and lines >= SMALLEST[1]


def output_of(writer: Writer | None) -> Output:
    """Return prompt_toolkit's output to this process's terminal, through the writer if there is one."""
    if writer is None:
        from prompt_toolkit.output import create_output

        return create_output(unguarded(sys.stdout))
    from prompt_toolkit.output.vt100 import Vt100_Output

    class Painted(Vt100_Output):
        """Makes control characters in text visible. prompt_toolkit's own escape sequences use ``write_raw``."""

        def write(self, data: str) -> None:
            # The renderer writes line breaks separately, to move the cursor down.
            super().write(harmless(data) if data.strip("\r\n") else data)

    return Painted.from_pty(cast("TextIO", writer), term=os.environ.get("TERM"))


class Showing(NamedTuple):
    """How to show one table."""

    ui: Ui = "line"
    """``screen``: the whole terminal, repainted when something changes; ``line``: sentences, one below the other."""
    pace: float = 0.0
    """1 is a person's pace, 2 half as fast, 0 shows everything at once."""
    bell: str = "off"
    """``off``, ``turn`` (only for the player's own turn) or ``all``."""
    color: str = "auto"
    """The terminal's background: ``dark``, ``light`` or ``auto`` (find out); ``none`` for no colours."""
    motion: str = "full"
    """``full``, ``calm`` (no animations) or ``none``, which shows a showdown as one picture."""
    qr: bool = False
    """Whether to draw the join line of the player's own table also as a QR code."""


def _pace(value: float | None) -> float | None:
    if value is not None and not 0 <= value <= SLOWEST:
        raise typer.BadParameter(f"{value:g} is not a number from 0 to {SLOWEST:g}.")
    return value


UiOption = Annotated[
    Ui | None,
    typer.Option("--ui", show_default=False, help="How the table is shown (default: the full screen, where possible)."),
]
PaceOption = Annotated[
    float | None,
    typer.Option(
        "--pace",
        callback=_pace,
        metavar="F",
        show_default=False,
        help="How slowly moves are shown, from 0 to 10: 1 is a person's pace, 2 twice as slow, 0 shows them at once.",
    ),
]
BellOption = Annotated[
    bool | None, typer.Option("--bell/--no-bell", show_default=False, help="Ring when it is your turn.")
]


def showing(settings: Settings, ui: Ui | None, pace: float | None, bell: bool | None) -> Showing:
    """Return how to show a table. Options override the settings, and the terminal must be capable of the result.

    A pipe has no human reader, so its default pace is 0.

    :raises Failure: if the settings cannot be read.
    """
    if not is_interactive():
        return Showing("line", pace or 0.0)
    settled = preferences(settings)
    is_fit = can_paint() if ui is None else can_move_cursor()
    return Showing(
        (ui or settled.ui) if is_fit else "line",
        settled.pace if pace is None else pace,
        settled.bell if bell is None else ("turn" if bell else "off"),
        settled.color,
        settled.motion,
    )
