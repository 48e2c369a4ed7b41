"""The legal moves as texts, stakes included, for people who type them and programs that answer."""

from __future__ import annotations

from p2pdice.moves import Stake
from p2pdice.state import Expect
from p2pdice.views import View


def is_stake(view: View) -> bool:
    """Whether a sealed stake is asked for, and not a move."""
    return view.state.awaits is Expect.STAKES


def choices(view: View) -> list[str]:
    """Return the legal moves in the order of the engine. Of the many stakes there are two: nothing and everything."""
    if is_stake(view):
        return [str(Stake(0)), str(Stake(view.funds, view.tickets))]
    return [str(move) for move in view.legal]


def has_nothing_to_stake(view: View) -> bool:
    """Whether a stake is asked for, and only one is possible."""
    return is_stake(view) and not view.funds and not view.tickets


def example_stake(view: View) -> Stake:
    """Return a stake that can be made: some coins, or else run tickets, or else nothing."""
    return Stake(min(50, view.funds)) if view.funds else Stake(0, view.tickets)
