"""Hundreds of small hostile worlds: nothing that must hold is ever broken. ``python -m tests.simulation`` runs more."""

import pytest

from tests.simulation.campaign import run_seed

GROUP = 25
ORDINARY = 500


def assert_all_hold(seeds: range) -> None:
    failures = [result for result in map(run_seed, seeds) if result.failure]
    if failures:
        pytest.fail("\n\n".join(map(str, failures)), pytrace=False)


@pytest.mark.parametrize("group", range(ORDINARY // GROUP))
def test_what_must_hold_does(group: int) -> None:
    assert_all_hold(range(group * GROUP, (group + 1) * GROUP))


@pytest.mark.slow
@pytest.mark.parametrize("thousand", range(1, 11))
def test_what_must_hold_does_in_a_long_run(thousand: int) -> None:
    assert_all_hold(range(thousand * 1_000, (thousand + 1) * 1_000))


@pytest.mark.parametrize(
    ("seed", "_found"),
    [
        (625, "a step that waits only for a vote about a cheat, which the others have left behind"),
        (1258, "a proof by two votes on a step that is final for who is shown it"),
        (1532, "votes thousands of rounds ahead hold up the next step"),
        (2168, "a proof by two messages of which neither is part of the history"),
        (5723, "a node that stands still for a vote, and is woken by its own warning without end"),
        (6028, "a node that had voted is restarted, and begins no further round"),
        (7786, "a slow node calls the end while the others vote about the last step"),
        (10825, "a proof on a history that was taken back spoils the transcript"),
        (12766, "who was dragged far ahead by a liar is not followed"),
        (18011, "the simulator took a vote for stored that a backup, put back while its owner was off, had lost"),
    ],
)
def test_worlds_that_once_went_wrong_do_not(seed: int, _found: str) -> None:
    assert_all_hold(range(seed, seed + 1))
