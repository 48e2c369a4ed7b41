"""Parts of the rounds that ``mind`` simulates: answers to a bid, outcomes of calls, and models of how players bid.

The engine supplies answers and outcomes. An action is an integer: a call, or 8 times the quantity plus the face of a
bid. Probabilities fall as quantities rise, so a binary search finds the bids on a face that are likely enough.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from math import exp
from typing import Final, NamedTuple, Protocol

from p2pdice import bidding, showdown
from p2pdice.counting import Counting, in_row, row
from p2pdice.engine import new_match
from p2pdice.moves import FACES, Bid, Exact, Hand, Liar
from p2pdice.players.house import OddsPlayer, PressPlayer
from p2pdice.rulesets import Ruleset
from p2pdice.state import NOBODY, Call, Expect, PlacedBid, State, next_live

# The moves of a round

LIAR: Final = 0
EXACT: Final = 1
"""The two calls as actions. Bids start at 8."""

Action = int
Made = int
"""A set of bids as a bit mask: the bit of a bid is its action."""
_CALLS: Final[tuple[Call, Call]] = ("liar", "exact")


def action_of(move: Bid | PlacedBid | Liar | Exact) -> Action:
    """Return the action for a move. The simulation computes actions of bids inline, for speed."""
    if isinstance(move, Bid | PlacedBid):
        return move.quantity * 8 + move.face
    return LIAR if isinstance(move, Liar) else EXACT


def move_of(action: Action) -> Bid | Liar | Exact:
    """Return the move for an action: see :func:`action_of`."""
    if action >= 8:
        return Bid(*divmod(action, 8))
    return Liar() if action == LIAR else Exact()


class Turn(NamedTuple):
    """The possible answers to a standing bid."""

    quantity: int
    """Quantity of the standing bid; 0 if there is none yet."""
    face: int
    options: tuple[tuple[int, int, int], ...]
    """(face, lowest quantity, highest quantity) for each face that may be bid."""
    may_call: bool
    may_exact: bool
    lowest: Made = 0
    """The lowest bid on each face, as a bit mask; 0 unless the rules forbid repeating a bid."""

    @property
    def bids(self) -> int:
        return sum(high - low + 1 for _, low, high in self.options)

    def without(self, made: Made) -> Turn:
        """Return this turn with the low end of each face's range moved past bids in ``made``.

        Higher bids in ``made`` stay listed, because a turn has one range per face. ``lowest`` does not change.
        """
        options = []
        for option in self.options:
            face, low, high = option
            if made >> low * 8 + face & 1:
                low += 1
                while made >> low * 8 + face & 1:
                    low += 1
                option = face, low, high
            if low <= high:
                options.append(option)
        return Turn(self.quantity, self.face, tuple(options), self.may_call, self.may_exact, self.lowest)


class ImaginedRound:
    """The allowed moves of a round, and the outcomes of calls in it."""

    def __init__(
        self, ruleset: Ruleset, dice: tuple[int, ...], live: tuple[int, ...], palifico: bool, number: int
    ) -> None:
        self.terms = (ruleset, dice, live, palifico, number)
        self.ruleset, self.dice, self.live = ruleset, dice, live
        self.total = sum(dice)
        self._state = new_match(ruleset, len(dice), live[0])._replace(
            phase="bidding", awaits=Expect.MOVE, dice=dice, live=live, round=number, palifico=palifico
        )
        self.following = {seat: next_live(live, seat) for seat in live}
        self._turns: dict[tuple[int, Action, int, bool], Turn] = {}
        self._countings: dict[int, Counting] = {}

    @cached_property
    def _openings(self) -> tuple[int, ...]:
        kinds = [(self.counting(face), bidding.faces(self._at(self.live[0], 6 * 8 + 6, face))) for face in (0, *FACES)]
        return tuple(kinds.index(kind) for kind in kinds)

    @cached_property
    def forbids_repeats(self) -> bool:
        """Whether the rules forbid making the same bid twice."""
        return bidding.order(self._state) == "either"

    def opening(self, first_face: int) -> int:
        """Return a number for an opening face. Faces that lead to the same counting and moves share a number."""
        return self._openings[first_face]

    def made(self, bids: Sequence[PlacedBid]) -> Made:
        """Return the bids that may not be repeated."""
        return sum(1 << action_of(bid) for bid in bids) if self.forbids_repeats else 0

    def counting(self, first_face: int) -> Counting:
        """Return the counting in a round opened on ``first_face``; 0 stands for no bid yet."""
        counting = self._countings.get(first_face)
        if counting is None:
            counting = self._countings[first_face] = self._at(NOBODY, 0, first_face).counting
        return counting

    def turn(self, seat: int, standing: Action, first_face: int, made: Made = 0, may_call: bool = True) -> Turn:
        """Return a seat's possible answers to ``standing`` in a round opened on ``first_face``.

        :param made: bids that may not be repeated.
        """
        key = (self.dice[seat], standing, first_face, may_call)  # seats with equally many dice share a Turn
        turn = self._turns.get(key)
        if turn is None:
            turn = self._turns[key] = self._turn(seat, standing, first_face, may_call)
        return turn.without(made) if made & turn.lowest else turn

    def _turn(self, seat: int, standing: Action, first_face: int, may_call: bool) -> Turn:
        state = self._at(seat, standing, first_face)
        if state.motes is not None:
            state = state._replace(motes=state.motes._replace(must_raise=not may_call))
        quantity, face = divmod(standing, 8)
        options = bidding.options(state)
        may_call = may_call and standing > 0
        lowest = sum(1 << low * 8 + new for new, low, _ in options) if self.forbids_repeats else 0
        return Turn(quantity, face, options, may_call, may_call and not bidding.exact_refused(state), lowest)

    def state(self, seat: int, bids: tuple[PlacedBid, ...]) -> State:
        """Return the state at this seat's turn after all bids of the round so far."""
        return self._state._replace(turn=seat, bids=bids)

    def _at(self, seat: int, standing: Action, first_face: int) -> State:
        """Return the state at this seat's turn. It has only the first and last bid; the engine needs no others here."""
        bids = (PlacedBid(0, first_face, NOBODY),) if first_face else ()
        if standing:
            bids = (*bids, PlacedBid(*divmod(standing, 8), NOBODY))
        return self.state(seat, bids)

    def is_right(self, call: Action, quantity: int, counted: int) -> bool:
        return bool(showdown.verdict(_CALLS[call], quantity, counted, counted)[1])

    def dice_after(self, call: Action, caller: int, bidder: int, is_right: bool, sided: Sequence[int]) -> list[int]:
        """Return the dice by seat after a call.

        :param sided: the seats that took the right side.
        """
        winner, loser = (caller, bidder) if is_right else (bidder, caller)
        change, changed = showdown.affected(self._state, _CALLS[call], caller, loser, (winner, *sided))
        dice = list(self.dice)
        for seat in changed:
            dice[seat] += change
        return dice


