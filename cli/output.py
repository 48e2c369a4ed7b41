"""All output to the terminal, questions at it, and sentences for a terminal or a pipe.

:func:`guard` replaces standard output and standard error with an :class:`Outlet`. Everything printed passes through it,
even by libraries and Python itself, and no control, direction-changing or invisible character gets through.
Modules that write their own escape sequences take the underlying stream from :func:`unguarded`, and pass all text
through :func:`cli.render.harmless` themselves. A test lists these modules.
"""

from __future__ import annotations

import os
import sys
from shutil import get_terminal_size
from typing import Final, TextIO, cast

import typer

from cli.exits import ExitCode, Failure
from cli.render import harmless, wrapped

COLOR_VARIABLE: Final = "NO_COLOR"
"""Disables colours if set and not empty (see no-color.org). Child processes inherit the variable."""


class Outlet:
    """A text stream that escapes control and invisible characters and writes to another stream.

    It has no ``buffer`` attribute, so that no library can bypass it by writing bytes.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.encoding, self.errors = stream.encoding, stream.errors

    def write(self, text: str) -> int:
        """Write a text with its line breaks. Callers that print text from outside escape its line breaks themselves."""
        self.stream.write(harmless(text))
        return len(text)

    def flush(self) -> None:
        """Flush the underlying stream."""
        self.stream.flush()

    def fileno(self) -> int:
        """Return the file descriptor of the underlying stream."""
        return self.stream.fileno()

    def isatty(self) -> bool:
        """Return whether the underlying stream is a terminal."""
        return self.stream.isatty()


def guard() -> None:
    """Replace standard output and standard error with an :class:`Outlet`."""
    sys.stdout, sys.stderr = cast("TextIO", Outlet(sys.stdout)), cast("TextIO", Outlet(sys.stderr))


def unguarded(stream: TextIO) -> TextIO:
    """Return the stream behind an :class:`Outlet`, for escape sequences and bytes that p2pdice writes itself."""
    return stream.stream if isinstance(stream, Outlet) else stream


def discard_output() -> None:
    """Discard all further output, including buffered output, which Python would otherwise fail to flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str, stream: TextIO | None = None) -> None:
    """Print sentences, wrapped between words if the stream is a terminal.

    :param stream: the stream to write to; None for standard output.
    """
    stream = stream or sys.stdout
    print(wrapped(text, get_terminal_size().columns) if stream.isatty() else text, file=stream, flush=True)


def ask(question: str) -> str:
    """Print a question and return the line typed in answer.

    :raises EOFError: if the input ends without a line.
    """
    return input(harmless(question))


def agrees(question: str) -> bool:
    """Ask a yes-or-no question at the terminal. Anything but ``y`` or ``yes`` counts as no."""
    try:
        answer = ask(f"{wrapped(f'{question} [y/N]', get_terminal_size().columns - 1)} ")
    except EOFError:
        print()
        return False
    return answer.strip().lower() in ("y", "yes")


def wants_color(stream: TextIO) -> bool:
    """Return whether ``stream`` is a terminal, and neither ``NO_COLOR`` nor ``TERM=dumb`` forbids colours."""
    return stream.isatty() and not os.environ.get(COLOR_VARIABLE) and os.environ.get("TERM") != "dumb"


def is_interactive() -> bool:
    """Return whether a person can be asked: standard input and standard output are both terminals."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def confirm(question: str, is_sure: bool, command: str, *, as_json: bool = False) -> None:
    """Ask the owner to confirm a change.

    :param is_sure: whether the owner has already agreed, with ``--yes``.
    :param command: the command that makes the change without asking.
    :param as_json: whether standard output is JSON, so that nothing can be asked.
    :raises Failure: if the owner cannot be asked.
    :raises typer.Exit: if the owner does not agree.
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
    """Print a message to standard error, so that it does not mix with results."""
    say(text, sys.stderr)
