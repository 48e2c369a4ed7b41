"""The inputs of the engine: :func:`p2pdice.apply` takes one at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from p2pdice.moves import Move

Hand = tuple[int, ...]
"""The faces of one cup, ascending."""


class Play(NamedTuple):
    """A player makes a move."""

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
class Roll:
    """A die that all can see has been rolled."""

    face: int


@dataclass(frozen=True, slots=True)
class Pledges:
    """Everybody has pledged to a group of motes."""

    pledges: tuple[str, ...]
    """``redeemed`` or ``cursed`` by seat, also for seats that have left already."""


class Wager(NamedTuple):
    """A player's stake, and the holdings before it."""

    bet: int
    """Coins, at most ``funds``."""
    funds: int
    """Coins before the bet."""
    tickets: int
    """Run tickets staked, at most ``owned``."""
    owned: int
    """Run tickets before the stake."""


@dataclass(frozen=True, slots=True)
class Stakes:
    """All stakes are open."""

    stakes: tuple[tuple[int, int, int, int] | None, ...]
    """By seat, as :class:`Wager`; None for a stake that was never opened, or of a player who had left before."""


@dataclass(frozen=True, slots=True)
class Evict:
    """A player is taken out of the match: gone, silent, or caught cheating."""

    seat: int


Input = Play | Rolled | Hands | Roll | Pledges | Stakes | Evict
