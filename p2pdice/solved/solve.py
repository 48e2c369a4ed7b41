"""Counterfactual regret minimisation (CFR+) for one round: Tammelin, arXiv:1407.5042, with alternating updates.

The round is stored level by level: level ``n`` has the sequences of ``n`` bids in the engine's order, so that the
continuations of one sequence are adjacent. Arrays have one row per sequence, and one column per hand of the player
to move after it. Requires numpy.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from p2pdice.counting import ONES_WILD
from p2pdice.engine import apply
from p2pdice.moves import LIAR, Bid, Hand, Liar, Play
from p2pdice.showdown import verdict
from p2pdice.solved.policy import HEAVIEST, Weights, bids, hands
from p2pdice.state import State

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


LEAST_REACH: Final = 0.003
"""To save space, policies omit sequences and hands that the player's own bids make less probable than this."""


class SequenceLevel:
    """The bid sequences of one length."""

    def __init__(self, sequences: list[tuple[Bid, ...]]) -> None:
        self.sequences = sequences
        rows: dict[Bid, list[int]] = {}
        for row, made in enumerate(sequences):
            if made:
                rows.setdefault(made[-1], []).append(row)
        self.by_bid = {bid: np.array(found, dtype=np.intp) for bid, found in rows.items()}
        """The rows of the sequences that end in each bid."""
        self.follow([])

    def follow(self, continued: list[int]) -> None:
        """Set, for each sequence of the next level, the row that it continues; ``continued`` is ascending."""
        self.continued: Indices = np.array(continued, dtype=np.intp)
        self._rows, self._starts = np.unique(self.continued, return_index=True)

    def total(self, following: Floats) -> Floats:
        """Return, for each row, the sum of ``following`` over the rows of the next level that continue it."""
        sums = np.zeros((len(self.sequences), following.shape[1]))
        if len(self._rows):
            sums[self._rows] = np.add.reduceat(following, self._starts)
        return sums


def levels_of(state: State) -> list[SequenceLevel]:
    """Return the bid sequences of the round that starts in this state; the first level has only the empty one."""
    levels = [SequenceLevel([()])]
    states = [state]
    while True:
        following = [(row, bid, apply(at, Play(at.turn, bid))[0]) for row, at in enumerate(states) for bid in bids(at)]
        if not following:
            return levels
        levels[-1].follow([row for row, _, _ in following])
        levels.append(SequenceLevel([(*levels[-1].sequences[row], bid) for row, bid, _ in following]))
        states = [at for _, _, at in following]


