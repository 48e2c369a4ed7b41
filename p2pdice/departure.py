"""The section of departures: a player leaves in the middle of a match, by choice or not.

The dice of a departed player stay in play until the round is settled: others have bid on them, and the player may be a
party to a challenge. Then the cup is cleared. A standing bid stays and may be called, at no further cost to its maker.
Moves that the player owed are void, and so are their effects on the stack.
"""

from __future__ import annotations

from typing import Final

from p2pdice.challenge import await_sides
from p2pdice.changes import after
from p2pdice.ending import end_match, is_decided
from p2pdice.errors import UnexpectedInput
from p2pdice.events import Event, PlayerOut
from p2pdice.inputs import Evict
from p2pdice.mischief import Mischief
from p2pdice.moves import Concede
from p2pdice.rounds import clear_cups, pass_lead
from p2pdice.state import Exit, Expect, Phase, Reason, State, next_live
from p2pdice.turns import ask, ask_for_answers, dawn, free_turn, resolve, resume


def evicted(state: State, item: Evict) -> tuple[State, tuple[Event, ...]]:
    """Take an evicted player out."""
    return _leave(state, item.seat, "evicted")


def conceded(state: State, seat: int, _move: Concede) -> tuple[State, tuple[Event, ...]]:
    """Take out a player who concedes."""
    return _leave(state, seat, "conceded")


def _leave(state: State, seat: int, reason: Reason) -> tuple[State, tuple[Event, ...]]:
    if state.awaits is Expect.OVER:
        raise UnexpectedInput("the match is over: nobody can leave it any more")
    if seat not in state.live:
        raise UnexpectedInput(f"seat {seat} is not in the match any more: the live seats are {_listed(state.live)}")
    out = PlayerOut(seat, reason)
    left = after(state._replace(table=state.table._replace(exits=(*state.exits, Exit((seat,), reason)))), out)
    if is_decided(left):
        over, events = end_match(left)
        return over, (out, *events)
    left, lead = pass_lead(left, left.leader)
    if left.awaits is Expect.ROLLED or left.phase in _CUPS_AT_REST:
        left = clear_cups(left)  # nobody bids on the dice, so there is nothing to wait for
    left, events = _go_on(left, seat, state.motes)
    return left, (out, *lead, *events)


_CUPS_AT_REST: Final[frozenset[Phase]] = frozenset({"pledges", "stakes", "prize", "sunset", "discard", "sunrise"})


def _go_on(left: State, seat: int, before: Mischief | None) -> tuple[State, tuple[Event, ...]]:
    """Give the turn to the next player, now that ``seat`` is out; ``before`` is the state of motes before that."""
    if left.phase == "siding":
        assert left.challenge is not None
        return await_sides(left, left.challenge), ()
    if before is not None:
        assert left.motes is not None
        if before.stack and not left.motes.stack:
            return resume(left)
        if before.stack and left.motes.stack[-1] != before.stack[-1]:
            return ask_for_answers(left)
        if before.stack and left.awaits is Expect.ROLL:
            return resolve(left)  # its target may be the player who left
        if left.turn == seat and left.phase == "discard":
            return dawn(left)
        if left.turn == seat and (left.phase != "bidding" or left.motes.stack):
            return ask(left)
        if left.turn == seat:
            return free_turn(left, seat), ()
    if left.turn == seat:
        left = left._replace(turn=next_live(left.live, seat))
    return left, ()


def _listed(seats: tuple[int, ...]) -> str:
    return ", ".join(map(str, seats))
