"""Copies of histories: a test changes the copy, and the original stays unchanged."""

from __future__ import annotations

import copy

from protocol.consensus.branches import Outcome
from protocol.consensus.history import History
from protocol.consensus.reading import Reading
from protocol.wire.messages import Signed


def until(history: History, step: int) -> History:
    """Return an independent copy of a history in which ``step`` is the open step."""
    return history.along([history.full(step)])


def fork(history: History) -> History:
    """Return an independent copy of a history. It shares positions and messages, which are immutable."""
    twin = copy.copy(history)
    for name, value in vars(history).items():
        if isinstance(value, list | dict | set):
            setattr(twin, name, copy.copy(value))
    return twin


def add(history: History, signed: Signed) -> Outcome:
    """Add one message that is not a vote, as if it were read from a file."""
    return Reading(history).add(signed)
