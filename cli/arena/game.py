"""The games of an arena: the worker that plays them, their records, and the file that holds the records.

Workers run in processes of this machine or of a cluster, and keep programs running between games. docs/games.md
describes the format of the file, which may come from a stranger.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from random import Random
from typing import Any, BinaryIO, Final, NamedTuple, get_args

from cli.arena.fixtures import NAME_COLUMNS, ArenaTable, ClassBot, Entrant, Fixture, seated
from cli.bots.bot import Bot, Line, SharedDice, check_move, default_move, rehearse
from cli.bots.faults import (
    REASON_CHARACTERS,
    TRACE_CHARACTERS,
    Fault,
    FaultKind,
    bounded,
    error_text,
    likeness,
    trace_before,
    trace_of,
)
from cli.bots.line_log import LineLog
from cli.bots.player_class import EntrantError, UnmadeError
from cli.bots.program_bot import ProgramBot
from cli.bots.programs import ProgramError, split_command
from cli.render import shown_path
from p2pdice.errors import RulesError
from p2pdice.events import Event
from p2pdice.moves import Move
from p2pdice.rulesets import Ruleset
from p2pdice.state import MAX_PLAYERS, MIN_PLAYERS
from p2pdice.views import View
from protocol.files import open_outside

_FAULTS: Final = get_args(FaultKind)
_MOST: Final = 1_000_000_000
"""Maximum number of faults of a kind, and of milliseconds for a move. No game comes near it."""
_LOG_CHARACTERS: Final = 80
LONGEST_BOT: Final = 4_096
"""Maximum characters of the text that was typed for a bot."""
LONGEST_LINE: Final = 8 << 20
"""In bytes. A game takes about four thousand, and up to five million if ten bots fail often and verbosely."""
_DESCRIBED: Final = 8
"""Maximum number of faults that a game describes for each seat. A seat with more probably repeats one mistake."""


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
            raise ValueError("this is not a game of an arena: a fault is not described in text")
        if fault.kind not in _FAULTS or not all(
            type(each) is int and least <= each <= _MOST
            for each, least in ((fault.seat, 0), (fault.line, 0), (fault.times, 1))
        ):
            raise ValueError("this is not a game of an arena: a fault has an unknown kind or an impossible number")
        if fault.seat >= seats:
            raise ValueError("this is not a game of an arena: a fault belongs to a seat that does not exist")
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
    """For each seat the first :data:`_DESCRIBED` of its different faults, in order."""
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

        :raises ValueError: if the data is not a game. The message is safe to print.
        """
        try:
            game = cls(
                int(data["number"]),
                str(data["rules"]),
                int(data["leader"]),
                tuple(tuple(map(int, place)) for place in data["places"]),
                tuple(dict(faults.items()) for faults in data["faults"]),
                tuple(tuple(map(float, ms)) for ms in data["ms"]),
                tuple(dict(line) for line in data["lines"]),
            )
            described = [tuple(dict(each)[name] for name in SeatFault._fields) for each in data["described"]]
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            raise ValueError("this is not a game of an arena: a key is missing or of the wrong type") from None
        options, seed = data.get("options"), data.get("seed")
        bots, names = _texts(data.get("bots"), LONGEST_BOT), _texts(data.get("names"), NAME_COLUMNS)
        if not MIN_PLAYERS <= len(bots) <= MAX_PLAYERS or not len(bots) == len(names) == len(game.faults):
            raise ValueError("this is not a game of an arena: the number of its seats is wrong")
        if not isinstance(options, dict) or not isinstance(seed, str):
            raise ValueError("this is not a game of an arena: its rules or its seed are missing")
        seats = list(range(len(game.faults)))
        if not all(game.places) or sorted(seat for place in game.places for seat in place) != seats:
            raise ValueError("this is not a game of an arena: its places do not contain every seat once")
        # The kinds are printed as they are, and sums of unbounded numbers could be too large to print.
        if any(
            kind not in _FAULTS or type(count) is not int or not 0 < count <= _MOST
            for faults in game.faults
            for kind, count in faults.items()
        ):
            raise ValueError("this is not a game of an arena: its numbers of faults are impossible")
        if len(game.ms) != len(seats) or not all(0 <= each <= _MOST for ms in game.ms for each in ms):
            raise ValueError("this is not a game of an arena: its times are impossible")
        if len(described) > _DESCRIBED * len(seats):
            raise ValueError("this is not a game of an arena: it describes too many faults")
        faults = tuple(SeatFault.from_json(each, len(seats)) for each in described)
        return replace(game, described=faults, bots=bots, names=names, options=options, seed=seed)


