"""The interface of a bot in Python, the base of the house bots, and the simple house bots.

The simple ones consider only their own dice and look one move ahead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import Final

from p2pdice.counting import in_row, rows
from p2pdice.events import Event
from p2pdice.moves import LIAR, Bid, Exact, Move, Power, Side, Stake
from p2pdice.players.tactics import choose_power, is_about_powers, wanted_power
from p2pdice.rulesets import Ruleset
from p2pdice.views import View


class Player(ABC):
    """A bot. Subclasses must define :meth:`choose`; the other methods serve bots that remember events.

    A table calls :meth:`started` once, :meth:`stake` if players bet, :meth:`choose` on each turn of this bot,
    :meth:`happened` for each event, and :meth:`over` at the end. Then it may call :meth:`started` again for another
    match. In a resumed match a new object plays on, without receiving the earlier events.

    A bot receives views: its own dice and public facts, and nothing else. A bot that takes too long may have a default
    move played for it. An illegal move or an exception is the bot's fault.
    """

    def started(self, ruleset: Ruleset, seat: int, players: int) -> None:  # noqa: B027 - optional
        """Receive the rules, this bot's seat and the number of seats."""

    @abstractmethod
    def choose(self, view: View) -> Move:
        """Return a legal move. Called only on this bot's turn, so ``view.legal`` is not empty.

        ``view.state`` is the public state with the bids of the round; ``view.hand`` contains this bot's own dice.
        """

    def stake(self, funds: int, tickets: int) -> Stake:
        """Return a bet on this bot's victory, out of these coins and run tickets. The default is to bet nothing."""
        return Stake(0)

    def happened(self, event: Event) -> None:  # noqa: B027 - optional
        """Receive one event of the match. The bot's own moves cause events, too."""

    def over(self, places: tuple[tuple[int, ...], ...]) -> None:  # noqa: B027 - optional
        """Receive the final places: the seats on each place, best first."""


def is_good_to_be_right(ruleset: Ruleset) -> bool:
    """Return whether being right about a call helps to win: it depends on who loses a die, and on the goal."""
    return (ruleset.verdict == "right-side-discards") == (ruleset.goal == "first-out")


def weigh(
    view: View, bids: Sequence[Bid], calls: Sequence[Move], trust: float = 0.0
) -> tuple[list[float], list[float]]:
    """Return the weight of each bid and call: the probability of being right, or of being wrong if that is better.

    :param calls: liar, exact, or the sides to take.
    :param trust: how much a bid counts as evidence, from 0 (not at all) to 1 (its bidder certainly has a die that
        counts for it).
    """
    state, hand = view.state, view.hand
    unknown = sum(state.dice) - len(hand)
    counting = state.counting
    table = rows(hand, unknown, counting)
    try:
        bidding = [table[bid.face][bid.quantity] for bid in bids]
    except IndexError:  # some bid exceeds the dice in play, which happens if the player must bid
        bidding = [in_row(table[bid.face], bid.quantity) for bid in bids]
    calling = []
    if calls and state.bids:
        quantity, face, bidder = state.bids[-1]
        stands = in_row(table[face], quantity)
        believed = stands
        if trust and unknown and bidder != view.seat:
            likely = in_row(rows(hand, unknown - 1, counting)[face], quantity - 1)
            believed += trust * (likely - stands)
        for call in calls:
            if type(call) is Exact:
                calling.append(stands - in_row(table[face], quantity + 1))
            else:
                calling.append(believed if type(call) is Side and call.side == "accused" else 1 - believed)
    if is_good_to_be_right(state.ruleset):
        return bidding, calling
    return [1 - chance for chance in bidding], [1 - chance for chance in calling]


