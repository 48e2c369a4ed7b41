"""Sequences of matches in the simulator, with every fault: no coin comes or goes but as it should."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.simulation.evening import Evening
from tests.simulation.evenings import run_evenings

SEED = 37
"""Of an evening in which a stake is given up, and somebody goes back to a backup."""


def test_the_sum_of_coins_changes_only_by_grants_bonuses_and_forfeits(tmp_path: Path) -> None:
    with ExitStack() as resources:
        evening = Evening(SEED, tmp_path, resources)
        for _ in range(6):
            evening.play()
    assert evening.forfeits
    assert evening.backups
    assert evening.settled > 6


@pytest.mark.thorough
def test_the_sum_of_coins_holds_over_many_matches() -> None:
    total: Counter[str] = Counter()
    for result in run_evenings(range(10, 14), jobs=2):
        assert not result.failure, result.seed
        total.update(result.figures)
    assert total["settlements"] > total["matches"] == 120
    for what in ("FORFEITs", "VOIDs", "purses put back from a backup", "of these around a write of a purse"):
        assert total[what], what
