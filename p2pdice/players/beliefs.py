"""The beliefs of ``mind`` about the others: how each of them bids, and which hands each may hold in this round.

*How somebody bids* is a distribution over the models of :mod:`p2pdice.players.bidders`. Every showdown shows the hands
with which the bids of the round were made, and so how likely each model was to make them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import exp, log
from random import Random
from typing import Final

from p2pdice.inputs import Hand
from p2pdice.players.bidders import ANYHOW, BIDDERS, PRIOR, SLIP, Bidder
from p2pdice.players.hands import Held, held
from p2pdice.players.rounds import Action, Turn


class Habits:
    """How likely it is that a seat bids like each of the models."""

    MEMORY: Final = 0.97
    """The part of the evidence that still counts one showdown later."""
    LEAST: Final = 0.02
    """Models less likely than this are left out."""

    def __init__(self) -> None:
        self._logs = [log(chance) for chance in PRIOR]
        self.weights: tuple[float, ...] = PRIOR
        self.likely: tuple[tuple[Bidder, float], ...] = tuple(zip(BIDDERS, PRIOR, strict=True))

    def learn(self, decisions: Sequence[tuple[Held, Turn, Action]]) -> None:
        """Learn from the decisions of this seat in a round, now that its hand is known."""
        logs = [self.MEMORY * value for value in self._logs]
        for held_, turn, action in decisions:
            anything = SLIP * ANYHOW.likelihood(held_, turn, action)
            for index, bidder in enumerate(BIDDERS):
                logs[index] += log((1 - SLIP) * bidder.likelihood(held_, turn, action) + anything)
        top = max(logs)
        self._logs = [value - top for value in logs]
        weights = [exp(value) for value in self._logs]
        total = sum(weights)
        self.weights = tuple(weight / total for weight in weights)
        self.likely = tuple(
            (bidder, weight) for bidder, weight in zip(BIDDERS, self.weights, strict=True) if weight > self.LEAST
        )


class Belief:
    """The hands that a seat may hold in this round, each with a way in which it may bid.

    :param number: dice of this seat.
    :param dice: dice in play.
    :param wild: whether ones are wild.
    :param hands: how many hands are drawn, for its bids to weight them.
    """

    def __init__(self, number: int, dice: int, wild: bool, habits: Habits, hands: int, rng: Random) -> None:
        self._number, self._dice, self._wild, self._rng = number, dice, wild, rng
        self._hands = hands
        self._bidders = [bidder for bidder, _ in habits.likely]
        self._chances = [weight for _, weight in habits.likely]
        self._pairs: list[tuple[Held, Bidder]] = []
        self._weights: list[float] = []

    def _hand(self) -> Held:
        rng = self._rng.random
        hand: Hand = tuple(sorted([int(rng() * 6) + 1 for _ in range(self._number)]))
        return held(hand, self._dice, self._wild)

    def bid(self, turn: Turn, action: Action) -> None:
        """Take a bid of this seat into account."""
        if not self._pairs:
            hands = [self._hand() for _ in range(self._hands)]
            self._pairs = [(hand, bidder) for hand in hands for bidder in self._bidders]
            self._weights = self._chances * len(hands)
        anything = SLIP * ANYHOW.likelihood(self._pairs[0][0], turn, action)
        self._weights = [
            weight * ((1 - SLIP) * bidder.likelihood(hand, turn, action) + anything)
            for weight, (hand, bidder) in zip(self._weights, self._pairs, strict=True)
        ]

    def draw(self, number: int) -> list[tuple[Held, Bidder]]:
        """Draw this many hands by their weights, each with a way to bid."""
        if self._pairs:
            return self._rng.choices(self._pairs, cum_weights=list(accumulate(self._weights)), k=number)
        bidders = self._rng.choices(self._bidders, self._chances, k=number)
        return [(self._hand(), bidder) for bidder in bidders]
