"""The abilities of this process's terminal: pictures, colours, a whole screen."""

from __future__ import annotations

import os
import sys
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final, TextIO

from cli.output import unguarded
from cli.render import FACES, can_show, harmless
from cli.settings import wants_color
from cli.table.palette import ASCII, PICTURES

if TYPE_CHECKING:
    from prompt_toolkit.output import Output

    from cli.table.palette import Glyphs
    from cli.table.writer import Writer

ASCII_VARIABLE: Final = "P2PDICE_ASCII"
"""If set and not empty, nothing but ASCII is drawn."""
SMALLEST: Final = (40, 12)
"""Columns and lines that a full screen needs."""
_PLAIN: Final = ("", "dumb", "unknown")
_MONOCHROME: Final = ("vt100", "vt102", "vt220", "xterm-mono", "screen-mono")
"""Terminals without colours. The names of others say so, such as ``linux-m``."""


def glyphs_of(stream: TextIO) -> Glyphs:
    """Return the signs that a terminal can show."""
    told = os.environ.get("LC_ALL") or os.environ.get("LANG", "")
    speaks_ascii = told in ("C", "POSIX") or bool(os.environ.get(ASCII_VARIABLE))
    return ASCII if speaks_ascii or not can_show(f"{FACES}{''.join(map(str, PICTURES[1:]))}", stream) else PICTURES


def has_colors(stream: TextIO) -> bool:
    """Tell whether a terminal has colours, and its owner wants them."""
    term = os.environ.get("TERM", "")
    return wants_color(stream) and term not in _MONOCHROME and not term.endswith(("-m", "-mono"))


def can_move_cursor() -> bool:
    """Tell whether a terminal can do more than print line after line."""
    return sys.platform == "win32" or os.environ.get("TERM", "").lower() not in _PLAIN


def can_paint() -> bool:
    """Tell whether a terminal is fit to show the full screen by default."""
    columns, lines = get_terminal_size()
    return can_move_cursor() and columns >= SMALLEST[0] and lines >= SMALLEST[1]


def output_of(writer: Writer | None) -> Output:
    """Return prompt_toolkit's output to this process's terminal, by way of the writer if there is one."""
    if writer is None:
        from prompt_toolkit.output import create_output

        return create_output(unguarded(sys.stdout))
    from typing import cast

    from prompt_toolkit.output.vt100 import Vt100_Output

    class Painted(Vt100_Output):
        """Its own escape sequences pass it by: see ``write_raw``."""

        def write(self, data: str) -> None:
            # The renderer moves down by line breaks, and writes them alone.
            super().write(harmless(data) if data.strip("\r\n") else data)

    return Painted.from_pty(cast("TextIO", writer), term=os.environ.get("TERM"))
