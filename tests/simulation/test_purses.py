"""Sequences of simulated matches, with all kinds of faults, change every purse by the right amounts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack

import pytest

from protocol.node.purse import PurseKeeper
from protocol.wire.genesis import Genesis
from protocol.wire.messages import Signed
from tests.simulation.evening import Evening, LostStakeError, run_evenings
from tests.simulation.home import PURSE_POINTS
from tests.simulation.ledgers import StuckStakeError
from tests.simulation.plant import EveningBug, ends_are_not_settled
from tests.simulation.replacing import replaced


def play(seed: int) -> Evening:
    with ExitStack() as resources:
        evening = Evening(seed, resources)
        for _ in range(4):
            evening.play()
        assert evening.settled
        assert all(evening.figures.points[point] for point in PURSE_POINTS)
    return evening


def a_stake_counts_as_noted_before_it_is_written() -> AbstractContextManager[None]:
    """After a crash that prevented the write, the restarted process does not write the stake either."""
    note = PurseKeeper.note_stakes
    begun: set[tuple[bytes, bytes]] = set()

    def bad(keeper: PurseKeeper, match: bytes, genesis: Genesis, stakes: Mapping[int, Signed]) -> None:
        key = keeper._identity, match
        if key not in begun:
            begun.add(key)
            note(keeper, match, genesis, stakes)

    return replaced(PurseKeeper, note, bad)


BUGS = (
    EveningBug(a_stake_counts_as_noted_before_it_is_written, LostStakeError, 0),
    EveningBug(ends_are_not_settled, StuckStakeError, 0),
)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.plant.__name__)
def test_an_evening_finds_the_bug(bug: EveningBug) -> None:
    with bug.plant(), pytest.raises(bug.caught_by):
        play(bug.seed)


@pytest.mark.parametrize("seed", sorted({bug.seed for bug in BUGS}))
def test_an_evening_without_a_bug_holds(seed: int) -> None:
    play(seed)


@pytest.mark.thorough
def test_every_record_agrees_with_its_match() -> None:
    total: Counter[str] = Counter()
    for result in run_evenings(range(10, 14), jobs=2):
        assert not result.failure, result.seed
        total.update(result.figures)
    for what in ("records", "stakes given up", "void matches", "of these around a write of a purse"):
        assert total[what], what
