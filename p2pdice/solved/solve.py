"""Counterfactual regret minimisation (CFR+) for one round of classic between two players.

The algorithm is by Tammelin (arXiv:1407.5042), with alternating updates and linearly weighted averages. If a net learns
from the result, every decision trembles: each move has a small minimum probability (Selten, International Journal of
Game Theory 4, 1975). So every sequence of bids is reached, and the net learns to answer unusual bids, too. The tremble
is removed from the result.

A tree has a node for each sequence of bids, the shorter ones first; the continuations of a sequence are adjacent. The
weights of all nodes are in one array: for each node its moves (a call first, except at the root), and for each move one
number per hand of the player to move. Requires numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from p2pdice.bidding import raises
from p2pdice.counting import ONES_WILD
from p2pdice.moves import FACES, LIAR, Bid, Hand, Liar
from p2pdice.rulesets import PRESETS
from p2pdice.showdown import verdict
from p2pdice.solved.net import MOST_DICE
from p2pdice.solved.policy import HEAVIEST, Weights
from p2pdice.solved.rounds import hands, highest_bid

Numbers = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float32]

LEAST_REACH: Final = 0.003
"""To save space, tables omit sequences and hands that the player's own bids make less probable than this."""


class Tree:
    """The bid sequences of a round up to the highest quantity that policies bid: see :func:`highest_bid`."""

    def __init__(self, opener: int, responder: int) -> None:
        self.dice = (opener, responder)
        most, order = highest_bid(opener + responder), PRESETS["classic"].raise_
        self.hands: Final = tuple(list(hands(number)) for number in self.dice)
        throws = [np.array(list(hands(number).values())) for number in self.dice]
        self.chances: Final = tuple((each / each.sum()).astype(np.float32) for each in throws)
        """The probability of each hand, by seat."""
        self.bids: list[Bid | None] = [None]
        """The last bid of each sequence."""
        parents, depths, firsts = [-1], [0], []
        for node, bid in enumerate(self.bids):  # the loop appends to this list
            firsts.append(len(self.bids))
            quantity, face = (bid.quantity, bid.face) if bid else (0, 0)
            for new, quantities in zip(FACES, raises(order, quantity, face), strict=True):
                for raised in range(max(1, quantities.start), min(quantities.stop, most + 1)):
                    self.bids.append(Bid(raised, new))
                    parents.append(node)
                    depths.append(depths[node] + 1)
        self.parent: Final[Numbers] = np.array(parents, np.int32)
        self.depth: Final[Numbers] = np.array(depths, np.int32)
        """Number of bids; odd if the responder is to move."""
        self.first: Final[Numbers] = np.array(firsts, np.int32)
        """The first of the adjacent continuations."""
        self.continued: Final = np.bincount(self.parent[1:], minlength=len(parents)).astype(np.int32)
        """The number of continuations."""
        self.moves: Final = self.continued + (self.depth > 0)
        self.width: Final = np.array([len(each) for each in self.hands])[self.depth % 2]
        """The number of hands of the player to move."""
        self.offset: Final[Offsets] = np.concatenate(([0], np.cumsum(self.moves.astype(np.int64) * self.width)))
        """The start of each node's part in an array of weights, and the end of the array."""

    def weights(self, values: npt.NDArray[Any], node: int) -> npt.NDArray[Any]:
        """Return a node's part of an array of weights, by move and hand."""
        part = values[self.offset[node] : self.offset[node + 1]]
        return part.reshape(self.moves[node], self.width[node])

    def sequence(self, node: int) -> tuple[Bid, ...]:
        bid = self.bids[node]
        return (*self.sequence(int(self.parent[node])), bid) if bid else ()


class Solver:
    """The regrets and average strategies of both players of a round.

    :param tremble: the share of each decision that is spread evenly over all moves.
    """

    def __init__(self, tree: Tree, tremble: float) -> None:
        self._tree, self._tremble = tree, np.float32(tremble)
        self._regrets: Reals = np.zeros(tree.offset[-1], np.float32)
        self._sums: Reals = np.zeros(tree.offset[-1], np.float32)
        """The average strategy is proportional to these."""
        self._iterations = 0
        tallies = [[[ONES_WILD.tally(hand, face) for hand in each] for face in (1, *FACES)] for each in tree.hands]
        self.tallies: Final = tuple(np.array(each, np.int32) for each in tallies)
        """The number of dice that count for a bid, by seat, face and hand."""
        bids = [(bid.quantity, bid.face) if bid else (0, 0) for bid in tree.bids]
        self.least_true: Final = np.array([_least_true(quantity) for quantity, _ in bids], np.int32)
        """The smallest count that makes the last bid true, by node."""
        faces = np.array([face for _, face in bids], np.int32)
        self._nodes = (self.least_true, faces, tree.depth, tree.first, tree.continued)

    def iterate(self) -> None:
        self._iterations += 1
        tree = self._tree
        for learner in (0, 1):
            own = np.ones_like(tree.chances[learner])
            learned = (self._regrets, self._sums, np.float32(self._iterations), self._tremble)
            walk(0, learner, own, tree.chances[1 - learner], self._nodes, tree.offset, self.tallies, learned)

    def strategy(self) -> Reals:
        """Return the average strategy without the tremble: the probability of each move, by node and hand."""
        tree, result = self._tree, self._sums.copy()
        for node, moves in enumerate(tree.moves):
            part = tree.weights(result, node)
            part[0, part.sum(axis=0) == 0] = 1  # never reached: a call
            part /= part.sum(axis=0)
            np.maximum(part - self._tremble / moves, 0, out=part)
            part /= part.sum(axis=0)
        return result


