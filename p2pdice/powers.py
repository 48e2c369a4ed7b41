"""The section of powers: which dice of the graveyard a player may play, and what the six motes do.

Source: the rule text of Motes of Mischief. Powers of Redeemed dice take effect at once; those of Cursed dice go on the
stack and get here when they resolve: see :mod:`p2pdice.turns`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from p2pdice.errors import IllegalMove
from p2pdice.events import DieDestroyed, DieGained, Event, ImmunityGained, PowerFailed, PowerPlayed, PowerStopped
from p2pdice.motes import GROUP_OF, Die, Effect, Group, Mischief, Mote
from p2pdice.moves import Power
from p2pdice.state import Phase, State

GROUP_IN: Final[Mapping[Phase, Group]] = {
    "sunset": "redeemed",
    "night": "cursed",
    "bidding": "cursed",
    "sunrise": "redeemed",
}
"""Whose dice can be played, by phase."""

_USES: Final[Mapping[Mote, str]] = {
    "light": "takes another die of the graveyard, as in play light@1 take dark@2",
    "grey": "needs no target, as in play grey@1, and nobody is made immune twice",
    "neutral": "is swapped with a die of your cup that is no Neutral, as in play neutral@0 swap blue@0",
    "blue": "answers what another player put on top of the stack, as in play blue@1",
    "red": "is played on another live player, and not as an answer, as in play red@1 on 2",
    "dark": "destroys another die of the graveyard, and is no answer, as in play dark@0 destroy light@1",
}


def playable(state: State, seat: int) -> Iterator[Power]:
    """Yield what this live player may play now, in the order of the graveyard, and of it or the seats as targets."""
    motes = state.motes
    group = GROUP_IN.get(state.phase)
    if motes is None or not motes.graveyard or group is None:
        return
    if any(blocked.seat == seat and blocked.group == group for blocked in motes.blocked):
        return
    if motes.stack and motes.stack[-1].by == seat:
        return
    for die, sent_by in motes.graveyard:
        if sent_by == seat and GROUP_OF[die.mote] == group and bool(motes.stack) == (die.mote == "blue"):
            yield from _TARGETS[die.mote](state, motes, seat, die)


def check_playable(state: State, seat: int, power: Power) -> Mischief:
    """Return the table on which this power may be played now.

    :raises IllegalMove: if it may not; it says what stands in the way.
    """
    motes = state.motes
    if motes is None:
        raise IllegalMove(f"{power} is not possible: this match is played without motes")
    if power not in playable(state, seat):
        raise IllegalMove(f"{power} is not possible: {_obstacle(state, motes, seat, power.die)}")
    return motes


def _obstacle(state: State, motes: Mischief, seat: int, die: Die) -> str:
    group = GROUP_OF[die.mote]
    now = GROUP_IN.get(state.phase)
    if not motes.is_buried(die):
        return f"{die} is not in the graveyard"
    if not any(buried.die == die and buried.sent_by == seat for buried in motes.graveyard):
        return f"{die} was sent to the graveyard by somebody else"
    if now != group:
        return f"{group} dice are not played in this phase"
    if any(blocked.seat == seat and blocked.group == group for blocked in motes.blocked):
        return f"a Red forbids you to play {group} dice for now"
    return f"a die of {die.mote} {_USES[die.mote]}"


def _others_buried(_state: State, motes: Mischief, _seat: int, die: Die) -> Iterator[Power]:
    return (Power(die, other) for other, _ in motes.graveyard if other != die)


def _own_immunity(_state: State, motes: Mischief, seat: int, die: Die) -> Iterator[Power]:
    return iter(() if seat in motes.immune else (Power(die),))


def _own_cup(_state: State, motes: Mischief, seat: int, die: Die) -> Iterator[Power]:
    return (Power(die, other) for other in motes.cups[seat] if other.mote != "neutral")


def _other_players(state: State, _motes: Mischief, seat: int, die: Die) -> Iterator[Power]:
    return (Power(die, other) for other in state.live if other != seat)


def _top_of_the_stack(_state: State, _motes: Mischief, _seat: int, die: Die) -> Iterator[Power]:
    return iter((Power(die),))


_TARGETS: Final[Mapping[Mote, Callable[[State, Mischief, int, Die], Iterator[Power]]]] = {
    "light": _others_buried,
    "grey": _own_immunity,
    "neutral": _own_cup,
    "blue": _top_of_the_stack,
    "red": _other_players,
    "dark": _others_buried,
}


def use(state: State, seat: int, power: Power) -> tuple[State, tuple[Event, ...]]:
    """Let a Redeemed die take effect."""
    motes = check_playable(state, seat, power)
    die, target = power.die, power.target
    played = PowerPlayed(seat, die, target)
    if die.mote == "grey":
        immune = tuple(sorted((*motes.immune, seat)))
        return state.with_motes(motes.remove(die)._replace(immune=immune)), (played, ImmunityGained(seat))
    assert isinstance(target, Die)
    if die.mote == "neutral":
        swapped = motes.unbury(die).bury(target, seat)
        return state.with_motes(swapped.with_cup(seat, (*swapped.cups[seat], die))), (played,)
    taken = motes.remove(die).unbury(target)
    taken = taken.with_cup(seat, (*taken.cups[seat], target))
    left = len(taken.cups[seat])
    dice = (*state.dice[:seat], left, *state.dice[seat + 1 :])
    return state._replace(table=state.table._replace(dice=dice, motes=taken)), (played, DieGained(seat, left, target))


def has_target(state: State, motes: Mischief, effect: Effect) -> bool:
    """Whether an effect of the night still has what it was played on."""
    if isinstance(effect.target, int):
        return effect.target in state.live
    if effect.die.mote == "blue":
        return any(other.die == effect.target for other in motes.stack)
    return motes.is_buried(effect.target)


def take_effect(state: State, motes: Mischief, effect: Effect) -> tuple[Mischief, Event]:
    """Let a Blue or a Dark that has left the stack take effect; any effect that lost its target does nothing."""
    if not has_target(state, motes, effect):
        return motes, PowerFailed(effect.by, effect.die)
    assert isinstance(effect.target, Die)
    if effect.die.mote == "blue":
        stack = tuple(other for other in motes.stack if other.die != effect.target)
        return motes._replace(stack=stack), PowerStopped(effect.by, effect.target)
    return motes.remove(effect.target), DieDestroyed(effect.by, effect.target)
