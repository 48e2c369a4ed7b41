"""Players that are programs: the interface of a bot, and the house player.

A bot is given views: its own dice and public facts, and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random
from typing import Final

from p2pdice.events import Event
from p2pdice.moves import LIAR, Bid, Exact, Liar, Move, Power, Side, Stake
from p2pdice.odds import at_least, exactly
from p2pdice.rulesets import Ruleset
from p2pdice.tactics import choose_power, is_about_powers
from p2pdice.views import View


class Player(ABC):
    """A bot. A subclass has to define :meth:`choose`; the rest is for bots that remember."""

    def started(self, ruleset: Ruleset, seat: int, players: int) -> None:  # noqa: B027 - optional
        """Learn the rules and the seat of this bot."""

    @abstractmethod
    def choose(self, view: View) -> Move:
        """Return a legal move. Asked only when it is this bot's turn, so ``view.legal`` is not empty."""

    def stake(self, funds: int, tickets: int) -> Stake:
        """Return the stake on one's own victory, out of these coins and run tickets. By default, nothing."""
        return Stake(0)

    def happened(self, event: Event) -> None:  # noqa: B027 - optional
        """Learn what happened, one event at a time, own moves included."""

    def over(self, places: tuple[tuple[int, ...], ...]) -> None:  # noqa: B027 - optional
        """Learn the seats by place, the best first."""


class OddsPlayer(Player):
    """The house player: weighs the calls and every raise by exact odds, and bluffs now and then.

    The weight of a call is its chance to be right, that of a raise its chance to stand. Where the rules make it bad to
    be right, the weights are turned round.

    :param rng: its only source of randomness; the same generator and views give the same moves.
    """

    TRUST: Final = 0.35
    """How far a bid counts as evidence: 0 not at all, 1 as if its bidder were sure to have a die that stands for it."""
    BLUFF: Final = 0.15
    """How often it bluffs."""
    NERVE: Final = 0.25
    """The least chance to stand that a bluff may have."""

    AUDACITY: Final = 0.5
    """How often a round is opened with the highest bid listed, where an accusation would be void."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def choose(self, view: View) -> Move:
        """Return the move of the best weight, or a bluff. Moves with powers come from :mod:`p2pdice.tactics`."""
        listed = view.legal
        if is_about_powers(listed):
            return choose_power(view, listed, self._rng)
        motes, standing = view.state.motes, view.state.bid
        if motes is not None and standing is not None and standing.seat in motes.immune and LIAR in listed:
            return LIAR  # the raise that follows is due anyway, and this spends the immunity
        legal = [move for move in listed if not isinstance(move, Power)]
        if motes is not None and standing is None and view.seat in motes.immune and self._rng.random() < self.AUDACITY:
            return legal[-1]
        weights = [self._weight(view, move) for move in legal]
        best = max(weights)
        raises = [(weight, move) for weight, move in zip(weights, legal, strict=True) if isinstance(move, Bid)]
        bold = [move for weight, move in raises if weight >= self.NERVE]
        called = [weight for weight, move in zip(weights, legal, strict=True) if not isinstance(move, Bid)]
        # A call that is all but sure is better than a bluff.
        if bold and max(called, default=0.0) < 0.8 and self._rng.random() < self.BLUFF:
            return self._rng.choice(bold)
        return self._rng.choice([move for weight, move in zip(weights, legal, strict=True) if weight > best - 0.02])

    def stake(self, funds: int, tickets: int) -> Stake:
        """Bet up to a fifth of the funds, and no tickets."""
        return Stake(self._rng.randint(0, funds // 5))

    def _weight(self, view: View, move: Move) -> float:
        chance = self._chance(view, move)
        rules = view.state.ruleset
        right_is_good = (rules.verdict == "right-side-discards") == (rules.goal == "first-out")
        return chance if right_is_good else 1 - chance

    def _chance(self, view: View, move: Move) -> float:
        """Return the chance that the player who makes ``move`` turns out right."""
        state, hand = view.state, view.hand
        unknown = sum(state.dice) - len(hand)
        if isinstance(move, Bid):
            # The first bid of a round may decide whether ones are wild in it.
            wild = state.ones_wild and not (not state.bids and state.ruleset.wild == "unless-opened" and move.face == 1)
            return float(at_least(move.quantity, move.face, hand, unknown, wild))
        standing = state.bid
        assert standing is not None
        quantity, face = standing.quantity, standing.face
        if isinstance(move, Exact):
            return float(exactly(quantity, face, hand, unknown, state.ones_wild))
        stands = float(at_least(quantity, face, hand, unknown, state.ones_wild))
        if unknown and standing.seat != view.seat:
            # A bidder tends to hold what is bid: count one unknown die in part as standing for it.
            likely = float(at_least(quantity - 1, face, hand, unknown - 1, state.ones_wild))
            stands += self.TRUST * (likely - stands)
        believed = isinstance(move, Side) and move.side == "accused"
        assert isinstance(move, Liar | Side)
        return stands if believed else 1 - stands
