"""Sequences of matches in the simulator, with every fault: no coin comes or goes but as it should."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.simulation.evening import Evening


@pytest.fixture
def resources() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("seed", range(2))
def test_the_sum_of_coins_changes_only_by_grants_bonuses_and_forfeits(
    seed: int, tmp_path: Path, resources: ExitStack
) -> None:
    evening = Evening(seed, tmp_path, resources)
    for _ in range(4):
        evening.play()
    assert evening.settled


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(10, 20))
def test_the_sum_of_coins_holds_over_many_matches(seed: int, tmp_path: Path, resources: ExitStack) -> None:
    evening = Evening(seed, tmp_path, resources)
    for _ in range(30):
        evening.play()
    assert evening.settled > 30