# Hands

PULL: Final = 0.12
"""The temperature of the softmax: a bid more probable by this much weighs e times as much."""

Row = tuple[float, ...]


class Chances(NamedTuple):
    """The bids on one face, indexed by quantity, up to a few more than the dice in play."""

    row: Row
    """The probability that a bid is true."""
    negated: Row
    """The probabilities with a minus sign: an ascending row for binary search."""
    pull: Row
    """The weight of each bid in a softmax of the probabilities."""


class Held(NamedTuple):
    """A hand, and the probabilities of bids as its owner sees them."""

    hand: Hand
    chances: tuple[Row, ...]
    """The probability that each bid is true, by face and quantity."""
    negated: tuple[Row, ...]
    """The probabilities with a minus sign: ascending rows for binary search."""
    pull: tuple[Row, ...]
    """The weight of each bid in a softmax of the probabilities."""
    trusting: tuple[Row, ...]
    """The probabilities if one other die is known to count for the bid."""
    counts: tuple[int, ...]
    """How much this hand adds to the count for a bid, by face."""


_NO_FACE: Final = Chances((), (), ())


@lru_cache(maxsize=20_000)
def held(hand: Hand, dice: int, counting: Counting) -> Held:
    """Return a hand with the probabilities of bids, given ``dice`` dice in play."""
    unknown = dice - len(hand)
    counts = [counting.tally(hand, face) for face in FACES]
    known = [_chances(counts[face - 1], unknown, face, counting, dice) for face in FACES]
    trusting = known
    if unknown:
        trusting = [_chances(counts[face - 1] + 1, unknown - 1, face, counting, dice) for face in FACES]
    rows, negated, pull = zip(_NO_FACE, *known, strict=True)
    return Held(hand, rows, negated, pull, ((), *(each.row for each in trusting)), (0, *counts))


@lru_cache(maxsize=20_000)
def _chances(counted: int, unknown: int, face: int, counting: Counting, dice: int) -> Chances:
    chances = (row(counted, unknown, face, counting) + (0.0,) * (dice + 3))[: dice + 3]
    return Chances(chances, tuple(-chance for chance in chances), tuple(exp(chance / PULL) for chance in chances))


# Models of bidders

_FAR_OFF: Final = (1.0,)
"""Stands in for the weights on a face whose lowest bid exceeds the dice in play."""


