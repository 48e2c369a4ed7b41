"""The section of the showdown: cups open, the verdict, the dice it costs or brings, and who is out by it."""

from __future__ import annotations

from typing import Final, NamedTuple

from p2pdice.bids import count
from p2pdice.ending import end_match
from p2pdice.errors import UnexpectedInput
from p2pdice.events import (
    DieGained,
    DieLost,
    Event,
    HandsShown,
    Judged,
    LeadPassed,
    PalificoBegins,
    PlayerOut,
    RoundVoid,
)
from p2pdice.inputs import Hand, Hands
from p2pdice.moves import FACES
from p2pdice.rounds import clear_cups
from p2pdice.rulesets import MAX_CUP
from p2pdice.state import NOBODY, Challenge, Exit, Expect, Reason, StandingBid, State, clockwise, next_live, position
from p2pdice.turns import judged

_FACES: Final = frozenset(FACES)
_INTEGERS: Final = frozenset({int})


class Tally(NamedTuple):
    """The dice counted against a bid, with what stays hidden."""

    counted: int
    """Dice of the open cups that stand for the bid."""
    unopened: int
    """Dice in cups that were never opened: each may or may not stand for it."""

    def bid_true(self, quantity: int) -> bool | None:
        """Whether at least ``quantity`` dice are there; None if that depends on the unopened cups."""
        if self.counted >= quantity:
            return True
        return None if self.counted + self.unopened >= quantity else False

    def exact(self, quantity: int) -> bool | None:
        """Whether exactly ``quantity`` dice are there; None if that depends on the unopened cups."""
        if not self.counted <= quantity <= self.counted + self.unopened:
            return False
        return None if self.unopened else True


def hands_opened(state: State, item: Hands) -> tuple[State, tuple[Event, ...]]:
    """Judge the call and settle the round."""
    hands = item.hands
    _check(state, hands)
    challenge, standing = state.challenge, state.bid
    assert challenge is not None
    assert standing is not None
    unopened = tuple(seat for seat, hand in enumerate(hands) if hand is None) if None in hands else ()
    ones_wild = state.ones_wild
    open_hands = [hand for hand in hands if hand is not None]
    tally = Tally(count(open_hands, standing.face, ones_wild), sum(state.dice[seat] for seat in unopened))
    shown = HandsShown(hands, standing.quantity, standing.face, ones_wild, *tally)
    bid_true = tally.bid_true(standing.quantity)
    call_right = tally.exact(standing.quantity) if challenge.call == "exact" else _inverse(bid_true)
    opened = position(state, NOBODY, (), "bidding", Expect.ROLLED, None)._replace(hands=hands, count=tally.counted)
    if call_right is not None:
        settled, events = _settle(state, opened, challenge, standing, bid_true is True, call_right)
    elif state.motes is not None:
        settled, events = judged(opened, NOBODY, state.leader)
    else:
        settled, events = clear_cups(opened._replace(round=state.round + 1)), ()
    void = (RoundVoid(state.round, unopened),) if call_right is None else ()
    return settled, (shown, *void, *events)