def _texts(data: object, most: int) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(each, str) and len(each) <= most for each in data):
        raise ValueError("this is not a game of an arena: its bots have no names")
    return tuple(data)


class GameFileError(ValueError):
    """A line of a file cannot be used. The message is a clause that names the line. It is safe to print."""


class GameLines:
    """The complete lines of a file in order. A killed arena may leave an incomplete last line, which is ignored.

    :param file: open for reading.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.number = 0
        """The number of the line read last, from 1; 0 at the beginning."""
        self.size = 0
        """The total size of the lines so far, in bytes."""

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


class TimedBot(Bot):
    """A seat in one game. It times the bot's moves. An error in the bot's code costs a move, but does not end the game.

    :param bot: is not closed here, because it may play in the next game.
    :param lines: the lines of the game so far.
    """

    def __init__(self, bot: Bot, seat: int, lines: Sequence[Line]) -> None:
        self.name = bot.name
        self.ms: list[float] = []
        self._described: dict[tuple[str, str, str], SeatFault] = {}
        """The first fault of each likeness."""
        self._bot = bot
        self._seat = seat
        self._lines = lines
        self._faults: Counter[str] = Counter()
        if isinstance(bot, ProgramBot):
            bot.on_fault = self._note

    # Each method has its own try: with a shared context manager, a game took half as long again.

    async def started(self, ruleset: Ruleset, seat: int, names: Sequence[str]) -> None:
        try:
            await self._bot.started(ruleset, seat, names)
        except BaseException as error:  # noqa: BLE001 - the bot's code may raise anything
            self._blame(error)

    async def choose(self, view: View) -> Move:
        begun = time.perf_counter()
        move = None
        try:
            move = await self._bot.choose(view)
        except BaseException as error:  # noqa: BLE001
            self._blame(error, view)
        self.ms.append(round(1000 * (time.perf_counter() - begun), 3))
        if move is not None:
            try:
                check_move(move, view)
            except BaseException as error:  # noqa: BLE001
                self._blame(error, view, is_checked=True)
            else:
                return move
        return default_move(view)

    def happened(self, event: Event) -> None:
        try:
            self._bot.happened(event)
        except BaseException as error:  # noqa: BLE001
            self._blame(error)

    def over(self, places: Sequence[Sequence[int]]) -> None:
        try:
            self._bot.over(places)
        except BaseException as error:  # noqa: BLE001
            self._blame(error)

    @property
    def described(self) -> Sequence[SeatFault]:
        """The first fault of each likeness, in order."""
        return tuple(self._described.values())

    @property
    def faults(self) -> dict[str, int]:
        """The faults of this game, by kind."""
        return dict(sorted(self._faults.items()))

    def _blame(self, error: BaseException, view: View | None = None, *, is_checked: bool = False) -> None:
        """Count an error in the bot's code as a fault. Even ``sys.exit()`` there must not end the arena.

        :param view: the view for which a move is due.
        :param is_checked: whether the error comes from checking the returned move.
        :raises BaseException: the error itself, if Ctrl-C caused it: :class:`asyncio.Runner` cancels the task, and
            raises KeyboardInterrupt if Ctrl-C is pressed again.
        """
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError | KeyboardInterrupt) and task is not None and task.cancelling():
            raise error
        kind: FaultKind = "illegal" if isinstance(error, RulesError) else "crashed"
        if isinstance(error, ProgramError | EntrantError):  # the bot does not play at all
            reason, trace = bounded(str(error)), trace_before(error.__cause__) if error.__cause__ else ""
        elif kind == "illegal":
            reason = f"made no legal move: {error_text(error, named=False)}"
            trace = "" if is_checked else trace_of(error)
        else:
            reason, trace = f"raised {error_text(error)}", trace_of(error)
        log = self._bot.log if isinstance(self._bot, ClassBot | _Retired) else None
        where = "" if log is None else log.remark(f"{kind}: it {reason}\n{trace}")
        self._note(Fault(kind, reason, len(self.ms), "" if view is None else str(default_move(view)), trace, where))

    def _note(self, fault: Fault) -> None:
        self._faults[fault.kind] += 1
        alike = likeness(fault.kind, fault.reason, fault.trace)
        if first := self._described.get(alike):
            self._described[alike] = first._replace(times=first.times + 1)
        elif len(self._described) < _DESCRIBED:
            self._described[alike] = SeatFault(
                self._seat, len(self._lines), fault.kind, fault.reason, fault.played, fault.trace, fault.log
            )


async def play(number: int, rules: str, ruleset: Ruleset, bots: Sequence[Bot], dice: SharedDice) -> Game:
    """Play a game between bots, given by seat. ``number`` and ``rules`` only describe it."""
    lines: list[Line] = []
    seats = [TimedBot(bot, seat, lines) for seat, bot in enumerate(bots)]
    note: Callable[[Line], None] = lines.append
    state = await rehearse(ruleset, seats, dice, note)
    return Game(
        number,
        rules,
        dice.leader(len(bots)),
        state.places,
        tuple(seat.faults for seat in seats),
        tuple(tuple(seat.ms) for seat in seats),
        tuple(lines),
        tuple(fault for seat in seats for fault in seat.described),
    )


GIVEN_UP: Final = 3
"""A program that had to be given up in this many games in a row is not started again."""


class Plan(NamedTuple):
    """Everything that determines the games of an arena, except the time that programs take."""

    entrants: tuple[Entrant, ...]
    tables: tuple[ArenaTable, ...]
    rulesets: tuple[Ruleset, ...]
    """By table."""
    games: int
    """Minimum number of games at each table; rounded up to whole deals."""
    seed: str
    move_ms: int
    """A program's time limit for a move in milliseconds."""
    logs: Path | None = None
    """The folder for logs of programs and classes, which do not change the games; None for no logs."""


