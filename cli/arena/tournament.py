"""An arena from its first game to its last: what is played, resumed, counted and ended early."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

from cli.arena.fixtures import Fixture, fixtures
from cli.arena.game import Game
from cli.arena.journal import Journal
from cli.arena.pool import Executors, play_all
from cli.arena.standings import Decision
from cli.arena.worker import Plan

Played = list[tuple[Fixture, Game]]


class Progress(NamedTuple):
    """How far an arena is."""

    games: int
    """Played by now, those of the file included."""
    of: int
    """To be played at most."""
    resumed: int
    """Of those that were played: taken from the file."""


def run(
    plan: Plan,
    journal: Journal,
    open_executor: Executors,
    workers: int,
    *,
    decision: Decision | None,
    told: Callable[[Progress], None],
) -> Played:
    """Play the games that the file does not have yet; return those that count, in the order of the fixtures.

    :param decision: stop as soon as it is made; None: play all.
        Games that were begun by then are kept in the file and do not count, so the result depends on no clock.
    :param told: called whenever games have ended.
    """
    every = list(fixtures(plan.tables, plan.games))
    numbers = {fixture.number for fixture in every}
    waiting = {game.number: game for game in journal.games if game.number in numbers}
    resumed = len(waiting)
    counted: Played = []

    def is_over() -> bool:
        while not (decision and decision.is_made) and len(counted) < len(every):
            fixture = every[len(counted)]
            if fixture.number not in waiting:
                break
            counted.append((fixture, waiting[fixture.number]))
            if decision:
                decision.add(*counted[-1])
        return len(counted) == len(every) or bool(decision and decision.is_made)

    if is_over():
        return counted
    missing: Iterator[Fixture] = (fixture for fixture in every if fixture.number not in waiting)
    with closing(play_all(open_executor, workers, plan, missing)) as batches:
        for games in batches:
            journal.add(games)
            waiting.update((game.number, replace(game, lines=())) for game in games)  # the file has the moves
            told(Progress(len(waiting), len(every), resumed))
            if is_over():
                break
    return counted
