"""The section of challenges: a call on the standing bid, and the others taking sides."""

from __future__ import annotations

from p2pdice.bidding import exact_refused, lowest_raise
from p2pdice.errors import IllegalMove
from p2pdice.events import AccusationVoid, ChallengeCalled, Event, Sided
from p2pdice.moves import Exact, Liar, Side
from p2pdice.state import NOBODY, Challenge, Expect, State, clockwise, position


def call(state: State, seat: int, move: Liar | Exact) -> tuple[State, tuple[Event, ...]]:
    """Challenge the standing bid."""
    standing = state.bid
    if standing is None:
        raise IllegalMove("there is no bid to call: open the round with one, as in 2x3 (two threes)")
    if isinstance(move, Exact) and (refused := exact_refused(state)):
        raise IllegalMove(f"{refused}: raise the bid or call liar")
    motes = state.motes
    if motes is not None and motes.must_raise:
        raise IllegalMove("your accusation was void: raise the bid instead")
    challenge = Challenge(seat, "exact" if isinstance(move, Exact) else "liar", ())
    event = ChallengeCalled(seat, challenge.call, standing.seat, standing.quantity, standing.face)
    if motes is not None and standing.seat in motes.immune and lowest_raise(state):
        immune = tuple(other for other in motes.immune if other != standing.seat)
        spent = state._replace(motes=motes._replace(immune=immune, must_raise=True))
        return spent, (event, AccusationVoid(seat, standing.seat))
    return await_sides(state, challenge), (event,)


def side(state: State, seat: int, move: Side) -> tuple[State, tuple[Event, ...]]:
    """Take a side."""
    assert state.challenge is not None
    if move.side not in ("accuser", "accused"):
        raise IllegalMove("there are two sides: accuser and accused")
    sides = (*state.challenge.sides, (seat, move.side))
    return await_sides(state, state.challenge._replace(sides=sides)), (Sided(seat, move.side),)


def await_sides(state: State, challenge: Challenge) -> State:
    """Give the turn to the next player clockwise from the accuser who owes a side, or open the cups."""
    if state.ruleset.siding:
        standing = state.bid
        assert standing is not None
        settled = {challenge.seat, standing.seat, *(seat for seat, _ in challenge.sides)}
        for seat in clockwise(state, challenge.seat):
            if seat in state.live and seat not in settled:
                return position(state, seat, state.bids, "siding", Expect.MOVE, challenge)
    return position(state, NOBODY, state.bids, "showdown", Expect.HANDS, challenge)
