"""The section of bidding: who may bid what, and the menu of moves for it."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from p2pdice.bids import raises
from p2pdice.errors import IllegalMove
from p2pdice.events import BidMade, Event
from p2pdice.menus import Menu, menu_of
from p2pdice.moves import EXACT, FACE_NAMES, FACES, LIAR, MAX_QUANTITY, Bid, Move
from p2pdice.powers import playable
from p2pdice.state import StandingBid, State, next_live

LAST_EXACT_ROUND: Final = 999
"""Gained dice could make a match endless; without exact from here on, cups only empty."""

_ALL: Final = FACES
_NO_ONES: Final = FACES[1:]
_NO_BID: Final = (0, 0, 0)
_CALLS: Final[tuple[Move, ...]] = (LIAR,)
_CALLS_AND_EXACT: Final[tuple[Move, ...]] = (LIAR, EXACT)
_ONLY: Final = tuple((face,) for face in FACES)


def order(state: State) -> str:
    """Return the raise order of the round."""
    return "standard" if state.palifico else state.ruleset.raise_


def faces(state: State) -> tuple[int, ...]:
    """Return the faces that the player on turn may bid, whatever the quantity."""
    bids = state.bids
    if state.palifico and bids and state.dice[state.turn] != 1:
        return _ONLY[bids[-1].face - 1]
    ones_bid = state.ruleset.ones_bid
    if ones_bid == "opening-only" and bids and bids[0].face != 1:
        return _NO_ONES
    if ones_bid == "not-opening" and not bids and not state.palifico:
        return _NO_ONES
    return _ALL


def exact_refused(state: State) -> str:
    """Return why exact may not be called on a standing bid, or nothing if it may."""
    if state.ruleset.exact == "none":
        return "these rules know no call of exact"
    if state.round > LAST_EXACT_ROUND:
        return f"exact may not be called after round {LAST_EXACT_ROUND}"
    return ""


def lowest_raise(state: State) -> int:
    """Return the smallest quantity of a bid that may be made, or 0 if there is none."""
    quantity, face, _seat = state.bids[-1] if state.bids else (0, 0, 0)
    allowed = raises(order(state), quantity, face)
    made = {(bid.quantity, bid.face) for bid in state.bids} if order(state) == "either" else ()
    lowest = (next((n for n in allowed[new - 1] if (n, new) not in made), 0) for new in faces(state))
    return min(filter(None, lowest), default=0)


def menu(state: State) -> Menu:
    """Return the listed moves of a bidding turn: bids up to the dice in play, the calls, dice to be played."""
    bids, motes = state.bids, state.motes
    raising = order(state)
    quantity, face, _seat = bids[-1] if bids else _NO_BID
    limit = sum(state.dice)
    calls = () if not bids else _CALLS if exact_refused(state) else _CALLS_AND_EXACT
    if motes is not None and motes.must_raise:
        calls, limit = (), max(limit, lowest_raise(state))
    listed = menu_of(raising, quantity, face, faces(state), limit, calls)
    if raising == "either":
        listed = listed.without(Bid(bid.quantity, bid.face) for bid in bids)
    return listed if motes is None else listed.followed_by(playable(state, state.turn))


def bid(state: State, seat: int, move: Bid) -> tuple[State, tuple[Event, ...]]:
    """Make a bid and pass the turn on."""
    bids, raising, possible = state.bids, order(state), faces(state)
    quantity, face = move.quantity, move.face
    if not (1 <= quantity <= MAX_QUANTITY and face in FACES):
        raise IllegalMove(f"{move} is out of bounds: a bid is for 1 to {MAX_QUANTITY} dice of a face from 1 to 6")
    standing_quantity, standing_face, _seat = bids[-1] if bids else _NO_BID
    if face not in possible or quantity not in raises(raising, standing_quantity, standing_face)[face - 1]:
        raise IllegalMove(_refusal(state, move, possible))
    if raising == "either" and any(made[0] == quantity and made[1] == face for made in bids):
        raise IllegalMove(f"{move} was bid before in this round: bid something new, or call liar")
    if state.motes is not None and state.motes.must_raise:
        state = state._replace(motes=state.motes._replace(must_raise=False))
    made, events = _made(quantity, face, seat)
    # By position, and the rest of the state as it is: this is the most frequent step of all.
    following: State = tuple.__new__(State, (next_live(state.live, seat), (*bids, made)) + state[2:])  # noqa: RUF005 - faster
    return following, events


@lru_cache(maxsize=8192)
def _made(quantity: int, face: int, seat: int) -> tuple[StandingBid, tuple[Event, ...]]:
    return StandingBid(quantity, face, seat), (BidMade(seat, quantity, face),)


def _refusal(state: State, move: Bid, possible: tuple[int, ...]) -> str:
    bids = state.bids
    if move.face not in possible:
        if len(possible) == 1:
            name = FACE_NAMES[possible[0] - 1]
            return (
                f"{move} changes the face: in palifico only a player with one die may, so bid more {name} or call liar"
            )
        if not bids:
            return f"{move} cannot open: a round is not opened on ones, bid twos to sixes"
        return f"{move} is not possible: this round was not opened on ones, so bid twos to sixes or call liar"
    standing = bids[-1]
    allowed = raises(order(state), standing.quantity, standing.face)
    lowest = [f"{allowed[face - 1].start}x{face}" for face in possible if allowed[face - 1]]
    advice = f"the lowest raises are {', '.join(lowest)}, or call liar" if lowest else "nothing does, so call liar"
    return f"{move} does not raise {standing.quantity}x{standing.face}: {advice}"
