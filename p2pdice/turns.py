"""The turns of a match with powers: Sunset, Night and Sunrise, the graveyard, and the stack of effects.

A *window* asks the players clockwise from the leader. An action restarts it after the actor, and a full round of passes
closes it. Players with nothing to play are not asked. The effect of a Cursed die first waits on the *stack*, where the
other players, clockwise from its player, may answer it. :attr:`Mischief.waiting` lists the seats still to be asked: in
the window or, while the stack is not empty, for an answer to its top. :func:`ask` handles both::

    begin_turn ─▶ sunset ─▶ (deal) ─▶ night ─▶ bidding … verdict ─▶ discard ─▶ sunrise ─▶ end_turn ─▶ begin_turn

:func:`after` derives the states, event by event. :mod:`p2pdice.powers` has the effects of each die.

Source: the rule text of Motes of Mischief. Priority and answers are this package's interpretation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any, Final

from p2pdice.errors import IllegalMove, UnexpectedInput
from p2pdice.events import (
    AccusationVoid,
    DieGained,
    DieLost,
    Event,
    Passed,
    PhaseBegun,
    PlayerOut,
    PowerEvent,
    PowerFailed,
    PowerPlayed,
    PrizeDrawn,
    Transition,
)
from p2pdice.motes import GROUP_OF, MOTES, NOTATION, Die, Group
from p2pdice.moves import FACES, Lose, Pass, Power, Roll, Rolled
from p2pdice.powers import POWERS
from p2pdice.rounds import clear_table, end_match, is_decided, pass_lead, shake, start_bidding
from p2pdice.state import NOBODY, Exit, Expect, Mischief, Phase, StackedEffect, State, live_from, next_live

# State changes by event


def after(state: State, event: Event) -> State:
    """Return the state with this event's changes to dice, cups, graveyard, stack, live seats and lasting effects.

    Bids and the turn are not updated: only the state that :func:`~p2pdice.engine.apply` returns has them. A display
    that presents events one by one uses this function for the states in between.
    """
    kind = type(event)
    if kind in _OF_STATE:
        state = _OF_STATE[kind](state, event)
    motes = state.motes
    if motes is None:
        return state
    if isinstance(event, PowerEvent):
        return state._replace(motes=event.after(motes.popped() if event.resolves else motes))
    return state._replace(motes=_OF_MOTES[kind](motes, event)) if kind in _OF_MOTES else state


def _dice_left(state: State, event: DieLost | DieGained) -> State:
    dice = (*state.dice[: event.seat], event.left, *state.dice[event.seat + 1 :])
    return state._replace(dice=dice)


def _out(state: State, event: PlayerOut) -> State:
    live = tuple(seat for seat in state.live if seat != event.seat)
    return state._replace(live=live)


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
    motes = POWERS[event.die.mote].play(motes, event)
    if GROUP_OF[event.die.mote] == "redeemed":
        return motes
    assert event.target is not None
    stack = (*motes.stack, StackedEffect(event.die, event.seat, event.target))
    return motes._replace(stack=stack, actor=motes.actor if motes.stack else event.seat)


def _popped(motes: Mischief, _event: PowerFailed) -> Mischief:
    return motes.popped()


def _void(motes: Mischief, event: AccusationVoid) -> Mischief:
    lasting = tuple(each for each in motes.lasting if each.seat != event.bidder or not each.voids_accusations)
    return motes._replace(lasting=lasting, must_raise=True)


def _left(motes: Mischief, event: PlayerOut) -> Mischief:
    """Remove a departed player's effects from the stack, and end lasting effects by and on the player."""
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
    AccusationVoid: _void,
    PlayerOut: _left,
}


# The graveyard

GROUP_IN: Final[Mapping[Phase, Group]] = {
    "sunset": "redeemed",
    "night": "cursed",
    "bidding": "cursed",
    "sunrise": "redeemed",
}
"""The group of dice that can be played in each phase."""


def playable(state: State, seat: int) -> Iterator[Power]:
    """Yield the plays open to a live player now, in the order of the graveyard and then of the targets."""
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
        if GROUP_OF[die.mote] == group and power.is_answer == bool(motes.stack):
            for target in power.targets(state, motes, seat, die):
                yield Power(die, target)


