"""A record is all that the rules, the notation, the house and the sentences know of a mote."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

import p2pdice.powers
from p2pdice.events import Event, PowerEvent
from p2pdice.motes import GROUPS, Die
from p2pdice.moves import Power, parse_move
from p2pdice.powers import EVENTS, MOTES, POWERS
from p2pdice.powers.power import MotePower
from p2pdice.souls import TWIN_SOULS

each_power = pytest.mark.parametrize("power", POWERS.values(), ids=POWERS)


def test_each_face_of_the_roll_for_the_prize_has_a_mote_of_its_own() -> None:
    assert len(POWERS) == 6
    assert {power.group for power in POWERS.values()} == set(GROUPS)


def test_each_module_of_the_folder_holds_the_power_named_like_it() -> None:
    folder = Path(p2pdice.powers.__path__[0])
    assert {path.stem for path in folder.glob("*.py")} == {"__init__", "power", *POWERS}


@each_power
def test_its_example_is_a_move_with_it_spelled_as_moves_are(power: MotePower) -> None:
    move = parse_move(power.example)
    assert isinstance(move, Power)
    assert move.die.mote == power.mote
    assert str(move) == power.example


@each_power
def test_other_names_of_it_are_read(power: MotePower) -> None:
    for alias in power.aliases:
        assert parse_move(f"lose {alias}@1") == parse_move(f"lose {power.mote}@1")


def test_each_die_has_a_letter_of_its_own_and_one_answers_others() -> None:
    assert len({power.letter for power in POWERS.values()}) == len(POWERS)
    assert {len(power.letter) for power in POWERS.values()} == {1}
    assert any(power.is_answer for power in POWERS.values())


@each_power
def test_its_events_and_lasting_effects_are_its_own(power: MotePower) -> None:
    """Tests that go through all events take these samples."""
    assert all(EVENTS[type(event).__name__] is type(event) for event in power.events)
    assert power.group == "cursed" or not any(event.resolves for event in power.events)
    assert power.lasting is None or power.lasting.mote == power.mote


def test_no_two_events_have_the_same_name_or_type() -> None:
    samples = [event for power in POWERS.values() for event in power.events]
    general = {event.type for event in get_args(Event) if event is not PowerEvent}
    assert len(EVENTS) == len(samples) == len({event.type for event in samples} - general)


@each_power
def test_its_sentences_are_there_and_fit(power: MotePower) -> None:
    assert power.example in power.hint.format(example=power.example)
    assert len(power.brief) <= 50
    assert power.rule.endswith((".", ")"))
    has_target = bool(power.verb) or power.is_answer
    assert ("Ben" in power.purpose.format(target="Ben")) == has_target


@each_power
def test_a_move_takes_a_target_only_if_it_has_a_verb_for_it(power: MotePower) -> None:
    assert bool(power.verb) == (power.target in (Die, int))


@each_power
def test_only_a_cursed_die_answers_or_waits_for_a_roll(power: MotePower) -> None:
    assert power.group == "cursed" or not (power.is_answer or power.outcomes)


def test_each_pair_of_motes_has_a_twin_soul_and_no_name_is_there_twice() -> None:
    assert len(set(TWIN_SOULS.values())) == len(MOTES) * (len(MOTES) - 1) // 2
    for one, other in TWIN_SOULS:
        assert (other in POWERS[one].souls) != (one in POWERS[other].souls)
