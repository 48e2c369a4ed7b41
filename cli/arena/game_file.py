"""The file of an arena, and its only reader: an arena is resumed, rated and replayed from the same lines.

docs/games.md describes the format. A file may come from a stranger.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, get_args

from cli.arena.fixtures import NAME_COLUMNS
from cli.bots.bot import Line
from cli.bots.faults import REASON_CHARACTERS, TRACE_CHARACTERS, FaultKind, likeness
from cli.foreign_text import read_object
from cli.render import shown_path
from p2pdice.state import MAX_PLAYERS, MIN_PLAYERS
from protocol.files import open_outside

MOST_GAMES: Final = 1_000_000
"""Maximum number of games in an arena, and in all files of a rating list. Each result takes about 250 bytes there."""
DESCRIBED: Final = 8
"""Maximum number of faults that a game describes for each seat. A seat with more probably repeats one mistake."""
LONGEST_BOT: Final = 4_096
"""Maximum characters of the text that was typed for a bot."""
LONGEST_LINE: Final = 8 << 20
"""In bytes. A game takes about four thousand, and up to five million if ten bots fail often and verbosely."""
_LOG_CHARACTERS: Final = 80
_LARGEST: Final = 1_000_000_000
"""Maximum number of a game, of faults of a kind, and of milliseconds for a move. No arena comes near it."""
_FAULTS: Final = get_args(FaultKind)
_GAME: Final = re.compile(rb'\A\{"type":"game","number":(\d{1,10}),')
"""The beginning of a game's line as an arena writes it."""


class SeatFault(NamedTuple):
    """A fault in a game. A seat's equal faults in one game are described only once."""

    seat: int
    line: int
    """The number of lines of the game before the fault."""
    kind: str
    reason: str
    """See :attr:`cli.bots.faults.Fault.reason`."""
    played: str
    """The move that was played instead; empty if no move was due."""
    trace: str
    """See :attr:`cli.bots.faults.Fault.trace`."""
    log: str = ""
    """See :attr:`cli.bots.faults.Fault.log`."""
    times: int = 1
    """How many equal faults the seat made in this game."""

    @property
    def likeness(self) -> tuple[str, str, str]:
        """See :func:`cli.bots.faults.likeness`."""
        return likeness(self.kind, self.reason, self.trace)

    @classmethod
    def from_json(cls, data: Sequence[object], seats: int) -> SeatFault:
        """Return the fault from parsed JSON.

        :raises ValueError: if the data does not describe a fault.
        """
        fault = cls(*data)  # type: ignore[arg-type]  # checked below
        texts = (
            (fault.reason, REASON_CHARACTERS + 1),
            (fault.played, 64),
            (fault.trace, TRACE_CHARACTERS),
            (fault.log, _LOG_CHARACTERS),
        )
        if not all(isinstance(text, str) and len(text) <= most for text, most in texts):
            raise ValueError("a fault is not described in text")
        if fault.kind not in _FAULTS or not all(
            type(each) is int and least <= each <= _LARGEST
            for each, least in ((fault.seat, 0), (fault.line, 0), (fault.times, 1))
        ):
            raise ValueError("a fault has an unknown kind or an impossible number")
        if fault.seat >= seats:
            raise ValueError("a fault belongs to a seat that does not exist")
        return fault


@dataclass(frozen=True, slots=True)
class Game:
    """The record of a game."""

    number: int
    """The number of its fixture."""
    rules: str
    """The name of its ruleset, as it was typed."""
    leader: int
    """The seat that led the first round."""
    places: tuple[tuple[int, ...], ...]
    """Seats by place, the best first."""
    faults: tuple[dict[str, int], ...]
    """The number of faults of each kind, by seat."""
    ms: tuple[tuple[float, ...], ...]
    """The duration of each move in milliseconds, by seat."""
    lines: tuple[Line, ...]
    """The whole game as input for ``p2pdice referee``."""
    described: tuple[SeatFault, ...] = ()
    """For each seat the first :data:`DESCRIBED` of its different faults, in order."""
    bots: tuple[str, ...] = ()
    """The typed texts by seat. This field and those below are set only in a file, so that each line stands alone."""
    names: tuple[str, ...] = ()
    """The bots' names in the arena, by seat."""
    options: dict[str, Any] = field(default_factory=dict)
    """The options of the rules, which are not checked here."""
    seed: str = ""

    @property
    def winners(self) -> tuple[int, ...]:
        """The seats that share the first place."""
        return self.places[0]

    def to_json(self) -> dict[str, Any]:
        """Return the game as data for JSON."""
        # asdict would copy every part of every line, which took more than half as long as playing the game.
        data = {"type": "game", **{each.name: getattr(self, each.name) for each in fields(self)}}
        data["described"] = [fault._asdict() for fault in self.described]
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Game:
        """Return the game from parsed JSON that :meth:`to_json` has written.

        :raises ValueError: if the data is not a game. The message is a clause about the game. It is safe to print.
        """
        try:
            game = cls(
                data["number"],
                data["rules"],
                data["leader"],
                tuple(tuple(map(int, place)) for place in data["places"]),
                tuple(dict(faults.items()) for faults in data["faults"]),
                tuple(tuple(map(float, ms)) for ms in data["ms"]),
                tuple(dict(line) for line in data["lines"]),
            )
            described = [tuple(dict(each)[name] for name in SeatFault._fields) for each in data["described"]]
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            raise ValueError("a key is missing or of the wrong type") from None
        if type(game.number) is not int or not 0 <= game.number <= _LARGEST:
            raise ValueError("its number is impossible")
        options, seed = data.get("options"), data.get("seed")
        bots, names = _texts(data.get("bots"), LONGEST_BOT), _texts(data.get("names"), NAME_COLUMNS)
        if not MIN_PLAYERS <= len(bots) <= MAX_PLAYERS or not len(bots) == len(names) == len(game.faults):
            raise ValueError("the number of its seats is wrong")
        if type(game.leader) is not int or not 0 <= game.leader < len(bots):
            raise ValueError("the seat of its first turn does not exist")
        if not isinstance(game.rules, str) or not isinstance(options, dict) or not isinstance(seed, str):
            raise ValueError("its rules or its seed are missing")
        seats = list(range(len(game.faults)))
        if not all(game.places) or sorted(seat for place in game.places for seat in place) != seats:
            raise ValueError("its places do not contain every seat once")
        # The kinds are printed as they are, and sums of unbounded numbers could be too large to print.
        if any(
            kind not in _FAULTS or type(count) is not int or not 0 < count <= _LARGEST
            for faults in game.faults
            for kind, count in faults.items()
        ):
            raise ValueError("its numbers of faults are impossible")
        if len(game.ms) != len(seats) or not all(0 <= each <= _LARGEST for ms in game.ms for each in ms):
            raise ValueError("its times are impossible")
        if len(described) > DESCRIBED * len(seats):
            raise ValueError("it describes too many faults")
        faults = tuple(SeatFault.from_json(each, len(seats)) for each in described)
        return replace(game, described=faults, bots=bots, names=names, options=options, seed=seed)


