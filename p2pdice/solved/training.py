"""The training of the policy: rounds are solved, some become tables, and a net learns from the others.

The nets of :mod:`p2pdice.solved.selfplay` learn by self-play. The net for solved rounds is distilled from the solutions
(Hinton, Vinyals and Dean, arXiv:1503.02531). Rounds are played between a side that follows the solution and a side that
follows it with a tremble, so that answers to unusual bids are learnt, too. The net learns the moves of the first side
by cross-entropy, with Adam (Kingma and Ba, arXiv:1412.6980) and a learning rate that falls linearly to zero. Every step
has its own random generator, so training can resume after any step.

A working folder stores the solution of each round, and the state of the nets at intervals, so that interrupted training
can resume. The result depends only on the :class:`Plan`: with numpy limited to one thread, the same versions of the
libraries on the same machine yield the same bytes. Requires numba.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final, Protocol, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from p2pdice.moves import FACES, Bid, Hand, Liar
from p2pdice.rulesets import PRESETS
from p2pdice.solved import learnt, net, policy
from p2pdice.solved.net import FEATURES, HIGHEST, OUTPUTS, RAISES, TAILS, Net, features, outputs, without_rare
from p2pdice.solved.perceptron import Perceptron, packable, softmax
from p2pdice.solved.rounds import hands, highest_bid, number_of
from p2pdice.solved.selfplay import Course, Learner
from p2pdice.solved.solve import Reals, Solver, Tree, weights_by_sequence

# Parameters

TREMBLE: Final = 0.01
"""The tremble of solutions from which the net learns. Tables need none: sequences that they omit are never reached."""
SAVED: Final = 1000
"""The number of steps after which the state of the net is saved."""
SELFPLAY_SAVED: Final = 100
"""The number of iterations after which the state of self-play is saved."""
SIZES: Final = (FEATURES, 384, 128, OUTPUTS)
"""The numbers of units of the layers."""
BATCH: Final = 2048
"""Decisions in a training step."""
RATE: Final = 0.002
"""The initial learning rate."""
SHAKES: Final = np.array([0.0, 0.1, 0.3])
"""Probabilities of a random move by the side that trembles. One of them is drawn for each round."""
SCALE: Final = 65535
"""Solutions are kept as 16-bit integers: probabilities times this."""

# The net for many hands at once

Floats = npt.NDArray[np.float64]

INPUT_TABLES: Final = (np.array(TAILS), np.array(RAISES))
"""The last arguments of :func:`compiled_features`."""

compiled_features = cast("Callable[..., None]", njit(features))
"""The compiled form of the function that also computes the net's input in play."""


def _sums(values: Floats, weights: Floats, biases: Floats) -> Floats:
    """Return ``values @ weights + biases``. Most values are 0, and batches are too small for the threads of a BLAS."""
    result = np.empty((len(values), biases.size))
    for row in range(len(values)):
        result[row] = biases
        for index in range(len(weights)):
            value = values[row, index]
            if value != 0:
                for output in range(biases.size):
                    result[row, output] += value * weights[index, output]
    return result


sums = cast("Callable[[Floats, Floats, Floats], Floats]", njit(_sums))


class Batches:
    """Computes :meth:`~p2pdice.solved.net.Net.likelihoods` for many hands at once."""

    def __init__(self, net_: Net) -> None:
        self._layers = [(np.array(layer.weights), np.array(layer.biases)) for layer in net_.layers]

    def likelihoods(
        self, hands: Sequence[Hand], unseen: int, bids: Sequence[Bid]
    ) -> Sequence[Mapping[Bid | Liar, float]]:
        """Return the likelihoods of the moves of a player, for each of these hands."""
        highest = highest_bid(len(hands[0]) + unseen)
        numbers = [number_of(bid) for bid in bids]
        possible = outputs(numbers[-1] if numbers else 0, highest)
        if len(possible) == 1:
            return [without_rare(possible, [1.0])] * len(hands)
        values = np.zeros((len(hands), FEATURES))
        made = np.array(numbers, np.int64)
        for row, hand in zip(values, hands, strict=True):
            counts = np.array([hand.count(face) for face in FACES])
            compiled_features(row, counts, unseen, made, highest, *INPUT_TABLES)
        for weights, biases in self._layers[:-1]:
            values = np.maximum(sums(values, weights, biases), 0)
        scores = sums(values, *self._layers[-1])[:, [index for index, _ in possible]]
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        return [without_rare(possible, each) for each in likely.tolist()]


