"""Does a program speak the bot protocol? It plays matches in memory, by every ruleset, and its faults are listed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from cli.bots.bot import Bot, Fault, PlayerBot, ProgramBot
from cli.bots.local_match import rehearse
from p2pdice import PRESETS
from p2pdice.players import OddsPlayer

TABLES: Final = (2, 4)
"""Players in the matches of each ruleset: the smallest table, and one at which others play on when somebody is out."""
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
    """What came out."""

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


async def check(command: Sequence[str], move_ms: int, progress: Callable[[Trial], None]) -> Report:
    """Let a program play by every preset against house players; each match is a new run of it.

    :raises ProgramError: if it cannot be started, or says no hello.
    """
    await ProgramBot(command).introduce(PRESETS["classic"])  # what cannot even do that is told once, and why
    report = Report(command[0])
    for rules in PRESETS:
        for players in TABLES:
            trial, bot = await _play(command, move_ms, rules, players)
            report.trials.append(trial)
            report.name = bot.name
            report.slowest_ms = max(report.slowest_ms, bot.slowest_ms)
            progress(trial)
            if len(report.faults) >= ENOUGH:
                report.is_complete = False
                return report
    return report


async def _play(command: Sequence[str], move_ms: int, rules: str, players: int) -> tuple[Trial, ProgramBot]:
    faults: list[Fault] = []
    rng = Random(f"{rules} {players}")  # noqa: S311 - dice of a rehearsal
    bot = ProgramBot(command, move_ms=move_ms, on_fault=faults.append, extra=_UNKNOWN)
    table: list[Bot] = [PlayerBot("House", OddsPlayer(rng)) for _ in range(players - 1)]
    seat = rng.randrange(players)
    table.insert(seat, bot)
    await bot.open()
    try:
        over = await rehearse(PRESETS[rules], table, rng)
    finally:
        await bot.close()
    place = next(index for index, seats in enumerate(over.places, start=1) if seat in seats)
    return Trial(rules, players, seat, place, bot.moves, tuple(faults)), bot
