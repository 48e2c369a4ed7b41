"""A hash stands for exactly one ruleset."""

from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from p2pdice.rulesets import PRESETS, Ruleset
from protocol.net.discovery import LOBBY, Advertisement
from protocol.wire.genesis import parse_ruleset
from protocol.wire.names import is_rules_name, is_table_name, ruleset_hash, ruleset_label
from tests.p2pdice.rulesets import rulesets

HOUSE = PRESETS["classic"].with_options({"dice": "3"})


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


HARD = "ab \u1019\u103c\u102d\u102f\u0301\u1161\u3164\U0001f3b2"
NAMES = st.text(st.sampled_from(HARD) | st.characters(), max_size=35)


@given(rulesets().filter(lambda ruleset: ruleset.name is None), NAMES, NAMES)
@example(HOUSE, "Friday", "\u1019\u103c\u102d\u102f\u1037")
@example(HOUSE, "Friday", "a\u1161")
@example(HOUSE, "Friday", "\u0301a")
def test_whatever_may_name_a_table_and_its_rules_can_be_advertised(ruleset: Ruleset, table: str, name: str) -> None:
    if is_table_name(table) and is_rules_name(name):
        told = Advertisement("00c0ffee" * 4, table, ruleset_label(ruleset, name), 1, 4, LOBBY, 2)
        assert told.to_txt()["rules"].startswith(f"{name} ")


@pytest.mark.parametrize(
    "name",
    [
        "perudo",
        "PERUDO",
        "house rules",
        "",
        " ",
        " a",
        "a\tb",
        "\x1b[2J",
        "\u202eyadirf",
        "cafe\u0301",
        "x" * 32,
        "a  b",
        "\u3164",
        "a\u1161",
    ],
)
def test_a_preset_or_what_cannot_be_shown_names_no_house_rules(name: str) -> None:
    assert not is_rules_name(name)
    assert is_rules_name("Café am Freitag mit dice=3")
    assert len(ruleset_label(HOUSE, "x" * 31)) == 40
