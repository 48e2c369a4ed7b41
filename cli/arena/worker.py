"""A worker of an arena: it plays games, and keeps programs running from game to game, as long as the arena is the same.

Workers are in processes of this machine or of a cluster.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Final, NamedTuple

from cli.arena.entrants import Entrant, UnmadeError
from cli.arena.fixtures import Fixture, Table, seated
from cli.arena.game import Game, play
from cli.bots.bot import Bot, default_move
from cli.bots.local_match import SharedDice
from cli.bots.program_bot import ProgramBot
from cli.bots.programs import ProgramError
from p2pdice.events import Event
from p2pdice.moves import Move
from p2pdice.rulesets import Ruleset
from p2pdice.views import View

GIVEN_UP: Final = 3
"""A program that fails for good in this many games in a row is not started again."""


class Plan(NamedTuple):
    """Everything that decides what happens in the games of an arena, except the time that programs take."""

    entrants: tuple[Entrant, ...]
    tables: tuple[Table, ...]
    rulesets: tuple[Ruleset, ...]
    """By table."""
    games: int
    """At each table, at least: whole deals are played."""
    seed: str
    move_ms: int
    """Milliseconds that a program has for a move."""


def play_games(plan: Plan, batch: tuple[Fixture, ...]) -> list[Game]:
    """Play some games, one after the other.

    :raises EntrantError: if there is no such class of players.
    :raises ProgramError: if a command cannot be read or started.
    """
    worker = getattr(_here, "worker", None)
    if worker is None or worker.plan != plan:
        close_programs()
        worker = _here.worker = _Worker(plan)
        _workers.add(worker)
    return worker.play(batch)


def forfeited(plan: Plan, fixture: Fixture) -> Game | None:
    """Return the game as it counts if its process died: who is no house bot has lost it, as nobody knows who did it.

    :return: None if only house bots sit there, who do no such thing.
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
        SharedDice(_luck(plan, fixture)).leader(len(suspects)),
        (others, losers) if others else (losers,),
        tuple({"crashed": 1} if is_suspect else {} for is_suspect in suspects),
        ((),) * len(suspects),
        (),
    )


def close_programs() -> None:
    """End the programs that the worker in this thread keeps."""
    worker = getattr(_here, "worker", None)
    if worker is not None:
        _here.worker = None
        _workers.discard(worker)
        worker.close()


def close_all_programs() -> None:
    """End the programs that are kept in any thread of this process, those of a game that is played when it is over.

    A worker that is to play on starts them again.
    """
    for worker in tuple(_workers):
        worker.end_programs()


_here: Final = threading.local()  # on a cluster several threads may work in one process
_workers: Final[set[_Worker]] = set()
"""Those of all threads."""


class _Worker:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._runner = asyncio.Runner()
        self._programs: dict[tuple[int, int], _Program] = {}
        """By entrant and copy: a table can seat an entrant more than once."""
        self._playing = threading.Lock()
        self._is_ending = False
        """Whether the programs are to be ended when the games that are played are over."""

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
                with ThreadPoolExecutor(1) as thread:  # this one may run an event loop: that of a node of the cluster
                    thread.submit(self._end_programs).result()
            finally:
                self._playing.release()

    def _end_programs(self) -> None:
        async def end() -> None:
            await asyncio.gather(*(program.bot.close() for program in self._programs.values()))

        self._is_ending = False
        self._runner.run(end())
        self._programs.clear()

    async def _play(self, batch: tuple[Fixture, ...]) -> list[Game]:
        return [await self._game(fixture) for fixture in batch]

    async def _game(self, fixture: Fixture) -> Game:
        plan = self.plan
        luck = _luck(plan, fixture)
        entrants = seated(plan.tables[fixture.table], fixture.rotation)
        bots: list[Bot] = []
        playing: list[_Program] = []
        for seat, index in enumerate(entrants):
            entrant = plan.entrants[index]
            if entrant.kind == "program":
                program = await self._program(index, entrants[:seat].count(index))
                playing.append(program)
                bots.append(program.bot)
            else:
                bots.append(_made(entrant, _random(f"{luck} {fixture.rotation} {seat}"), plan.move_ms))
        table = plan.tables[fixture.table]
        game = await play(fixture.number, table.rules, plan.rulesets[fixture.table], bots, SharedDice(luck))
        for program in playing:
            if isinstance(program.bot, ProgramBot):
                program.given_up = program.given_up + 1 if program.bot.is_given_up else 0
        return game

    async def _program(self, index: int, copy: int) -> _Program:
        program = self._programs.get((index, copy))
        if program is not None and program.given_up == GIVEN_UP:
            await program.bot.close()
            program.bot = _Retired(program.bot.name)
        elif program is None:
            bot = self.plan.entrants[index].seat(_random(""), self.plan.move_ms)
            assert isinstance(bot, ProgramBot)
            await bot.open()
            program = self._programs[index, copy] = _Program(bot)
        return program


def _made(entrant: Entrant, rng: Random, move_ms: int) -> Bot:
    try:
        return entrant.seat(rng, move_ms)
    except UnmadeError:  # it was made once before the first game: now it loses this game, and the arena goes on
        return _Retired(entrant.name)


def _luck(plan: Plan, fixture: Fixture) -> str:
    """Return the seed of a deal."""
    return f"{plan.seed} {fixture.table} {fixture.deal}"


def _random(seed: str) -> Random:
    return Random(seed)  # noqa: S311 - no secrets are at stake


class _Program:
    """A program at the table, game after game."""

    def __init__(self, bot: Bot) -> None:
        self.bot = bot
        self.given_up = 0
        """In how many games in a row, the latest included, it failed for good."""


class _Retired:
    """Plays defaults for a bot that does not play any more: one crash a game, and no time lost."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def started(self, ruleset: Ruleset, seat: int, names: Sequence[str]) -> None:
        raise ProgramError(f"{self.name} does not play any more")

    async def choose(self, view: View) -> Move:
        return default_move(view)

    def happened(self, event: Event) -> None:
        """Nobody is there to be told."""

    def over(self, places: Sequence[Sequence[int]]) -> None:
        """Nobody is there to be told."""

    async def close(self) -> None:
        """There is nothing to be closed."""
