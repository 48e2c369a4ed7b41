"""The section of rounds: rolling the dice, and clearing up after a round or a departure."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from p2pdice.bidding import round_menus
from p2pdice.events import Event, LeadPassed, RoundStarted
from p2pdice.state import NOBODY, Expect, State, next_live, position

# Few values differ, so each is made once and shared.
_round_started: Final = lru_cache(maxsize=1024)(RoundStarted)
_MOVE: Final = Expect.MOVE


def start_bidding(state: State) -> State:
    """Give the leader the first bid."""
    return position(state, state.leader, (), "bidding", _MOVE, None, round_menus(state))


def shake(state: State) -> tuple[State, tuple[Event, ...]]:
    """Roll all dice, and cover those that the last showdown opened."""
    table = state.table
    event = _round_started(table.round, table.leader, table.dice, table.palifico)
    return state._replace(table=table._replace(hands=(), count=None)) if table.hands else state, (event,)


def clear_cups(state: State) -> State:
    """Remove the dice of players who are out."""
    table = state.table
    if len(table.live) == table.players:
        return state
    dice = tuple(n if seat in state.live else 0 for seat, n in enumerate(state.dice))
    cleared = state._replace(table=table._replace(dice=dice))
    motes = state.motes
    if motes is None or not motes.cups:
        return cleared
    removed = (die for seat, cup in enumerate(motes.cups) if seat not in state.live for die in cup)
    cups = tuple(cup if seat in state.live else () for seat, cup in enumerate(motes.cups))
    return cleared.with_motes(motes._replace(cups=cups, removed=(*motes.removed, *removed)))


def clear_table(state: State) -> State:
    """Drop the bids and the call of the round, and clear the cups of players who are out."""
    return position(clear_cups(state), NOBODY, (), state.phase, state.awaits, None)


def pass_lead(state: State, seat: int) -> tuple[State, tuple[Event, ...]]:
    """Give the lead to ``seat``, or to the next live one clockwise."""
    leader = seat if seat in state.live else next_live(state.live, seat)
    if leader == state.leader:
        return state, ()
    return state._replace(table=state.table._replace(leader=leader)), (LeadPassed(leader, state.leader),)
