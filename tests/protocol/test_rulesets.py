"""A hash stands for exactly one ruleset."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pdice import PRESETS, Ruleset
from protocol.wire.genesis import parse_ruleset
from protocol.wire.rulesets import is_rules_name, name_in, ruleset_hash, ruleset_label
from tests.p2pdice.rulesets import rulesets


def test_presets_have_different_hashes_and_their_names_as_labels() -> None:
    for one, other in combinations(PRESETS.values(), 2):
        assert ruleset_hash(one) != ruleset_hash(other)
    assert [ruleset_label(ruleset) for ruleset in PRESETS.values()] == list(PRESETS)


@given(rulesets(), rulesets())
def test_equal_rules_have_equal_hashes_and_no_others(one: Ruleset, other: Ruleset) -> None:
    assert (ruleset_hash(one) == ruleset_hash(other)) == (one == other)


@given(rulesets())
def test_a_ruleset_survives_the_wire(ruleset: Ruleset) -> None:
    assert parse_ruleset(ruleset.options()) == ruleset
    assert len(ruleset_label(ruleset)) <= 40


@given(rulesets(), rulesets(), st.text())
def test_a_label_names_only_its_own_rules_and_with_nothing_but_a_name(one: Ruleset, other: Ruleset, name: str) -> None:
    label = ruleset_label(one, name)
    assert name_in(label, one) in ("", name)
    assert name_in(label, one) == "" or is_rules_name(name)
    if one != other:
        assert name_in(label, other) == ""
    assert name_in(ruleset_label(one), one) == ""


@pytest.mark.parametrize(
    "name",
    ["perudo", "PERUDO", "house rules", "", " ", " a", "a\tb", "\x1b[2J", "\u202eyadirf", "cafe\u0301", "x" * 32],
)
def test_a_preset_or_what_cannot_be_shown_names_no_house_rules(name: str) -> None:
    house = PRESETS["classic"].with_options({"dice": "3"})
    assert not is_rules_name(name)
    assert name_in(ruleset_label(house, name), house) == ""
    assert is_rules_name("Café am Freitag mit dice=3")
    assert len(ruleset_label(house, "x" * 31)) == 40
