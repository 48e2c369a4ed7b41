"""What a player sees and may do, as arrays: for training an agent, and for playing with a trained one.

Requires numpy (``pip install '.[vector]'``). :class:`Observer` serves one match of the engine, and
:class:`ObservedMatches` many matches side by side. Both give the same numbers for the same position, so an agent may
learn from one and play with the other.

>>> from p2pdice.engine import apply, new_match
>>> from p2pdice.moves import Rolled
>>> from p2pdice.rulesets import PRESETS
>>> from p2pdice.views import view
>>> observer = Observer(PRESETS["classic"], players=2)
>>> state, _ = apply(new_match(PRESETS["classic"], 2), Rolled())
>>> seen = observer.observe(view(state, 0, (1, 2, 2, 4, 6)))
>>> seen["observation"].shape, observer.act(int(seen["action_mask"].argmax()))
((172,), Bid(quantity=1, face=1))
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from p2pdice.errors import RulesetError, UnexpectedInput
from p2pdice.events import BidMade, Event, HandsShown, Judged, RoundStarted
from p2pdice.moves import FACES, Hand, Move
from p2pdice.rulesets import Ruleset
from p2pdice.state import MAX_PLAYERS, MIN_PLAYERS
from p2pdice.vector import CALL_EXACT, CALL_LIAR, Flags, Ints, Matches, decode, encode
from p2pdice.views import View

Floats = NDArray[np.float32]

_FACES: Final = len(FACES)
_ENOUGH: Final = 20
"""The number of past showdowns is given as a share of this number, at most 1."""
_MASKS: Final = 4096
"""The maximum number of masks to keep; the engine keeps as many menus."""


class Layout:
    """The places of the numbers in an observation and of the actions in a mask.

    An action is the number of a move: see :func:`p2pdice.vector.encode`. Bids go up to the dice that can be in play.
    (If cups can gain dice without a limit, bids go up to twice the dice at the start.)

    Numbers are from 0 to 1. Numbers by seat start with the observer's seat and go on clockwise.

    =========  ============  ===========================================================================================
    part       numbers       meaning
    =========  ============  ===========================================================================================
    hand       6             for each face, the share of the observer's dice that show it
    standing   9             the standing bid: its quantity as a share of the dice in play, at most 1, and a 1 for its
                             face (all 0 before the first bid); whether ones are wild; whether the round is a palifico
    verdict    9             the number of showdowns so far as a share of 20, at most 1; of the last one, the quantity
                             of the bid as a share of the dice shown, at most 1, a 1 for its face, and whether the call
                             was right (all 0 before the first showdown)
    dice       1 a seat      dice as a share of a full cup
    bidder     1 a seat      a 1 for the seat that placed the standing bid
    sides      3 a seat      only in rulesets with sides: whether the seat is the accuser, whether it took the accuser's
                             side, and whether it took the other side
    habits     4 a seat      the share of showdowns before which the seat had bid; the share of showdowns that it
                             called; the mean share of its last bid in a round that its own dice fulfilled; the share
                             of its calls that were right
    parties    2 a seat      a 1 for the bidder and for the caller of the last showdown
    shown      6 a seat      dice at the last showdown by face, as a share of a full cup
    bids       6 a quantity  by seat: a 1 for each bid of the round, by quantity, then by face
    =========  ============  ===========================================================================================

    :raises RulesetError: if the ruleset has motes or stakes, whose decisions are not encoded here.
    :raises UnexpectedInput: if ``players`` is not 2 to 10.
    """

    def __init__(self, ruleset: Ruleset, players: int) -> None:
        if ruleset.motes or ruleset.stakes:
            raise RulesetError("rulesets with motes or stakes are not supported: not all their decisions have a number")
        if not MIN_PLAYERS <= players <= MAX_PLAYERS:
            raise UnexpectedInput(f"{players} players: a match has {MIN_PLAYERS} to {MAX_PLAYERS}")
        self.players = players
        self.cup = ruleset.dice
        """Dice in a full cup."""
        if ruleset.exact == "gain":
            self.cup = ruleset.dice_cap or 2 * ruleset.dice
        self.most = players * self.cup
        """The highest quantity that is encoded."""
        self.actions = _FACES * (self.most + 1)
        """The number of actions. 2 and 3 are sides; 4 and 5 encode no move."""
        self.hand = 0
        self.standing = self.hand + _FACES
        self.verdict = self.standing + 3 + _FACES
        self.dice = self.verdict + 3 + _FACES
        self.bidder = self.dice + players
        self.sides = self.bidder + players
        self.habits = self.sides + (3 * players if ruleset.siding else 0)
        self.parties = self.habits + 4 * players
        self.shown = self.parties + 2 * players
        self.bids = self.shown + _FACES * players
        self.size = self.bids + _FACES * self.most * players
        """The length of an observation."""
        self._masks: dict[int, tuple[Sequence[Move], NDArray[np.int8]]] = {}
        """Masks by ``id`` of a list of moves. The list is kept too, so that no other list gets its ``id``."""
        self._turned = [np.arange(self.size) for _ in range(players)]
        for me, places in enumerate(self._turned):
            parts = (self.dice, self.bidder, self.sides, self.habits, self.parties, self.shown, self.bids, self.size)
            for part, end in pairwise(parts):
                width = (end - part) // players
                places[part:end] = part + (np.arange(end - part) + me * width) % max(1, end - part)

    def turned(self, numbers: Floats, me: int) -> Floats:
        """Rotate an observation whose seats start with seat 0, so that they start with ``me``."""
        return numbers.take(self._turned[me])

    def mask(self, moves: Sequence[Move]) -> NDArray[np.int8]:
        """Return a mask with a 1 for each of these moves that is an action."""
        kept = self._masks.get(id(moves))
        if kept is None:
            if len(self._masks) == _MASKS:
                self._masks.clear()
            mask = np.zeros(self.actions, np.int8)
            mask[[number for move in moves if (number := encode(move)) < self.actions]] = 1
            kept = self._masks[id(moves)] = moves, mask
        return kept[1].copy()


@lru_cache(maxsize=16)
def layout(ruleset: Ruleset, players: int) -> Layout:
    """Return the layout for these rules, with the errors of :class:`Layout`."""
    return Layout(ruleset, players)


class Observer:
    """Turns the views of one match into observations, and actions into moves.

    One observer serves all seats, because it remembers only public facts. An observer created in the middle of a match
    knows the whole current round, but no earlier showdown.

    :raises RulesetError: if the ruleset has motes or stakes.
    :raises UnexpectedInput: if ``players`` is not 2 to 10.
    """

    def __init__(self, ruleset: Ruleset, players: int) -> None:
        self.layout = layout(ruleset, players)
        self._last: dict[int, tuple[int, int]] = {}
        """The last bid of each seat in this round."""
        self._shown: HandsShown | None = None
        self._showdowns = 0
        self._habits = [[0, 0, 0.0, 0] for _ in range(players)]
        """By seat: the number of showdowns before which it had bid; the number that it called; the sum of the shares of
        its last bids that its own dice fulfilled; the number of its calls that were right."""
        self._past = np.zeros(self.layout.size, np.float32)
        """The parts of an observation about past showdowns; seats start with seat 0."""
        self._begun: dict[tuple[int, tuple[int, ...], bool], Floats] = {}
        """The numbers that stay the same during a round, by observer, dice, and whether it is a palifico."""

    def happened(self, event: Event) -> None:
        """Note an event of the match."""
        kind = type(event)
        if kind is BidMade:
            self._last[event.seat] = event.quantity, event.face  # type: ignore[union-attr]  # narrowed by kind
        elif kind is RoundStarted:
            self._last.clear()
        elif isinstance(event, HandsShown):
            self._shown = event
        elif isinstance(event, Judged):
            assert self._shown is not None
            self._note(self._shown, event)

    def _note(self, shown: HandsShown, judged: Judged) -> None:
        """Add a showdown to the habits and to the parts about the last showdown."""
        past, at, cup = self._past, self.layout, self.layout.cup
        self._showdowns += 1
        self._habits[judged.caller][1] += 1
        self._habits[judged.caller][3] += judged.call_right
        for seat, (quantity, face) in self._last.items():
            habits = self._habits[seat]
            habits[0] += 1
            habits[2] += min(1.0, max(0, shown.counting.tally(shown.hands[seat] or (), face)) / quantity)
        hands = [hand or () for hand in shown.hands]
        past[at.verdict : at.dice] = 0
        past[at.verdict] = min(1.0, self._showdowns / _ENOUGH)
        past[at.verdict + 1] = min(1.0, shown.quantity / max(1, sum(map(len, hands))))
        past[at.verdict + 1 + shown.face] = 1
        past[at.verdict + 8] = judged.call_right
        past[at.habits : at.shown + _FACES * at.players] = [
            *(
                share
                for bid, called, held, right in self._habits
                for share in (
                    bid / self._showdowns,
                    called / self._showdowns,
                    held / max(1, bid),
                    right / max(1, called),
                )
            ),
            *(float(seat == party) for seat in range(at.players) for party in (judged.bidder, judged.caller)),
            *(min(1.0, hand.count(face) / cup) for hand in hands for face in FACES),
        ]
        self._begun.clear()

    def observe(self, view: View) -> dict[str, NDArray[Any]]:
        """Return the ``observation`` of a player, and the ``action_mask``, which has a 1 for each listed move."""
        at, state, me = self.layout, view.state, view.seat
        players, most, bids, dice = at.players, at.most, state.bids, state.dice
        begun = self._begun.get((me, dice, state.palifico))
        if begun is None:
            begun = at.turned(self._past, me)
            begun[at.dice : at.bidder] = [min(1.0, dice[(me + step) % players] / at.cup) for step in range(players)]
            begun[at.standing + 8] = state.palifico
            self._begun[me, dice, state.palifico] = begun
        seen = begun.copy()
        seen[: at.standing] = _shares(view.hand)
        if bids:
            quantity, face, bidder = bids[-1]
            seen[at.standing] = min(1.0, quantity / sum(dice))
            seen[at.standing + face] = 1
            seen[at.bidder + (bidder - me) % players] = 1
            for quantity, face, seat in bids:
                seen[at.bids + _FACES * ((seat - me) % players * most + min(quantity, most) - 1) + face - 1] = 1
        if state.counting.ones_wild:
            seen[at.standing + 7] = 1
        if state.challenge is not None:
            accuser, _, sides = state.challenge
            seen[at.sides + 3 * ((accuser - me) % players)] = 1
            for seat, side in sides:
                seen[at.sides + 3 * ((seat - me) % players) + (1 if side == "accuser" else 2)] = 1
        return {"observation": seen, "action_mask": at.mask(view.legal)}

    def act(self, action: int) -> Move:
        """Return the move of an action. It is legal if the mask of the observation has a 1 for it.

        :raises UnexpectedInput: if the action encodes no move.
        """
        return decode(action)


@lru_cache(maxsize=4096)
def _shares(hand: Hand) -> Floats:
    """Return for each face the share of these dice that show it."""
    return np.array([hand.count(face) / max(1, len(hand)) for face in FACES], np.float32)


class ObservedMatches(Matches):
    """Matches side by side, with observations. They are slower than plain :class:`Matches`.

    :param first: as in :class:`Matches`.
    """

    def __init__(self, ruleset: Ruleset, players: int, count: int, first: int | Ints = 0) -> None:
        super().__init__(ruleset, players, count, first)
        self.layout = layout(ruleset, players)
        self._made: Flags = np.zeros((count, players, self.layout.most, _FACES), np.bool_)
        self._last: Ints = np.zeros((count, players, 2), np.int16)
        """Quantity and face of the last bid of each seat in this round."""
        self._judged: Ints = np.zeros((count, 5), np.int16)
        """Quantity, face, bidder and caller of the last showdown, and whether the call was right; at first all 0."""
        self._shown: Ints = np.zeros((count, players, _FACES), np.int16)
        """Dice at the last showdown, by face."""
        self._showdowns: Ints = np.zeros(count, np.int16)
        self._bid: Ints = np.zeros((count, players), np.int16)
        self._called: Ints = np.zeros((count, players), np.int16)
        self._right: Ints = np.zeros((count, players), np.int16)
        self._held: NDArray[np.float64] = np.zeros((count, players))

    def play(self, moves: Ints) -> None:
        before = self.awaits_move
        seats = self.turn.copy()
        super().play(moves)
        bid = np.flatnonzero(before & (moves >= _FACES))
        quantity, face, seat = moves[bid] // _FACES, moves[bid] % _FACES, seats[bid]
        self._made[bid, seat, np.minimum(quantity, self.layout.most) - 1, face] = True
        self._last[bid, seat] = np.stack([quantity, face + 1], axis=1)

    def _settle(self, called: NDArray[np.intp], is_exact: Flags) -> None:
        if called.size:
            self._note(called, is_exact[called])
        super()._settle(called, is_exact)
        self._made[called] = False
        self._last[called] = 0

    def _note(self, called: NDArray[np.intp], exact: Flags) -> None:
        quantity, face, caller = self.quantity[called], self.face[called], self.turn[called]
        counted = self._tally(called, np.broadcast_to(face[:, None], (called.size, self.players))).sum(axis=1)
        right = np.where(exact, counted == quantity, counted < quantity)
        self._judged[called] = np.stack([quantity, face, self.bidder[called], caller, right], axis=1)
        self._shown[called] = (self.hands[called][:, :, :, None] == np.array(FACES, np.int8)).sum(axis=2)
        self._showdowns[called] += 1
        self._called[called, caller] += 1
        self._right[called, caller] += right
        bid, face = self._last[called, :, 0], self._last[called, :, 1]
        has_bid = bid > 0
        self._bid[called] += has_bid
        fulfilled = np.maximum(0, self._tally(called, face)) / np.maximum(1, bid)
        self._held[called] += np.where(has_bid, np.minimum(1.0, fulfilled), 0.0)

    def _tally(self, match: NDArray[np.intp], face: Ints) -> NDArray[np.integer[Any]]:
        """Return how many dice of each seat count for a bid on ``face``, by match and seat."""
        counting = self._counting(match)[:, None, None]
        tally: NDArray[np.integer[Any]] = self._weights[counting, face[:, :, None], self.hands[match]].sum(axis=2)
        return tally

    def observe(self) -> dict[str, NDArray[Any]]:
        """Return the ``observation`` of the player to move, and the ``action_mask``, of each match that awaits a move.

        The matches are in ascending order, as in ``np.flatnonzero(matches.awaits_move)``.
        """
        at, players = self.layout, self.players
        match = np.flatnonzero(self.awaits_move)
        me = self.turn[match]
        each = np.arange(match.size)
        seats = (me[:, None] + self._seats) % players  # clockwise from the player to move
        seen = np.zeros((match.size, at.size), np.float32)
        dice = self.dice[match]
        faces = self.hands[match, me][:, :, None] == np.array(FACES, np.int8)
        seen[:, at.hand : at.hand + _FACES] = faces.sum(axis=1) / dice[each, me][:, None]
        has_bid = np.flatnonzero(self.quantity[match])
        bid, total = match[has_bid], dice.sum(axis=1)
        seen[has_bid, at.standing] = np.minimum(1.0, self.quantity[bid] / total[has_bid])
        seen[has_bid, at.standing + self.face[bid]] = 1
        seen[has_bid, at.bidder + (self.bidder[bid] - me[has_bid]) % players] = 1
        seen[:, at.standing + 7] = self.ones_wild[match]
        seen[:, at.standing + 8] = self.palifico[match]
        seen[:, at.dice : at.bidder] = np.minimum(1.0, dice[each[:, None], seats] / at.cup)
        seen[:, at.bids :] = self._made[match[:, None], seats].reshape(match.size, -1)
        self._add_past(seen, match, seats)
        lowest, highest = (bound[match] for bound in self.bids())
        quantity = np.arange(at.most + 1)[:, None]
        top = np.minimum(highest, total[:, None])
        mask = (quantity >= lowest[:, None]) & (quantity <= top[:, None])
        actions = mask.reshape(match.size, -1).astype(np.int8)
        actions[:, CALL_LIAR] = self.quantity[match] > 0
        actions[:, CALL_EXACT] = self.may_call_exact()[match]
        return {"observation": seen, "action_mask": actions}

    def _add_past(self, seen: Floats, match: NDArray[np.intp], seats: Ints) -> None:
        """Write past showdowns into the observations of some matches; ``seats`` has the order of seats by match."""
        at, seats_by_match = self.layout, (match[:, None], seats)
        showdowns, bid, called = self._showdowns[match], self._bid[seats_by_match], self._called[seats_by_match]
        seen[:, at.verdict] = np.minimum(1.0, showdowns / _ENOUGH)
        rounds = np.maximum(1, showdowns)[:, None]
        habits = (
            bid / rounds,
            called / rounds,
            self._held[seats_by_match] / np.maximum(1, bid),
            self._right[seats_by_match] / np.maximum(1, called),
        )
        seen[:, at.habits : at.parties] = np.stack(habits, axis=2).reshape(match.size, -1)
        shown = np.minimum(1.0, self._shown[seats_by_match] / at.cup)
        seen[:, at.shown : at.bids] = shown.reshape(match.size, -1)
        past = np.flatnonzero(showdowns)
        quantity, face, bidder, caller, right = self._judged[match[past]].T
        seen[past, at.verdict + 1] = np.minimum(1.0, quantity / self._shown[match[past]].sum(axis=(1, 2)))
        seen[past, at.verdict + 1 + face] = 1
        seen[past, at.verdict + 8] = right
        for offset, seat in enumerate((bidder, caller)):
            place = (seat - seats[past, 0]) % self.players
            seen[past, at.parties + 2 * place + offset] = 1
