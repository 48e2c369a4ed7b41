"""Challenges: the call on the standing bid, the sides that other players take, and the showdown."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from p2pdice.bidding import exact_refused, lowest_raise
from p2pdice.errors import IllegalMove, UnexpectedInput
from p2pdice.events import (
    AccusationVoid,
    ChallengeCalled,
    DieGained,
    DieLost,
    Event,
    HandsShown,
    Judged,
    LeadPassed,
    PalificoBegins,
    PlayerOut,
    RoundVoid,
    Sided,
    Transition,
)
from p2pdice.moves import Exact, Hand, Hands, Liar, Side
from p2pdice.plurals import plural
from p2pdice.rounds import clear_cups, end_match
from p2pdice.rulesets import MAX_CUP
from p2pdice.state import NOBODY, Call, Challenge, Exit, Expect, Reason, State, clockwise, next_live, position
from p2pdice.turns import after, judged

_ROLLED: Final = Expect.ROLLED  # a global is faster to look up than an enum member
_HANDS: Final = Expect.HANDS

# These events have few distinct values, so equal events share one object.
_challenge_called: Final = lru_cache(maxsize=4096)(ChallengeCalled)
_judged: Final = lru_cache(maxsize=2048)(Judged)
_die_lost: Final = lru_cache(maxsize=1024)(DieLost)
_lead_passed: Final = lru_cache(maxsize=128)(LeadPassed)


def call(state: State, seat: int, move: Liar | Exact) -> Transition:
    bids, motes = state.bids, state.motes
    if not bids:
        raise IllegalMove("nothing to call yet. Start with a bid such as 2x3")
    standing = bids[-1]
    name: Call = "liar" if type(move) is Liar else "exact"
    if name == "exact" and (refused := exact_refused(state)):
        raise IllegalMove(f"{refused}: raise, or call liar")
    if motes is not None and motes.must_raise:
        raise IllegalMove("your accusation was void: raise the bid instead")
    challenge = Challenge(seat, name, ())
    event = _challenge_called(seat, name, standing.seat, standing.quantity, standing.face)
    if motes is not None and standing.seat in motes.immune and lowest_raise(state):
        void = AccusationVoid(seat, standing.seat)
        return after(state, void), (event, void)
    return await_sides(state, challenge), (event,)


def side(state: State, seat: int, move: Side) -> Transition:
    assert state.challenge is not None
    if move.side not in ("accuser", "accused"):
        raise IllegalMove("there are two sides: accuser and accused")
    sides = (*state.challenge.sides, (seat, move.side))
    return await_sides(state, state.challenge._replace(sides=sides)), (Sided(seat, move.side),)


def await_sides(state: State, challenge: Challenge) -> State:
    """Pass the turn to the next player clockwise who has to take a side; if there is none, await the hands."""
    if state.ruleset.siding:
        standing = state.bids[-1]
        settled = {challenge.seat, standing.seat, *(seat for seat, _ in challenge.sides)}
        for seat in clockwise(state, challenge.seat):
            if seat in state.live and seat not in settled:
                return position(state, seat, state.bids, "siding", Expect.MOVE, challenge)
    return position(state, NOBODY, state.bids, "showdown", _HANDS, challenge)


def hands_opened(state: State, item: Hands) -> Transition:
    """Judge the call and settle the round."""
    hands = item.hands
    challenge = state.challenge
    _check(state, hands)
    assert challenge is not None
    standing, counting = state.bids[-1], state.counting
    quantity, face = standing.quantity, standing.face
    if None in hands:
        unopened = tuple(seat for seat, hand in enumerate(hands) if hand is None)
        opened_hands = [hand for hand in hands if hand is not None]
        counted, hidden = counting.count(opened_hands, face), sum(state.dice[seat] for seat in unopened)
        least, most = counting.bounds(opened_hands, hidden, face)
    else:
        unopened, hidden = (), 0
        least = most = counted = counting.count(hands, face)  # type: ignore[arg-type]  # no hand is None here
    shown = HandsShown(hands, quantity, face, counting, counted, hidden)
    bid_true, call_right = verdict(challenge.call, quantity, least, most)
    if call_right is not None:
        settled, events = _settle(state, hands, counted, bid_true, call_right)
        return settled, (shown, *events)
    opened = position(state, NOBODY, (), "bidding", _ROLLED, None)._replace(hands=hands, count=counted)
    if state.motes is not None:
        settled, events = judged(opened, NOBODY, state.leader)
    else:
        settled, events = clear_cups(opened._replace(round=state.round + 1)), ()
    return settled, (shown, RoundVoid(state.round, unopened), *events)


def verdict(call: Call, quantity: int, least: int, most: int) -> tuple[bool, bool | None]:
    """Return whether a bid of ``quantity`` dice is certainly true, and whether a call on the bid is right.

    The second value is None if it depends on cups that were never opened.

    :param least: the minimum number of dice that count for the bid, whatever unopened cups hold.
    :param most: the maximum number.
    """
    bid_true = least >= quantity
    possible = least <= quantity <= most
    if call == "exact":
        return bid_true, None if possible and least < most else possible
    return bid_true, None if possible and not bid_true else not bid_true


def _check(state: State, hands: tuple[Hand | None, ...]) -> None:
    if len(hands) != state.players:
        raise UnexpectedInput(f"{len(hands)} hands for {state.players} seats: one by seat, () for a seat without dice")
    for seat, (hand, dice) in enumerate(zip(hands, state.dice, strict=True)):
        if hand is None:
            if not dice:
                raise UnexpectedInput(f"seat {seat} has no dice: its hand is (), not unknown")
            continue
        if len(hand) != dice:
            raise UnexpectedInput(f"seat {seat} shows {len(hand)} {plural(len(hand), 'die', 'dice')} but has {dice}")
        lowest = 1
        for face in hand:
            if type(face) is not int or not lowest <= face <= 6:
                raise UnexpectedInput(f"seat {seat} shows {hand}: a hand is faces from 1 to 6 in ascending order")
            lowest = face


def _settle(state: State, hands: tuple[Hand | None, ...], counted: int, bid_true: bool, call_right: bool) -> Transition:
    """Apply the judged call: dice lost or gained, exits, palifico, and the next leader."""
    challenge = state.challenge
    assert challenge is not None
    caller, call, sides = challenge
    bidder = state.bids[-1].seat
    winner, loser = (caller, bidder) if call_right else (bidder, caller)
    right: tuple[int, ...] = (winner,)
    wrong: tuple[int, ...] = (loser,)
    if sides:
        order = clockwise(state, caller)
        right_side = "accuser" if call_right else "accused"
        right = _stand(order, winner, [seat for seat, side in sides if side == right_side])
        wrong = _stand(order, loser, [seat for seat, side in sides if side != right_side])
    judgement = _judged(caller, call, bidder, bid_true, call_right, right, wrong)
    leader, dice, live, number, _, dropped, _, _, exits, rules, players, motes, _ = state[5:]

    change, changed = affected(state, call, caller, loser, right)
    following = loser
    if rules.next_leader != "loser":
        following = changed[0] if rules.next_leader == "affected" and len(changed) == 1 else caller
    if motes is not None:
        opened = position(state, NOBODY, (), "bidding", _ROLLED, None)._replace(hands=hands, count=counted)
        settled, further = judged(opened, changed[0] if changed else NOBODY, following)
        return settled, (judgement, *further)

    events: list[Event] = [judgement]
    left = [*dice]
    for seat in changed:
        left[seat] += change
        events.append(_die_lost(seat, left[seat]) if change < 0 else DieGained(seat, left[seat]))
    if gone := tuple([seat for seat in changed if not left[seat]]):
        reason: Reason = "finished" if rules.goal == "first-out" else "lost"
        live = tuple(seat for seat in live if seat not in gone)
        exits = (*exits, Exit(gone, reason))
        events += [PlayerOut(seat, reason) for seat in gone]
    if len(live) <= 1:
        ended = state._replace(hands=hands, count=counted, dice=tuple(left), live=live, exits=exits)
        over, ending = end_match(position(ended, NOBODY, (), "bidding", _ROLLED, None))
        return over, (*events, *ending)

    palifico = False
    if rules.palifico and rules.dice > 1:
        droppers = [seat for seat in changed if left[seat] == 1 < dice[seat] and seat not in dropped]
        if droppers:
            following, palifico, dropped = droppers[0], True, tuple(sorted((*dropped, *droppers)))
            events.append(PalificoBegins(following))
    if following not in live:
        following = next_live(live, following)
    if following != leader:
        events.append(_lead_passed(following, leader))
    changes = (NOBODY, (), "bidding", _ROLLED, None, following, tuple(left), live, number + 1, palifico, dropped)
    settled = tuple.__new__(State, changes + (hands, counted, exits) + state[14:])  # noqa: RUF005 - faster
    if len(live) == players:
        return settled, tuple(events)
    return clear_cups(settled), tuple(events)


def affected(state: State, call: Call, caller: int, loser: int, right: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Return the number of dice by which a judged call changes cups, 1 or -1, and the seats of those cups.

    :param loser: the seat of the caller or of the bidder.
    :param right: the seats on the right side.
    """
    rules, live = state.ruleset, state.live
    hit = call == "exact" and loser != caller
    changed = _hit(state, caller) if hit else right if rules.verdict == "right-side-discards" else (loser,)
    # Players who have left neither lose nor gain dice.
    return 1 if hit and rules.exact == "gain" else -1, tuple([seat for seat in changed if seat in live])


def _stand(order: tuple[int, ...], party: int, sided: list[int]) -> tuple[int, ...]:
    """Return the seats on the side of ``party``, in the given order."""
    return tuple(seat for seat in order if seat == party or seat in sided)


def _hit(state: State, caller: int) -> tuple[int, ...]:
    rules = state.ruleset
    if rules.exact == "others-lose":
        return clockwise(state, caller)[1:]
    cap = MAX_CUP if rules.dice_cap is None else rules.dice_cap
    return (caller,) if state.dice[caller] < cap else ()
