"""The section of the end: whether a match is decided, the winning die, the Twin Soul, tickets and stakes."""

from __future__ import annotations

from p2pdice.errors import IllegalMove
from p2pdice.events import Event, MatchOver, StakesPaid, TicketsEarned, TwinSoulJoined
from p2pdice.mischief import Mischief
from p2pdice.motes import Die
from p2pdice.moves import Crown
from p2pdice.rounds import clear_table
from p2pdice.stakes import settlement, ticket_seats
from p2pdice.state import NOBODY, Expect, State


def is_decided(state: State) -> bool:
    """Whether at most one player is left."""
    return len(state.live) <= 1


def end_match(state: State) -> tuple[State, tuple[Event, ...]]:
    """Close a decided match. A winner with several dice names the winning one first."""
    state = clear_table(state)
    motes = state.motes
    if motes is not None:
        motes = motes._replace(stack=(), actor=NOBODY, waiting=(), lasting=(), must_raise=False, successor=NOBODY)
        state = state.with_motes(motes)
        cup = motes.cups[state.live[0]] if state.live and motes.cups else ()
        if len(cup) > 1:
            return state._replace(turn=state.live[0], phase="crown", awaits=Expect.MOVE), ()
        if cup:
            return _crown(state, motes, cup[0])
    return _close(state)


def crowned(state: State, seat: int, move: Crown) -> tuple[State, tuple[Event, ...]]:
    """Take the winner's choice."""
    motes = state.motes
    assert motes is not None
    if move.die not in motes.cups[seat]:
        raise IllegalMove(f"{move.die} is not in your cup, which holds {', '.join(map(str, motes.cups[seat]))}")
    return _crown(state, motes, move.die)


def _crown(state: State, motes: Mischief, die: Die) -> tuple[State, tuple[Event, ...]]:
    winner = state.live[0]
    over, closing = _close(state.with_motes(motes._replace(crown=die)))
    assert over.motes is not None
    soul, earned = over.motes.soul, ticket_seats(over)
    assert soul is not None
    assert earned is not None
    assert motes.prize is not None
    return over, (TwinSoulJoined(winner, die, motes.prize, soul.name), TicketsEarned(*earned), *closing)


def _close(state: State) -> tuple[State, tuple[Event, ...]]:
    over = state._replace(turn=NOBODY, phase="over", awaits=Expect.OVER)
    paid = (StakesPaid(*settlement(over)),) if state.ruleset.stakes else ()
    return over, (*paid, MatchOver(over.places, over.winners))
