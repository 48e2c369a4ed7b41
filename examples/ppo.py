"""Train an agent with a library: MaskablePPO of sb3-contrib plays against its own earlier selves.

    pip install '.[rl]' sb3-contrib
    python examples/ppo.py --dice 2 --steps 60000

It saves the weights for agent.py, and prints how often an opponent who knows the agent's policy could win.
docs/training.md explains the steps.
"""

import argparse
import random
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from agent import FILE, Network
from sb3_contrib import MaskablePPO

from p2pdice.engine import apply, new_match
from p2pdice.environment import LiarsDice
from p2pdice.moves import Bid, Hand, Liar, Play, Rolled
from p2pdice.observations import Observer
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.solved.exploitability import bounds
from p2pdice.views import View


class Seat(gymnasium.Env[Any, Any]):
    """One random seat of a match. An earlier version of the agent plays all other seats."""

    def __init__(self, rules: Ruleset, players: int = 2, seed: int = 1) -> None:
        self.match = LiarsDice(rules, players)
        self.observation_space = self.match.observation_space("player_0")["observation"]
        self.action_space = self.match.action_space("player_0")
        self.rng = random.Random(seed)
        self.selves: list[Network] = []
        """Earlier versions of the agent. At least one is needed."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.match.reset(seed=seed)
        self.me = self.rng.choice(self.match.possible_agents)
        self.other = self.rng.choice(self.selves)
        self._let_others_move()
        return self.match.observe(self.me)["observation"], {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.match.step(int(action))
        self._let_others_move()
        over = self.match.terminations[self.me]
        return self.match.observe(self.me)["observation"], self.match.rewards[self.me], over, False, {}

    def action_masks(self) -> np.ndarray[Any, Any]:
        mask: np.ndarray[Any, Any] = self.match.observe(self.me)["action_mask"].astype(bool)
        return mask

    def _let_others_move(self) -> None:
        while not self.match.terminations[self.me] and self.match.agent_selection != self.me:
            seen = self.match.observe(self.match.agent_selection)
            chances = self.other.probabilities([seen])[0].tolist()
            self.match.step(self.rng.choices(range(len(chances)), chances)[0])


def exploitability(network: Network, rules: Ruleset) -> float:
    """Return how much more than half of the first rounds a best response wins, if both players open equally often."""
    start, _ = apply(new_match(rules, 2), Rolled())
    observer = Observer(rules, 2)

    def weights(bids: tuple[Bid, ...], hands: Sequence[Hand]) -> list[dict[Bid | Liar, float]]:
        state = start
        for bid in bids:
            state, _ = apply(state, Play(state.turn, bid))
        seen = [observer.observe(View(state, state.turn, hand)) for hand in hands]
        listed = [(action, observer.act(int(action))) for action in seen[0]["action_mask"].nonzero()[0]]
        return [
            {move: row[action] for action, move in listed if isinstance(move, Bid | Liar)}
            for row in network.probabilities(seen)
        ]

    least, most = bounds(start, weights)
    return (most - least) / 2


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dice", type=int, default=2, help="dice of each player at the start")
    parser.add_argument("--steps", type=int, default=60_000, help="moves to learn from")
    parser.add_argument("--lessons", type=int, default=6, help="how often to measure and save the agent")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rules = PRESETS["classic"].with_options({"dice": f"{given.dice}"})
    seat = Seat(rules, seed=given.seed)
    learning = {"learning_rate": 1e-3, "batch_size": 256, "gamma": 1.0, "ent_coef": 0.02}
    model = MaskablePPO("MlpPolicy", seat, seed=given.seed, device="cpu", **learning)
    for lesson in range(given.lessons + 1):
        if lesson:
            model.learn(given.steps // given.lessons, reset_num_timesteps=False)
        network = Network.copy_of(model.policy)
        network.save(FILE)
        seat.selves.append(network)
        won = 0.5 + exploitability(network, rules)
        print(f"after lesson {lesson} a best response wins {won:.1%} of first rounds", flush=True)


if __name__ == "__main__":
    main()
