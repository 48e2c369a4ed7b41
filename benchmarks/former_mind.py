"""The level ``mind`` before it had nets. It used beliefs about hands and playouts, and was predictable.

A player that learns to predict it can beat it, so it is the positive control of :mod:`benchmarks.exploit`. Only its
bids and calls are reproduced, not its play with powers and sides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random

from p2pdice.events import BidMade, ChallengeCalled, Event, HandsShown, RoundStarted
from p2pdice.moves import EXACT, LIAR, Bid, Move
from p2pdice.players.bidders import Held, ImaginedRound, Turn, held
from p2pdice.players.house import HousePlayer
from p2pdice.players.playouts import Belief, Habits, Thought
from p2pdice.rulesets import Ruleset
from p2pdice.state import PlacedBid, State
from p2pdice.views import View

HANDS = 40
"""The maximum number of hands considered for each other player."""
HANDS_IN_ALL = 160
"""The maximum number of hands considered for all other players together."""


class FormerMind(HousePlayer):
    """Infers hands from bids, and makes the move that does best in simulated rounds."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self._habits: defaultdict[int, Habits] = defaultdict(Habits)

    def started(self, ruleset: Ruleset, seat: int, players: int) -> None:
        self._ruleset, self._me = ruleset, seat
        self._habits.clear()

    def happened(self, event: Event) -> None:
        match event:
            case RoundStarted():
                live = tuple(seat for seat, number in enumerate(event.dice) if number)
                self._round = ImaginedRound(self._ruleset, event.dice, live, event.palifico, event.round)
                self._made: list[tuple[int, int]] = []
            case BidMade():
                self._made.append((event.seat, event.quantity * 8 + event.face))
            case ChallengeCalled():
                self._made.append((event.seat, 0 if event.call == "liar" else 1))
            case HandsShown():
                self._learn(event)

    def _learn(self, shown: HandsShown) -> None:
        decisions: defaultdict[int, list[tuple[Held, Turn, int]]] = defaultdict(list)
        bids: list[PlacedBid] = []
        standing = first = 0
        for seat, action in self._made:
            turn = self._round.turn(seat, standing, first, self._round.made(bids))
            first = first or action % 8
            hand = shown.hands[seat]
            if hand and seat != self._me:
                decisions[seat].append((held(hand, self._round.total, self._round.counting(first)), turn, action))
            bids.append(PlacedBid(*divmod(action, 8), seat))
            standing = action
        for seat, own in decisions.items():
            self._habits[seat].learn(own)

    def bid_or_call(self, view: View, bids: Sequence[Bid], calls: Sequence[Move]) -> Move:
        thought = Thought(view, self._round, self._beliefs(view.state, view.seat), self._rng)
        action = thought.choose(LIAR in calls)
        return Bid(*divmod(action, 8)) if action >= 8 else (LIAR, EXACT)[action]

    def _beliefs(self, state: State, me: int) -> dict[int, Belief]:
        """Return beliefs about the other players' hands by seat, given all bids of the round so far."""
        counting = self._round.counting(state.bids[0].face if state.bids else 0)
        others = [seat for seat, number in enumerate(state.dice) if number and seat != me]
        hands = min(HANDS, HANDS_IN_ALL // len(others))
        beliefs = {
            seat: Belief(state.dice[seat], self._round.total, counting, self._habits[seat], hands, self._rng)
            for seat in others
        }
        standing = first = 0
        for index, (quantity, face, seat) in enumerate(state.bids):
            action = quantity * 8 + face
            if seat in beliefs:
                turn = self._round.turn(seat, standing, first, self._round.made(state.bids[:index]))
                beliefs[seat].bid(turn, action)
            first = first or face
            standing = action
        return beliefs
