"""How a match is formed beside somebody who lies, in every state of small worlds, and mistakes that are found there."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest

from protocol.consensus.intake import Intake
from protocol.wire.messages import Signed
from tests.simulation.replacing import replaced
from tests.simulation.small_forming import ViolationError, World


def test_a_guest_who_resigns_to_some_and_commits_to_others() -> None:
    assert World(liar=2).explore() > 4_000


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("world", "least"),
    [
        pytest.param(World(), 10_000, id="host"),
        pytest.param(World(steps=(0,)), 50_000, id="host-before-anybody-commits"),
        pytest.param(World(commits=2), 200_000, id="host-with-two-commitments"),
        pytest.param(World(cuts=((1, 2),), changes=1), 50_000, id="host-of-guests-who-are-linked-late"),
        pytest.param(World(cuts=((1, 2),), changes=2), 80_000, id="host-of-guests-who-are-linked-for-a-while"),
    ],
)
def test_a_host_who_withdraws_to_some_and_commits_to_others(world: World, least: int) -> None:
    assert world.explore() > least


@pytest.mark.slow
def test_a_guest_who_lies_from_the_first_step_on() -> None:
    assert World(liar=2, steps=(0, 1)).explore() > 500_000


# Mistakes


def going_on_alone() -> AbstractContextManager[None]:
    """What was signed beside a resignation counts, whoever else has heard of that."""

    def bad(self: Intake) -> bool:
        return True

    return replaced(Intake, Intake._is_taken_further, bad)


def first_word_counts() -> AbstractContextManager[None]:
    """A resignation that comes behind a commitment is kept as a proof and no more."""

    def bad(self: Intake, signed: Signed) -> None:
        """Do nothing."""

    return replaced(Intake, Intake._hold_to, bad)


def test_a_node_that_forgets_a_resignation_behind_a_commitment_is_found() -> None:
    with first_word_counts(), pytest.raises(ViolationError, match="will not be formed"):
        World(liar=2).explore()


@pytest.mark.thorough
def test_a_node_that_goes_on_alone_is_found() -> None:
    with going_on_alone(), pytest.raises(ViolationError, match="bound elsewhere"):
        World().explore()