def _least_true(quantity: int) -> int:
    """Return the smallest count that makes a bid with this quantity true."""
    return next(count for count in range(quantity + 2) if verdict("liar", quantity, count, count)[0])


def _call(node: int, learner: int, theirs: Reals, nodes: Any, tallies: Any) -> Reals:
    """Return the learner's probability of winning if the bid is called, by hand, weighted by ``theirs``."""
    least, faces, depth, _, _ = nodes
    face, bidder = faces[node], 1 - depth[node] % 2
    own, other = tallies[learner][face], tallies[1 - learner][face]
    most = MOST_DICE + 1  # one more than a cup holds, so never reached
    at_least = np.zeros(most + 1, np.float32)
    for hand in range(other.size):
        at_least[other[hand]] += theirs[hand]
    for count in range(most - 1, -1, -1):
        at_least[count] += at_least[count + 1]
    values = np.empty(own.size, np.float32)
    for hand in range(own.size):
        missing = min(max(least[node] - own[hand], 0), most)
        true = at_least[missing]
        values[hand] = true if bidder == learner else at_least[0] - true
    return values


def _walk(
    node: int, learner: int, mine: Reals, theirs: Reals, nodes: Any, offset: Offsets, tallies: Any, learned: Any
) -> Reals:
    """Update the learner's regrets and averages from this node down, and return its values by hand.

    :param mine: by hand of the learner, the probability that its own moves lead here.
    :param theirs: by hand of the other player, the probability of the hand and of moves that lead here.
    """
    _, _, depth, first, continued = nodes
    regrets, sums, weight, tremble = learned
    calls = 1 if node > 0 else 0
    moves = continued[node] + calls
    if moves == 1:
        if depth[node] % 2 == learner:
            for hand in range(mine.size):
                sums[offset[node] + hand] += weight * mine[hand]
        else:
            for hand in range(theirs.size):
                sums[offset[node] + hand] = 1
        return call(node, learner, theirs, nodes, tallies)
    is_own = depth[node] % 2 == learner
    width = mine.size if is_own else theirs.size
    part = slice(offset[node], offset[node + 1])
    regret = regrets[part].reshape(moves, width)
    total = np.zeros(width, np.float32)
    for move in range(moves):
        for hand in range(width):
            total[hand] += regret[move, hand]
    least = np.empty(width, np.float32)
    for hand in range(width):
        if total[hand] > 0:
            least[hand] = tremble / moves
            total[hand] = (1 - tremble) / total[hand]
        else:
            least[hand] = np.float32(1) / moves
    strategy = np.empty((moves, width), np.float32)
    for move in range(moves):
        for hand in range(width):
            strategy[move, hand] = regret[move, hand] * total[hand] + least[hand]
    values = np.zeros(mine.size, np.float32)
    if not is_own:
        for move in range(moves):
            reached = theirs * strategy[move]
            if move < calls:
                values += call(node, learner, reached, nodes, tallies)
            else:
                values += walk(first[node] + move - calls, learner, mine, reached, nodes, offset, tallies, learned)
        return values
    after = np.empty((moves, width), np.float32)
    average = sums[part].reshape(moves, width)
    for move in range(moves):
        own = mine * strategy[move]
        if move < calls:
            after[move] = call(node, learner, theirs, nodes, tallies)
        else:
            below = first[node] + move - calls
            after[move] = walk(below, learner, own, theirs, nodes, offset, tallies, learned)
        for hand in range(width):
            values[hand] += strategy[move, hand] * after[move, hand]
            average[move, hand] += weight * own[hand]
    for move in range(moves):
        for hand in range(width):
            regret[move, hand] = max(regret[move, hand] + after[move, hand] - values[hand], np.float32(0))
    return values


call = cast("Callable[..., Reals]", njit(_call))
walk = cast("Callable[..., Reals]", njit(_walk))


def weights_by_sequence(tree: Tree, strategy: Reals) -> dict[tuple[Bid, ...], dict[Hand, Weights]]:
    """Return a strategy as weights of moves by sequence of bids, then by hand of the player to move.

    Sequences and hands that the player's own bids make improbable are omitted: see :data:`LEAST_REACH`.
    """
    found: dict[tuple[Bid, ...], dict[Hand, Weights]] = {}
    reached = {0: (np.ones(len(tree.hands[0])), np.ones(len(tree.hands[1])))}
    for node, moves in enumerate(tree.moves):
        own, other = reached.pop(node)
        weights = np.rint(tree.weights(strategy, node) * HEAVIEST)
        first = int(tree.first[node])
        below = range(first, first + int(tree.continued[node]))
        made: list[Bid | Liar] = [LIAR] * (moves - len(below)) + [bid for each in below if (bid := tree.bids[each])]
        by_hand: dict[Hand, Weights] = {
            hand: {move: int(weight) for move, weight in zip(made, weights[:, index], strict=True) if weight}
            for index, hand in enumerate(tree.hands[tree.depth[node] % 2])
            if own[index] >= LEAST_REACH
        }
        if by_hand:
            found[tree.sequence(node)] = by_hand
        shares = weights / np.maximum(weights.sum(axis=0), 1)
        for each, share in zip(below, shares[moves - len(below) :], strict=True):
            reached[each] = (other, own * share)
    return found
