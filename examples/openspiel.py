"""Liar's Dice as a game for OpenSpiel's algorithms, such as counterfactual regret minimization.

    pip install '.[vector]' open_spiel
    python examples/openspiel.py --dice 1 --iterations 400

It runs external-sampling MCCFR (Lanctot et al. 2009), and prints how often a best response wins.
"""

import argparse
from functools import cache
from typing import Any

import pyspiel

from p2pdice.engine import apply, new_match
from p2pdice.moves import FACES, Hand, Hands, Input, Play, Rolled
from p2pdice.observations import layout
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.solved.rounds import hands
from p2pdice.state import Expect
from p2pdice.vector import decode, encode
from p2pdice.views import View

TYPE = pyspiel.GameType(
    short_name="p2pdice",
    long_name="Liar's Dice of p2pdice",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=10,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=False,
    provides_observation_tensor=False,
)


@cache
def chances(dice: int) -> list[tuple[Hand, float]]:
    """Return all hands of this many dice with their probabilities. A chance outcome is an index into this list."""
    return [(hand, throws / len(FACES) ** dice) for hand, throws in hands(dice).items()]


class Match(pyspiel.Game):  # type: ignore[misc]  # OpenSpiel may not be installed
    """A whole match. Its actions are those of :class:`p2pdice.observations.Layout`."""

    def __init__(self, ruleset: Ruleset, players: int = 2) -> None:
        self.ruleset, self.players, self.layout = ruleset, players, layout(ruleset, players)
        info = pyspiel.GameInfo(
            num_distinct_actions=self.layout.actions,
            max_chance_outcomes=len(chances(self.layout.cup)),
            num_players=players,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=players * self.layout.cup * self.layout.actions,
        )
        super().__init__(TYPE, info, {})

    def new_initial_state(self) -> "MatchState":
        return MatchState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "Knowledge":
        return Knowledge()


class MatchState(pyspiel.State):  # type: ignore[misc]
    """A position."""

    def __init__(self, game: Match) -> None:
        super().__init__(game)
        self.most = game.layout.actions
        self.state = new_match(game.ruleset, game.players)
        self.hands: tuple[Hand, ...] = ()
        """The hands dealt so far in this round, by seat."""
        self.public = ""

    def current_player(self) -> int:
        if self.state.awaits is Expect.OVER:
            return int(pyspiel.PlayerId.TERMINAL)
        return int(pyspiel.PlayerId.CHANCE) if self.state.awaits is Expect.ROLLED else self.state.turn

    def is_terminal(self) -> bool:
        return self.state.awaits is Expect.OVER

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(outcome, chance) for outcome, (_, chance) in enumerate(self._next_cup())]

    def _next_cup(self) -> list[tuple[Hand, float]]:
        return chances(self.state.dice[len(self.hands)])

    def _legal_actions(self, player: int) -> list[int]:
        moves = View(self.state, player, self.hands[player]).legal
        return sorted(number for move in moves if (number := encode(move)) < self.most)

    def _apply_action(self, action: int) -> None:
        if self.state.awaits is Expect.ROLLED:
            self.hands += (self._next_cup()[action][0],)
            if len(self.hands) == len(self.state.dice):
                self._take(Rolled())
            return
        move = decode(action)
        self.public += f" {move}"
        self._take(Play(self.state.turn, move))
        if self.state.awaits is Expect.HANDS:
            self.public += f" {self.hands}"
            self._take(Hands(self.hands))
            self.hands = ()

    def _take(self, item: Input) -> None:
        self.state, _ = apply(self.state, item)

    def _action_to_string(self, player: int, action: int) -> str:
        return f"{self._next_cup()[action][0]}" if player < 0 else f"{decode(action)}"

    def returns(self) -> list[float]:
        won = self.state.winners if self.is_terminal() else ()
        lost = -len(won) / max(1, len(self.state.dice) - len(won))
        return [1.0 if seat in won else lost for seat in range(len(self.state.dice))]

    def __str__(self) -> str:
        return f"{self.hands}{self.public}"


class Knowledge:
    """A player's knowledge: the player's hand, and all bids, calls and showdowns so far."""

    tensor, dict = None, None

    def set_from(self, state: MatchState, player: int) -> None:
        """Do nothing: there are no tensors."""

    def string_from(self, state: MatchState, player: int) -> str:
        return f"{player} {state.hands[player] if player < len(state.hands) else ''}{state.public}"


def main() -> None:
    from open_spiel.python.algorithms import exploitability, external_sampling_mccfr

    parser = argparse.ArgumentParser()
    parser.add_argument("--dice", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=400)
    given = parser.parse_args()
    game: Any = Match(PRESETS["classic"].with_options({"dice": f"{given.dice}"}))
    solver = external_sampling_mccfr.ExternalSamplingSolver(game)
    for iteration in range(given.iterations):
        solver.iteration()
        if (iteration + 1) % (given.iterations // 4) == 0:
            won = 0.5 + exploitability.exploitability(game, solver.average_policy()) / 2
            print(f"after {iteration + 1} iterations a best response wins {won:.1%} of matches", flush=True)


if __name__ == "__main__":
    main()
