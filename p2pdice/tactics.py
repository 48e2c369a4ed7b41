"""How the house plays dice with powers: judged by what they do to it, from a view alone.

Each rule of thumb looks one step ahead and no further; none of them knows anything that the view does not show.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from p2pdice.motes import GROUP_OF, Die, Mischief, Mote
from p2pdice.moves import PASS, Crown, Lose, Move, Pass, Power
from p2pdice.state import NOBODY
from p2pdice.views import View

WORTH: Final[dict[Mote, int]] = {"light": 6, "grey": 5, "blue": 4, "dark": 3, "red": 2, "neutral": 1}
"""How much a die is worth in one's graveyard: Light comes first, as it brings a die back."""
RESTRAINT: Final = 0.4
"""How often a die that only hurts somebody else is kept for later."""


def choose_power(view: View, moves: Sequence[Move], rng: Random) -> Move:
    """Return what to do where only dice can be played, lost or crowned.

    :param moves: the listed moves; there is at least one.
    """
    motes = view.state.motes
    assert motes is not None
    if isinstance(moves[0], Lose):
        return max(moves, key=lambda move: WORTH[move.die.mote] if isinstance(move, Lose) else 0)
    if isinstance(moves[0], Crown):
        pledge = motes.pledges[view.seat]
        return next((move for move in moves if isinstance(move, Crown) and GROUP_OF[move.die.mote] == pledge), moves[0])
    powers = [move for move in moves if isinstance(move, Power)]
    if motes.stack:
        return powers[0] if powers and _hurts(view, motes) else PASS
    wanted = [(worth, move) for move in powers if (worth := _worth(view, motes, move, rng)) > 0]
    return max(wanted, key=lambda pair: pair[0])[1] if wanted else PASS


def is_about_powers(moves: Sequence[Move]) -> bool:
    """Whether these listed moves are for :func:`choose_power`: a window, an answer, a die to lose or to crown."""
    return isinstance(moves[-1], Pass | Lose | Crown)


def _sender(motes: Mischief, die: Die) -> int:
    return next((buried.sent_by for buried in motes.graveyard if buried.die == die), NOBODY)


def _hurts(view: View, motes: Mischief) -> bool:
    """Whether the top of the stack is aimed at this player: a seat, an effect or a die that it may still play."""
    target = motes.stack[-1].target
    if isinstance(target, int):
        return target == view.seat
    return _sender(motes, target) == view.seat or any(
        effect.die == target and effect.by == view.seat for effect in motes.stack
    )


def _worth(view: View, motes: Mischief, move: Power, rng: Random) -> float:
    """Return how much a play is wanted in a window; 0 for not at all."""
    state, seat = view.state, view.seat
    target = move.target
    match move.die.mote:
        case "light" if isinstance(target, Die):
            # A die in the cup is worth the most, and to be alive at all.
            return 10 + WORTH[target.mote] / 10
        case "grey":
            leads_next = state.leader if state.phase == "sunset" else motes.successor
            return 5 if leads_next == seat and state.dice[seat] else 0
        case "neutral" if isinstance(target, Die):
            # Worth it for a Light, which then brings another die back.
            others = any(buried.die != move.die for buried in motes.graveyard)
            return 8 if target.mote == "light" and others else 0
        case "dark" if isinstance(target, Die):
            sender = _sender(motes, target)
            if sender == seat or sender not in state.live or rng.random() < RESTRAINT:
                return 0
            return WORTH[target.mote]
        case "red" if isinstance(target, int):
            if any(blocked.seat == target for blocked in motes.blocked) or rng.random() < RESTRAINT:
                return 0
            return 1 + sum(buried.sent_by == target for buried in motes.graveyard)
    return 0
