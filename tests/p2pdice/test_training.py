"""The solver agrees with the engine, and the net's training is reproducible."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pdice.counting import NOTHING_WILD
from p2pdice.engine import apply, legal_moves
from p2pdice.events import DieLost
from p2pdice.moves import FACES, LIAR, Bid, Hand, Hands, Play
from p2pdice.solved import __main__, net, policy
from p2pdice.solved.exploitability import Likelihoods, bounds
from p2pdice.solved.net import FEATURES, OUTPUTS, Layer, Net
from p2pdice.solved.policy import Table
from p2pdice.solved.rounds import beginning, hands, highest_bid, number_of, sequences
from p2pdice.state import State
from tests.p2pdice.test_solved import SMALL, TABLES, at, bids_of, share_of_rounds

if TYPE_CHECKING:
    from p2pdice.solved import perceptron, solve, training

pytestmark = pytest.mark.skipif(
    not find_spec("numba"), reason="training, and the check of the net, need the extra train"
)


@pytest.fixture(scope="module", autouse=True)
def _numba() -> None:
    """Import numba, slowly, only in workers that run these tests, and not in all that collect them."""
    global perceptron, solve, training
    from p2pdice.solved import perceptron, solve, training


def loser(state: State, hands: tuple[Hand, ...]) -> int:
    """Return the seat that loses a die if the player on turn calls."""
    called, _ = apply(state, Play(state.turn, LIAR))
    _, events = apply(called, Hands(hands))
    return next(event.seat for event in events if isinstance(event, DieLost))


def solved(opener: int, responder: int, iterations: int) -> Table:
    tree = solve.Tree(opener, responder)
    solver = solve.Solver(tree, 0.0)
    for _ in range(iterations):
        solver.iterate()
    return Table(opener, responder, policy.pack(opener, responder, solve.weights_by_sequence(tree, solver.strategy())))


# Solutions


@pytest.mark.parametrize(
    ("opener", "responder"), [(1, 1), *(pytest.param(*table, marks=pytest.mark.thorough) for table in TABLES[1:])]
)
def test_the_solver_has_the_bid_sequences_of_the_engine(opener: int, responder: int) -> None:
    state, tree = beginning(opener, responder), solve.Tree(opener, responder)
    made = [tree.sequence(node) for node in range(len(tree.bids))]
    assert sorted(map(str, sequences(state))) == sorted(str(bids) for bids in made[1:])
    for node, bids in enumerate(made):
        first = tree.first[node]
        following = {tree.bids[each] for each in range(first, first + tree.continued[node])}
        assert {*following, *([LIAR] if bids else [])} == set(legal_moves(at(state, bids)))


@pytest.mark.parametrize(
    ("opener", "responder"), [(1, 1), *(pytest.param(*table, marks=pytest.mark.thorough) for table in ((1, 2), (2, 1)))]
)
def test_the_solver_has_the_showdowns_of_the_engine(opener: int, responder: int) -> None:
    state, tree = beginning(opener, responder), solve.Tree(opener, responder)
    solver = solve.Solver(tree, 0.0)
    cups = list(product(enumerate(hands(opener)), enumerate(hands(responder))))
    for node in range(1, len(tree.bids)):
        standing = at(state, tree.sequence(node))
        caller, face = standing.turn, standing.bids[-1].face
        for (row, mine), (column, theirs) in cups:
            counted = solver.tallies[0][face, row] + solver.tallies[1][face, column]
            assert (loser(standing, (mine, theirs)) == caller) == (counted >= solver.least_true[node])


@pytest.mark.thorough
@pytest.mark.parametrize("table", SMALL)
def test_the_solver_reaches_the_exact_values_of_small_rounds(table: tuple[int, int]) -> None:
    low, high = share_of_rounds(solved(*table, 60), *table)
    assert low <= SMALL[table] + 1e-9
    assert high >= SMALL[table] - 1e-9
    assert high - low < 0.012


MISTAKES = {
    "ones are not wild": ("ONES_WILD", NOTHING_WILD),
    "a bid needs one die too many": ("verdict", lambda call, quantity, least, most: (least > quantity, None)),
    "hands are equally likely": ("hands", lambda number: dict.fromkeys(hands(number), 1)),
}


@pytest.mark.thorough
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_best_response_reveals_a_mistake_in_the_solver(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve, *MISTAKES[mistake])
    low, high = share_of_rounds(solved(1, 2, 60), 1, 2)
    assert high - low > 0.02


@pytest.mark.thorough
def test_a_tremble_makes_the_solver_learn_every_decision() -> None:
    """Without a tremble, the replies to bids that are never made are arbitrary."""
    tree = solve.Tree(1, 2)
    solver = solve.Solver(tree, 0.01)
    for _ in range(60):
        solver.iterate()
    strategy = solver.strategy()
    assert np.isfinite(strategy).all()
    certain = tree.bids.index(Bid(1, 1))
    holds_a_one = [1 in hand for hand in tree.hands[1]]
    assert (tree.weights(strategy, certain)[0, holds_a_one] < 0.01).all(), "a bid that is certainly true is not called"


# The net


def untrained() -> training.Pupil:
    return training.Pupil(1, 1)


def layers(pupil: training.Pupil) -> list[Layer]:
    return perceptron.packable(pupil.net.layers)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**9))
def test_training_and_play_see_the_same_features(own: int, unseen: int, seed: int) -> None:
    rng, highest = Random(seed), highest_bid(own + unseen)
    bids = list(map(number_of, bids_of(rng, highest)))
    hand = rng.choices(FACES, k=own)
    counts = [hand.count(face) for face in FACES]
    played, trained = [0.0] * FEATURES, np.zeros(FEATURES)
    net.features(played, counts, unseen, bids, highest, net.TAILS, net.RAISES)
    training.compiled_features(
        trained, np.array(counts), unseen, np.array(bids, np.int64), highest, *training.INPUT_TABLES
    )
    assert played == pytest.approx(trained.tolist(), abs=1e-12)


@pytest.mark.thorough
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**9), st.integers(0, 20))
def test_batches_have_the_likelihoods_of_the_net(own: int, unseen: int, seed: int, too_high: int) -> None:
    rng, highest = Random(seed), highest_bid(own + unseen)
    bids = bids_of(rng, highest)
    if too_high:
        bids.append(Bid(highest + too_high, 6))
    held = [tuple(sorted(rng.choices(FACES, k=own))) for _ in range(3)]
    for hand, checked in zip(held, training.Batches(net.net()).likelihoods(held, unseen, bids), strict=True):
        assert checked == pytest.approx(net.net().likelihoods(hand, unseen, bids))


@pytest.mark.thorough
@pytest.mark.parametrize("dice", [(1, 4), (4, 1), (2, 4)])
def test_no_opponent_wins_much_against_the_net_of_the_package(dice: tuple[int, int]) -> None:
    """``python -m p2pdice.solved check`` computes all rounds, which takes minutes."""
    low, high = bounds(beginning(*dice), __main__.strategy(*dice))
    assert 0 <= (high - low) / 2 < __main__.WORST_ROUND


@pytest.mark.thorough
def test_an_untrained_net_gives_much_away() -> None:
    batches = training.Batches(Net(net.pack(layers(untrained()))))

    def play(bids: tuple[Bid, ...], hands: Sequence[Hand]) -> Sequence[Likelihoods]:
        return batches.likelihoods(hands, (1, 2)[len(bids) % 2], bids)

    low, high = bounds(beginning(2, 1), play)
    assert (high - low) / 2 > 0.2


# Training


def lessons() -> training.Lessons:
    """Return lessons from a player who bids and calls at random."""
    tree = solve.Tree(1, 4)
    solution = np.zeros(tree.offset[-1])
    for node, moves in enumerate(tree.moves):
        tree.weights(solution, node)[:] = 1 / moves
    return training.Lessons({(1, 4): np.rint(solution * training.SCALE).astype(np.uint16)})


@pytest.mark.thorough
def test_lessons_have_the_likelihoods_of_the_possible_moves() -> None:
    inputs, targets = lessons().draw(np.random.default_rng(1), 500)
    assert inputs.shape == (500, FEATURES)
    assert targets.shape == (500, OUTPUTS)
    for row in targets:
        possible = row[row >= 0]
        assert possible.size > 1
        assert possible == pytest.approx(np.full(possible.size, 1 / possible.size), rel=0.01)


@pytest.mark.thorough
def test_training_is_reproducible_even_if_interrupted() -> None:
    taught = lessons()
    whole, broken, other = training.Pupil(1, 20), training.Pupil(1, 20), training.Pupil(2, 20)
    losses = [whole.learn(taught) for _ in range(20)]
    assert losses[-1] < losses[0] / 2
    for _ in range(7):
        broken.learn(taught)
        other.learn(taught)
    resumed = training.Pupil(1, 20)
    resumed.net.restore({name: np.array(value) for name, value in broken.net.saved().items()})
    for _ in range(13):
        resumed.learn(taught)
        other.learn(taught)
    assert net.pack(layers(resumed)) == net.pack(layers(whole)) != net.pack(layers(other))


@pytest.mark.thorough
def test_training_resumes_where_it_was_interrupted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """To be quick, tables are limited to one die in each cup, and the net to two."""
    monkeypatch.setattr(net, "MOST_DICE", 2)
    monkeypatch.setattr(policy, "MOST_DICE_IN_TABLE", 1)
    monkeypatch.setattr(training, "SAVED", 2)
    plan = training.Plan(seed=1, table_iterations=3, iterations=3, steps=5, selfplay_iterations=1)
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    for package in (whole, resumed):
        package.mkdir()
    training.train(plan, tmp_path / "1", whole, lambda line: None, ["rounds"])
    assert {path.name for path in whole.iterdir()} == {"1-1.policy", "classic.net"}

    stops = ["1 against 2", "2 against 2", "step 2"]

    def interrupt(line: str) -> None:
        if stops and line.startswith(stops[0]):
            stops.pop(0)
            raise KeyboardInterrupt

    while stops:
        with pytest.raises(KeyboardInterrupt):
            training.train(plan, tmp_path / "2", resumed, interrupt, ["rounds"])
    said: list[str] = []
    training.train(plan, tmp_path / "2", resumed, said.append, ["rounds"])
    assert said[0].startswith("step")
    for name in ("1-1.policy", "classic.net"):
        assert (resumed / name).read_bytes() == (whole / name).read_bytes()
    with pytest.raises(ValueError, match="other training"):
        training.train(training.Plan(2, 3, 3, 5, 1), tmp_path / "2", resumed, lambda line: None, ["rounds"])