class Bidder(Protocol):
    """A model of a player's bidding."""

    def act(self, held: Held, turn: Turn, whim: float) -> Action:
        """Return the action of this bidder.

        :param whim: a number from 0 to 1 that selects among several possible actions.
        """

    def likelihood(self, held: Held, turn: Turn, action: Action) -> float:
        """Return the probability that this bidder takes ``action``."""


def _calls(turn: Turn, held: Held, trust: float) -> tuple[float, Action]:
    """Return the more probable call and its weight; the weight is negative if no call is allowed."""
    if not turn.may_call:
        return -1.0, LIAR
    row, quantity = held.chances[turn.face], turn.quantity
    if quantity + 1 >= len(row):
        return 1.0, LIAR
    stands = row[quantity]
    believed = stands + trust * (held.trusting[turn.face][quantity] - stands) if trust else stands
    if turn.may_exact and stands - row[quantity + 1] > 1 - believed:
        return stands - row[quantity + 1], EXACT
    return 1 - believed, LIAR


class Safest:
    """Makes the most probable raise, calls if a call is more probable, and sometimes bluffs."""

    NERVE: Final = OddsPlayer.NERVE
    SURE: Final = OddsPlayer.SURE

    def __init__(self, trust: float, bluff: float, near: float) -> None:
        """:param near: moves less than this below the best move's probability count as equally good."""
        self.trust, self.bluff, self.near = trust, bluff, near

    def act(self, held: Held, turn: Turn, whim: float) -> Action:
        call, which = _calls(turn, held, self.trust)
        if self.bluff:
            if whim < self.bluff:
                if call < self.SURE:
                    bold = _number(held, turn, self.NERVE)
                    if bold:
                        return _pick(held, turn, self.NERVE, int(whim / self.bluff * bold))
                whim /= self.bluff
            else:
                whim = (whim - self.bluff) / (1 - self.bluff)
        best, safest = _safest(held, turn)
        if call > best + self.near or best < 0:
            return which
        if not self.near:
            return which if call > best else safest
        least = max(best, call) - self.near
        near = _number(held, turn, least)
        index = int(whim * (near + (call > least)))
        return _pick(held, turn, least, index) if index < near else which

    def likelihood(self, held: Held, turn: Turn, action: Action) -> float:
        call, which = _calls(turn, held, self.trust)
        quantity, face = divmod(action, 8)
        is_call = action < 8
        weight = call if is_call and action == which else -1.0 if is_call else in_row(held.chances[face], quantity)
        bluffing = 0.0
        chance = 0.0
        if self.bluff and call < self.SURE:
            bold = _number(held, turn, self.NERVE)
            if bold:
                bluffing = self.bluff
                if not is_call and weight >= self.NERVE:
                    chance = bluffing / bold
        best, safest = _safest(held, turn)
        if not self.near:
            if is_call:
                return chance + (1 - bluffing) * (weight > best)
            return chance + (1 - bluffing) * (call <= best and safest == action)
        least = max(best, call) - self.near
        if weight > least:
            chance += (1 - bluffing) / (_number(held, turn, least) + (call > least))
        return chance


class Presser:
    """Makes the highest raise that is still likely enough, and calls if a call is more probable."""

    def __init__(self, opening: float, raising: float, trust: float = 0.0) -> None:
        self.opening, self.raising, self.trust = opening, raising, trust

    def act(self, held: Held, turn: Turn, whim: float) -> Action:
        call, which = _calls(turn, held, self.trust)
        least = self.raising if turn.quantity else self.opening
        top: tuple[int, float, int] = (-1, -1.0, 0)
        safest: tuple[float, int, int] = (-1.0, -1, 0)
        chances, negated = held.chances, held.negated
        for face, low, high in turn.options:
            row = chances[face]
            if low >= len(row):
                safest = max(safest, (0.0, low, face))
                continue
            if row[low] >= least:
                highest = bisect_right(negated[face], -least) - 1
                if highest > high:
                    highest = high
                if highest >= top[0]:
                    top = max(top, (highest, row[highest], face))
            elif top[0] < 0:
                safest = max(safest, (row[low], low, face))
        if top[0] < 0:
            chance, quantity, face = safest
        else:
            quantity, chance, face = top
        return which if quantity < 0 or call > chance else quantity * 8 + face

    def likelihood(self, held: Held, turn: Turn, action: Action) -> float:
        return 1.0 if self.act(held, turn, 0.0) == action else 0.0


class Anyhow:
    """Draws a kind of move uniformly, then a move of this kind."""

    def act(self, held: Held, turn: Turn, whim: float) -> Action:
        kinds = (turn.bids > 0) + turn.may_call + turn.may_exact
        kind = int(whim * kinds)
        if turn.bids:
            if kind == 0:
                index = int(whim * kinds * turn.bids)
                for face, low, high in turn.options:
                    if index <= high - low:
                        return (low + index) * 8 + face
                    index -= high - low + 1
            kind -= 1
        return EXACT if kind else LIAR

    def likelihood(self, held: Held, turn: Turn, action: Action) -> float:
        bids = turn.bids
        kinds = (bids > 0) + turn.may_call + turn.may_exact
        # No bid is listed if a player had to bid more dice than are in play, as after a void accusation.
        return 1 / max(kinds, 1) / (1 if action < 8 else max(bids, 1))


