"""Purses between whole nodes: kept from match to match, shown at tables, handed back, and refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence

import pytest

from p2pdice import Ruleset
from protocol import limits
from protocol.consensus.verifier import verify
from protocol.errors import NodeError
from protocol.events import MatchResult, MatchStarted, Notice, Stopped, TableClosed
from protocol.match.lobby import TableSettings
from protocol.node import table_ledgers
from protocol.node.purse import PurseKeeper
from protocol.storage.store import StoreError
from protocol.wire.canonical import decode
from protocol.wire.frames import Carried, Frame, Have, Page, Propose, ShowPurse, Table
from protocol.wire.genesis import Join, parse_genesis
from protocol.wire.purses import EntryKind, Freeze, Purse, following
from tests.network.company import CLASSIC, WAITING, Company, Player, bend

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
    end = await finish(again)
    brought = verify(end.transcript.read_bytes())
    assert {name: each.funds for name, each in zip(brought.players, brought.purses, strict=True)} == balances
    assert all(each.height == 2 for each in brought.purses)
    assert {player.name: purse(player).height for player in again} == dict.fromkeys("ABC", 4)


async def test_the_host_proposes_at_once_when_the_owner_says_so_and_purses_are_in_order(people: Company) -> None:
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 4, WAITING))
    (guest,) = await people.join(opened.join_line, "B")
    host.node.start_match()
    await finish([host, guest])


@pytest.mark.parametrize("operation", ["remember", "_keep"])
async def test_a_node_that_cannot_write_what_a_match_does_to_purses_falls_silent_and_says_so(
    people: Company, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    """Whoever cannot write whom they play with must not bind themselves, and whoever cannot write a stake must not send
    it."""
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    guest = await people.sit("B")

    def fail(*_: object) -> None:
        raise StoreError("cannot write to the store: database or disk is full")

    assert purse(guest).balance == 1000  # it is there before the disk is full
    writing = keeper(guest).own if operation == "_keep" else guest.node._runtime.store.purses
    monkeypatch.setattr(writing, operation, fail)
    await guest.node.join(opened.join_line)
    stopped = await guest.until(Stopped)
    assert "disk is full" in stopped.reason
    assert not guest.told(MatchResult)


async def test_a_node_that_cannot_write_a_purse_at_a_timer_falls_silent(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error was only logged, as no message had come, and the node went on."""
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    guest = await people.sit("B")
    guest.hold()
    await guest.node.join(opened.join_line)
    await guest.until(YourTurn)
    playing = guest.node._active.playing
    assert playing is not None

    def fail(*_: object, **__: object) -> None:
        raise StoreError("cannot write to the store: database or disk is full")

    monkeypatch.setattr(playing._books, "follow", fail)
    playing._runtime.loop.call_soon(playing.feed, Ticked())
    stopped = await guest.until(Stopped)
    assert "disk is full" in stopped.reason


async def test_a_table_without_stakes_asks_for_no_purse(people: Company) -> None:
    players, _ = await people.table(2, "AB", WAITING, CLASSIC.with_options({"dice": "1"}))
    end = await players[0].until(MatchResult)
    assert verify(end.transcript.read_bytes()).purses == ()


@pytest.mark.parametrize("is_host", [False, True])
async def test_old_head_is_handed_back_by_whoever_knows_a_newer_one(people: Company, is_host: bool) -> None:
    """A guest, or the host, went back to a backup. What the others know is more."""
    await evening(people, "AB")
    back_up(people, "B", "kept")
    await evening(people, "AB")
    put_back(people, "B", "kept")
    names = "BA" if is_host else "AB"
    players, _ = await people.table(2, names, WAITING, STAKES)
    restored = players[names.index("B")]
    told = await restored.until(Notice, lambda notice: "newer entries" in notice.text)
    assert told
    await finish(players)
    assert [purse(player).height for player in players] == [6, 6]


async def lose_an_end(people: Company) -> None:
    """Let A and B play a match, and put back a backup of B's that was made while it ran: it tells of no end."""
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    owner = await people.sit("B")
    owner.hold()
    await owner.node.join(opened.join_line)
    await owner.until(YourTurn)  # for the stake
    owner.go_on()
    owner.hold()
    await owner.until_true(lambda: bool(purse(owner).frozen))
    backup.back_up(owner.node.home, people.folder / "backup")
    owner.go_on()
    await finish([host, owner])
    (lost,) = owner.node._store.matches()
    for player in (host, owner):
        await player.leave()
    shutil.rmtree(owner.node.home.path)
    assert backup.restore(owner.node.home, people.folder / "backup").has_store
    with archive.read_store(owner.node.home) as store:
        assert store.match(lost.match) is None


