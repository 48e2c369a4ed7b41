"""A PettingZoo AEC environment for reinforcement learning.

It requires PettingZoo (``pip install '.[rl]'``) and plays the presets in :data:`p2pdice.vector.SUPPORTED` with the
engine.

>>> env = LiarsDice("classic", players=2)
>>> env.reset(seed=1)
>>> for agent in env.agent_iter():
...     observation, reward, termination, truncation, info = env.last()
...     done = termination or truncation
...     env.step(None if done else env.action_space(agent).sample(observation["action_mask"]))
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from gymnasium.spaces import Box, Dict, Discrete, MultiBinary
from gymnasium.utils import seeding
from pettingzoo import AECEnv

from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.errors import IllegalMove, RulesetError, UnexpectedInput
from p2pdice.moves import FACES, Hand, Hands, Play, Rolled
from p2pdice.rulesets import PRESETS
from p2pdice.state import Expect, State
from p2pdice.vector import SUPPORTED, array, decode, encode

_FACES: Final = len(FACES)


class LiarsDice(AECEnv):  # type: ignore[misc]  # PettingZoo ships no types
    """One match as an environment. The agents are ``player_0`` to ``player_9``, by seat.

    An action is the number of a move: see :func:`p2pdice.vector.encode`. An observation is a dictionary. Its
    ``action_mask`` has a 1 for each listed move, and its ``observation`` has numbers from 0 to 1. Numbers by seat start
    with the observer's seat and go on clockwise:

    - for each face, the share of the observer's dice that show it (6 numbers),
    - for each seat, its dice as a share of a full cup,
    - the standing bid: its quantity as a share of the dice in play, at most 1, and a 1 for its face (7 numbers, all 0
      before the first bid), then by seat a 1 for the bidder,
    - whether ones are wild, and whether the round is a palifico.

    Rewards come at the end of the match: 1 for the winner, and -1 shared equally among the others. A player who is out
    has no more turns and is rewarded at the end, too. An illegal action ends the match: its player gets -1, and the
    others share 1 equally.

    :param rules: a preset in :data:`p2pdice.vector.SUPPORTED`.
    :param players: 2 to 10.
    :param render_mode: with ``ansi``, :meth:`render` returns the public state as one line; with None, nothing.
    :raises RulesError: if ``rules`` is another preset (:class:`RulesetError`), or ``players`` is out of range
        (:class:`UnexpectedInput`).
    :raises ValueError: if ``render_mode`` is not supported.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "p2pdice_v0",
        "render_modes": ["ansi"],
        "is_parallelizable": False,
    }

    def __init__(self, rules: str = "classic", players: int = 2, render_mode: str | None = None) -> None:
        super().__init__()
        if rules not in SUPPORTED:
            raise RulesetError(f"{rules} is not one of the rulesets of this environment: {', '.join(SUPPORTED)}")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"{render_mode} is no way to render this environment: {self.metadata['render_modes']}")
        self.ruleset = PRESETS[rules]
        self.render_mode = render_mode
        self.possible_agents = [f"player_{seat}" for seat in range(players)]
        self.agents: list[str] = []
        self._most = max(self.ruleset.dice, self.ruleset.dice_cap or 2 * self.ruleset.dice)
        """A full cup in observations. Only repeated exact calls in a ruleset without a cap can exceed it."""
        self._moves = _FACES * (players * self._most + 1)
        self._state = new_match(self.ruleset, players)
        self._hands: tuple[Hand, ...] = ((),) * players
        self._random, _ = seeding.np_random()
        size = _FACES + players + 1 + _FACES + players + 2
        space = Dict({"observation": Box(0.0, 1.0, (size,)), "action_mask": MultiBinary(self._moves)})
        self.observation_spaces = dict.fromkeys(self.possible_agents, space)
        self.action_spaces = {agent: Discrete(self._moves) for agent in self.possible_agents}

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
        self._state = new_match(self.ruleset, players, int(self._random.integers(players)))
        self._go_on()

    def observe(self, agent: str) -> dict[str, Any]:
        state, seat = self._state, self.possible_agents.index(agent)
        order = [(seat + step) % state.players for step in range(state.players)]
        hand, bid, dice = self._hands[seat], state.bid, sum(state.dice)
        seen = [
            *(hand.count(face) / max(1, len(hand)) for face in FACES),
            *(min(1.0, state.dice[each] / self._most) for each in order),
            min(1.0, bid.quantity / max(1, dice)) if bid else 0.0,
            *(float(bid is not None and bid.face == face) for face in FACES),
            *(float(bid is not None and bid.seat == each) for each in order),
            float(state.counting.ones_wild),
            float(state.palifico),
        ]
        mask = [0] * self._moves
        if state.turn == seat and not self.terminations.get(agent, True):
            for move in legal_moves(state):
                number = encode(move)
                if number < self._moves:
                    mask[number] = 1
        return {"observation": array(seen, "float32"), "action_mask": array(mask, "int8")}

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
        seat = self.possible_agents.index(agent)
        try:
            self._state, _ = apply(self._state, Play(seat, decode(int(action))))
        except (IllegalMove, UnexpectedInput):  # an illegal move, or a number of the space that encodes no move
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

    def _go_on(self) -> None:
        """Roll and open cups until a player has to move or the match is over."""
        state: State = self._state
        while state.awaits in (Expect.ROLLED, Expect.HANDS):
            if state.awaits is Expect.ROLLED:
                self._hands = tuple(
                    tuple(sorted(self._random.integers(1, _FACES + 1, dice).tolist())) for dice in state.dice
                )
                state, _ = apply(state, Rolled())
            else:
                state, _ = apply(state, Hands(self._hands))
        self._state = state
        if state.awaits is Expect.OVER:
            self._end(state.winners, 1.0)
        else:
            self.agent_selection = self.possible_agents[state.turn]

    def _end(self, seats: tuple[int, ...], reward: float) -> None:
        """Give each of ``seats`` the reward, and share its negative equally among the others, so the sum is 0."""
        others = -reward * len(seats) / (len(self.agents) - len(seats))
        for seat, agent in enumerate(self.possible_agents):
            self.rewards[agent] = reward if seat in seats else others
        self.terminations = dict.fromkeys(self.agents, True)
