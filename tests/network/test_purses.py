"""Purses between whole nodes: kept from match to match, shown at tables, handed back, and refused."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence

import pytest

from p2pdice import Ruleset
from protocol import limits
from protocol.consensus.verifier import verify
from protocol.crypto.keys import fingerprint
from protocol.errors import NodeError
from protocol.events import MatchResult, MatchStarted, Notice, Stopped, TableClosed
from protocol.match.lobby import TableSettings
from protocol.node import table_ledgers
from protocol.node.purse import FOLDED, PurseKeeper, Verdict, _read
from protocol.storage.store import StoreError
from protocol.wire.frames import Frame, Leave, ShowLedger
from protocol.wire.purses import Purse
from tests.network.company import CLASSIC, WAITING, Company, Player

STAKES: Ruleset = CLASSIC.with_options({"dice": "1", "stakes": "yes"})


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for a purse."""
    monkeypatch.setattr(table_ledgers, "PATIENCE", 0.5)


def keeper(player: Player) -> PurseKeeper:
    return player.node._runtime.purses


def purse(player: Player) -> Purse:
    return keeper(player).own.purse


async def finish(players: Sequence[Player]) -> MatchResult:
    """Wait until a match is over and settled for all."""
    ends = [await player.until(MatchResult) for player in players]
    for player in players:
        await player.until_true(lambda each=player: not keeper(each).own.busy)  # type: ignore[misc]
    return ends[0]


async def evening(people: Company, names: str) -> list[Player]:
    """Play one match for stakes; everybody leaves."""
    players, _ = await people.table(len(names), names, WAITING, STAKES)
    await finish(players)
    for player in players:
        await player.leave()
    return players


def is_refusal(notice: Notice) -> bool:
    return "cannot play here" in notice.text


def back_up(people: Company, name: str) -> None:
    shutil.copytree(people.folder / name, people.folder / f"{name}-kept")


def put_back(people: Company, name: str) -> None:
    shutil.rmtree(people.folder / name)
    shutil.copytree(people.folder / f"{name}-kept", people.folder / name)


async def test_coins_are_kept_and_bet_again(people: Company) -> None:
    first, _ = await people.table(3, "ABC", WAITING, STAKES)
    end = await finish(first)
    verdict = verify(end.transcript.read_bytes())
    after = [each.balance + (each.change or 0) for each in verdict.purses]
    balances = {player.name: purse(player).end.balance for player in first}
    assert dict(zip(verdict.players, after, strict=True)) == balances != dict.fromkeys("ABC", 1000)
    assert any("your purse has" in notice.text for notice in first[0].told(Notice))
    for player in first:
        await player.leave()
    again, _ = await people.table(3, "CAB", WAITING, STAKES)
    brought = verify((await finish(again)).transcript.read_bytes())
    assert {name: each.balance for name, each in zip(brought.players, brought.purses, strict=True)} == balances
    assert {player.name: purse(player).end.height for player in again} == dict.fromkeys("ABC", 2)


def lose_store(people: Company, name: str) -> None:
    """Remove all that is in a home but the key."""
    for each in (people.folder / name).iterdir():
        if each.name != "identity.key":
            shutil.rmtree(each) if each.is_dir() else each.unlink()


@pytest.mark.parametrize("names", ["AB", "BA", "CAB", "CBA"])
async def test_a_lost_store_comes_back_from_the_host_or_a_guest(people: Company, names: str) -> None:
    """B has lost the store. A knows better: as the host, as a guest of B's, and as a guest of somebody else's."""
    _, before = await evening(people, "AB")
    known = purse(before).head
    lose_store(people, "B")
    players, _ = await people.table(len(names), names, WAITING, STAKES)
    await finish(players)
    owner = next(player for player in players if player.name == "B")
    assert (purse(owner).era, purse(owner).end.height) == (0, 2)
    found = purse(owner).at(known.height)
    assert found is not None
    assert found.id == known.id
    assert any("Others knew more of your purse" in notice.text for notice in owner.told(Notice))


