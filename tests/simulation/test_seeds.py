"""Many small hostile worlds: nothing that must hold is ever broken. ``python -m tests.simulation`` runs more.

.ci/run has it look at 200.
"""

import pytest

from tests.simulation.campaign import run_seed


def assert_all_hold(seeds: range) -> None:
    failures = [result for result in map(run_seed, seeds) if result.failure]
    if failures:
        pytest.fail("\n\n".join(map(str, failures)), pytrace=False)


def test_every_check_holds() -> None:
    """Other seeds are left to .ci/run: of the first twenty, a few take as long as these ten together."""
    assert_all_hold(range(20, 30))


WRONG_CHECKS = {
    1296: "a guest resigns from a match that its host withdrew before it alone",
    1297: "a flood of future steps leaves its author no RESIGN",
    2283: "a second move comes when the others are over",
    3152: "a host proposes another match to guests whose match has begun",
    6569: "a second REVEAL overtakes the moves before it, so a node rolls that step back until they come",
    14215: "a host loses power just before it proposes another match",
    15869: "others show a move of a branch that the votes decided against",
    17708: "a node shows its COMMIT of a match that it has withdrawn, and is bound by the next",
    17775: "a guest of a withdrawn match has signed a REVEAL before a crash, so it resigns only after votes",
    24676: "a guest dies just before it is asked to sign another match",
    26839: "a process that plays a match is restarted after it was asked to sign another",
    28503: "all concede, and one has resigned on a branch that it lost in a crash",
    33651: "a REVEAL that does not bind is given back after a crash, and relayed before its step is known again",
    35589: "a majority that needs a convicted liar votes for thirty rounds",
}
"""By seed, what happens there."""


@pytest.mark.parametrize("seed", WRONG_CHECKS)
def test_worlds_in_which_the_simulator_was_wrong_hold(seed: int) -> None:
    assert not run_seed(seed).failure


@pytest.mark.slow
@pytest.mark.parametrize("thousand", range(1, 11))
def test_every_check_holds_in_a_long_run(thousand: int) -> None:
    assert_all_hold(range(thousand * 1_000, (thousand + 1) * 1_000))
