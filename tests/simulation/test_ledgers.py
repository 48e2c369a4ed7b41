"""All promises about purses hold in random evenings, and each planted bug is caught by its own check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from protocol.consensus.ends import Shown
from protocol.consensus.steps import Account
from protocol.node.purse import PurseKeeper
from protocol.storage.purses import Met, OwnPurse, Purses
from protocol.wire.genesis import Genesis
from protocol.wire.messages import Signed
from protocol.wire.purses import Purse, Record, Relation, Staked
from tests.simulation.ledgers import (
    Evening,
    StuckStakeError,
    WronglyRefusedError,
    WronglyTakenError,
    WrongSumError,
)
from tests.simulation.plant import EveningBug, ends_are_not_settled
from tests.simulation.replacing import replaced
from tests.tiers import slowly, thoroughly

TABLES = 30
EVENINGS = 3


def run(seed: int, folder: Path) -> Counter[str]:
    folder.mkdir()
    evening = Evening(seed, folder)
    try:
        evening.run(TABLES)
    finally:
        evening.close()
    return evening.count


def test_what_is_promised_of_purses_holds_with_liars_and_old_backups(tmp_path: Path) -> None:
    total: Counter[str] = Counter()
    for seed in (*range(EVENINGS), *(bug.seed for bug in BUGS if bug.seed >= EVENINGS)):
        total.update(run(seed, tmp_path / str(seed)))
    for what in ("matches", "handed back", "voids", "given up", "shams", "forged ends", "backups put back"):
        assert total[what], what


@pytest.mark.parametrize("evenings", [*thoroughly([15]), *slowly([80])])
def test_promises_about_purses_hold_over_many_evenings(tmp_path: Path, evenings: int) -> None:
    for seed in range(1000, 1000 + evenings):
        run(seed, tmp_path / str(seed))


def own_matches_are_not_looked_at() -> AbstractContextManager[None]:
    def bad(keeper: PurseKeeper, there: Met, purse: Purse, record: Record | None) -> str:
        return ""

    return replaced(PurseKeeper, PurseKeeper._differs, bad)


@contextmanager
def relations(wrong: Relation, taken_for: Relation) -> Iterator[None]:
    """Mistake one relation between purses for another."""
    right = Purse.relation_of

    def relation_of(purse: Purse, shown: Purse, *stakes: Staked | None) -> Relation:
        found = right(purse, shown, *stakes)
        return taken_for if found is wrong else found

    with replaced(Purse, right, relation_of):
        yield


def an_older_purse_is_taken() -> AbstractContextManager[None]:
    return relations(Relation.OLDER, Relation.SAME)


def heights_are_compared_alone() -> AbstractContextManager[None]:
    return relations(Relation.FORK, Relation.LONGER)


def stakes_are_forgotten() -> AbstractContextManager[None]:
    def bad(keeper: PurseKeeper, match: bytes, genesis: Genesis, stakes: Mapping[int, Signed]) -> None:
        """Do nothing."""

    return replaced(PurseKeeper, PurseKeeper.note_stakes, bad)


def nothing_that_is_handed_back_is_taken() -> AbstractContextManager[None]:
    def bad(keeper: PurseKeeper, shown: Shown) -> bool:
        return False

    return replaced(PurseKeeper, PurseKeeper.take_own, bad)


def purses_of_a_match_are_kept_in_memory_only() -> AbstractContextManager[None]:
    def bad(purses: Purses, own: OwnPurse, match: bytes, players: object) -> None:
        purses.keep(own)

    return replaced(Purses, Purses.bind, bad)


def what_a_busy_purse_has_staked_is_not_written() -> AbstractContextManager[None]:
    def bad(keeper: PurseKeeper, match: bytes, genesis: Genesis, stake: tuple[int, int]) -> bool:
        return True

    return replaced(PurseKeeper, PurseKeeper.open_stake, bad)


def a_winner_gets_a_coin_too_many() -> AbstractContextManager[None]:
    right = Account.record

    def bad(account: Account, genesis: Genesis, match: bytes, author: int, stake: tuple[int, int]) -> Record:
        record = right(account, genesis, match, author, stake)
        return record._replace(change=record.change + (author in account.winners))

    return replaced(Account, right, bad)


BUGS = (
    EveningBug(own_matches_are_not_looked_at, WronglyTakenError, 6),
    EveningBug(an_older_purse_is_taken, WronglyTakenError, 2),
    EveningBug(heights_are_compared_alone, WronglyTakenError, 13),
    EveningBug(stakes_are_forgotten, WronglyTakenError, 2),
    EveningBug(nothing_that_is_handed_back_is_taken, WronglyRefusedError, 5),
    EveningBug(purses_of_a_match_are_kept_in_memory_only, WronglyTakenError, 2),
    EveningBug(what_a_busy_purse_has_staked_is_not_written, WronglyRefusedError, 0),
    EveningBug(a_winner_gets_a_coin_too_many, WrongSumError, 0),
    EveningBug(ends_are_not_settled, StuckStakeError, 0),
)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.plant.__name__)
def test_an_evening_finds_the_bug(bug: EveningBug, tmp_path: Path) -> None:
    """The first test plays the same evenings without a bug."""
    with bug.plant(), pytest.raises(bug.caught_by):
        run(bug.seed, tmp_path / "with")