@pytest.mark.parametrize("names", ["AB", "BA", "CAB", "BCA"])
async def test_the_end_of_a_match_that_a_backup_lacks_is_handed_back(people: Company, names: str) -> None:
    """By the host, or by a guest to the host or through it."""
    await lose_an_end(people)
    players, _ = await people.table(len(names), names, WAITING, STAKES)
    await finish(players)
    assert purse(players[names.index("B")]).height == 4


@pytest.mark.parametrize("names", ["AB", "CAB"])
async def test_an_owner_who_does_not_take_an_end_holds_up_no_table(
    people: Company, monkeypatch: pytest.MonkeyPatch, names: str
) -> None:
    """Not even if somebody shows it again for each proposal."""
    await lose_an_end(people)
    host = await people.sit(names[0])
    opened = await host.node.host(TableSettings("Friday", STAKES, len(names), WAITING))
    monkeypatch.setattr(Guest, "_handed_back", property(lambda _: set(), lambda *_: None), raising=False)
    await people.join(opened.join_line, *names[1:-1])
    owner, settling = await people.sit("B"), Mock(return_value=False)
    monkeypatch.setattr(keeper(owner), "_settle", settling)
    await owner.node.join(opened.join_line)
    await owner.until(MatchStarted)
    settling.assert_called_once()
    for player in people.players[2:]:
        await player.until(MatchResult)
    assert len(purse(owner).frozen) == 2


async def test_a_forged_end_costs_the_seat(people: Company) -> None:
    await lose_an_end(people)
    host = await people.sit("C")
    opened = await host.node.host(TableSettings("Friday", STAKES, 4, WAITING))
    cheat, owner = await people.join(opened.join_line, "A", "B")
    await host.until_true(lambda: keeper(host)._met(purse(owner).key) is not None)
    ((match, *_),) = purse(owner).frozen
    (end,) = keeper(cheat)._kept.ends([match], purse(owner).key)
    good = Evidence(*cast("Any", decode(end.evidence)))
    forged = end._replace(evidence=good._replace(step=good.step + 1).encoded())
    cheat.node._runtime.post(host.node.identity.public, ShowPurse(forged.encoded()))
    closed = await cheat.until(TableClosed)
    assert "cannot be accepted" in closed.reason
    assert purse(owner).frozen


async def test_what_is_handed_back_begins_no_match_before_the_table_is_full(people: Company) -> None:
    await evening(people, "BC")
    back_up(people, "B", "kept")
    await evening(people, "BC")
    put_back(people, "B", "kept")
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 4, WAITING))
    b, c = await people.join(opened.join_line, "B", "C")
    await host.until_true(lambda: keeper(host)._met(purse(c).key) is not None)
    keeper_of_c = keeper(c)
    known = keeper_of_c._kept.met(purse(b).key)
    assert known is not None
    c.node._runtime.post(host.node.identity.public, ShowPurse(known.proof))
    await b.until(Notice, lambda notice: "newer entries" in notice.text)
    (d,) = await people.join(opened.join_line, "D")
    await finish([host, c, d])
    assert len(host.told(MatchStarted)[0].players) == 4


async def test_a_guest_who_knows_more_than_the_host_hands_it_back(people: Company) -> None:
    await evening(people, "BC")
    back_up(people, "B", "kept")
    await evening(people, "BC")
    put_back(people, "B", "kept")
    a, b, c = (await people.table(3, "ABC", WAITING, STAKES))[0]
    await b.until(Notice, lambda notice: "newer entries" in notice.text)
    await finish([a, c])
    await b.until(MatchResult)


