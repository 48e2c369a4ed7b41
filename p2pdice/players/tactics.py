"""How the simple house bots play dice with powers. The appeal of each die is in its record: see :mod:`p2pdice.powers`.

All rules of thumb look one step ahead, and know only the view.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from p2pdice.mischief import Mischief
from p2pdice.motes import Die
from p2pdice.moves import PASS, Crown, Lose, Move, Pass, Power
from p2pdice.powers import POWERS
from p2pdice.views import View


def choose_power(view: View, moves: Sequence[Move], rng: Random) -> Move:
    """Return the move to make where dice can only be played, lost or crowned.

    :param moves: the listed moves; there is at least one.
    """
    motes = view.state.motes
    assert motes is not None
    if isinstance(moves[0], Lose):
        return max(moves, key=lambda move: POWERS[move.die.mote].worth if isinstance(move, Lose) else 0)
    if isinstance(moves[0], Crown):
        pledge = motes.pledges[view.seat]
        return next(
            (move for move in moves if isinstance(move, Crown) and POWERS[move.die.mote].group == pledge), moves[0]
        )
    if motes.stack:
        return moves[0] if isinstance(moves[0], Power) and _hurts(view, motes) else PASS
    return wanted_power(view, [move for move in moves if isinstance(move, Power)], rng) or PASS


def wanted_power(view: View, powers: Sequence[Power], rng: Random) -> Power | None:
    """Return the most wanted of these plays; None if it is better to keep all dice."""
    wanted = [(appeal, move) for move in powers if (appeal := _appeal(view, move, rng)) > 0]
    return max(wanted, key=lambda pair: pair[0])[1] if wanted else None


def is_about_powers(moves: Sequence[Move]) -> bool:
    """Whether these listed moves are for :func:`choose_power`: a window, an answer, a die to lose or to crown."""
    return isinstance(moves[-1], Pass | Lose | Crown)


def _hurts(view: View, motes: Mischief) -> bool:
    """Whether the top of the stack is aimed at this player: a seat, an effect or a die that it may still play."""
    target = motes.stack[-1].target
    if isinstance(target, int):
        return target == view.seat
    return motes.sender(target) == view.seat or any(
        effect.die == target and effect.by == view.seat for effect in motes.stack
    )


def _appeal(view: View, move: Power, rng: Random) -> float:
    """Return how much a play is wanted in a window; 0 for not at all."""
    worth = POWERS[move.target.mote].worth if isinstance(move.target, Die) else 0
    return POWERS[move.die.mote].appeal(view, move, worth, rng)
