"""The section of bidding: which bids are allowed, and the menu of moves."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from p2pdice.bids import RAISES_IN_WORDS, raises
from p2pdice.errors import IllegalMove
from p2pdice.events import BidMade, Event
from p2pdice.graveyard import playable
from p2pdice.menus import Menus, menus_of
from p2pdice.moves import FACE_NAMES, FACES, MAX_QUANTITY, Bid, Move
from p2pdice.state import NOBODY, Expect, StandingBid, State, next_live

LAST_EXACT_ROUND: Final = 999
"""Gained dice could make a match endless. After this round nobody may call exact, so cups only empty."""

_ALL: Final = FACES
_NO_ONES: Final = FACES[1:]
_NO_BID: Final = StandingBid(0, 0, NOBODY)
_MOVE: Final = Expect.MOVE  # looked up once: a member of an enum costs more than a global
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
    """Return why exact may not be called on a standing bid; empty if it may."""
    if state.ruleset.exact == "none":
        return "these rules have no call of exact"
    if state.round > LAST_EXACT_ROUND:
        return f"exact may not be called after round {LAST_EXACT_ROUND}"
    return ""


def round_menus(state: State) -> Menus | None:
    """Return the menus of the round that begins; None if some face may not be bid at some time."""
    table = state.table
    rules = table.ruleset
    if table.palifico or rules.ones_bid != "free":
        return None
    exact = rules.exact != "none" and not exact_refused(state)
    return menus_of(rules.raise_, _ALL, sum(table.dice), exact)


def _menus(state: State) -> Menus:
    """Return the menus of this turn."""
    if state.menus is not None:
        return state.menus
    return menus_of(order(state), faces(state), sum(state.dice), not exact_refused(state))


def lowest_raise(state: State) -> int:
    """Return the smallest quantity of a bid that may be made, or 0 if there is none."""
    quantity, face, _seat = state.bids[-1] if state.bids else _NO_BID
    allowed = raises(order(state), quantity, face)
    made = {(bid.quantity, bid.face) for bid in state.bids} if order(state) == "either" else ()
    lowest = (next((n for n in allowed[new - 1] if (n, new) not in made), 0) for new in faces(state))
    return min(filter(None, lowest), default=0)


def highest_listed(state: State) -> int:
    """Return the quantity up to which bids are listed: the dice in play, or more where only a bid is possible."""
    dice, motes = sum(state.dice), state.motes
    return dice if motes is None or not motes.must_raise else max(dice, lowest_raise(state))


def menu(state: State) -> tuple[Move, ...]:
    """Return the listed moves of a bidding turn: bids up to the dice in play, the calls, dice to be played."""
    bids, motes = state.bids, state.table.motes
    menus = state.menus
    if menus is None:
        menus = _menus(state)
    standing = bids[-1] if bids else _NO_BID
    listed = menus[standing.quantity, standing.face]
    if motes is not None and motes.must_raise:
        higher = menus.up_to(highest_listed(state))
        listed = tuple(move for move in higher[standing.quantity, standing.face] if type(move) is Bid)
    if menus.order == "either" and bids:
        made = {(bid.quantity, bid.face) for bid in bids}
        listed = tuple(move for move in listed if type(move) is not Bid or (move.quantity, move.face) not in made)
    return listed if motes is None else (*listed, *playable(state, state.turn))


def bid(state: State, seat: int, move: Bid) -> tuple[State, tuple[Event, ...]]:
    """Make a bid and pass the turn on."""
    bids, menus, table = state.bids, state.menus, state.table
    now = _menus(state) if menus is None else menus
    quantity, face = move.quantity, move.face
    standing = bids[-1] if bids else _NO_BID
    if face not in now.faces or quantity not in raises(now.order, standing.quantity, standing.face)[face - 1]:
        raise IllegalMove(_refusal(state, move))
    if now.order == "either" and any(made[0] == quantity and made[1] == face for made in bids):
        raise IllegalMove(f"{move} was bid before in this round: bid something new, or call liar")
    motes = table.motes
    if motes is not None and motes.must_raise:
        table = table._replace(motes=motes._replace(must_raise=False))
    made, events = _made(quantity, face, seat)
    # The most frequent step of all, so it makes the next state without a look at names.
    following: State = tuple.__new__(
        State, (next_live(table.live, seat), (*bids, made), "bidding", _MOVE, None, menus, table)
    )
    return following, events


@lru_cache(maxsize=8192)
def _made(quantity: int, face: int, seat: int) -> tuple[StandingBid, tuple[Event, ...]]:
    return StandingBid(quantity, face, seat), (BidMade(seat, quantity, face),)


def _refusal(state: State, move: Bid) -> str:
    if not (1 <= move.quantity <= MAX_QUANTITY and move.face in FACES):
        return f"{move} is out of bounds: a bid is for 1 to {MAX_QUANTITY} dice of a face from 1 to 6"
    bids, possible = state.bids, faces(state)
    or_call = "" if state.motes is not None and state.motes.must_raise else ", or call liar"
    if move.face not in possible:
        if len(possible) == 1:
            name = FACE_NAMES[possible[0] - 1]
            return (
                f"{move} changes the face: in palifico only a player with one die may, so bid more {name} or call liar"
            )
        if not bids:
            return f"{move} cannot open: a round is not opened on ones, bid twos to sixes"
        return f"{move} is not possible: this round was not opened on ones, so bid twos to sixes{or_call}"
    standing = bids[-1]
    allowed = raises(order(state), standing.quantity, standing.face)
    lowest = {face: f"{allowed[face - 1].start}x{face}" for face in possible if allowed[face - 1]}
    is_same_face = list(lowest) == [standing.face]
    raised = f"more {FACE_NAMES[standing.face - 1]}" if is_same_face else RAISES_IN_WORDS[order(state)]
    advice = f"bid {raised} (at least {', '.join(lowest.values())}){or_call}" if lowest else "no bid does, so call liar"
    return f"{move} does not raise {standing.quantity}x{standing.face}: {advice}"
