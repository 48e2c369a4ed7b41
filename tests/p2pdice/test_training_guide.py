"""The example of docs/training.md: its seat is an environment, its agent is a player, and its measure is exact.

The library that it learns with is too large for the tests. A policy that draws any legal action stands in.
"""

from __future__ import annotations

import importlib.util
import random
import re
import sys
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cli.arena.fixtures import fixtures, named, round_robin
from cli.arena.game import Plan, close_programs, play_games
from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.moves import Bid, Hand, Liar, Play, Rolled
from p2pdice.rulesets import PRESETS
from p2pdice.solved.exploitability import bounds
from tests.programs import ROOT

ONE_DIE = PRESETS["classic"].with_options({"dice": "1"})


@pytest.fixture
def ppo(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example, with any legal action in the place of what would be learnt."""
    library = ModuleType("sb3_contrib")
    library.MaskablePPO = SimpleNamespace(load=lambda file, device: SimpleNamespace(policy=None))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sb3_contrib", library)
    spec = importlib.util.spec_from_file_location("ppo", ROOT / "examples" / "ppo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "ppo", module)
    spec.loader.exec_module(module)

    def uniform(policy: None, seen: list[dict[str, Any]]) -> Any:
        masks = np.stack([each["action_mask"] for each in seen]).astype(float)
        return masks / masks.sum(axis=1, keepdims=True)

    monkeypatch.setattr(module, "probabilities", uniform)
    return module


@pytest.mark.parametrize("players", [2, 3])
def test_a_seat_is_an_environment_in_which_matches_end(ppo: ModuleType, players: int) -> None:
    seat, rng = ppo.Seat(ONE_DIE, players), random.Random(1)
    seat.selves.append(None)
    ends = []
    for seed in range(20):
        seat.reset(seed=seed)
        over = False
        while not over:
            allowed = seat.action_masks().nonzero()[0].tolist()
            _, reward, over, _, _ = seat.step(rng.choice(allowed))
        ends.append(reward)
    assert set(ends) == {1.0, -1.0 / (players - 1)}


def test_the_measure_is_that_of_the_same_policy_written_by_hand(ppo: ModuleType) -> None:
    start, _ = apply(new_match(ONE_DIE, 2), Rolled())

    def any_move(bids: tuple[Bid, ...], hands: Sequence[Hand]) -> list[dict[Bid | Liar, float]]:
        state = start
        for bid in bids:
            state, _ = apply(state, Play(state.turn, bid))
        return [{move: 1.0 for move in legal_moves(state) if isinstance(move, Bid | Liar)} for _ in hands]

    least, most = bounds(start, any_move)
    assert ppo.exploitability(None, ONE_DIE) == pytest.approx((most - least) / 2)


def test_an_arena_seats_the_agent(ppo: ModuleType) -> None:
    tables = round_robin(2, ("classic",), (2,))
    plan = Plan(named(["ppo:Agent", "random"]), tables, (ONE_DIE,), 10, "1", 20_000)
    try:
        games = play_games(plan, tuple(fixtures(tables, 10)))
    finally:
        close_programs()
    assert not any(faults for game in games for faults in game.faults)
    assert {game.winners for game in games} == {(0,), (1,)}


def test_the_loop_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    guide = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    [program] = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    exec(compile(program, "training.md", "exec"), {})
    first, second = map(int, capsys.readouterr().out.strip("[]\n").split())
    assert first + second == 1000