# Lessons


def _places() -> npt.NDArray[np.int64]:
    """Return the output of each move, or -1, by the standing bid, the highest quantity of the round, and the move."""
    places = np.full((len(RAISES), HIGHEST + 1, len(RAISES)), -1)
    for standing, highest in product(range(len(RAISES)), range(HIGHEST + 1)):
        for output, move in outputs(standing, highest):
            places[standing, highest, number_of(move)] = output
    return places


class Lessons:
    """Solved rounds, from which decisions are drawn.

    :param solutions: by dice of the opener and of the responder, the solution in 16-bit integers: see :data:`SCALE`.
    """

    def __init__(self, solutions: Mapping[tuple[int, int], npt.NDArray[np.uint16]]) -> None:
        trees = [Tree(*dice) for dice in solutions]
        # Longer rounds are harder to learn, so they are drawn more often.
        shares = np.array([sum(tree.dice) - 1 for tree in trees], float)
        nodes = np.cumsum([0, *(len(tree.bids) for tree in trees)])
        weights = np.cumsum([0, *(tree.offset[-1] for tree in trees)])
        self._rounds = (
            np.cumsum(shares / shares.sum()),
            np.array([tree.dice for tree in trees]),
            np.array([highest_bid(sum(tree.dice)) for tree in trees]),
            nodes,
        )
        numbers = [number_of(bid) if bid else 0 for tree in trees for bid in tree.bids]
        self._nodes = (
            np.array(numbers, np.int32),
            np.concatenate([tree.first + start for tree, start in zip(trees, nodes, strict=False)]),
            np.concatenate([tree.continued for tree in trees]),
            np.concatenate([tree.width for tree in trees]),
            np.concatenate([tree.offset[:-1] + start for tree, start in zip(trees, weights, strict=False)]),
        )
        self._solutions = np.concatenate(list(solutions.values()))
        self._places = _places()
        most = len(hands(net.MOST_DICE))
        self._counts = np.zeros((net.MOST_DICE + 1, most, len(FACES)), np.int64)
        self._chances = np.ones((net.MOST_DICE + 1, most))
        for dice in range(1, net.MOST_DICE + 1):
            throws = hands(dice)
            self._counts[dice, : len(throws)] = [[hand.count(face) for face in FACES] for hand in throws]
            self._chances[dice, : len(throws)] = np.cumsum(list(throws.values())) / 6**dice

    def draw(self, rng: np.random.Generator, number: int) -> tuple[Reals, Reals]:
        """Return the inputs of this number of decisions, and the likelihood of each output, -1 for impossible moves."""
        inputs, targets = np.zeros((number, FEATURES), np.float32), np.full((number, OUTPUTS), -1, np.float32)
        cups = (self._counts, self._chances, SHAKES)
        draw(rng, self._rounds, self._nodes, self._solutions, cups, INPUT_TABLES, self._places, inputs, targets)
        return inputs, targets


