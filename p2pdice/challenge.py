"""The section of challenges: a call on the standing bid, and the others taking sides."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from p2pdice.bidding import exact_refused, lowest_raise
from p2pdice.changes import after
from p2pdice.errors import IllegalMove
from p2pdice.events import AccusationVoid, ChallengeCalled, Event, Sided
from p2pdice.moves import Exact, Liar, Side
from p2pdice.state import NOBODY, Call, Challenge, Expect, State, clockwise, position

_HANDS: Final = Expect.HANDS  # looked up once: a member of an enum costs more than a global

_challenge_called: Final = lru_cache(maxsize=4096)(ChallengeCalled)


def call(state: State, seat: int, move: Liar | Exact) -> tuple[State, tuple[Event, ...]]:
    """Challenge the standing bid."""
    bids, motes = state.bids, state.table.motes
    if not bids:
        raise IllegalMove("there is no bid to call: open the round with one, as in 2x3 (two threes)")
    standing = bids[-1]
    name: Call = "liar" if type(move) is Liar else "exact"
    if name == "exact" and (refused := exact_refused(state)):
        raise IllegalMove(f"{refused}: raise the bid or call liar")
    if motes is not None and motes.must_raise:
        raise IllegalMove("your accusation was void: raise the bid instead")
    challenge = Challenge(seat, name, ())
    event = _challenge_called(seat, name, standing.seat, standing.quantity, standing.face)
    if motes is not None and standing.seat in motes.immune and lowest_raise(state):
        void = AccusationVoid(seat, standing.seat)
        return after(state, void), (event, void)
    return await_sides(state, challenge), (event,)


def side(state: State, seat: int, move: Side) -> tuple[State, tuple[Event, ...]]:
    """Take a side."""
    assert state.challenge is not None
    if move.side not in ("accuser", "accused"):
        raise IllegalMove("there are two sides: accuser and accused")
    sides = (*state.challenge.sides, (seat, move.side))
    return await_sides(state, state.challenge._replace(sides=sides)), (Sided(seat, move.side),)


def await_sides(state: State, challenge: Challenge) -> State:
    """Give the turn to the next player clockwise from the accuser who owes a side; if there is none, await the cups."""
    if state.table.ruleset.siding:
        standing = state.bids[-1]
        settled = {challenge.seat, standing.seat, *(seat for seat, _ in challenge.sides)}
        for seat in clockwise(state, challenge.seat):
            if seat in state.live and seat not in settled:
                return position(state, seat, state.bids, "siding", Expect.MOVE, challenge)
    return position(state, NOBODY, state.bids, "showdown", _HANDS, challenge)
