"""The training of the net on solved rounds, by supervised learning (Hinton, Vinyals and Dean, arXiv:1503.02531).

Rounds are played between a side that follows the solution and a side that follows it with a tremble, so that answers to
odd bids are learnt, too. The net learns the moves of the first side by cross-entropy, with Adam (Kingma and Ba,
arXiv:1412.6980) and a learning rate that falls linearly to zero. Every step draws its rounds from a generator of its
own, so training resumes after any step. Requires numba.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from p2pdice.moves import FACES
from p2pdice.solved.batches import INPUT_TABLES, compiled_features
from p2pdice.solved.net import FEATURES, MOST, OUTPUTS, STEPS
from p2pdice.solved.rounds import hands, highest_bid, number_of
from p2pdice.solved.solve import Tree

Reals = npt.NDArray[np.float32]

SIZES: Final = (FEATURES, 384, 128, OUTPUTS)
"""The numbers of units of the layers."""
BATCH: Final = 2048
"""Decisions in a training step."""
RATE: Final = 0.002
"""The initial learning rate."""
CLIP: Final = 0.5
"""The maximum length of a gradient; longer ones are scaled down to it."""
SHAKES: Final = np.array([0.0, 0.1, 0.3])
"""How often a side that trembles makes any of its moves: one of these in each round."""
SCALE: Final = 65535
"""Solutions are kept as 16-bit integers: probabilities times this."""


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
        most = len(hands(MOST))
        self._counts = np.zeros((MOST + 1, most, len(FACES)), np.int64)
        self._chances = np.ones((MOST + 1, most))
        for dice in range(1, MOST + 1):
            throws = hands(dice)
            self._counts[dice, : len(throws)] = [[hand.count(face) for face in FACES] for hand in throws]
            self._chances[dice, : len(throws)] = np.cumsum(list(throws.values())) / 6**dice

    def draw(self, rng: np.random.Generator, number: int) -> tuple[Reals, Reals]:
        """Return inputs of this number of decisions, and the likelihoods of all outputs; impossible moves have -1."""
        inputs, targets = np.zeros((number, FEATURES), np.float32), np.full((number, OUTPUTS), -1, np.float32)
        cups = (self._counts, self._chances, SHAKES)
        draw(rng, self._rounds, self._nodes, self._solutions, cups, INPUT_TABLES, inputs, targets)
        return inputs, targets


def _draw(
    rng: np.random.Generator,
    rounds: Any,
    nodes: Any,
    solutions: npt.NDArray[np.uint16],
    cups: Any,
    input_tables: Any,
    inputs: Reals,
    targets: Reals,
) -> None:
    """Play rounds until these arrays are full: see :meth:`Lessons.draw`."""
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
                    output = 0
                    if move >= calls:
                        bid = numbers[first[node] + move - calls] - 1
                        step = bid // 6 + 1 - raises[bids[made - 1] if made else 0][bid % 6][0]
                        if step >= STEPS:
                            continue
                        output = 1 + STEPS * (bid % 6) + step
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


class Pupil:
    """A net in training.

    All its weights are in one array, from which :attr:`layers` are cut: weights by input and output, and biases.

    :param steps: the number of training steps.
    """

    def __init__(self, seed: int, steps: int) -> None:
        self.seed, self.steps = seed, steps
        self.step = 0
        shapes = [(old, new) for old, new in pairwise(SIZES)]
        self._weights = np.zeros(sum((old + 1) * new for old, new in shapes), np.float32)
        self._mean, self._square = np.zeros_like(self._weights), np.zeros_like(self._weights)
        self.layers = _cut(self._weights)
        rng = np.random.default_rng((seed, 0))
        for (weights, _), (old, _) in zip(self.layers, shapes, strict=True):
            weights[:] = rng.standard_normal(weights.shape) * np.sqrt(2 / old)  # He et al., arXiv:1502.01852
        self.layers[-1][0][:] *= 0.01

    def learn(self, lessons: Lessons) -> float:
        """Make one step, and return the mean Kullback-Leibler divergence of the net from the solutions before it."""
        self.step += 1
        inputs, targets = lessons.draw(np.random.default_rng((self.seed, self.step)), BATCH)
        values = [inputs]
        for weights, biases in self.layers[:-1]:
            values.append(np.maximum(values[-1] @ weights + biases, 0))
        weights, biases = self.layers[-1]
        chances = softmax(values[-1] @ weights + biases, targets >= 0)
        targets = np.maximum(targets, 0)
        loss = float((targets * np.log((targets + 1e-9) / (chances + 1e-9))).sum() / BATCH)
        slopes = np.empty_like(self._weights)
        parts = _cut(slopes)
        error = (chances - targets) / np.float32(BATCH)
        for index in reversed(range(len(self.layers))):
            np.matmul(values[index].T, error, out=parts[index][0])
            parts[index][1][:] = error.sum(axis=0)
            if index:
                error = (error @ self.layers[index][0].T) * (values[index] > 0)
        self._adam(slopes)
        return loss

    def _adam(self, slopes: Reals) -> None:
        slopes *= min(1.0, CLIP / (float(np.sqrt((slopes * slopes).sum())) + 1e-9))
        self._mean += np.float32(0.1) * (slopes - self._mean)
        self._square += np.float32(0.001) * (slopes * slopes - self._square)
        rate = RATE * (1 - (self.step - 1) / self.steps)
        rate *= np.sqrt(1 - 0.999**self.step) / (1 - 0.9**self.step)
        self._weights -= np.float32(rate) * self._mean / (np.sqrt(self._square) + np.float32(1e-7))

    def saved(self) -> Mapping[str, Any]:
        """Return the state as arrays, for :meth:`restore`."""
        return {"step": self.step, "weights": self._weights, "mean": self._mean, "square": self._square}

    def restore(self, saved: Mapping[str, Any]) -> None:
        self.step = int(saved["step"])
        for name in ("weights", "mean", "square"):
            getattr(self, f"_{name}")[:] = saved[name]


def softmax(values: Reals, possible: npt.NDArray[np.bool_]) -> Reals:
    """Return, by row, the probabilities of the possible outputs."""
    values = np.where(possible, values, np.float32(-1e9))
    powers: Reals = np.exp(values - values.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def _cut(values: Reals) -> Sequence[tuple[Reals, Reals]]:
    """Return the parts of an array of all weights: by layer the weights and the biases."""
    parts, at = [], 0
    for old, new in pairwise(SIZES):
        middle, end = at + old * new, at + (old + 1) * new
        parts.append((values[at:middle].reshape(old, new), values[middle:end]))
        at = end
    return parts
