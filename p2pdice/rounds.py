"""The section of rounds: rolling, and what follows when a round is settled or a seat is empty."""

from __future__ import annotations

from p2pdice.events import Event, LeadPassed, RoundStarted
from p2pdice.state import NOBODY, Expect, State, next_live, position


def start_bidding(state: State) -> State:
    """Give the leader the first bid."""
    return position(state, state.leader, (), "bidding", Expect.MOVE, None)


def shake(state: State) -> tuple[State, tuple[Event, ...]]:
    """Roll all dice: what was shown of the round before is covered again."""
    event = RoundStarted(state.round, state.leader, state.dice, state.palifico)
    return state._replace(hands=(), count=None) if state.hands else state, (event,)


def clear_cups(state: State) -> State:
    """Take the dice of those who are out from the game."""
    if len(state.live) == state.players:
        return state
    cleared = state._replace(dice=tuple(n if seat in state.live else 0 for seat, n in enumerate(state.dice)))
    motes = state.motes
    if motes is None or not motes.cups:
        return cleared
    removed = (die for seat, cup in enumerate(motes.cups) if seat not in state.live for die in cup)
    cups = tuple(cup if seat in state.live else () for seat, cup in enumerate(motes.cups))
    return cleared._replace(motes=motes._replace(cups=cups, removed=(*motes.removed, *removed)))


def clear_table(state: State) -> State:
    """Put the round's bids and call behind, and clear the cups of who is out."""
    return position(clear_cups(state), NOBODY, (), state.phase, state.awaits, None)


def pass_lead(state: State, seat: int) -> tuple[State, tuple[Event, ...]]:
    """Give the lead to ``seat``, or to the next live one clockwise."""
    leader = seat if seat in state.live else next_live(state.live, seat)
    if leader == state.leader:
        return state, ()
    return state._replace(leader=leader), (LeadPassed(leader, state.leader),)
