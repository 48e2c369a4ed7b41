"""One thing of the program stands aside for another for a while.

What is replaced is named as a value, ``replaced(Match, Match.handle, bad)``: so mypy sees that it exists and that both
have one type, and at run time it is looked up by identity in the class or module that is to change. A target that is
gone, or that its owner does not use under that name any more, is an error and never a change that does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import ParamSpec, TypeVar

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