def _draw(
    rng: np.random.Generator,
    rounds: Any,
    nodes: Any,
    solutions: npt.NDArray[np.uint16],
    cups: Any,
    input_tables: Any,
    places: npt.NDArray[np.int64],
    inputs: Reals,
    targets: Reals,
) -> None:
    """Play rounds until ``inputs`` and ``targets`` are full: see :meth:`Lessons.draw`."""
    shares, dice, highest, roots = rounds
    numbers, first, continued, width, offset = nodes
    counts, chances, shakes = cups
    tails, raises = input_tables
    bids = np.zeros(64, np.int64)
    hand = np.zeros(2, np.int64)
    row = 0
    while row < len(inputs):
        drawn = min(np.searchsorted(shares, rng.random(), "right"), len(shares) - 1)
        for seat in range(2):
            hand[seat] = np.searchsorted(chances[dice[drawn, seat]], rng.random(), "right")
        taught = int(rng.random() * 2)
        shake = shakes[int(rng.random() * len(shakes))]
        node, made = roots[drawn], 0
        while continued[node] and row < len(inputs):
            seat = made % 2
            calls = 1 if made else 0
            moves = continued[node] + calls
            at = offset[node] + hand[seat]
            if seat == taught:
                own, unseen = counts[dice[drawn, seat], hand[seat]], dice[drawn, 1 - seat]
                compiled_features(inputs[row], own, unseen, bids[:made], highest[drawn], tails, raises)
                total = 0.0
                for move in range(moves):
                    number = numbers[first[node] + move - calls] if move >= calls else 0
                    output = places[bids[made - 1] if made else 0, highest[drawn], number]
                    if output < 0:
                        continue
                    targets[row, output] = solutions[at + move * width[node]]
                    total += targets[row, output]
                if total > 0:
                    for output in range(targets.shape[1]):
                        if targets[row, output] > 0:
                            targets[row, output] /= total
                    row += 1
                else:
                    inputs[row] = 0
                    targets[row] = -1
            left = rng.random()
            if seat != taught and rng.random() < shake:
                move = int(left * moves)
            else:
                left *= SCALE
                move = 0
                while move < moves - 1 and left >= solutions[at + move * width[node]]:
                    left -= solutions[at + move * width[node]]
                    move += 1
            if move < calls:
                break
            node = first[node] + move - calls
            bids[made] = numbers[node]
            made += 1


draw = cast("Callable[..., None]", njit(_draw))


# Learning


class Pupil:
    """A net that learns from lessons.

    :param steps: the number of training steps.
    """

    def __init__(self, seed: int, steps: int) -> None:
        self.seed, self.steps = seed, steps
        self.net: Final = Perceptron(SIZES, np.random.default_rng((seed, 0)))

    @property
    def step(self) -> int:
        """The number of steps so far."""
        return self.net.steps

    def learn(self, lessons: Lessons) -> float:
        """Make one step. Return the mean Kullback-Leibler divergence of the net from the solutions before the step."""
        step = self.net.steps + 1
        inputs, targets = lessons.draw(np.random.default_rng((self.seed, step)), BATCH)
        values = self.net.values(inputs)
        chances = softmax(values[-1], targets >= 0)
        targets = np.maximum(targets, 0)
        loss = float((targets * np.log((targets + 1e-9) / (chances + 1e-9))).sum() / BATCH)
        self.net.learn(values, (chances - targets) / np.float32(BATCH), RATE * (1 - (step - 1) / self.steps))
        return loss


# Stages

Say = Callable[[str], None]
"""Called with each line of progress."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The length of the training, and the seed."""

    seed: int
    table_iterations: int
    """Iterations for each table."""
    iterations: int
    """Iterations for each round from which the net learns."""
    steps: int
    """Training steps of the net."""
    selfplay_iterations: int
    """Iterations of each self-play."""


def train(plan: Plan, folder: Path, package: Path, say: Say, parts: Sequence[str]) -> None:
    """Train some parts of the policy, resuming from ``folder``, and write them to ``package``.

    :param parts: ``rounds`` for the solved rounds with their net; ``perudo``, ``two`` and ``more`` for the nets trained
        by self-play.
    :raises ValueError: if the folder belongs to another plan.
    """
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "plan.json"
    text = json.dumps(asdict(plan))
    if record.exists() and record.read_text() != text:
        raise ValueError(f"{folder} belongs to other training: {record.read_text()}")
    _write(record, text.encode())
    for part in parts:
        results = _PARTS[part](plan, folder, say)
        for name, packed in results.items():
            _write(package / name, packed)
            say(f"{name}: {len(packed):,} bytes")


def _solved_rounds(plan: Plan, folder: Path, say: Say) -> Mapping[str, bytes]:
    results = {}
    solutions = {}
    numbers = range(1, net.MOST_DICE + 1)
    for dice in product(numbers, numbers):
        if max(dice) <= policy.MOST_DICE_IN_TABLE:
            results[policy.file_name(*dice)] = _table(dice, plan, folder, say)
        else:
            solutions[dice] = _solution(dice, plan, folder, say)
    results[net.FILE] = _distilled(Lessons(solutions), plan, folder, say)
    return results


