"""The change that each event makes by itself: to dice, cups, graveyard, stack, live seats and effects on players.

An event that only one mote causes says itself what it changes: see :class:`p2pdice.events.PowerEvent`. The sections of
dice with powers make their states with :func:`after`, event by event. A table that tells events one by one gets the
states in between from it, too. No event tells the turn or the next phase: only the state that the engine returns does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from p2pdice.events import (
    AccusationVoid,
    DieGained,
    DieLost,
    Event,
    PhaseBegun,
    PlayerOut,
    PowerEvent,
    PowerFailed,
    PowerPlayed,
)
from p2pdice.mischief import Effect, Mischief
from p2pdice.powers import POWERS
from p2pdice.state import State


def after(state: State, event: Event) -> State:
    """Return the state as this event leaves it."""
    kind = type(event)
    if kind in _OF_STATE:
        state = _OF_STATE[kind](state, event)
    motes = state.table.motes
    if motes is None:
        return state
    if isinstance(event, PowerEvent):
        return state.with_motes(event.after(motes.popped() if event.resolves else motes))
    return state.with_motes(_OF_MOTES[kind](motes, event)) if kind in _OF_MOTES else state


def _dice_left(state: State, event: DieLost | DieGained) -> State:
    dice = (*state.dice[: event.seat], event.left, *state.dice[event.seat + 1 :])
    return state._replace(table=state.table._replace(dice=dice))


def _out(state: State, event: PlayerOut) -> State:
    live = tuple(seat for seat in state.live if seat != event.seat)
    return state._replace(table=state.table._replace(live=live))


def _phase(state: State, event: PhaseBegun) -> State:
    return state._replace(phase=event.phase)


_OF_STATE: Final[Mapping[type, Callable[[State, Any], State]]] = {
    DieLost: _dice_left,
    DieGained: _dice_left,
    PlayerOut: _out,
    PhaseBegun: _phase,
}


def _lost(motes: Mischief, event: DieLost) -> Mischief:
    assert event.die is not None
    return motes.bury(event.die, event.seat)


def _gained(motes: Mischief, event: DieGained) -> Mischief:
    assert event.die is not None
    return motes.unbury(event.die).with_cup(event.seat, (*motes.cups[event.seat], event.die))


def _played(motes: Mischief, event: PowerPlayed) -> Mischief:
    power = POWERS[event.die.mote]
    motes = power.play(motes, event)
    if power.group == "redeemed":
        return motes
    assert event.target is not None
    stack = (*motes.stack, Effect(event.die, event.seat, event.target))
    return motes._replace(stack=stack, actor=motes.actor if motes.stack else event.seat)


def _popped(motes: Mischief, _event: PowerFailed) -> Mischief:
    return motes.popped()


def _accused_in_vain(motes: Mischief, event: AccusationVoid) -> Mischief:
    lasting = tuple(each for each in motes.lasting if each.seat != event.bidder or not each.voids_accusations)
    return motes._replace(lasting=lasting, must_raise=True)


def _without(motes: Mischief, event: PlayerOut) -> Mischief:
    """Take a player's effects off the stack, and end the lasting ones by and on them."""
    seat = event.seat
    return motes._replace(
        stack=tuple(effect for effect in motes.stack if effect.by != seat),
        waiting=tuple(other for other in motes.waiting if other != seat),
        lasting=tuple(each for each in motes.lasting if seat not in (each.seat, each.by)),
    )


_OF_MOTES: Final[Mapping[type, Callable[[Mischief, Any], Mischief]]] = {
    DieLost: _lost,
    DieGained: _gained,
    PowerPlayed: _played,
    PowerFailed: _popped,
    AccusationVoid: _accused_in_vain,
    PlayerOut: _without,
}