def check_playable(state: State, seat: int, power: Power) -> Mischief:
    """Return the state's motes if ``seat`` may play this power now.

    :raises IllegalMove: if it may not; the message names the obstacle.
    """
    motes = state.motes
    if motes is None:
        raise IllegalMove(f"{power} is not possible: this match is played without motes")
    if power not in playable(state, seat):
        raise IllegalMove(f"{power} is not possible: {_obstacle(state, motes, seat, power.die)}")
    return motes


def _obstacle(state: State, motes: Mischief, seat: int, die: Die) -> str:
    group, now = GROUP_OF[die.mote], GROUP_IN.get(state.phase)
    if not motes.is_buried(die):
        return f"{die} is not in the graveyard"
    if motes.sender(die) != seat:
        return f"{die} was sent to the graveyard by another player"
    if now != group:
        return f"{group} dice are not played in this phase"
    if obstacle := motes.obstacle(seat, group):
        return f"{POWERS[obstacle.mote].one} forbids you to play {group} dice for now"
    return f"a die of {die.mote} {POWERS[die.mote].hint.format(example=NOTATION[die.mote].example)}"


# Windows and the stack


def public_die(state: State, item: Roll) -> Transition:
    """Handle the roll for the prize, or the roll that the top of the stack needs."""
    if type(item.face) is not int or item.face not in FACES:
        raise UnexpectedInput(f"{item.face!r} is not a face of a die: faces are 1 to 6")
    motes = _mischief(state)
    if state.phase == "prize":
        return _draw_prize(state, motes, item.face)
    return _take_effect(state, item.face)


def _draw_prize(state: State, motes: Mischief, face: int) -> Transition:
    prize = MOTES[face - 1]
    cups = tuple(
        tuple(Die(mote, seat) for mote in MOTES if mote != prize) if seat in state.live else ()
        for seat in range(state.players)
    )
    drawn = state._replace(motes=motes._replace(prize=prize, cups=cups))
    return _then((PrizeDrawn(prize),), _begin_turn(drawn))


def _begin_turn(state: State) -> Transition:
    motes = _mischief(state)
    events = tuple(
        event for each in motes.lasting if (event := POWERS[each.mote].turn_begins(each, state.leader)) is not None
    )
    return _then(events, _open_window(reduce(after, events, state), "sunset"))


def rolled(state: State, _input: Rolled) -> Transition:
    """Roll the dice, and open the night or, without motes, the bidding."""
    shaken, events = shake(state)
    return (start_bidding(shaken), events) if state.motes is None else _then(events, _open_window(shaken, "night"))


def _open_window(state: State, phase: Phase) -> Transition:
    motes = _mischief(state)._replace(waiting=live_from(state, state.leader))
    asked, events = ask(state._replace(motes=motes, phase=phase, turn=NOBODY))
    return asked, events if asked.phase != phase or asked.awaits is not Expect.MOVE else (
        PhaseBegun(phase, state.leader),
    )


def ask(state: State) -> Transition:
    """Give the turn to the next waiting seat that can play a die; without one, resolve the stack or end the window."""
    motes = _mischief(state)
    for index, seat in enumerate(motes.waiting):
        if next(playable(state, seat), None) is not None:
            left = motes._replace(waiting=motes.waiting[index + 1 :])
            return state._replace(motes=left, turn=seat, awaits=Expect.MOVE), ()
    state = state._replace(motes=motes._replace(waiting=()), turn=NOBODY)
    if motes.stack:
        return resolve(state)
    if state.phase == "sunset":
        return state._replace(phase="night", awaits=Expect.ROLLED), ()
    return (start_bidding(state), ()) if state.phase == "night" else _end_turn(state)


def passed(state: State, seat: int, _move: Pass) -> Transition:
    return _then((Passed(seat),), ask(state))


def power_used(state: State, seat: int, move: Power) -> Transition:
    """Play a Redeemed die, which takes effect at once."""
    check_playable(state, seat, move)
    played = PowerPlayed(seat, move.die, move.target)
    state = after(state, played)
    effect = StackedEffect(move.die, seat, seat if move.target is None else move.target)
    events = POWERS[move.die.mote].take_effect(_mischief(state), effect, 0)
    return _then((played, *events), _ask_after(reduce(after, events, state), seat))


def power_stacked(state: State, seat: int, move: Power) -> Transition:
    """Play a Cursed die: the die leaves the game, and its effect goes on the stack."""
    motes = check_playable(state, seat, move)
    target = motes.stack[-1].die if motes.stack else move.target
    assert target is not None
    played = PowerPlayed(seat, move.die, target)
    return _then((played,), ask_for_answers(after(state, played)))


