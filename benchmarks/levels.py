"""Measure how often one house bot wins against copies of another, and how long it thinks.

    python -m benchmarks.levels [--level mind] [--beside odds press cautious] [--presets classic perudo motes]
        [--players 2 3 4 6] [--games 500] [--jobs 1] [--seed 1]

The games in a row are paired: each deal is played once with the bot on each seat, until at least ``--games`` games are
played. Intervals are Wilson's for 99 %. Times are CPU times. The last table shows how many matches per second four bots
of one level play in one process.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from typing import NamedTuple

from cli.history import wilson
from p2pdice.events import Event
from p2pdice.moves import Move, Stake
from p2pdice.players import LEVELS, Player
from p2pdice.players.contest import contest
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.views import View

CONFIDENCE = 0.99
"""Confidence level of the intervals."""


class Row(NamedTuple):
    """A group of matches measured together."""

    preset: str
    players: int
    beside: str


class Timed(Player):
    """A player that records how long each of its choices takes."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self.seconds: list[float] = []

    def started(self, ruleset: Ruleset, seat: int, players: int) -> None:
        self._player.started(ruleset, seat, players)

    def choose(self, view: View) -> Move:
        begun = time.process_time()
        move = self._player.choose(view)
        self.seconds.append(time.process_time() - begun)
        return move

    def stake(self, funds: int, tickets: int) -> Stake:
        return self._player.stake(funds, tickets)

    def happened(self, event: Event) -> None:
        self._player.happened(event)


def measure(row: Row, level: str, games: int, seed: int) -> tuple[float, int, list[float]]:
    """Return the wins, with ties shared equally, the number of games, and the seconds of each choice."""
    wins, seconds = 0.0, []
    deals = -(-games // row.players)
    for deal, own in product(range(deals), range(row.players)):
        whims = [random.Random(f"{seed} {deal} {own} {seat}") for seat in range(row.players)]
        table: list[Player] = [LEVELS[row.beside](whim) for whim in whims]
        timed = table[own] = Timed(LEVELS[level](whims[own]))
        winners = contest(PRESETS[row.preset], table, random.Random(f"{seed} {row.preset} {deal}")).winners
        wins += (own in winners) / max(len(winners), 1)
        seconds += timed.seconds
    return wins, deals * row.players, sorted(seconds)


def matches_a_second(level: str, seconds: float = 5.0) -> float:
    """Return the number of four-player classic matches that bots of one level play per second in this process."""
    matches, begun = 0, time.process_time()
    while time.process_time() < begun + seconds:
        table = [LEVELS[level](random.Random(f"{matches} {seat}")) for seat in range(4)]
        contest(PRESETS["classic"], table, random.Random(matches))
        matches += 1
    return matches / (time.process_time() - begun)


def compare(level: str, rows: Sequence[Row], games: int, seed: int, jobs: int) -> None:
    """Print a table row by row, as each is measured."""
    print("| preset | players | beside | games | won % | 99 % interval | fair % | ms/move | 99th percentile ms |")
    print("| --- | ---: | --- | ---: | ---: | --- | ---: | ---: | ---: |")
    with ProcessPoolExecutor(jobs) as pool:
        measured = pool.map(partial(measure, level=level, games=games, seed=seed), rows)
        for row, (wins, played, seconds) in zip(rows, measured, strict=True):
            low, high = wilson(wins, played, CONFIDENCE)
            mean = 1000 * sum(seconds) / len(seconds)
            slow = 1000 * seconds[int(len(seconds) * 0.99)]
            print(
                f"| {row.preset} | {row.players} | {row.beside} | {played} | {100 * wins / played:.1f}"
                f" | {100 * low:.1f}–{100 * high:.1f} | {100 / row.players:.1f} | {mean:.1f} | {slow:.1f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", default="mind", choices=list(LEVELS))
    parser.add_argument("--beside", nargs="+", default=["odds", "press", "cautious"], choices=list(LEVELS))
    parser.add_argument("--presets", nargs="+", default=["classic", "perudo", "motes"], choices=list(PRESETS))
    parser.add_argument("--players", type=int, nargs="+", default=[2, 3, 4, 6])
    parser.add_argument("--games", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows = [Row(*each) for each in product(options.presets, options.players, options.beside)]
    compare(options.level, rows, options.games, options.seed, options.jobs)
    print("\n| four bots of one level, classic | matches/s |\n| --- | ---: |")
    for level in ("random", "cautious", "press", "odds"):
        print(f"| {level} | {matches_a_second(level):,.0f} |")


if __name__ == "__main__":
    main()
