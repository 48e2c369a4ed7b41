"""Line mode: faces of a table that read lines and print sentences, at a terminal or through pipes."""

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


_LULL: Final = 0.1
"""Seconds without output before a prompt."""
_REST: Final = 2.0
"""Seconds without output before a prompt that asks for nothing. A shorter time would add a prompt after each bot's
move."""
_STILL_COUNTS: Final = "The table's messages can interrupt a line while you are typing. What you typed is kept" + (
    "." if sys.platform == "win32" else ": Ctrl-R shows it, Ctrl-U clears it."
)
"""Printed once, after the first possible interruption. Only the terminal knows whether a line was being typed."""


class InterruptedByUserError(Exception):
    """Ctrl-C was pressed at the prompt."""


_typed: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Queue[str | None]] = WeakKeyDictionary()
"""The queue of unread lines of each event loop. One thread per loop reads standard input for all its tables, because a
thread that is blocked in a read cannot be stopped. It is a daemon, so it does not keep the process alive."""


def _read_all(loop: asyncio.AbstractEventLoop, queue: asyncio.Queue[str | None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody reads any more
        with contextlib.suppress(OSError):  # the terminal was closed
            for line in sys.stdin or ():
                loop.call_soon_threadsafe(queue.put_nowait, line.rstrip("\r\n"))
        loop.call_soon_threadsafe(queue.put_nowait, None)


class PipedInput:
    """Reads lines from standard input, which may be a pipe or a terminal."""

    page_size = None

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        if loop not in _typed:
            _typed[loop] = asyncio.Queue()
            threading.Thread(target=_read_all, args=(loop, _typed[loop]), daemon=True).start()
        self._queue = _typed[loop]

    async def read(self) -> str | None:
        """Return the next line; None at the end of the input."""
        return await self._queue.get()


def painter(stream: TextIO, color: str) -> Callable[[str], str]:
    """Return a function that colours a text for a stream. If colours are off, it returns the text unchanged.

    :param color: the setting: a background, ``auto``, or ``none``.
    """
    return partial(painted, color=color) if color != "none" and has_colors(stream) else str


class PipedLines(PipedInput):
    """Plain lines through pipes. No sentence is lost, however slowly the other end reads."""

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
        """Do nothing: a pipe has no prompt."""

    def refresh(self) -> None:
        """Do nothing: a pipe has no prompt."""

    def ring(self, why: str = "turn") -> None:
        """Do nothing: a pipe has no bell."""

    def show(self, table: Table) -> None:
        """Do nothing: a pipe shows no table."""


class TerminalLines(PipedInput):
    """Lines at a terminal, one below the other. Nothing is repainted, so a screen reader can follow.

    The terminal itself echoes and edits the line. News may be urgent, so it appears even while the player is typing,
    and the prompt is then printed again. This is an asynchronous context manager.
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
        """The prompt at the end of the output, where the player may be typing; empty if there is none."""
        self._is_due = True
        """Whether to prompt next time even if nothing is asked: the prompt is the first, or follows an answer."""
        self._has_broken_in = False
        """Whether news was printed while the player may have been typing."""
        self._has_explained = False
        """Whether the player has been told that an interrupted line still counts."""
        self._prompting: asyncio.TimerHandle | None = None
        self._stack = contextlib.ExitStack()

    async def __aenter__(self) -> Self:
        self._stack.enter_context(overheard(self.tell, sys.stdout.encoding))
        self._stack.enter_context(noticing(self._prompt_again))
        return self

    def _prompt_again(self) -> None:
        """Prompt again after a stop: the shell has written below the last prompt, and a line begun there is lost."""
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
        self._prompted = ""  # Enter has moved the terminal to the next line
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
        # Timers and bots write, too. They need not report a closed terminal, because read() does.
        with contextlib.suppress(OSError):
            self._writer.write(text)

    def remind(self, status: str) -> None:
        self.say(status)

    def refresh(self) -> None:
        """Show the prompt after a pause in the news."""
        if self._prompting is not None:
            self._prompting.cancel()
        is_asked = self._is_due or not (self._table.moves_by_itself or self._table.prompt().strip() == ">")
        self._prompting = asyncio.get_running_loop().call_later(_LULL if is_asked else _REST, self._prompt)

    def _prompt(self) -> None:
        if self._table.is_behind and not self._is_due:
            self.refresh()  # more is about to be shown, and the prompt belongs after it
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
