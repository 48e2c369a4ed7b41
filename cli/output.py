"""Output: sentences for a terminal or a pipe, and streams whose reader has gone or whose disk is full."""

from __future__ import annotations

import os
import sys
from shutil import get_terminal_size
from typing import TextIO

from cli.render import wrapped


def discard_output() -> None:
    """Throw away all further output, buffered output included. Otherwise Python complains about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str, stream: TextIO | None = None) -> None:
    """Print sentences: broken between words at a terminal, as they are into a file or a pipe.

    :param stream: standard output, if none is given.
    """
    stream = stream or sys.stdout
    print(wrapped(text, get_terminal_size().columns) if stream.isatty() else text, file=stream, flush=True)


def agrees(question: str) -> bool:
    """Ask the person at the terminal; no answer is a no."""
    try:
        answer = input(f"{wrapped(question, get_terminal_size().columns)} [y/N] ")
    except EOFError:
        print()
        return False
    return answer.strip().lower() in ("y", "yes")


def complain(text: str) -> None:
    """Print a line that is not a result: to standard error, so that it never mixes with data."""
    say(text, sys.stderr)
