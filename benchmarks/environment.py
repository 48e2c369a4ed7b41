"""Measure how many steps per second a learning agent can make, each with an observation and a mask.

    python -m benchmarks.environment [--seconds 5]

Moves are drawn uniformly. The rows are the PettingZoo environment, 1,000 matches side by side, and, if OpenSpiel is
installed, its ``liars_dice``, which plays single rounds. All rows have two players with five dice each. They are
measured alternately, in CPU time.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from p2pdice.environment import LiarsDice
from p2pdice.observations import ObservedMatches
from p2pdice.rulesets import PRESETS

PASSES = 5


def environment_steps(env: LiarsDice, rng: random.Random) -> int:
    """Play a match in the environment; return its number of steps."""
    env.reset(seed=rng.getrandbits(32))
    steps = 0
    while True:
        observation, _, is_over, _, _ = env.last()
        if is_over:
            return steps
        env.step(rng.choice(observation["action_mask"].nonzero()[0]))
        steps += 1


def side_by_side_steps(rng: np.random.Generator) -> int:
    """Play a thousand matches side by side; return their number of steps."""
    matches = ObservedMatches(PRESETS["classic"], 2, 1_000)
    steps = 0
    while len(matches.turn):
        matches.deal(matches.roll(rng))
        mask = matches.observe()["action_mask"]
        steps += len(mask)
        moves = np.zeros(len(matches.turn), np.int16)
        moves[matches.awaits_move] = (rng.random(mask.shape) * mask).argmax(axis=1)
        matches.play(moves)
        matches = matches.take(~matches.is_over)
    return steps


def open_spiel_steps(game: Any, rng: random.Random) -> int:
    """Play a round of OpenSpiel; return its number of steps."""
    state = game.new_initial_state()
    steps = 0
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(rng.randrange(6))
            continue
        np.array(state.information_state_tensor(), np.float32)
        mask = np.array(state.legal_actions_mask(), np.int8)
        state.apply_action(int(rng.choice(mask.nonzero()[0])))
        steps += 1
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each row")
    seconds = parser.parse_args().seconds
    env, rng, many = LiarsDice("classic", 2), random.Random(1), np.random.default_rng(1)
    rows: dict[str, Callable[[], int]] = {
        "environment": lambda: environment_steps(env, rng),
        "side by side": lambda: side_by_side_steps(many),
    }
    try:
        game = import_module("pyspiel").load_game("liars_dice(players=2,numdice=5)")
    except ImportError:
        print("OpenSpiel is not installed.\n")
    else:
        rows["OpenSpiel"] = lambda: open_spiel_steps(game, rng)
    steps, taken = dict.fromkeys(rows, 0), dict.fromkeys(rows, 0.0)
    for _ in range(PASSES):
        for name, play in rows.items():
            begun = time.process_time()
            while time.process_time() < begun + seconds / PASSES:
                steps[name] += play()
            taken[name] += time.process_time() - begun
    rates = {name: steps[name] / taken[name] for name in rows}
    print("| with observation and mask | steps/s | share of OpenSpiel |\n| --- | ---: | ---: |")
    for name, rate in rates.items():
        share = f"{rate / rates['OpenSpiel']:.2f}" if "OpenSpiel" in rates else ""
        print(f"| {name} | {rate:,.0f} | {share} |")


if __name__ == "__main__":
    main()
