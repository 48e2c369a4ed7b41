"""How a demo is watched: finished lines, and on a terminal a line that moves below them."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from cli.settings import wants_color

if TYPE_CHECKING:
    from rich.status import Status


class Progress:
    """Prints lines to ``stream``; a context manager, as the moving line must be taken away at the end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._status: Status | None = None

    def __enter__(self) -> Progress:
        if wants_color(self._stream):
            from rich.console import Console

            console = Console(file=self._stream, highlight=False, markup=False)
            self._status = console.status("")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def line(self, text: str) -> None:
        """Print a line that stays."""
        if self._status is not None:
            self._status.console.print(text)
        else:
            print(text, file=self._stream, flush=True)

    def now(self, text: str) -> None:
        """Show what is going on at the moment, where that can be taken back."""
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(text, no_wrap=True, overflow="ellipsis"))
