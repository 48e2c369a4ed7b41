"""The file of an arena, whose format docs/games.md describes. It may come from anybody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from cli.render import shown_path
from protocol.files import open_outside

LONGEST_LINE: Final = 8 << 20
"""Bytes. A game takes about four thousand, and up to five million if ten bots fail in every way and at great length."""


class GameFileError(ValueError):
    """A line of a file cannot be used. The message is a clause that names the line, safe to print."""


class GameLines:
    """The complete lines of a file in order. An incomplete last one, which a killed arena leaves, is ignored.

    :param file: open for reading.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.number = 0
        """The number of the line read last, from 1; 0 at the beginning."""
        self.size = 0
        """The bytes of the lines so far."""

    def __iter__(self) -> Iterator[bytes]:
        while line := self._file.readline(LONGEST_LINE):
            self.number += 1
            if not line.endswith(b"\n"):
                if len(line) == LONGEST_LINE:
                    raise ValueError("the line is too long")
                return
            self.size += len(line)
            yield line


@contextmanager
def reading(path: Path) -> Iterator[GameLines]:
    """Open a file for reading inside the block.

    :raises GameFileError: if a line is too long, or the block raises a ValueError, which must be about the line read
        last, and safe to print.
    :raises OSError: if the file cannot be read, or is no regular file.
    """
    with open_outside(path) as file:
        lines = GameLines(file)
        try:
            yield lines
        except ValueError as error:
            raise GameFileError(f"line {lines.number} of {shown_path(path)}: {error}") from None
