"""Players that are programs: the interface of a bot, and the house bots by level."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import Final

from p2pdice.players.house import CautiousPlayer, OddsPlayer, Player, PressPlayer, RandomPlayer
from p2pdice.players.mind import MindPlayer

LEVELS: Final[Mapping[str, Callable[[Random], Player]]] = MappingProxyType(
    {
        "random": RandomPlayer,
        "cautious": CautiousPlayer,
        "press": PressPlayer,
        "odds": OddsPlayer,
        "mind": MindPlayer,
    }
)
"""House bots by level. Each is created with a random generator, its only source of randomness."""


def house_player(level: str, rng: Random) -> Player:
    """Return a new house bot of this level; ``rng`` is its only source of randomness.

    :raises KeyError: if there is no such level.
    """
    return LEVELS[level](rng)


__all__ = [
    "LEVELS",
    "CautiousPlayer",
    "MindPlayer",
    "OddsPlayer",
    "Player",
    "PressPlayer",
    "RandomPlayer",
    "house_player",
]
