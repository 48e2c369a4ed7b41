"""How long a node waits for a player who always answers as late as possible."""

from __future__ import annotations

from protocol import limits
from protocol.match.waiting import Timeouts
from protocol.wire.genesis import Patience

PATIENCE = Patience(120, 15)
NOBODY: tuple[int, ...] = ()


class Waiting:
    """A clock that waits for player 1, who answers every step at the last moment."""

    def __init__(self) -> None:
        self.clock = Timeouts(PATIENCE)
        self.now = 0.0
        self._step = 0

    def step(self, *, is_choice: bool = False, returns: int = 0) -> float:
        """Return the length of a step in which player 1 first reconnects ``returns`` times, each at the last moment."""
        self._step += 1
        began = self.now
        self.clock.open_step(self._step.to_bytes(4, "big"), is_choice, began)
        for _ in range(returns):
            self.now = self.clock.due((1,), NOBODY)
            self.clock.came_back(1, self.now)
        self.now = self.clock.due((1,), NOBODY)
        self.clock.charge(1, self.now)
        return self.now - began


def test_the_wait_for_an_always_late_program_soon_shrinks_to_the_grace() -> None:
    waiting = Waiting()
    lasted = [waiting.step() for _ in range(20)]
    assert max(lasted) == PATIENCE.automatic
    assert sum(max(0.0, each - limits.GRACE) for each in lasted) == limits.BANK * PATIENCE.automatic
    assert lasted[-1] == limits.GRACE


def test_a_person_has_the_full_patience_for_every_choice() -> None:
    waiting = Waiting()
    assert {waiting.step(is_choice=True) for _ in range(20)} == {PATIENCE.human}


def test_a_returning_player_gets_time_to_answer_but_not_to_choose_again() -> None:
    longest = PATIENCE.human + limits.REPRIEVES * PATIENCE.automatic
    assert Waiting().step(is_choice=True, returns=limits.REPRIEVES) == longest
    assert Waiting().step(is_choice=True, returns=50) == longest


def test_time_before_a_return_is_charged_like_any_other_wait() -> None:
    """Otherwise a player could stall every step by cutting their own link and returning at the last moment."""
    waiting = Waiting()
    lasted = [waiting.step(returns=limits.REPRIEVES) for _ in range(50)]
    assert lasted[0] == (1 + limits.REPRIEVES) * PATIENCE.automatic
    free = (1 + limits.REPRIEVES) * limits.GRACE
    assert sum(max(0.0, each - free) for each in lasted) == limits.BANK * PATIENCE.automatic
    assert lasted[-1] == free


def test_a_witness_is_waited_for_only_for_the_grace() -> None:
    waiting = Waiting()
    waiting.clock.open_step(b"lock", is_choice=False, now=0.0)
    assert waiting.clock.due((1,), (1,)) == limits.GRACE


def test_a_machine_that_slept_restarts_its_wait_and_charges_no_player() -> None:
    waiting = Waiting()
    waiting.clock.open_step(b"slept", is_choice=False, now=0.0)
    waiting.clock.begin_anew((1,), 3600.0)
    assert waiting.clock.due((1,), NOBODY) == 3600 + PATIENCE.automatic
    waiting.clock.charge(1, 3600.0 + PATIENCE.automatic)
    waiting.now = 4000.0
    assert waiting.step() == PATIENCE.automatic


def test_the_wait_for_a_convicted_player_lasts_only_the_relay_time() -> None:
    clock = Timeouts(PATIENCE)
    clock.open_step(b"one", is_choice=False, now=0.0, hurried={1})
    assert clock.due((1,), NOBODY) == limits.RELAY
    assert clock.due((2,), NOBODY) == PATIENCE.automatic
    clock.open_step(b"one", is_choice=False, now=10.0, hurried={1, 2})  # player 2 is convicted, too
    assert (clock.due((1,), NOBODY), clock.due((2,), NOBODY)) == (limits.RELAY, 10 + limits.RELAY)
    clock.open_step(b"two", is_choice=True, now=20.0, hurried={2})
    assert clock.due((2,), NOBODY) == 20 + limits.RELAY
    assert clock.due((1,), NOBODY) == 20 + PATIENCE.human


def test_a_standstill_of_a_day_takes_at_most_three_hundred_voting_rounds() -> None:
    """A match may have to wait overnight for a player whose laptop is closed, and the rounds must stay few."""
    clock = Timeouts(PATIENCE)
    lengths = [clock.standing(number) for number in range(400)]
    assert lengths[: limits.ROUNDS_OF_A_LENGTH] == [PATIENCE.automatic] * limits.ROUNDS_OF_A_LENGTH
    assert lengths == sorted(lengths)
    assert sum(lengths[:300]) > 24 * 3600 - 60
    assert max(lengths[:300]) <= 600
