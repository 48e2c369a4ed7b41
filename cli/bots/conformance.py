"""The check of a program: it plays matches in memory, by every ruleset, and its faults are listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from random import Random
from typing import Any, Final

from cli.bots.bot import Bot, PlayerBot
from cli.bots.local_match import SharedDice, rehearse
from cli.bots.program_bot import Fault, ProgramBot
from cli.levels import DEFAULT_LEVEL, Level
from p2pdice.players import house_player
from p2pdice.rulesets import PRESETS

TABLES: Final = (2, 4)
"""Players in the matches of each ruleset: the smallest table, and one at which others play on without a loser."""
ENOUGH: Final = 20
"""Faults after which more would tell nothing new."""
_UNKNOWN: Final = {"unknown-key": {"meaning": "none"}}


@dataclass(frozen=True, slots=True)
class Trial:
    """One match of the program."""

    rules: str
    players: int
    seat: int
    place: int
    """1 for the winner."""
    moves: int
    faults: tuple[Fault, ...]


@dataclass(slots=True)
class Report:
    """The trials of a program, and its faults in them."""

    name: str
    trials: list[Trial] = field(default_factory=list)
    slowest_ms: int = 0
    is_complete: bool = True
    """False if it was given up."""

    @property
    def faults(self) -> list[tuple[Trial, Fault]]:
        """All faults, in order."""
        return [(trial, fault) for trial in self.trials for fault in trial.faults]

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON-able data."""
        return {
            "bot": self.name,
            "conforms": self.is_complete and not self.faults,
            "complete": self.is_complete,
            "moves": sum(trial.moves for trial in self.trials),
            "slowest_ms": self.slowest_ms,
            "matches": [
                {
                    "rules": trial.rules,
                    "players": trial.players,
                    "seat": trial.seat,
                    "place": trial.place,
                    "moves": trial.moves,
                    "faults": len(trial.faults),
                }
                for trial in self.trials
            ],
            "faults": [
                {
                    "rules": trial.rules,
                    "players": trial.players,
                    "turn": fault.turn,
                    "kind": fault.kind,
                    "reason": fault.reason,
                    "played": fault.played,
                }
                for trial, fault in self.faults
            ],
        }


async def check(
    command: Sequence[str], move_ms: int, levels: Sequence[Level] | None, progress: Callable[[Trial], None]
) -> Report:
    """Let a program play by every preset against house bots; each match is a new run of it.

    :param levels: of the house bots, which take them in turn; None for the usual one.
    :raises ProgramError: if it cannot be started, or says no hello.
    """
    await ProgramBot(command).introduce(PRESETS["classic"])  # a program that fails here is not tried any further
    report = Report(command[0])
    taken = cycle(levels or (DEFAULT_LEVEL,))
    for rules in PRESETS:
        for players in TABLES:
            trial, bot = await _play(command, move_ms, rules, players, taken)
            report.trials.append(trial)
            report.name = bot.name
            report.slowest_ms = max(report.slowest_ms, bot.slowest_ms)
            progress(trial)
            if len(report.faults) >= ENOUGH:
                report.is_complete = False
                return report
    return report


async def _play(
    command: Sequence[str], move_ms: int, rules: str, players: int, levels: Iterator[Level]
) -> tuple[Trial, ProgramBot]:
    faults: list[Fault] = []
    rng = Random(f"{rules} {players}")  # noqa: S311 - dice of a rehearsal
    bot = ProgramBot(command, move_ms=move_ms, on_fault=faults.append, extra=_UNKNOWN)
    table: list[Bot] = [PlayerBot("House", house_player(next(levels), rng)) for _ in range(players - 1)]
    seat = rng.randrange(players)
    table.insert(seat, bot)
    await bot.open()
    try:
        over = await rehearse(PRESETS[rules], table, SharedDice(f"{rules} {players}"))
    finally:
        await bot.close()
    place = next(index for index, seats in enumerate(over.places, start=1) if seat in seats)
    return Trial(rules, players, seat, place, bot.moves, tuple(faults)), bot
