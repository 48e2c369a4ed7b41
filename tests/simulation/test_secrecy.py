"""The bytes that a node sends do not depend on unopened hands and shares."""

from dataclasses import replace
from random import Random

import pytest

from p2pdice.rulesets import PRESETS
from protocol.crypto.hashing import tagged_hash
from protocol.match.match import Match
from tests.simulation.faults import plan_faults
from tests.simulation.invariants import Check, Violation
from tests.simulation.replacing import replaced
from tests.simulation.scenario import Plan, draw
from tests.simulation.secrecy import compare
from tests.tiers import slowly, thoroughly


def plan(seed: int) -> Plan:
    name = Random(seed).choice([name for name, preset in PRESETS.items() if not preset.motes])
    ruleset = PRESETS[name].with_options({"dice": "2"})
    quiet = replace(draw(seed), misbehaviour="", culprit=-1, core="", faults=(), quits=0.0)
    return replace(quiet, ruleset=ruleset, players=3, usual_latency=0.005, think=0.5)


@pytest.mark.parametrize("seed", [*range(6), *thoroughly(range(6, 14)), *slowly(range(14, 40))])
def test_other_secrets_behind_the_same_commitments_do_not_show_before_they_are_opened(seed: int) -> None:
    assert compare(plan(seed), Random(seed)) > 0


def test_a_secret_that_shows_is_found() -> None:
    """The planted leak: by its dice, a node chooses when it announces what it holds. No frame contains the dice."""
    compare_notes = Match._compare_notes

    def leaky(match: Match) -> float:
        if match.hand and tagged_hash("tell", bytes(match.hand))[0] % 2:
            match.catch_up.changed(match._now - 1)  # announces its messages earlier than usual
        return compare_notes(match)

    def violated(seed: int) -> Check | None:
        trouble = replace(plan(seed), faults=plan_faults(Random(seed), ("cut",), 12, 3, 200))
        try:
            compare(trouble, Random(seed))
        except Violation as violation:
            return violation.check
        return None

    with replaced(Match, Match._compare_notes, leaky):
        assert next(filter(None, map(violated, range(6, 40)))) is Check.NO_FRAME_DEPENDS_ON_AN_UNOPENED_SECRET
