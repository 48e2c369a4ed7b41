"""The section of rounds: rolling, and what follows when a round is settled or a seat is empty."""

from __future__ import annotations

from p2pdice.events import Event, LeadPassed, RoundStarted
from p2pdice.state import NOBODY, Expect, State, next_live


def start_bidding(state: State) -> State:
    """Give the leader the first bid."""
    return state._replace(turn=state.leader, phase="bidding", awaits=Expect.MOVE)


def shake(state: State) -> tuple[State, tuple[Event, ...]]:
    """Roll all dice: what was shown of the round before is covered again."""
    return state._replace(hands=(), count=None), (RoundStarted(state.round, state.leader, state.dice, state.palifico),)


def clear_cups(state: State) -> State:
    """Take the dice of those who are out from the game."""
    cleared = state._replace(dice=tuple(n if seat in state.live else 0 for seat, n in enumerate(state.dice)))
    motes = state.motes
    if motes is None or not motes.cups:
        return cleared
    removed = (die for seat, cup in enumerate(motes.cups) if seat not in state.live for die in cup)
    cups = tuple(cup if seat in state.live else () for seat, cup in enumerate(motes.cups))
    return cleared._replace(motes=motes._replace(cups=cups, removed=(*motes.removed, *removed)))


def clear_table(state: State) -> State:
    """Put the round's bids and call behind, and clear the cups of who is out."""
    return clear_cups(state)._replace(turn=NOBODY, bids=(), challenge=None)


def pass_lead(state: State, seat: int) -> tuple[State, tuple[Event, ...]]:
    """Give the lead to ``seat``, or to the next live one clockwise."""
    leader = seat if seat in state.live else next_live(state.live, seat)
    if leader == state.leader:
        return state, ()
    return state._replace(leader=leader), (LeadPassed(leader, state.leader),)


def end_round(state: State) -> State:
    """Clear the table for the next round, and await its roll."""
    return clear_table(state)._replace(phase="bidding", awaits=Expect.ROLLED, round=state.round + 1)
