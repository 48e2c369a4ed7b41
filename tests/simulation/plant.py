"""How a bug is planted: one thing of the program stands aside for another while the bug lasts.

What is replaced is named as a value, ``replaced(Match, Match.handle, bad)``: so mypy sees that it exists and that both
have one type, and at run time it is looked up by identity in the class or module that is to change. A target that is
gone, or that its owner does not use under that name any more, is an error and never a bug that merely does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import NamedTuple, ParamSpec, TypeVar

from tests.simulation.campaign import run_seed
from tests.simulation.invariants import Check

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class NoTargetError(Exception):
    """What a plant is to replace is not where it is looked for."""


@contextmanager
def replaced(owner: type | ModuleType, target: Callable[P, R], bad: Callable[P, R]) -> Iterator[None]:
    """Let ``bad`` stand for a function of a class, or for one that a module defines or has imported.

    :raises NoTargetError: if it is not exactly once among the names of ``owner`` itself.
    """
    with replaced_value(owner, target, bad):
        yield


@contextmanager
def replaced_value(owner: type | ModuleType, target: T, bad: T) -> Iterator[None]:
    """Let ``bad`` stand for any value that has a name in a class or module. :raises NoTargetError: as above."""
    names = [name for name, value in vars(owner).items() if value is target]
    if len(names) != 1:
        raise NoTargetError(f"{target!r} has {len(names)} names in {owner.__name__}, not one")
    setattr(owner, names[0], bad)
    try:
        yield
    finally:
        setattr(owner, names[0], target)


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
    """The first at which it does."""


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
