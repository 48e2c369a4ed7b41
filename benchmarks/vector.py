"""Measure how many random matches per second are played: side by side in arrays, and one by one by the engine.

python -m benchmarks.vector [--players 4] [--rules classic] [--matches 100000]
"""

from __future__ import annotations

import argparse
import time
from random import Random

import numpy as np

from benchmarks.engine import play_match
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.vector import SUPPORTED, Matches

TOGETHER = 10_000


def side_by_side(ruleset: Ruleset, players: int, count: int) -> float:
    """Return random matches per second of CPU time, side by side."""
    rng = np.random.default_rng(1)
    begun, done = time.process_time(), 0
    while done < count:
        matches = Matches(ruleset, players, TOGETHER)
        while len(matches.turn):
            matches.deal(matches.roll(rng))
            matches.play(matches.random_moves(rng))
            over = int(matches.is_over.sum())
            if 4 * over >= len(matches.turn):
                matches, done = matches.take(~matches.is_over), done + over
    return done / (time.process_time() - begun)


def one_by_one(ruleset: Ruleset, players: int, count: int) -> float:
    """Return random matches per second of CPU time, with the engine."""
    rng = Random(1)
    begun = time.process_time()
    for _ in range(count):
        play_match(ruleset, players, rng)
    return count / (time.process_time() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", type=int, default=4)
    parser.add_argument("--rules", choices=SUPPORTED, default="classic")
    parser.add_argument("--matches", type=int, default=100_000)
    options = parser.parse_args()
    ruleset = PRESETS[options.rules]
    side_by_side(ruleset, options.players, 1)  # build the cached bounds of raises beforehand
    many = side_by_side(ruleset, options.players, options.matches)
    one = one_by_one(ruleset, options.players, options.matches // 100)
    print(f"{options.rules}, {options.players} players: {many:.0f} a second side by side, {one:.0f} one by one, "
          f"{many / one:.0f} times as many")  # fmt: skip


if __name__ == "__main__":
    main()
