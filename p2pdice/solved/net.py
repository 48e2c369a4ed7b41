"""A small neural network that has learnt the solved rounds of classic between two players with up to five dice each.

It is a multilayer perceptron with rectified linear units. Its outputs are a call, and for each face the lowest raise
and the next four quantities. The likelihoods of the moves are the softmax over the possible outputs.

Its input describes the hand of the player to move and the bids of the round. A bid's *surplus* is its quantity minus
the number of dice in play that count for it on average. Most values are divided by a constant, so that they are small.
There are :data:`BY_FACE` values for each face:

=============  ======================================================================================================
``SHOWN``      the player's own dice that show the face
``OWN``        the player's own dice that count for a bid on it
``RAISED``     1 if an output is a bid on the face
``TRUE``       for each output on the face, the probability that its bid is true
``MINE``       1 if the player has bid on it; then the surplus of their first and of their last such bid
``THEIRS``     the number of the opponent's bids on it; then the surplus of the first and of the last of these bids
``STANDING``   1 if the standing bid is on it
=============  ======================================================================================================

The other values follow, from :data:`REST` on. From ``BID`` on they describe the standing bid, and are 0 without one:

=============  ======================================================================================================
``DICE``       one-hot: the number of the player's dice
``UNSEEN``     one-hot: the number of the opponent's dice
``SEAT``       one-hot: whether the player is the opener or the responder
``MADE``       the number of bids
``BID``        1
``QUANTITY``   its quantity
``MISSING``    the number of other players' dice that have to count for the bid to be true
``SHOWDOWN``   the probabilities that at least ``MISSING`` - 1, ``MISSING`` and ``MISSING`` + 1 of these dice count
``SUPPORT``    the player's own dice that count for it
``ROOM``       the highest quantity that policies bid, minus its quantity
``SURPLUS``    its surplus
``SAME``       1 if the bid before is on the same face
``STEP``       its quantity minus the quantity of the bid before
=============  ======================================================================================================

The file of a net is compressed by zlib. All numbers are little-endian::

    for each layer: the number of outputs and of inputs, 2 bytes each
    0, 2 bytes
    for each layer: for each output a scale and a bias, 4-byte floats; for each output a row of 1-byte integers

A weight is its integer times the scale of its row.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Mapping, MutableSequence, Sequence
from functools import cache, lru_cache
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
from p2pdice.solved.rounds import highest_bid, move_of, number_of

MOST_DICE: Final = 5
"""The most dice in one cup in a round that the net plays."""
STEPS: Final = 5
"""The number of quantities on each face among the outputs."""
OUTPUTS: Final = 1 + STEPS * len(FACES)
HIGHEST: Final = max(highest_bid(dice) for dice in range(2, 2 * MOST_DICE + 1))
"""The highest quantity that policies bid in any round."""
LARGEST: Final = 1 << 20
"""The maximum size of an uncompressed file, in bytes."""
RARE: Final = 0.02
"""Moves less likely than this, relative to the likeliest move, are omitted. They are mostly errors of the net."""

# Input

SHOWN, OWN, RAISED, TRUE = range(4)
MINE, MINE_FIRST, MINE_LAST, THEIRS, THEIRS_FIRST, THEIRS_LAST, STANDING, BY_FACE = range(
    TRUE + STEPS, TRUE + STEPS + 8
)
REST: Final = len(FACES) * BY_FACE
DICE: Final = REST
UNSEEN: Final = DICE + MOST_DICE
SEAT: Final = UNSEEN + MOST_DICE
MADE: Final = SEAT + 2
BID, QUANTITY, MISSING, SHOWDOWN = range(MADE + 1, MADE + 5)
SUPPORT, ROOM, SURPLUS, SAME, STEP, FEATURES = range(SHOWDOWN + 3, SHOWDOWN + 9)


def _tails(chance: float) -> tuple[tuple[float, ...], ...]:
    """Return, by number of dice, the probabilities that at least 0, 1, 2 … of them count, padded with zeros."""
    exactly = [
        [comb(dice, count) * chance**count * (1 - chance) ** (dice - count) for count in range(2 * MOST_DICE + 3)]
        for dice in range(MOST_DICE + 1)
    ]
    return tuple(tuple(sum(each[count:]) if count else 1.0 for count in range(2 * MOST_DICE + 3)) for each in exactly)


TAILS: Final = (_tails(1 / 6), _tails(1 / 3))
"""The first item is for bids on ones, the second for bids on other faces: see :func:`_tails`."""


def _raises(standing: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    bid = move_of(standing)
    quantity, face = (bid.quantity, bid.face) if isinstance(bid, Bid) else (0, 0)
    allowed = [range(max(1, each.start), each.stop) for each in raises(PRESETS["classic"].raise_, quantity, face)]
    return tuple(
        tuple((each.start, max(0, min(len(each), highest + 1 - each.start, STEPS))) for each in allowed)
        for highest in range(HIGHEST + 1)
    )


RAISES: Final = tuple(map(_raises, range(len(FACES) * HIGHEST + 1)))
"""``RAISES[standing][highest][face - 1]``: the lowest raise on the face, and how many quantities from it are outputs.

