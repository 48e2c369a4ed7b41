"""A small neural network that has learnt the solved rounds of classic between two players with up to five dice each.

It is a multilayer perceptron with rectified linear units. Its input describes the mover's hand and the bids of the
round: see :func:`features`. Its outputs are a call, and for each face the lowest raise and the next four quantities.
The likelihoods of the moves are the softmax of the outputs of the possible ones.

The file of a net is compressed by zlib. All numbers are little-endian::

    for each layer: the number of outputs and of inputs, 2 bytes each
    0, 2 bytes
    for each layer: for each output a scale and a bias, 4-byte floats; for each output a row of 1-byte integers

A weight is its integer times the scale of its row.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Mapping, MutableSequence, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise, takewhile
from math import comb, exp, isfinite
from operator import mul
from struct import Struct, iter_unpack
from typing import Final

from p2pdice.bidding import raises
from p2pdice.errors import UnexpectedInput
from p2pdice.moves import FACES, LIAR, Bid, Hand, Liar
from p2pdice.rulesets import PRESETS
from p2pdice.solved.rounds import highest_bid, number_of

MOST_DICE: Final = 5
"""The most dice in a cup of a round that the net plays."""
STEPS: Final = 5
"""The number of quantities on each face among the outputs."""
OUTPUTS: Final = 1 + STEPS * len(FACES)
_BY_FACE: Final = 10 + STEPS
FEATURES: Final = len(FACES) * _BY_FACE + 2 * MOST_DICE + 14
RARE: Final = 0.02
"""Moves that are less likely than this, relative to the likeliest, are left out. They are mostly errors of the net."""

# Input


def _tails(chance: float) -> tuple[tuple[float, ...], ...]:
    """Return, by number of dice, the probability that at least 0, 1, 2 … of them count, padded with zeros."""
    exactly = [
        [comb(dice, count) * chance**count * (1 - chance) ** (dice - count) for count in range(2 * MOST_DICE + 3)]
        for dice in range(MOST_DICE + 1)
    ]
    return tuple(tuple(sum(each[count:]) if count else 1.0 for count in range(2 * MOST_DICE + 3)) for each in exactly)


TAILS: Final = (_tails(1 / 6), _tails(1 / 3))
"""For ones, and for a face that ones count for, too: see :func:`_tails`."""


def _raises(standing: int) -> tuple[tuple[int, int], ...]:
    """Return, by face, the lowest quantity that raises a bid, given by its number, and how many quantities do."""
    quantity, face = ((standing - 1) // 6 + 1, (standing - 1) % 6 + 1) if standing else (0, 0)
    allowed = raises(PRESETS["classic"].raise_, quantity, face)
    return tuple((max(1, each.start), each.stop - max(1, each.start)) if each else (1, 0) for each in allowed)


RAISES: Final = tuple(_raises(standing) for standing in range(6 * 2 * MOST_DICE + 1))
"""By the number of the standing bid, 0 without one: see :func:`_raises`."""


def features(
    row: MutableSequence[float],
    counts: Sequence[int],
    unseen: int,
    bids: Sequence[int],
    highest: int,
    tails: Sequence[Sequence[Sequence[float]]],
    lowest_raises: Sequence[Sequence[Sequence[int]]],
) -> None:
    """Write the input of the net into ``row``, which has :data:`FEATURES` zeros.

    Training compiles this function by numba and passes arrays; play calls it with lists.

    :param counts: how many of the player's own dice show each face.
    :param unseen: number of dice of the other player.
    :param bids: the numbers of the bids of the round.
    :param highest: see :func:`~p2pdice.solved.rounds.highest_bid`.
    :param tails: :data:`TAILS`.
    :param lowest_raises: :data:`RAISES`.
    """
    made = len(bids)
    own = 0
    for count in counts:
        own += count
    standing = bids[made - 1] if made else 0
    for face in range(len(counts)):
        at = face * _BY_FACE
        wild = 1 if face else 0
        support = counts[face] + wild * counts[0]
        row[at] = counts[face] / 5
        row[at + 1] = support / 5
        lowest = lowest_raises[standing][face][0]
        steps = min(lowest_raises[standing][face][1], highest - lowest + 1, STEPS)
        for step in range(steps):
            row[at + 2] = 1
            row[at + 3 + step] = tails[wild][unseen][max(0, lowest + step - support)]
    for index in range(made):
        quantity, face = (bids[index] - 1) // 6 + 1, (bids[index] - 1) % 6
        at = face * _BY_FACE + 3 + STEPS
        surplus = (quantity - (own + unseen) / (3 if face else 6)) / 3
        if index % 2 == made % 2:
            if row[at] == 0:
                row[at + 1] = surplus
            row[at] = 1
            row[at + 2] = surplus
        else:
            if row[at + 3] == 0:
                row[at + 4] = surplus
            row[at + 3] += 1 / 3
            row[at + 5] = surplus
    at = len(counts) * _BY_FACE
    row[at + own - 1] = 1
    row[at + MOST_DICE + unseen - 1] = 1
    at += 2 * MOST_DICE
    row[at + made % 2] = 1
    row[at + 2] = made / 6
    if made:
        quantity, face = (standing - 1) // 6 + 1, (standing - 1) % 6
        wild = 1 if face else 0
        support = counts[face] + wild * counts[0]
        row[face * _BY_FACE + 9 + STEPS] = 1
        row[at + 3] = 1
        row[at + 4] = quantity / 10
        row[at + 5] = (quantity - support) / 5
        row[at + 6] = tails[wild][unseen][max(0, quantity - support - 1)]
        row[at + 7] = tails[wild][unseen][max(0, quantity - support)]
        row[at + 8] = tails[wild][unseen][max(0, quantity - support + 1)]
        row[at + 9] = support / 5
        row[at + 10] = (highest - quantity) / 5
        row[at + 11] = (quantity - (own + unseen) / (3 if face else 6)) / 3
    if made > 1:
        before = bids[made - 2]
        row[at + 12] = 1 if (before - 1) % 6 == (standing - 1) % 6 else 0
        row[at + 13] = ((standing - 1) // 6 - (before - 1) // 6) / 3


# Output


@cache
def outputs(standing: int, highest: int) -> tuple[tuple[int, Bid | Liar], ...]:
    """Return the outputs of the possible moves, with these moves.

    :param standing: the number of the standing bid, 0 without one.
    :param highest: see :func:`~p2pdice.solved.rounds.highest_bid`.
    """
    found: list[tuple[int, Bid | Liar]] = [(0, LIAR)] if standing else []
    for face, (lowest, number) in zip(FACES, RAISES[standing], strict=True):
        steps = range(min(number, highest - lowest + 1, STEPS))
        found += [(1 + STEPS * (face - 1) + step, Bid(lowest + step, face)) for step in steps]
    return tuple(found)


class Layer:
    """One layer of a net: the weights of each input, then the biases."""

    def __init__(self, weights: Sequence[Sequence[float]], biases: Sequence[float]) -> None:
        self.weights, self.biases = weights, biases

    def sums(self, inputs: Sequence[float]) -> Sequence[float]:
        sums = self.biases
        for value, weights in zip(inputs, self.weights, strict=True):
            if value:  # most inputs are 0
                sums = [total + value * weight for total, weight in zip(sums, weights, strict=True)]
        return sums


class Net:
    """How both players play rounds that are too large for tables.

    :param packed: the contents of a file: see the module.
    :raises UnexpectedInput: if they are not those of a net with these inputs and outputs.
    """

    LARGEST: Final = 1 << 20
    """The maximum size of an uncompressed file, in bytes."""

    def __init__(self, packed: bytes) -> None:
        self.layers: Final = unpack(packed)

    def likelihoods(self, hand: Hand, unseen: int, bids: Sequence[Bid]) -> Mapping[Bid | Liar, float]:
        """Return the likelihoods of the moves of the player who holds ``hand``, relative to the likeliest.

        :param unseen: number of dice of the other player, at most :data:`MOST_DICE`, like those of the hand.
        :param bids: the bids of the round.
        """
        highest = highest_bid(len(hand) + unseen)
        if bids and bids[-1].quantity > highest:
            return {LIAR: 1.0}
        numbers = [number_of(bid) for bid in bids]
        row = [0.0] * FEATURES
        features(row, [hand.count(face) for face in FACES], unseen, numbers, highest, TAILS, RAISES)
        values: Sequence[float] = row
        for layer in self.layers[:-1]:
            values = [max(0.0, value) for value in layer.sums(values)]
        values = self.layers[-1].sums(values)
        possible = outputs(numbers[-1] if numbers else 0, highest)
        top = max(values[index] for index, _ in possible)
        likelihoods = {move: exp(values[index] - top) for index, move in possible}
        return {move: value for move, value in likelihoods.items() if value >= RARE}


def pack(layers: Sequence[Layer]) -> bytes:
    """Return the contents of a net's file, with weights rounded to 255 steps of each output's largest weight."""
    head, body = bytearray(), bytearray()
    for layer in layers:
        rows = list(zip(*layer.weights, strict=True))
        head += Struct("<2H").pack(len(rows), len(layer.weights))
        scales = [max(map(abs, row)) / 127 or 1.0 for row in rows]
        for scale, bias in zip(scales, layer.biases, strict=True):
            body += Struct("<2f").pack(scale, bias)
        for row, scale in zip(rows, scales, strict=True):
            body += array("b", [round(weight / scale) for weight in row]).tobytes()
    return zlib.compress(bytes(head + bytes(2) + body), 9)


def unpack(packed: bytes) -> tuple[Layer, ...]:
    """Return the layers of a net's file: see :class:`Net`."""
    decompressor = zlib.decompressobj()
    try:
        data = decompressor.decompress(packed, Net.LARGEST)
    except zlib.error as error:
        raise UnexpectedInput(f"the file of the net is damaged: {error}") from error
    heads = list(iter_unpack("<2H", data[: len(data) // 4 * 4]))
    shapes = list(takewhile(lambda shape: shape[0], heads))
    sizes = [FEATURES, *(number for number, _ in shapes)]
    if [(new, old) for old, new in pairwise(sizes)] != shapes or sizes[-1] != OUTPUTS:
        raise UnexpectedInput(f"a net has {FEATURES} inputs and {OUTPUTS} outputs, and its layers fit together")
    at = 4 * len(shapes) + 2
    if not decompressor.eof or len(data) != at + sum(number * (8 + inputs) for number, inputs in shapes):
        raise UnexpectedInput("the file of the net is not as long as its layers")
    layers = []
    for number, inputs in shapes:
        scales, biases = zip(*iter_unpack("<2f", data[at : at + 8 * number]), strict=True)
        if not all(map(isfinite, (*scales, *biases))):
            raise UnexpectedInput("the file of the net has a number that is not finite")
        at += 8 * number
        rows = array("b", data[at : at + number * inputs])
        at += number * inputs
        layers.append(Layer([list(map(mul, rows[column::inputs], scales)) for column in range(inputs)], biases))
    return tuple(layers)


FILE: Final = "classic.net"
"""The file of the net. It is beside this module."""


@cache
def net() -> Net:
    """Return the net that is shipped with the package."""
    return Net(resources.files(__package__).joinpath(FILE).read_bytes())
