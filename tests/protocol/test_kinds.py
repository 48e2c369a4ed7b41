"""Kinds of messages: every kind has one rule, and every step of a script takes a kind that can be made and judged."""

import pytest

from protocol.consensus.kinds import RULES, SCRIPTS
from protocol.consensus.rule import Rule, Slot
from protocol.wire.messages import VOTES, Kind

IN_THE_HISTORY = {kind for script in SCRIPTS.values() for kind in script}


def test_every_kind_has_one_rule_with_its_number_and_name() -> None:
    assert {*Kind} == {*RULES}
    for kind, rule in RULES.items():
        assert rule.kind == kind
        assert rule.name == Kind(kind).name
        assert rule.shape


def test_a_kind_is_part_of_a_script_or_fills_any_slot_or_stands_beside_the_history() -> None:
    slots = {slot: {kind for kind, rule in RULES.items() if rule.slot is slot} for slot in Slot}
    assert slots == {
        Slot.STEP: IN_THE_HISTORY,
        Slot.ANY_STEP: {Kind.RESIGN},
        Slot.END: {Kind.RESULT},
        Slot.WITNESS: {Kind.WITNESS},
        Slot.VOTE: {*VOTES},
    }


@pytest.mark.parametrize("kind", sorted(IN_THE_HISTORY), ids=lambda kind: RULES[kind].name)
def test_a_kind_in_a_script_says_how_it_is_judged_folded_and_made(kind: int) -> None:
    rule = type(RULES[kind])
    assert rule.judge is not Rule.judge
    assert rule.fold is not Rule.fold
    assert rule.produce is not Rule.produce
    assert rule.stage
    assert rule.task


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in VOTES], ids=lambda kind: kind.name)
def test_all_kinds_but_votes_can_be_made(kind: Kind) -> None:
    assert type(RULES[kind]).produce is not Rule.produce
