"""The promises about forming a match hold in small worlds of whole nodes with liars, and mistakes are found there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import pytest

from protocol import limits
from protocol.match.lobby import Attendance
from protocol.node.playing import PlayerSession, Proposals
from tests.simulation.small_forming import ViolationError, explore
from tests.tiers import thoroughly


@pytest.mark.parametrize("seeds", [range(1, 8, 2), *thoroughly([range(0, 8, 2), range(8, 16, 2), range(9, 16, 2)])])
def test_promises_of_forming_hold_in_small_worlds(tmp_path: Path, seeds: range) -> None:
    figures = explore(tmp_path, seeds)
    assert figures["bound"] > 5
    assert figures["formed"] > 3


@pytest.mark.slow
@pytest.mark.parametrize("first", range(16))
def test_promises_of_forming_hold_in_many_small_worlds(tmp_path: Path, first: int) -> None:
    explore(tmp_path, range(100 + first, 400, 16))


# Mistakes


def bound_twice() -> AbstractContextManager[object]:
    """A node that is bound to a match accepts further proposals and signs their COMMITs."""
    return patch.multiple(
        Proposals,
        is_bound=property(lambda _: False),
        _may_commit=lambda _, playing: playing.has_purses_in_order,
    )


def silent_without_end() -> AbstractContextManager[object]:
    """The host waits for a guest's signature without a limit."""
    return patch.object(limits, "UNSIGNED", 1e9)


def newcomers() -> AbstractContextManager[object]:
    """The host does not count failures of guests, and keeps seating new ones."""
    return patch.object(Attendance, "check", lambda *_: None)


def kept_to_itself() -> AbstractContextManager[object]:
    """A node that has given a match up does not tell others that it was formed."""

    def bad(self: Proposals, playing: PlayerSession) -> None:
        if not playing.is_given_up:
            self.session = playing
            self._tell_formed()

    return patch.object(Proposals, "became_formed", bad)


def bound_for_ever() -> AbstractContextManager[object]:
    """A guest waits for the match that binds it without a limit."""
    return patch.object(limits, "BOUND", 1e9)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mistake", "seeds", "found"),
    [
        (bound_twice, range(0, 20, 2), "bound to two"),
        (bound_for_ever, range(2000, 2020, 2), "bound for ever"),
        (kept_to_itself, range(2060, 2070, 2), "does not know"),
        (silent_without_end, range(2001, 2011, 2), "no match after"),
        (newcomers, range(2021, 2045, 2), "proposals for"),
    ],
)
def test_a_mistake_in_forming_is_found(
    tmp_path: Path, mistake: Callable[[], AbstractContextManager[object]], seeds: range, found: str
) -> None:
    with mistake(), pytest.raises((ViolationError, AssertionError), match=found):
        explore(tmp_path, seeds)
