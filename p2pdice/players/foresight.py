"""How ``mind`` plays dice with powers: it tries each as if nobody answered, and compares the strength of all players.

Strength is counted in dice: a die in the cup is one, and a die in the graveyard is a part of one for its player.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from p2pdice.engine import apply
from p2pdice.inputs import Play, Roll
from p2pdice.motes import Die
from p2pdice.moves import PASS, Move, Power
from p2pdice.players.shares import share
from p2pdice.powers import POWERS
from p2pdice.state import Expect, State

ALONE: Final = 0.8
"""The part of its worth that is left of a die that needs a target, while no other die is in the graveyard."""
SHIELD: Final = 0.6
"""The worth of immunity, in dice, to the player who leads the bidding next."""
SPARE_SHIELD: Final = 0.1
"""The worth of immunity, in dice, to everybody else."""
BARRED: Final = 0.5
"""The part of its worth that is left of a die that may not be played for now."""


def best(state: State, seat: int, moves: Sequence[Move]) -> Move:
    """Return the move after which this seat has the best chance to win; among equals the last, which is to pass."""
    return max(reversed(moves), key=lambda move: after(apply(state, Play(seat, move))[0], seat))


def better_than_none(state: State, seat: int, powers: Sequence[Power]) -> Power | None:
    """Return the best power to play; None if it is as good to play none."""
    now = after(state, seat)
    chances = [(after(apply(state, Play(seat, power))[0], seat), power) for power in powers]
    chance, power = max(chances, key=lambda pair: pair[0])
    return power if chance > now else None


def after(state: State, seat: int) -> float:
    """Return roughly how likely a seat is to win once the stack has resolved and nobody has answered."""
    motes = state.motes
    if motes is not None and motes.stack:
        if state.awaits is Expect.ROLL:
            outcomes = POWERS[motes.stack[-1].die.mote].outcomes
            return sum(after(apply(state, Roll(face))[0], seat) for face in outcomes) / len(outcomes)
        if state.awaits is Expect.MOVE:
            return after(apply(state, Play(state.turn, PASS))[0], seat)
    if state.awaits is Expect.OVER or len(state.live) == 1:
        return float(seat in state.live)
    return share(state.ruleset, [strength(state, other) for other in range(state.players)], state.live, seat)


def strength(state: State, seat: int) -> float:
    """Return the strength of a player, in dice. Without a die in the cup only a die that saves is worth anything."""
    motes = state.motes
    assert motes is not None
    if seat not in state.live:
        return 0.0
    cup = motes.cups[seat]
    total = float(len(cup))
    for die, sent_by in motes.graveyard:
        power = POWERS[die.mote]
        if sent_by == seat and (cup or power.saves):
            worth = power.in_dice + power.copies * max((POWERS[other.mote].in_dice for other in cup), default=0.0)
            if power.target is Die and not power.copies and len(motes.graveyard) == 1:
                worth *= ALONE
            total += worth * (1 if motes.obstacle(seat, power.group) is None else BARRED)
    if cup and seat in motes.immune:
        leader = state.leader if motes.successor < 0 else motes.successor
        total += SHIELD if leader == seat else SPARE_SHIELD
    return total
