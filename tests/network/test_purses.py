"""Purses between complete nodes: kept from match to match, shown at tables, handed back, and refused."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Callable, Sequence

import pytest

from p2pdice.rulesets import Ruleset
from protocol import limits
from protocol.consensus.ends import Shown
from protocol.consensus.verifier import verify
from protocol.crypto.keys import MatchKey, fingerprint
from protocol.errors import NodeError
from protocol.events import MatchResult, MatchStarted, Notice, Stopped, TableClosed
from protocol.match.lobby import GuestTable, TableSettings
from protocol.node import table_ledgers
from protocol.node.purse import FOLDED, PurseKeeper, PurseVerdict, _read
from protocol.wire.frames import Frame, JoinTable, Leave, Propose, ShowLedger
from protocol.wire.genesis import Join, JoinRecord, make_join_record
from protocol.wire.purses import Purse, Record
from tests.disks import disk_is_full
from tests.network import views
from tests.network.company import CLASSIC, WAITING, Company, Player, in_mid_match
from tests.waiting import until

STAKES: Ruleset = CLASSIC.with_options({"dice": "1", "stakes": "yes"})


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits for purses."""
    monkeypatch.setattr(table_ledgers, "PATIENCE", 0.5)


keeper = views.purses


def purse(player: Player) -> Purse:
    return keeper(player).own.purse


async def finish(players: Sequence[Player]) -> MatchResult:
    """Wait until the match is over and all purses are settled; return the result."""
    ends = [await player.until(MatchResult) for player in players]
    for player in players:
        await until(lambda each=player: not keeper(each).own.busy)  # type: ignore[misc]
    return ends[0]


async def evening(people: Company, names: str) -> list[Player]:
    """Play one match for stakes, then close all nodes."""
    players, _ = await people.table(len(names), names, WAITING, STAKES)
    await finish(players)
    for player in players:
        await player.leave()
    return players


async def open_table(people: Company, seats: int, *guests: str) -> tuple[str, Player, list[Player]]:
    """Let A open a table with stakes, and guests join it; return the join line, the host and the guests."""
    players, opened = await people.table(seats, ["A", *guests], WAITING, STAKES)
    return opened.join_line, players[0], players[1:]


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
    """Remove everything in a home except the key."""
    for each in (people.folder / name).iterdir():
        if each.name != "identity.key":
            shutil.rmtree(each) if each.is_dir() else each.unlink()


@pytest.mark.parametrize("names", ["AB", "BA", "CAB", "CBA"])
async def test_a_lost_purse_is_restored_by_the_host_or_a_guest(people: Company, names: str) -> None:
    """B has lost its store, and A has B's records. A is the host, B's guest, or a guest beside B."""
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


