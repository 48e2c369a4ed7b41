"""Models of bidders, for ``mind``: how each acts with a hand, and how likely each action is.

Chances fall as quantities rise, so a binary search finds the bids on a face that are likely enough.
"""

from __future__ import annotations

from bisect import bisect_right
from math import exp
from typing import Final, Protocol

from p2pdice.players.hands import Held, Row
from p2pdice.players.house import OddsPlayer, PressPlayer
from p2pdice.players.rounds import EXACT, LIAR, Action, Turn

_FAR_OFF: Final = (1.0,)
"""The pull of a bid that is not listed."""


class Bidder(Protocol):
    """A way to bid."""

    def act(self, held: Held, turn: Turn, whim: float) -> Action:
        """Return the action of this bidder.

        :param whim: a number from 0 to 1, which picks one of several possible actions.
        """

    def likelihood(self, held: Held, turn: Turn, action: Action) -> float:
        """Return the chance that this bidder acts like that."""


def _calls(turn: Turn, held: Held, trust: float) -> tuple[float, Action]:
    """Return the weight of the likelier call, below zero if there is none, and that call."""
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


def _chance(held: Held, face: int, quantity: int) -> float:
    row = held.chances[face]
    return row[quantity] if quantity < len(row) else 0.0


class Safest:
    """Makes the likeliest raise, calls if that is likelier, and bluffs now and then."""

    NERVE: Final = OddsPlayer.NERVE
    SURE: Final = OddsPlayer.SURE

    def __init__(self, trust: float, bluff: float, near: float) -> None:
        """``near``: moves whose chance is less than this below that of the best one are made as well."""
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
        weight = call if is_call and action == which else -1.0 if is_call else _chance(held, face, quantity)
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
    """Makes the highest raise that is still likely enough, and calls if that is likelier."""

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
    """Draws the kind of move first, then the move."""

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
        # After a void accusation a raise may have to be higher than the dice in play.
        return 1 / max(kinds, 1) / (1 if action < 8 else max(bids, 1))


class Wavering:
    """Draws likely moves more often (a softmax), so that it fits every player a little, and none exactly."""

    CALL: Final = 0.1
    """The temperature of its choice between a call and the best bid."""
    REACH: Final = 3
    """How many quantities of a face it looks at."""

    def _call(self, held: Held, turn: Turn) -> tuple[float, Action]:
        """Return the chance that it calls, and that call."""
        call, which = _calls(turn, held, OddsPlayer.TRUST)
        best, _ = _safest(held, turn)
        if best < 0:
            return 1.0, which
        return (1 / (1 + exp((best - call) / self.CALL)) if call >= 0 else 0.0), which

    def _pulls(self, held: Held, turn: Turn) -> list[Row]:
        """Return the weights of the bids, for each option."""
        return [
            held.pull[face][low : min(high + 1, low + self.REACH)] or _FAR_OFF  # more dice than there are
            for face, low, high in turn.options
        ]

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
    """Return the chance of the likeliest bid, and the lowest with that chance; below zero if there is none."""
    chances = held.chances
    best, safest = -1.0, 0
    for face, low, _ in turn.options:
        row = chances[face]
        chance = row[low] if low < len(row) else 0.0
        if chance >= best and (chance > best or low * 8 + face < safest):
            best, safest = chance, low * 8 + face
    return best, safest


def _number(held: Held, turn: Turn, least: float) -> int:
    """Return how many bids have at least this chance to stand."""
    chances, negated = held.chances, held.negated
    number = 0
    for face, low, high in turn.options:
        row = chances[face]
        if low < len(row) and row[low] >= least:  # seldom, and a search takes longer
            end = bisect_right(negated[face], -least)
            number += (end if end <= high else high + 1) - low
    return number


def _pick(held: Held, turn: Turn, least: float, index: int) -> Action:
    """Return one of the bids with at least this chance to stand, by its index among them."""
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


BIDDERS: Final[tuple[Bidder, ...]] = (
    Safest(0.0, 0.0, 0.0),
    Safest(OddsPlayer.TRUST, OddsPlayer.BLUFF, OddsPlayer.NEAR),
    Presser(PressPlayer.OPENING, PressPlayer.RAISE),
    Presser(0.5, 0.5),
    Presser(0.35, 0.35, 0.35),
    Wavering(),
    Anyhow(),
)
PRIOR: Final = (0.2, 0.2, 0.2, 0.1, 0.1, 0.15, 0.05)
"""How likely each is before anything is known."""
SLIP: Final = 0.03
"""How often a bidder does anything at all instead."""
ANYHOW: Final = Anyhow()
