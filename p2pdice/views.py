"""All that one player may know, as a value and as JSON-serializable data in the format of ``p2pdice referee``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from p2pdice.engine import legal_moves
from p2pdice.errors import UnexpectedInput
from p2pdice.moves import FACES, Hand, Move, Stake, Wager
from p2pdice.stakes import NEWCOMER_COINS, NEWCOMER_TICKETS, check_wager, settlement
from p2pdice.state import Expect, Mischief, State


class View(NamedTuple):
    """The public state and one player's own dice."""

    state: State
    seat: int
    hand: Hand
    """Ascending; () before the dice are rolled."""
    funds: int = NEWCOMER_COINS
    """The player's coins before the stakes, and so the highest bet."""
    tickets: int = NEWCOMER_TICKETS
    """The player's run tickets before the stakes."""

    def wager(self, stake: Stake) -> Wager:
        """Return a stake of this player, combined with the player's holdings.

        :raises UnexpectedInput: if the stake exceeds the holdings.
        """
        return check_wager((stake.bet, self.funds, stake.tickets, self.tickets))

    @property
    def legal(self) -> Sequence[Move]:
        """The listed moves; empty unless it is this player's turn."""
        return legal_moves(self.state) if self.seat in _to_act(self.state) else ()

    def to_json(self) -> dict[str, object]:
        """Return :func:`state_json` plus ``seat`` and ``hand``, with only this player's ``legal`` moves."""
        return {
            **state_json(self.state),
            "legal": [str(move) for move in self.legal],
            "seat": self.seat,
            "hand": list(self.hand),
        }


def view(
    state: State, seat: int, hand: Hand = (), holdings: tuple[int, int] = (NEWCOMER_COINS, NEWCOMER_TICKETS)
) -> View:
    """Return the view of the player at ``seat``; ``holdings`` are coins and run tickets before the stakes.

    :raises UnexpectedInput: if the seat does not exist, or the hand does not fit the dice in its cup.
    """
    if not 0 <= seat < state.players:
        raise UnexpectedInput(f"there is no seat {seat}: seats are 0 to {state.players - 1}")
    if hand and (len(hand) != state.dice[seat] or any(face not in FACES for face in hand)):
        raise UnexpectedInput(f"{hand} is not a hand of seat {seat}, which has {state.dice[seat]} dice")
    return View(state, seat, tuple(sorted(hand)), *holdings)


def _to_act(state: State) -> tuple[int, ...]:
    return state.expects.seats if state.awaits is Expect.MOVE else ()


def state_json(state: State) -> dict[str, object]:
    """Return the public state as JSON-serializable data.

    ``bid``, ``challenge``, ``hands``, ``count`` and ``to_act`` are null if there is none; so is the hand in a cup that
    was never opened. With motes, ``pledges`` and ``prize`` are null until they are known; ``twin_soul`` exists once the
    match is over, and is null without a winning die. With stakes, ``stakes`` is null until the stakes are open.
    """
    motes = state.motes
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
        "ones_wild": state.counting.ones_wild,
        "palifico": state.palifico,
        "must_raise": motes is not None and motes.must_raise,
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
        **(_motes_json(motes) if motes is not None else {}),
        **({"stakes": [list(wager) for wager in state.wagers] or None} if state.ruleset.stakes else {}),
        **(_settlement_json(state) if state.awaits is Expect.OVER else {}),
    }


def _motes_json(motes: Mischief) -> dict[str, object]:
    return {
        "pledges": list(motes.pledges) or None,
        "prize": motes.prize,
        "cups": [list(map(str, cup)) for cup in motes.cups],
        "graveyard": [{"die": str(die), "sent_by": sent_by} for die, sent_by in motes.graveyard],
        "removed": list(map(str, motes.removed)),
        "stack": [
            {"die": str(die), "by": by, "target": target if isinstance(target, int) else str(target)}
            for die, by, target in motes.stack
        ],
        **{name: [each.to_json() for each in lasting] for name, lasting in motes.lasting_by_name()},
    }


def _settlement_json(state: State) -> dict[str, object]:
    motes, rules = state.motes, state.ruleset
    settled = settlement(state)
    soul = None if motes is None else motes.soul
    twin_soul = soul and {"name": soul.name, "motes": list(soul.motes)}
    return {
        **({"twin_soul": twin_soul} if rules.motes else {}),
        **({"ticket_delta": list(settled.ticket_delta)} if rules.motes or rules.stakes else {}),
        **({"payout": list(settled.payout), "delta": list(settled.delta)} if rules.stakes else {}),
    }
