"""The beliefs of ``mind`` about other players, and its simulation of a round for each promising move.

*Habits* are a distribution over the models of :mod:`p2pdice.players.bidders`. Each showdown reveals the hands behind
the bids of the round, and so the probability with which each model would have made these bids.

A *world* assigns a hand and a model to every other player, who then follows the model. When the turn comes back to this
bot, the bot must not look at the hands in the world: it makes the move that is best over all worlds with the same
standing bid. All moves are tried in the same worlds, and moves that do badly in the first worlds are dropped. The
effort is limited by a number of replies rather than by time, so equal seeds yield equal moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import exp, log
from random import Random
from typing import Final, NamedTuple

from p2pdice.counting import Counting, in_row
from p2pdice.moves import Hand
from p2pdice.players.bidders import (
    ANYHOW,
    EXACT,
    LIAR,
    PRIOR,
    SLIP,
    Action,
    Bidder,
    Held,
    ImaginedRound,
    Made,
    Presser,
    Turn,
    action_of,
    held,
)
from p2pdice.players.tactics import share
from p2pdice.views import View

# Beliefs


class Habits:
    """The probabilities with which a seat bids like each of the models."""

    MEMORY: Final = 0.97
    """The factor by which evidence loses weight with each showdown."""
    LEAST: Final = 0.02
    """Less probable models are ignored."""

    def __init__(self) -> None:
        self._logs = [log(chance) for chance in PRIOR.values()]
        self.weights: tuple[float, ...] = tuple(PRIOR.values())
        self.likely: tuple[tuple[Bidder, float], ...] = tuple(PRIOR.items())

    def learn(self, decisions: Sequence[tuple[Held, Turn, Action]]) -> None:
        """Update the probabilities from the seat's decisions in a round, now that its hand is known."""
        logs = [self.MEMORY * value for value in self._logs]
        for held_, turn, action in decisions:
            anything = SLIP * ANYHOW.likelihood(held_, turn, action)
            for index, bidder in enumerate(PRIOR):
                logs[index] += log((1 - SLIP) * bidder.likelihood(held_, turn, action) + anything)
        top = max(logs)
        self._logs = [value - top for value in logs]
        weights = [exp(value) for value in self._logs]
        total = sum(weights)
        self.weights = tuple(weight / total for weight in weights)
        self.likely = tuple(
            (bidder, weight) for bidder, weight in zip(PRIOR, self.weights, strict=True) if weight > self.LEAST
        )


class Belief:
    """The hands that a seat may hold in this round, each combined with each probable model.

    :param number: dice of this seat.
    :param dice: dice in play.
    :param counting: how dice count.
    :param hands: number of hands to draw. The seat's bids change their weights.
    """

    def __init__(self, number: int, dice: int, counting: Counting, habits: Habits, hands: int, rng: Random) -> None:
        self._number, self._dice, self._counting, self._rng = number, dice, counting, rng
        self._hands = hands
        self._bidders = [bidder for bidder, _ in habits.likely]
        self._chances = [weight for _, weight in habits.likely]
        self._pairs: list[tuple[Held, Bidder]] = []
        self._weights: list[float] = []

    def _hand(self) -> Held:
        rng = self._rng.random
        hand: Hand = tuple(sorted([int(rng() * 6) + 1 for _ in range(self._number)]))
        return held(hand, self._dice, self._counting)

    def bid(self, turn: Turn, action: Action) -> None:
        """Update the weights after the seat's bid."""
        if not self._pairs:
            hands = [self._hand() for _ in range(self._hands)]
            self._pairs = [(hand, bidder) for hand in hands for bidder in self._bidders]
            self._weights = self._chances * len(hands)
        anything = SLIP * ANYHOW.likelihood(self._pairs[0][0], turn, action)
        self._weights = [
            weight * ((1 - SLIP) * bidder.likelihood(hand, turn, action) + anything)
            for weight, (hand, bidder) in zip(self._weights, self._pairs, strict=True)
        ]

    def draw(self, number: int) -> list[tuple[Held, Bidder]]:
        """Draw ``number`` hands by weight, each with a model."""
        if self._pairs:
            return self._rng.choices(self._pairs, cum_weights=list(accumulate(self._weights)), k=number)
        bidders = self._rng.choices(self._bidders, self._chances, k=number)
        return [(self._hand(), bidder) for bidder in bidders]


# Simulation


class Playout(NamedTuple):
    """The part of a simulated round's state that decides which moves are possible next."""

    bid: Action
    bidder: int
    immune: frozenset[int]
    """Seats against which the next accusation is void."""
    made: Made
    """Bids that may not be repeated."""