async def test_an_owner_who_declines_missing_records_is_refused(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    await evening(people, "AB")
    lose_store(people, "B")
    monkeypatch.setattr(PurseKeeper, "take_own", lambda *_: False)
    line, host, _ = await open_table(people, 2)
    guest = await people.sit("B")
    with pytest.raises(NodeError, match="is missing from it that is known here"):
        await guest.node.join(line)
    told = await host.until(Notice, is_refusal)
    assert told.text.startswith(f"B ({fingerprint(purse(guest).owner)}) cannot play here: ")
    assert "purse forget" not in told.text
    assert len(views.hosting(host).table.records) == 1


async def test_a_host_is_told_how_to_accept_a_purse_whose_known_records_are_folded(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, host, _ = await open_table(people, 2)
    monkeypatch.setattr(keeper(host), "judge", lambda _: PurseVerdict(FOLDED))
    guest = await people.sit("B")
    with pytest.raises(NodeError, match=FOLDED):
        await guest.node.join(line)
    told = await host.until(Notice, is_refusal)
    assert f"p2pdice purse forget {fingerprint(purse(guest).owner)} " in told.text


async def test_notices_of_refused_purses_are_rate_limited(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REFUSED_BURST", 1)
    line, host, _ = await open_table(people, 2)
    monkeypatch.setattr(keeper(host), "judge", lambda _: PurseVerdict(FOLDED))
    for name in "BC":
        guest = await people.sit(name)
        with pytest.raises(NodeError, match=FOLDED):
            await guest.node.join(line)
    await host.until(Notice, is_refusal)
    assert [each.text[0] for each in filter(is_refusal, host.told(Notice))] == ["B"]


async def test_a_guest_leaves_a_host_whose_purse_it_refuses(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    await evening(people, "AB")
    lose_store(people, "A")
    monkeypatch.setattr(PurseKeeper, "take_own", lambda *_: False)
    players, _ = await people.table(2, "AB", WAITING, STAKES)
    closed = await players[1].until(TableClosed)
    assert closed.reason.startswith("A cannot play here: ")
    assert not players[0].told(MatchStarted)


async def test_a_player_who_played_from_an_old_backup_begins_a_new_era(people: Company) -> None:
    await evening(people, "AB")
    back_up(people, "B")
    await evening(people, "AB")
    put_back(people, "B")
    await evening(people, "CB")  # C does not have the newer records
    players, _ = await people.table(2, "AB", WAITING, STAKES)
    await finish(players)
    assert (purse(players[1]).era, purse(players[1]).end.height) == (1, 1)
    assert any("contradicts itself" in notice.text for notice in players[1].told(Notice))


async def test_an_owner_with_a_busy_purse_is_told_so_and_gets_no_seat(people: Company) -> None:
    host = await people.sit("A")
    keeper(host)._keep(keeper(host).own._replace(busy=bytes(32), stake=(10, 0)))
    with pytest.raises(NodeError, match="your purse is busy with"):
        await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    other = await people.sit("B")
    opened = await other.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    await host.node.join(opened.join_line)
    closed = await host.until(TableClosed)
    assert "your purse is busy with" in closed.reason
    await until(lambda: len(views.hosting(other).table.records) == 1)
    assert not other.told(MatchStarted)
    keeper(host).forfeit()
    await host.node.join(opened.join_line)
    await finish([other, host])


async def test_a_purse_that_is_settled_while_its_owner_joins_is_shown_again(people: Company) -> None:
    line, other, _ = await open_table(people, 2)
    guest = await people.sit("B")
    keeper(guest)._keep(keeper(guest).own._replace(busy=bytes(32), stake=(10, 0)))
    joining = asyncio.create_task(guest.node.join(line))
    await until(lambda: views.joining(guest)._ledgers is not None)
    keeper(guest).forfeit()
    await joining
    await finish([other, guest])
    assert purse(guest).end.height == 2


async def test_a_host_ignores_old_records_and_refuses_unsigned_ones(people: Company) -> None:
    """B shows the host A older records that C has signed, and then records that C has not signed."""
    await evening(people, "BC")
    _, host, (liar, owner) = await open_table(people, 4, "B", "C")
    known = next(_read(liar.node._store.purses.met(owner.node.identity.public)))
    old = ShowLedger(*known._replace(stake=None).wire)  # type: ignore[arg-type]
    before = keeper(host).shown[owner.node.identity.public]
    views.ledgers(host).take(liar.node.identity.public, old)
    assert keeper(host).shown[owner.node.identity.public] is before
    assert not keeper(host).handed.get(owner.node.identity.public)
    assert not keeper(host).flaw(before.record)
    bent = old._replace(ledger=keeper(owner).own.purse.wire)
    views.ledgers(host).take(liar.node.identity.public, bent)
    closed = await liar.until(TableClosed)
    assert "as its owner has signed" in closed.reason
    host.node.start_match()
    await finish([host, owner])


def other_ledger(guest: Player, purse: Purse | None = None) -> ShowLedger:
    """Return a LEDGER of a guest with a new match key, and its own purse or the given one."""
    joining = views.joining(guest)
    assert joining._seat is not None
    key = MatchKey(secrets.token_bytes(32))
    purse = purse or keeper(guest).own.purse
    join = Join(
        joining._seat.id, guest.node.identity.public, key.public, guest.name, (), bytes(32), "redeemed", purse.head
    )
    record = make_join_record(join, guest.node.identity, key)
    return ShowLedger(*Shown(record, purse).wire)  # type: ignore[arg-type]


def at_proposals(guest: Player, act: Callable[[], None], *, signs: bool = True) -> None:
    """Run ``act`` whenever a match is proposed to a guest; then let the guest sign if ``signs``."""
    joining = views.joining(guest)
    consider = joining._consider

    def bent(seat: GuestTable, proposal: Propose) -> None:
        act()
        if signs:
            consider(seat, proposal)

    joining._consider = bent  # type: ignore[method-assign]


@pytest.mark.parametrize("is_proposed", [False, True])
async def test_a_purse_shown_without_a_join_delays_nobody(people: Company, is_proposed: bool) -> None:
    line, host, (liar,) = await open_table(people, 3, "B")
    frame = other_ledger(liar)

    def show() -> None:
        views.send(liar, host.node.identity.public, frame)

    ledgers = views.ledgers(host)
    if is_proposed:
        at_proposals(liar, show)
    else:
        show()
        await until(lambda: bool(ledgers._pending))
    await people.join(line, "C")
    await host.until(MatchStarted)
    assert len(host.told(MatchStarted)[0].players) == 3


async def test_a_guest_whose_purse_turns_bad_before_the_host_signs_loses_its_seat(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the host's own signature is missing then, so it need not wait."""
    monkeypatch.setattr(table_ledgers, "PATIENCE", 0.05)
    line, host, (liar,) = await open_table(people, 3, "B")
    flaw = PurseKeeper.flaw
    own = keeper(host)
    turned: list[bool] = []

    def bent(self: PurseKeeper, record: JoinRecord) -> str:
        is_bad = self is own and bool(turned) and record.join.identity == liar.node.identity.public
        return "turned bad" if is_bad else flaw(self, record)

    monkeypatch.setattr(PurseKeeper, "flaw", bent)
    at_proposals(liar, lambda: turned.append(True))
    (other,) = await people.join(line, "C")
    closed = await liar.until(TableClosed)
    assert closed.reason.endswith("turned bad")
    host.node.start_match()
    await host.until(MatchStarted)
    assert not other.told(TableClosed)


async def test_the_host_names_the_purse_that_delays_a_match_and_stops_waiting(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, host, (bad, _) = await open_table(people, 4, "B", "C")
    keeper(host).shown.pop(bad.node.identity.public)
    host.node.start_match()
    assert any(notice.text.endswith("in order: B") for notice in await told(host))
    await host.until(MatchStarted)
    assert bad.told(TableClosed)


async def told(player: Player) -> list[Notice]:
    await player.until(Notice)
    return player.told(Notice)


def hand_back(liar: Player, host: Player, owner: Player) -> None:
    """Hand a purse back to its owner by the host, with one record that the owner lacks."""
    views.send(liar, host.node.identity.public, other_ledger(owner, longer_by_one(purse(owner))))


def refuse_what_was_handed_back(monkeypatch: pytest.MonkeyPatch, host: Player) -> None:
    handed = keeper(host).handed
    monkeypatch.setattr(keeper(host), "judge", lambda shown: PurseVerdict("folded" if handed.get(shown.owner) else ""))


async def test_an_owner_whose_returned_records_are_refused_loses_the_seat(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, host, (owner, other) = await open_table(people, 4, "B", "C")
    handed = keeper(host).handed
    monkeypatch.setattr(table_ledgers, "PATIENCE", 60)
    monkeypatch.setattr(keeper(host), "judge", lambda shown: PurseVerdict("folded" if handed.get(shown.owner) else ""))
    hand_back(other, host, owner)
    assert "folded" in (await owner.until(TableClosed)).reason
    host.node.start_match()
    await host.until(MatchStarted)
    assert not other.told(TableClosed)


async def test_an_owner_whose_purse_is_refused_in_two_proposals_is_barred(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, host, (liar,) = await open_table(people, 3, "D")
    owner = await people.sit("B")
    refuse_what_was_handed_back(monkeypatch, host)

    at_proposals(liar, lambda: hand_back(liar, host, owner), signs=False)
    for count in (1, 2):
        await owner.node.join(line)
        await until(lambda count=count: len(owner.told(TableClosed)) == count)  # type: ignore[misc]
    with pytest.raises(NodeError, match="you kept it from forming"):
        await owner.node.join(line)


@pytest.mark.parametrize("patience", [60, 0.05])
async def test_delaying_a_match_by_a_purse_counts_as_a_failure(
    people: Company, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """At each proposal, D shows the host a longer purse of the newest guest. Each of these guests has a new key."""
    monkeypatch.setattr(table_ledgers, "PATIENCE", patience)
    line, host, (liar, honest) = await open_table(people, 4, "D", "C")
    owners: list[Player] = []

    def hand() -> None:
        if owners[-1].node.identity.public in views.hosting(host).seated:
            owner = owners[-1]
            hand_back(liar, host, owner)

    at_proposals(liar, hand)
    for number in range(limits.FAILURES):
        assert not host.told(MatchStarted)
        owners.append(await people.sit(f"B{number}"))
        views.hear_only(owners[-1], lambda _, frame: not isinstance(frame, ShowLedger))
        await owners[-1].node.join(line)
        if patience > 1:
            await until(lambda: bool(views.ledgers(host).flawed()))
            await owners[-1].node.close()
        else:
            await owners[-1].until(TableClosed)
    await host.until(MatchStarted)
    assert not honest.told(TableClosed)


def longer_by_one(purse: Purse) -> Purse:
    return purse.with_record(Record(secrets.token_bytes(16), 0, 0, 0, 0, 0))


@pytest.mark.parametrize("names", ["D", "DE"])
async def test_liars_who_hand_back_purses_delay_at_most_two_proposals(people: Company, names: str) -> None:
    """At each proposal, D (or D and E in turn) shows the host a longer purse of B, and B joins again with it."""
    host = await people.sit("A")
    to = host.node.identity.public
    opened = await host.node.host(TableSettings("Friday", STAKES, 3 + len(names), WAITING))
    owner, *liars = await people.join(opened.join_line, "B", *names)
    views.ledgers(owner).take = lambda *_: None  # type: ignore[method-assign]
    longer = [purse(owner)]
    loop = asyncio.get_running_loop()

    def sit_again() -> None:
        if views.joining(owner)._seat is not None:
            frame = other_ledger(owner, longer[-1])
            views.send(owner, to, frame, JoinTable(frame.record))

    def hand() -> None:
        longer.append(longer_by_one(longer[-1]))
        views.send(liars[len(longer) % len(liars)], to, other_ledger(owner, longer[-1]))
        loop.call_later(0.2, sit_again)

    at_proposals(owner, hand, signs=False)
    (honest,) = await people.join(opened.join_line, "C")
    await (liars[0] if len(liars) == 1 else owner).until(TableClosed)
    assert len(longer) == 3
    await owner.leave()
    host.node.start_match()
    await host.until(MatchStarted)
    assert not honest.told(TableClosed)


async def test_a_guest_may_hand_back_the_hosts_purse_only_once(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, host, (liar,) = await open_table(people, 3, "D")
    monkeypatch.setattr(keeper(host), "take_own", lambda _: True)
    handed: list[ShowLedger] = []

    def hand() -> None:
        own = views.hosting(host).table.records[0]
        handed.append(ShowLedger(*keeper(host).show(own).wire))  # type: ignore[arg-type]
        views.send(liar, host.node.identity.public, handed[-1])

    at_proposals(liar, hand, signs=False)
    (honest,) = await people.join(line, "C")
    assert (await liar.until(TableClosed)).code == "closed"
    assert len(handed) == 2
    host.node.start_match()
    await host.until(MatchStarted)
    assert not honest.told(TableClosed)


async def test_a_guest_stays_when_the_host_refuses_a_purse_too(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    await evening(people, "BC")
    lose_store(people, "B")
    line, _, (guest,) = await open_table(people, 4, "C")
    owner = await people.sit("B")
    monkeypatch.setattr(keeper(owner), "take_own", lambda *_: False)
    await owner.node.join(line)
    await owner.until(TableClosed)
    ledgers = views.ledgers(guest)
    await until(lambda: not ledgers._patience)
    assert not guest.told(TableClosed)


async def test_a_guest_who_refuses_a_purse_stays_when_its_owner_leaves(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the owner has left, the host's LEDGER arrives before its next PROPOSE: the old proposal still stands."""
    await evening(people, "BC")
    lose_store(people, "C")
    line, host, (guest,) = await open_table(people, 4, "B")
    proposed: list[bool] = []
    at_proposals(guest, lambda: proposed.append(True))
    owner = await people.sit("C")
    monkeypatch.setattr(keeper(owner), "take_own", lambda *_: False)
    await owner.node.join(line)
    host.node.start_match()
    await until(lambda: bool(proposed))
    await owner.leave()
    await finish([host, guest])
    assert not guest.told(TableClosed)


async def test_a_guest_keeps_purses_of_players_only(people: Company) -> None:
    _, host, (guest, other) = await open_table(people, 4, "B", "C")
    shown = keeper(guest).shown
    await until(lambda: len(shown) == 2)
    ghost = await people.sit("G")
    views.joining(ghost)._seat = views.joining(guest)._seat
    ledgers = views.ledgers(guest)
    ledgers.take(host.node.identity.public, other_ledger(ghost))
    views.joining(ghost)._seat = None
    assert {*shown} == {host.node.identity.public, other.node.identity.public}
    await other.leave()
    await until(lambda: len(shown) == 1)


async def test_records_lost_with_a_link_are_handed_back_over_the_next(people: Company) -> None:
    _, host, (owner, other) = await open_table(people, 4, "B", "C")
    views.hear_only(owner, lambda *_: False)
    longer = longer_by_one(purse(owner))
    views.ledgers(host).take(other.node.identity.public, other_ledger(owner, longer))
    await asyncio.sleep(0.1)
    del owner.node._active.peer_frame
    assert purse(owner).head != longer.head
    views.hosting(host).greet(owner.node.identity.public, None, "127.0.0.1")
    await until(lambda: purse(owner).head == longer.head)
    host.node.start_match()
    await finish([host, owner, other])


async def test_handing_back_a_purse_in_parts_costs_the_guest_not_the_owner_a_seat(people: Company) -> None:
    """Each part makes the owner join again during a proposal. Only the first time is free."""
    line, host, (liar,) = await open_table(people, 3, "C")
    owner = await people.sit("B")

    at_proposals(liar, lambda: hand_back(liar, host, owner), signs=False)
    await owner.node.join(line)
    assert (await liar.until(TableClosed)).reason.endswith("handed back in parts")
    await until(lambda: purse(owner).end.height == 2)
    host.node.start_match()
    await finish([host, owner])
    assert not owner.told(TableClosed)


async def test_only_seated_guests_can_hand_back_purses(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    _, host, (owner,) = await open_table(people, 3, "B")
    ledgers, taken = views.ledgers(host), list[Shown]()
    monkeypatch.setattr(keeper(host), "take_own", taken.append)
    own = ShowLedger(*keeper(host).show(views.hosting(host).table.records[0]).wire)  # type: ignore[arg-type]
    for frame in (own, other_ledger(owner, longer_by_one(purse(owner)))):
        ledgers.take(bytes(32), frame)
    assert not taken
    assert not ledgers.flawed()
    ledgers.take(owner.node.identity.public, own)
    assert taken


async def test_purses_shown_too_fast_are_queued(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LEDGER_BURST", 1)
    monkeypatch.setattr(limits, "LEDGER_RATE", 0.01)
    line, host, (guest,) = await open_table(people, 4, "B")
    ledgers = views.ledgers(host)
    shown = ShowLedger(*keeper(host).shown[guest.node.identity.public].wire)  # type: ignore[arg-type]
    flood = shown._replace(stake=(0,))
    for _ in range(100):
        ledgers.take(guest.node.identity.public, flood)
    assert len(ledgers._queues[guest.node.identity.public]) == 32
    await people.join(line, "C")  # C gets a seat as well
    assert len(views.hosting(host).table.records) == 3


@pytest.mark.parametrize(("burst", "rate", "order"), [(4, 1e-9, "XXX"), (1, 5.0, "XYXYXY")])
async def test_purses_of_all_peers_are_examined_in_turn_at_a_limited_rate(
    people: Company, monkeypatch: pytest.MonkeyPatch, burst: int, rate: float, order: str
) -> None:
    monkeypatch.setattr(limits, "TABLE_LEDGER_BURST", burst)
    monkeypatch.setattr(limits, "TABLE_LEDGER_RATE", rate)
    _, host, (guest,) = await open_table(people, 4, "B")  # the purse of B is examined as well
    ledgers, shown = views.ledgers(host), keeper(host).shown[guest.node.identity.public]
    examined: list[str] = []

    def read(record: tuple[str], *_: object) -> Shown:
        examined.append(record[0])
        return shown

    monkeypatch.setattr(table_ledgers, "read_shown", read)
    for sender in "XY":
        for place in range(3):
            ledgers.take(sender.encode() * 32, ShowLedger((sender,), (place,), (), ()))
    await until(lambda: len(examined) >= len(order))
    assert "".join(examined) == order


async def test_a_guest_who_shows_no_purse_gets_no_seat(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    line, *_ = await open_table(people, 2)
    guest = await people.sit("B")
    monkeypatch.setattr(table_ledgers.TableLedgers, "own", lambda *_: Leave("nothing"))
    monkeypatch.setattr(guest.node._runtime, "post", _without_leave(guest.node._runtime.post))
    with pytest.raises(NodeError, match="has to be shown"):
        await guest.node.join(line)


def _without_leave(post: Callable[[bytes, Frame], None]) -> Callable[[bytes, Frame], None]:
    return lambda identity, frame: None if isinstance(frame, Leave) else post(identity, frame)


@pytest.mark.parametrize("operation", ["bind", "keep"])
async def test_a_node_that_cannot_store_its_purse_stops(
    people: Company, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    """A node that cannot store its purse must neither sign COMMIT nor send a stake."""
    line, *_ = await open_table(people, 2)
    guest = await people.sit("B")

    monkeypatch.setattr(guest.node._store.purses, operation, disk_is_full)
    await guest.node.join(line)
    assert "full" in (await guest.until(Stopped)).reason


async def test_the_end_is_shown_although_the_purse_cannot_be_written(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, guest = (await people.table(2, "AB", WAITING, CLASSIC.with_options({"dice": "1", "stakes": "yes"})))[0]

    monkeypatch.setattr(guest.node._store.purses, "note_end", disk_is_full)
    assert "full" in (await guest.until(Stopped)).reason
    assert guest.told(MatchResult)


async def test_purses_are_ignored_once_the_match_has_begun(people: Company) -> None:
    host, guest = (await people.table(2, "AB", WAITING, STAKES))[0]
    await guest.until(MatchStarted)
    host.node._active.peer_frame(guest.node.identity.public, ShowLedger((), (), (), ()))
    await finish([host, guest])


async def test_a_table_without_stakes_needs_no_purses(people: Company) -> None:
    players, _ = await people.table(2, "AB", WAITING)
    end = await players[0].until(MatchResult)
    assert verify(end.transcript.read_bytes()).purses == ()
    assert players[1].node._store.purses.owners() == ()


async def test_a_purse_survives_a_kill_before_the_end(people: Company) -> None:
    host, guest = (await people.table(2, "AB", WAITING, STAKES))[0]
    await in_mid_match(guest, 1)
    assert keeper(guest).own.stake is not None
    match = views.match_of(guest).id.hex()
    await guest.kill()
    again = await people.sit("B")
    await again.node.resume(match)
    await finish([host, again])
    assert purse(host).end.balance + purse(again).end.balance >= 2000
