"""A PettingZoo AEC environment for reinforcement learning.

It requires PettingZoo (``pip install '.[rl]'``), and uses the engine to play any ruleset without motes and stakes. An
agent trained here can play in an arena or at a table through :class:`p2pdice.observations.Observer`: see
docs/training.md.

>>> env = LiarsDice("classic", players=2)
>>> env.reset(seed=1)
>>> for agent in env.agent_iter():
...     observation, reward, termination, truncation, info = env.last()
...     done = termination or truncation
...     env.step(None if done else env.action_space(agent).sample(observation["action_mask"]))
"""

from __future__ import annotations

from itertools import islice
from typing import Any, ClassVar

from gymnasium.spaces import Box, Dict, Discrete, MultiBinary
from gymnasium.utils import seeding
from pettingzoo import AECEnv

from p2pdice.engine import apply, new_match
from p2pdice.errors import IllegalMove, UnexpectedInput
from p2pdice.moves import FACES, Hand, Hands, Input, Play, Rolled
from p2pdice.observations import Observer
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.state import Expect
from p2pdice.views import View


class LiarsDice(AECEnv):  # type: ignore[misc]  # PettingZoo ships no types
    """One match as an environment. The agents are ``player_0`` to ``player_9``, by seat.

    Actions and observations are those of :class:`p2pdice.observations.Layout`. An observation is a dictionary: its
    ``observation`` has numbers from 0 to 1, and its ``action_mask`` a 1 for each listed move.

    Rewards come at the end of the match: 1 for the winner, and -1 shared equally among the others. A player who is out
    has no more turns and is rewarded at the end, too. Winners who finish together get 1 each. An illegal action ends
    the match: its player gets -1, and the others share 1 equally.

    :param rules: a ruleset without motes and stakes, or the name of such a preset.
    :param players: 2 to 10.
    :param render_mode: with ``ansi``, :meth:`render` returns the public state as one line; with None, nothing.
    :raises KeyError: if there is no preset of this name.
    :raises RulesError: if the ruleset has motes or stakes (:class:`RulesetError`), or ``players`` is out of range
        (:class:`UnexpectedInput`).
    :raises ValueError: if ``render_mode`` is not supported.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "p2pdice_v0",
        "render_modes": ["ansi"],
        "is_parallelizable": False,
    }

    def __init__(self, rules: str | Ruleset = "classic", players: int = 2, render_mode: str | None = None) -> None:
        super().__init__()
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode {render_mode} is not supported; these are: {self.metadata['render_modes']}")
        self.ruleset = PRESETS[rules] if isinstance(rules, str) else rules
        self.render_mode = render_mode
        self.possible_agents = [f"player_{seat}" for seat in range(players)]
        self.agents: list[str] = []
        self._observer = Observer(self.ruleset, players)
        self.layout = self._observer.layout
        """The places of the numbers in an observation."""
        self._state = new_match(self.ruleset, players)
        self._hands: tuple[Hand, ...] = ((),) * players
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._random, _ = seeding.np_random()
        size, actions = self.layout.size, self.layout.actions
        space = Dict({"observation": Box(0.0, 1.0, (size,)), "action_mask": MultiBinary(actions)})
        self.observation_spaces = dict.fromkeys(self.possible_agents, space)
        self.action_spaces = {agent: Discrete(actions) for agent in self.possible_agents}

    def observation_space(self, agent: str) -> Dict:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a match. Without a seed, the random generator continues from the previous match."""
        if seed is not None:
            self._random, _ = seeding.np_random(seed)
        players = len(self.possible_agents)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._observer = Observer(self.ruleset, players)
        self._state = new_match(self.ruleset, players, int(self._random.integers(players)))
        self._go_on()

    def observe(self, agent: str) -> dict[str, Any]:
        seat = self._seats[agent]
        return self._observer.observe(View(self._state, seat, self._hands[seat]))

    def step(self, action: int | None) -> None:
        """Play the move of the selected agent. ``action`` must be None if that agent's match is over.

        :raises ValueError: if ``action`` is None while a move is owed.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        if action is None:
            raise ValueError(f"{agent} has to make a move")
        seat = self._seats[agent]
        try:
            self._take(Play(seat, self._observer.act(int(action))))
        except (IllegalMove, UnexpectedInput):  # an illegal move, or an action that encodes no move
            self._end((seat,), -1.0)
        else:
            self._go_on()
        self._accumulate_rewards()

    def render(self) -> str | None:
        if self.render_mode is None:
            return None
        bid = self._state.bid
        return f"dice {' '.join(map(str, self._state.dice))}, bid {f'{bid.quantity}x{bid.face}' if bid else 'none'}"

    def close(self) -> None:
        """Do nothing: the environment holds no resources."""

    def _take(self, item: Input) -> None:
        self._state, events = apply(self._state, item)
        for event in events:
            self._observer.happened(event)

    def _go_on(self) -> None:
        """Roll and open cups until a player has to move or the match is over."""
        while self._state.awaits in (Expect.ROLLED, Expect.HANDS):
            if self._state.awaits is Expect.ROLLED:
                dice = self._state.dice
                faces = iter(self._random.integers(1, len(FACES) + 1, sum(dice)).tolist())
                self._hands = tuple(tuple(sorted(islice(faces, number))) for number in dice)
                self._take(Rolled())
            else:
                self._take(Hands(self._hands))
        if self._state.awaits is Expect.OVER:
            self._end(self._state.winners, 1.0)
        else:
            self.agent_selection = self.possible_agents[self._state.turn]

    def _end(self, seats: tuple[int, ...], reward: float) -> None:
        """Give ``reward`` to each of ``seats``, and equal rewards to the others so that the sum is 0."""
        others = -reward * len(seats) / (len(self.agents) - len(seats))
        for seat, agent in enumerate(self.possible_agents):
            self.rewards[agent] = reward if seat in seats else others
        self.terminations = dict.fromkeys(self.agents, True)
