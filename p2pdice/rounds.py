"""The section of rounds: rolling, and what follows when a round is settled or a seat is empty."""

from __future__ import annotations

from p2pdice.events import Event, LeadPassed, MatchOver, RoundStarted
from p2pdice.inputs import Rolled
from p2pdice.state import NOBODY, Expect, State, next_live


def rolled(state: State, _input: Rolled) -> tuple[State, tuple[Event, ...]]:
    """Start the bidding."""
    started = state._replace(turn=state.leader, awaits=Expect.MOVE, hands=(), count=None)
    return started, (RoundStarted(state.round, state.leader, state.dice, state.palifico),)


def clear_cups(state: State) -> State:
    """Take the dice of those who are out from the game."""
    return state._replace(dice=tuple(n if seat in state.live else 0 for seat, n in enumerate(state.dice)))


def pass_lead(state: State, seat: int) -> tuple[State, tuple[Event, ...]]:
    """Give the lead to ``seat``, or to the next live one clockwise."""
    leader = seat if seat in state.live else next_live(state.live, seat)
    if leader == state.leader:
        return state, ()
    return state._replace(leader=leader), (LeadPassed(leader, state.leader),)


def end_round(state: State) -> State:
    """Clear the table for the next round."""
    return clear_cups(state)._replace(
        turn=NOBODY, bids=(), phase="bidding", awaits=Expect.ROLLED, challenge=None, round=state.round + 1
    )


def is_decided(state: State) -> bool:
    """Whether at most one player is left."""
    return len(state.live) <= 1


def end_match(state: State) -> tuple[State, tuple[Event, ...]]:
    """Close the match: at most one player is left."""
    over = clear_cups(state)._replace(turn=NOBODY, bids=(), phase="over", awaits=Expect.OVER, challenge=None)
    return over, (MatchOver(over.places, over.winners),)
