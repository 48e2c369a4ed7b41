"""The examples of docs/training.md: the environment, the trained agent as a bot, and the exploitability.

The training library is too large for the tests, so policies with random weights replace it.
"""

from __future__ import annotations

import importlib.util
import random
import re
import sys
from collections.abc import Sequence
from math import exp, tanh
from operator import mul
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from cli.arena.fixtures import fixtures, named, round_robin
from cli.arena.game import Plan, close_programs, play_games
from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.moves import Bid, Hand, Liar, Play, Rolled
from p2pdice.observations import Observer, layout
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.solved.exploitability import bounds
from p2pdice.vector import CALL_LIAR, encode
from p2pdice.views import View
from tests.programs import ROOT

ONE_DIE = PRESETS["classic"].with_options({"dice": "1"})


RNG = np.random.default_rng(1)


def example(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return example("agent", monkeypatch)


@pytest.fixture
def ppo(agent: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the example with a stub of the training library."""
    library = ModuleType("sb3_contrib")
    library.MaskablePPO = None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sb3_contrib", library)
    return example("ppo", monkeypatch)


def policy(activation: str = "Tanh", rules: Ruleset = ONE_DIE) -> SimpleNamespace:
    """Return a stub of a policy of the training library, with the same layers in the same order."""
    size, actions = layout(rules, 2).size, layout(rules, 2).actions
    shapes = {
        "mlp_extractor.policy_net.0": (8, size), "mlp_extractor.policy_net.2": (7, 8),
        "mlp_extractor.value_net.0": (8, size), "mlp_extractor.value_net.2": (7, 8),
        "action_net": (actions, 7), "value_net": (1, 7),
    }  # fmt: skip
    weights: dict[str, Any] = {}
    for name, shape in shapes.items():
        weights |= {f"{name}.weight": RNG.normal(size=shape), f"{name}.bias": RNG.normal(size=shape[0])}
    return SimpleNamespace(activation_fn=SimpleNamespace(__name__=activation), state_dict=lambda: weights)


class Uniform:
    """A policy that draws any legal action."""

    def probabilities(self, seen: list[dict[str, Any]]) -> Any:
        masks = np.stack([each["action_mask"] for each in seen]).astype(float)
        return masks / masks.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("players", [2, 3])
def test_a_seat_is_an_environment_in_which_matches_end(ppo: ModuleType, players: int) -> None:
    seat, rng = ppo.Seat(ONE_DIE, players), random.Random(1)
    seat.selves.append(Uniform())
    ends = []
    for seed in range(20):
        seat.reset(seed=seed)
        over = False
        while not over:
            allowed = seat.action_masks().nonzero()[0].tolist()
            _, reward, over, _, _ = seat.step(rng.choice(allowed))
        ends.append(reward)
    assert set(ends) == {1.0, -1.0 / (players - 1)}


def test_exploitability_is_that_of_the_same_policy_written_by_hand(ppo: ModuleType) -> None:
    start, _ = apply(new_match(ONE_DIE, 2), Rolled())

    def any_move(bids: tuple[Bid, ...], hands: Sequence[Hand]) -> list[dict[Bid | Liar, float]]:
        state = start
        for bid in bids:
            state, _ = apply(state, Play(state.turn, bid))
        return [{move: 1.0 for move in legal_moves(state) if isinstance(move, Bid | Liar)} for _ in hands]

    least, most = bounds(start, any_move)
    assert ppo.exploitability(Uniform(), ONE_DIE) == pytest.approx((most - least) / 2)


def test_an_agent_has_the_probabilities_of_the_trained_policy(agent: ModuleType, tmp_path: Path) -> None:
    learnt = policy()
    agent.Network.copy_of(learnt).save(tmp_path / "agent.npz")
    network = agent.Network.load(tmp_path / "agent.npz")
    start, _ = apply(new_match(ONE_DIE, 2), Rolled())
    state, _ = apply(start, Play(start.turn, Bid(1, 3)))
    seen = [Observer(ONE_DIE, 2).observe(View(state, state.turn, (face,))) for face in (1, 6)]
    weights = learnt.state_dict()
    for each, chances in zip(seen, network.probabilities(seen).tolist(), strict=True):
        numbers = each["observation"].tolist()
        for name in ("mlp_extractor.policy_net.0", "mlp_extractor.policy_net.2", "action_net"):
            rows = zip(weights[f"{name}.weight"].tolist(), weights[f"{name}.bias"].tolist(), strict=True)
            numbers = [sum(map(mul, row, numbers)) + bias for row, bias in rows]
            numbers = numbers if name == "action_net" else [tanh(number) for number in numbers]
        shares = [exp(score) * legal for score, legal in zip(numbers, each["action_mask"].tolist(), strict=True)]
        assert chances == pytest.approx([share / sum(shares) for share in shares])


def test_a_policy_of_another_kind_is_refused(agent: ModuleType) -> None:
    with pytest.raises(ValueError, match="ReLU is not supported"):
        agent.Network.copy_of(policy("ReLU"))


def test_an_arena_seats_the_agent_and_reports_other_rules_as_its_fault(
    agent: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    agent.Network.copy_of(policy()).save(agent.FILE)
    tables = round_robin(2, ("classic",), (2,))
    for rules, fault in ((ONE_DIE, ""), (PRESETS["classic"], "agent.npz is for other rules or another number")):
        plan = Plan(named(["agent:Agent", "random"]), tables, (rules,), 10, "1", 20_000)
        try:
            games = play_games(plan, tuple(fixtures(tables, 10)))
        finally:
            close_programs()
        faults = [each.reason for game in games for each in game.described]
        assert bool(faults) == bool(fault)
        assert fault in " ".join(faults)
        assert {game.winners for game in games} == {(0,), (1,)}


class SpielState:
    """A stub of OpenSpiel's base class of states."""

    def __init__(self, game: object) -> None:
        pass


@pytest.fixture
def openspiel(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the example with a stub of OpenSpiel."""
    library = MagicMock(PlayerId=SimpleNamespace(CHANCE=-1, TERMINAL=-4), Game=type("Game", (), {}), State=SpielState)
    library.Game.__init__ = lambda *_: None
    monkeypatch.setitem(sys.modules, "pyspiel", library)
    return example("openspiel", monkeypatch)


@pytest.mark.parametrize("rules", ["classic", "perudo", "spot-on", "joker"])
@pytest.mark.parametrize("players", [2, 3])
def test_a_game_in_openspiel_follows_the_engine(openspiel: ModuleType, rules: str, players: int) -> None:
    rng = random.Random(rules)
    game = openspiel.Match(PRESETS[rules].with_options({"dice": "2"}), players)
    for _ in range(5):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.current_player() == -1:
                outcomes, chances = zip(*state.chance_outcomes(), strict=True)
                assert sum(chances) == pytest.approx(1)
                state._apply_action(rng.choices(outcomes, chances)[0])
            else:
                moves = [encode(move) for move in legal_moves(state.state)]
                actions = state._legal_actions(state.current_player())
                assert actions == sorted(number for number in moves if number < game.layout.actions)
                state._apply_action(rng.choice(actions))
        assert sum(state.returns()) == pytest.approx(0)
        assert {seat for seat, won in enumerate(state.returns()) if won == 1} == set(state.state.winners)


def test_a_player_in_openspiel_knows_their_hand_and_what_is_public(openspiel: ModuleType) -> None:
    def known(first: int, second: int, *moves: int) -> tuple[str, str]:
        state = openspiel.Match(ONE_DIE).new_initial_state()
        for action in (first, second, *moves):
            state._apply_action(action)
        return openspiel.Knowledge().string_from(state, 0), openspiel.Knowledge().string_from(state, 1)

    bid = encode(Bid(1, 3))
    assert known(0, 1, bid)[0] == known(0, 2, bid)[0] != known(1, 1, bid)[0]
    assert known(0, 1, bid)[1] == known(2, 1, bid)[1] != known(0, 2, bid)[1]
    assert known(0, 1, bid)[0] != known(0, 1)[0]
    assert known(0, 1, bid, CALL_LIAR)[0] != known(0, 2, bid, CALL_LIAR)[0]


def test_the_loop_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    guide = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    [program] = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    exec(compile(program, "training.md", "exec"), {})
    first, second = map(int, capsys.readouterr().out.strip("[]\n").split())
    assert first + second == 1000