class World:
    """Possible hands of all players, and the models by which the others bid."""

    __slots__ = ("bidders", "counts", "helds", "replies", "whims")

    def __init__(self, helds: dict[int, Held], bidders: dict[int, Bidder], whims: dict[int, float]) -> None:
        self.helds, self.bidders, self.whims = helds, bidders, whims
        self.counts = [sum(column) for column in zip(*[had.counts for had in helds.values()], strict=True)]
        self.replies: dict[int, Action] = {}


class Thought:
    """The search for one move."""

    STEPS: Final = ((40, 12, 2), (8, 16, 2), (3, 32, 2))
    """The search in steps: how many of the best moves to keep, in how many more worlds to try them, and how often the
    turn may come back to this bot with a choice.
    """
    EFFORT: Final = 2_500
    """No further step starts after this many simulated replies."""
    LONG_STEPS: Final = ((40, 2, 0), (10, 2, 0), (5, 3, 1), (4, 4, 1), (3, 8, 1), (3, 8, 1))
    """The steps for rules that forbid repeating a bid, under which many replies precede a call."""
    LONG_EFFORT: Final = 800
    """:attr:`EFFORT` under these rules."""
    ALIKE: Final = 0.004
    """Moves less than this below the best probability of winning count as equally good; one of them is drawn."""

    def __init__(self, view: View, round_: ImaginedRound, beliefs: Mapping[int, Belief], rng: Random) -> None:
        self.view, self.round, self.rng, self.beliefs = view, round_, rng, beliefs
        state = view.state
        self.me = view.seat
        self.first = state.bids[0].face if state.bids else 0
        self.own = held(view.hand, round_.total, round_.counting(self.first))
        self.made = round_.made(state.bids)
        self.tracks = round_.forbids_repeats
        self.raises: dict[tuple[int, Playout], set[Action]] = {}
        self.policy: Bidder = Presser(0.6, 0.6, 0.35)
        self.immune = frozenset(state.motes.immune) if state.motes is not None else frozenset()
        self._shares: dict[tuple[int, int, bool, Action, tuple[int, ...]], float] = {}
        self._called: dict[int, float] = {}
        """The probability of winning after a call without sides, by bid, call, count, caller and bidder."""
        self._turns: dict[int, Turn] = {}
        """Turns by standing bid, seat and opening, including repeated bids."""
        self._lefts: dict[tuple[int, Made, bool], Turn] = {}
        """Turns without repeated bids, by the key of ``_turns``, the bids made, and whether calls are allowed."""
        self.played = 0

    # Worlds

    def worlds(self, number: int) -> list[World]:
        drawn = {seat: belief.draw(number) for seat, belief in self.beliefs.items()}
        rng, me, own = self.rng.random, self.me, self.own
        worlds = []
        for index in range(number):
            helds, bidders, whims = {me: own}, {}, {}
            for seat, pairs in drawn.items():
                helds[seat], bidders[seat] = pairs[index]
                whims[seat] = rng()
            worlds.append(World(helds, bidders, whims))
        return worlds

    # Calls

    def called(self, world: World, caller: int, bidder: int, standing: Action, call: Action) -> float:
        """Return this bot's probability of winning the match after a call."""
        if self.round.ruleset.siding:
            return self._called_with_sides(world, caller, bidder, standing, call)
        key = (((standing * 2 + call) * 256 + world.counts[standing % 8]) * 16 + caller) * 16 + bidder
        chance = self._called.get(key)
        if chance is None:
            chance = self._called[key] = self._called_with_sides(world, caller, bidder, standing, call)
        return chance

    def _called_with_sides(self, world: World, caller: int, bidder: int, standing: Action, call: Action) -> float:
        quantity, face = divmod(standing, 8)
        right = self.round.is_right(call, quantity, world.counts[face])
        sided: tuple[int, ...] = ()
        if self.round.ruleset.siding:
            found = []
            for seat in self.round.live:
                if seat not in (caller, bidder):
                    stands = in_row(world.helds[seat].chances[face], quantity)
                    if (1 - stands >= stands) == right:
                        found.append(seat)
            sided = tuple(found)
        key = (caller, bidder, right, call, sided)
        chance = self._shares.get(key)
        if chance is None:
            dice = self.round.dice_after(call, caller, bidder, right, sided)
            chance = self._shares[key] = share(self.round.ruleset, dice, self.round.live, self.me)
        return chance

    # Simulating rounds

    def bid(self, action: Action, worlds: Sequence[World], first: int, depth: int, table: Playout) -> float:
        """Let this bot bid ``action``, and return the sum over ``worlds`` of its probability of winning."""
        me, following, turn_of = self.me, self.round.following, self.round.turn
        tracks, turns, lefts = self.tracks, self._turns, self._lefts
        opened = self.round.opening(first)
        made = table.made | 1 << action if tracks else 0
        begun = Playout(action, me, table.immune, made)
        total = 0.0
        fresh = 0
        back: defaultdict[Playout, list[World]] = defaultdict(list)
        for world in worlds:
            standing, bidder, immune, made = begun
            seat = following[me]
            while seat != me:
                may_call = bidder not in immune
                key = (standing * 16 + seat) * 8 + opened
                turn = turns.get(key) if may_call else turn_of(seat, standing, first, 0, False)
                if turn is None:
                    turn = turns[key] = turn_of(seat, standing, first)
                is_usual = may_call
                if tracks and made & turn.lowest:
                    is_usual = False
                    left = lefts.get((key, made, may_call))
                    if left is None:
                        left = lefts[key, made, may_call] = turn.without(made)
                    turn = left
                reply = world.replies.get(key) if is_usual else None
                if reply is None:
                    fresh += 1
                    reply = world.bidders[seat].act(world.helds[seat], turn, world.whims[seat])
                    if is_usual:
                        world.replies[key] = reply
                if reply < 8:
                    total += self.called(world, seat, bidder, standing, reply)
                    break
                if not may_call:
                    immune -= {bidder}
                if tracks:
                    made |= 1 << reply
                standing, bidder, seat = reply, seat, following[seat]
            else:
                back[Playout(standing, bidder, immune, made)].append(world)
        self.played += len(worlds) + fresh
        for standing_now, group in back.items():
            total += self._mine(standing_now, group, first, depth)
        return total

    def _mine(self, table: Playout, group: list[World], first: int, depth: int) -> float:
        """Return the same sum as :meth:`bid`, but for this bot's turn at the standing bid ``table.bid``."""
        me = self.me
        may_call = table.bidder not in table.immune
        turn = self.round.turn(me, table.bid, first, table.made, may_call)
        call = sum(self.called(world, me, table.bidder, table.bid, LIAR) for world in group)
        if not turn.options:
            return call
        if not may_call:
            table = table._replace(immune=table.immune - {table.bidder})
        if depth <= 0:
            action = self.policy.act(self.own, turn, 0.5)
            if action < 8:
                return call
            return self.bid(action, group, first, -1, table) if depth == 0 else call
        opened = self.round.opening(first)
        raises = self.raises.get((opened, table))
        if raises is None:
            raises = {self._raise(turn, least) for least in (1.0, 0.7, 0.4)}
            if not self.tracks:
                self.raises[opened, table] = raises
        depth = depth - 1 if len(group) > 5 else 0
        best = max(self.bid(action, group, first, depth, table) for action in raises)
        return max(best, call) if may_call else best

    def _raise(self, turn: Turn, least: float) -> Action:
        return Presser(least, least).act(self.own, turn._replace(may_call=False, may_exact=False), 0.5)

    # Choosing

    def candidates(self, turn: Turn) -> list[Action]:
        """Return the promising bids: on each face the lowest, and the highest of each of several probabilities."""
        chances = self.own.chances
        found: set[Action] = set()
        for face, low, high in turn.options:
            row = chances[face]
            found.add(low * 8 + face)
            quantity = low
            for least in (0.65, 0.3) if self.tracks else (0.85, 0.65, 0.45, 0.3, 0.15):
                while quantity < high and quantity + 1 < len(row) and row[quantity + 1] >= least:
                    quantity += 1
                if quantity > low:
                    found.add(quantity * 8 + face)
        if self.me in self.immune:
            found.update(high * 8 + face for face, low, high in turn.options)
        return sorted(action for action in found if not self.made >> action & 1)

    def choose(self, may_call: bool) -> Action:
        bids = self.view.state.bids
        standing = action_of(bids[-1]) if bids else 0
        turn = self.round.turn(self.me, standing, self.first, self.made, may_call)
        scores: dict[Action, float] = dict.fromkeys(self.candidates(turn), 0.0)
        if turn.may_call:
            scores[LIAR] = 0.0
        if turn.may_exact:
            scores[EXACT] = 0.0
        if len(scores) == 1:
            return next(iter(scores))
        drawn = 0
        steps, effort = (self.LONG_STEPS, self.LONG_EFFORT) if self.tracks else (self.STEPS, self.EFFORT)
        for left, number, depth in steps:
            if len(scores) > left:
                kept = sorted(scores, key=lambda action: -scores[action])[:left]
                scores = {action: scores[action] for action in kept}
            worlds = self.worlds(number)
            for action in scores:
                scores[action] += self._sum(action, worlds, standing, depth)
            drawn += number
            if self.played > effort:
                break
        best = max(scores.values())
        return self.rng.choice([action for action, score in scores.items() if score > best - self.ALIKE * drawn])

    def _sum(self, action: Action, worlds: list[World], standing: Action, depth: int) -> float:
        if action < 8:
            bidder = self.view.state.bids[-1].seat
            return sum(self.called(world, self.me, bidder, standing, action) for world in worlds)
        first = self.first or action % 8
        return self.bid(action, worlds, first, depth, Playout(standing, self.me, self.immune, self.made))
