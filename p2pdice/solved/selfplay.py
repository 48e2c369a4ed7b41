"""The training of a net that plays against itself: see :mod:`p2pdice.solved.learnt`.

All seats follow one policy, which improves by magnetic mirror descent (Sokota et al., arXiv:2206.05825): it is pulled
towards higher values, towards its last version, and towards the uniform policy, so that it does not cycle. The steps
are those of proximal policy optimisation (Schulman et al., arXiv:1707.06347). The pull to the uniform policy is an
entropy bonus that decreases. The net in the package is an exponential moving average of the weights.

An episode is a round from any position of a match: any number of players and dice, drawn at random. Its reward is the
change of the player's chance to win the match, divided by the mean change in similar positions, so that all rounds
have the same weight. Chances come from the *forecast*, a net that learns them from the positions after the rounds. The
baseline of the rewards comes from a *critic*, which also sees the other hands (Pinto et al., arXiv:1710.06542). In some
rounds one player trembles (Selten, International Journal of Game Theory 4, 1975). Otherwise self-play would soon
contain no unusual bids, and the net would not learn to answer them.

Every iteration has its own random generator, and :meth:`Learner.saved` returns the whole state, so interrupted training
can resume. The result depends only on the :class:`Course`: with numpy limited to one thread, the same versions of the
libraries on the same machine yield the same bytes. :mod:`p2pdice.vector` plays the rounds. Requires numpy and numba.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from p2pdice.moves import FACES
from p2pdice.rulesets import Ruleset
from p2pdice.solved.learnt import FEATURES, MOST_PLAYERS, OUTPUTS, RULE_NUMBERS, TAILS, features
from p2pdice.solved.net import pack
from p2pdice.solved.perceptron import Perceptron, Reals, packable, softmax
from p2pdice.vector import CALL_EXACT, CALL_LIAR, Matches

Integers = npt.NDArray[np.int64]

# Parameters

SIZES: Final = (FEATURES, 256, 96, OUTPUTS)
"""The numbers of units of the policy's layers."""
SEEN: Final = FEATURES + len(FACES) + 2
"""The number of inputs of the critic."""
CRITIC: Final = (SEEN, 64, 32, 1)
PLACE: Final = 3 * MOST_PLAYERS + 4 + len(RULE_NUMBERS)
"""The number of inputs of the forecast."""
FORECAST: Final = (PLACE, 64, 32, 2)
"""The numbers of units. The outputs are the log-odds of winning, and the mean change of the chance in a round."""
DECISIONS: Final = 10_000
"""The approximate number of decisions in an iteration."""
BATCH: Final = 2048
CLIP: Final = 0.2
"""A decision whose likelihood has changed by this share is not changed further in the same iteration."""
RATES: Final = (1e-3, 1e-4)
"""The first and last learning rate. It falls linearly."""
PULLS: Final = (0.10, 0.012)
"""The first and last weight of entropy. It falls geometrically for four fifths of the training, then stays."""
MEMORY: Final = 500
"""The approximate number of iterations in the moving average."""
FORECASTS: Final = 3
"""Training steps of the forecast in each iteration."""
LEAST_CHANGE: Final = 0.005
"""The least mean change by which rewards are divided."""
TREMBLING: Final = 0.5
"""The share of rounds in which one player, drawn at random, trembles."""
TREMBLE: Final = 0.1
"""The probability that a player who trembles makes any possible move instead of one drawn from the policy."""
PALIFICOS: Final = 0.15
"""The share of palificos among rounds that a player with one die leads, in rulesets with palificos."""

compiled_features = cast("Callable[..., None]", njit(features))
"""The compiled form of the function that also computes the net's input in play."""
_TAILS: Final = np.array(TAILS)

# Rounds