async def test_an_owner_who_declines_is_refused_and_both_sides_are_told(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    await evening(people, "AB")
    lose_store(people, "B")
    monkeypatch.setattr(PurseKeeper, "take_own", lambda *_: False)
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    guest = await people.sit("B")
    with pytest.raises(NodeError, match="is missing from it that is known here"):
        await guest.node.join(opened.join_line)
    told = await host.until(Notice, is_refusal)
    assert told.text.startswith(f"B ({fingerprint(purse(guest).owner)}) cannot play here: ")
    assert "purse forget" not in told.text
    assert len(host.node._active.hosting.table.records) == 1  # type: ignore[union-attr]


async def test_a_host_is_told_how_to_take_a_purse_with_all_that_it_knew_folded_away(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    monkeypatch.setattr(keeper(host), "judge", lambda _: Verdict(FOLDED))
    guest = await people.sit("B")
    with pytest.raises(NodeError, match=FOLDED):
        await guest.node.join(opened.join_line)
    told = await host.until(Notice, is_refusal)
    assert f"p2pdice purse forget {fingerprint(purse(guest).owner)} " in told.text


async def test_a_host_is_not_told_of_every_stranger_whose_purse_is_refused(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REFUSED_BURST", 1)
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    monkeypatch.setattr(keeper(host), "judge", lambda _: Verdict(FOLDED))
    for name in "BC":
        guest = await people.sit(name)
        with pytest.raises(NodeError, match=FOLDED):
            await guest.node.join(opened.join_line)
    await host.until(Notice, is_refusal)
    assert [each.text[0] for each in filter(is_refusal, host.told(Notice))] == ["B"]


async def test_a_guest_leaves_a_host_whose_purse_it_does_not_take(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    await evening(people, "AB")
    lose_store(people, "A")
    monkeypatch.setattr(PurseKeeper, "take_own", lambda *_: False)
    players, _ = await people.table(2, "AB", WAITING, STAKES)
    closed = await players[1].until(TableClosed)
    assert closed.reason.startswith("A cannot play here: ")
    assert not players[0].told(MatchStarted)


async def test_who_played_on_from_an_old_backup_begins_an_era_without_coins(people: Company) -> None:
    await evening(people, "AB")
    back_up(people, "B")
    await evening(people, "AB")
    put_back(people, "B")
    await evening(people, "CB")  # C has not met the newer records
    players, _ = await people.table(2, "AB", WAITING, STAKES)
    await finish(players)
    assert (purse(players[1]).era, purse(players[1]).end.height) == (1, 1)
    assert any("contradicts itself" in notice.text for notice in players[1].told(Notice))


async def test_a_busy_owner_is_told_and_sits_at_no_table(people: Company) -> None:
    host = await people.sit("A")
    keeper(host)._keep(keeper(host).own._replace(busy=bytes(32), stake=(10, 0)))
    with pytest.raises(NodeError, match="your purse is busy with"):
        await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    other = await people.sit("B")
    opened = await other.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    await host.node.join(opened.join_line)
    closed = await host.until(TableClosed)
    assert "your purse is busy with" in closed.reason
    await other.until_true(lambda: len(other.node._active.hosting.table.records) == 1)  # type: ignore[union-attr]
    assert not other.told(MatchStarted)
    keeper(host).forfeit()
    await host.node.join(opened.join_line)
    await finish([other, host])


async def test_a_purse_that_is_settled_while_its_owner_sits_is_shown_again(people: Company) -> None:
    other = await people.sit("A")
    opened = await other.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    guest = await people.sit("B")
    keeper(guest)._keep(keeper(guest).own._replace(busy=bytes(32), stake=(10, 0)))
    joining = asyncio.create_task(guest.node.join(opened.join_line))
    await guest.until_true(lambda: guest.node._active.joining._ledgers is not None)
    keeper(guest).forfeit()
    await joining
    await finish([other, guest])
    assert purse(guest).end.height == 2


async def test_the_words_of_a_guest_move_no_host(people: Company) -> None:
    """B shows what A's guest C has signed before, and what nobody has signed."""
    await evening(people, "BC")
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 4, WAITING))
    liar, owner = await people.join(opened.join_line, "B", "C")
    known = next(_read(liar.node._store.purses.met(owner.node.identity.public)))
    old = ShowLedger(*known._replace(stake=None).wire)  # type: ignore[arg-type]
    before = keeper(host).shown[owner.node.identity.public]
    host.node._active.hosting.ledgers.take(liar.node.identity.public, old)  # type: ignore[union-attr]
    assert keeper(host).shown[owner.node.identity.public] is before
    assert not keeper(host).handed.get(owner.node.identity.public)
    assert not keeper(host).flaw(before.record)
    bent = old._replace(ledger=keeper(owner).own.purse.wire)
    host.node._active.hosting.ledgers.take(liar.node.identity.public, bent)  # type: ignore[union-attr]
    closed = await liar.until(TableClosed)
    assert "as its owner has signed" in closed.reason
    host.node.start_match()
    await finish([host, owner])


async def test_what_is_shown_too_fast_waits_for_its_turn(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LEDGER_BURST", 1)
    monkeypatch.setattr(limits, "LEDGER_RATE", 0.01)
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 4, WAITING))
    (guest,) = await people.join(opened.join_line, "B")
    ledgers = host.node._active.hosting.ledgers  # type: ignore[union-attr]
    shown = ShowLedger(*keeper(host).shown[guest.node.identity.public].wire)  # type: ignore[arg-type]
    flood = shown._replace(stake=(0,))
    for _ in range(100):
        ledgers.take(guest.node.identity.public, flood)
    assert len(ledgers._queues[guest.node.identity.public]) == 32
    await people.join(opened.join_line, "C")  # who has a turn of their own
    assert len(host.node._active.hosting.table.records) == 3  # type: ignore[union-attr]


async def test_a_purse_that_is_not_shown_gets_no_seat(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    guest = await people.sit("B")
    monkeypatch.setattr(table_ledgers.TableLedgers, "own", lambda *_: Leave("nothing"))
    monkeypatch.setattr(guest.node._runtime, "post", _without_leave(guest.node._runtime.post))
    with pytest.raises(NodeError, match="has to be shown"):
        await guest.node.join(opened.join_line)


def _without_leave(post: Callable[[bytes, Frame], None]) -> Callable[[bytes, Frame], None]:
    return lambda identity, frame: None if isinstance(frame, Leave) else post(identity, frame)


@pytest.mark.parametrize("operation", ["bind", "keep"])
async def test_a_node_that_cannot_write_what_a_match_does_to_purses_falls_silent(
    people: Company, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    """Without that it must not bind itself, and not send a stake."""
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    guest = await people.sit("B")

    def fail(*_: object) -> None:
        raise StoreError("cannot write to the store: database or disk is full")

    monkeypatch.setattr(guest.node._store.purses, operation, fail)
    await guest.node.join(opened.join_line)
    assert "full" in (await guest.until(Stopped)).reason


async def test_no_purse_is_looked_at_once_the_match_has_begun(people: Company) -> None:
    host, guest = (await people.table(2, "AB", WAITING, STAKES))[0]
    await guest.until(MatchStarted)
    host.node._active.peer_frame(guest.node.identity.public, ShowLedger((), (), (), ()))
    await finish([host, guest])


async def test_a_table_without_stakes_asks_for_no_purse(people: Company) -> None:
    players, _ = await people.table(2, "AB", WAITING)
    end = await players[0].until(MatchResult)
    assert verify(end.transcript.read_bytes()).purses == ()
    assert players[1].node._store.purses.owners() == ()


async def test_a_purse_survives_a_kill_before_the_end(people: Company) -> None:
    host, guest = (await people.table(2, "AB", WAITING, STAKES))[0]
    await guest.until_true(lambda: keeper(guest).own.stake is not None)
    match = guest.node.match.id.hex()  # type: ignore[union-attr]
    await guest.kill()
    again = await people.sit("B")
    await again.node.resume(match)
    await finish([host, again])
    assert purse(host).end.balance + purse(again).end.balance >= 2000
