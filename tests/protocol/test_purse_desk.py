"""The purses at a host's table: who may ask for what is missing, who may answer, and how much is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from protocol.consensus.purse_links import write_links
from protocol.limits import PURSE_BURST, PURSE_RATE, Limits
from protocol.match.lobby import HostedTable, TableSettings
from protocol.node.purse_desk import PurseDesk
from protocol.node.runtime import Runtime
from protocol.storage.home import Home
from protocol.storage.store import Store
from protocol.wire.frames import Frame, ShowPurse
from tests.protocol.long_purses import OWNER, RULES
from tests.protocol.test_purse_keeper import keeper
from tests.protocol.test_purses import Owner, matches
from tests.simulation.world import TABLE, join_record


class Desk(PurseDesk):
    """The desk of a host with a real store. Its clock stands still, and what would be sent is noted."""

    def __init__(self, store: Store) -> None:
        self.now = 0.0
        self.sent: list[tuple[bytes, Frame]] = []
        self.keeper = keeper(store)
        host = join_record(b"host", 0, nickname="host", purse=self.keeper.own.purse, identity=OWNER)
        self.table = HostedTable(TableSettings("Friday", RULES, 5), TABLE, host, "")
        runtime = SimpleNamespace(
            purses=self.keeper,
            loop=SimpleNamespace(time=lambda: self.now),
            bounds=Limits(),
            post=lambda identity, frame: self.sent.append((identity, frame)),
        )
        super().__init__(cast("Runtime", runtime), self.table, lambda *_: None, lambda *_: None)

    def sit(self, owner: Owner, name: str) -> None:
        """Give somebody a seat, and look at their purse."""
        key = owner.identity.public
        self.table.admit(key, join_record(key, 0, nickname=name, purse=owner.purse, identity=owner.identity).wire)
        self.take(key, owner.own.proof())

    def leave(self, owner: Owner) -> None:
        self.release(owner.identity.public)
        self.table.release(owner.identity.public)


class Evening:
    """A table of a host, an owner with two matches behind them, a guest who knows the purse from before these, and a
    third player. The host knows it from after them."""

    def __init__(self, store: Store) -> None:
        self.owner, self.guest, self.third = Owner("a"), Owner("b"), Owner("c")
        self.proofs = [self.owner.own.proof()]
        for seed in (70, 71):
            matches([self.owner, Owner("d")], range(seed, seed + 1))
            self.proofs.append(self.owner.own.proof())
        self.desk = Desk(store)
        for name in ("owner", "guest", "third"):
            self.desk.sit(getattr(self, name), name)
        assert self.desk.are_in_order()
        self.desk.sent.clear()

    def ask(self) -> None:
        """Let the guest show what they know of the owner's purse."""
        self.desk.take(self.guest.identity.public, self.proofs[0])

    def answer(self) -> bytes:
        """Let the owner show how the purse goes on from there."""
        first = self.owner.own.shown.first
        shown = write_links((0, self.owner.kept[0].id), self.owner.kept[1:first], self.owner.own.proof())
        self.desk.take(self.owner.identity.public, shown)
        return shown

    @property
    def asked(self) -> int:
        """How often the owner was shown what the guest knows."""
        return self.desk.sent.count((self.owner.identity.public, ShowPurse(self.proofs[0])))


@pytest.fixture
def evening(tmp_path: Path) -> Iterator[Evening]:
    with closing(Store(Home(tmp_path / "home").store)) as store:
        yield Evening(store)


def test_only_the_owner_answers_who_asks_how_a_purse_goes_on(evening: Evening) -> None:
    """Somebody else could show an old proof, and the match would be proposed before the guest has seen the rest."""
    evening.ask()
    assert evening.asked == 1
    assert not evening.desk.are_in_order()
    evening.desk.take(evening.third.identity.public, evening.proofs[1])
    assert not evening.desk.are_in_order()
    assert not [frame for receiver, frame in evening.desk.sent if receiver == evening.guest.identity.public]
    shown = evening.answer()
    assert (evening.guest.identity.public, ShowPurse(shown)) in evening.desk.sent
    assert evening.desk.are_in_order()


def test_a_guest_who_comes_back_may_ask_again(evening: Evening) -> None:
    """They may have been shown nothing: the link can have gone down before the answer came."""
    evening.ask()
    answer = evening.answer()
    evening.ask()
    assert evening.asked == 1  # once for each guest: answers use up what the owner may show
    evening.desk.leave(evening.guest)
    evening.desk.sit(evening.guest, "guest")
    evening.desk.sent.clear()
    evening.ask()
    assert evening.asked == 0  # the host has the answer
    assert evening.desk.sent == [(evening.guest.identity.public, ShowPurse(answer))]
    assert evening.desk.are_in_order()


def test_one_guest_who_shows_purses_without_end_does_not_keep_those_of_others_from_being_looked_at(
    evening: Evening,
) -> None:
    """What all guests show is paced by bytes. One who shows small proofs would have all of that."""
    flooder, other = evening.guest.identity.public, evening.third.identity.public
    looked_at = [evening.desk.take(flooder, evening.proofs[0]) is not None for _ in range(2 * PURSE_BURST)]
    assert looked_at == [True] * (PURSE_BURST - 1) + [False] * (PURSE_BURST + 1)  # one was their own
    assert evening.desk.take(other, evening.proofs[0]) is not None
    evening.desk.now += 1 / PURSE_RATE
    assert [evening.desk.take(flooder, evening.proofs[0]) is not None for _ in range(2)] == [True, False]
