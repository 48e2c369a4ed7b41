"""The curtain: a line on the full screen until there is a table, which takes some modules and the network."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from shutil import get_terminal_size
from typing import Final

from cli.output import say, unguarded
from cli.render import harmless
from cli.table.showing import Showing, Ui
from cli.table.suspending import leaving

_RAISE: Final = "\x1b[?1049h\x1b[2J\x1b[H"
_LOWER: Final = "\x1b[?1049l"


@contextmanager
def curtain(text: str, showing: Showing) -> Iterator[None]:
    """Show ``text`` until the block ends. Complaints that come meanwhile are printed then.

    :param text: safe to print.
    """
    if showing.ui is not Ui.SCREEN or sys.platform == "win32":  # whose consoles may have to be prepared first
        yield
        return
    width = get_terminal_size().columns - 2
    raised = f"{_RAISE} {harmless(text if len(text) < width else text[: width - 1] + '…')}"
    screen = unguarded(sys.stdout)
    screen.write(raised)
    screen.flush()
    complaints = StringIO()
    try:
        with redirect_stderr(complaints), leaving(screen, _LOWER, raised):
            yield
    finally:
        screen.write(_LOWER)
        screen.flush()
        if told := complaints.getvalue().rstrip("\n"):
            say(told, sys.stderr)
