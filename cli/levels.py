"""The levels of the house bots."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Level(StrEnum):
    """A level of the house bots; :data:`p2pdice.players.LEVELS` has the same, but takes longer to import."""

    RANDOM = "random"
    CAUTIOUS = "cautious"
    PRESS = "press"
    ODDS = "odds"
    MIND = "mind"


DEFAULT_LEVEL: Final = Level.ODDS
"""It bluffs now and then, and a person has a chance against it; ``mind`` is for people who want a hard opponent."""


def shown(level: Level) -> str:
    """Return the level for a nickname: empty for the usual one."""
    return "" if level is DEFAULT_LEVEL else level.value
