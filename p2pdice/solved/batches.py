"""The net for many hands at once, for its training and for the check of what can be won against it. Requires numba."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from p2pdice.moves import FACES, LIAR, Bid, Hand, Liar
from p2pdice.solved.net import FEATURES, RAISES, RARE, TAILS, Net, features, outputs
from p2pdice.solved.rounds import highest_bid, number_of

Floats = npt.NDArray[np.float64]

INPUT_TABLES: Final = (np.array(TAILS), np.array(RAISES))
"""The last arguments of :func:`compiled_features`."""

compiled_features = cast("Callable[..., None]", njit(features))
"""The function with which players compute the input of the net, compiled."""


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
    """The likelihoods of a net's moves: the same as :meth:`~p2pdice.solved.net.Net.likelihoods`, for many hands."""

    def __init__(self, net: Net) -> None:
        self._layers = [(np.array(layer.weights), np.array(layer.biases)) for layer in net.layers]

    def likelihoods(
        self, hands: Sequence[Hand], unseen: int, bids: Sequence[Bid]
    ) -> Sequence[Mapping[Bid | Liar, float]]:
        """Return the likelihoods of the moves of a player, for each of these hands."""
        highest = highest_bid(len(hands[0]) + unseen)
        numbers = [number_of(bid) for bid in bids]
        possible = outputs(numbers[-1] if numbers else 0, highest)
        if not possible[1:] or (bids and bids[-1].quantity > highest):
            return [{LIAR: 1.0}] * len(hands)
        values = np.zeros((len(hands), FEATURES))
        made = np.array(numbers, np.int64)
        for row, hand in zip(values, hands, strict=True):
            counts = np.array([hand.count(face) for face in FACES])
            compiled_features(row, counts, unseen, made, highest, *INPUT_TABLES)
        for weights, biases in self._layers[:-1]:
            values = np.maximum(sums(values, weights, biases), 0)
        scores = sums(values, *self._layers[-1])[:, [index for index, _ in possible]]
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        moves = [move for _, move in possible]
        return [
            {move: value for move, value in zip(moves, each, strict=True) if value >= RARE} for each in likely.tolist()
        ]
