"""What stalling buys: how long a node waits for somebody who answers as late as possible."""

from __future__ import annotations

import pytest

from protocol import limits
from protocol.genesis import Patience
from protocol.patience import PatienceClock

PATIENCE = Patience(120, 15)
NOBODY: tuple[int, ...] = ()


class Waiting:
    """A clock that waits for player 1, who answers in the last moment, in one step after another."""

    def __init__(self) -> None:
        self.clock = PatienceClock(PATIENCE)
        self.now = 0.0
        self._step = 0

    def step(self, *, is_choice: bool = False, returns: int = 0) -> float:
        """Return how long a step lasts if player 1 comes back so often before, each time in the last moment."""
        self._step += 1
        began = self.now
        self.clock.open_step(self._step.to_bytes(4, "big"), is_choice, began)
        for _ in range(returns):
            self.now = self.clock.due((1,), NOBODY)
            self.clock.came_back(1, self.now)
        self.now = self.clock.due((1,), NOBODY)
        self.clock.arrived(1, self.now)
        return self.now - began


def test_a_program_that_is_always_late_is_soon_waited_for_no_longer_than_the_grace() -> None:
    waiting = Waiting()
    lasted = [waiting.step() for _ in range(20)]
    assert max(lasted) == PATIENCE.automatic
    assert sum(max(0.0, each - limits.GRACE) for each in lasted) == limits.BANK * PATIENCE.automatic
    assert lasted[-1] == limits.GRACE


def test_a_person_has_the_whole_patience_for_every_choice() -> None:
    waiting = Waiting()
    assert {waiting.step(is_choice=True) for _ in range(20)} == {PATIENCE.human}


@pytest.mark.parametrize(("is_choice", "patience"), [(True, PATIENCE.human), (False, PATIENCE.automatic)])
def test_who_breaks_the_link_and_comes_back_is_waited_for_four_times_as_long_in_a_step(
    is_choice: bool, patience: int
) -> None:
    assert Waiting().step(is_choice=is_choice, returns=limits.REPRIEVES) == (1 + limits.REPRIEVES) * patience
    assert Waiting().step(is_choice=is_choice, returns=50) == (1 + limits.REPRIEVES) * patience


def test_what_passes_before_a_return_is_charged_to_nobody() -> None:
    """So who comes back three times and then answers at once stalls every step, for as long as the match lasts."""
    waiting = Waiting()
    for step in range(50):
        began = waiting.now
        waiting.clock.open_step(step.to_bytes(4, "big"), is_choice=False, now=began)
        for _ in range(limits.REPRIEVES):
            waiting.now = waiting.clock.due((1,), NOBODY)
            waiting.clock.came_back(1, waiting.now)
        waiting.now += limits.GRACE
        waiting.clock.arrived(1, waiting.now)
        assert waiting.now - began == limits.REPRIEVES * PATIENCE.automatic + limits.GRACE


def test_of_a_witness_no_more_than_the_grace_is_waited_for() -> None:
    waiting = Waiting()
    waiting.clock.open_step(b"lock", is_choice=False, now=0.0)
    assert waiting.clock.due((1,), (1,)) == limits.GRACE


def test_a_machine_that_slept_waits_anew_and_charges_nobody() -> None:
    waiting = Waiting()
    waiting.clock.open_step(b"slept", is_choice=False, now=0.0)
    waiting.clock.restart((1,), 3600.0)
    assert waiting.clock.due((1,), NOBODY) == 3600 + PATIENCE.automatic
    waiting.clock.arrived(1, 3600.0 + PATIENCE.automatic)
    waiting.now = 4000.0
    assert waiting.step() == PATIENCE.automatic