def play_games(plan: Plan, batch: tuple[Fixture, ...]) -> list[Game]:
    """Play some games, one after the other.

    :raises EntrantError: if a class of players does not exist.
    :raises ProgramError: if a command cannot be read or started.
    """
    worker = getattr(_here, "worker", None)
    if worker is None or worker.plan != plan:
        close_programs()
        worker = _here.worker = _Worker(plan)
        _workers.add(worker)
    return worker.play(batch)


def forfeited(plan: Plan, fixture: Fixture) -> Game | None:
    """Return the result of a game whose process died. All players except house bots lose, as each may have killed it.

    :returns: None at a table of house bots, which are trusted.
    """
    table = plan.tables[fixture.table]
    suspects = [plan.entrants[index].kind != "house" for index in seated(table, fixture.rotation)]
    if not any(suspects):
        return None
    others, losers = (
        tuple(seat for seat, is_suspect in enumerate(suspects) if is_suspect is kind) for kind in (False, True)
    )
    return Game(
        fixture.number,
        table.rules,
        SharedDice(luck(plan, fixture)).leader(len(suspects)),
        (others, losers) if others else (losers,),
        tuple({"crashed": 1} if is_suspect else {} for is_suspect in suspects),
        ((),) * len(suspects),
        (),
        tuple(
            SeatFault(seat, 0, "crashed", "may have ended the process that played the game", "", "") for seat in losers
        ),
    )


def close_programs() -> None:
    """End the programs that this thread's worker keeps running."""
    worker = getattr(_here, "worker", None)
    if worker is not None:
        _here.worker = None
        _workers.discard(worker)
        worker.close()


def close_all_programs() -> None:
    """End the programs of all threads in this process. A program that is playing ends after its game.

    A worker that gets more games starts its programs again.
    """
    for worker in tuple(_workers):
        worker.end_programs()


_here: Final = threading.local()  # on a cluster, several threads may play in one process
_workers: Final[set[_Worker]] = set()
"""The workers of all threads."""


