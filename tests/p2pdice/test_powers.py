"""The three records of a mote: its notation, its rules and words, and its worth to house players."""

from __future__ import annotations

from typing import get_args

import pytest

from p2pdice.events import Event, PowerEvent
from p2pdice.motes import GROUP_OF, GROUPS, MOTES, NOTATION, TWIN_SOULS, Die, Mote
from p2pdice.moves import Power, parse_move
from p2pdice.players.tactics import WORTH
from p2pdice.powers import POWERS, MotePower
from p2pdice.state import Lasting

each_power = pytest.mark.parametrize("power", POWERS.values(), ids=POWERS)
each_mote = pytest.mark.parametrize("mote", MOTES)


def test_each_face_of_the_roll_for_the_prize_has_a_mote_of_its_own() -> None:
    assert len(MOTES) == 6
    assert [*NOTATION] == [*POWERS] == [*MOTES]
    assert {*WORTH} >= {*MOTES}
    assert {*GROUP_OF.values()} == {*GROUPS}


@each_mote
def test_its_example_is_a_move_with_it_spelled_as_moves_are(mote: Mote) -> None:
    move = parse_move(NOTATION[mote].example)
    assert isinstance(move, Power)
    assert move.die.mote == mote
    assert str(move) == NOTATION[mote].example


@each_mote
def test_other_names_of_it_are_read(mote: Mote) -> None:
    for alias in NOTATION[mote].aliases:
        assert parse_move(f"lose {alias}@1") == parse_move(f"lose {mote}@1")


def test_each_die_has_a_letter_of_its_own_and_one_answers_others() -> None:
    assert len({power.letter for power in POWERS.values()}) == len(POWERS)
    assert {len(power.letter) for power in POWERS.values()} == {1}
    assert any(power.is_answer for power in POWERS.values())


@each_power
def test_its_events_and_lasting_effects_are_its_own(power: MotePower) -> None:
    """Tests that go through all events take these samples."""
    assert GROUP_OF[power.mote] == "cursed" or not any(event.resolves for event in power.events)
    assert bool(NOTATION[power.mote].lasting) == (power.lasting is not None)
    assert power.lasting is None or power.lasting.mote == power.mote


def test_no_two_events_have_the_same_name_or_type() -> None:
    samples = [event for power in POWERS.values() for event in power.events]
    general = {event.type for event in get_args(Event) if event is not PowerEvent}
    names = {type(event).__name__ for event in samples}
    assert len(names) == len(samples) == len({event.type for event in samples} - general)


@each_power
def test_its_sentences_are_there_and_fit(power: MotePower) -> None:
    assert "an example" in power.hint.format(example="an example")
    assert len(power.brief) <= 50
    assert power.rule.endswith((".", ")"))
    has_target = bool(NOTATION[power.mote].verb) or power.is_answer
    assert ("Ben" in power.purpose.format(target="Ben")) == has_target


@each_mote
def test_a_move_takes_a_target_only_if_it_has_a_verb_for_it(mote: Mote) -> None:
    assert bool(NOTATION[mote].verb) == (NOTATION[mote].target in (Die, int))


@each_power
def test_only_a_cursed_die_answers_or_waits_for_a_roll(power: MotePower) -> None:
    assert GROUP_OF[power.mote] == "cursed" or not (power.is_answer or power.outcomes)


def test_each_pair_of_motes_has_a_twin_soul_and_no_name_is_there_twice() -> None:
    assert len(set(TWIN_SOULS.values())) == len(MOTES) * (len(MOTES) - 1) // 2
    for one, other in TWIN_SOULS:
        assert (other in NOTATION[one].souls) != (one in NOTATION[other].souls)


def test_a_lasting_effect_without_its_item_in_the_public_state_cannot_be_made() -> None:
    class Unwritten(Lasting):
        mote = "red"

    with pytest.raises(TypeError, match="to_json"):
        Unwritten(0, 1)  # type: ignore[abstract]
