"""Evenings find bugs in what a match does to purses: each was put there on purpose, and is found by its own check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from p2pdice import State
from protocol.consensus import settlements
from protocol.consensus.accounts import Account, account_of
from protocol.consensus.history import History
from protocol.consensus.purse_proofs import Shown
from protocol.match.own_purse import OwnPurse
from protocol.node.purse_keeper import PurseKeeper
from protocol.wire.genesis import Genesis
from tests.simulation.evening import Evening, LostEntriesError, LostHeadError, StuckStakeError, WrongSumError
from tests.simulation.replacing import replaced


@contextmanager
def purses_are_not_held() -> Iterator[None]:
    """What was shown is known to the running process only, until the stakes are open."""

    def bad(keeper: PurseKeeper, genesis: Genesis) -> None:
        """Nothing."""

    with replaced(PurseKeeper, PurseKeeper.hold, bad), replaced(PurseKeeper, PurseKeeper.meet, bad):
        yield


def a_stake_counts_as_noted_before_it_is_written() -> AbstractContextManager[None]:
    """A process that dies there has noted it, as the one before it did."""
    note = PurseKeeper.note
    begun: set[tuple[bytes, bytes]] = set()

    def bad(keeper: PurseKeeper, history: History) -> None:
        key = keeper._identity, history.match
        if key not in begun:
            begun.add(key)
            note(keeper, history)

    return replaced(PurseKeeper, note, bad)


def a_winner_gets_a_coin_too_many() -> AbstractContextManager[None]:
    """Alike for everybody who looks at the account."""
    changes = Account.changes

    def bad(account: Account, genesis: Genesis, author: int) -> tuple[int, int, str]:
        coins, tickets, soul = changes(account, genesis, author)
        return coins + (author == account.winners[0]), tickets, soul

    return replaced(Account, changes, bad)


def evidence_shows_a_winner_who_is_none() -> AbstractContextManager[None]:
    """The end of a match is gathered with another account than its players have signed."""

    def bad(seats: tuple[int, ...], state: State) -> Account:
        account = account_of(seats, state)
        return account._replace(winners=tuple((author + 1) % len(seats) for author in account.winners))

    return replaced(settlements, account_of, bad)


def entries_that_are_handed_back_are_not_taken() -> AbstractContextManager[None]:
    """A purse from a backup goes on from there."""

    def bad(purse: OwnPurse, shown: Shown) -> bool:
        return False

    return replaced(OwnPurse, OwnPurse.adopt, bad)


class Bug(NamedTuple):
    """See the module."""

    plant: Callable[[], AbstractContextManager[None]]
    caught_by: type[Exception]
    seed: int
    """Of the first evening that finds it."""


MATCHES: Final = 6
BUGS: Final = (
    Bug(purses_are_not_held, LostHeadError, 0),
    Bug(a_stake_counts_as_noted_before_it_is_written, LostHeadError, 7),
    Bug(a_winner_gets_a_coin_too_many, WrongSumError, 0),
    Bug(evidence_shows_a_winner_who_is_none, StuckStakeError, 0),
    Bug(entries_that_are_handed_back_are_not_taken, LostEntriesError, 9),
)


def play(seed: int, folder: Path) -> None:
    with ExitStack() as resources:
        evening = Evening(seed, folder, resources)
        for _ in range(MATCHES):
            evening.play()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.plant.__name__)
def test_an_evening_finds_the_bug_and_nothing_without_it(bug: Bug, tmp_path: Path) -> None:
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    with bug.plant(), pytest.raises(bug.caught_by):
        play(bug.seed, tmp_path / "with")
    play(bug.seed, tmp_path / "without")
