"""Self-play has the same inputs as play, is reproducible, and makes a policy harder to exploit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from p2pdice.engine import apply
from p2pdice.moves import EXACT, LIAR, Bid, Hand, Move, Play
from p2pdice.players.bidders import ImaginedRound
from p2pdice.rulesets import PRESETS
from p2pdice.solved import learnt
from p2pdice.solved.exploitability import bounds
from p2pdice.solved.learnt import FEATURES, OUTPUTS, LearntNet
from p2pdice.solved.net import RARE, Layer, pack
from p2pdice.solved.policy import likelihoods
from p2pdice.solved.rounds import beginning
from p2pdice.state import PlacedBid
from p2pdice.vector import decode

if TYPE_CHECKING:
    from p2pdice.solved import perceptron, selfplay, training

pytestmark = pytest.mark.skipif(not find_spec("numba"), reason="training needs the extra train")


@pytest.fixture(scope="module", autouse=True)
def _numba() -> None:
    """Import numba, slowly, only in workers that run these tests, and not in all that collect them."""
    global perceptron, selfplay, training
    from p2pdice.solved import perceptron, selfplay, training


ROUNDS = 120
"""Iterations after which a policy is measurably better."""


def course(name: str, dice: int, seed: int, iterations: int) -> selfplay.Course:
    return selfplay.Course({name: PRESETS[name].with_options({"dice": str(dice)})}, (2, 4, 3), seed, iterations)


def decided(_name: str = "", _players: int = 0) -> LearntNet:
    """Return an untrained net that prefers some moves."""
    rng = np.random.default_rng(1)
    sizes = ((FEATURES, 16), (16, OUTPUTS))
    return LearntNet(pack([Layer(rng.normal(size=size).tolist(), rng.normal(size=size[1]).tolist()) for size in sizes]))


def decided_in_training(rng: np.random.Generator) -> perceptron.Perceptron:
    policy = perceptron.Perceptron((FEATURES, 16, OUTPUTS), rng)
    for (weights, biases), layer in zip(policy.layers, decided().layers, strict=True):
        weights[:], biases[:] = layer.weights, layer.biases
    return policy


def test_in_half_of_the_rounds_one_player_trembles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selfplay, "TREMBLE", 1.0)  # all moves of the player who trembles are equally likely
    rng = np.random.default_rng(1)
    matches = selfplay.positions(PRESETS["spot-on"], 2, 1000, rng)
    made = selfplay.played(learnt.RULE_NUMBERS["spot-on"], matches, decided_in_training(rng), rng)
    even = made.possible / made.possible.sum(axis=1, keepdims=True)
    is_even = np.isclose(made.chances, even).all(axis=1)
    rounds = [made.match == match for match in range(1000)]
    evens = [[is_even[found & (made.seat == seat)] for seat in (0, 1)] for found in rounds]
    both_moved = [(one.all(), other.all()) for one, other in evens if len(one) and len(other)]
    assert set(both_moved) == {(True, False), (False, True), (False, False)}
    assert sum(map(any, both_moved)) / len(both_moved) == pytest.approx(0.5, abs=0.08)


@pytest.mark.thorough
@pytest.mark.parametrize("name", learnt.RULE_NUMBERS)
@pytest.mark.parametrize("players", [3, 5])
def test_probabilities_in_training_equal_those_in_play(
    name: str, players: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rounds of training are replayed with the code that players use."""
    monkeypatch.setattr(learnt, "learnt_net", decided)
    monkeypatch.setattr(selfplay, "TREMBLE", 0.0)
    rng = np.random.default_rng(players)
    policy = decided_in_training(rng)
    matches = selfplay.positions(PRESETS[name], players, 60, rng)
    dice, leader, palifico = matches.dice.tolist(), matches.leader.tolist(), matches.palifico.tolist()
    made = selfplay.played(learnt.RULE_NUMBERS[name], matches, policy, rng)
    assert any(palifico) == (name == "perudo")
    calls: set[Move] = set()
    for match in range(60):
        round_ = ImaginedRound(PRESETS[name], tuple(dice[match]), tuple(range(players)), palifico[match], 1)
        bids: tuple[PlacedBid, ...] = ()
        for decision in np.flatnonzero(made.match == match):
            seat = (leader[match] + len(bids)) % players
            assert made.seat[decision] == seat
            hand = tuple(sorted(die for die in matches.hands[match, seat].tolist() if die))
            moves: Mapping[Any, float] | None = likelihoods(round_.state(seat, bids), hand)
            assert moves
            trained = made.chances[decision] / made.chances[decision].max()
            move = decode(int(made.move[decision]))
            assert moves.get(move, 0.0) == pytest.approx(float(trained[made.chosen[decision]]), abs=RARE)
            likely = np.sort(trained[trained >= 0.05]).tolist()
            assert sorted(moves.values())[-len(likely) :] == pytest.approx(likely, rel=1e-3)
            if isinstance(move, Bid):
                bids = (*bids, PlacedBid(move.quantity, move.face, seat))
            else:
                calls.add(move)
    assert calls == ({LIAR} if name == "classic" else {LIAR, EXACT})


@pytest.mark.thorough
def test_self_play_is_reproducible_even_if_interrupted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(selfplay, "DECISIONS", 500)
    whole, broken, other = (selfplay.Learner(course("perudo", 2, seed, 6)) for seed in (1, 1, 2))
    for _ in range(6):
        whole.learn()
        other.learn()
    for _ in range(4):
        broken.learn()
    np.savez(tmp_path / "state.npz", **broken.saved())
    resumed = selfplay.Learner(course("perudo", 2, 1, 6))
    with np.load(tmp_path / "state.npz") as saved:
        resumed.restore(saved)
    for _ in range(2):
        resumed.learn()
    assert resumed.packed() == whole.packed() != other.packed()


@pytest.mark.thorough
def test_train_resumes_interrupted_self_play(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(training, "SELFPLAY_SAVED", 2)
    monkeypatch.setattr(selfplay, "DECISIONS", 500)
    plan = training.Plan(seed=1, table_iterations=1, iterations=1, steps=1, selfplay_iterations=3)

    def train(name: str, say: Callable[[str], None]) -> bytes:
        (tmp_path / f"{name} package").mkdir(exist_ok=True)
        training.train(plan, tmp_path / name, tmp_path / f"{name} package", say, ["two"])
        return (tmp_path / f"{name} package" / learnt.TWO).read_bytes()

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("broken", interrupt)
    assert train("broken", lambda line: None) == train("whole", lambda line: None)


@pytest.mark.thorough
def test_self_play_makes_a_policy_harder_to_exploit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured by exact best responses in classic with one die each."""
    monkeypatch.setattr(selfplay, "DECISIONS", 2000)
    monkeypatch.setattr(selfplay, "BATCH", 256)
    start = beginning(1, 1)
    classic = PRESETS["classic"].with_options({"dice": "1"})
    learner = selfplay.Learner(selfplay.Course({"classic": classic}, (2,), 1, ROUNDS))

    def given_away() -> float:
        taught = LearntNet(learner.packed())

        def play(bids: tuple[Bid, ...], hands: Sequence[Hand]) -> Sequence[Any]:
            state = start
            for bid in bids:
                state, _ = apply(state, Play(state.turn, bid))
            return [taught.likelihoods("classic", (1, 1), state, hand) for hand in hands]

        low, high = bounds(start, play)
        return (high - low) / 2

    before = given_away()
    for _ in range(ROUNDS):
        learner.learn()
    assert before > 0.3
    assert given_away() < 0.6 * before
