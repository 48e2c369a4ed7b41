"""Kinds of messages: every kind has one rule, and every step of a script takes a kind that can be made and judged."""

import pytest

from protocol.consensus.kinds import RULES
from protocol.consensus.kinds.rule import Rule
from protocol.consensus.steps import SCRIPTS
from protocol.wire.messages import ASIDE, VOTES, Kind

IN_THE_HISTORY = {kind for script in SCRIPTS.values() for kind in script}


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.name)
def test_every_kind_has_one_rule_in_a_module_of_its_name(kind: Kind) -> None:
    rule = RULES[kind]
    assert rule.kind is kind
    assert type(rule).__module__ == f"protocol.consensus.kinds.{kind.name.lower()}"
    assert rule.shape


def test_a_kind_is_part_of_a_script_or_fills_any_slot_or_stands_beside_the_history() -> None:
    assert IN_THE_HISTORY | {Kind.RESIGN} | {*ASIDE} == {*Kind}
    assert IN_THE_HISTORY.isdisjoint((*ASIDE, Kind.RESIGN))


@pytest.mark.parametrize("kind", sorted(IN_THE_HISTORY), ids=lambda kind: kind.name)
def test_a_kind_in_a_script_says_how_it_is_judged_folded_and_made(kind: Kind) -> None:
    rule = type(RULES[kind])
    assert rule.judge is not Rule.judge
    assert rule.fold is not Rule.fold
    assert rule.produce is not Rule.produce
    assert rule.stage
    assert rule.task


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in VOTES], ids=lambda kind: kind.name)
def test_all_kinds_but_votes_can_be_made(kind: Kind) -> None:
    assert type(RULES[kind]).produce is not Rule.produce