def _observe(
    rules: int,
    hands: npt.NDArray[np.int8],
    dice: npt.NDArray[np.int16],
    leader: npt.NDArray[np.int16],
    waiting: npt.NDArray[np.intp],
    bids: npt.NDArray[np.int16],
    made: Integers,
    lowest: npt.NDArray[np.int16],
    highest: npt.NDArray[np.int16],
    wild: npt.NDArray[np.bool_],
    palifico: npt.NDArray[np.bool_],
    exact: npt.NDArray[np.bool_],
    tails: npt.NDArray[np.float64],
    inputs: Reals,
    offered: Integers,
) -> None:
    """Write the policy's input of each player to move into ``inputs``, then the values that only the critic sees."""
    players = dice.shape[1]
    counts, turned, capped = np.zeros((players, 6), np.int64), np.zeros(players, np.int64), np.zeros(6, np.int64)
    for row in range(len(waiting)):
        match = waiting[row]
        counts[:] = 0
        total = 0
        for step in range(players):
            seat = (leader[match] + step) % players
            turned[step] = dice[match, seat]
            total += dice[match, seat]
            for die in range(dice[match, seat]):
                counts[step, hands[match, seat, die] - 1] += 1
        for face in range(6):
            capped[face] = min(highest[match, face], total)
        me = made[match] % players
        compiled_features(
            inputs[row],
            offered[row],
            rules,
            counts[me],
            turned,
            bids[match, : made[match]],
            lowest[match],
            capped,
            wild[match],
            palifico[match],
            exact[match],
            tails,
        )
        at = inputs.shape[1] - 8
        for face in range(6):
            for step in range(players):
                if step != me:
                    inputs[row, at + face] += (
                        counts[step, face] + (counts[step, 0] if wild[match] and face else 0)
                    ) / 5
        if made[match]:
            number = bids[match, made[match] - 1]
            quantity, face = (number - 1) // 6 + 1, (number - 1) % 6
            over = -quantity
            for step in range(players):
                over += counts[step, face] + (counts[step, 0] if wild[match] and face else 0)
            inputs[row, at + 6] = 1 if over >= 0 else 0
            inputs[row, at + 7] = max(-1.0, min(1.0, over / 3))


_observed = cast("Callable[..., None]", njit(_observe))


def _draw(chances: Reals, drawn: npt.NDArray[np.float64], made: Integers) -> None:
    for row in range(len(chances)):
        left, chosen = drawn[row], -1
        for output in range(chances.shape[1]):
            if chances[row, output] > 0:
                chosen = output
                left -= chances[row, output]
                if left < 0:
                    break
        made[row] = chosen


