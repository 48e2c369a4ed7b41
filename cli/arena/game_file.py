"""The file of an arena, whose format docs/games.md describes. It may come from anybody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from cli.arena.fixtures import NAME_COLUMNS
from cli.arena.game import Game
from cli.render import shown_path
from p2pdice.state import MAX_PLAYERS, MIN_PLAYERS
from protocol.files import open_outside

LONGEST_LINE: Final = 8 << 20
"""Bytes. A game takes about four thousand, and up to five million if ten bots fail in every way and at great length."""
LONGEST_BOT: Final = 4_096
"""Characters."""


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


class FiledGame(NamedTuple):
    """A game as it is in a file, where it can be read without the heading."""

    game: Game
    bots: tuple[str, ...]
    """By seat, as they were typed."""
    names: tuple[str, ...]
    """Their names in the arena."""
    options: dict[str, Any]
    """The options of the rules. They are checked by whoever plays by them."""
    seed: str
    """The seed of its dice."""

    def to_json(self) -> dict[str, Any]:
        """Return the game as data for JSON."""
        return {
            **self.game.to_json(),
            "bots": self.bots,
            "names": self.names,
            "options": self.options,
            "seed": self.seed,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> FiledGame:
        """Return the game from parsed JSON.

        :raises ValueError: if the data is anything else. The message is safe to print.
        """
        game = Game.from_json(data)
        options, seed = data.get("options"), data.get("seed")
        bots, names = _texts(data.get("bots"), LONGEST_BOT), _texts(data.get("names"), NAME_COLUMNS)
        if not MIN_PLAYERS <= len(bots) <= MAX_PLAYERS or not len(bots) == len(names) == len(game.faults):
            raise ValueError("this is not a game of an arena: its seats are not those of its bots")
        if not isinstance(options, dict) or not isinstance(seed, str):
            raise ValueError("this is not a game of an arena: it does not name its rules and its seed")
        return cls(game, bots, names, options, seed)


def _texts(data: object, most: int) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(each, str) and len(each) <= most for each in data):
        raise ValueError("this is not a game of an arena: its bots are not named")
    return tuple(data)