class _Worker:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._runner = asyncio.Runner()
        self._programs: dict[tuple[int, int], _Program] = {}
        """By entrant and copy, because a table can seat an entrant more than once."""
        self._logs: dict[tuple[int, int], LineLog] = {}
        """The logs of classes, by entrant and copy."""
        self._playing = threading.Lock()
        self._is_ending = False
        """Whether to end the programs once the current games are over."""

    def play(self, batch: tuple[Fixture, ...]) -> list[Game]:
        with self._playing:
            try:
                return self._runner.run(self._play(batch))
            finally:
                if self._is_ending:
                    self._end_programs()

    def close(self) -> None:
        with self._playing:
            self._end_programs()
            self._runner.close()

    def end_programs(self) -> None:
        self._is_ending = True
        if self._playing.acquire(blocking=False):
            try:
                with ThreadPoolExecutor(1) as thread:  # a Dask worker calls this in its own event loop
                    thread.submit(self._end_programs).result()
            finally:
                self._playing.release()

    def _end_programs(self) -> None:
        async def end() -> None:
            await asyncio.gather(*(program.bot.close() for program in self._programs.values()))

        self._is_ending = False
        self._runner.run(end())
        self._programs.clear()
        for log in self._logs.values():
            log.close()
        self._logs.clear()

    async def _play(self, batch: tuple[Fixture, ...]) -> list[Game]:
        return [await self._game(fixture) for fixture in batch]

    async def _game(self, fixture: Fixture) -> Game:
        plan = self.plan
        seed = luck(plan, fixture)
        entrants = seated(plan.tables[fixture.table], fixture.rotation)
        bots: list[Bot] = []
        playing: list[_Program] = []
        for seat, index in enumerate(entrants):
            entrant = plan.entrants[index]
            if entrant.kind == "program":
                program = await self._program(index, entrants[:seat].count(index))
                playing.append(program)
                bots.append(program.bot)
                log = program.log
            else:
                log = self._log(index, entrants[:seat].count(index))
                bots.append(_made(entrant, _random(f"{seed} {fixture.rotation} {seat}"), log))
            if log is not None:
                log.remark(f"game {fixture.number}, seat {seat}")
        table = plan.tables[fixture.table]
        game = await play(fixture.number, table.rules, plan.rulesets[fixture.table], bots, SharedDice(seed))
        for program in playing:
            if isinstance(program.bot, ProgramBot):
                program.given_up = program.given_up + 1 if program.bot.is_given_up else 0
        return game

    def _log(self, index: int, copy: int) -> LineLog | None:
        """Return the log of a class; None for a house bot, or without logs."""
        entrant = self.plan.entrants[index]
        if self.plan.logs is None or entrant.kind != "class":
            return None
        if (index, copy) not in self._logs:
            self._logs[index, copy] = LineLog(self.plan.logs, entrant.name)
        return self._logs[index, copy]

    async def _program(self, index: int, copy: int) -> _Program:
        program = self._programs.get((index, copy))
        if program is not None and program.given_up == GIVEN_UP:
            await program.bot.close()
            program.log = None
            reason = f"failed in {GIVEN_UP} games in a row, and is not started any more"
            program.bot = _Retired(program.bot.name, ProgramError(reason))
        elif program is None:
            entrant = self.plan.entrants[index]
            command = split_command(entrant.text)
            bot = ProgramBot(command, move_ms=self.plan.move_ms, logs=self.plan.logs, name=entrant.name)
            await bot.open()
            program = self._programs[index, copy] = _Program(bot)
        return program


def _made(entrant: Entrant, rng: Random, log: LineLog | None) -> Bot:
    try:
        return entrant.seat(rng, log)
    except UnmadeError as error:  # it worked before the first game; now default moves are played for it
        return _Retired(entrant.name, error, log)


def luck(plan: Plan, fixture: Fixture) -> str:
    """Return the seed of a deal's dice."""
    return f"{plan.seed} {fixture.table} {fixture.deal}"


def _random(seed: str) -> Random:
    return Random(seed)  # noqa: S311 - no secrets are at stake


class _Program:
    """A program that plays one game after another."""

    def __init__(self, bot: ProgramBot) -> None:
        self.bot: Bot = bot
        self.log = bot.log
        self.given_up = 0
        """The number of games in a row, including the latest, in which it was given up."""


class _Retired(Bot):
    """Plays default moves for a bot that has been given up. Each game counts one crash for the bot.

    :param error: the reason why it does not play, as a predicate without a subject.
    """

    def __init__(self, name: str, error: Exception, log: LineLog | None = None) -> None:
        self.name = name
        self.log = log
        self._error = error

    async def started(self, ruleset: Ruleset, seat: int, names: Sequence[str]) -> None:
        raise self._error

    async def choose(self, view: View) -> Move:
        return default_move(view)
