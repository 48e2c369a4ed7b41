"""Histories to try things on: the copy takes them, and the original stays as it is."""

from __future__ import annotations

import copy

from protocol.consensus.branches import Outcome
from protocol.consensus.history import History
from protocol.consensus.reading import Reading
from protocol.wire.messages import Signed


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


def add(history: History, signed: Signed) -> Outcome:
    """Add one message, other than a vote, as it is read from a file."""
    return Reading(history).add(signed)
