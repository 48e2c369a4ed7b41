"""Counterfactual regret minimisation (CFR+) for one round: Tammelin, arXiv:1407.5042, with alternating updates.

The round is kept level by level: level ``n`` has the sequences of ``n`` bids, in the order in which the engine lists
them, so that the sequences that continue one lie side by side. Each array has a row for a sequence and a column for a
hand of the player on turn there. Needs numpy.
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
"""To save space, a policy leaves out sequences and hands that a player's own bids make less likely than this."""


class SequenceLevel:
    """The bid sequences of one length."""

    def __init__(self, sequences: list[tuple[Bid, ...]]) -> None:
        self.sequences = sequences
        rows: dict[Bid, list[int]] = {}
        for row, made in enumerate(sequences):
            if made:
                rows.setdefault(made[-1], []).append(row)
        self.by_bid = {bid: np.array(found, dtype=np.intp) for bid, found in rows.items()}
        """The rows of those that end in a bid."""
        self.follow([])

    def follow(self, continued: list[int]) -> None:
        """Set the row that each sequence of the next level continues; ascending."""
        self.continued: Indices = np.array(continued, dtype=np.intp)
        self._rows, self._starts = np.unique(self.continued, return_index=True)

    def total(self, following: Floats) -> Floats:
        """Return for each row the sum over the rows of the next level that continue it."""
        sums = np.zeros((len(self.sequences), following.shape[1]))
        if len(self._rows):
            sums[self._rows] = np.add.reduceat(following, self._starts)
        return sums


def levels_of(state: State) -> list[SequenceLevel]:
    """Return the bid sequences of the round that begins in this state; the first level has the empty one."""
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
    """The regrets and the average strategy of both players.

    :param state: the beginning of a round between seat 0, which opens it, and seat 1.
    """

    def __init__(self, state: State) -> None:
        self._levels = levels_of(state)
        throws = [hands(number) for number in state.dice]
        self._hands = [list(each) for each in throws]
        self._chances = [np.array(list(each.values())) / sum(each.values()) for each in throws]
        self.truth = {bid: self._truth(bid) for bid in bids(state)}
        """By bid, and the hands of seats 0 and 1: 1 where it is true, -1 where it is false."""
        self._raise_regrets, self._call_regrets = self._raises(), self._calls()
        # The average strategy is in proportion to these two sums.
        self._raised, self._called = self._raises(), self._calls()
        self._iterations = 0

    def _truth(self, bid: Bid) -> Floats:
        opener, responder = self._hands
        counts = [[ONES_WILD.count((mine, theirs), bid.face) for theirs in responder] for mine in opener]
        true = [[verdict("liar", bid.quantity, count, count)[0] for count in row] for row in counts]
        return np.where(np.array(true), 1.0, -1.0)

    def _raises(self) -> list[Floats]:
        """Return zeros, level by level: a row for each sequence of the next one, by hands of the player who bids it."""
        return [np.zeros((len(level.continued), self._width(n))) for n, level in enumerate(self._levels)]

    def _calls(self) -> list[Floats]:
        """Return zeros, level by level: a row for each sequence, by hands of the player who may call it."""
        return [np.zeros((len(level.sequences), self._width(n))) for n, level in enumerate(self._levels)]

    def _width(self, length: int) -> int:
        return len(self._hands[length % 2])

    def _strategy(self, length: int) -> tuple[Floats, Floats]:
        """Return how likely each bid of the next level, and a call, is now: in proportion to the regrets.

        Without regrets a player calls, or opens with any bid.
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
        """Update the regrets of one player, and add the strategy from before to its average."""
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
        """Return the value of a call after each sequence for the player, by hand.

        :param reach: the chance of each hand of the other player there.
        """
        values = np.zeros((len(reach), self._width(player)))
        has_bid = length % 2 != player
        for bid, rows in self._levels[length].by_bid.items():
            true = self.truth[bid] if player else self.truth[bid].T
            values[rows] = reach[rows] @ (true if has_bid else -true)
        return values

    def policy(self) -> dict[tuple[Bid, ...], dict[Hand, Weights]]:
        """Return the average strategy: the weights of moves after each sequence of bids, by hand of the player on turn.

        Sequences and hands that a player's own bids all but exclude are left out.
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