def ask_for_answers(state: State) -> Transition:
    """Ask all other live players, clockwise from the player of the top of the stack, to answer it."""
    motes = _mischief(state)
    by = motes.stack[-1].by
    waiting = tuple(seat for seat in live_from(state, by) if seat != by)
    return ask(state._replace(motes=motes._replace(waiting=waiting)))


def resolve(state: State) -> Transition:
    """Apply the top of the stack, or await the roll that it needs; without its target it does nothing."""
    motes = _mischief(state)
    top = motes.stack[-1]
    power = POWERS[top.die.mote]
    if not power.has_target(state, motes, top):
        failed = PowerFailed(top.by, top.die)
        return _then((failed,), _answered(after(state, failed)))
    return (state._replace(turn=NOBODY, awaits=Expect.ROLL), ()) if power.outcomes else _take_effect(state)


def _take_effect(state: State, face: int = 0) -> Transition:
    motes = _mischief(state)
    top = motes.stack[-1]
    events = POWERS[top.die.mote].take_effect(motes, top, face)
    return _then(events, _answered(reduce(after, events, state)))


def _answered(state: State) -> Transition:
    return ask_for_answers(state) if _mischief(state).stack else resume(state)


def resume(state: State) -> Transition:
    """Continue the phase that the stack interrupted. The stack is now empty."""
    motes = _mischief(state)
    actor = motes.actor
    state = state._replace(motes=motes._replace(actor=NOBODY, waiting=()))
    if state.phase == "night":
        return _ask_after(state, actor)
    # A player who played a die in the bidding still has to bid or call.
    if actor in state.live:
        return state._replace(turn=actor, awaits=Expect.MOVE), ()
    return free_turn(state, actor), ()


def free_turn(state: State, departed: int) -> State:
    """Give the bidding turn of a departed player to the next live seat, who need not raise."""
    motes = _mischief(state)._replace(must_raise=False)
    return state._replace(motes=motes, turn=next_live(state.live, departed), awaits=Expect.MOVE)


def _ask_after(state: State, actor: int) -> Transition:
    motes = _mischief(state)._replace(waiting=live_from(state, actor + 1))
    return ask(state._replace(motes=motes))


def judged(state: State, loser: int, successor: int) -> Transition:
    """Continue after a verdict.

    :param loser: the seat that loses a die to the graveyard, or :data:`NOBODY`.
    :param successor: the next leader.
    """
    state = clear_table(state)
    state = state._replace(motes=_mischief(state)._replace(successor=successor))
    if loser == NOBODY:
        return dawn(state)
    cup = _mischief(state).cups[loser]
    if len(cup) == 1:
        return _bury(state, loser, cup[0])
    return state._replace(turn=loser, phase="discard", awaits=Expect.MOVE), ()


def lost(state: State, seat: int, move: Lose) -> Transition:
    """Send the die that the loser chose to the graveyard."""
    cup = _mischief(state).cups[seat]
    if move.die not in cup:
        raise IllegalMove(f"{move.die} is not in your cup, which holds {', '.join(map(str, cup))}")
    return _bury(state, seat, move.die)


def _bury(state: State, seat: int, die: Die) -> Transition:
    lost = DieLost(seat, len(_mischief(state).cups[seat]) - 1, die)
    return _then((lost,), dawn(after(state, lost)))


def dawn(state: State) -> Transition:
    return _open_window(state, "sunrise")


def _end_turn(state: State) -> Transition:
    gone = tuple(seat for seat in state.live if not state.dice[seat])
    events: tuple[Event, ...] = tuple(PlayerOut(seat, "lost") for seat in gone)
    exits = (*state.exits, *(Exit((seat,), "lost") for seat in gone))
    state = reduce(after, events, state._replace(exits=exits))
    if is_decided(state):
        return _then(events, end_match(state))
    motes = _mischief(state)
    led, lead = pass_lead(state, motes.successor)
    led = led._replace(round=state.round + 1, motes=motes._replace(successor=NOBODY))
    return _then((*events, *lead), _begin_turn(led))


def _mischief(state: State) -> Mischief:
    assert state.motes is not None
    return state.motes


def _then(events: tuple[Event, ...], following: Transition) -> Transition:
    return following[0], (*events, *following[1])