``standing`` is the number of the standing bid, 0 without one; ``highest`` is the highest quantity that policies bid in
this round.
"""


def features(
    row: MutableSequence[float],
    counts: Sequence[int],
    unseen: int,
    bids: Sequence[int],
    highest: int,
    tails: Sequence[Sequence[Sequence[float]]],
    raised: Sequence[Sequence[Sequence[Sequence[int]]]],
) -> None:
    """Write the input of the net, which the module describes, into ``row``: an array of :data:`FEATURES` zeros.

    Training compiles this function with numba and passes arrays; players call it with lists.

    :param counts: how many of the player's own dice show each face.
    :param unseen: number of dice of the other player.
    :param bids: the numbers of the bids of the round.
    :param highest: see :func:`~p2pdice.solved.rounds.highest_bid`.
    :param tails: :data:`TAILS`.
    :param raised: :data:`RAISES`.
    """
    made = len(bids)
    own = 0
    for count in counts:
        own += count
    standing = bids[made - 1] if made else 0
    for face in range(len(counts)):
        at = face * BY_FACE
        wild = 1 if face else 0
        support = counts[face] + wild * counts[0]
        row[at + SHOWN] = counts[face] / 5
        row[at + OWN] = support / 5
        lowest = raised[standing][highest][face][0]
        for step in range(raised[standing][highest][face][1]):
            row[at + RAISED] = 1
            row[at + TRUE + step] = tails[wild][unseen][max(0, lowest + step - support)]
    for index in range(made):
        quantity, face = (bids[index] - 1) // 6 + 1, (bids[index] - 1) % 6
        at = face * BY_FACE
        surplus = (quantity - (own + unseen) / (3 if face else 6)) / 3
        if index % 2 == made % 2:
            if row[at + MINE] == 0:
                row[at + MINE_FIRST] = surplus
            row[at + MINE] = 1
            row[at + MINE_LAST] = surplus
        else:
            if row[at + THEIRS] == 0:
                row[at + THEIRS_FIRST] = surplus
            row[at + THEIRS] += 1 / 3
            row[at + THEIRS_LAST] = surplus
    row[DICE + own - 1] = 1
    row[UNSEEN + unseen - 1] = 1
    row[SEAT + made % 2] = 1
    row[MADE] = made / 6
    if made:
        quantity, face = (standing - 1) // 6 + 1, (standing - 1) % 6
        wild = 1 if face else 0
        support = counts[face] + wild * counts[0]
        row[face * BY_FACE + STANDING] = 1
        row[BID] = 1
        row[QUANTITY] = quantity / 10
        row[MISSING] = (quantity - support) / 5
        for more in range(3):
            row[SHOWDOWN + more] = tails[wild][unseen][max(0, quantity - support - 1 + more)]
        row[SUPPORT] = support / 5
        row[ROOM] = (highest - quantity) / 5
        row[SURPLUS] = (quantity - (own + unseen) / (3 if face else 6)) / 3
    if made > 1:
        before = bids[made - 2]
        row[SAME] = 1 if (before - 1) % 6 == (standing - 1) % 6 else 0
        row[STEP] = ((standing - 1) // 6 - (before - 1) // 6) / 3


# Output


@lru_cache(maxsize=512)
def outputs(standing: int, highest: int) -> tuple[tuple[int, Bid | Liar], ...]:
    """Return (output, move) for each possible move. If every raise is too high, only a call is possible.

    :param standing: the number of the standing bid, 0 without one.
    :param highest: see :func:`~p2pdice.solved.rounds.highest_bid`.
    """
    found: list[tuple[int, Bid | Liar]] = [(0, LIAR)] if standing else []
    if standing < len(RAISES):
        for face, (lowest, steps) in zip(FACES, RAISES[standing][highest], strict=True):
            found += [(1 + STEPS * (face - 1) + step, Bid(lowest + step, face)) for step in range(steps)]
    return tuple(found)


def without_rare(
    possible: Iterable[tuple[int, Bid | Liar]], likelihoods: Iterable[float]
) -> Mapping[Bid | Liar, float]:
    """Return the likelihoods of the moves that are likely enough to be played: see :data:`RARE`.

    :param possible: see :func:`outputs`.
    :param likelihoods: of these moves, relative to the likeliest.
    """
    return {move: value for (_, move), value in zip(possible, likelihoods, strict=True) if value >= RARE}


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


def scores(layers: Sequence[Layer], row: Sequence[float]) -> Sequence[float]:
    """Return the outputs of a net for an input."""
    for layer in layers[:-1]:
        row = [max(0.0, value) for value in layer.sums(row)]
    return layers[-1].sums(row)


class Net:
    """The policy of both players for rounds that are too large for tables.

    :param packed: the contents of a file: see the module.
    :raises UnexpectedInput: if ``packed`` is not a net with these inputs and outputs.
    """

    def __init__(self, packed: bytes) -> None:
        self.layers: Final = unpack(packed, FEATURES, OUTPUTS)

    def likelihoods(self, hand: Hand, unseen: int, bids: Sequence[Bid]) -> Mapping[Bid | Liar, float]:
        """Return the likelihoods of the moves of the player who holds ``hand``, relative to the likeliest.

        :param unseen: number of dice of the other player. Neither player has more than :data:`MOST_DICE`.
        :param bids: the bids of the round.
        """
        highest = highest_bid(len(hand) + unseen)
        numbers = [number_of(bid) for bid in bids]
        possible = outputs(numbers[-1] if numbers else 0, highest)
        if len(possible) == 1:
            return without_rare(possible, [1.0])
        row = [0.0] * FEATURES
        features(row, [hand.count(face) for face in FACES], unseen, numbers, highest, TAILS, RAISES)
        values = scores(self.layers, row)
        top = max(values[index] for index, _ in possible)
        return without_rare(possible, [exp(values[index] - top) for index, _ in possible])


def pack(layers: Sequence[Layer]) -> bytes:
    """Return the contents of a net's file. The weights of each output are rounded to 255 steps."""
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


