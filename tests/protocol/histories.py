"""Records to be tried out: a copy takes what the original is spared."""

from __future__ import annotations

import copy

from protocol.consensus.history import History


def fork(record: History) -> History:
    """Return a record that goes its own way from here. Positions and messages never change, so they are shared."""
    twin = copy.copy(record)
    for name, value in vars(record).items():
        if isinstance(value, list | dict | set):
            setattr(twin, name, copy.copy(value))
    return twin
