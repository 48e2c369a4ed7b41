"""Output: the one way to the terminal, and sentences for a terminal or a pipe.

:func:`guard` puts an :class:`Outlet` in place of standard output and standard error. Whatever prints, the libraries and
Python itself included, prints through it: no control, direction-changing or invisible character gets through.
Those who paint with escape sequences of their own take the stream behind it from :func:`unguarded`, and pass all text
through :func:`cli.render.harmless` themselves. A test knows them by name.
"""

from __future__ import annotations

import os
import sys
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final, TextIO, cast

import typer

from cli.exits import ExitCode, Failure
from cli.render import harmless, wrapped

if TYPE_CHECKING:
    from rich.console import Console

COLOR_VARIABLE: Final = "NO_COLOR"
"""The convention of no-color.org: set and not empty means none. Child processes inherit it."""


class Outlet:
    """A text stream that writes to another one, and makes all visible that a terminal would obey or not show.

    It lends nobody the bytes below: without a ``buffer`` no library goes around it.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.encoding, self.errors = stream.encoding, stream.errors

    def write(self, text: str) -> int:
        """Write a text. Line breaks stay: who prints a foreign text in a line escapes them."""
        self.stream.write(harmless(text))
        return len(text)

    def flush(self) -> None:
        """Write what waits."""
        self.stream.flush()

    def fileno(self) -> int:
        """Return the number of the stream's file."""
        return self.stream.fileno()

    def isatty(self) -> bool:
        """Tell whether the stream is a terminal."""
        return self.stream.isatty()


def guard() -> None:
    """Let everything that this process prints go through an :class:`Outlet`."""
    sys.stdout, sys.stderr = cast("TextIO", Outlet(sys.stdout)), cast("TextIO", Outlet(sys.stderr))


def unguarded(stream: TextIO) -> TextIO:
    """Return the stream behind an :class:`Outlet`, for escape sequences and bytes of our own."""
    return stream.stream if isinstance(stream, Outlet) else stream


def painting(stream: TextIO) -> Console:
    """Return a console of rich, which paints on the stream itself: texts for it are to be harmless."""
    from rich.console import Console

    return Console(file=unguarded(stream), highlight=False, markup=False)


def discard_output() -> None:
    """Throw away all further output, buffered output included. Otherwise Python complains about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str, stream: TextIO | None = None) -> None:
    """Print sentences: broken between words at a terminal, as they are into a file or a pipe.

    :param stream: standard output, if none is given.
    """
    stream = stream or sys.stdout
    print(wrapped(text, get_terminal_size().columns) if stream.isatty() else text, file=stream, flush=True)


def ask(question: str) -> str:
    """Return the line that somebody types after a question, which Python hands to the terminal by itself.

    :raises EOFError: if there is none.
    """
    return input(harmless(question))


def agrees(question: str) -> bool:
    """Ask the person at the terminal; no answer is a no."""
    try:
        answer = ask(f"{wrapped(f'{question} [y/N]', get_terminal_size().columns - 1)} ")
    except EOFError:
        print()
        return False
    return answer.strip().lower() in ("y", "yes")


def wants_color(stream: TextIO) -> bool:
    """Tell whether ``stream`` is a terminal that may be written to in colour."""
    return stream.isatty() and not os.environ.get(COLOR_VARIABLE) and os.environ.get("TERM") != "dumb"


def is_interactive() -> bool:
    """Tell whether a person can be asked: both standard input and output are terminals."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def confirm(question: str, is_sure: bool, command: str, *, as_json: bool = False) -> None:
    """Let the owner say yes.

    :param is_sure: they have said so already.
    :param command: the one that does not ask.
    :param as_json: standard output is data, so nothing can be asked.
    :raises Failure: if nobody can be asked.
    :raises typer.Exit: if they do not say yes.
    """
    if is_sure:
        return
    if as_json or not is_interactive():
        why = "with --json nothing is asked" if as_json else "there is no terminal to ask at"
        hint = f"If you are sure: {command}"
        raise Failure(f"Nothing was changed: {why}.", hint=hint, code=ExitCode.USAGE)
    if not agrees(question):
        print("Nothing was changed.")
        raise typer.Exit(ExitCode.DONE)


def complain(text: str) -> None:
    """Print a line that is not a result: to standard error, so that it never mixes with data."""
    say(text, sys.stderr)