def _texts(data: object, most: int) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(each, str) and len(each) <= most for each in data):
        raise ValueError("its bots have no names")
    return tuple(data)


Heading = dict[str, Any]
"""The first line of an arena. Its values are not checked here."""


def is_arena(data: bytes) -> bool:
    """Return whether a file that begins with these bytes is an arena's file, or an excerpt from one."""
    return data.startswith((b'{"type":"game",', b'{"type":"arena",'))


class GameFileError(ValueError):
    """A line of a file cannot be used. The message is a clause that names the line. It is safe to print."""


class GameFile:
    """The headings and games of a file, in order. Files can be joined, so there can be several headings, or none.

    A killed arena may leave an incomplete last line, which is not parsed.

    :param file: open for reading.
    :param wanted: the number of the only game to yield; None for all games. Most other games are not parsed, because a
        file can have a million, which take minutes to parse.
    :param before: the number of games in the files before, which count towards :data:`MOST_GAMES`.
    """

    def __init__(self, file: BinaryIO, wanted: int | None, before: int) -> None:
        self.line = 0
        """The number of the line read last, from 1; 0 at the beginning."""
        self.size = 0
        """The total size of the complete lines so far, in bytes."""
        self.rest = b""
        """The incomplete last line."""
        self.games = 0
        """The number of games so far, including those not yielded."""
        self.lowest, self.highest = _LARGEST, 0
        """The numbers of these games lie between these bounds."""
        self._file = file
        self._wanted = wanted
        self._before = before

    def __iter__(self) -> Iterator[Heading | Game]:
        numbers: set[int] = set()
        for line in self._lines():
            begun = _GAME.match(line)
            if begun and self._wanted not in (None, int(begun[1])):
                self._count(int(begun[1]))
                continue
            data = read_object(line)
            if data.get("type") == "arena":
                numbers.clear()
                yield data
                continue
            if data.get("type") != "game":
                raise ValueError("this is neither a game nor the heading of an arena")
            try:
                game = Game.from_json(data)
            except ValueError as error:
                raise ValueError(f"this is not a game of an arena: {error}") from None
            if game.number in numbers:
                raise ValueError(f"game {game.number} is there twice")
            numbers.add(game.number)
            self._count(game.number)
            if self._wanted in (None, game.number):
                yield game

    def _lines(self) -> Iterator[bytes]:
        while line := self._file.readline(LONGEST_LINE):
            self.line += 1
            if not line.endswith(b"\n"):
                if len(line) == LONGEST_LINE:
                    raise ValueError("the line is too long")
                self.rest = line
                return
            self.size += len(line)
            yield line

    def _count(self, number: int) -> None:
        if self._before + self.games == MOST_GAMES:
            raise ValueError(f"there are more than {MOST_GAMES:,} games")
        self.games += 1
        self.lowest, self.highest = min(self.lowest, number), max(self.highest, number)


@contextmanager
def reading(path: Path, *, wanted: int | None = None, before: int = 0) -> Iterator[GameFile]:
    """Open an arena's file for reading inside the block.

    :param wanted: see :class:`GameFile`.
    :param before: see :class:`GameFile`.
    :raises GameFileError: if a line is neither a heading nor a game, or a game is there twice, or there are too many
        games, or the block raises a ValueError, which must be about the line read last, and safe to print.
    :raises OSError: if the file cannot be read, or is no regular file.
    """
    with open_outside(path) as opened:
        file = GameFile(opened, wanted, before)
        try:
            yield file
        except ValueError as error:
            raise GameFileError(f"line {file.line} of {shown_path(path)}: {error}") from None
