"""The section of the opening: pledges, stakes and the roll for the prize, before the first turn."""

from __future__ import annotations

from p2pdice.ending import end_match, is_decided
from p2pdice.errors import UnexpectedInput
from p2pdice.events import Event, PlayerOut, Pledged, StakesOpened
from p2pdice.inputs import Pledges, Stakes
from p2pdice.motes import GROUPS
from p2pdice.rounds import clear_cups, pass_lead
from p2pdice.rulesets import Ruleset
from p2pdice.stakes import check_stakes
from p2pdice.state import Exit, Expect, Phase, State


def first_of(ruleset: Ruleset) -> tuple[Phase, Expect]:
    """Return the first phase of a match, and its expectation."""
    if ruleset.motes:
        return "pledges", Expect.PLEDGES
    return ("stakes", Expect.STAKES) if ruleset.stakes else ("bidding", Expect.ROLLED)


def pledged(state: State, item: Pledges) -> tuple[State, tuple[Event, ...]]:
    """Take everybody's pledge."""
    pledges = tuple(group for pledge in item.pledges for group in GROUPS if pledge == group)
    if not len(pledges) == len(item.pledges) == state.players:
        raise UnexpectedInput(f"pledges are redeemed or cursed, one by seat for {state.players} seats")
    assert state.motes is not None
    state = state.with_motes(state.motes._replace(pledges=pledges))
    if state.ruleset.stakes:
        return state._replace(phase="stakes", awaits=Expect.STAKES), (Pledged(pledges),)
    return _await_prize(state), (Pledged(pledges),)


def staked(state: State, item: Stakes) -> tuple[State, tuple[Event, ...]]:
    """Take everybody's stake. A player who has not opened one is out."""
    wagers = check_stakes(state, item.stakes)
    state = state._replace(table=state.table._replace(wagers=wagers))
    opened = StakesOpened(wagers)
    silent = tuple(seat for seat in state.live if item.stakes[seat] is None)
    if not silent:
        return _await_prize(state), (opened,)
    live = tuple(seat for seat in state.live if seat not in silent)
    table = state.table._replace(live=live, exits=(*state.exits, Exit(silent, "evicted")))
    state = clear_cups(state._replace(table=table))
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
