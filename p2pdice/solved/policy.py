"""The solved tables: their rounds, the file format of their policies, and a player that uses them.

Rounds come from the engine: a match is played up to the start of one, and the moves that the engine lists span the bid
sequences. The engine lists bids up to the dice in play. Higher bids are legal, but certainly false.

A table is named by the dice of the player who opens the round and those of the other player. Its file is compressed by
zlib, and has an entry for each sequence of bids after which some hand does not always call::

    the number of bids, and one byte for each      a bid is 6 * (quantity - 1) + face
    the length of the rest, 2 bytes
    for each hand that does not always call: its number, the number of moves, and each move with its weight

A hand's number is its index in :func:`hands`. As a move, 0 is a call. Weights are 1 to 255. Without an entry the policy
calls; most such situations never arise, because the player's own policy avoids the bids that lead there.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib import resources
from itertools import combinations_with_replacement
from math import factorial, prod
from random import Random
from typing import Final

from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.moves import FACES, LIAR, Bid, Hand, Hands, Liar, Move, Play, Rolled
from p2pdice.players.house import OddsPlayer
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.state import State
from p2pdice.views import View

MOST: Final = 3
"""The most dice in a cup of a solved table."""
OPENER: Final = 0
"""The seat that opens the round."""
RESPONDER: Final = 1


def beginning(opener: int, responder: int) -> State:
    """Return the state in which seat 0 opens a round with ``opener`` dice, and seat 1 has ``responder`` dice.

    It is reached by a match that starts with one die more. The loser of a round opens the next one, so seat 1 loses
    its dice first.
    """
    start = max(opener, responder) + 1
    state = new_match(PRESETS["classic"].with_options({"dice": str(start)}), 2)
    for loser in (RESPONDER,) * (start - responder) + (OPENER,) * (start - opener):
        state, _ = apply(state, Rolled())
        bidder = state.turn
        state, _ = apply(state, Play(bidder, Bid(1, 6)))
        state, _ = apply(state, Play(state.turn, LIAR))
        shown = 2 if loser == bidder else 6
        state, _ = apply(state, Hands(tuple((shown,) * number for number in state.dice)))
    state, _ = apply(state, Rolled())
    return state


def bids(state: State) -> Iterator[Bid]:
    """Yield the bids that the engine lists in this state."""
    return (move for move in legal_moves(state) if isinstance(move, Bid))


def sequences(state: State) -> Iterator[tuple[Bid, ...]]:
    """Yield every non-empty sequence of bids that is possible in the round that starts in this state."""
    for bid in bids(state):
        after, _ = apply(state, Play(state.turn, bid))
        yield (bid,)
        yield from ((bid, *further) for further in sequences(after))


def hands(number: int) -> dict[Hand, int]:
    """Return every hand of ``number`` dice with the number of throws, out of 6 ** ``number``, that show it."""
    return {
        hand: factorial(number) // prod(factorial(hand.count(face)) for face in FACES)
        for hand in combinations_with_replacement(FACES, number)
    }


# Policies

HEAVIEST: Final = 255
"""The weight of a move that is certain."""

Weights = Mapping[Bid | Liar, int]
"""Relative frequencies of moves."""
_CALL: Final[Weights] = {LIAR: 1}


def _number(move: Bid | Liar) -> int:
    return 6 * (move.quantity - 1) + move.face if isinstance(move, Bid) else 0


def _move(number: int) -> Bid | Liar:
    return Bid((number - 1) // 6 + 1, (number - 1) % 6 + 1) if number else LIAR


@cache
def _numbered(dice: int) -> dict[Hand, int]:
    return {hand: number for number, hand in enumerate(hands(dice))}


class Policy:
    """How both players of one table play.

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
            return _CALL  # such a bid is certainly false, and no table has it
        entry = self._sequences.get(bytes(map(_number, bids)), b"")
        number = _numbered(self._dice[len(bids) % 2])[hand]
        at = 0
        while at < len(entry):
            end = at + 2 + 2 * entry[at + 1]
            if entry[at] == number:
                return {_move(entry[index]): entry[index + 1] for index in range(at + 2, end, 2)}
            at = end
        return _CALL


def pack(opener: int, responder: int, policy: Mapping[tuple[Bid, ...], Mapping[Hand, Weights]]) -> bytes:
    """Return the contents of a table's file.

    :param policy: the weights of moves by sequence of bids, then by hand of the player whose turn it is.
    """
    data = bytearray()
    for bids, by_hand in sorted(policy.items(), key=lambda item: bytes(map(_number, item[0]))):
        numbers = _numbered((opener, responder)[len(bids) % 2])
        body = bytearray()
        for hand, weights in by_hand.items():
            if set(weights) != {LIAR}:
                body += bytes((numbers[hand], len(weights)))
                body += bytes(value for move, weight in weights.items() for value in (_number(move), weight))
        if body:
            data += bytes((len(bids), *map(_number, bids))) + len(body).to_bytes(2) + body
    return zlib.compress(bytes(data), 9)


def file_name(opener: int, responder: int) -> str:
    """Return the file name of a table's policy. The file is beside this module."""
    return f"{opener}-{responder}.policy"


@cache
def policy(opener: int, responder: int) -> Policy:
    """Return the policy for these numbers of dice, 1 to 3 each, that is shipped with the package."""
    return Policy(opener, responder, resources.files(__package__).joinpath(file_name(opener, responder)).read_bytes())


@lru_cache(maxsize=16)
def is_classic(ruleset: Ruleset) -> bool:
    """Return whether rounds of two players follow the rules of classic; initial dice and stakes do not matter."""
    classic = PRESETS["classic"]
    return replace(ruleset, dice=classic.dice, stakes=classic.stakes) == classic


def solved_move(view: View, rng: Random) -> Bid | Liar | None:
    """Return a move of the policy, or None if this round is not solved.

    The policy maximises the probability of winning the round against the best opponent. The same holds for the match:
    the loser of a round loses one die and opens the next however the round ends, so only winning the round matters.

    :param view: the view of the player whose turn it is to bid or call.
    :param rng: draws among the moves that the policy mixes.
    """
    state = view.state
    if len(state.live) != 2 or max(state.dice) > MOST or not is_classic(state.ruleset):
        return None
    other = next(seat for seat in state.live if seat != state.leader)
    table = policy(state.dice[state.leader], state.dice[other])
    weights = table.weights([Bid(bid.quantity, bid.face) for bid in state.bids], view.hand)
    return rng.choices(list(weights), list(weights.values()))[0]


class SolvedPlayer(OddsPlayer):
    """Plays solved rounds by their policies, which no opponent can exploit by much, and all others like ``odds``."""

    def bid_or_call(self, view: View, bids: Sequence[Bid], calls: Sequence[Move]) -> Move:
        return solved_move(view, self._rng) or super().bid_or_call(view, bids, calls)
