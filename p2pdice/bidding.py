"""Bidding: raise orders, the bids they allow, and the menu of moves.

Given the standing bid and a new face, a raise order returns the range of quantities that raise the bid. Legality, the
menu of moves and the advice in error messages all derive from these ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from p2pdice import moves
from p2pdice.errors import IllegalMove
from p2pdice.events import BidMade, Event, Transition
from p2pdice.moves import EXACT, FACE_NAMES, FACES, LIAR, MAX_QUANTITY, Bid, Move
from p2pdice.plurals import number
from p2pdice.state import NOBODY, Expect, PlacedBid, State, next_live

LAST_EXACT_ROUND: Final = 999
"""The last round in which exact may be called. Without a limit, gained dice could prolong a match forever."""

_NO_BID: Final = PlacedBid(0, 0, NOBODY)
_MOVE: Final = Expect.MOVE  # a global is faster to look up than an enum member

# Raise orders

_NONE: Final = range(0)


def _from(quantity: int) -> range:
    return range(quantity, MAX_QUANTITY + 1)


def _standard(quantity: int, face: int, new: int) -> range:
    return _from(quantity if new > face else quantity + 1)


def _strict(quantity: int, face: int, new: int) -> range:
    if new == face:
        return _from(quantity + 1)
    return range(quantity, quantity + 1) if new > face else _NONE


def _reset_quantity(quantity: int, face: int, new: int) -> range:
    if new == face:
        return _from(quantity + 1)
    return _from(1) if new > face else _NONE


def _either(quantity: int, face: int, new: int) -> range:
    return _from(1 if new > face else quantity + 1)


def _half_ones(quantity: int, face: int, new: int) -> range:
    if new == 1 and face != 1:
        return _from((quantity + 1) // 2)
    if face == 1 and new != 1:
        return _from(2 * quantity + 1)
    return _standard(quantity, face, new)


def _double_ones(quantity: int, face: int, new: int) -> range:
    weight = 2 * quantity if face == 1 else quantity
    if new == 1:
        return _from(weight // 2 + 1)  # one is the lowest face, so the weight must grow
    return _from(weight if new > face else weight + 1)


RAISES: Final[Mapping[str, Callable[[int, int, int], range]]] = MappingProxyType(
    {
        "standard": _standard,
        "strict": _strict,
        "reset-quantity": _reset_quantity,
        "either": _either,
        "half-ones": _half_ones,
        "double-ones": _double_ones,
    }
)
"""Maps each value of the option ``raise`` to a function. The function takes the standing quantity, the standing face
and a new face, and returns the quantities that raise the bid. Under ``either`` no bid of the round may be repeated,
which :func:`bid` and :func:`menu` check.
"""

RAISES_IN_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "standard": "more dice, or {as_many} of a higher face",
        "strict": "more {faces}, or {as_many} of a higher face",
        "reset-quantity": "more {faces}, or any number of a higher face",
        "either": "more dice, or any number of a higher face, but no bid twice",
        "half-ones": "more dice, {as_many} of a higher face, or half as many ones",
        "double-ones": "more dice, or {as_many} of a higher face, where ones count double",
    }
)
"""A description of the allowed raises, by value of the option ``raise``. The standing bid, ``three fives`` for example,
fills in ``{faces}`` (``fives``) and ``{as_many}`` (``three``)."""

_ANY: Final = (_from(1),) * len(FACES)


@lru_cache(maxsize=8192)  # one raise order has 5,995 possible standing bids, including none yet
def raises(order: str, quantity: int, face: int) -> tuple[range, ...]:
    """Return, for each face from ones up, the quantities that raise ``quantity`` x ``face``; quantity 0 means no bid.

    >>> [len(quantities) for quantities in raises("strict", 3, 5)]
    [0, 0, 0, 0, 996, 1]
    """
    if not quantity:
        return _ANY
    return tuple(RAISES[order](quantity, face, new) for new in FACES)


# Menus

_ALL: Final = FACES
_NO_ONES: Final = FACES[1:]
_ONLY: Final = tuple((face,) for face in FACES)


def order(state: State) -> str:
    return "standard" if state.palifico else state.ruleset.raise_


def faces(state: State) -> tuple[int, ...]:
    """Return the faces that the rules on ones and palifico allow for the next bid."""
    bids, ones_bid = state.bids, state.ruleset.ones_bid
    if state.palifico and bids and state.dice[state.turn] != 1:
        return _ONLY[bids[-1].face - 1]
    if ones_bid == "opening-only" and bids and bids[0].face != 1:
        return _NO_ONES
    if ones_bid == "not-opening" and not bids and not state.palifico:
        return _NO_ONES
    return _ALL


def exact_refused(state: State) -> str:
    """Return why exact may not be called on a standing bid, or an empty string if it may."""
    if state.ruleset.exact == "none":
        return f"{state.ruleset.name} has no exact" if state.ruleset.name else "these rules have no exact"
    if state.round > LAST_EXACT_ROUND:
        return f"exact may not be called after round {LAST_EXACT_ROUND}"
    return ""


def lowest_raise(state: State) -> int:
    """Return the lowest quantity of any legal bid, or 0 if no bid is legal."""
    quantity, face, _seat = state.bids[-1] if state.bids else _NO_BID
    allowed = raises(order(state), quantity, face)
    made = {(bid.quantity, bid.face) for bid in state.bids} if order(state) == "either" else ()
    lowest = (next((n for n in allowed[new - 1] if (n, new) not in made), 0) for new in faces(state))
    return min(filter(None, lowest), default=0)


def highest_listed(state: State) -> int:
    """Return the highest quantity on the menu: the dice in play, or the lowest raise if the player must go higher."""
    dice, motes = sum(state.dice), state.motes
    return dice if motes is None or not motes.must_raise else max(dice, lowest_raise(state))


def options(state: State) -> tuple[tuple[int, int, int], ...]:
    """Return (face, lowest quantity, highest quantity) for each face with listed bids, including bids made before."""
    quantity, face, _ = state.bids[-1] if state.bids else _NO_BID
    allowed, limit = raises(order(state), quantity, face), highest_listed(state)
    return tuple(
        (new, allowed[new - 1].start, min(allowed[new - 1].stop - 1, limit))
        for new in faces(state)
        if allowed[new - 1] and allowed[new - 1].start <= limit
    )


def menu(state: State) -> tuple[Move, ...]:
    """Return the listed moves of a bidding turn: bids, sorted by quantity and then face, followed by calls."""
    rules, bids, motes = state.ruleset, state.bids, state.motes
    quantity, face, _ = bids[-1] if bids else _NO_BID
    by_order = "standard" if state.palifico else rules.raise_
    possible = _ALL if rules.ones_bid == "free" and not state.palifico else faces(state)
    exact = rules.exact != "none" and state.round <= LAST_EXACT_ROUND
    if motes is not None and motes.must_raise:
        listed = _listed(by_order, possible, quantity, face, highest_listed(state), exact)
        listed = tuple(move for move in listed if type(move) is Bid)
    else:
        listed = _listed(by_order, possible, quantity, face, sum(state.dice), exact)
    if by_order == "either" and bids:
        made = {(bid.quantity, bid.face) for bid in bids}
        return tuple(move for move in listed if type(move) is not Bid or (move.quantity, move.face) not in made)
    return listed


@lru_cache(maxsize=4096)  # a menu has 24 moves with ten dice in play, and 5,940 with ten cups of 99
def _listed(order: str, faces: tuple[int, ...], quantity: int, face: int, limit: int, exact: bool) -> tuple[Move, ...]:
    """Return the bids up to ``limit`` dice that raise ``quantity`` x ``face``, and the calls."""
    allowed = raises(order, quantity, face)
    calls: tuple[Move, ...] = () if not quantity else (LIAR, EXACT) if exact else (LIAR,)
    columns = [(new, allowed[new - 1]) for new in faces if allowed[new - 1]]
    lowest = min((quantities.start for _, quantities in columns), default=limit + 1)
    return (
        *(moves.bid(n, new) for n in range(lowest, limit + 1) for new, quantities in columns if n in quantities),
        *calls,
    )


# Bids


def bid(state: State, seat: int, move: Bid) -> Transition:
    """Place a bid and pass the turn on; raise :class:`IllegalMove` if the rules do not allow the bid."""
    bids, motes, rules = state.bids, state.motes, state.ruleset
    quantity, face = move.quantity, move.face
    standing = bids[-1] if bids else _NO_BID
    by_order = "standard" if state.palifico else rules.raise_
    possible = _ALL if rules.ones_bid == "free" and not state.palifico else faces(state)
    if face not in possible or quantity not in raises(by_order, standing.quantity, standing.face)[face - 1]:
        raise IllegalMove(_refusal(state, move))
    if by_order == "either" and any(made[0] == quantity and made[1] == face for made in bids):
        raise IllegalMove(f"{move} was bid before in this round: bid something new, or call liar")
    made, events = _made(quantity, face, seat)
    # Bids are by far the most frequent step, so the next state is built by position rather than by field name.
    following: State = tuple.__new__(
        State,
        (next_live(state.live, seat), (*bids, made), "bidding", _MOVE, None) + state[5:],  # noqa: RUF005 - faster
    )
    if motes is not None and motes.must_raise:
        return following._replace(motes=motes._replace(must_raise=False)), events
    return following, events


@lru_cache(maxsize=8192)
def _made(quantity: int, face: int, seat: int) -> tuple[PlacedBid, tuple[Event, ...]]:
    return PlacedBid(quantity, face, seat), (BidMade(seat, quantity, face),)


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
            return f"{move} cannot open: a round is not opened on ones, so bid twos to sixes"
        return f"{move} is not possible: this round was not opened on ones, so bid twos to sixes{or_call}"
    quantity, standing, _ = bids[-1]
    allowed = raises(order(state), quantity, standing)
    lowest = [face for face in possible if allowed[face - 1]]
    if not lowest:
        return f"{move} is not a raise: no bid is left, so call liar"
    lowest.sort(key=lambda face: (face - standing) % len(FACES))
    name = FACE_NAMES[standing - 1]
    rule = RAISES_IN_WORDS[order(state)].format(faces=name, as_many=number(quantity))
    shown = lowest[:2] + [1] * ("ones" in order(state) and 1 in lowest[2:])
    examples = ", ".join(f"{allowed[face - 1].start}x{face}" for face in shown)
    advice = rule if lowest != [standing] else f"more {name}"
    return f"{move} is not a raise: bid {advice} (lowest {examples})"
