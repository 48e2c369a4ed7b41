"""Learn to play by trial: a table of values, filled by matches against a player who moves at random.

    pip install '.[rl]'
    python examples/learn.py --matches 20000

A move is rated by one number: how many more dice have to count for its bid in the hidden cups than can be expected
there. The table has the average reward for each number, separately for bids and calls. After two minutes the learner
wins nine of ten matches.
"""

import argparse
import random
from collections import defaultdict
from typing import Any

from p2pdice.environment import LiarsDice
from p2pdice.observations import Layout

FACES = range(1, 7)
Situation = tuple[bool, int]
"""Whether a move is a call, and its number in quarters of a die, limited to -12 to 12."""


def situations(observation: dict[str, Any], at: Layout) -> dict[int, Situation]:
    """Return the situation of each legal action."""
    seen, mask = observation["observation"].tolist(), observation["action_mask"]
    dice = [round(share * at.cup) for share in seen[at.dice : at.dice + at.players]]
    hand = {face: round(seen[at.hand + face - 1] * dice[0]) for face in FACES}
    hidden = sum(dice[1:])
    bid = seen[at.standing : at.standing + 7]
    # The quantity is followed by one number for each face.
    standing = (round(bid[0] * sum(dice)), bid.index(1.0, 1)) if bid[0] else None

    def needed(quantity: int, face: int) -> int:
        own: int = hand[face] + (hand[1] if face > 1 else 0)
        expected = hidden * (1 / 3 if face > 1 else 1 / 6)
        return int(max(-12, min(12, round(4 * (quantity - own - expected)))))

    return {
        int(action): (action < 6, needed(*(standing if action < 6 and standing else (action // 6, action % 6 + 1))))
        for action in mask.nonzero()[0]
    }


class Learner:
    """Makes the move with the best average reward so far, and sometimes a random move."""

    def __init__(self, rng: random.Random, curiosity: float) -> None:
        self.rng = rng
        self.curiosity = curiosity
        self.value: dict[Situation, float] = defaultdict(float)
        self.count: dict[Situation, int] = defaultdict(int)
        self.made: list[Situation] = []

    def act(self, options: dict[int, Situation]) -> int:
        if self.rng.random() < self.curiosity:
            action = self.rng.choice(list(options))
        else:
            action = max(options, key=lambda each: (self.value[options[each]], self.rng.random()))
        self.made.append(options[action])
        return action

    def learn(self, reward: float) -> None:
        for situation in self.made:
            self.count[situation] += 1
            step = max(1 / self.count[situation], 0.002)  # early rewards, from worse play, lose weight
            self.value[situation] += step * (reward - self.value[situation])
        self.made.clear()


def play(env: LiarsDice, learner: Learner, seed: int) -> float:
    """Play a match, as player_0 or player_1 in turn; return the learner's reward."""
    env.reset(seed=seed)
    own = env.possible_agents[seed % 2]
    reward = 0.0
    for agent in env.agent_iter():
        observation, received, terminated, truncated, _info = env.last()
        if agent == own:
            reward += received
        if terminated or truncated:
            env.step(None)
        elif agent == own:
            env.step(learner.act(situations(observation, env.layout)))
        else:
            env.step(learner.rng.choice(observation["action_mask"].nonzero()[0].tolist()))
    return reward


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    env = LiarsDice("classic", players=2)
    learner = Learner(random.Random(given.seed), curiosity=0.2)
    tenth, wins = max(1, given.matches // 10), 0
    for match in range(given.matches):
        reward = play(env, learner, match)
        learner.learn(reward)
        wins += reward > 0
        if (match + 1) % tenth == 0:
            print(f"{match + 1:6} matches: {wins / tenth:.0%} of the last {tenth} won, while trying things out")
            wins = 0
    learner.curiosity = 0.0
    won = sum(play(env, learner, given.matches + match) > 0 for match in range(tenth))
    print(f"Without trying things out it wins {won / tenth:.0%} of {tenth} matches.")


if __name__ == "__main__":
    main()
