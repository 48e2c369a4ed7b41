"""Histories to try things on: the copy takes them, and the original stays as it is."""

from __future__ import annotations

import copy

from protocol.consensus.history import History


def until(history: History, step: int) -> History:
    """Return a history that goes its own way from a step on, which is open in it."""
    return history.along([history.full(step)])


def fork(history: History) -> History:
    """Return a history that goes its own way from here. Positions and messages never change, so they are shared."""
    twin = copy.copy(history)
    for name, value in vars(history).items():
        if isinstance(value, list | dict | set):
            setattr(twin, name, copy.copy(value))
    return twin
