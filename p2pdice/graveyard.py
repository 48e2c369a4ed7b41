"""The section of the graveyard: the dice that a player may play from it, and the effects of Redeemed ones.

Source: the rule text of Motes of Mischief. What each die does is in :mod:`p2pdice.powers`; Cursed dice go on the stack:
see :mod:`p2pdice.turns`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Final

from p2pdice.changes import after
from p2pdice.errors import IllegalMove
from p2pdice.events import Event, PowerPlayed
from p2pdice.mischief import Effect, Mischief
from p2pdice.motes import Die, Group
from p2pdice.moves import Power
from p2pdice.powers import POWERS
from p2pdice.state import Phase, State

GROUP_IN: Final[Mapping[Phase, Group]] = {
    "sunset": "redeemed",
    "night": "cursed",
    "bidding": "cursed",
    "sunrise": "redeemed",
}
"""Whose dice can be played, by phase."""


def playable(state: State, seat: int) -> Iterator[Power]:
    """Yield the plays of this live player that are possible now, in the order of the graveyard, then of the targets."""
    motes = state.motes
    group = GROUP_IN.get(state.phase)
    if motes is None or not motes.graveyard or group is None:
        return
    if motes.lasting and motes.obstacle(seat, group):
        return
    if motes.stack and motes.stack[-1].by == seat:
        return
    for die, sent_by in motes.graveyard:
        if sent_by != seat:
            continue
        power = POWERS[die.mote]
        if power.group == group and power.is_answer == bool(motes.stack):
            for target in power.targets(state, motes, seat, die):
                yield Power(die, target)


def check_playable(state: State, seat: int, power: Power) -> Mischief:
    """Return the table on which this power may be played now.

    :raises IllegalMove: if it may not; the text names the obstacle.
    """
    motes = state.motes
    if motes is None:
        raise IllegalMove(f"{power} is not possible: this match is played without motes")
    if power not in playable(state, seat):
        raise IllegalMove(f"{power} is not possible: {_obstacle(state, motes, seat, power.die)}")
    return motes


def _obstacle(state: State, motes: Mischief, seat: int, die: Die) -> str:
    power = POWERS[die.mote]
    group, now = power.group, GROUP_IN.get(state.phase)
    if not motes.is_buried(die):
        return f"{die} is not in the graveyard"
    if motes.sender(die) != seat:
        return f"{die} was sent to the graveyard by somebody else"
    if now != group:
        return f"{group} dice are not played in this phase"
    if obstacle := motes.obstacle(seat, group):
        return f"{POWERS[obstacle.mote].one} forbids you to play {group} dice for now"
    return f"a die of {die.mote} {power.hint.format(example=power.example)}"


def use(state: State, seat: int, power: Power) -> tuple[State, tuple[Event, ...]]:
    """Let a Redeemed die take effect."""
    check_playable(state, seat, power)
    die, target = power.die, power.target
    played = PowerPlayed(seat, die, target)
    state = after(state, played)
    assert state.motes is not None
    effect = Effect(die, seat, seat if target is None else target)
    events = POWERS[die.mote].take_effect(state.motes, effect, 0)
    return reduce(after, events, state), (played, *events)
