"""A worked round for a page of rules: three players, fixed dice, and the engine itself, so it always fits the rules.
Nothing here knows a rule: every move is one that the engine lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from types import NoneType
from typing import Final

from cli.text.narrate_game import narrate_game
from cli.text.round_summary import Paragraphs
from cli.text.seating import Seating
from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.events import Event, HandsShown, LeadPassed, RoundStarted
from p2pdice.motes import MOTES, NOTATION, Die, Group
from p2pdice.moves import (
    EXACT,
    LIAR,
    PASS,
    Bid,
    Hand,
    Hands,
    Input,
    Lose,
    Move,
    Play,
    Pledges,
    Power,
    Roll,
    Rolled,
    Side,
    Stakes,
    Wager,
)
from p2pdice.powers import POWERS
from p2pdice.rulesets import Ruleset
from p2pdice.state import Expect, State

NAMES: Final = ("Ada", "Ben", "Cleo")
_PLEDGES: Final[tuple[Group, ...]] = ("redeemed", "cursed", "redeemed")
_STAKES: Final = (Wager(100, 1000, 0, 0), Wager(50, 1000, 0, 0), Wager(0, 1000, 0, 0))
_PRIZE: Final = Roll(1 + max(range(len(MOTES)), key=lambda index: POWERS[MOTES[index]].is_answer))
"""The mote that answers others: then nothing is answered, and the round stays simple."""
_LOST: Final = sorted(MOTES, key=lambda mote: (NoneType, int, Die).index(NOTATION[mote].target))
"""The order in which dice are lost: first those that can always be played, as they need no target, or a player."""
_DEALS: Final = 500
"""The most deals that are tried for one that fits the call."""


def worked_rounds(ruleset: Ruleset) -> int:
    """Return the number of rounds that show these rules: two if there is a second call, or if a die that is lost in the
    first round matters in the second."""
    return 2 if ruleset.exact != "none" or ruleset.motes else 1


def worked(ruleset: Ruleset) -> Iterator[str]:
    """Yield the rounds in the sentences of a table: paragraphs, opened cups, and an empty line before a round."""
    seating = Seating(NAMES)
    told = Paragraphs()
    for event, state in _played(ruleset):
        if isinstance(event, LeadPassed):  # the next round says who starts it
            continue
        text = narrate_game(event, state, seating)
        yield from told.begin(text) if isinstance(event, RoundStarted) else told.take(text)
    yield from told.end()


def _played(ruleset: Ruleset) -> Iterator[tuple[Event, State]]:
    state = new_match(ruleset, len(NAMES))
    for_rounds = worked_rounds(ruleset)
    while state.awaits is not Expect.OVER and not (state.awaits is Expect.ROLLED and state.round > for_rounds):
        state, events = apply(state, _input(state, is_last=state.round == for_rounds))
        yield from ((event, state) for event in events)


def _input(state: State, *, is_last: bool) -> Input:
    match state.awaits:
        case Expect.PLEDGES:
            return Pledges(_PLEDGES)
        case Expect.STAKES:
            return Stakes(_STAKES)
        case Expect.ROLL:
            return _PRIZE
        case Expect.ROLLED:
            return Rolled()
        case Expect.HANDS:
            return _hands(state)
    return Play(state.turn, _move(state, is_last=is_last))


def _hands(state: State) -> Hands:
    """Return the first deal that makes a call of liar right by one die, and a call of exact right."""
    assert state.challenge is not None
    assert state.bid is not None
    sought = state.bid.quantity - (state.challenge.call == "liar")
    for number in range(_DEALS):
        deal = Hands(tuple(_hand(number, seat, dice) for seat, dice in enumerate(state.dice)))
        shown = apply(state, deal)[1][0]
        assert isinstance(shown, HandsShown)
        if shown.count == sought:
            return deal
    return deal


def _hand(number: int, seat: int, dice: int) -> Hand:
    """Return a cup of the deal with this number: faces that look like thrown ones, and are the same on every day."""
    thrown = sha256(f"deal {number}, seat {seat}".encode()).digest()
    return tuple(sorted(1 + byte % 6 for byte in thrown[:dice]))


def _move(state: State, *, is_last: bool) -> Move:
    legal = legal_moves(state)
    bids = [move for move in legal if isinstance(move, Bid)]
    if lost := [move for name in _LOST for move in legal if isinstance(move, Lose) and move.die.mote == name]:
        return lost[state.round > 1]
    if PASS in legal:
        return next((move for move in legal if isinstance(move, Power)), PASS)
    if any(isinstance(move, Side) for move in legal):
        return legal[0]
    if LIAR not in legal:
        return _opening(bids, state.round == 1) if state.bid is None else bids[0]
    assert state.bid is not None
    immune = state.motes is not None and state.bid.seat in state.motes.immune
    call = EXACT if is_last and EXACT in legal else LIAR
    raises = [] if immune else _raises(state, bids, call)
    return raises[0] if raises else call


def _opening(bids: list[Bid], is_first: bool) -> Bid:
    wanted = Bid(2, 3) if is_first else Bid(3, 2)
    return wanted if wanted in bids else bids[0]


def _raises(state: State, bids: list[Bid], call: Move) -> list[Bid]:
    """Return raises of the kind that comes next, to show each kind once; none when it is time to call.

    A round that ends with exact has three bids: so its leader calls, who has lost a die before and can gain it back.
    """
    assert state.bid is not None
    quantity, face, _ = state.bid
    match len(state.bids):
        case 1:
            return sorted((bid for bid in bids if bid.face > face), key=lambda bid: bid.quantity)
        case 2:
            more = [bid for bid in bids if bid.quantity > quantity and bid.face != 1]
            return sorted(more, key=lambda bid: bid.quantity)
        case 3 if call is LIAR:
            return [bid for bid in bids if bid.face == 1 and bid.quantity < quantity]
    return []
