"""The choice of a face for a table: pipes, lines at a terminal, or the full screen."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, TextIO, cast

from cli.settings import is_interactive
from cli.table.face import Face, PipedLines, TerminalLines
from cli.table.showing import Ui
from cli.table.writer import Writer, drained

if TYPE_CHECKING:
    from cli.table.face import ShownTable
    from cli.table.showing import Showing


@contextlib.asynccontextmanager
async def open_face(table: ShownTable, showing: Showing) -> AsyncIterator[Face]:
    """Open the face that suits this process: a terminal's if both ends are terminals, else pipes. In a running loop.

    A thread writes the output of any face, and the table does not wait for it before the end.
    """
    if not is_interactive():
        pipe = Writer(sys.stdout, limit=None)
        with contextlib.redirect_stdout(cast("TextIO", pipe)):
            async with drained(pipe, None):
                yield PipedLines(pipe)
        return
    if showing.ui is Ui.SCREEN:
        from cli.table.screen import Screen

        # prompt_toolkit writes to a Windows console by calls of its own.
        writer = Writer(sys.stdout) if sys.platform != "win32" else None
        async with Screen(table, writer, bell=showing.bell, color=showing.color) as screen:
            yield screen
    else:
        async with TerminalLines(table, Writer(sys.stdout), bell=showing.bell, color=showing.color) as lines:
            yield lines
