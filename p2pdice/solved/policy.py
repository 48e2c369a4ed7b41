"""A policy for bids and calls against which opponents win little.

For classic between two players with at most five dice each, rounds with at most three dice in each cup have tables with
the solved policy. For the other rounds a net has learnt the solved policy: see :mod:`p2pdice.solved.net`. For more
players and other rulesets, three nets were trained by self-play: see :mod:`p2pdice.solved.learnt`.

A table is named after the opener's number of dice and the other player's number of dice. Its file is compressed by
zlib, and has an entry for each sequence of bids after which at least one hand does not always call::

    the number of bids, and one byte for each      a bid is 6 * (quantity - 1) + face
    the length of the rest, 2 bytes
    for each hand that does not always call: its number, the number of moves, and each move with its weight

A hand's number is its index in :func:`~p2pdice.solved.rounds.hands`. As a move, 0 is a call. Weights are 1 to 255.
Without an entry the table calls; most such situations never arise, because its own moves avoid the bids that lead
there.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final

from p2pdice.moves import LIAR, Bid, Exact, Hand, Liar
from p2pdice.solved import learnt, net
from p2pdice.solved.rounds import hands, move_of, number_of
from p2pdice.state import State

MOST_DICE_IN_TABLE: Final = 3
"""The most dice in a cup of a round that has a table."""
HEAVIEST: Final = 255
"""The weight of a move that is certain."""

Weights = Mapping[Bid | Liar, int]
"""Relative frequencies of moves."""
Likelihoods = Mapping[Bid | Liar, float] | Mapping[Bid | Liar | Exact, float]
"""Relative probabilities of moves."""
_CALL: Final[Weights] = {LIAR: 1}


@cache
def _numbered(dice: int) -> dict[Hand, int]:
    return {hand: number for number, hand in enumerate(hands(dice))}


class Table:
    """The policy of both players for one round.

    :param packed: the bytes returned by :func:`pack`.
    """

    def __init__(self, opener: int, responder: int, packed: bytes) -> None:
        self._dice = (opener, responder)
        self._sequences: dict[bytes, bytes] = {}
        data = zlib.decompress(packed)
        at = 0
        while at < len(data):
            body = at + 1 + data[at]
            end = body + 2 + int.from_bytes(data[body : body + 2])
            self._sequences[data[at + 1 : body]] = data[body + 2 : end]
            at = end

    def weights(self, bids: Sequence[Bid], hand: Hand) -> Weights:
        """Return the weights of the moves after ``bids`` for the player whose turn it is and who holds ``hand``."""
        if any(bid.quantity > sum(self._dice) for bid in bids):
            return _CALL  # certainly false, and in no table
        entry = self._sequences.get(bytes(map(number_of, bids)), b"")
        number = _numbered(self._dice[len(bids) % 2])[hand]
        at = 0
        while at < len(entry):
            end = at + 2 + 2 * entry[at + 1]
            if entry[at] == number:
                return {move_of(entry[index]): entry[index + 1] for index in range(at + 2, end, 2)}
            at = end
        return _CALL


def pack(opener: int, responder: int, strategy: Mapping[tuple[Bid, ...], Mapping[Hand, Weights]]) -> bytes:
    """Return the contents of a table's file.

    :param strategy: the weights of moves by sequence of bids, then by hand of the player whose turn it is.
    """
    data = bytearray()
    for bids, by_hand in sorted(strategy.items(), key=lambda item: bytes(map(number_of, item[0]))):
        numbers = _numbered((opener, responder)[len(bids) % 2])
        body = bytearray()
        for hand, weights in by_hand.items():
            if set(weights) != {LIAR}:
                body += bytes((numbers[hand], len(weights)))
                body += bytes(value for move, weight in weights.items() for value in (number_of(move), weight))
        if body:
            data += bytes((len(bids), *map(number_of, bids))) + len(body).to_bytes(2) + body
    return zlib.compress(bytes(data), 9)


def file_name(opener: int, responder: int) -> str:
    """Return the name of a table's file, which is beside this module."""
    return f"{opener}-{responder}.policy"


@cache
def table(opener: int, responder: int) -> Table:
    """Return the table for these numbers of dice, 1 to 3 each, that is shipped with the package."""
    return Table(opener, responder, resources.files(__package__).joinpath(file_name(opener, responder)).read_bytes())


def likelihoods(state: State, hand: Hand) -> Likelihoods | None:
    """Return the relative likelihoods of the policy's moves, or None if it does not cover this round.

    Between two players of classic, the tables nearly maximise the probability of winning the round against the best
    opponent; :mod:`~p2pdice.solved.net` approximates this policy. The same holds for the match: the loser of a round
    loses one die and opens the next however the round ends, so only winning the round matters. The nets of
    :mod:`~p2pdice.solved.learnt` have no such guarantee.

    :param state: a state in which a player has to bid or call.
    :param hand: the hand of the player to move, ascending.
    """
    name = learnt.preset_of(state.ruleset)
    if name is None or max(state.dice) > learnt.MOST_DICE:
        return None
    seats = [seat for seat, number in enumerate(state.dice) if number]
    opener = seats.index(state.bids[0].seat if state.bids else state.turn)
    seats = seats[opener:] + seats[:opener]
    if seats[len(state.bids) % len(seats)] != state.turn or len(seats) > len(state.live):
        return None  # a player has left in the middle of the round
    dice = [state.dice[seat] for seat in seats]
    if name == "classic" and len(dice) == 2:
        if max(dice) > net.MOST_DICE:
            return None
        bids = [Bid(bid.quantity, bid.face) for bid in state.bids]
        if max(dice) <= MOST_DICE_IN_TABLE:
            return table(dice[0], dice[1]).weights(bids, hand)
        return net.net().likelihoods(hand, sum(dice) - len(hand), bids)
    if len(dice) > learnt.MOST_PLAYERS:
        return None
    return learnt.learnt_net(name, len(dice)).likelihoods(name, dice, state, hand)
