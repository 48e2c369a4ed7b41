"""Bots that are programs and speak the NDJSON protocol, and a check of a program in matches under every preset.

A table never depends on a program. Each answer has a deadline and a maximum size. For a wrong answer, a fault is
counted and a default move is played.
"""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle, product
from pathlib import Path
from random import Random
from typing import Any, Final

from cli.bots.bot import Bot, PlayerBot, SharedDice, check_move, default_move, rehearse
from cli.bots.faults import TRACE_CHARACTERS, Fault, FaultKind, bounded
from cli.bots.line_log import LineLog
from cli.bots.player_class import kind_of, label_of
from cli.bots.player_program import command_for, with_value
from cli.bots.programs import GRACE, Program, ProgramError, spelled_out, start_program
from cli.foreign_text import OverlongLineError, read_object, short, write_object
from cli.render import counted, escape, listing, numbered
from cli.text.move_forms import choices, is_stake
from p2pdice.errors import RulesError
from p2pdice.events import Event
from p2pdice.moves import Move, parse_move
from p2pdice.players import house_player
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.views import View

VERSION: Final = 1
"""The version of the protocol between a seat and a program."""
MOVE_MS: Final = 2_000
"""Default time limit for a move in milliseconds."""
HELLO_SECONDS: Final = 5.0
"""Time limit for a program's hello. Interpreters may start slowly on a busy machine."""
STARTS: Final = 2
"""Maximum starts in a match: a program that crashes is restarted once."""
LATE_IN_A_ROW: Final = 3
"""Number of late answers in a row after which a program counts as crashed."""
_STALE: Final = 64
"""Maximum messages read in one turn, including skipped answers to earlier turns."""
_NAME_CHARACTERS: Final = 40


