"""Applying the events of an input one by one leads to the engine's next state."""

from __future__ import annotations

from functools import reduce
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pdice.events import PhaseBegun
from p2pdice.rulesets import PRESETS
from p2pdice.state import Expect
from p2pdice.turns import after as after_event
from tests.p2pdice.scripted import random_play, rules


@pytest.mark.parametrize("preset", PRESETS)
def test_events_give_the_live_seats_and_their_numbers_of_dice(preset: str) -> None:
    for before, after, events in random_play(rules(preset), 4, Random(1), departures=0.01):
        derived = reduce(after_event, events, before)
        assert derived.live == after.live
        assert [derived.dice[seat] for seat in derived.live] == [after.dice[seat] for seat in after.live]


@given(st.integers(0, 2**32), st.integers(2, 4))
@settings(max_examples=20, deadline=None)
def test_with_motes_events_give_the_place_of_every_die(seed: int, players: int) -> None:
    for before, after, events in random_play(rules("motes"), players, Random(seed), departures=0.01):
        if before.motes is None or after.motes is None or not before.motes.prize or after.awaits is Expect.OVER:
            continue
        state = reduce(after_event, events, before)
        assert state.motes is not None
        assert state.motes.graveyard == after.motes.graveyard
        assert state.motes.lasting == after.motes.lasting or after.phase == "crown"
        assert state.motes.stack == after.motes.stack or after.phase == "crown"
        assert [state.motes.cups[seat] for seat in state.live] == [after.motes.cups[seat] for seat in after.live]
        if begun := [event.phase for event in events if isinstance(event, PhaseBegun)]:
            assert state.phase == begun[-1] == after.phase
