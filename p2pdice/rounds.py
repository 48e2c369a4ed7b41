"""The opening of a match, the start of each round, and the end of the match.

Before the first round come pledges, stakes and the roll for the prize, if the rules have them. At the end come the
winning die, the Twin Soul, tickets and coins.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from p2pdice.errors import IllegalMove, UnexpectedInput
from p2pdice.events import (
    Event,
    LeadPassed,
    MatchOver,
    PlayerOut,
    Pledged,
    RoundStarted,
    StakesOpened,
    StakesPaid,
    TicketsEarned,
    Transition,
    TwinSoulJoined,
)
from p2pdice.motes import GROUPS, Die
from p2pdice.moves import Crown, Pledges, Stakes
from p2pdice.rulesets import Ruleset
from p2pdice.stakes import check_stakes, settlement, ticket_seats
from p2pdice.state import NOBODY, Exit, Expect, Mischief, Phase, State, next_live, position

_MOVE: Final = Expect.MOVE  # a global is faster to look up than an enum member
_round_started: Final = lru_cache(maxsize=1024)(RoundStarted)  # few distinct values, so equal events share an object

# The opening


def first_of(ruleset: Ruleset) -> tuple[Phase, Expect]:
    """Return the first phase of a match and its expectation."""
    if ruleset.motes:
        return "pledges", Expect.PLEDGES
    return ("stakes", Expect.STAKES) if ruleset.stakes else ("bidding", Expect.ROLLED)


def pledged(state: State, item: Pledges) -> Transition:
    pledges = tuple(group for pledge in item.pledges for group in GROUPS if pledge == group)
    if not len(pledges) == len(item.pledges) == state.players:
        raise UnexpectedInput(f"each of the {state.players} seats needs one pledge, redeemed or cursed")
    assert state.motes is not None
    state = state._replace(motes=state.motes._replace(pledges=pledges))
    if state.ruleset.stakes:
        return state._replace(phase="stakes", awaits=Expect.STAKES), (Pledged(pledges),)
    return _await_prize(state), (Pledged(pledges),)


def staked(state: State, item: Stakes) -> Transition:
    """Record all stakes. A live player who has not opened a stake is out."""
    wagers = check_stakes(state, item.stakes)
    state = state._replace(wagers=wagers)
    opened = StakesOpened(wagers)
    silent = tuple(seat for seat in state.live if item.stakes[seat] is None)
    if not silent:
        return _await_prize(state), (opened,)
    live = tuple(seat for seat in state.live if seat not in silent)
    state = clear_cups(state._replace(live=live, exits=(*state.exits, Exit(silent, "evicted"))))
    events: tuple[Event, ...] = (opened, *(PlayerOut(seat, "evicted") for seat in silent))
    if is_decided(state):
        over, ending = end_match(state)
        return over, (*events, *ending)
    state, lead = pass_lead(state, state.leader)
    return _await_prize(state), (*events, *lead)


def _await_prize(state: State) -> State:
    if state.motes is None:
        return state._replace(phase="bidding", awaits=Expect.ROLLED)
    return state._replace(phase="prize", awaits=Expect.ROLL)


# Rounds


def start_bidding(state: State) -> State:
    """Let the leader open the bidding."""
    return position(state, state.leader, (), "bidding", _MOVE, None)


def shake(state: State) -> Transition:
    """Start a round, and drop the hands that the last showdown opened."""
    event = _round_started(state.round, state.leader, state.dice, state.palifico)
    return state._replace(hands=(), count=None) if state.hands else state, (event,)


def clear_cups(state: State) -> State:
    """Remove from the game the dice of players who are out."""
    live, motes = state.live, state.motes
    if len(live) == state.players:
        return state
    dice = tuple(number if seat in live else 0 for seat, number in enumerate(state.dice))
    if motes is not None and motes.cups:
        removed = (die for seat, cup in enumerate(motes.cups) if seat not in live for die in cup)
        cups = tuple(cup if seat in live else () for seat, cup in enumerate(motes.cups))
        motes = motes._replace(cups=cups, removed=(*motes.removed, *removed))
    return state._replace(dice=dice, motes=motes)


def clear_table(state: State) -> State:
    """Drop the round's bids and call, and clear the cups of players who are out."""
    return position(clear_cups(state), NOBODY, (), state.phase, state.awaits, None)


def pass_lead(state: State, seat: int) -> Transition:
    """Pass the lead to ``seat``, or to the next live seat clockwise if it is out."""
    leader = seat if seat in state.live else next_live(state.live, seat)
    if leader == state.leader:
        return state, ()
    return state._replace(leader=leader), (LeadPassed(leader, state.leader),)


# The end


def is_decided(state: State) -> bool:
    return len(state.live) <= 1


def end_match(state: State) -> Transition:
    """Close a decided match. With motes, a winner with several dice first chooses the winning die."""
    state = clear_table(state)
    motes = state.motes
    if motes is not None:
        motes = motes._replace(stack=(), actor=NOBODY, waiting=(), lasting=(), must_raise=False, successor=NOBODY)
        state = state._replace(motes=motes)
        cup = motes.cups[state.live[0]] if state.live and motes.cups else ()
        if len(cup) > 1:
            return state._replace(turn=state.live[0], phase="crown", awaits=Expect.MOVE), ()
        if cup:
            return _crown(state, motes, cup[0])
    return _close(state)


def crowned(state: State, seat: int, move: Crown) -> Transition:
    motes = state.motes
    assert motes is not None
    if move.die not in motes.cups[seat]:
        raise IllegalMove(f"{move.die} is not in your cup, which holds {', '.join(map(str, motes.cups[seat]))}")
    return _crown(state, motes, move.die)


def _crown(state: State, motes: Mischief, die: Die) -> Transition:
    winner = state.live[0]
    over, closing = _close(state._replace(motes=motes._replace(crown=die)))
    assert over.motes is not None
    soul, earned = over.motes.soul, ticket_seats(over)
    assert soul is not None
    assert earned is not None
    assert motes.prize is not None
    return over, (TwinSoulJoined(winner, die, motes.prize, soul.name), TicketsEarned(*earned), *closing)


def _close(state: State) -> Transition:
    over = state._replace(turn=NOBODY, phase="over", awaits=Expect.OVER)
    paid = (StakesPaid(*settlement(over)),) if state.ruleset.stakes else ()
    return over, (*paid, MatchOver(over.places, over.winners))