class RandomPlayer(Player):
    """``random``: plays any legal move.

    It draws the kind of move first. Most legal moves are bids, so a plain draw would hardly ever call.

    :param rng: the only source of randomness; equal generators and views yield equal moves.
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def choose(self, view: View) -> Move:
        kinds: dict[type, list[Move]] = {}
        for move in view.legal:
            kinds.setdefault(type(move), []).append(move)
        return self._rng.choice(self._rng.choice(list(kinds.values())))


class HousePlayer(Player):
    """A bot that plays dice with powers by :mod:`p2pdice.players.tactics`. Subclasses decide how to bid and call.

    :param rng: the only source of randomness; equal generators and views yield equal moves.
    """

    AUDACITY = 0.5
    """The probability of opening with the highest listed bid while immune, when an accusation would be void."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def choose(self, view: View) -> Move:
        listed = view.legal
        motes = view.state.motes
        if motes is not None:
            if is_about_powers(listed):
                return self.choose_power(view, listed)
            if isinstance(listed[-1], Power):
                power = self.power_before_bidding(view, [move for move in listed if isinstance(move, Power)])
                if power is not None:
                    return power
                listed = [move for move in listed if not isinstance(move, Power)]
            standing = view.state.bid
            if standing is None:
                if view.seat in motes.immune and self._rng.random() < self.AUDACITY:
                    return listed[-1]
            elif standing.seat in motes.immune and LIAR in listed:
                return LIAR  # a raise is due in any case, and the call uses up the immunity
        bids = [move for move in listed if type(move) is Bid]
        return self.bid_or_call(view, bids, listed[len(bids) :])

    @abstractmethod
    def bid_or_call(self, view: View, bids: Sequence[Bid], calls: Sequence[Move]) -> Move:
        """Return one of these moves. ``calls`` are liar and exact, or the sides to take."""

    def choose_power(self, view: View, moves: Sequence[Move]) -> Move:
        """Return one of these moves, for a window, an answer, or a die to lose or crown."""
        return choose_power(view, moves, self._rng)

    def power_before_bidding(self, view: View, powers: Sequence[Power]) -> Power | None:
        """Return the power to play before bidding or calling, or None."""
        return wanted_power(view, powers, self._rng)

    def stake(self, funds: int, tickets: int) -> Stake:
        """Bet up to a fifth of the funds, and no tickets."""
        return Stake(self._rng.randint(0, funds // 5))


class CautiousPlayer(HousePlayer):
    """``cautious``: makes the lowest of the safest raises, or a call if that is more probable."""

    def bid_or_call(self, view: View, bids: Sequence[Bid], calls: Sequence[Move]) -> Move:
        bidding, calling = weigh(view, bids, calls)
        safest = max(bidding, default=-1.0)
        likeliest = max(calling, default=-1.0)
        return calls[calling.index(likeliest)] if likeliest > safest else bids[bidding.index(safest)]


class PressPlayer(HousePlayer):
    """``press``: makes the highest bid that is still likely, or a call if that is more probable."""

    OPENING: Final = 0.75
    """The minimum probability of an opening bid."""
    RAISE: Final = 0.70
    """The minimum probability of a raise. If no raise reaches it, the bot makes the safest one."""

    def bid_or_call(self, view: View, bids: Sequence[Bid], calls: Sequence[Move]) -> Move:
        bidding, calling = weigh(view, bids, calls)
        likeliest = max(calling, default=-1.0)
        weight, bid = -1.0, None
        if bids:
            least = min(self.RAISE if view.state.bids else self.OPENING, max(bidding))
            # The highest quantity; among its bids the most probable, then the one with the highest face.
            likely = [
                (move.quantity, chance, move.face)
                for move, chance in zip(bids, bidding, strict=True)
                if chance >= least
            ]
            quantity, weight, face = max(likely)
            bid = Bid(quantity, face)
        return calls[calling.index(likeliest)] if bid is None or likeliest > weight else bid


class OddsPlayer(HousePlayer):
    """``odds``: makes the most probable raise or call, trusts the standing bid a little, and sometimes bluffs."""

    TRUST: Final = 0.35
    """How much a bid counts as evidence: see :func:`weigh`."""
    BLUFF: Final = 0.15
    """The probability of a random bid among those above :attr:`NERVE`. Most of these are bluffs."""
    NERVE: Final = 0.25
    """The minimum probability of a bluff."""
    SURE: Final = 0.8
    """The bot does not bluff if a call is right with at least this probability."""
    NEAR: Final = 0.02
    """Moves whose weight is less than this below the highest count as equally good."""

    def bid_or_call(self, view: View, bids: Sequence[Bid], calls: Sequence[Move]) -> Move:
        bidding, calling = weigh(view, bids, calls, self.TRUST)
        if max(calling, default=0.0) < self.SURE:
            bold = [bid for bid, weight in zip(bids, bidding, strict=True) if weight >= self.NERVE]
            if bold and self._rng.random() < self.BLUFF:
                return self._rng.choice(bold)
        weights = [*bidding, *calling]
        least = max(weights) - self.NEAR
        return self._rng.choice([(*bids, *calls)[index] for index, weight in enumerate(weights) if weight > least])
