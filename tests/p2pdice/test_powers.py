"""The three records of a mote: its notation, its rules and texts, and its value to house players."""

from __future__ import annotations

from itertools import combinations
from typing import get_args

import pytest

from p2pdice.events import Event, PowerEvent
from p2pdice.motes import GROUP_OF, GROUPS, MOTES, NOTATION, TWIN_SOULS, Die, Mote, twin_soul
from p2pdice.moves import Power, parse_move
from p2pdice.players.tactics import WORTH
from p2pdice.powers import POWERS, MotePower
from p2pdice.state import Lasting

each_power = pytest.mark.parametrize("power", POWERS.values(), ids=POWERS)
each_mote = pytest.mark.parametrize("mote", MOTES)


def test_the_six_motes_have_all_three_records() -> None:
    assert len(MOTES) == 6
    assert [*NOTATION] == [*POWERS] == [*MOTES]
    assert {*WORTH} >= {*MOTES}
    assert {*GROUP_OF.values()} == {*GROUPS}


@each_mote
def test_the_example_is_a_canonical_move_with_this_mote(mote: Mote) -> None:
    move = parse_move(NOTATION[mote].example)
    assert isinstance(move, Power)
    assert move.die.mote == mote
    assert str(move) == NOTATION[mote].example


@each_mote
def test_aliases_are_parsed(mote: Mote) -> None:
    for alias in NOTATION[mote].aliases:
        assert parse_move(f"lose {alias}@1") == parse_move(f"lose {mote}@1")


def test_letters_are_unique_and_one_mote_is_an_answer() -> None:
    assert len({power.letter for power in POWERS.values()}) == len(POWERS)
    assert {len(power.letter) for power in POWERS.values()} == {1}
    assert any(power.is_answer for power in POWERS.values())


@each_power
def test_events_and_lasting_effects_agree_with_the_notation(power: MotePower) -> None:
    assert GROUP_OF[power.mote] == "cursed" or not any(event.resolves for event in power.events)
    assert bool(NOTATION[power.mote].lasting) == (power.lasting is not None)
    assert power.lasting is None or power.lasting.mote == power.mote


def test_no_two_events_have_the_same_name_or_type() -> None:
    samples = [event for power in POWERS.values() for event in power.events]
    general = {event.type for event in get_args(Event) if event is not PowerEvent}
    names = {type(event).__name__ for event in samples}
    assert len(names) == len(samples) == len({event.type for event in samples} - general)


@each_power
def test_texts_are_complete_and_short_enough(power: MotePower) -> None:
    assert "an example" in power.hint.format(example="an example")
    assert len(power.brief) <= 50
    assert power.rule.endswith((".", ")"))
    has_target = bool(NOTATION[power.mote].verb) or power.is_answer
    assert ("Ben" in power.purpose.format(target="Ben")) == has_target


@each_mote
def test_a_mote_has_a_verb_exactly_if_it_takes_a_target(mote: Mote) -> None:
    assert bool(NOTATION[mote].verb) == (NOTATION[mote].target in (Die, int))


@each_power
def test_only_a_cursed_die_is_an_answer_or_needs_a_roll(power: MotePower) -> None:
    assert GROUP_OF[power.mote] == "cursed" or not (power.is_answer or power.outcomes)


def test_each_pair_of_motes_has_a_twin_soul_with_its_own_name() -> None:
    assert list(TWIN_SOULS) == list(combinations(MOTES, 2))
    assert len(set(TWIN_SOULS.values())) == 15
    for one, other in TWIN_SOULS:
        assert (other in NOTATION[one].souls) != (one in NOTATION[other].souls)
        assert twin_soul(one, other) == twin_soul(other, one)


def test_a_lasting_effect_must_define_to_json() -> None:
    class Unwritten(Lasting):
        mote = "red"

    with pytest.raises(TypeError, match="to_json"):
        Unwritten(0, 1)  # type: ignore[abstract]