_drawn = cast("Callable[..., None]", njit(_draw))


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions of some rounds: one row of each array for each decision."""

    inputs: Reals
    """The input of the critic, which begins with the input of the policy."""
    possible: npt.NDArray[np.bool_]
    chances: Reals
    """The probabilities with which the outputs were drawn, the tremble included."""
    chosen: Integers
    """The output that was drawn."""
    move: npt.NDArray[np.int16]
    """The number of the chosen move: see :func:`p2pdice.vector.encode`."""
    match: npt.NDArray[np.intp]
    seat: npt.NDArray[np.intp]


def played(rules: int, matches: Matches, policy: Perceptron, rng: np.random.Generator) -> Decisions:
    """Play the current round of all matches to its end, and return the decisions."""
    count = len(matches.turn)
    dice, leader = matches.dice.copy(), matches.leader.copy()
    bids = np.zeros((count, 6 * int(dice.sum(axis=1).max()) + 1), np.int16)
    made = np.zeros(count, np.int64)
    found = []
    trembler = np.where(rng.random(count) < TREMBLING, rng.integers(0, dice.shape[1], count), -1)
    matches.deal(matches.roll(rng))
    started = matches.awaits_move.copy()
    while (waiting := np.flatnonzero(matches.awaits_move & started)).size:
        lowest, highest = matches.bids()
        exact = matches.may_call_exact()
        seen = np.zeros((waiting.size, SEEN), np.float32)
        offered = np.zeros((waiting.size, OUTPUTS - 2), np.int64)
        state = (bids, made, lowest, highest, matches.ones_wild, matches.palifico, exact, _TAILS)
        _observed(rules, matches.hands, dice, leader, waiting, *state, seen, offered)
        possible = np.empty((waiting.size, OUTPUTS), np.bool_)
        possible[:, 0], possible[:, 1], possible[:, 2:] = made[waiting] > 0, exact[waiting], offered > 0
        chances = softmax(policy.values(seen[:, :FEATURES])[-1], possible)
        seats = matches.turn[waiting].astype(np.intp)
        tremble = (np.float32(TREMBLE) * (trembler[waiting] == seats))[:, None]
        chances += tremble * (possible / possible.sum(axis=1, dtype=np.float32, keepdims=True) - chances)
        chosen = np.empty(waiting.size, np.int64)
        _drawn(chances, rng.random(waiting.size), chosen)
        is_bid = chosen > 1
        face = np.maximum(chosen - 2, 0) // (len(offered[0]) // len(FACES))
        quantity = offered[np.arange(waiting.size), np.maximum(chosen - 2, 0)]
        moves = np.zeros(count, np.int16)
        moves[waiting] = np.where(is_bid, 6 * quantity + face, np.where(chosen == 0, CALL_LIAR, CALL_EXACT))
        found.append(Decisions(seen, possible, chances, chosen, moves[waiting], waiting, seats))
        matches.play(moves)
        bidding = waiting[is_bid]
        bids[bidding, made[bidding]] = (6 * (quantity - 1) + face + 1)[is_bid]
        made[bidding] += 1
    return Decisions(*(np.concatenate([getattr(each, name) for each in found]) for name in Decisions.__slots__))


def positions(ruleset: Ruleset, players: int, count: int, rng: np.random.Generator) -> Matches:
    """Return matches at the start of random rounds, with similar or very different numbers of dice in the cups."""
    matches = Matches(ruleset, players, count, rng.integers(0, players, count).astype(np.int16))
    most = ruleset.dice
    alike = rng.binomial(most - 1, rng.random((count, 1)), (count, players))
    unlike = rng.integers(0, most, (count, players))
    matches.dice[:] = 1 + np.where(rng.random((count, 1)) < 0.7, alike, unlike)
    if ruleset.exact == "gain" and ruleset.dice_cap is None:
        matches.dice += ((rng.random((count, players)) < 0.05) * rng.integers(1, 4, (count, players))).astype(np.int16)
    if ruleset.palifico:
        matches.palifico[:] = (matches.dice[np.arange(count), matches.leader] == 1) & (rng.random(count) < PALIFICOS)
    return matches


# The chance to win


def _place(
    rules: int, dice: npt.NDArray[np.int16], leader: npt.NDArray[np.int16], inputs: Reals, live: npt.NDArray[np.bool_]
) -> None:
    """Write the input of the forecast for each match and each seat with dice. Seats without dice are skipped."""
    for match in range(len(dice)):
        players, total, most = 0, 0, 0
        for each in dice[match]:
            players += 1 if each else 0
            total += each
            most = max(most, each)
        for seat in range(dice.shape[1]):
            live[match, seat] = dice[match, seat] > 0
            if not dice[match, seat]:
                continue
            row, at = inputs[match, seat], 0
            for step in range(dice.shape[1]):
                other = (seat + step) % dice.shape[1]
                if dice[match, other]:
                    row[at] = dice[match, other] / 5
                    row[6 + at] = 1
                    if other == leader[match]:
                        row[12 + at] = 1
                    at += 1
            row[18] = total / 15
            row[19] = dice[match, seat] / total
            row[20] = dice[match, seat] / most
            row[21] = 1 if dice[match, seat] == 1 else 0
            row[22 + rules] = 1


_placed = cast("Callable[..., None]", njit(_place))


class Forecast:
    """The chance of each seat to win, by dice and leader at the start of a round."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.net: Final = Perceptron(FORECAST, rng)

    def look(
        self, rules: int, dice: npt.NDArray[np.int16], leader: npt.NDArray[np.int16]
    ) -> tuple[list[Reals], Reals, Reals]:
        """Return the net's values for seats with dice; for all seats, the chance to win and its mean change."""
        inputs = np.zeros((*dice.shape, PLACE), np.float32)
        live = np.zeros(dice.shape, np.bool_)
        _placed(rules, dice, leader, inputs, live)
        values = self.net.values(inputs[live])
        chances, changes = np.zeros(dice.shape, np.float32), np.ones(dice.shape, np.float32)
        chances[live] = 1 / (1 + np.exp(-values[-1][:, 0]))
        changes[live] = values[-1][:, 1]
        chances /= np.maximum(chances.sum(axis=1, keepdims=True), 1e-6)
        return values, chances, np.maximum(changes, LEAST_CHANGE)


# Learning


@dataclass(frozen=True, slots=True)
class Course:
    """The rules to learn, the number of iterations, and the seed."""

    rulesets: Mapping[str, Ruleset]
    """Rulesets by the name of their preset, from which they may differ in dice."""
    players: Sequence[int]
    """Numbers of players with dice. Iterations take the rulesets in turn, and after each cycle the next number."""
    seed: int
    iterations: int


