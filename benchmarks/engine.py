"""Measure the speed of the engine: random matches of every preset, and single rounds compared with OpenSpiel.

    python -m benchmarks.engine [--seconds 1] [--players 2 3 4 5 6 7 8 9 10] [--presets classic motes …]

Moves are drawn uniformly from the listed moves, and times include rolling the dice. If OpenSpiel is installed
(``pip install open_spiel``), its ``liars_dice`` is driven from Python in the same run: one round, two players with five
dice, standard raises, the same dice for both engines, and a new game for each round.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.moves import FACES, Hands, Input, Play, Pledges, Roll, Rolled, Stakes
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.state import Expect

ROUND = PRESETS["classic"].with_options({"raise": "standard"})


def play_match(ruleset: Ruleset, players: int, rng: random.Random) -> tuple[int, int]:
    """Play a random match and return its numbers of rounds and moves."""
    draw = rng.random
    state = new_match(ruleset, players)
    moves = rounds = 0
    hands: tuple[tuple[int, ...], ...] = ()
    while True:
        awaits = state.awaits
        if awaits is Expect.MOVE:
            listed = legal_moves(state)
            state, _ = apply(state, Play(state.turn, listed[int(draw() * len(listed))]))
            moves += 1
        elif awaits is Expect.ROLLED:
            hands = tuple(tuple(sorted(rng.choices(FACES, k=dice))) for dice in state.dice)
            state, _ = apply(state, Rolled())
            rounds += 1
        elif awaits is Expect.HANDS:
            state, _ = apply(state, Hands(hands))
        elif awaits is Expect.OVER:
            return rounds, moves
        else:
            item: Input = Roll(rng.choice(FACES))
            if awaits is Expect.PLEDGES:
                item = Pledges(("redeemed",) * players)
            elif awaits is Expect.STAKES:
                item = Stakes(((50, 1000, 0, 0),) * players)
            state, _ = apply(state, item)


def own_round(faces: list[int], draw: Callable[[], float]) -> int:
    """Play one round with these dice, first player first, and return its number of moves."""
    moves = 0
    move_awaited = Expect.MOVE
    state, _ = apply(new_match(ROUND, 2), Rolled())
    while state.awaits is move_awaited:
        listed = legal_moves(state)
        state, _ = apply(state, Play(state.turn, listed[int(draw() * len(listed))]))
        moves += 1
    state, _ = apply(state, Hands((tuple(sorted(faces[:5])), tuple(sorted(faces[5:])))))
    assert sum(state.dice) == 9
    return moves


def open_spiel_round(game: Any, faces: list[int], draw: Callable[[], float]) -> int:
    """Play the same round on OpenSpiel."""
    moves = 0
    state = game.new_initial_state()
    for face in faces:
        state.apply_action(face - 1)
    while not state.is_terminal():
        listed = state.legal_actions()
        state.apply_action(listed[int(draw() * len(listed))])
        moves += 1
    assert sum(state.returns()) == 0
    return moves


def rates(play: Callable[[], tuple[int, int]], seconds: float) -> tuple[float, float]:
    """Return rounds and moves per second of ``play``, called repeatedly until ``seconds`` have passed."""
    rounds = moves = 0
    begun = now = time.perf_counter()
    while now < begun + seconds:
        played = play()
        rounds, moves = rounds + played[0], moves + played[1]
        now = time.perf_counter()
    return rounds / (now - begun), moves / (now - begun)


def batch(one_round: Callable[[list[int], Callable[[], float]], int], seed: int) -> Callable[[], tuple[int, int]]:
    """Return a function that plays 200 rounds whose dice and draws depend only on ``seed``."""
    rng = random.Random(seed)
    return lambda: (200, sum(one_round(rng.choices(FACES, k=10), rng.random) for _ in range(200)))


def compare(seconds: float) -> None:
    """Print rounds per second of both engines, measured alternately so that other load affects both."""
    print("\n| one round, two players, five dice | rounds/s | moves/s |\n| --- | ---: | ---: |")
    contestants = {"p2pdice": batch(own_round, 1)}
    try:
        game = import_module("pyspiel").load_game("liars_dice(players=2,numdice=5)")
    except ImportError:
        print("| OpenSpiel | not installed | |")
    else:
        contestants["OpenSpiel"] = batch(lambda faces, draw: open_spiel_round(game, faces, draw), 1)
    best: dict[str, tuple[float, float]] = {}
    for _ in range(5):
        for name, play in contestants.items():
            best[name] = max(best.get(name, (0.0, 0.0)), rates(play, seconds / 5))
    for name, (rounds, moves) in best.items():
        print(f"| {name} | {rounds:,.0f} | {moves:,.0f} |")
    if len(best) == 2:
        print(f"\np2pdice plays {best['p2pdice'][0] / best['OpenSpiel'][0]:.2f} times as many rounds a second.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each figure")
    parser.add_argument("--players", type=int, nargs="*", default=list(range(2, 11)))
    parser.add_argument("--presets", nargs="*", default=list(PRESETS), choices=list(PRESETS))
    options = parser.parse_args()
    print("| preset | players | rounds/s | moves/s |\n| --- | ---: | ---: | ---: |")
    for name in options.presets:
        for players in options.players:
            rng = random.Random(players)
            ruleset = PRESETS[name]
            rounds, moves = rates(lambda: play_match(ruleset, players, rng), options.seconds)  # noqa: B023 - called here
            print(f"| {name} | {players} | {rounds:,.0f} | {moves:,.0f} |")
    compare(options.seconds * 5)


if __name__ == "__main__":
    main()
