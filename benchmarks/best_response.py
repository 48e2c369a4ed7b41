"""A player that learns how to respond to other bots: it fits the values of moves to the results of its rounds.

The value of a move is the expected result of the round: the change of the player's own dice, less the mean change of
the other players' dice. A network estimates it from the player's view and a description of the move, so what it learns
about a bid of sixes also applies to bids of fives. It does not know the opponents' code, only their moves.
Monte Carlo control with Boltzmann exploration: Sutton and Barto, *Reinforcement Learning* (2018), chapter 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from p2pdice.counting import in_row, rows
from p2pdice.events import DieGained, DieLost, Event, RoundStarted
from p2pdice.moves import FACES, Bid, Exact, Liar, Move, Side
from p2pdice.players import OddsPlayer
from p2pdice.rulesets import Ruleset
from p2pdice.state import NOBODY, PlacedBid, next_live
from p2pdice.views import View

Floats = NDArray[np.float32]

WIDTHS: Final = (96, 64)
"""Hidden units by layer."""
BATCH: Final = 32
"""Decisions in a step of gradient descent. With this few, BLAS uses one thread, so results are reproducible."""
WHIM: Final = 0.05
"""The probability of a random move while exploring."""
FEATURES: Final = 69
"""The length of a row of :func:`describe`."""


class ActionValues:
    """A network with ReLU units that maps descriptions of moves to values, and the decisions from which it learns.

    :param seed: determines the initial weights and the order of learning.
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        widths = (FEATURES, *WIDTHS, 1)
        pairs = list(pairwise(widths))
        self._weights = [self._rng.normal(0, (2 / n) ** 0.5, (n, m)).astype(np.float32) for n, m in pairs]
        self._weights[-1] *= 0.1
        self._biases = [np.zeros(m, np.float32) for _, m in pairs]
        self._means = [np.zeros_like(each) for each in (*self._weights, *self._biases)]
        self._squares = [np.zeros_like(each) for each in self._means]
        self._steps = 0
        self._seen = np.zeros((1024, FEATURES), np.float32)
        self._results = np.zeros(1024, np.float32)
        self.decisions = 0

    def values(self, described: Floats) -> Floats:
        """Return the value of each described move."""
        return self._layers(described)[-1][:, 0]

    def remember(self, described: Floats, result: float) -> None:
        """Store a decision and the result of its round."""
        if self.decisions == len(self._seen):
            self._seen = np.concatenate([self._seen, np.zeros_like(self._seen)])
            self._results = np.concatenate([self._results, np.zeros_like(self._results)])
        self._seen[self.decisions], self._results[self.decisions] = described, result
        self.decisions += 1

    def learn(self, steps: int, rate: float) -> None:
        """Fit the network to the remembered decisions by this many steps of Adam (Kingma and Ba, 2015)."""
        for _ in range(steps if self.decisions else 0):
            drawn = self._rng.integers(0, self.decisions, BATCH)
            layers = self._layers(self._seen[drawn])
            error = (layers[-1] - self._results[drawn, None]) / np.float32(BATCH)
            by_weight, by_bias = [], []
            for index in reversed(range(len(self._weights))):
                by_weight.append(layers[index].T @ error)
                by_bias.append(error.sum(axis=0))
                error = (error @ self._weights[index].T) * (layers[index] > 0)
            self._descend([*reversed(by_weight), *reversed(by_bias)], rate)

    def _layers(self, described: Floats) -> list[Floats]:
        layers = [described]
        for index, (weights, biases) in enumerate(zip(self._weights, self._biases, strict=True)):
            layer = layers[-1] @ weights + biases
            layers.append(np.maximum(layer, 0) if index < len(WIDTHS) else layer)
        return layers

    def _descend(self, slopes: Sequence[Floats], rate: float) -> None:
        self._steps += 1
        scale = np.float32(rate * (1 - 0.999**self._steps) ** 0.5 / (1 - 0.9**self._steps))
        parts = zip((*self._weights, *self._biases), slopes, self._means, self._squares, strict=True)
        for values, slope, mean, square in parts:
            mean += np.float32(0.1) * (slope - mean)
            square += np.float32(0.001) * (slope * slope - square)
            values -= scale * mean / (np.sqrt(square) + np.float32(1e-7))


class LearntResponse(OddsPlayer):
    """Makes the bid or call with the highest value. All other decisions are those of ``odds``.

    :param values: shared by all games.
    :param warmth: the temperature of the exploration in dice. With 0 it neither explores nor remembers its decisions.
    """

    def __init__(self, rng: Random, values: ActionValues, warmth: float = 0.0) -> None:
        super().__init__(rng)
        self._values, self._warmth = values, warmth
        self._round: list[Floats] = []
        """The decisions of this round."""
        self._seat = NOBODY
        self._sign = 1.0
        self._gains: dict[int, int] = {}
        """The change of dice in this round, by seat in play."""

    def started(self, ruleset: Ruleset, seat: int, players: int) -> None:
        self._seat = seat
        self._sign = -1.0 if ruleset.goal == "first-out" else 1.0
        self._round, self._gains = [], {}

    def happened(self, event: Event) -> None:
        if isinstance(event, RoundStarted):
            self._settle()
            self._gains = {seat: 0 for seat, dice in enumerate(event.dice) if dice}
        elif isinstance(event, DieLost | DieGained) and event.seat in self._gains:
            self._gains[event.seat] += 1 if isinstance(event, DieGained) else -1

    def over(self, places: tuple[tuple[int, ...], ...]) -> None:
        self._settle()

    def _settle(self) -> None:
        if self._round:
            others = [change for seat, change in self._gains.items() if seat != self._seat]
            result = self._sign * (self._gains[self._seat] - sum(others) / max(1, len(others)))
            for described in self._round:
                self._values.remember(described, result)
            self._round = []

    def bid_or_call(self, view: View, bids: Sequence[Bid], calls: Sequence[Move]) -> Move:
        if calls and isinstance(calls[0], Side):
            return super().bid_or_call(view, bids, calls)
        moves = [*_promising(view, bids), *calls]
        described = describe(view, moves)
        values = self._values.values(described)
        chosen = int(values.argmax())
        if self._warmth:
            if self._rng.random() < WHIM:
                chosen = self._rng.randrange(len(moves))
            else:
                weights = [exp((value - values[chosen]) / self._warmth) for value in values.tolist()]
                chosen = self._rng.choices(range(len(moves)), weights)[0]
            self._round.append(described[chosen])
        return moves[chosen]


