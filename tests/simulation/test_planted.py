"""The simulator finds bugs: each of these was put there on purpose, and is caught within a thousand seeds."""

import pytest

from tests.simulation.campaign import run_seed
from tests.simulation.planted import PLANTED, WITHIN

NEAR = 40
"""Seeds that the ordinary run looks at, from the recorded one on."""


def caught(name: str, seeds: range) -> tuple[int, str]:
    """Return the seed at which a planted bug shows, and how."""
    bug, _ = PLANTED[name]
    for seed in seeds:
        with bug():
            result = run_seed(seed)
        if result.failure:
            return seed, result.failure
    pytest.fail(f"{name}: not caught by the seeds {seeds.start} to {seeds.stop - 1}", pytrace=False)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_caught(name: str) -> None:
    _, start = PLANTED[name]
    assert start + NEAR <= WITHIN
    seed, failure = caught(name, range(start, start + NEAR))
    print(f"{name}: caught at seed {seed} by {failure}")
    assert not run_seed(seed).failure, "the seed fails without the bug as well: it proves nothing about it"


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_caught_within_a_thousand_seeds_from_the_first_on(name: str) -> None:
    seed, failure = caught(name, range(WITHIN))
    print(f"{name}: caught at seed {seed} by {failure}")
