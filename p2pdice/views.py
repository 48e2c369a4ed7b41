"""What a player may know, and the same as JSON-able data: the keys are those of the referee."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from p2pdice.engine import legal_moves
from p2pdice.errors import UnexpectedInput
from p2pdice.inputs import Hand
from p2pdice.moves import FACES, Move
from p2pdice.state import Expect, State


class View(NamedTuple):
    """The public state, and one player's own dice."""

    state: State
    seat: int
    hand: Hand
    """Ascending; () while the player has none rolled."""

    @property
    def legal(self) -> Sequence[Move]:
        """The listed moves, if it is this player's turn."""
        return legal_moves(self.state) if self.seat in _to_act(self.state) else ()

    def to_json(self) -> dict[str, object]:
        """Return :func:`state_json` with this player's ``seat``, ``hand`` and own ``legal`` moves."""
        return {
            **state_json(self.state),
            "legal": [str(move) for move in self.legal],
            "seat": self.seat,
            "hand": list(self.hand),
        }


def view(state: State, seat: int, hand: Hand = ()) -> View:
    """Return what the player at ``seat`` may know, who has ``hand`` in the cup.

    :raises UnexpectedInput: if there is no such seat, or the hand does not fit the dice in its cup.
    """
    if not 0 <= seat < state.players:
        raise UnexpectedInput(f"there is no seat {seat}: seats are 0 to {state.players - 1}")
    if hand and (len(hand) != state.dice[seat] or any(face not in FACES for face in hand)):
        raise UnexpectedInput(f"{hand} is no hand of seat {seat}, which has {state.dice[seat]} dice")
    return View(state, seat, tuple(sorted(hand)))


def _to_act(state: State) -> tuple[int, ...]:
    return state.expects.seats if state.awaits is Expect.MOVE else ()


def state_json(state: State) -> dict[str, object]:
    """Return the public state as JSON-able data.

    ``bid``, ``challenge``, ``hands``, ``count`` and ``to_act`` are null when there is none, and so is the hand of a cup
    that was never opened.
    """
    bids = [{"quantity": bid.quantity, "face": bid.face, "seat": bid.seat} for bid in state.bids]
    challenge = state.challenge
    return {
        "phase": state.phase,
        "round": state.round,
        "awaits": state.awaits.value,
        "to_act": next(iter(_to_act(state)), None),
        "leader": state.leader,
        "dice": list(state.dice),
        "bid": bids[-1] if bids else None,
        "bids": bids,
        "ones_wild": state.ones_wild,
        "palifico": state.palifico,
        "must_raise": False,
        "challenge": challenge
        and {
            "seat": challenge.seat,
            "call": challenge.call,
            "sides": {str(seat): side for seat, side in challenge.sides},
        },
        "hands": [None if hand is None else list(hand) for hand in state.hands] if state.hands else None,
        "count": state.count,
        "legal": [str(move) for move in legal_moves(state)],
        "out": list(state.out),
        "winners": list(state.winners),
        "places": [list(place) for place in state.places],
    }
