"""Progress: finished lines and, on a terminal, a line below them that changes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from cli.commands.judging import takes_long
from cli.output import painting
from cli.render import harmless
from cli.settings import wants_color
from cli.table.suspending import hiding_cursor

if TYPE_CHECKING:
    from rich.status import Status


class Progress:
    """Prints lines to ``stream``. A context manager: at the end the last, changing line is taken away."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._status: Status | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Progress:
        if wants_color(self._stream):
            self._status = painting(self._stream).status("")
            self._stack.enter_context(hiding_cursor(self._stream))
            self._stack.enter_context(self._status)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def line(self, text: str) -> None:
        """Print a line that stays."""
        if self._status is not None:
            self._status.console.print(harmless(text))
        else:
            print(text, file=self._stream, flush=True)

    def now(self, text: str) -> None:
        """Show the present state in the last line, if the stream is a terminal."""
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(harmless(text), no_wrap=True, overflow="ellipsis"))


@contextmanager
def progress_over(paths: Sequence[Path], as_json: bool) -> Iterator[Callable[[str], None]]:
    """Give a function that shows the present state at a terminal, if the files take more than a moment to judge."""
    if as_json or not sys.stdout.isatty() or not takes_long(paths):
        yield lambda _: None
        return
    with Progress(sys.stdout) as progress:
        yield progress.now