class _FaultError(Exception):
    def __init__(self, kind: FaultKind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class ProgramBot(Bot):
    """Any program that speaks the protocol, run as a process.

    :param words: the program and its arguments, or one word: a level, ``module:Class``, or a whole command.
    :param move_ms: time limit for a move in milliseconds.
    :param on_fault: called with each fault.
    :param extra: additional keys for every message, which a program must ignore.
    :param logs: the folder for a log of all lines; None for no log.
    :param name: its name; if empty, it is named by its hello and, until then, after ``words``.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        name: str = "",
        move_ms: int = MOVE_MS,
        on_fault: Callable[[Fault], None] = lambda fault: None,
        extra: Mapping[str, object] | None = None,
        logs: Path | None = None,
    ) -> None:
        self.name = name or _printable(label_of(words))
        self._log_name, self._is_named = self.name, bool(name)
        self.moves = 0
        """The number of moves that were requested from the program."""
        self.faults: Counter[FaultKind] = Counter()
        self.slowest_ms = 0
        """The duration of the slowest answer in milliseconds."""
        self._text = words[0] if len(words) == 1 else ""
        self._is_player = kind_of(self._text) != "program"
        self._command = tuple(command_for(self._text) if self._is_player else spelled_out(words))
        self._logs = logs
        self.log: LineLog | None = None
        """The log of all lines; None before the first start, and without logs."""
        self._move_ms = move_ms
        self.on_fault = on_fault
        self._extra = dict(extra or {})
        self._hello: dict[str, object] = {}
        self._ruleset: Ruleset
        self._program: Program | None = None
        """The current run; None before the first, during a restart, and once the program is given up."""
        self._runs: list[Program] = []
        """Runs that still have to be closed."""
        self._beginning: asyncio.Task[None] | None = None
        self._starts = 0
        self._late = 0
        """The number of late answers in a row."""

    # The interface of a bot

    async def open(self) -> None:
        """Start the program, so that it is ready when the match begins.

        :raises ProgramError: if it cannot be started.
        """
        self._starts += 1
        if self._logs is not None and self.log is None:
            self.log = LineLog(self._logs, self._log_name)
        if self.log is not None:
            self.log.remark(f"started: {shlex.join(self._command if not self._is_player else [self._text])}")
        self._program = await start_program(self._command, self.log)
        self._runs.append(self._program)

    async def introduce(self, ruleset: Ruleset) -> str:
        """Start the program without a table, wait for its hello, and end it. Return the name that it gives itself.

        :returns: any text; empty if it gives no name.
        :raises ProgramError: if it cannot be started, or sends no valid hello.
        """
        await self.open()
        program = self._program
        assert program is not None
        try:
            self._greet_with(ruleset, 0, (self.name, "player"))
            return await self._greet(program)
        except _FaultError as error:
            words = await program.last_words()
            failed = error if error.kind == "late" else f"does not say hello: it {error}"
            reason = f"{self._text or ' '.join(self._command)} {failed}{words.clause}"
            raise ProgramError(reason, trace=words.text.rpartition("\n")[0]) from None
        finally:
            await self.close()

    async def started(self, ruleset: Ruleset, seat: int, names: Sequence[str]) -> None:
        is_further = False
        if self._beginning is not None:  # a program that has played before: it may crash once in each match
            self._beginning.cancel()
            await asyncio.wait([self._beginning])
            self._late = 0
            if self._program is not None and self._program.has_ended:  # to end after a match is no fault
                self._runs.remove(self._program)
                await self._program.close(grace=0)
                self._program = None
            self._starts = int(self._program is not None)
            is_further = self._program is not None
            if self._program is None:
                await self._start_again()
        self._greet_with(ruleset, seat, names)
        self._beginning = asyncio.create_task(self._begin(is_further=is_further))
        await asyncio.wait([self._beginning], timeout=HELLO_SECONDS)

    async def choose(self, view: View) -> Move:
        self.moves += 1
        deadline = asyncio.get_running_loop().time() + self._move_ms / 1000
        try:
            await self._be_ready(deadline)
            return default_move(view) if self._program is None else await self._ask(self._program, view, deadline)
        except _FaultError as error:
            move = default_move(view)
            await self._count(error, str(move), self._program)
            self._late = self._late + 1 if error.kind == "late" else 0
            if self._program is not None and (error.kind == "crashed" or self._late >= LATE_IN_A_ROW):
                self._beginning = asyncio.create_task(self._begin_again(self._program))
                self._program = None
            return move

    def happened(self, event: Event) -> None:
        self._tell({"type": "event", "event": event.to_json()}, event)

    def over(self, places: Sequence[Sequence[int]]) -> None:
        self._tell({"type": "bye", "places": [list(place) for place in places]})

    async def close(self) -> None:
        self._program = None
        try:
            if self._beginning is not None:
                self._beginning.cancel()
                await asyncio.wait([self._beginning])
        finally:
            await asyncio.gather(*(program.close() for program in self._runs))
            if self.log is not None:
                self.log.close()

    @property
    def is_given_up(self) -> bool:
        """Whether only default moves will be played from now on."""
        return self._program is None and (self._beginning is None or self._beginning.done())

    # The protocol

    def _greet_with(self, ruleset: Ruleset, seat: int, names: Sequence[str]) -> None:
        self._hello = {
            "type": "hello",
            "version": VERSION,
            "rules": dict(ruleset.options()),
            "seat": seat,
            "players": list(names),
            "move_ms": self._move_ms,
        }
        self._ruleset = ruleset
        self._tell(self._hello, ruleset)

    def _tell(self, message: Mapping[str, object], value: object = None) -> bool:
        """Send a message; return whether it was accepted. Only a turn that is not accepted counts as a fault.

        :param value: the object that the message was made from, for a player in Python.
        """
        if self._program is None:
            return False
        whole = {**message, **self._extra}
        line = write_object(whole)
        if self.log is not None:
            self.log.feed(">", line)
        return self._program.write(write_object(with_value(whole, value)) if self._is_player else line)

    async def _begin(self, *, is_further: bool = False) -> None:
        """Wait for the hello of the current run. If it fails, restart the program as often as allowed.

        :param is_further: whether this run has played an earlier match, after which it may have ended.
        """
        while self._program is not None:
            try:
                await self._greet(self._program)
                return
            except _FaultError as error:
                if is_further and error.kind == "crashed":
                    self._starts = 0
                else:
                    await self._count(error, "", self._program)
                is_further = False
                await self._replace(self._program)

    async def _begin_again(self, program: Program) -> None:
        await self._replace(program)
        await self._begin()

    async def _replace(self, program: Program) -> None:
        """End a run of the program, and start another one if the limit allows it."""
        self._program = None
        self._late = 0
        self._runs.remove(program)
        await program.close(grace=0)
        if self._starts < STARTS:
            await self._start_again()
            self._tell(self._hello, self._ruleset)

    async def _start_again(self) -> None:
        try:
            await self.open()
        except ProgramError as error:
            await self._count(_FaultError("crashed", str(error)), "", None)

    async def _greet(self, program: Program) -> str:
        """Wait for the program's hello, and return the name in it, or an empty text."""
        deadline = asyncio.get_running_loop().time() + HELLO_SECONDS
        for _ in range(_STALE):
            hello = await self._read(program, deadline, f"did not say hello within {HELLO_SECONDS:g} s")
            turn = hello.get("id")
            if hello.get("type") != "move" or type(turn) is not int or not 0 < turn <= self.moves:
                break
            # This answers a turn of an earlier match, and has already been counted as late.
        if hello.get("type") != "hello" or hello.get("version") != VERSION or type(hello["version"]) is not int:
            raise _FaultError("malformed", f"did not begin with a hello of version {VERSION}")
        name = hello.get("name")
        if not isinstance(name, str) or not name.strip():
            return ""
        if not self._is_named:
            self.name = _printable(name)
        return name

    async def _be_ready(self, deadline: float) -> None:
        if self._beginning is not None and not self._beginning.done():
            await asyncio.wait([self._beginning], timeout=deadline - asyncio.get_running_loop().time())
            if not self._beginning.done():
                raise _FaultError("late", "has not said hello yet")

    async def _ask(self, program: Program, view: View, deadline: float) -> Move:
        loop = asyncio.get_running_loop()
        turn = self.moves
        question: dict[str, object] = {"type": "turn", "id": turn, "view": view.to_json(), "legal": choices(view)}
        if is_stake(view):
            question |= {"funds": view.funds, "tickets": view.tickets}
        asked = loop.time()
        if not self._tell(question | {"left_ms": round(1000 * (deadline - asked))}, view):
            raise _FaultError("crashed", "does not read its standard input")
        for _ in range(_STALE):
            answer = await self._read(program, deadline, f"did not answer within {self._move_ms / 1000:g} s")
            if answer.get("type") != "move" or type(answer.get("id")) is not int or answer["id"] > turn:
                raise _FaultError("malformed", f"said something that is not a move for turn {turn}")
            if answer["id"] == turn:
                self._late = 0
                self.slowest_ms = max(self.slowest_ms, round(1000 * (loop.time() - asked)))
                return _legal(answer.get("do"), view)
            # This answers an earlier turn, and has already been counted as late.
        raise _FaultError("malformed", "answered nothing but earlier turns")

    async def _read(self, program: Program, deadline: float, late: str) -> dict[str, Any]:
        try:
            async with asyncio.timeout_at(deadline):
                line = await program.read()
        except TimeoutError:
            raise _FaultError("late", late) from None
        except OverlongLineError as error:
            raise _FaultError("malformed", f"said too much: {error}") from None
        if line is None:
            raise _FaultError("crashed", "has ended")
        try:
            return read_object(line)
        except ValueError as error:
            raise _FaultError("malformed", f"said something that is not a message: {error}") from None

    async def _count(self, error: _FaultError, played: str, program: Program | None) -> None:
        """Count and report a fault. ``program`` is the run that made it; None if the program could not be started."""
        self.faults[error.kind] += 1
        reason, trace = bounded(str(error)), ""
        if error.kind == "crashed" and program is not None:
            words = await program.last_words(GRACE)
            trace = words.text[-TRACE_CHARACTERS:]
            reason = bounded(f"{reason}{words.clause}")
        log = "" if self.log is None else self.log.remark(f"{error.kind}: it {reason}")
        fault = Fault(error.kind, reason, self.moves, played, trace, log)
        if played:
            self._tell({"type": "error", "id": self.moves, "error": reason, "played": played})
        self.on_fault(fault)


def _legal(text: object, view: View) -> Move:
    if not isinstance(text, str):
        raise _FaultError("malformed", f"answered {short(text)}, which is not the text of a move")
    try:
        move = parse_move(text)
        check_move(move, view)
    except RulesError as error:
        raise _FaultError("illegal", f"made no legal move: {error}") from None
    return move


def _printable(name: str) -> str:
    return escape(name.strip()[:_NAME_CHARACTERS])


def fault_summary(name: str, bot: ProgramBot) -> str:
    """Return a sentence with the number of moves and faults of a program. ``name`` must be safe to print."""
    kinds = listing([f"{count} {kind}" for kind, count in sorted(bot.faults.items())])
    faults = f"with {counted(bot.faults.total(), 'fault')}: {kinds}" if kinds else "without a fault"
    return f"{name} was asked for {counted(bot.moves, 'move')}, {faults}."


TABLE_SIZES: Final = (2, 4)
"""Numbers of players in the trials: the smallest table, and one where play continues after a player is out."""
ENOUGH: Final = 20
"""Number of faults after which the check ends, because more would show nothing new."""
_UNKNOWN: Final = {"unknown-key": {"meaning": "none"}}


@dataclass(frozen=True, slots=True)
class Trial:
    """One match of the program under test."""

    rules: str
    players: int
    seat: int
    place: int
    """1 for the winner."""
    moves: int
    faults: tuple[Fault, ...]


@dataclass(slots=True)
class Conformance:
    """The trials of a program, with its faults in them."""

    name: str
    trials: list[Trial] = field(default_factory=list)
    slowest_ms: int = 0
    is_complete: bool = True
    """False if the check ended early, because of :data:`ENOUGH` faults."""

    @property
    def faults(self) -> list[tuple[Trial, Fault]]:
        """All faults in order, each with its trial."""
        return [(trial, fault) for trial in self.trials for fault in trial.faults]

    def to_json(self) -> dict[str, Any]:
        """Return the report as data for JSON."""
        return {
            "bot": self.name,
            "conforms": self.is_complete and not self.faults,
            "complete": self.is_complete,
            "moves": sum(trial.moves for trial in self.trials),
            "slowest_ms": self.slowest_ms,
            "matches": [asdict(trial) | {"faults": len(trial.faults)} for trial in self.trials],
            "faults": [
                {"rules": trial.rules, "players": trial.players, **asdict(fault)} for trial, fault in self.faults
            ],
        }


async def check(
    command: Sequence[str],
    move_ms: int,
    levels: Sequence[str],
    progress: Callable[[Trial], None],
    logs: Path | None = None,
    *,
    rulesets: Mapping[str, Ruleset] = PRESETS,
    sizes: Sequence[int] = TABLE_SIZES,
) -> Conformance:
    """Let a program play against house bots under some rulesets, with a new run for each match.

    :param levels: levels of the house bots, used in rotation.
    :param rulesets: by the name that the report gives them.
    :param sizes: numbers of players. One match is played with each.
    :param logs: the folder for logs of all lines; None for no logs.
    :raises ProgramError: if it cannot be started, or sends no valid hello.
    """
    await ProgramBot(command).introduce(next(iter(rulesets.values())))  # a program that fails here gets no trials
    report = Conformance(label_of(command))
    taken = cycle(levels)
    for (rules, ruleset), players in product(rulesets.items(), sizes):
        trial, bot = await _play(command, move_ms, rules, ruleset, players, taken, logs)
        report.trials.append(trial)
        report.name = bot.name
        report.slowest_ms = max(report.slowest_ms, bot.slowest_ms)
        progress(trial)
        if len(report.faults) >= ENOUGH:
            report.is_complete = False
            break
    return report
    return report


async def _play(
    command: Sequence[str],
    move_ms: int,
    rules: str,
    ruleset: Ruleset,
    players: int,
    levels: Iterator[str],
    logs: Path | None,
) -> tuple[Trial, ProgramBot]:
    faults: list[Fault] = []
    rng = Random(f"{rules} {players}")  # noqa: S311 - dice of a rehearsal
    bot = ProgramBot(command, move_ms=move_ms, on_fault=faults.append, extra=_UNKNOWN, logs=logs)
    table: list[Bot] = [PlayerBot("House", house_player(next(levels), rng)) for _ in range(players - 1)]
    seat = rng.randrange(players)
    table.insert(seat, bot)
    await bot.open()
    if bot.log is not None:
        bot.log.remark(f"{rules}, {counted(players, 'player')}, seat {seat}")
    try:
        over = await rehearse(ruleset, table, SharedDice(f"{rules} {players}"))
    finally:
        await bot.close()
    place = next(place for place, seats in numbered(over.places) if seat in seats)
    return Trial(rules, players, seat, place, bot.moves, tuple(faults)), bot
