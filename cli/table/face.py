"""A face of a table: where typed lines come from and sentences go. A terminal with editing, or pipes."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol, Self, TextIO, cast

from cli.render import wrapped
from cli.settings import is_interactive
from cli.table.overheard import overheard
from cli.table.showing import Ui
from cli.table.terminal import can_move_cursor, output_of
from cli.table.writer import PATIENCE, Writer, drained

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
    shows_board: bool
    """Whether the board is in sight all the time, and vanishes with the face."""

    async def read(self) -> str | None:
        """Return the next line, None at the end of the input.

        :raises InterruptedByUserError: on Ctrl-C at a terminal.
        """

    def tell(self, text: str) -> None:
        """Print what has happened, without disturbing the line being typed."""

    def say(self, text: str) -> None:
        """Print an answer to the line that was typed last."""

    def remind(self, status: str) -> None:
        """Show what one has to know to make a move, before the next prompt, where it is not in sight anyhow."""

    def refresh(self) -> None:
        """Show the prompt, or the board, anew: it has changed."""

    def ring(self) -> None:
        """Call the person, whose turn it is."""


class PipedInput:
    """Lines that come through a pipe, or from a terminal when the output goes elsewhere."""

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
        """Return the next line, None at the end of the input."""
        return await self._queue.get()


class PipedLines(PipedInput):
    """Plain lines through pipes. No sentence is lost, however long its reader sleeps."""

    is_interactive = False
    shows_board = False

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self._writer = writer

    def tell(self, text: str) -> None:
        self.say(text)

    def say(self, text: str) -> None:
        self._writer.write(f"{text}\n")

    def remind(self, status: str) -> None:
        """A pipe has no prompt."""

    def refresh(self) -> None:
        """A pipe has no prompt."""

    def ring(self) -> None:
        """A pipe has no bell."""


class TerminalLines:
    """Lines typed at a terminal, with history, and completion by the tab key. Used in an ``async with`` statement.

    :param writer: takes the output; None where prompt_toolkit has its own way, on Windows.
    """

    is_interactive = True
    shows_board = False

    def __init__(self, table: Table, writer: Writer | None, *, has_bell: bool) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter

        self._has_bell = has_bell
        self._writer = writer
        self._output = output_of(writer)
        self._session: PromptSession[str] = PromptSession(
            table.prompt,
            completer=WordCompleter(lambda: list(table.completions()), ignore_case=True, sentence=True),
            complete_while_typing=False,
            interrupt_exception=InterruptedByUserError,
            output=self._output,
        )
        self._unsaid: list[str] = []
        self._saying: asyncio.Task[None] | None = None
        self._stack = contextlib.ExitStack()

    async def __aenter__(self) -> Self:
        self._stack.enter_context(overheard(self.tell, sys.stdout.encoding))
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._stack.close()
        if self._saying is not None:
            await self._saying
        if self._writer is not None:
            await self._writer.drain(PATIENCE)

    async def read(self) -> str | None:
        try:
            return await self._session.prompt_async()
        except EOFError:
            return None

    def tell(self, text: str) -> None:
        self.say(text)

    def say(self, text: str) -> None:
        self._unsaid.append(text)
        if self._saying is None or self._saying.done():
            self._saying = asyncio.create_task(self._print())

    async def _print(self) -> None:
        """Print above the line being typed what is to be said."""
        from prompt_toolkit.application import run_in_terminal

        while self._unsaid:
            await run_in_terminal(self._write)

    def _write(self) -> None:
        columns = self._output.get_size().columns
        said, self._unsaid = self._unsaid, []
        self._output.enable_autowrap()
        for text in said:
            self._output.write(f"{wrapped(text, columns)}\n")
        self._output.flush()

    def remind(self, status: str) -> None:
        self.say(status)

    def refresh(self) -> None:
        self._session.app.invalidate()

    def ring(self) -> None:
        if self._has_bell:
            self._output.bell()
            self._output.flush()


@contextlib.asynccontextmanager
async def open_face(table: Table, showing: Showing) -> AsyncIterator[Face]:
    """Give the face that suits this process: a terminal's if both ends are one, else pipes. Inside a running loop.

    Whichever it is, what it shows is written by a thread, and nobody waits for it before the end.
    """
    if not is_interactive():
        pipe = Writer(sys.stdout, limit=None)
        with contextlib.redirect_stdout(cast("TextIO", pipe)):
            async with drained(pipe, None):
                yield PipedLines(pipe)
        return
    # prompt_toolkit writes to a Windows console by calls of its own.
    writer = Writer(sys.stdout) if sys.platform != "win32" else None
    if showing.ui is Ui.SCREEN and can_move_cursor():
        from cli.table.screen import Screen

        async with Screen(table, writer, has_bell=showing.bell) as screen:
            yield screen
    else:
        async with TerminalLines(table, writer, has_bell=showing.bell) as lines:
            yield lines
