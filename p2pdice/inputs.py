"""What can be fed to the engine: :func:`p2pdice.apply` takes exactly one of these at a time."""

from __future__ import annotations

from dataclasses import dataclass

from p2pdice.moves import Move

Hand = tuple[int, ...]
"""The faces of one cup, ascending."""


@dataclass(frozen=True, slots=True)
class Play:
    """A player's own choice."""

    seat: int
    move: Move


@dataclass(frozen=True, slots=True)
class Rolled:
    """Every cup has been shaken. It has no faces: the state is public."""


@dataclass(frozen=True, slots=True)
class Hands:
    """All cups are open."""

    hands: tuple[Hand | None, ...]
    """By seat: ``()`` for a seat without dice, None for a cup that was never opened."""


@dataclass(frozen=True, slots=True)
class Evict:
    """A player is taken out of the match from outside the game: gone, silent, or caught cheating."""

    seat: int


Input = Play | Rolled | Hands | Evict
