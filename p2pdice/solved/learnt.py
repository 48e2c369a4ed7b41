"""Three nets that were trained by playing against themselves, and how players use them.

One has learnt perudo between two players, one spot-on and wildcard between two, and one these three and classic with
three to six players. All are multilayer perceptrons as in :mod:`~p2pdice.solved.net`. Their outputs are liar, exact,
and for each face five quantities: the lowest raise and four more. The four start above the lowest raise, or above the
average count for the face minus two, if that is higher. The likelihoods of the moves are the softmax over the possible
outputs.

The input describes the hand of the player to move, everybody's dice, and the bids of the round. A bid's *surplus* is
its quantity minus the number of dice in play that count for it on average. Most values are divided by a constant, so
that they are small. There are :data:`BY_FACE` values for each face:

=============  ======================================================================================================
``SHOWN``      the player's own dice that show the face
``OWN``        the player's own dice that count for a bid on it
``RAISED``     1 if an output is a bid on the face
``TRUE``       for each output on the face, the probability that its bid is true
``MINE``       1 if the player has bid on it; then the surplus of their last such bid
``THEIRS``     the number of the others' bids on it, and of the players who made them; then the surplus of the first
               and of the last of these bids
``NEXT``       1 if the next player has bid on it
``STANDING``   1 if the standing bid is on it
=============  ======================================================================================================

The other values follow, from :data:`REST` on. From ``BID`` on they describe the standing bid, and are 0 without one:

=============  ======================================================================================================
``RULES``      one-hot: the preset, by :data:`RULE_NUMBERS`
``DICE``       one-hot: the number of the player's dice, from 1 to 5, or more
``UNSEEN``     one-hot: the number of all other dice, from 1 to 10, up to 15, up to 20, or more; then the number itself
``PLAYERS``    one-hot: the number of players with dice
``AFTER``      the dice of the next player
``MOST``       the most dice of another player
``WILD``       1 if ones are wild; ``PALIFICO``, ``EXACT``: 1 in a palifico, 1 if exact may be called
``ON_ONES``    1 if the round was opened on ones
``MADE``       the number of bids
``BID``        1
``BIDDER``     the dice of its bidder
``QUANTITY``   its quantity
``MISSING``    the number of other players' dice that have to count for the bid to be true
``SHOWDOWN``   the probabilities that at least ``MISSING`` - 1, ``MISSING`` and ``MISSING`` + 1 of these dice count
``SUPPORT``    the player's own dice that count for it
``SURPLUS``    its surplus
``SAME``       1 if the bid before is on the same face
``STEP``       its quantity minus the quantity of the bid before
``AGAIN``      1 if its bidder had bid on its face before
=============  ======================================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib import resources
from math import comb, exp
from typing import Final

from p2pdice import bidding
from p2pdice.moves import EXACT as EXACT_CALL
from p2pdice.moves import FACES, LIAR, Bid, Exact, Hand, Liar
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.solved.net import RARE, Layer, scores, unpack
from p2pdice.solved.rounds import number_of
from p2pdice.state import State

MOST_PLAYERS: Final = 6
"""The most players with dice in a round that the nets play."""
MOST_DICE: Final = 10
"""The most dice in one cup in a round that the nets play."""
STEPS: Final = 5
"""The number of quantities on each face among the outputs."""
OUTPUTS: Final = 2 + STEPS * len(FACES)

RULE_NUMBERS: Final = {name: number for number, name in enumerate(("classic", "perudo", "spot-on", "wildcard"))}
"""The presets that the nets have learnt, with their numbers in :func:`features`."""

# Input

SHOWN, OWN, RAISED, TRUE = range(4)
MINE, MINE_LAST, THEIRS, BIDDERS, THEIRS_FIRST, THEIRS_LAST, NEXT, STANDING, BY_FACE = range(
    TRUE + STEPS, TRUE + STEPS + 9
)
REST: Final = len(FACES) * BY_FACE
CUPS: Final = 6
RULES: Final = REST
DICE: Final = RULES + 4
UNSEEN: Final = DICE + CUPS
PLAYERS: Final = UNSEEN + 14
AFTER: Final = PLAYERS + MOST_PLAYERS - 1
MOST, WILD, PALIFICO, EXACT, ON_ONES, MADE, BID, BIDDER, QUANTITY, MISSING, SHOWDOWN = range(AFTER + 1, AFTER + 12)
SUPPORT, SURPLUS, SAME, STEP, AGAIN, FEATURES = range(SHOWDOWN + 3, SHOWDOWN + 9)


def _tails(chance: float) -> tuple[tuple[float, ...], ...]:
    """Return, by number of dice, the probabilities that at least 0, 1, 2 … of them count, padded with zeros."""
    most = MOST_PLAYERS * MOST_DICE
    rows = []
    for dice in range(most + 1):
        exactly = [comb(dice, count) * chance**count * (1 - chance) ** (dice - count) for count in range(dice + 1)]
        rows.append((1.0, *(sum(exactly[count:]) for count in range(1, most + 3))))
    return tuple(rows)


TAILS: Final = (_tails(1 / 6), _tails(1 / 3))
"""The first item is for faces without wild ones, the second for faces with wild ones: see :func:`_tails`."""


def features(
    row: MutableSequence[float],
    offered: MutableSequence[int],
    rules: int,
    counts: Sequence[int],
    dice: Sequence[int],
    bids: Sequence[int],
    lowest: Sequence[int],
    highest: Sequence[int],
    ones_wild: bool,
    palifico: bool,
    exact: bool,
    tails: Sequence[Sequence[Sequence[float]]],
) -> None:
    """Write the input of a net into ``row``, an array of :data:`FEATURES` zeros, and its bids into ``offered``.

    Training compiles this function with numba and passes arrays; players call it with lists.

    :param offered: an array of zeros, which receives the quantities of the possible outputs by face and step.
    :param rules: the number of the preset: see :data:`RULE_NUMBERS`.
    :param counts: how many of the player's own dice show each face.
    :param dice: the numbers of dice of the players who have any, starting with the opener of the round.
    :param bids: the numbers of the bids of the round.
    :param lowest: for each face, the lowest quantity that raises the standing bid.
    :param highest: for each face, the highest quantity that policies bid; 0 if the face may not be bid.
    :param exact: whether exact may be called.
    :param tails: :data:`TAILS`.
    """
    made, players, total, most = len(bids), len(dice), 0, 0
    me = made % players
    for seat in range(players):
        total += dice[seat]
        if seat != me:
            most = max(most, dice[seat])
    own = dice[me]
    unseen = total - own
    after = (me + 1) % players
    for face in range(6):
        at = face * BY_FACE
        wild = 1 if ones_wild and face else 0
        support = counts[face] + wild * counts[0]
        row[at + SHOWN] = counts[face] / 5
        row[at + OWN] = support / 5
        usual = max(lowest[face], total // (3 if wild else 6) - 2)
        for step in range(STEPS):
            quantity = usual + step if step else lowest[face]
            if quantity <= highest[face]:
                offered[face * STEPS + step] = quantity
                row[at + RAISED] = 1
                row[at + TRUE + step] = tails[wild][unseen][min(unseen + 1, max(0, quantity - support))]
    for index in range(made):
        quantity, face = (bids[index] - 1) // 6 + 1, (bids[index] - 1) % 6
        at = face * BY_FACE
        surplus = (quantity - total / (3 if ones_wild and face else 6)) / 3
        seat = index % players
        if seat == me:
            row[at + MINE] = 1
            row[at + MINE_LAST] = surplus
        else:
            if row[at + THEIRS] == 0:
                row[at + THEIRS_FIRST] = surplus
            row[at + THEIRS] += 1 / 3
            row[at + THEIRS_LAST] = surplus
            is_new = 1
            for before in range(seat, index, players):
                if (bids[before] - 1) % 6 == face:
                    is_new = 0
            row[at + BIDDERS] += is_new / 2
            if seat == after:
                row[at + NEXT] = 1
    row[RULES + rules] = 1
    row[DICE + min(own, CUPS) - 1] = 1
    row[UNSEEN + (unseen - 1 if unseen <= 10 else 10 if unseen <= 15 else 11 if unseen <= 20 else 12)] = 1
    row[UNSEEN + 13] = unseen / 10
    row[PLAYERS + players - 2] = 1
    row[AFTER] = dice[after] / 5
    row[MOST] = most / 5
    row[WILD] = 1 if ones_wild else 0
    row[PALIFICO] = 1 if palifico else 0
    row[EXACT] = 1 if exact else 0
    row[MADE] = made / 6
    if made:
        quantity, face = (bids[made - 1] - 1) // 6 + 1, (bids[made - 1] - 1) % 6
        wild = 1 if ones_wild and face else 0
        support = counts[face] + wild * counts[0]
        row[face * BY_FACE + STANDING] = 1
        row[ON_ONES] = 1 if (bids[0] - 1) % 6 == 0 else 0
        row[BID] = 1
        row[BIDDER] = dice[(made - 1) % players] / 5
        row[QUANTITY] = quantity / 10
        row[MISSING] = (quantity - support) / 5
        for more in range(3):
            row[SHOWDOWN + more] = tails[wild][unseen][min(unseen + 1, max(0, quantity - support - 1 + more))]
        row[SUPPORT] = support / 5
        row[SURPLUS] = (quantity - total / (3 if wild else 6)) / 3
        for before in range((made - 1) % players, made - 1, players):
            if (bids[before] - 1) % 6 == face:
                row[AGAIN] = 1
        if made > 1:
            row[SAME] = 1 if (bids[made - 2] - 1) % 6 == face else 0
            row[STEP] = (quantity - (bids[made - 2] - 1) // 6 - 1) / 3


# Play


class LearntNet:
    """A policy for bids and calls.

    :param packed: the contents of a file: see :mod:`p2pdice.solved.net`.
    :raises UnexpectedInput: if ``packed`` is not a net with these inputs and outputs.
    """

    def __init__(self, packed: bytes) -> None:
        self.layers: Final[Sequence[Layer]] = unpack(packed, FEATURES, OUTPUTS)

    def likelihoods(
        self, name: str, dice: Sequence[int], state: State, hand: Hand
    ) -> Mapping[Bid | Liar | Exact, float]:
        """Return the likelihoods of the moves of the player who holds ``hand``, relative to the likeliest.

        :param name: a preset of :data:`RULE_NUMBERS`.
        :param dice: the numbers of dice of the players who have any, starting with the opener of the round.
        :param state: a state in which the player has to bid or call.
        """
        lowest, highest = [1] * len(FACES), [0] * len(FACES)
        for face, low, high in bidding.options(state):
            lowest[face - 1], highest[face - 1] = low, high
        bids = [number_of(Bid(bid.quantity, bid.face)) for bid in state.bids]
        exact = bool(bids) and not bidding.exact_refused(state)
        row, offered = [0.0] * FEATURES, [0] * (OUTPUTS - 2)
        known = (RULE_NUMBERS[name], [hand.count(face) for face in FACES], dice, bids, lowest, highest)
        features(row, offered, *known, state.counting.ones_wild, state.palifico, exact, TAILS)
        moves: dict[int, Bid | Liar | Exact] = {0: LIAR} if bids else {}
        if exact:
            moves[1] = EXACT_CALL
        for index, quantity in enumerate(offered):
            if quantity:
                moves[2 + index] = Bid(quantity, index // STEPS + 1)
        values = scores(self.layers, row)
        top = max(values[index] for index in moves)
        likely = {move: exp(values[index] - top) for index, move in moves.items()}
        return {move: value for move, value in likely.items() if value >= RARE}


PERUDO: Final = "perudo.net"
"""The file of the net for perudo between two players, beside this module."""
TWO: Final = "two.net"
"""The file of the net for the other rulesets between two players."""
MORE: Final = "more.net"
"""The file of the net for rounds of more players."""


@cache
def learnt_net(name: str, players: int) -> LearntNet:
    """Return the shipped net for rounds of a preset for this number of players with dice."""
    file = MORE if players > 2 else PERUDO if name == "perudo" else TWO
    return LearntNet(resources.files(__package__).joinpath(file).read_bytes())


@lru_cache(maxsize=16)
def preset_of(ruleset: Ruleset) -> str | None:
    """Return the learnt preset with these rules, or None. Initial dice and stakes are ignored."""
    for name in RULE_NUMBERS:
        preset = PRESETS[name]
        if replace(ruleset, dice=preset.dice, stakes=preset.stakes) == preset:
            return name
    return None
