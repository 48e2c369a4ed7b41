"""A face of a table: where typed lines come from and sentences go. A terminal with editing, or pipes."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Iterator
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Protocol

from cli.render import wrapped
from cli.settings import is_interactive

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

    from cli.table.showing import Showing
    from cli.table.table import Table


class InterruptedByUserError(Exception):
    """Ctrl-C at the prompt."""


class Face(Protocol):
    """A person's end of a table."""

    is_interactive: bool
    """Whether questions can be asked."""

    async def read(self) -> str | None:
        """Return the next line, None at the end of the input.

        :raises InterruptedByUserError: on Ctrl-C at a terminal.
        """

    def say(self, text: str) -> None:
        """Print a line, without disturbing the one being typed."""

    def remind(self, status: str) -> None:
        """Show what one has to know to make a move, before the next prompt, where it is not in sight anyhow."""

    def refresh(self) -> None:
        """Show the prompt, or the board, anew: it has changed."""

    def ring(self) -> None:
        """Call the person, whose turn it is."""


class PipedLines:
    """Plain lines through pipes, or from a terminal when the output goes elsewhere. Each sentence is flushed."""

    is_interactive = False

    def __init__(self) -> None:
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        # A thread that waits in a read cannot be stopped; a daemon does not keep the process alive.
        threading.Thread(target=self._pump, args=(asyncio.get_running_loop(),), daemon=True).start()

    def _pump(self, loop: asyncio.AbstractEventLoop) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody reads any more
            for line in sys.stdin or ():
                loop.call_soon_threadsafe(self._queue.put_nowait, line.rstrip("\r\n"))
            loop.call_soon_threadsafe(self._queue.put_nowait, None)

    async def read(self) -> str | None:
        return await self._queue.get()

    def say(self, text: str) -> None:
        print(text, flush=True)

    def remind(self, status: str) -> None:
        """A pipe has no prompt."""

    def refresh(self) -> None:
        """A pipe has no prompt."""

    def ring(self) -> None:
        """A pipe has no bell."""


class TerminalLines:
    """Lines typed at a terminal, with history, and completion by the tab key."""

    is_interactive = True

    def __init__(self, table: Table, *, has_bell: bool) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter

        self._has_bell = has_bell
        self._session: PromptSession[str] = PromptSession(
            table.prompt,
            completer=WordCompleter(lambda: list(table.completions()), ignore_case=True, sentence=True),
            complete_while_typing=False,
            interrupt_exception=InterruptedByUserError,
        )

    async def read(self) -> str | None:
        try:
            return await self._session.prompt_async()
        except EOFError:
            return None

    def say(self, text: str) -> None:
        print(wrapped(text, get_terminal_size().columns))

    def remind(self, status: str) -> None:
        self.say(status)

    def refresh(self) -> None:
        self._session.app.invalidate()

    def ring(self) -> None:
        if self._has_bell:
            self._session.app.output.bell()


@contextlib.contextmanager
def open_face(table: Table, showing: Showing) -> Iterator[Face]:
    """Give the face that suits this process: a terminal's if both ends are one, else pipes. Inside a running loop."""
    if not is_interactive():
        yield PipedLines()
        return
    from prompt_toolkit.patch_stdout import patch_stdout

    with patch_stdout():
        yield TerminalLines(table, has_bell=showing.bell)
