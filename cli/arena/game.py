"""The worker that plays the games of an arena.

Workers run in processes of this machine or of a cluster, and keep programs running between games.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from cli.arena.fixtures import ArenaTable, ClassBot, Entrant, Fixture, seated
from cli.arena.game_file import DESCRIBED, Game, SeatFault
from cli.bots.bot import Bot, Line, SharedDice, check_move, default_move, rehearse
from cli.bots.faults import (
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
from p2pdice.errors import RulesError
from p2pdice.events import Event
from p2pdice.moves import Move
from p2pdice.rulesets import Ruleset
from p2pdice.views import View


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
        elif len(self._described) < DESCRIBED:
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
