"""The state at the moment that is told. One move can make several things happen, and a node tells only how all end.

The table must not show what has not been told yet. So each event changes the state before it by just what it says; the
last one brings the state of the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from p2pdice import Die, Expect
from p2pdice import events as game
from p2pdice.mischief import Effect
from p2pdice.powers import GROUP_OF
from p2pdice.state import NOBODY

if TYPE_CHECKING:
    from p2pdice import State
    from p2pdice.mischief import Mischief


def just_after(before: State, event: game.Event) -> State:
    """Return the state after an event that others follow: nobody is asked for a move yet."""
    table, phase = before.table, before.phase
    match event:
        case game.DieLost() | game.DieGained():
            dice = (*table.dice[: event.seat], event.left, *table.dice[event.seat + 1 :])
            table = table._replace(dice=dice)
        case game.PlayerOut():
            table = table._replace(live=tuple(seat for seat in table.live if seat != event.seat))
        case game.PhaseBegun():
            phase = event.phase
    if table.motes is not None:
        table = table._replace(motes=_moved(table.motes, event))
    return before._replace(table=table, phase=phase, turn=NOBODY, awaits=Expect.HANDS)


def _moved(motes: Mischief, event: game.Event) -> Mischief:
    """Return where the dice with powers, and their effects, are after an event."""
    match event:
        case game.DieLost(seat=seat, die=Die() as die):
            return motes.bury(die, seat)
        case game.DieGained(seat=seat, die=Die() as die):
            return motes.unbury(die).with_cup(seat, (*motes.cups[seat], die))
        case game.PowerPlayed(seat=seat, die=die, target=Die() as target) if die.mote == "neutral":
            swapped = motes.unbury(die).bury(target, seat)
            return swapped.with_cup(seat, (*swapped.cups[seat], die))
        case game.PowerPlayed(seat=seat, die=die, target=Die() | int() as target) if GROUP_OF[die.mote] == "cursed":
            return motes.remove(die)._replace(stack=(*motes.stack, Effect(die, seat, target)))
        case game.PowerPlayed():
            return motes.remove(event.die)
        case game.DieDestroyed():
            return motes.remove(event.die)._replace(stack=motes.stack[:-1])
        case game.PowerStopped():
            return motes._replace(stack=tuple(each for each in motes.stack[:-1] if each.die != event.die))
        case game.PowerFailed() | game.PlayerBlocked():
            return motes._replace(stack=motes.stack[:-1])
        case game.PlayerOut():
            return motes._replace(stack=tuple(each for each in motes.stack if each.by != event.seat))
    return motes
