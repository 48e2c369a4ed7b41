"""Output that nobody waits for: a thread writes it, so a terminal that stands still holds up no protocol.

A terminal stops taking output while its owner has pressed Ctrl-S, looks back through its history, or has put the
program that shows it to sleep; a pipe does so while its reader sleeps. Whoever writes to it then waits, and a node that
waits is taken for one that has left. So whatever a table shows is handed to a :class:`Writer`, which never waits.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, TextIO

BACKLOG: Final = 4 * 1024 * 1024
"""Characters that wait for a terminal at most. An evening of sentences is less."""

PATIENCE: Final = 2.0
"""Seconds that the last words wait for a terminal that stands still."""


class Writer:
    """A text stream in front of another one. Made inside a running loop, whose thread alone may close it.

    :param stream: gets everything, in order.
    :param limit: characters that may wait. What is more is lost, and a note says so afterwards. None for no limit.
    """

    def __init__(self, stream: TextIO, limit: int | None = BACKLOG) -> None:
        stream.flush()
        self.encoding = stream.encoding or "ascii"
        self._stream = stream
        self._raw = getattr(getattr(stream, "buffer", None), "raw", None)
        """Below the buffer, whose lock a thread that waits in a write would keep until the process ends."""
        self._limit = limit
        self._waiting: deque[str] = deque()
        self._size = 0
        """Characters that are not written yet, those included that are being written."""
        self._has_lost = False
        self.error: OSError | None = None
        """Why nothing can be written any more."""
        self._changed = threading.Condition()
        self._loop = asyncio.get_running_loop()
        self._idle: list[Callable[[], None]] = []
        # A thread that waits in a write cannot be stopped; a daemon does not keep the process alive.
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        """Return the number of the stream's file."""
        return self._stream.fileno()

    def isatty(self) -> bool:
        """Tell whether the stream is a terminal."""
        return self._stream.isatty()

    def write(self, text: str) -> int:
        """Have a text written. Any thread may ask.

        :raises OSError: if an earlier text could not be written, for instance as the reader of a pipe has gone.
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
        """Nothing to do: the thread writes as fast as the stream takes it."""

    @property
    def is_busy(self) -> bool:
        """Whether something is not written yet."""
        return self._size > 0

    def when_idle(self, do: Callable[[], None]) -> None:
        """Have something done in the loop as soon as everything is written."""
        with self._changed:
            if self._size and self.error is None:
                if do not in self._idle:
                    self._idle.append(do)
                return
        self._loop.call_soon(do)

    async def drain(self, patience: float | None = None) -> bool:
        """Wait until everything is written, or can never be; tell whether it was.

        :param patience: seconds to wait at most.
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
            except ValueError:  # the stream was closed: the process is ending
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
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
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
            if written is None:  # somebody else has made it non-blocking
                time.sleep(0.01)
            else:
                data = data[written:]


@asynccontextmanager
async def drained(writer: Writer | None, patience: float | None) -> AsyncIterator[None]:
    """Write everything before a block is left.

    :param patience: seconds to wait for it; None to wait until its reader has it all. Somebody who wants to end the
        program waits for a moment only.

    :raises OSError: if it could not be written.
    """
    try:
        yield
    except BaseException:
        if writer is not None:
            await writer.drain(PATIENCE)
        raise
    if writer is not None and not await writer.drain(patience) and writer.error is not None:
        raise writer.error


LOST: Final = "\r\n(Some of what was told is not shown, as this terminal stood still for too long.)\r\n"
