"""Every kind of message has one rule, and every kind in a script can be produced and judged."""

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


def test_each_slot_takes_the_expected_kinds() -> None:
    slots = {slot: {kind for kind, rule in RULES.items() if rule.slot is slot} for slot in Slot}
    assert slots == {
        Slot.STEP: IN_THE_HISTORY,
        Slot.ANY_STEP: {Kind.RESIGN},
        Slot.END: {Kind.RESULT},
        Slot.WITNESS: {Kind.WITNESS},
        Slot.VOTE: {*VOTES},
    }


@pytest.mark.parametrize("kind", sorted(IN_THE_HISTORY), ids=lambda kind: RULES[kind].name)
def test_the_rule_of_a_kind_in_a_script_can_judge_and_fold(kind: int) -> None:
    rule = type(RULES[kind])
    assert rule.judge is not Rule.judge
    assert rule.fold is not Rule.fold
    assert rule.stage
    assert rule.task


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in VOTES], ids=lambda kind: kind.name)
def test_all_kinds_except_votes_can_be_produced(kind: Kind) -> None:
    assert type(RULES[kind]).produce is not Rule.produce
