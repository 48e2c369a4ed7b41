"""A hash stands for exactly one ruleset."""

from itertools import combinations

from hypothesis import given

from p2pdice import PRESETS, Ruleset
from protocol.wire.genesis import parse_ruleset
from protocol.wire.rulesets import ruleset_hash, ruleset_label
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