# The input of the network


def _promising(view: View, bids: Sequence[Bid]) -> list[Bid]:
    """Return, for each face, the lowest bid and up to five bids around the expected quantity."""
    dice, counting = sum(view.state.dice), view.state.counting
    kept: list[Bid] = []
    lowest: dict[int, int] = {}
    for bid in bids:
        least = lowest.setdefault(bid.face, bid.quantity)
        expected = dice * sum(counting.weights[bid.face]) // 6
        if bid.quantity == least or 0 <= bid.quantity - max(least, expected - 2) <= 4:
            kept.append(bid)
    return kept


def describe(view: View, moves: Sequence[Move]) -> Floats:
    """Return a row of numbers for each move: the player's hand, the round so far, and a bid.

    The row of a bid describes that bid; the row of a call describes the standing bid.
    """
    state, me, hand = view.state, view.seat, view.hand
    bids, dice, counting = state.bids, state.dice, state.counting
    total = sum(dice)
    unknown = total - len(hand)
    chances = rows(hand, unknown, counting)
    own = [0, *(counting.tally(hand, face) for face in FACES)]
    expected = [0.0, *(total * sum(counting.weights[face]) / 6 for face in FACES)]
    standing = bids[-1] if bids else PlacedBid(0, 0, NOBODY)
    following = next_live(state.live, me)
    table = _table(view, standing, following, own, expected, chances)
    by_face = [_history(bids, me, following, face, expected[face]) for face in FACES]
    lowest: dict[int, int] = {}
    for move in moves:
        if isinstance(move, Bid):
            lowest.setdefault(move.face, move.quantity)
    best = max(own)
    described = []
    for move in moves:
        if isinstance(move, Bid):
            quantity, face, jump = move.quantity, move.face, move.quantity - lowest[move.face]
        else:
            quantity, face, jump = standing.quantity, standing.face, 0
        row = chances[face]
        described.append(
            [
                float(isinstance(move, Bid)),
                float(isinstance(move, Liar)),
                float(isinstance(move, Exact)),
                *(float(face == each) for each in FACES),
                own[face] / 5,
                hand.count(face) / 5,
                float(own[face] == best),
                in_row(row, max(0, quantity - 1)),
                in_row(row, quantity),
                in_row(row, quantity + 1),
                in_row(row, quantity + 2),
                (quantity - own[face]) / 5,
                (quantity - expected[face]) / 3,
                jump / 3,
                float(quantity > standing.quantity),
                *by_face[face - 1],
                *table,
            ]
        )
    return np.array(described, np.float32)


def _history(bids: Sequence[PlacedBid], me: int, following: int, face: int, expected: float) -> list[float]:
    """Return numbers about the bids so far on one face."""
    mine = [bid.quantity for bid in bids if bid.face == face and bid.seat == me]
    others = [bid for bid in bids if bid.face == face and bid.seat != me]
    return [
        float(bool(others)),
        (max(bid.quantity for bid in others) - expected) / 3 if others else 0.0,
        len(others) / 3,
        len({bid.seat for bid in others}) / 3,
        float(any(bid.seat == following for bid in others)),
        float(bool(mine)),
        (max(mine) - expected) / 3 if mine else 0.0,
        float(bool(bids) and bids[-1].face == face),
        float(len(bids) > 1 and bids[-2].face == face),
    ]


def _table(
    view: View,
    standing: PlacedBid,
    following: int,
    own: Sequence[int],
    expected: Sequence[float],
    chances: Sequence[tuple[float, ...]],
) -> list[float]:
    """Return the numbers that all moves share: the standing bid, the hand, the dice, and the rules of the round."""
    state, me = view.state, view.seat
    bids, dice = state.bids, state.dice
    quantity, face, bidder = standing
    unknown, live = sum(dice) - len(view.hand), len(state.live)
    earlier = bids[-2] if len(bids) > 1 else PlacedBid(0, 0, NOBODY)
    row = chances[face]
    return [
        float(not bids),
        len(bids) / 6,
        sum(bid.seat == me for bid in bids) / 3,
        sum(bid.seat == bidder for bid in bids) / 3,
        in_row(row, quantity) if face else 0.0,
        in_row(row, quantity + 1) if face else 0.0,
        (quantity - own[face]) / 5,
        (quantity - expected[face]) / 3,
        own[face] / 5,
        float(face == 1),
        (quantity - earlier.quantity) / 3 if earlier.face else 0.0,
        float(face == earlier.face and face > 0),
        dice[bidder] / 5 if face else 0.0,
        *(count / 5 for count in sorted(own[1:], reverse=True)[:3]),
        view.hand.count(1) / 5,
        *(float(min(len(view.hand), 6) == number) for number in range(1, 7)),
        *(float(min(unknown, 8) == number) for number in range(1, 9)),
        unknown / 10,
        *(float(min(live, 5) == number) for number in range(2, 6)),
        dice[following] / 5,
        float(state.palifico),
        float(state.counting.ones_wild),
        float(bool(bids) and bids[0].face == 1),
    ]
