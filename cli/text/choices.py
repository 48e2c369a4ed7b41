"""What the player on turn may type, or a program may answer: the legal moves as texts, stakes included."""

from __future__ import annotations

from typing import Final

from p2pdice import NEWCOMER_COINS, Expect, Stake, View

FUNDS: Final = NEWCOMER_COINS
"""Coins of every player before a match."""
TICKETS: Final = 0
"""Run tickets of every player before a match."""


def is_stake(view: View) -> bool:
    """Whether a sealed stake is asked for, and not a move."""
    return view.state.awaits is Expect.STAKES


def choices(view: View) -> list[str]:
    """Return the listed moves in the order of the engine; of the stakes, which are many, nothing and everything."""
    if is_stake(view):
        return [str(Stake(0)), str(Stake(FUNDS, TICKETS))]
    return [str(move) for move in view.legal]
