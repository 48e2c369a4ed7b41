"""The section of departures: a player leaves in the middle of a match, by choice or not.

The dice of who left stay in play until the round is settled: others bid on them, and the departed may be a party to
a challenge. Then the cup is cleared. A standing bid stays and may be called, at no further cost to its maker.
"""

from __future__ import annotations

from p2pdice.challenge import await_sides
from p2pdice.errors import UnexpectedInput
from p2pdice.events import Event, PlayerOut
from p2pdice.inputs import Evict
from p2pdice.moves import Concede
from p2pdice.rounds import clear_cups, end_match, is_decided, pass_lead
from p2pdice.state import Exit, Expect, Reason, State, next_live


def evicted(state: State, item: Evict) -> tuple[State, tuple[Event, ...]]:
    """Take a player out from outside the game."""
    return _leave(state, item.seat, "evicted")


def conceded(state: State, seat: int, _move: Concede) -> tuple[State, tuple[Event, ...]]:
    """Take a player out at their own wish."""
    return _leave(state, seat, "conceded")


def _leave(state: State, seat: int, reason: Reason) -> tuple[State, tuple[Event, ...]]:
    if state.awaits is Expect.OVER:
        raise UnexpectedInput("the match is over: nobody can leave it any more")
    if seat not in state.live:
        raise UnexpectedInput(f"seat {seat} is not in the match any more: the live seats are {_listed(state.live)}")
    left = state._replace(
        live=tuple(other for other in state.live if other != seat), exits=(*state.exits, Exit((seat,), reason))
    )
    out = PlayerOut(seat, reason)
    if is_decided(left):
        over, events = end_match(left)
        return over, (out, *events)
    left, lead = pass_lead(left, left.leader)
    if left.awaits is Expect.ROLLED:
        left = clear_cups(left)  # no round is under way, so there is nothing to wait for
    elif left.phase == "siding":
        left = await_sides(left)
    elif left.turn == seat:
        left = left._replace(turn=next_live(left.live, seat))
    return left, (out, *lead)


def _listed(seats: tuple[int, ...]) -> str:
    return ", ".join(map(str, seats))
