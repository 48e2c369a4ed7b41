"""The faces of a table: they read lines and print sentences, at a terminal or through pipes."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable
from functools import partial
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final, Self, TextIO
from weakref import WeakKeyDictionary

from cli.render import harmless, wrapped
from cli.table.suspending import noticing
from cli.table.terminal import has_colors
from cli.table.theme import painted
from cli.table.writer import DRAIN_LIMIT, Writer, overheard

if TYPE_CHECKING:
    from cli.table.scene import Talk
    from cli.table.table import Table


HOST: Final = "host"
"""Typed after *again* to open the table in place of its host."""
_LULL: Final = 0.1
"""Seconds without a word before a prompt."""
_REST: Final = 2.0
"""The same for a prompt that asks for nothing: so there is not one after each move of the house bots."""
_STILL_COUNTS: Final = "News can break into a line that you type. The line still counts" + (
    "." if sys.platform == "win32" else ": Ctrl-R shows it, Ctrl-U clears it."
)
"""Said once, after the first break. Only the terminal knows whether anything was typed: it edits the line."""


class InterruptedByUserError(Exception):
    """Ctrl-C at the prompt."""


_typed: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Queue[str | None]] = WeakKeyDictionary()
"""Lines that were typed and are not read yet. A thread that waits in a read cannot be stopped, so one thread serves all
tables of a process, one after the other. As a daemon it does not keep the process alive."""


def _read_all(loop: asyncio.AbstractEventLoop, queue: asyncio.Queue[str | None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody reads any more
        with contextlib.suppress(OSError):  # the terminal was closed
            for line in sys.stdin or ():
                loop.call_soon_threadsafe(queue.put_nowait, line.rstrip("\r\n"))
        loop.call_soon_threadsafe(queue.put_nowait, None)


class PipedInput:
    """Lines of standard input, as a pipe or the terminal gives them."""

    page_size = None

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        if loop not in _typed:
            _typed[loop] = asyncio.Queue()
            threading.Thread(target=_read_all, args=(loop, _typed[loop]), daemon=True).start()
        self._queue = _typed[loop]

    async def read(self) -> str | None:
        """Return the next line, None at the end of the input."""
        return await self._queue.get()


def painter(stream: TextIO, color: str) -> Callable[[str], str]:
    """Return a function that paints a text for a stream. Without colours it leaves the text as it is.

    :param color: the setting: a background, ``auto``, or ``none``.
    """
    return partial(painted, color=color) if color != "none" and has_colors(stream) else str


class PipedLines(PipedInput):
    """Plain lines through pipes. No sentence is lost, however long its reader sleeps."""

    is_interactive = False
    shows_board = False

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self._writer = writer

    def tell(self, text: str, talk: Talk | None = None) -> None:
        self.say(text)

    def say(self, text: str) -> None:
        self._writer.write(f"{harmless(text)}\n")

    def remind(self, status: str) -> None:
        """A pipe has no prompt."""

    def refresh(self) -> None:
        """A pipe has no prompt."""

    def ring(self, why: str = "turn") -> None:
        """A pipe has no bell."""

    def show(self, table: Table) -> None:
        """A pipe shows no table."""


class TerminalLines(PipedInput):
    """Lines at a terminal, one below the other: nothing is ever repainted, so that a screen reader can follow.

    The terminal itself echoes and edits the line. News is not held back meanwhile, because somebody may wait for it;
    after it the prompt comes again. Used in an ``async with`` statement.
    """

    is_interactive = True
    shows_board = False

    def __init__(self, table: Table, writer: Writer, *, bell: str, color: str) -> None:
        super().__init__()
        self._table = table
        self._writer = writer
        self._bell = bell
        self._paint = painter(sys.stdout, color)
        self._prompted = ""
        """The prompt at the end of the output, after which somebody may be typing."""
        self._is_due = True
        """The next prompt is due at once, whatever it asks: it is the first, or follows an answer."""
        self._has_broken_in = False
        """Something was told while somebody may have been typing."""
        self._has_explained = False
        """The player was told that a broken line still counts."""
        self._prompting: asyncio.TimerHandle | None = None
        self._stack = contextlib.ExitStack()

    async def __aenter__(self) -> Self:
        self._stack.enter_context(overheard(self.tell, sys.stdout.encoding))
        self._stack.enter_context(noticing(self._prompt_again))
        return self

    def _prompt_again(self) -> None:
        """Prompt again: a shell has written after the last prompt, and the line that was begun there is gone."""
        self._prompted, self._is_due = "", True
        self.refresh()

    async def __aexit__(self, *_error: object) -> None:
        self._stack.close()
        if self._prompting is not None:
            self._prompting.cancel()
        if self._prompted:
            self._write("\n")
        await self._writer.drain(DRAIN_LIMIT)

    async def read(self) -> str | None:
        line = await super().read()
        self._prompted = ""  # the terminal has gone on to the next line
        return line

    def say(self, text: str) -> None:
        self._is_due = True
        self.tell(text)

    def tell(self, text: str, talk: Talk | None = None) -> None:
        before = "\n" if self._prompted else ""
        self._has_broken_in = self._has_broken_in or bool(self._prompted)
        self._prompted = ""
        self._write(f"{before}{self._paint(wrapped(harmless(text), get_terminal_size().columns))}\n")

    def _write(self, text: str) -> None:
        # Timers and bots write, too. That a terminal was closed, its reader learns: the input has ended.
        with contextlib.suppress(OSError):
            self._writer.write(text)

    def remind(self, status: str) -> None:
        self.say(status)

    def refresh(self) -> None:
        """Prompt after a moment without news."""
        if self._prompting is not None:
            self._prompting.cancel()
        is_asked = self._is_due or not (self._table.moves_by_itself or self._table.prompt().strip() == ">")
        self._prompting = asyncio.get_running_loop().call_later(_LULL if is_asked else _REST, self._prompt)

    def _prompt(self) -> None:
        if self._table.is_behind and not self._is_due:
            self.refresh()  # there is more to show: the prompt would stand in the middle
            return
        if self._has_broken_in and not self._has_explained:
            self._has_explained = True
            self.tell(f"({_STILL_COUNTS})")
        prompt = harmless(self._table.prompt())
        if prompt != self._prompted:
            self._write(("\n" if self._prompted else "") + prompt)
            self._prompted = prompt
            self._is_due = False

    def ring(self, why: str = "turn") -> None:
        if self._bell == "all" or self._bell == why == "turn":
            self._write("\a")

    def show(self, table: Table) -> None:
        self._table = table