class Learner:
    """The state of the training."""

    def __init__(self, course: Course) -> None:
        self.course: Final = course
        rng = np.random.default_rng((course.seed, 0))
        self.policy: Final = Perceptron(SIZES, rng)
        self.critic: Final = Perceptron(CRITIC, rng)
        self.forecast: Final = Forecast(rng)
        self.average: Final = self.policy.weights.copy()
        """The moving average of the policy's weights."""
        self.iteration = 0

    def learn(self) -> dict[str, float]:
        """Play some rounds and learn from them. Return figures about the iteration."""
        course = self.course
        self.iteration += 1
        rng = np.random.default_rng((course.seed, self.iteration))
        past = (self.iteration - 1) / course.iterations
        rate = RATES[0] + (RATES[1] - RATES[0]) * past
        pull = PULLS[0] * (PULLS[1] / PULLS[0]) ** min(1.0, past / 0.8)
        turn, which = divmod(self.iteration, len(course.rulesets))
        name, ruleset = list(course.rulesets.items())[which]
        rules, players = RULE_NUMBERS[name], course.players[turn % len(course.players)]
        matches = positions(ruleset, players, DECISIONS // (3 + players // 2), rng)
        dice, leader = matches.dice.copy(), matches.leader.copy()
        made = played(rules, matches, self.policy, rng)
        rewards = self._rewards(rules, dice, leader, matches, rate)[made.match, made.seat]
        guessed = self.critic.values(made.inputs)[-1][:, 0]
        gains = rewards - guessed
        order = rng.permutation(len(rewards))
        for start in range(0, max(1, len(order) - BATCH // 2), BATCH):
            self._improve(made, rewards, gains, order[start : start + BATCH], pull, rate)
        share = np.float32(max(1 / MEMORY, 1 / self.iteration))
        self.average[:] = self.average + share * (self.policy.weights - self.average)
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = -np.where(made.chances > 0, made.chances * np.log(made.chances), 0).sum(axis=1)
        return {
            "decisions": len(rewards),
            "entropy": float(entropy.mean()),
            "explained": 1 - float(gains.var() / rewards.var()),
            "bids a round": len(rewards) / len(dice) - 1,
        }

    def _rewards(self, rules: int, dice: Any, leader: Any, matches: Matches, rate: float) -> Reals:
        """Return the rewards by match and seat, and train the forecast."""
        _, after, _ = self.forecast.look(rules, matches.dice, matches.leader)
        after = np.where(matches.is_over[:, None], matches.dice > 0, after).astype(np.float32)
        for _ in range(FORECASTS):
            values, before, changes = self.forecast.look(rules, dice, leader)
            raw = 1 / (1 + np.exp(-values[-1][:, 0]))
            change = np.abs(after - before).ravel()
            error = np.stack([raw - after.ravel(), values[-1][:, 1] - change], axis=1).astype(np.float32)
            self.forecast.net.learn(values, error / np.float32(len(error)), 2 * rate)
        rewards = (after - before) / changes
        return rewards / np.float32(np.abs(rewards).mean())

    def _improve(
        self, made: Decisions, rewards: Reals, gains: Reals, batch: npt.NDArray[np.intp], pull: float, rate: float
    ) -> None:
        inputs, chosen, each = made.inputs[batch], made.chosen[batch], np.arange(len(batch))
        values = self.policy.values(inputs[:, :FEATURES])
        chances = softmax(values[-1], made.possible[batch])
        ratio = chances[each, chosen] / made.chances[batch, chosen]
        gain = gains[batch]
        counts = np.where(gain > 0, ratio < 1 + CLIP, ratio > 1 - CLIP)
        weight = (gain * ratio * counts)[:, None]
        error = chances * weight
        error[each, chosen] -= weight[:, 0]
        logs = np.log(chances + np.float32(1e-12))
        entropy = -(chances * logs).sum(axis=1, keepdims=True)
        error += np.float32(pull) * chances * (logs + entropy)
        self.policy.learn(values, error / np.float32(len(batch)), rate)
        values = self.critic.values(inputs)
        self.critic.learn(values, (values[-1] - rewards[batch][:, None]) / np.float32(len(batch)), rate)

    def packed(self) -> bytes:
        """Return the contents of the net's file."""
        return pack(packable(self.policy.cut(self.average)))

    def saved(self) -> dict[str, Any]:
        """Return the state as arrays, for :meth:`restore`."""
        nets = {"policy": self.policy, "critic": self.critic, "forecast": self.forecast.net}
        arrays = {f"{name} {key}": value for name, net in nets.items() for key, value in net.saved().items()}
        return {"iteration": self.iteration, "average": self.average, **arrays}

    def restore(self, saved: Any) -> None:
        self.iteration = int(saved["iteration"])
        self.average[:] = saved["average"]
        for name, net in (("policy", self.policy), ("critic", self.critic), ("forecast", self.forecast.net)):
            net.restore({key: saved[f"{name} {key}"] for key in net.saved()})
