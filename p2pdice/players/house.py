"""The interface of a bot in Python, the base of the house bots, and the simple ones.

The simple house bots look at their own dice and one move ahead.
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
    """A bot. A subclass has to define :meth:`choose`; the rest is for bots that remember.

    A table calls :meth:`started` once, then :meth:`stake` if players bet, :meth:`choose` whenever this bot is to move,
    :meth:`happened` for everything that happens, and :meth:`over` at the end. After that it may call :meth:`started`
    again, for the next match. In a match that is resumed a new object plays on, and is not told the earlier events.

    A bot is given views: its own dice and public facts, and nothing else. It may take its time, but a table may play a
    default move instead of waiting. An illegal move, or an exception, is an error of the bot.
    """

    def started(self, ruleset: Ruleset, seat: int, players: int) -> None:  # noqa: B027 - optional
        """Learn the rules, the seat of this bot and the number of seats."""

    @abstractmethod
    def choose(self, view: View) -> Move:
        """Return a legal move. Asked only when it is this bot's turn, so ``view.legal`` is not empty.

        ``view.state`` is the public state, with the bids of the round; ``view.hand`` are this bot's own dice.
        """

    def stake(self, funds: int, tickets: int) -> Stake:
        """Return the stake on one's own victory, out of these coins and run tickets. By default, nothing."""
        return Stake(0)

    def happened(self, event: Event) -> None:  # noqa: B027 - optional
        """Learn one event of the match. The bot's own moves are events, too."""

    def over(self, places: tuple[tuple[int, ...], ...]) -> None:  # noqa: B027 - optional
        """Learn the seats by place, the best first."""


def is_good_to_be_right(ruleset: Ruleset) -> bool:
    """Whether the aim is to be right: the wrong one loses a die that is wanted, or the right one puts one away."""
    return (ruleset.verdict == "right-side-discards") == (ruleset.goal == "first-out")


def weigh(
    view: View, bids: Sequence[Bid], calls: Sequence[Move], trust: float = 0.0
) -> tuple[list[float], list[float]]:
    """Return the weight of each bid and of each call: the chance to be right, or to be wrong where that is the aim.

    :param calls: liar, exact, and the sides to take.
    :param trust: how far a bid counts as evidence: 0 not at all, 1 as if its bidder were sure to have a die that
        stands for it.
    """
    state, hand = view.state, view.hand
    unknown = sum(state.dice) - len(hand)
    counting = state.counting
    table = rows(hand, unknown, counting)
    try:
        bidding = [table[bid.face][bid.quantity] for bid in bids]
    except IndexError:  # bids of more dice than there are, where one has to be made
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
    """``random``: any legal move.

    It draws a kind of move first: most legal moves are bids, so it would hardly ever call otherwise.

    :param rng: its only source of randomness; the same generator and views give the same moves.
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def choose(self, view: View) -> Move:
        kinds: dict[type, list[Move]] = {}
        for move in view.legal:
            kinds.setdefault(type(move), []).append(move)
        return self._rng.choice(self._rng.choice(list(kinds.values())))


class HousePlayer(Player):
    """A bot that plays dice with powers by :mod:`p2pdice.players.tactics`; how it bids and calls is its own.

    :param rng: its only source of randomness; the same generator and views give the same moves.
    """

    AUDACITY = 0.5
    """How often it opens a round with the highest bid listed if it is immune, as an accusation would not count."""

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
                return LIAR  # the raise that follows is due anyway, and this spends the immunity
        bids = [move for move in listed if type(move) is Bid]
        return self.bid_or_call(view, bids, listed[len(bids) :])

    @abstractmethod
    def bid_or_call(self, view: View, bids: Sequence[Bid], calls: Sequence[Move]) -> Move:
        """Return one of these moves; ``calls`` are liar and exact, or the sides to take."""

    def choose_power(self, view: View, moves: Sequence[Move]) -> Move:
        """Return one of these moves in a window, as an answer, or to lose or crown a die."""
        return choose_power(view, moves, self._rng)

    def power_before_bidding(self, view: View, powers: Sequence[Power]) -> Power | None:
        """Return the power to play before one's own bid or call; None for none."""
        return wanted_power(view, powers, self._rng)

    def stake(self, funds: int, tickets: int) -> Stake:
        """Bet up to a fifth of the funds, and no tickets."""
        return Stake(self._rng.randint(0, funds // 5))


class CautiousPlayer(HousePlayer):
    """``cautious``: the safest raise, the lowest of several; calls when the call is likelier right than that raise."""

    def bid_or_call(self, view: View, bids: Sequence[Bid], calls: Sequence[Move]) -> Move:
        bidding, calling = weigh(view, bids, calls)
        safest = max(bidding, default=-1.0)
        likeliest = max(calling, default=-1.0)
        return calls[calling.index(likeliest)] if likeliest > safest else bids[bidding.index(safest)]


class PressPlayer(HousePlayer):
    """``press``: the highest bid that is still likely; calls when the call is likelier right than that bid."""

    OPENING: Final = 0.75
    """The least chance to stand with which it opens."""
    RAISE: Final = 0.70
    """The least chance to stand with which it raises. If no raise has it, it makes the safest one."""

    def bid_or_call(self, view: View, bids: Sequence[Bid], calls: Sequence[Move]) -> Move:
        bidding, calling = weigh(view, bids, calls)
        likeliest = max(calling, default=-1.0)
        weight, bid = -1.0, None
        if bids:
            least = min(self.RAISE if view.state.bids else self.OPENING, max(bidding))
            # The likeliest bid of the highest quantity; among equals that of the highest face.
            likely = [
                (move.quantity, chance, move.face)
                for move, chance in zip(bids, bidding, strict=True)
                if chance >= least
            ]
            quantity, weight, face = max(likely)
            bid = Bid(quantity, face)
        return calls[calling.index(likeliest)] if bid is None or likeliest > weight else bid


class OddsPlayer(HousePlayer):
    """``odds``: the likeliest of raises and calls, with some trust in the standing bid, and a bluff now and then."""

    TRUST: Final = 0.35
    """How far a bid counts as evidence: see :func:`weigh`."""
    BLUFF: Final = 0.15
    """How often it draws any bid that it dares to make: mostly a bluff."""
    NERVE: Final = 0.25
    """The least chance to stand that a bluff may have."""
    SURE: Final = 0.8
    """It does not bluff where a call is at least so likely to be right."""
    NEAR: Final = 0.02
    """Moves less than this below the likeliest are as good."""

    def bid_or_call(self, view: View, bids: Sequence[Bid], calls: Sequence[Move]) -> Move:
        bidding, calling = weigh(view, bids, calls, self.TRUST)
        if max(calling, default=0.0) < self.SURE:
            bold = [bid for bid, weight in zip(bids, bidding, strict=True) if weight >= self.NERVE]
            if bold and self._rng.random() < self.BLUFF:
                return self._rng.choice(bold)
        weights = [*bidding, *calling]
        least = max(weights) - self.NEAR
        return self._rng.choice([(*bids, *calls)[index] for index, weight in enumerate(weights) if weight > least])
