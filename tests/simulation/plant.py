"""A bug that is planted, and what counts as having found it: that its one check fails, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

from protocol.consensus.ends import End
from protocol.node.purse import PurseKeeper
from protocol.wire.canonical import Value
from tests.simulation.campaign import run_seed
from tests.simulation.invariants import Check
from tests.simulation.replacing import replaced


class Plant:
    """A bug while it is there."""

    def __init__(self) -> None:
        self.ran = 0
        """How often something was done otherwise than the program does it."""

    def runs(self) -> None:
        """Count that the bug does something now."""
        self.ran += 1


class Bug(NamedTuple):
    """A bug to be found."""

    plant: Callable[[Plant], AbstractContextManager[None]]
    check: Check
    """The one that must find it. Nothing else counts."""
    seed: int
    """At which it does; of a small world, which does not take long."""


class EveningBug(NamedTuple):
    """A bug of purses, to be found by an evening of matches."""

    plant: Callable[[], AbstractContextManager[None]]
    caught_by: type[AssertionError]
    seed: int
    """Of the first evening that finds it."""


def ends_are_not_settled() -> AbstractContextManager[None]:
    def bad(keeper: PurseKeeper, end: End, evidence: Value) -> None:
        """Nothing."""

    return replaced(PurseKeeper, PurseKeeper._settle, bad)


class NotCaughtError(Exception):
    """A bug was planted, and what came of it is not that its check found it."""


def catch(bug: Bug, seed: int) -> bool:
    """Tell whether a bug's check finds it in the world of a seed; it did not if everything held there.

    :raises NotCaughtError: if something else went wrong: another check, or an exception, which is the plant's error.
    """
    plant = Plant()
    with bug.plant(plant):
        result = run_seed(seed)
    if not result.failure:
        return False
    if result.violated is None:
        raise NotCaughtError(f"seed {seed}: an exception is no catch: {result.details}")
    if result.violated is not bug.check:
        raise NotCaughtError(f"seed {seed}: meant for {bug.check!r}, but this came first: {result.failure}")
    if not plant.ran:
        raise NotCaughtError(f"seed {seed}: {result.failure}, and yet the planted bug never ran")
    return True


def first_catch(bug: Bug, within: int) -> int:
    """Return the first seed at which a bug's check finds it.

    :raises NotCaughtError: if it finds it in none of so many, or something else goes wrong before.
    """
    for seed in range(within):
        if catch(bug, seed):
            return seed
    raise NotCaughtError(f"not caught by {within} seeds")