class Wavering:
    """Draws moves by softmax. It is a rough model of any player."""

    CALL: Final = 0.1
    """The temperature for choosing between a call and the best bid."""
    REACH: Final = 3
    """The number of quantities considered on each face."""

    def _call(self, held: Held, turn: Turn) -> tuple[float, Action]:
        """Return the probability that it calls, and the call."""
        call, which = _calls(turn, held, OddsPlayer.TRUST)
        best, _ = _safest(held, turn)
        if best < 0:
            return 1.0, which
        return (1 / (1 + exp((best - call) / self.CALL)) if call >= 0 else 0.0), which

    def _pulls(self, held: Held, turn: Turn) -> list[Row]:
        """Return the weights of the bids for each option."""
        return [held.pull[face][low : min(high + 1, low + self.REACH)] or _FAR_OFF for face, low, high in turn.options]

    def act(self, held: Held, turn: Turn, whim: float) -> Action:
        chance, which = self._call(held, turn)
        if whim < chance or not turn.options:
            return which
        pulls = self._pulls(held, turn)
        left = (whim - chance) / (1 - chance) * sum(map(sum, pulls))
        action = which
        for (face, low, _), weights in zip(turn.options, pulls, strict=True):
            for quantity, weight in enumerate(weights, low):
                action = quantity * 8 + face
                left -= weight
                if left <= 0:
                    return action
        return action

    def likelihood(self, held: Held, turn: Turn, action: Action) -> float:
        chance, which = self._call(held, turn)
        if action < 8:
            return chance if action == which else 0.0
        pulls = self._pulls(held, turn)
        quantity, bid = divmod(action, 8)
        for (face, low, _), weights in zip(turn.options, pulls, strict=True):
            if face == bid and low <= quantity < low + len(weights):
                return (1 - chance) * weights[quantity - low] / sum(map(sum, pulls))
        return 0.0


def _safest(held: Held, turn: Turn) -> tuple[float, Action]:
    """Return the probability of the most probable bid, and the lowest such bid; negative if there is no bid."""
    chances = held.chances
    best, safest = -1.0, 0
    for face, low, _ in turn.options:
        row = chances[face]
        chance = row[low] if low < len(row) else 0.0
        if chance >= best and (chance > best or low * 8 + face < safest):
            best, safest = chance, low * 8 + face
    return best, safest


def _number(held: Held, turn: Turn, least: float) -> int:
    """Return the number of bids whose probability is at least ``least``."""
    chances, negated = held.chances, held.negated
    number = 0
    for face, low, high in turn.options:
        row = chances[face]
        if low < len(row) and row[low] >= least:  # this test is cheap and rarely passes, unlike the search
            end = bisect_right(negated[face], -least)
            number += (end if end <= high else high + 1) - low
    return number


def _pick(held: Held, turn: Turn, least: float, index: int) -> Action:
    """Return the bid with this index among the bids whose probability is at least ``least``."""
    chances, negated = held.chances, held.negated
    for face, low, high in turn.options:
        row = chances[face]
        if low < len(row) and row[low] >= least:
            end = bisect_right(negated[face], -least)
            number = (end if end <= high else high + 1) - low
            if index < number:
                return (low + index) * 8 + face
            index -= number
    raise IndexError(index)


CAUTIOUS: Final = Safest(0.0, 0.0, 0.0)
ODDS: Final = Safest(OddsPlayer.TRUST, OddsPlayer.BLUFF, OddsPlayer.NEAR)
PRESS: Final = Presser(PressPlayer.OPENING, PressPlayer.RAISE)
WAVERING: Final = Wavering()
ANYHOW: Final = Anyhow()
SIMPLE: Final[tuple[Bidder, ...]] = (CAUTIOUS, ODDS, PRESS)
"""The models of the house bots with these names."""
PRIOR: Final[Mapping[Bidder, float]] = {
    CAUTIOUS: 0.2,
    ODDS: 0.2,
    PRESS: 0.2,
    Presser(0.5, 0.5): 0.1,
    Presser(0.35, 0.35, 0.35): 0.1,
    WAVERING: 0.15,
    ANYHOW: 0.05,
}
"""All models, with their prior probabilities."""
SLIP: Final = 0.03
"""The probability that a bidder deviates from its model and moves like :data:`ANYHOW`."""