def unpack(packed: bytes, inputs: int, outputs: int) -> tuple[Layer, ...]:
    """Return the layers of a net's file.

    :raises UnexpectedInput: if ``packed`` is not a net with these numbers of inputs and outputs.
    """
    decompressor = zlib.decompressobj()
    try:
        data = decompressor.decompress(packed, LARGEST)
    except zlib.error as error:
        raise UnexpectedInput(f"the file of the net is damaged: {error}") from error
    heads = list(iter_unpack("<2H", data[: len(data) // 4 * 4]))
    shapes = list(takewhile(lambda shape: shape[0], heads))
    sizes = [inputs, *(number for number, _ in shapes)]
    if [(new, old) for old, new in pairwise(sizes)] != shapes or sizes[-1] != outputs:
        raise UnexpectedInput(f"the file is not that of a net with {inputs} inputs and {outputs} outputs")
    at = 4 * len(shapes) + 2
    if not decompressor.eof or len(data) != at + sum(number * (8 + old) for number, old in shapes):
        raise UnexpectedInput("the length of the net's file does not fit its layers")
    layers = []
    for number, old in shapes:
        scales, biases = zip(*iter_unpack("<2f", data[at : at + 8 * number]), strict=True)
        if not all(map(isfinite, (*scales, *biases))):
            raise UnexpectedInput("the file of the net has a number that is not finite")
        at += 8 * number
        rows = array("b", data[at : at + number * old])
        at += number * old
        layers.append(Layer([list(map(mul, rows[column::old], scales)) for column in range(old)], biases))
    return tuple(layers)


FILE: Final = "classic.net"
"""The file of the net, beside this module."""


@cache
def net() -> Net:
    """Return the net that is shipped with the package."""
    return Net(resources.files(__package__).joinpath(FILE).read_bytes())
