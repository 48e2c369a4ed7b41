"""Replaces a function or value of the program for a while.

The target is given as a value, as in ``replaced(Match, Match.handle, bad)``. So mypy checks that it exists and has the
same type as its replacement. At run time it is looked up by identity in its class or module. If it is not there any
more, that is an error: without the error a planted bug would do nothing.
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
    """The target is not an attribute of its class or module."""


@contextmanager
def replaced(owner: type | ModuleType, target: Callable[P, R], bad: Callable[P, R]) -> Iterator[None]:
    """Replace a function by ``bad``.

    :param owner: the class that defines the function, or the module that defines or imports it.
    :raises NoTargetError: if the function is not exactly one attribute of ``owner`` itself.
    """
    with replaced_value(owner, target, bad):
        yield


@contextmanager
def replaced_value(owner: type | ModuleType, target: T, bad: T) -> Iterator[None]:
    """Like :func:`replaced`, for values other than functions."""
    names = [name for name, value in vars(owner).items() if value is target]
    if len(names) != 1:
        raise NoTargetError(f"{target!r} has {len(names)} names in {owner.__name__}, not one")
    setattr(owner, names[0], bad)
    try:
        yield
    finally:
        setattr(owner, names[0], target)
