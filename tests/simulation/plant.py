"""Planted bugs, and what counts as catching one: the check that the bug names fails before anything else does."""

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
    """Counts how often a planted bug changed the behaviour of the program."""

    def __init__(self) -> None:
        self.ran = 0

    def runs(self) -> None:
        """Called by the bug each time it changes something."""
        self.ran += 1


class Bug(NamedTuple):
    """A bug in the program, which the simulator must catch."""

    plant: Callable[[Plant], AbstractContextManager[None]]
    check: Check
    """The check that must catch it."""
    seed: int
    """A seed whose world catches it quickly."""

    @property
    def name(self) -> str:
        """What is wrong, in words."""
        return self.plant.__name__.replace("_", " ")


class EveningBug(NamedTuple):
    """A bug in purses, which an evening of matches must catch."""

    plant: Callable[[], AbstractContextManager[None]]
    caught_by: type[AssertionError]
    seed: int
    """The first evening that catches it."""


def ends_are_not_settled() -> AbstractContextManager[None]:
    """A node does not write the end of a match to its owner's purse."""

    def bad(keeper: PurseKeeper, end: End, evidence: Value) -> None:
        """Do nothing."""

    return replaced(PurseKeeper, PurseKeeper._settle, bad)


class NotCaughtError(Exception):
    """A planted bug was not caught by its check."""


def catch(bug: Bug, seed: int) -> bool:
    """Return whether the world of a seed catches a bug; False if all checks held there.

    :raises NotCaughtError: if another check failed, or an exception was raised, or the bug changed nothing.
    """
    plant = Plant()
    with bug.plant(plant):
        result = run_seed(seed)
    if not result.failure:
        return False
    if result.violated is None:
        raise NotCaughtError(f"seed {seed}: an exception instead of a failed check: {result.details}")
    if result.violated is not bug.check:
        raise NotCaughtError(f"seed {seed}: expected {bug.check!r} to fail, but this failed first: {result.failure}")
    if not plant.ran:
        raise NotCaughtError(f"seed {seed}: {result.failure}, although the planted bug never ran")
    return True


def first_catch(bug: Bug, within: int) -> int:
    """Return the first seed, below ``within``, that catches a bug.

    :raises NotCaughtError: if there is none, or something else fails before.
    """
    for seed in range(within):
        if catch(bug, seed):
            return seed
    raise NotCaughtError(f"not caught by {within} seeds")
