"""Multilayer perceptrons with rectified linear units in training. Requires numpy.

Gradients are applied by Adam (Kingma and Ba, arXiv:1412.6980).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from p2pdice.solved.net import Layer

Reals = npt.NDArray[np.float32]

CLIP: Final = 0.5
"""The maximum length of a gradient; longer ones are scaled down to it."""


class Perceptron:
    """A net in training.

    All weights are in one array. :attr:`layers` are views of its parts: weights by input and output, and biases.

    :param sizes: the numbers of units of the layers, inputs first.
    :param rng: draws the first weights.
    """

    def __init__(self, sizes: Sequence[int], rng: np.random.Generator) -> None:
        self._sizes = tuple(sizes)
        self.steps = 0
        """The number of training steps so far."""
        self.weights: Final = np.zeros(sum((old + 1) * new for old, new in pairwise(sizes)), np.float32)
        self._mean, self._square = np.zeros_like(self.weights), np.zeros_like(self.weights)
        self.layers: Final = self.cut(self.weights)
        for weights, _ in self.layers:
            weights[:] = rng.standard_normal(weights.shape) * np.sqrt(2 / len(weights))  # He et al., arXiv:1502.01852
        self.layers[-1][0][:] *= 0.01

    def values(self, inputs: Reals) -> list[Reals]:
        """Return the values of all layers, the inputs first and the outputs last."""
        values = [inputs]
        for weights, biases in self.layers[:-1]:
            values.append(np.maximum(values[-1] @ weights + biases, 0))
        weights, biases = self.layers[-1]
        values.append(values[-1] @ weights + biases)
        return values

    def learn(self, values: Sequence[Reals], error: Reals, rate: float) -> None:
        """Make one training step.

        :param values: see :meth:`values`.
        :param error: the derivatives of the loss with respect to the outputs.
        :param rate: the learning rate.
        """
        self.steps += 1
        slopes = np.empty_like(self.weights)
        parts = self.cut(slopes)
        for index in reversed(range(len(self.layers))):
            np.matmul(values[index].T, error, out=parts[index][0])
            parts[index][1][:] = error.sum(axis=0)
            if index:
                error = (error @ self.layers[index][0].T) * (values[index] > 0)
        slopes *= min(1.0, CLIP / (float(np.sqrt((slopes * slopes).sum())) + 1e-9))
        self._mean += np.float32(0.1) * (slopes - self._mean)
        self._square += np.float32(0.001) * (slopes * slopes - self._square)
        rate *= np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        np.subtract(
            self.weights,
            np.float32(rate) * self._mean / (np.sqrt(self._square) + np.float32(1e-7)),
            out=self.weights,
        )

    def cut(self, weights: Reals) -> Sequence[tuple[Reals, Reals]]:
        """Return views of the parts of an array of all weights: the weights and biases of each layer."""
        parts, at = [], 0
        for old, new in pairwise(self._sizes):
            middle, end = at + old * new, at + (old + 1) * new
            parts.append((weights[at:middle].reshape(old, new), weights[middle:end]))
            at = end
        return parts

    def saved(self) -> Mapping[str, Any]:
        """Return the state as arrays, for :meth:`restore`."""
        return {"steps": self.steps, "weights": self.weights, "mean": self._mean, "square": self._square}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from the saved state of a net with the same sizes."""
        self.steps = int(saved["steps"])
        self.weights[:] = saved["weights"]
        self._mean[:], self._square[:] = saved["mean"], saved["square"]


def packable(layers: Sequence[tuple[Reals, Reals]]) -> list[Layer]:
    """Return layers in the form that :func:`~p2pdice.solved.net.pack` takes."""
    return [Layer(weights.tolist(), biases.tolist()) for weights, biases in layers]


def softmax(values: Reals, possible: npt.NDArray[np.bool_]) -> Reals:
    """Return, by row, the probabilities of the possible outputs."""
    values = np.where(possible, values, np.float32(-1e9))
    powers: Reals = np.exp(values - values.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    return powers