def _table(dice: tuple[int, int], plan: Plan, folder: Path, say: Say) -> bytes:
    path = folder / policy.file_name(*dice)
    if not path.exists():
        tree = Tree(*dice)
        _write(path, policy.pack(*dice, weights_by_sequence(tree, _solved(tree, 0.0, plan.table_iterations, say))))
    return path.read_bytes()


def _solution(dice: tuple[int, int], plan: Plan, folder: Path, say: Say) -> npt.NDArray[np.uint16]:
    path = folder / f"{dice[0]}-{dice[1]}.npy"
    if not path.exists():
        solution = _solved(Tree(*dice), TREMBLE, plan.iterations, say)
        with _part(path).open("wb") as file:
            np.save(file, np.rint(solution * SCALE).astype(np.uint16))
        _part(path).replace(path)
    found: npt.NDArray[np.uint16] = np.load(path)
    return found


def _solved(tree: Tree, tremble: float, iterations: int, say: Say) -> Reals:
    say(f"{tree.dice[0]} against {tree.dice[1]} dice: {len(tree.bids):,} sequences of bids, {iterations} iterations")
    solver = Solver(tree, tremble)
    for _ in range(iterations):
        solver.iterate()
    return solver.strategy()


def _distilled(lessons: Lessons, plan: Plan, folder: Path, say: Say) -> bytes:
    pupil = Pupil(plan.seed, plan.steps)
    path = folder / "net.npz"
    _restore(pupil.net, path)
    losses = []
    while pupil.step < plan.steps:
        losses.append(pupil.learn(lessons))
        if pupil.step % SAVED == 0 or pupil.step == plan.steps:
            say(f"step {pupil.step:,} of {plan.steps:,}: divergence {np.mean(losses):.4f}")
            losses.clear()
            _save(pupil.net, path)
    return net.pack(packable(pupil.net.layers))


def _selfplayed(file: str, plan: Plan, folder: Path, say: Say) -> Mapping[str, bytes]:
    iterations = plan.selfplay_iterations
    presets, players = _COURSES[file]
    learner = Learner(Course({name: PRESETS[name] for name in presets}, players, plan.seed, iterations))
    path = folder / f"{file}.npz"
    _restore(learner, path)
    figures = []
    while learner.iteration < iterations:
        figures.append(learner.learn())
        if learner.iteration % SELFPLAY_SAVED == 0 or learner.iteration == iterations:
            means = ", ".join(f"{key} {np.mean([each[key] for each in figures]):.3f}" for key in figures[0])
            say(f"iteration {learner.iteration:,} of {iterations:,}: {means}")
            figures.clear()
            _save(learner, path)
    return {file: learner.packed()}


_COURSES: Final = {
    learnt.PERUDO: (("perudo",), (2,)),
    learnt.TWO: (("spot-on", "wildcard"), (2,)),
    learnt.MORE: (("classic", "perudo", "spot-on", "wildcard"), (4, 3, 5, 4, 3, 6)),
}
"""The presets and the numbers of players that each net learns by self-play."""
_PARTS: Final[Mapping[str, Callable[[Plan, Path, Say], Mapping[str, bytes]]]] = {
    "rounds": _solved_rounds,
    "perudo": partial(_selfplayed, learnt.PERUDO),
    "two": partial(_selfplayed, learnt.TWO),
    "more": partial(_selfplayed, learnt.MORE),
}


class _Resumable(Protocol):
    def saved(self) -> Mapping[str, Any]: ...
    def restore(self, saved: Mapping[str, Any]) -> None: ...


def _restore(learning: _Resumable, path: Path) -> None:
    if path.exists():
        with np.load(path) as saved:
            learning.restore(saved)


def _save(learning: _Resumable, path: Path) -> None:
    with _part(path).open("wb") as file:
        np.savez(file, **learning.saved())
    _part(path).replace(path)


def _write(path: Path, content: bytes) -> None:
    _part(path).write_bytes(content)
    _part(path).replace(path)


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")
