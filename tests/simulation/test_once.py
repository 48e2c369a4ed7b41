"""Worlds that once went wrong: they still come into the situation, go well, and go wrong where the mend is undone."""

from pathlib import Path

import pytest

from tests.simulation import once as once_module
from tests.simulation.once import ONCE, SMALL, as_code, situation

RELIABILITY = Path(__file__).parents[2] / "docs" / "reliability.md"

LONGEST = (
    "a node that had voted is restarted, and begins no further round",
    "a step that waits only for a vote about a cheat, which the others have left behind",
)


def left(name: str, is_small: bool) -> object:
    return pytest.param(name, marks=[] if is_small and name not in LONGEST else [pytest.mark.thorough])


AGAIN = [left(name, True) for name in ONCE]
HARMFUL = [left(name, once.plan.players <= SMALL) for name, once in ONCE.items() if once.check is not None]


@pytest.mark.parametrize("name", AGAIN)
def test_a_world_that_once_went_wrong_still_arises_and_goes_well(name: str) -> None:
    often, result = situation(ONCE[name])
    assert not result.failure, result.details
    assert often, f"the situation does not arise any more: python -m tests.simulation.once {name!r} finds others"


@pytest.mark.parametrize("name", HARMFUL)
def test_without_its_mend_it_goes_wrong_again(name: str) -> None:
    _, result = situation(ONCE[name], is_undone=True)
    assert result.violated is ONCE[name].check, result.details or "nothing goes wrong"


@pytest.mark.parametrize("name", ONCE)
def test_a_plan_that_is_printed_is_the_plan(name: str) -> None:
    plan = ONCE[name].plan
    assert eval(as_code(plan), vars(once_module)) == plan


def test_the_page_on_reliability_lists_them() -> None:
    page = RELIABILITY.read_text(encoding="utf-8")
    for name, once in ONCE.items():
        assert f"| {name} | {once.check or '–'} |" in page