def _inverse(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _check(state: State, hands: tuple[Hand | None, ...]) -> None:
    if len(hands) != state.players:
        raise UnexpectedInput(f"{len(hands)} hands for {state.players} seats: one by seat, () for a seat without dice")
    for seat, (hand, dice) in enumerate(zip(hands, state.dice, strict=True)):
        if hand is None:
            if not dice:
                raise UnexpectedInput(f"seat {seat} has no dice: its hand is (), not unknown")
            continue
        if len(hand) != dice:
            raise UnexpectedInput(f"seat {seat} shows {len(hand)} dice but has {dice}")
        if not _INTEGERS.issuperset(map(type, hand)) or not _FACES.issuperset(hand) or list(hand) != sorted(hand):
            raise UnexpectedInput(f"seat {seat} shows {hand}: a hand is faces from 1 to 6 in ascending order")


def _settle(
    state: State, opened: State, challenge: Challenge, standing: StandingBid, bid_true: bool, call_right: bool
) -> tuple[State, tuple[Event, ...]]:
    """Give ``opened``, which is ``state`` with the cups open and the table cleared, the consequences of the call."""
    caller, bidder = challenge.seat, standing.seat
    order = clockwise(state, caller)
    right: tuple[int, ...] = (caller if call_right else bidder,)
    wrong: tuple[int, ...] = (bidder if call_right else caller,)
    if challenge.sides:
        right_side = "accuser" if call_right else "accused"
        right = _stand(order, right, tuple(seat for seat, side in challenge.sides if side == right_side))
        wrong = _stand(order, wrong, tuple(seat for seat, side in challenge.sides if side != right_side))
    verdict = Judged(caller, challenge.call, bidder, bid_true, call_right, right, wrong)

    changes = _changes(state, challenge, caller, bidder, call_right, right)
    changed = [seat for seat in order if seat in changes]
    dice = [*state.dice]
    for seat, change in changes.items():
        dice[seat] += change
    leader = _leader(state, caller, bidder, call_right, changed)
    if state.motes is not None:
        following, after = judged(opened, changed[0] if changed else NOBODY, leader)
        return following, (verdict, *after)
    events: list[Event] = [verdict]
    events += [(DieLost if changes[seat] < 0 else DieGained)(seat, dice[seat]) for seat in changed]

    live, exits = state.live, state.exits
    if gone := tuple(seat for seat in changed if not dice[seat]):
        reason: Reason = "finished" if state.ruleset.goal == "first-out" else "lost"
        live = tuple(seat for seat in live if seat not in gone)
        exits = (*exits, Exit(gone, reason))
        events += [PlayerOut(seat, reason) for seat in gone]
    if len(live) <= 1:
        over, ending = end_match(opened._replace(dice=tuple(dice), live=live, exits=exits))
        return over, (*events, *ending)

    palifico, dropped = False, state.dropped
    if state.ruleset.palifico and state.ruleset.dice > 1:
        droppers = [seat for seat in changed if dice[seat] == 1 < state.dice[seat] and seat not in dropped]
        if droppers:
            leader, palifico, dropped = droppers[0], True, tuple(sorted((*dropped, *droppers)))
            events.append(PalificoBegins(leader))
    if leader not in live:
        leader = next_live(live, leader)
    if leader != state.leader:
        events.append(LeadPassed(leader, state.leader))
    following = opened._replace(
        leader=leader,
        dice=tuple(dice),
        live=live,
        exits=exits,
        round=state.round + 1,
        palifico=palifico,
        dropped=dropped,
    )
    return clear_cups(following), tuple(events)


def _stand(order: tuple[int, ...], party: tuple[int, ...], sided: tuple[int, ...]) -> tuple[int, ...]:
    """Return who stands on a side, in this order of seats."""
    return tuple(seat for seat in order if seat in party or seat in sided)


def _changes(
    state: State, challenge: Challenge, caller: int, bidder: int, call_right: bool, right: tuple[int, ...]
) -> dict[int, int]:
    """Return the change of dice by seat; who left the match loses and gains nothing more."""
    rules = state.ruleset
    if challenge.call == "exact" and call_right:
        if rules.exact == "others-lose":
            return {seat: -1 for seat in state.live if seat != caller}
        cap = MAX_CUP if rules.dice_cap is None else rules.dice_cap
        return {caller: 1} if caller in state.live and state.dice[caller] < cap else {}
    if rules.verdict == "right-side-discards":
        return {seat: -1 for seat in right if seat in state.live}
    loser = bidder if call_right else caller
    return {loser: -1} if loser in state.live else {}


def _leader(state: State, caller: int, bidder: int, call_right: bool, changed: list[int]) -> int:
    match state.ruleset.next_leader:
        case "caller":
            return caller
        case "affected":
            return changed[0] if len(changed) == 1 else caller
    return bidder if call_right else caller
