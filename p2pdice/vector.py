"""Thousands of matches side by side for programs that learn or search. Each field of the state is one array.

Requires numpy (``pip install '.[vector]'``). The rules are those of :mod:`p2pdice.engine`. Raises come from
:mod:`p2pdice.bidding`; the rest is reimplemented for arrays, and a test compares both on the same dice and moves.
:mod:`p2pdice.observations` adds what the players see.

Only the engine plays the other rules. With ``raise=either`` no bid may be repeated in a round, so the legal bids on a
face are not one range, but :meth:`Matches.bids` returns one range per face. With sides or motes, players decide one
after another between a call and the showdown, so few matches would make a bid in each step.

>>> from p2pdice.rulesets import PRESETS
>>> matches = Matches(PRESETS["classic"], players=4, count=1000)
>>> rng = np.random.default_rng(1)
>>> while not matches.is_over.all():
...     matches.deal(matches.roll(rng))
...     matches.play(matches.random_moves(rng))
>>> int(matches.places.min()), matches.places.shape
(0, (1000, 4))
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from p2pdice.bidding import LAST_EXACT_ROUND, raises
from p2pdice.counting import COUNTINGS, NOTHING_WILD
from p2pdice.errors import IllegalMove, RulesetError, UnexpectedInput
from p2pdice.moves import EXACT, FACES, LIAR, MAX_QUANTITY, SIDES, Bid, Move
from p2pdice.rulesets import MAX_CUP, PRESETS, Ruleset
from p2pdice.state import MAX_PLAYERS, MIN_PLAYERS, next_live

Ints = NDArray[np.int16]
Faces = NDArray[np.int8]
Flags = NDArray[np.bool_]

CALL_LIAR: Final = 0
CALL_EXACT: Final = 1
_WORDS: Final[dict[int, Move]] = {CALL_LIAR: LIAR, CALL_EXACT: EXACT, 2: SIDES[0], 3: SIDES[1]}
_NUMBERS: Final = {move: number for number, move in _WORDS.items()}
_FACES: Final = len(FACES)


def encode(move: Move) -> int:
    """Return the number of a move: 0 for liar, 1 for exact, 2 and 3 for the sides of accuser and accused, and
    ``6 * quantity + face - 1`` for a bid.

    >>> encode(Bid(3, 5)), decode(22)
    (22, Bid(quantity=3, face=5))

    :raises UnexpectedInput: if the move belongs to rules that are not supported here.
    """
    if isinstance(move, Bid):
        return _FACES * move.quantity + move.face - 1
    if move in _NUMBERS:
        return _NUMBERS[move]
    raise UnexpectedInput(f"{move} is not a move of these rules")


def decode(number: int) -> Move:
    """Return the move with this number: see :func:`encode`.

    :raises UnexpectedInput: if no move has this number.
    """
    if number >= _FACES:
        return Bid(number // _FACES, number % _FACES + 1)
    if number not in _WORDS:
        raise UnexpectedInput(f"no move has the number {number}")
    return _WORDS[number]


def is_supported(ruleset: Ruleset) -> bool:
    """Return whether these rules have no motes, stakes, siding, first-out, right-side-discards or ``raise=either``."""
    return not (
        ruleset.motes
        or ruleset.siding
        or ruleset.stakes
        or ruleset.goal != "last-standing"
        or ruleset.verdict != "loser-loses-die"
        or ruleset.raise_ == "either"
    )


SUPPORTED: Final = tuple(name for name, ruleset in PRESETS.items() if is_supported(ruleset))
"""The presets that can be played here."""


class Matches:
    """Matches with the same ruleset and number of players. Axis 0 of each array is the match; axis 1, if any, the seat.

    A match awaits dice (:meth:`deal`), then moves (:meth:`play`) until a player calls; then dice again, or it is over.

    :param first: the first leader's seat, either one for all matches or an array.
    :raises RulesetError: if the rules are not supported.
    :raises UnexpectedInput: if ``players`` is not 2 to 10, or ``first`` is not a seat.
    """

    def __init__(self, ruleset: Ruleset, players: int, count: int, first: int | Ints = 0) -> None:
        if not is_supported(ruleset):
            raise RulesetError(f"these rules cannot be played side by side; these presets can: {', '.join(SUPPORTED)}")
        if not MIN_PLAYERS <= players <= MAX_PLAYERS:
            raise UnexpectedInput(f"{players} players: a match has {MIN_PLAYERS} to {MAX_PLAYERS}")
        self.ruleset = ruleset
        self.players = players
        self.dice: Ints = np.full((count, players), ruleset.dice, np.int16)
        """Number of dice in each cup."""
        self.leader: Ints = np.broadcast_to(np.asarray(first, np.int16), (count,)).copy()
        """The seat that opens the round."""
        if not ((self.leader >= 0) & (self.leader < players)).all():
            raise UnexpectedInput(f"there is no such first seat: seats are 0 to {players - 1}")
        self.turn: Ints = self.leader.copy()
        """The seat to move, if a move is awaited."""
        self.round: Ints = np.ones(count, np.int16)
        self.quantity: Ints = np.zeros(count, np.int16)
        """Quantity of the standing bid; 0 before the first bid."""
        self.face: Ints = np.zeros(count, np.int16)
        """Face of the standing bid; 0 before the first bid."""
        self.bidder: Ints = np.full(count, -1, np.int16)
        """The seat that placed the standing bid; -1 before the first bid."""
        self.opened_on_ones: Flags = np.zeros(count, np.bool_)
        """Whether the first bid of the round was on ones."""
        self.palifico: Flags = np.zeros(count, np.bool_)
        self.awaits_dice: Flags = np.ones(count, np.bool_)
        self.is_over: Flags = np.zeros(count, np.bool_)
        self.hands: Faces = np.zeros((count, players, ruleset.dice), np.int8)
        """Faces of the dice in each cup, padded with 0 to the number of dice in the fullest cup."""
        self.out_in: Ints = np.zeros((count, players), np.int16)
        """The round in which each seat went out; 0 for seats still in the match."""
        self._dropped: Flags = np.zeros((count, players), np.bool_)
        """Seats that have dropped to one die: each player causes at most one palifico."""
        self._live: Ints = np.full(count, (1 << players) - 1, np.int16)
        """The seats with dice, as a bit mask."""
        counting = COUNTINGS[ruleset.wild]
        self._countings = (counting.opened(2), counting.opened(1), NOTHING_WILD)
        """The countings of a round not opened on ones, of a round opened on ones, and of a palifico."""
        self._weights = np.array([[(0, *weights) for weights in each.weights] for each in self._countings], np.int16)
        """Weights by index in ``_countings``, face of the bid and face of the die; face 0 is padding."""
        self._order = _bounds(ruleset.raise_)
        self._next = _next_live(players)
        self._seats = np.arange(players, dtype=np.int16)
        self._every = np.arange(count)

    @property
    def awaits_move(self) -> Flags:
        return ~(self.awaits_dice | self.is_over)

    @property
    def ones_wild(self) -> Flags:
        """Whether a one counts for every face, given the bids of the round so far."""
        wild: Flags = np.array([each.ones_wild for each in self._countings])
        return wild.take(self._counting(self._every))

    def _counting(self, match: NDArray[np.intp]) -> NDArray[np.integer[Any]]:
        """Return the index in ``_countings`` that applies to each of these matches."""
        return np.where(self.palifico[match], 2, self.opened_on_ones[match])

    @property
    def places(self) -> Ints:
        """The place of each seat, 0 for the winner. Seats that went out in the same round share the better place."""
        left = np.where(self.out_in == 0, np.int16(32_767), self.out_in)
        return cast("Ints", (left[:, None, :] > left[:, :, None]).sum(axis=2).astype(np.int16))

    # Dice

    def roll(self, rng: np.random.Generator) -> Faces:
        """Return random faces for the matches that await dice, in the form that :meth:`deal` accepts."""
        waiting = int(np.count_nonzero(self.awaits_dice))
        return rng.integers(1, _FACES + 1, size=(waiting, self.players, self._depth()), dtype=np.int8)

    def deal(self, faces: Faces) -> None:
        """Fill the cups of all matches that await dice.

        :param faces: indexed by waiting match, seat and die, with at least as many dice as the fullest cup. A cup with
            fewer dice takes the first of them.
        :raises UnexpectedInput: if there are too few faces, or a face is not 1 to 6.
        """
        waiting = np.flatnonzero(self.awaits_dice)
        depth = self._depth()
        if faces.shape[:2] != (waiting.size, self.players) or faces.shape[2] < depth:
            raise UnexpectedInput(f"faces of shape {faces.shape}: {(waiting.size, self.players, depth)} are awaited")
        faces = faces[:, :, :depth]
        if faces.size and not (faces.min() >= 1 and faces.max() <= _FACES):
            raise UnexpectedInput("a face is a number from 1 to 6")
        if depth > self.hands.shape[2]:
            self.hands = np.pad(self.hands, ((0, 0), (0, 0), (0, depth - self.hands.shape[2])))
        elif depth < self.hands.shape[2]:
            self.hands = self.hands[:, :, :depth]
        self.hands[waiting] = faces * (np.arange(depth, dtype=np.int8) < self.dice[waiting][:, :, None])
        self.awaits_dice[:] = False

    def _depth(self) -> int:
        return int(self.dice.max(initial=1))

    # Moves

    def bids(self) -> tuple[Ints, Ints]:
        """Return the lowest and highest legal quantities by match and by face, ones first.

        The highest is 0 if the face may not be bid or no move is awaited. Quantities above the dice in play are legal,
        but :meth:`random_moves` does not draw them.
        """
        lowest, highest = self._raises(self._every[:, None], np.arange(_FACES))
        return lowest, np.where(self.awaits_move[:, None], highest, np.int16(0))

    def _raises(self, match: NDArray[np.intp], face: NDArray[np.integer[Any]]) -> tuple[Ints, Ints]:
        """Return the lowest and highest quantities for pairs of a match and a face, where face 0 stands for ones."""
        quantity, standing = self.quantity[match], self.face[match]
        at = (quantity.astype(np.intp) * (_FACES + 1) + standing) * _FACES + face  # one index is faster than three
        lowest, highest = (bound.take(at) for bound in self._order)
        rules = self.ruleset
        if not rules.palifico and rules.ones_bid == "free":
            return lowest, highest
        opens, refused = quantity == 0, np.zeros_like(lowest, np.bool_)
        if rules.ones_bid == "opening-only":
            refused = (face == 0) & ~opens & ~self.opened_on_ones[match]
        elif rules.ones_bid == "not-opening":
            refused = (face == 0) & opens & ~self.palifico[match]
        if rules.palifico:
            special = self.palifico[match]
            lowest, highest = (
                np.where(special, bound.take(at), free)
                for bound, free in zip(_bounds("standard"), (lowest, highest), strict=True)
            )
            is_bound = special & ~opens & (self.dice[match, self.turn[match]] != 1)
            refused = np.where(is_bound, face != standing - 1, refused)
        return lowest, np.where(refused, np.int16(0), highest)

    def may_call_exact(self) -> Flags:
        if self.ruleset.exact == "none":
            return np.zeros_like(self.is_over)
        return self.awaits_move & (self.quantity > 0) & (self.round <= LAST_EXACT_ROUND)

    def random_moves(self, rng: np.random.Generator) -> Ints:
        """Draw uniformly, for each match, the number of a listed move (see :func:`encode`); 0 if no move is awaited."""
        lowest, highest = self.bids()
        limit = self.dice.sum(axis=1, dtype=np.int16)[:, None]
        width = np.maximum(np.minimum(highest, limit) - lowest + 1, 0)
        ends = width.cumsum(axis=1, dtype=np.int16)
        calls = np.where(self.quantity > 0, np.where(self.may_call_exact(), 2, 1), 0)
        picked = (rng.random(len(ends)) * (ends[:, -1] + calls)).astype(np.int16)
        face = (picked[:, None] >= ends).sum(axis=1)
        at = np.minimum(face, _FACES - 1)
        quantity = lowest[self._every, at] + picked - (ends[self._every, at] - width[self._every, at])
        moves: Ints = np.where(face < _FACES, _FACES * quantity + at, picked - ends[:, -1]).astype(np.int16)
        return moves

    def play(self, moves: Ints) -> None:
        """Make a move in each match that awaits one. A call opens the cups and settles the round at once.

        :param moves: one number per match: see :func:`encode`. Matches that await no move ignore theirs.
        :raises UnexpectedInput: if ``moves`` does not have one number per match.
        :raises IllegalMove: if a move is illegal; the message names the first match with one. No match is changed.
        """
        if moves.shape != self.turn.shape:
            raise UnexpectedInput(f"{len(moves)} moves for {len(self.turn)} matches")
        waiting = self.awaits_move
        bids = waiting & (moves >= _FACES)
        calls = waiting & ~bids
        quantity, face = moves // _FACES, moves % _FACES
        lowest, highest = self._raises(self._every, face)
        stands = self.quantity > 0
        right = np.where(moves == CALL_LIAR, stands, (moves == CALL_EXACT) & self.may_call_exact())
        wrong = (bids & ((quantity < lowest) | (quantity > highest))) | (calls & ~right)
        if wrong.any():
            match = int(wrong.argmax())
            raise IllegalMove(f"match {match}: {int(moves[match])} is not allowed")
        self.opened_on_ones |= bids & ~stands & (face == 0)
        self.quantity[bids] = quantity[bids]
        self.face[bids] = face[bids] + 1
        self.bidder[bids] = self.turn[bids]
        self.turn[bids] = self._next[self._live[bids], self.turn[bids]]
        self._settle(np.flatnonzero(calls), moves == CALL_EXACT)

    def _settle(self, called: NDArray[np.intp], is_exact: Flags) -> None:
        """Open the cups of some matches and apply the verdict."""
        if not called.size:
            return
        rules, each = self.ruleset, np.arange(called.size)
        hands, face, exact = self.hands[called], self.face[called], is_exact[called]
        counted = self._weights[self._counting(called)[:, None, None], face[:, None, None], hands].sum(axis=(1, 2))
        quantity, caller, bidder = self.quantity[called], self.turn[called], self.bidder[called]
        is_right = np.where(exact, counted == quantity, counted < quantity)
        loser = np.where(is_right, bidder, caller)
        hit = exact & is_right
        before = self.dice[called]
        alive = before > 0
        change = np.zeros_like(before)
        change[each, loser] = np.where(hit, 0, -1)
        changed = change != 0
        if rules.exact == "others-lose":
            others = hit[:, None] & alive & (self._seats != caller[:, None])
            change[others] = -1
            changed |= others
        elif rules.exact == "gain":
            cap = MAX_CUP if rules.dice_cap is None else rules.dice_cap
            gains = hit & (before[each, caller] < cap)
            change[each[gains], caller[gains]] = 1
            changed[each[gains], caller[gains]] = True
        dice = before + change
        out = alive & (dice == 0)
        following = loser
        if rules.next_leader == "caller":
            following = caller
        elif rules.next_leader == "affected":
            following = np.where(changed.sum(axis=1) == 1, changed.argmax(axis=1), caller)
        palifico = np.zeros_like(hit)
        if rules.palifico and rules.dice > 1:
            droppers = changed & (dice == 1) & (before > 1) & ~self._dropped[called]
            palifico = droppers.any(axis=1)
            # The first dropper clockwise from the caller.
            distance = np.where(droppers, (self._seats - caller[:, None]) % self.players, self.players)
            following = np.where(palifico, distance.argmin(axis=1), following)
            self._dropped[called] |= droppers
        live = ((dice > 0) << self._seats).sum(axis=1).astype(np.int16)
        following = np.where((live >> following) & 1, following, self._next[live, following]).astype(np.int16)
        over = (dice > 0).sum(axis=1) <= 1
        self.out_in[called] = np.where(out, self.round[called][:, None], self.out_in[called])
        self.dice[called] = dice
        self._live[called] = live
        self.leader[called] = np.where(over, self.leader[called], following)
        self.turn[called] = self.leader[called]
        self.palifico[called] = palifico & ~over
        self.round[called] += ~over
        self.quantity[called] = self.face[called] = 0
        self.bidder[called] = -1
        self.opened_on_ones[called] = False
        self.is_over[called] = over
        self.awaits_dice[called] = ~over

    def take(self, kept: Flags | NDArray[np.intp]) -> Self:
        """Return some of these matches in the order of ``kept``, for example those that are not over."""
        taken = object.__new__(type(self))
        for name, value in vars(self).items():
            setattr(taken, name, value if name in _SHARED else value[kept])
        taken._every = np.arange(len(taken.turn))
        return taken


_SHARED: Final = frozenset(
    ("ruleset", "players", "layout", "_countings", "_weights", "_order", "_next", "_seats", "_every")
)
"""The attributes that are the same for all matches."""


@cache
def _bounds(order: str) -> tuple[Ints, Ints]:
    """Return the lowest and the highest quantities that raise a bid: two arrays by quantity, face and new face."""
    lowest = np.zeros((MAX_QUANTITY + 1, _FACES + 1, _FACES), np.int16)
    highest = np.zeros_like(lowest)
    for quantity in range(MAX_QUANTITY + 1):
        for face in FACES if quantity else (0,):
            for new, allowed in enumerate(raises(order, quantity, face)):
                lowest[quantity, face, new] = max(1, allowed.start)  # exceeds the highest if nothing raises
                highest[quantity, face, new] = allowed.stop - 1 if allowed else 0
    return lowest, highest


@cache
def _next_live(players: int) -> Ints:
    """Return the next live seat clockwise, by the bit mask of live seats and the current seat."""
    following = np.zeros((1 << players, players), np.int16)
    for mask in range(1, 1 << players):
        live = tuple(seat for seat in range(players) if mask >> seat & 1)
        following[mask] = [next_live(live, seat) for seat in range(players)]
    return following
