"""What each event changes by itself: dice, cups, graveyard and stack, who is live, and what holds for whom.

The sections of dice with powers make their states with :func:`after`, event by event. A table that tells
events one by one gets the states in between from it, too. No event says whose turn it is or what comes next: only the
state that the engine returns does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from p2pdice.events import (
    AccusationVoid,
    BlockEnded,
    DieDestroyed,
    DieGained,
    DieLost,
    Event,
    ImmunityGained,
    PhaseBegun,
    PlayerBlocked,
    PlayerOut,
    PowerFailed,
    PowerPlayed,
    PowerStopped,
)
from p2pdice.mischief import Blocked, Effect, Mischief
from p2pdice.powers import POWERS
from p2pdice.state import State


def after(state: State, event: Event) -> State:
    """Return the state as this event leaves it."""
    kind = type(event)
    if kind in _OF_STATE:
        state = _OF_STATE[kind](state, event)
    motes = state.table.motes
    return state if motes is None or kind not in _OF_MOTES else state.with_motes(_OF_MOTES[kind](motes, event))


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
    return motes._replace(stack=motes.stack[:-1])


def _stopped(motes: Mischief, event: PowerStopped) -> Mischief:
    return motes._replace(stack=tuple(effect for effect in motes.stack[:-1] if effect.die != event.die))


def _destroyed(motes: Mischief, event: DieDestroyed) -> Mischief:
    return motes._replace(stack=motes.stack[:-1]).remove(event.die)


def _blocked(motes: Mischief, event: PlayerBlocked) -> Mischief:
    blocked = (*motes.blocked, Blocked(event.target, event.group, event.seat))
    return motes._replace(stack=motes.stack[:-1], blocked=blocked)


def _unblocked(motes: Mischief, event: BlockEnded) -> Mischief:
    ended = Blocked(event.target, event.group, event.seat)
    return motes._replace(blocked=tuple(blocked for blocked in motes.blocked if blocked != ended))


def _immune(motes: Mischief, event: ImmunityGained) -> Mischief:
    return motes._replace(immune=tuple(sorted((*motes.immune, event.seat))))


def _accused_in_vain(motes: Mischief, event: AccusationVoid) -> Mischief:
    immune = tuple(seat for seat in motes.immune if seat != event.bidder)
    return motes._replace(immune=immune, must_raise=True)


def _without(motes: Mischief, event: PlayerOut) -> Mischief:
    """Take a player's effects off the stack, and end their immunity and the Reds by and on them."""
    seat = event.seat
    return motes._replace(
        stack=tuple(effect for effect in motes.stack if effect.by != seat),
        waiting=tuple(other for other in motes.waiting if other != seat),
        immune=tuple(other for other in motes.immune if other != seat),
        blocked=tuple(blocked for blocked in motes.blocked if seat not in (blocked.seat, blocked.by)),
    )


_OF_MOTES: Final[Mapping[type, Callable[[Mischief, Any], Mischief]]] = {
    DieLost: _lost,
    DieGained: _gained,
    PowerPlayed: _played,
    PowerFailed: _popped,
    PowerStopped: _stopped,
    DieDestroyed: _destroyed,
    PlayerBlocked: _blocked,
    BlockEnded: _unblocked,
    ImmunityGained: _immune,
    AccusationVoid: _accused_in_vain,
    PlayerOut: _without,
}