class Solver:
    """The regrets and average strategies of both players.

    :param state: the start of a round between seat 0, which opens it, and seat 1.
    """

    def __init__(self, state: State) -> None:
        self._levels = levels_of(state)
        throws = [hands(number) for number in state.dice]
        self._hands = [list(each) for each in throws]
        self._chances = [np.array(list(each.values())) / sum(each.values()) for each in throws]
        self.truth = {bid: self._truth(bid) for bid in bids(state)}
        """By bid, then by the hands of seats 0 and 1: 1 where the bid is true, and -1 where it is false."""
        self._raise_regrets, self._call_regrets = self._raises(), self._calls()
        # The average strategy is proportional to these two sums.
        self._raised, self._called = self._raises(), self._calls()
        self._iterations = 0

    def _truth(self, bid: Bid) -> Floats:
        opener, responder = self._hands
        counts = [[ONES_WILD.count((mine, theirs), bid.face) for theirs in responder] for mine in opener]
        true = [[verdict("liar", bid.quantity, count, count)[0] for count in row] for row in counts]
        return np.where(np.array(true), 1.0, -1.0)

    def _raises(self) -> list[Floats]:
        """Return zeros by level: a row for each sequence of the next level, a column for each hand of its bidder."""
        return [np.zeros((len(level.continued), self._width(n))) for n, level in enumerate(self._levels)]

    def _calls(self) -> list[Floats]:
        """Return zeros by level: a row for each sequence, a column for each hand of the player who may call it."""
        return [np.zeros((len(level.sequences), self._width(n))) for n, level in enumerate(self._levels)]

    def _width(self, length: int) -> int:
        return len(self._hands[length % 2])

    def _strategy(self, length: int) -> tuple[Floats, Floats]:
        """Return the current probabilities of each bid of the next level and of a call, proportional to the regrets.

        Where no regret is positive, the player calls, or opens with every bid equally often.
        """
        raising, calling = self._raise_regrets[length], self._call_regrets[length]
        level = self._levels[length]
        parents = level.continued
        totals = level.total(raising) + calling
        none = totals <= 0
        safe = np.where(none, 1.0, totals)
        anything, call = (0.0, 1.0) if length else (1 / len(parents), 0.0)
        return np.where(none[parents], anything, raising / safe[parents]), np.where(none, call, calling / safe)

    def iterate(self) -> None:
        self._iterations += 1
        for player in (0, 1):
            self._learn(player)

    def _learn(self, player: int) -> None:
        """Update one player's regrets, and add the player's previous strategy to its average."""
        other = 1 - player
        strategies = [self._strategy(length) for length in range(len(self._levels))]
        reach, own = self._chances[other][None], np.ones((1, self._width(player)))
        ends: list[Floats] = []
        for length, (raises, calls) in enumerate(strategies):
            parents = self._levels[length].continued
            if length % 2 == player:
                ends.append(self._ends(length, player, reach))
                self._called[length] += self._iterations * own * calls
                own, reach = own[parents] * raises, reach[parents]
                self._raised[length] += self._iterations * own
            else:
                ends.append(self._ends(length, player, reach * calls))
                own, reach = own[parents], reach[parents] * raises
        values = np.zeros((0, self._width(player)))
        for length in reversed(range(len(self._levels))):
            level = self._levels[length]
            if length % 2 != player:
                values = level.total(values) + ends[length]
                continue
            raises, calls = strategies[length]
            mean = level.total(values * raises) + ends[length] * calls
            for regrets, gained in (
                (self._raise_regrets[length], values - mean[level.continued]),
                (self._call_regrets[length], ends[length] - mean if length else 0.0),
            ):
                regrets += gained
                np.maximum(regrets, 0.0, out=regrets)
            values = mean

    def _ends(self, length: int, player: int, reach: Floats) -> Floats:
        """Return the player's value of a call after each sequence, by hand.

        :param reach: by sequence, the probability of each hand of the other player.
        """
        values = np.zeros((len(reach), self._width(player)))
        has_bid = length % 2 != player
        for bid, rows in self._levels[length].by_bid.items():
            true = self.truth[bid] if player else self.truth[bid].T
            values[rows] = reach[rows] @ (true if has_bid else -true)
        return values

    def policy(self) -> dict[tuple[Bid, ...], dict[Hand, Weights]]:
        """Return the average strategy: weights of moves by sequence of bids, then by hand of the player to move.

        Sequences and hands that the player's own bids make improbable are omitted: see :data:`LEAST_REACH`.
        """
        policy: dict[tuple[Bid, ...], dict[Hand, Weights]] = {}
        own, other = (np.ones((1, self._width(length))) for length in (0, 1))
        for length, level in enumerate(self._levels):
            raised, called = self._raised[length], self._called[length]
            totals = level.total(raised) + called
            scale = HEAVIEST / np.where(totals > 0, totals, 1.0)
            raises, calls = np.rint(raised * scale[level.continued]), np.rint(called * scale)
            chosen: dict[tuple[int, int], dict[Bid | Liar, int]] = {}
            for row, hand in zip(*np.nonzero(calls), strict=True):
                chosen[row, hand] = {LIAR: int(calls[row, hand])}
            for row, hand in zip(*np.nonzero(raises), strict=True):
                bid = self._levels[length + 1].sequences[row][-1]
                chosen.setdefault((level.continued[row], hand), {})[bid] = int(raises[row, hand])
            for (row, hand), weights in chosen.items():
                if own[row, hand] >= LEAST_REACH:
                    policy.setdefault(level.sequences[row], {})[self._hands[length % 2][hand]] = weights
            shares = raises / np.maximum(level.total(raises) + calls, 1.0)[level.continued]
            own, other = other[level.continued], own[level.continued] * shares
        return policy
