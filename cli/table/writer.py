"""Output that never blocks: a thread writes it, so a stalled terminal does not hold up the protocol.

A terminal stops taking output when its user presses Ctrl-S, scrolls back, or suspends the program that displays it; a
pipe does so while its reader is not reading. A node that waited for a write would seem to have left the match. So a
table gives all output to a :class:`Writer`, which never waits. Anything else that is printed, such as error messages of
bots and warnings of libraries, is :func:`overheard` and shown at the table.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, redirect_stderr, redirect_stdout, suppress
from contextvars import copy_context
from typing import Final, TextIO, cast

from cli.output import unguarded

BACKLOG: Final = 4 * 1024 * 1024
"""Maximum characters that wait for a terminal. A whole evening has fewer."""

DRAIN_LIMIT: Final = 2.0
"""Timeout in seconds for writing the last output to a stalled terminal."""


class Writer:
    """A text stream in front of another one. Create it in a running loop; other threads may only call :meth:`write`.

    :param stream: receives all text, in order and unchanged.
    :param limit: maximum waiting characters; None for no limit. Text beyond it is dropped, and a note says so later.
    """

    def __init__(self, stream: TextIO, limit: int | None = BACKLOG) -> None:
        stream.flush()
        self.encoding = stream.encoding or "ascii"
        self._stream = stream = unguarded(stream)
        self._raw = getattr(getattr(stream, "buffer", None), "raw", None)
        """The unbuffered stream. A thread that waits in a buffered write would hold the buffer's lock at exit."""
        self._limit = limit
        self._waiting: deque[str] = deque()
        self._size = 0
        """The number of characters not yet written, including those being written."""
        self._has_lost = False
        self.error: OSError | None = None
        """The error that has ended all writing; None while it works."""
        self._changed = threading.Condition()
        self._loop = asyncio.get_running_loop()
        self._idle: list[Callable[[], None]] = []
        # A thread that is blocked in a write cannot be stopped, but a daemon does not keep the process alive.
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        """Return the stream's file descriptor."""
        return self._stream.fileno()

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream.isatty()

    def write(self, text: str) -> int:
        """Queue a text. Any thread may call this.

        :raises OSError: if an earlier text could not be written, for example because the reader of a pipe is gone.
        """
        with self._changed:
            if self.error is not None:
                raise self.error
            if self._limit is not None and self._size + len(text) > self._limit:
                self._has_lost = True
            elif text:
                self._waiting.append(text)
                self._size += len(text)
                self._changed.notify()
        return len(text)

    def flush(self) -> None:
        """Do nothing: the thread writes as fast as the stream accepts text."""

    @property
    def is_busy(self) -> bool:
        """Whether some text has not been written yet."""
        return self._size > 0

    def when_idle(self, do: Callable[[], None]) -> None:
        """Call ``do`` in the loop once everything is written, or writing has failed."""
        with self._changed:
            if self._size and self.error is None:
                if do not in self._idle:
                    self._idle.append(do)
                return
        self._loop.call_soon(do)

    async def drain(self, patience: float | None = None) -> bool:
        """Wait until everything is written, or writing has failed; return whether everything is written.

        :param patience: time limit in seconds; None for no limit.
        """
        written = asyncio.Event()
        self.when_idle(written.set)
        try:
            async with asyncio.timeout(patience):
                await written.wait()
        except TimeoutError:
            return False
        return self.error is None

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                text = "".join(self._waiting)
                self._waiting.clear()
            try:
                self._write(text)
            except OSError as error:
                self.error = error
            except ValueError:  # the stream was closed at the end of the process
                return
            with self._changed:
                self._size -= len(text)
                if self._has_lost and not self._size:
                    self._has_lost = False
                    self._waiting.append(LOST)
                    self._size = len(LOST)
                told = [] if self._size and self.error is None else self._idle
                if told:
                    self._idle = []
                if self.error is not None:
                    self._waiting.clear()
                    self._size = 0
            with suppress(RuntimeError):  # the loop is closed, so there are no waiters
                for do in told:
                    self._loop.call_soon_threadsafe(do)

    def _write(self, text: str) -> None:
        if self._raw is None:
            self._stream.write(text)
            self._stream.flush()
            return
        lines = text if os.linesep == "\n" else text.replace("\n", os.linesep)
        data = memoryview(lines.encode(self.encoding, self._stream.errors or "replace"))
        while data:
            written = self._raw.write(data)
            if written is None:  # another process has set the terminal to non-blocking mode
                time.sleep(0.01)
            else:
                data = data[written:]


@asynccontextmanager
async def drained(writer: Writer | None, patience: float | None) -> AsyncIterator[None]:
    """At the end of the block, wait until everything is written.

    :param patience: time limit in seconds; None for no limit. After an exception, such as Ctrl-C, the limit is always
        :data:`DRAIN_LIMIT`.
    :raises OSError: if writing has failed.
    """
    try:
        yield
    except BaseException:
        if writer is not None:
            await writer.drain(DRAIN_LIMIT)
        raise
    if writer is not None and not await writer.drain(patience) and writer.error is not None:
        raise writer.error


LOST: Final = "\r\n(Some lines were lost: this terminal stopped taking output for too long.)\r\n"


class Overheard:
    """Replaces an output stream, and reports each line. Any thread may print. Create it in a running loop.

    :param say: receives each line; called in the loop.
    :param encoding: the terminal's encoding, for libraries that ask for it.
    """

    errors = "backslashreplace"

    def __init__(self, say: Callable[[str], None], encoding: str) -> None:
        self.encoding = encoding
        self._say = say
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._lock = threading.Lock()
        self._rest = ""

    def write(self, text: str) -> int:
        """Report each line that this text completes."""
        with self._lock:
            *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            if line.strip():
                self._loop.call_soon_threadsafe(self._say, line.rstrip(), context=self._context.copy())
        return len(text)

    def flush(self) -> None:
        """Do nothing: an incomplete line waits for its end."""

    def isatty(self) -> bool:
        """Return False: the table shows the lines, not a terminal."""
        return False


@contextmanager
def overheard(say: Callable[[str], None], encoding: str) -> Iterator[None]:
    """Report each line printed in the block on standard output or standard error, including an incomplete last one."""
    stream = cast("TextIO", Overheard(say, encoding))
    try:
        with redirect_stdout(stream), redirect_stderr(stream):
            yield
    finally:
        stream.write("\n")
