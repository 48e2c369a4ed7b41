"""Other output while a table is shown, such as bots' complaints and warnings of libraries: it is told at the table."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from contextvars import copy_context
from typing import TextIO, cast


class Overheard:
    """Takes the place of an output stream, and tells each line. Any thread may print. Made inside a running loop.

    :param say: tells a line; it is called in the loop.
    :param encoding: of the terminal, for libraries that ask for it.
    """

    errors = "backslashreplace"

    def __init__(self, say: Callable[[str], None], encoding: str) -> None:
        self.encoding = encoding
        self._say = say
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._rest = ""

    def write(self, text: str) -> int:
        """Tell each line that is complete now."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            if line.strip():
                self._loop.call_soon_threadsafe(self._say, line.rstrip(), context=self._context.copy())
        return len(text)

    def flush(self) -> None:
        """Incomplete lines wait for their end."""

    def isatty(self) -> bool:
        """No: lines are broken where they are shown."""
        return False


@contextmanager
def overheard(say: Callable[[str], None], encoding: str) -> Iterator[None]:
    """Tell all that is printed inside the block, on standard output or standard error."""
    stream = cast("TextIO", Overheard(say, encoding))
    with redirect_stdout(stream), redirect_stderr(stream):
        yield
