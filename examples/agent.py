"""A trained agent as a bot. It needs numpy, but not the library that trained it, which may take seconds to import.

    p2pdice arena agent:Agent odds --set dice=2

The file agent.npz has its weights. docs/training.md explains how to train them.
"""

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from p2pdice.events import Event
from p2pdice.moves import Move
from p2pdice.observations import Observer
from p2pdice.players import Player
from p2pdice.rulesets import Ruleset
from p2pdice.views import View

FILE = Path("agent.npz")


class Network:
    """A policy: layers of weights and biases with tanh between them, then a softmax over the legal actions."""

    def __init__(self, layers: list[tuple[Any, Any]]) -> None:
        self.layers = layers

    @classmethod
    def copy_of(cls, policy: Any) -> "Network":
        """Return a copy of a Stable-Baselines3 MlpPolicy with tanh, the default of PPO."""
        if policy.activation_fn.__name__ != "Tanh":
            raise ValueError(f"{policy.activation_fn.__name__} is not supported")
        weights = {name: np.array(each) for name, each in policy.state_dict().items()}
        layers = [name.removesuffix("weight") for name in weights if name.endswith("weight")]
        own = [name for name in layers if name.startswith(("mlp_extractor.policy_net.", "action_net."))]
        return cls([(weights[f"{name}weight"], weights[f"{name}bias"]) for name in own])

    def save(self, file: Path) -> None:
        np.savez(file, *(each for layer in self.layers for each in layer))

    @classmethod
    def load(cls, file: Path) -> "Network":
        with np.load(file) as arrays:
            each = iter([arrays[f"arr_{number}"] for number in range(len(arrays))])
        return cls(list(zip(each, each, strict=True)))

    def probabilities(self, seen: list[dict[str, Any]]) -> Any:
        """Return the probability of each action for each observation."""
        numbers = np.stack([each["observation"] for each in seen])
        *hidden, (weights, biases) = self.layers
        for inner, shift in hidden:
            numbers = np.tanh(numbers @ inner.T + shift)
        legal = np.stack([each["action_mask"] for each in seen]).astype(bool)
        scores = np.where(legal, numbers @ weights.T + biases, -np.inf).astype(float)
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        return chances / chances.sum(axis=1, keepdims=True)


@cache
def trained() -> Network:
    """Return the network in :data:`FILE`. It is read once, although an arena makes a new player for each game."""
    return Network.load(FILE)


class Agent(Player):
    """The bot: ``agent:Agent``. It plays with the rules and the number of players for which it was trained."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.network = trained()

    def started(self, ruleset: Ruleset, seat: int, players: int) -> None:
        self.observer = Observer(ruleset, players)

    def happened(self, event: Event) -> None:
        self.observer.happened(event)

    def choose(self, view: View) -> Move:
        if self.observer.layout.size != self.network.layers[0][0].shape[1]:
            raise ValueError(f"{FILE} is for other rules or another number of players")
        chances = self.network.probabilities([self.observer.observe(view)])[0].tolist()
        return self.observer.act(self.rng.choices(range(len(chances)), chances)[0])