async def test_whoever_declines_newer_entries_is_refused_and_both_sides_are_told(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    await evening(people, "AB")
    back_up(people, "B", "kept")
    await evening(people, "AB")
    put_back(people, "B", "kept")
    host = await people.sit("A", bounds=HASTY)
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    cheat = await people.sit("B")
    monkeypatch.setattr(Guest, "_take_purse", lambda *_: None)
    await cheat.node.join(opened.join_line)
    closed = await cheat.until(TableClosed)
    assert "newer entries" in closed.reason
    told = await host.until(Notice, lambda notice: "cannot play for stakes" in notice.text)
    assert "newer entries" in told.text
    await host.until(LobbyChanged, lambda event: bool(event.left))


async def test_fork_ends_the_purse_and_its_owner_begins_without_a_grant(people: Company) -> None:
    """Back to a backup, and then a match with others: both branches meet at A's table."""
    await evening(people, "AB")
    back_up(people, "B", "kept")
    await evening(people, "AB")
    put_back(people, "B", "kept")
    await evening(people, "CB")
    players, _ = await people.table(2, "AB", WAITING, STAKES)
    host, owner = players
    await owner.until(Notice, lambda notice: "has ended" in notice.text)
    await finish([host, owner])
    lines = owner.node._store.purses.lines(purse(owner).key, 3)
    assert [line.kind for line in lines] == [EntryKind.SETTLEMENT, EntryKind.FREEZE, EntryKind.OPENING]
    assert lines[-1].change == 0
    assert not any("cheat" in notice.text for notice in host.told(Notice))


async def test_a_fork_is_seen_after_many_matches_with_others(people: Company) -> None:
    """A's last word of the purse is on one branch, and the proof that is shown begins later on the other."""
    await two_branches(people)
    players, _ = await people.table(2, "AB", WAITING, STAKES)
    await players[1].until(Notice, lambda notice: "has ended" in notice.text)
    await finish(players)
    assert purse(players[1]).height == 2


@pytest.mark.parametrize("names", ["AB", "BA", "CAB", "BAC"])
async def test_old_acquaintances_are_shown_how_the_purse_goes_on(people: Company, names: str) -> None:
    """A last met B three matches ago. Whoever hosts, B shows what was between."""
    await met_long_ago(people, "AB")
    players, _ = await people.table(len(names), names, WAITING, STAKES)
    await finish(players)
    assert purse(players[names.index("B")]).height == 10
    known = keeper(players[names.index("A")])._met(purse(players[names.index("B")]).key)
    assert known is not None
    assert known.shown is not None
    assert known.shown.purse.height >= 9


async def test_an_owner_is_asked_once_however_many_guests_know_the_same(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen strangers with one old proof used up what the owner may be shown, and an honest guest was not seen."""
    await met_long_ago(people, "ABE")
    proceed, asked = PurseKeeper._continued, []

    def counted(keeps: PurseKeeper, height: int, head: bytes) -> tuple[bytes, ...]:
        asked.append(height)
        return proceed(keeps, height, head)

    monkeypatch.setattr(PurseKeeper, "_continued", counted)
    players, _ = await people.table(4, "CBAE", WAITING, STAKES)
    await finish(players)
    assert asked == [1]


async def test_several_proofs_that_close_a_long_gap_reach_the_guest_who_asked(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host knows the last of them already."""
    monkeypatch.setattr(purse_keeper, "PURSE_LINKS", 2)
    await evening(people, "AB")
    for _ in range(4):
        await evening(people, "CB")
    players, _ = await people.table(3, "CAB", WAITING, STAKES, bounds=HASTY)
    await finish(players)
    assert purse(players[2]).height == 12


@pytest.mark.parametrize("answer", ["nothing", "another chain"])
async def test_whoever_hides_a_branch_is_refused(people: Company, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    await two_branches(people)
    host = await people.sit("A", bounds=HASTY)
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    cheat = await people.sit("B")

    def take_own(self: PurseKeeper, shown: Shown, data: bytes) -> Taken:
        entry = self._kept.entry(shown.purse.key, shown.purse.height)
        assert entry is not None
        series = self._continued(shown.purse.height, entry.id) if answer == "another chain" else ()
        return Taken(shown.purse.key, shown, series)

    monkeypatch.setattr(PurseKeeper, "_take_own", take_own)
    await cheat.node.join(opened.join_line)
    closed = await cheat.until(TableClosed)
    expected = "goes on from what is known" if answer == "nothing" else "does not go on from what is known"
    assert expected in closed.reason
    assert not host.told(MatchStarted)


async def test_whoever_hides_a_branch_from_a_guest_is_refused(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host has not met the purse before, so only the guest can ask."""
    await two_branches(people)
    host = await people.sit("D", bounds=HASTY)
    opened = await host.node.host(TableSettings("Friday", STAKES, 3, WAITING))
    guest, cheat = await people.sit("A"), await people.sit("B")
    monkeypatch.setattr(PurseKeeper, "_take_own", lambda _, shown, __: Taken(shown.purse.key, shown))
    await guest.node.join(opened.join_line)
    await cheat.node.join(opened.join_line)
    closed = await cheat.until(TableClosed)
    assert "what others at the table know" in closed.reason
    assert not guest.told(TableClosed)


async def test_an_owner_who_left_without_an_answer_is_asked_again(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    await met_long_ago(people, "AB")
    host = await people.sit("D", bounds=HASTY)
    opened = await host.node.host(TableSettings("Friday", STAKES, 3, WAITING))
    guest, owner = await people.sit("A"), await people.sit("B")
    with monkeypatch.context() as patch:
        patch.setattr(PurseKeeper, "_take_own", lambda _, shown, __: Taken(shown.purse.key, shown))
        await guest.node.join(opened.join_line)
        await owner.node.join(opened.join_line)
        await owner.until(TableClosed)
        await owner.leave()
    owner = await people.sit("B")
    await owner.node.join(opened.join_line)
    await finish([host, guest, owner])


async def test_a_guest_who_asks_again_and_again_uses_up_nothing_of_the_owners(people: Company) -> None:
    """Else nothing that the owner shows would be looked at any more, and the seat would be lost."""
    await met_long_ago(people, "AB")
    host = await people.sit("D", bounds=HASTY)
    opened = await host.node.host(TableSettings("Friday", STAKES, 4, WAITING))
    guest = await people.sit("A")
    await guest.node.join(opened.join_line)
    owner = await people.sit("B")
    known = guest.node._store.purses.met(purse(owner).key)
    assert known is not None
    await owner.node.join(opened.join_line)
    for _ in range(PURSE_BURST):
        guest.node._runtime.post(host.node.identity.public, ShowPurse(known.proof))
    other = await people.sit("C")
    await other.node.join(opened.join_line)
    await finish([host, guest, owner, other])


async def test_a_purse_that_changes_while_its_owner_waits_at_a_table_is_shown_again(people: Company) -> None:
    """A match of before was settled late: the guest took its own purse for one that nobody had shown, and left."""
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 3, WAITING))
    (guest,) = await people.join(opened.join_line, "B")
    await host.until_true(lambda: not keeper(host).flaw(guest_join(host)))
    own, proof = keeper(guest).own, keeper(host).own.proof()
    host.node._runtime.post(guest.node.identity.public, ShowPurse(proof))
    await guest.until_true(lambda: keeper(guest).knows(proof))  # so nothing else makes the guest look at its purse
    assert own.freeze(following(own.purse, Freeze(b"elsewhere".ljust(32), 10, 0))) is not None
    host.node.start_match()
    await finish_but([host, guest], b"elsewhere".ljust(32))


def guest_join(host: Player) -> Join:
    """Return the join record of the one guest of a host."""
    assert host.node._active.hosting is not None
    return host.node._active.hosting.table.records[1].join


async def finish_but(players: Sequence[Player], frozen: bytes) -> None:
    """Wait until a match is over and settled for all; something may be frozen for another one."""
    for player in players:
        await player.until(MatchResult)
        assert {each.match for each in purse(player).frozen} <= {frozen}


async def test_nobody_is_bound_to_a_match_that_names_their_purse_as_it_was(people: Company) -> None:
    """They could not stake, and would be out of it."""
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    guest = await people.sit("B")
    guest.hold()
    await guest.node.join(opened.join_line)
    await guest.until_true(lambda: bool(guest.node._active.proposals.sessions))
    (proposal,) = guest.node._active.proposals.sessions
    assert proposal.match.may_commit()
    own = keeper(guest).own
    assert own.freeze(following(own.purse, Freeze(b"elsewhere".ljust(32), 10, 0))) is not None
    assert not proposal.match.may_commit()


async def test_a_guest_killed_amid_two_proposals_knows_the_purses_of_both_afterwards(people: Company) -> None:
    """Returning to the first, without Ada, it forgot her purse: she could have bet the same coins again."""
    host = await people.sit("Host")
    opened = await host.node.host(TableSettings("Friday", STAKES, 4, WAITING))
    honest = await people.join(opened.join_line, "Ada", "Ben")
    victim = await people.sit("Victim")
    it = victim.node.identity.public
    is_hiding = True
    proposed: list[Propose] = []

    def show_fewer_first(identity: bytes, frame: Frame) -> bool | Frame:
        if isinstance(frame, Table) and identity == it and not proposed:
            return frame._replace(players=tuple(each for each in frame.players if each[0] != "Ada"))
        if isinstance(frame, Propose) and identity == it and not proposed:
            proposed.append(frame)
            genesis = parse_genesis(frame.genesis)
            fewer = genesis._replace(roster=tuple(each for each in genesis.roster if each.join.nickname != "Ada"))
            return Propose(fewer.encoded())
        return not (is_hiding and identity == it and isinstance(frame, Carried | Page | Have))

    for player in (host, *honest):
        bend(player, show_fewer_first)
    await victim.node.join(opened.join_line)
    await victim.until_true(lambda: len(victim.node._active.proposals.sessions) == 1)
    assert host.node._active.hosting is not None
    host.node._runtime.post(it, host.node._active.hosting.table.frame())
    host.node._runtime.post(it, proposed[0])
    await victim.until_true(lambda: len(victim.node._active.proposals.sessions) == 2)
    home = await victim.kill()
    is_hiding = False
    victim = await people.sit("Victim", home=home)
    await victim.node.resume()
    await finish([host, *honest, victim])
    met = victim.node._store.purses.met(purse(honest[0]).key)
    assert met is not None
    assert met.is_kept


async def test_a_host_whose_purse_cannot_be_shown_any_more_is_told_and_keeps_the_guests(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error ended the guest's link, and the host was told nothing."""
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    guest = await people.sit("B")
    own = keeper(host).own
    assert own.freeze(following(own.purse, Freeze(b"elsewhere".ljust(32), 10, 0))) is not None

    def fail(_: PurseKeeper) -> None:
        raise PurseError("16 stakes are frozen in your purse")

    with monkeypatch.context() as patch:
        patch.setattr(keeper(host), "bring", lambda: fail(keeper(host)))
        await guest.node.join(opened.join_line)
        told = await host.until(Notice, lambda notice: "16 stakes" in notice.text)
    assert "you cannot play for stakes" in told.text
    assert host.node._active.hosting is not None
    assert host.node._active.hosting.seated == (guest.node.identity.public,)
    host.node.start_match()
    await finish_but([host, guest], b"elsewhere".ljust(32))


async def test_purses_are_not_looked_at_where_there_are_no_stakes(people: Company) -> None:
    """Any host could stop a node whose purse is damaged."""
    stranger = await people.sit("C")
    shown = keeper(stranger).own.proof()
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 3, WAITING))
    (guest,) = await people.join(opened.join_line, "B")
    for fork in (shown, b"nonsense"):
        host.node._runtime.post(guest.node.identity.public, ShowPurse(fork))
    await stranger.node.join(opened.join_line)
    await guest.until(MatchStarted)
    assert guest.node._store.purses.owners() == ()


async def test_a_guest_with_a_damaged_purse_is_told_what_helps(people: Company) -> None:
    """It said that the disk could not be written."""
    await evening(people, "AB")
    with closing(sqlite3.connect(people.folder / "B" / "store.sqlite3")) as database:
        database.execute("DELETE FROM purse_entries WHERE height = 1")
        database.commit()
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    guest = await people.sit("B")
    with pytest.raises(NodeError, match="the store is damaged") as refused:
        await guest.node.join(opened.join_line)
    assert refused.value.reason.endswith("p2pdice purse")
    assert not guest.told(Stopped)


async def test_what_is_shown_too_fast_is_looked_at_in_its_turn(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was dropped, and the guest then left, as purses had not been shown."""
    monkeypatch.setattr(guests, "PURSE_BURST", 1)
    monkeypatch.setattr(guests, "PURSE_RATE", 10.0)
    players, _ = await people.table(5, "ABCDE", WAITING, STAKES)
    await finish(players)


async def test_what_waits_at_a_guest_is_not_looked_at_any_more_once_the_match_has_begun(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host put nonsense behind many purses: the guest left in the first round, and lost its stake to the host."""
    monkeypatch.setattr(guests, "PURSE_BURST", 2)
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    guest = await people.sit("B")
    guest.hold()
    it = guest.node.identity.public
    strangers = [(await people.sit(name)).node for name in "CD"]
    post, shown = host.node._runtime.post, [keeper_of.purses.own.proof() for keeper_of in map(runtime_of, strangers)]

    def with_nonsense(to: bytes, frame: Frame) -> None:
        post(to, frame)
        if isinstance(frame, Propose):
            for proof in (*shown, b"nonsense"):
                post(to, ShowPurse(proof))

    monkeypatch.setattr(host.node._runtime, "post", with_nonsense)
    await guest.node.join(opened.join_line)
    await guest.until(YourTurn)
    seat = guest.node._active.joining
    await guest.until_true(lambda: not seat._unseen)
    assert not guest.told(TableClosed)
    guest.go_on()
    await finish([host, guest])
    assert guest.node.identity.public == it


def runtime_of(node: Node) -> Runtime:
    return node._runtime


async def test_what_guests_show_costs_a_host_no_more_however_many_keys_they_come_with(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guest can leave and come back with another key. Here the first has used up what the host looks at."""
    monkeypatch.setattr(limits, "TABLE_PURSE_BURST", 1)
    monkeypatch.setattr(limits, "TABLE_PURSE_RATE", 1)
    host = await people.sit("A", bounds=HASTY)
    opened = await host.node.host(TableSettings("Friday", STAKES, 4, WAITING))
    (first,) = await people.join(opened.join_line, "B")
    (second,) = await people.join(opened.join_line, "C")
    closed = await second.until(TableClosed)
    assert "was not shown" in closed.reason
    assert keeper(host)._met(purse(second).key) is None  # not looked at
    assert host.node._active.hosting is not None
    assert host.node._active.hosting.seated == (first.node.identity.public,)


async def test_a_guest_whose_purse_has_to_wait_for_those_of_others_keeps_the_seat(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two guests who showed large purses without end kept everybody else from the table."""
    monkeypatch.setattr(limits, "TABLE_PURSE_BURST", 1)
    monkeypatch.setattr(limits, "TABLE_PURSE_RATE", 120)
    players, _ = await people.table(3, "ABC", WAITING, STAKES, bounds=HASTY)
    await finish(players)


async def test_a_silent_owner_is_refused_and_not_the_guest_who_waits_for_an_answer(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The match was proposed when the guest asked. Its players are not counted as silent meanwhile."""
    await two_branches(people)
    host = await people.sit("D", bounds=HASTY)
    opened = await host.node.host(TableSettings("Friday", STAKES, 3, WAITING))
    monkeypatch.setattr(PurseKeeper, "_take_own", lambda _, shown, __: Taken(shown.purse.key, shown))
    guest, cheat = await people.join(opened.join_line, "A", "B")
    hosting = host.node._active.hosting
    assert hosting is not None
    await host.until_true(lambda: bool(hosting._purses._asking))
    hosting._look_again()
    closed = await cheat.until(TableClosed)
    assert "what others at the table know" in closed.reason
    assert hosting.seated == (guest.node.identity.public,)


async def test_a_guest_can_ask_again_once_the_purse_is_another(people: Company) -> None:
    """Else an owner could answer on one branch, and sit down with the other."""
    await evening(people, "AB")
    for _ in range(2):
        await evening(people, "CB")
    host = await people.sit("D")
    opened = await host.node.host(TableSettings("Friday", STAKES, 4, WAITING))
    guest, owner = await people.join(opened.join_line, "A", "B")
    asking, hosting = guest.node.identity.public, host.node._active.hosting
    met = keeper(guest)._kept.met(purse(owner).key)
    assert met is not None
    assert hosting is not None
    desk = hosting._purses
    await host.until_true(lambda: bool(hosting.table.records[2].join.purse))
    desk.take(asking, met.proof)
    assert desk._asking
    await host.until_true(lambda: not desk._asking)
    desk.take(asking, met.proof)
    assert not desk._asking
    keeper(owner).freeze(following(purse(owner), Freeze(bytes(32), 1, 0)))
    joining = owner.node._active.joining
    assert joining._seat is not None
    joining._sit_down(joining._seat)
    await host.until_true(lambda: hosting.table.records[2].join.purse == purse(owner))
    desk.take(asking, met.proof)
    assert desk._asking


async def test_entries_that_were_lost_with_a_backup_are_missed_by_old_acquaintances_only(people: Company) -> None:
    await evening(people, "BD")
    back_up(people, "B", "kept")
    for _ in range(4):
        await evening(people, "AB")
    put_back(people, "B", "kept")
    again, _ = await people.table(2, "AB", WAITING, STAKES)
    await finish(again)
    assert purse(again[1]).height == 12  # A has handed back the newest entries, and those before are lost
    for player in again:
        await player.leave()
    host = await people.sit("D", bounds=HASTY)
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    owner = await people.sit("B")
    await owner.node.join(opened.join_line)
    told = await owner.until(Notice, lambda notice: "lost with an old backup" in notice.text)
    assert "without coins" in told.text
    closed = await owner.until(TableClosed)
    assert "goes on from what is known" in closed.reason


async def test_anothers_purse_is_refused(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    host = await people.sit("A", bounds=HASTY)
    opened = await host.node.host(TableSettings("Friday", STAKES, 3, WAITING))
    rich = (await people.join(opened.join_line, "B"))[0]
    await host.until_true(lambda: keeper(host)._met(purse(rich).key) is not None)
    thief = await people.sit("C")
    stolen = purse(rich), keeper(rich).own.proof()
    monkeypatch.setattr(keeper(thief), "bring", lambda: stolen)
    await thief.node.join(opened.join_line)
    closed = await thief.until(TableClosed)
    assert "somebody else's" in closed.reason


async def test_a_purse_that_is_not_shown_is_refused(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    host = await people.sit("A", bounds=HASTY)
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    shy = await people.sit("B")
    monkeypatch.setattr(keeper(shy), "bring", lambda: (purse(shy), b"?"))
    await shy.node.join(opened.join_line)
    closed = await shy.until(TableClosed)
    assert "cannot be accepted" in closed.reason


async def test_a_second_grant_of_one_identity_is_refused(people: Company) -> None:
    """Somebody deletes the store, and with it the lost coins, but keeps the identity."""
    await evening(people, "AB")
    for file in (people.folder / "B").glob("store*"):
        file.unlink()
    host = await people.sit("A", bounds=HASTY)
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    again = await people.sit("B")
    await again.node.join(opened.join_line)
    closed = await again.until(TableClosed)
    assert "this key had a newcomer's coins in another purse" in closed.reason


async def test_a_guest_signs_no_match_with_a_purse_that_it_was_not_shown(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 3, WAITING))
    post = host.node._runtime.post
    monkeypatch.setattr(
        host.node._runtime, "post", lambda peer, frame: None if isinstance(frame, ShowPurse) else post(peer, frame)
    )
    guests = await people.join(opened.join_line, "B", "C")
    closed = await guests[0].until(TableClosed)
    assert "the purse was not shown" in closed.reason
    assert not guests[0].told(MatchStarted)


async def test_a_guest_signs_no_match_with_stakes_but_without_purses(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_on = Node._sign_on
    monkeypatch.setattr(Node, "_sign_on", lambda self, table, _has_purse=False: sign_on(self, table))
    monkeypatch.setattr(Guest, "_show_purse", lambda *_: None)
    monkeypatch.setattr(Host, "_show_purses", lambda _: True)
    host, guest = await people.sit("A"), await people.sit("B")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    try:
        await guest.node.join(opened.join_line)
    except NodeError as error:  # the proposal may come before the guest knows that it is admitted
        reason = error.reason
    else:
        reason = (await guest.until(TableClosed)).reason
    assert "nobody brings a purse" in reason
    assert not guest.told(MatchStarted)


async def test_one_stake_in_two_matches_at_once_is_not_opened(people: Company) -> None:
    """The purse froze something else meanwhile: the player resigns instead of contradicting themselves."""
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    guest = await people.sit("B")
    guest.hold()
    await guest.node.join(opened.join_line)
    await guest.until(MatchStarted)
    assert keeper(guest).freeze(following(purse(guest), Freeze(bytes(32), 10, 0))) is not None
    guest.go_on()
    end = await host.until(MatchResult)
    assert [end.players[seat].name for seat in end.places[0]] == ["A"]
    assert [each[:3] for each in purse(guest).frozen] == [(bytes(32), 10, 0)]
    assert verify(end.transcript.read_bytes()).verdict == "fair"


async def test_a_purse_survives_a_kill_before_the_end(people: Company) -> None:
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", STAKES, 2, WAITING))
    (guest,) = await people.join(opened.join_line, "B")
    await guest.until_true(lambda: bool(purse(guest).frozen) or bool(guest.told(MatchResult)))
    if not guest.told(MatchResult):
        home = await guest.kill()
        people.players.remove(guest)
        guest = await people.sit("B", home=home)
        await guest.node.resume()
    await finish([host, guest])
    assert [purse(player).height for player in (host, guest)] == [2, 2]
