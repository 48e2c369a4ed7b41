"""The section of the showdown: cups open, the verdict, the dice it costs or brings, and who is out by it."""

from __future__ import annotations

from typing import NamedTuple

from p2pdice.bids import count
from p2pdice.ending import end_match, is_decided
from p2pdice.errors import UnexpectedInput
from p2pdice.events import DieGained, DieLost, Event, HandsShown, Judged, PalificoBegins, PlayerOut, RoundVoid
from p2pdice.inputs import Hand, Hands
from p2pdice.moves import FACES
from p2pdice.rounds import end_round, pass_lead
from p2pdice.rulesets import MAX_CUP
from p2pdice.state import NOBODY, Challenge, Exit, Reason, StandingBid, State, clockwise
from p2pdice.turns import judged


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
    unopened = tuple(seat for seat, hand in enumerate(hands) if hand is None)
    tally = Tally(
        count((hand for hand in hands if hand is not None), standing.face, state.ones_wild),
        sum(state.dice[seat] for seat in unopened),
    )
    shown = HandsShown(hands, standing.quantity, standing.face, state.ones_wild, *tally)
    opened = state._replace(hands=hands, count=tally.counted)
    bid_true = tally.bid_true(standing.quantity)
    call_right = tally.exact(standing.quantity) if challenge.call == "exact" else _inverse(bid_true)
    if call_right is None:
        void = RoundVoid(state.round, unopened)
        if state.motes is not None:
            again, events = judged(opened, NOBODY, state.leader)
            return again, (shown, void, *events)
        return end_round(opened), (shown, void)
    settled, events = _settle(opened, challenge, standing, bid_true is True, call_right)
    return settled, (shown, *events)


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
        if any(type(face) is not int or face not in FACES for face in hand) or list(hand) != sorted(hand):
            raise UnexpectedInput(f"seat {seat} shows {hand}: a hand is faces from 1 to 6 in ascending order")


def _settle(
    state: State, challenge: Challenge, standing: StandingBid, bid_true: bool, call_right: bool
) -> tuple[State, tuple[Event, ...]]:
    caller, bidder = challenge.seat, standing.seat
    sides = dict(challenge.sides) | {caller: "accuser", bidder: "accused"}
    right_side = "accuser" if call_right else "accused"
    order = clockwise(state, caller)
    right = tuple(seat for seat in order if sides.get(seat) == right_side)
    wrong = tuple(seat for seat in order if seat in sides and seat not in right)
    verdict = Judged(caller, challenge.call, bidder, bid_true, call_right, right, wrong)

    changes = _changes(state, challenge, caller, bidder, call_right, right)
    dice = tuple(n + changes.get(seat, 0) for seat, n in enumerate(state.dice))
    changed = [seat for seat in order if dice[seat] != state.dice[seat]]
    leader = _leader(state, caller, bidder, call_right, changed)
    if state.motes is not None:
        following, after = judged(state, changed[0] if changed else NOBODY, leader)
        return following, (verdict, *after)
    events: list[Event] = [verdict]
    events += [(DieLost if changes[seat] < 0 else DieGained)(seat, dice[seat]) for seat in changed]

    gone = tuple(seat for seat in changed if not dice[seat])
    live = tuple(seat for seat in state.live if seat not in gone)
    settled = state._replace(dice=dice, live=live)
    if gone:
        reason: Reason = "finished" if state.ruleset.goal == "first-out" else "lost"
        settled = settled._replace(exits=(*state.exits, Exit(gone, reason)))
        events += [PlayerOut(seat, reason) for seat in gone]
    if is_decided(settled):
        over, ending = end_match(settled)
        return over, (*events, *ending)

    palifico = [seat for seat in changed if dice[seat] == 1 < state.dice[seat] and seat not in state.dropped]
    settled = end_round(settled)._replace(palifico=False)
    if state.ruleset.palifico and state.ruleset.dice > 1 and palifico:
        leader = palifico[0]
        settled = settled._replace(palifico=True, dropped=tuple(sorted((*state.dropped, *palifico))))
        events.append(PalificoBegins(leader))
    settled, lead = pass_lead(settled, leader)
    return settled, (*events, *lead)


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
