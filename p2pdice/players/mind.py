"""``mind`` follows a policy that is hard to exploit, and exploits opponents who are simple house bots.

The policy is in :mod:`p2pdice.solved`. In rounds that it covers, ``mind`` follows it until the moves of all opponents
show that they are ``cautious``, ``odds`` or ``press``: see :class:`Proof`. Then, and in rounds without a policy, it
infers the hands of other players from their bids, and simulates the rest of the round before each move::

    bids of the round ────┐
    each player's habits ─┼──▶ beliefs about hands ──▶ worlds: hands and ways to bid, drawn together
                          │                               │
    each promising move ──▶ the round is played out in every world ──▶ dice left ──▶ probability of winning

=================================  ===============================================================================
:mod:`p2pdice.solved.policy`       the policy
:mod:`p2pdice.players.bidders`     the moves that the engine allows in a round, hands, and models of bidders
:mod:`p2pdice.players.playouts`    beliefs about other players, and rounds played out to compare moves
:mod:`p2pdice.players.tactics`     dice with powers, and the probability of winning with the remaining dice
=================================  ===============================================================================
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log
from random import Random
from typing import Final

from p2pdice.counting import Counting
from p2pdice.events import AccusationVoid, BidMade, ChallengeCalled, Event, HandsShown, RoundStarted
from p2pdice.moves import Bid, Liar, Move, Pass, Power, Side
from p2pdice.players.bidders import (
    ANYHOW,
    EXACT,
    LIAR,
    SIMPLE,
    SLIP,
    WAVERING,
    Action,
    Held,
    ImaginedRound,
    Turn,
    action_of,
    held,
    move_of,
)
from p2pdice.players.house import HousePlayer, OddsPlayer, is_good_to_be_right
from p2pdice.players.playouts import Belief, Habits, Thought
from p2pdice.players.tactics import best, better_than_none
from p2pdice.rulesets import Ruleset
from p2pdice.solved.policy import Likelihoods, likelihoods
from p2pdice.state import NOBODY, PlacedBid, State
from p2pdice.views import View


class Proof:
    """The evidence that a seat is a simple house bot, from its moves and the hand that a showdown revealed.

    For each model of a simple bot it is the logarithm of a likelihood ratio (Neyman and Pearson, Philosophical
    Transactions A 231, 1933): the likelihood of the moves under the model, divided by that under the policy, or under
    :class:`~p2pdice.players.bidders.Wavering` where there is no policy.
    """

    ENOUGH: Final = log(200)
    """A seat counts as a simple bot if the evidence for one of the models exceeds this."""
    MOST: Final = log(1000)
    """The upper limit of the evidence. It lets ``mind`` soon notice a player who stops imitating a simple bot."""
    LEAST: Final = 0.02
    """The lowest likelihood that is used for a move under the policy."""

    def __init__(self) -> None:
        self._logs = [0.0] * len(SIMPLE)

    def add(self, held: Held, turn: Turn, action: Action, likelihood: float) -> None:
        """Add one move.

        :param likelihood: its likelihood under the policy.
        """
        anything = SLIP * ANYHOW.likelihood(held, turn, action)
        for index, bidder in enumerate(SIMPLE):
            simple = (1 - SLIP) * bidder.likelihood(held, turn, action) + anything
            self._logs[index] = min(self._logs[index] + log(simple / max(likelihood, self.LEAST)), self.MOST)

    @property
    def is_enough(self) -> bool:
        return max(self._logs) > self.ENOUGH


class MindPlayer(HousePlayer):
    """``mind``: follows a policy, or infers hands and simulates rounds, as the module describes.

    :param rng: the only source of randomness; equal generators, views and events yield equal moves.
    """

    AUDACITY = 0.0  # the simulation decides how high to bid while immune
    HANDS: Final = 40
    """The maximum number of hands considered for each other player."""
    HANDS_IN_ALL: Final = 160
    """The maximum number of hands considered for all other players together."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self._simple = OddsPlayer(rng)
        self._forget()

    def _forget(self) -> None:
        self.habits: defaultdict[int, Habits] = defaultdict(Habits)
        """The observed bidding habits, by seat."""
        self.proofs: defaultdict[int, Proof] = defaultdict(Proof)
        """The evidence that seats are simple bots, by seat."""
        self._begun: tuple[tuple[int, ...], tuple[int, ...], bool, int] | None = None
        self._bids: list[PlacedBid] = []
        self._call: tuple[int, Action] | None = None
        self._believed: tuple[object, int, Mapping[int, Belief]] = (None, 0, {})
        self._counting: Counting | None = None
        self._round: ImaginedRound | None = None
        self._ruleset: Ruleset | None = None
        self._me = NOBODY

    def started(self, ruleset: Ruleset, seat: int, players: int) -> None:
        self._forget()
        self._ruleset, self._me = ruleset, seat

    # Learning

    def happened(self, event: Event) -> None:
        kind = type(event)
        if kind is BidMade:
            assert isinstance(event, BidMade)
            self._bids.append(PlacedBid(event.quantity, event.face, event.seat))
        elif kind is RoundStarted:
            assert isinstance(event, RoundStarted)
            live = tuple(seat for seat, number in enumerate(event.dice) if number)
            self._begun = (event.dice, live, event.palifico, event.round)
            self._bids, self._call = [], None
        elif kind is ChallengeCalled:
            assert isinstance(event, ChallengeCalled)
            self._call = (event.seat, LIAR if event.call == "liar" else EXACT)
        elif kind is AccusationVoid:
            self._call = None
        elif kind is HandsShown:
            assert isinstance(event, HandsShown)
            if self._begun is not None and self._ruleset is not None:
                self._learn(event, ImaginedRound(self._ruleset, *self._begun))
                self._begun = None

    def _learn(self, shown: HandsShown, round_: ImaginedRound) -> None:
        decisions: defaultdict[int, list[tuple[Held, Turn, Action]]] = defaultdict(list)
        standing = first = 0
        actions = [(bid.seat, action_of(bid)) for bid in self._bids]
        if self._call is not None:
            actions.append(self._call)
        for index, (seat, action) in enumerate(actions):
            hand = shown.hands[seat]
            turn = round_.turn(seat, standing, first, round_.made(self._bids[:index]))
            first = first or action % 8
            counting = round_.counting(first)
            if hand and seat != self._me:
                held_ = held(hand, round_.total, counting)
                decisions[seat].append((held_, turn, action))
                moves = likelihoods(round_.state(seat, tuple(self._bids[:index])), tuple(sorted(hand)))
                likely = WAVERING.likelihood(held_, turn, action) if moves is None else _share(moves, action)
                self.proofs[seat].add(held_, turn, action, likely)
            standing = action
        for seat, own in decisions.items():
            self.habits[seat].learn(own)

    # Choosing

    def choose_power(self, view: View, moves: Sequence[Move]) -> Move:
        if isinstance(moves[-1], Pass):
            return best(view.state, view.seat, moves)
        return super().choose_power(view, moves)

    def power_before_bidding(self, view: View, powers: Sequence[Power]) -> Power | None:
        return better_than_none(view.state, view.seat, powers)

    def bid_or_call(self, view: View, bids: Sequence[Bid], calls: Sequence[Move]) -> Move:
        state = view.state
        moves = likelihoods(state, view.hand)
        if moves and not all(self.proofs[seat].is_enough for seat in state.live if seat != view.seat):
            return self._rng.choices(list(moves), list(moves.values()))[0]
        if not is_good_to_be_right(state.ruleset):
            return self._simple.bid_or_call(view, bids, calls)
        round_ = self._round_of(state)
        beliefs = self._beliefs(view, round_)
        thought = Thought(view, round_, beliefs, self._rng)
        if calls and isinstance(calls[0], Side):
            return self._side(thought, calls)
        action = thought.choose(any(isinstance(call, Liar) for call in calls))
        return move_of(action)

    def _side(self, thought: Thought, calls: Sequence[Move]) -> Move:
        quantity, face, _ = thought.view.state.bids[-1]
        worlds = thought.worlds(100)
        true = sum(world.counts[face] >= quantity for world in worlds)
        return next(call for call in calls if isinstance(call, Side) and (call.side == "accused") == (2 * true > 100))

    def _round_of(self, state: State) -> ImaginedRound:
        terms = (state.ruleset, state.dice, state.live, state.palifico, state.round)
        if self._round is None or self._round.terms != terms:
            self._round = ImaginedRound(*terms)
        return self._round

    def _beliefs(self, view: View, round_: ImaginedRound) -> Mapping[int, Belief]:
        """Return beliefs about the other players' hands by seat, given all bids of the round so far."""
        state = view.state
        counting = round_.counting(state.bids[0].face if state.bids else 0)
        key = (state.round, state.dice, state.live, view.hand)
        known, taken, beliefs = self._believed
        if known != key or taken > len(state.bids) or counting is not self._counting:
            taken = 0
            others = [seat for seat, number in enumerate(state.dice) if number and seat != view.seat]
            hands = min(self.HANDS, self.HANDS_IN_ALL // len(others)) if others else 0
            beliefs = {
                seat: Belief(state.dice[seat], round_.total, counting, self.habits[seat], hands, self._rng)
                for seat in others
            }
        standing = first = 0
        for index, bid in enumerate(state.bids):
            action = action_of(bid)
            if index >= taken and bid.seat in beliefs:
                beliefs[bid.seat].bid(round_.turn(bid.seat, standing, first, round_.made(state.bids[:index])), action)
            first = first or bid.face
            standing = action
        self._believed = (key, len(state.bids), beliefs)
        self._counting = counting
        return beliefs


def _share(moves: Likelihoods, action: Action) -> float:
    """Return the probability of an action if these are the relative likelihoods of the moves."""
    return sum(weight for move, weight in moves.items() if action_of(move) == action) / sum(moves.values())
