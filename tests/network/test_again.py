"""The same players play several matches in a row. Their nodes stay open between the matches."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from cli.table.play import rejoin
from p2pdice.rulesets import PRESETS
from protocol.consensus.transcript import open_transcript
from protocol.consensus.verifier import verify
from protocol.errors import NodeError
from protocol.events import (
    AwaitingHost,
    LobbyChanged,
    MatchResult,
    MatchStarted,
    NodeEvent,
    Notice,
    Said,
    SeatAsked,
    SeatPending,
    SeatWanted,
    TableClosed,
    TableJoined,
    TableOpened,
    TableWatched,
)
from protocol.limits import Limits
from protocol.match.effects import CalledOff, Show, WriteTranscript
from protocol.match.lobby import TableSettings
from protocol.match.waiting import Party
from protocol.node.activities import Doing
from protocol.node.host import MOST_TOLD_OF
from protocol.storage.archive import roster_index
from protocol.wire.frames import Carried, Customs, JoinTable, Page, Propose, Refuse, Seat, ShowLedger, Table, TableAim
from protocol.wire.genesis import parse_genesis
from tests.network import views
from tests.network.company import HOST, Company, Player, hurry, in_mid_match
from tests.owners import Quitter
from tests.programs import PATIENCE
from tests.protocol.test_node import multicast
from tests.waiting import until


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


def friday(seats: int, rules: str = "classic", dice: str = "2", *, private: bool = False) -> TableSettings:
    """Return settings for a table with short matches."""
    ruleset = PRESETS[rules] if rules == "motes" else PRESETS[rules].with_options({"dice": dice})
    return TableSettings("Friday", ruleset, seats, private=private)


class Evening:
    """Players over several matches. ``began``: how many events each had emitted when the current match began."""

    def __init__(self, people: Company) -> None:
        self.people = people
        self.began: dict[Player, int] = {}
        self.ids: list[str] = []
        self.keys: set[bytes] = set()
        """The match keys of all players in all matches so far."""

    async def open(self, host: Player, settings: TableSettings) -> TableOpened:
        self.began[host] = len(host.events)
        return await host.node.host(settings)

    async def rejoin(self, *guests: Player) -> None:
        for guest in guests:
            self.began[guest] = len(guest.events)
            async with asyncio.timeout(PATIENCE):
                await guest.node.rejoin()

    async def sit(self, name: str, line: str) -> Player:
        player = await self.people.sit(name)
        await player.node.join(line)
        return player

    async def begin(
        self, settings: TableSettings, guests: Iterable[str] = (), *, is_watched: bool = False, **options: Any
    ) -> tuple[TableOpened, list[Player]]:
        """Open a table and fill it, so that the first match begins.

        :param guests: the guests' names, if the test needs particular names.
        :param is_watched: whether a spectator arrives before the guests.
        :param options: options of the host's node.
        :returns: the table, and the host, the guests and the spectator.
        """
        host = await self.people.sit("A", **options)
        opened = await self.open(host, settings)
        watching = [await self.people.sit("V")] if is_watched else []
        for player in watching:
            await player.node.watch(opened.join_line)
        seated = [await self.sit(name, opened.join_line) for name in guests or "BCDEF"[: settings.seats - 1]]
        return opened, [host, *seated, *watching]

    async def told(self, player: Player, kind: type[NodeEvent]) -> NodeEvent:
        return await player.until(kind, after=self.began.get(player, 0))

    async def end(self, *players: Player) -> None:
        """Wait for the match's end; check that all have the same fair transcript, and that its id and keys are new."""
        ends = [await self.told(player, MatchResult) for player in players]
        overs = [end for end in ends if isinstance(end, MatchResult)]
        assert len({end.match_id for end in overs}) == 1
        assert overs[0].match_id not in self.ids
        self.ids.append(overs[0].match_id)
        (transcript,) = {end.transcript.read_bytes() for end in overs}
        assert verify(transcript).verdict == "fair"
        roster = parse_genesis(open_transcript(transcript).genesis).roster
        keys = {record.join.match_key for record in roster}
        assert len(keys) == len(roster)
        assert keys.isdisjoint(self.keys)
        self.keys |= keys
        assert all(end.confirmed for end in overs)
        for player in players:
            self.began[player] = len(player.events)


@pytest.fixture
def evening(people: Company) -> Evening:
    return Evening(people)


# Playing again


async def test_the_host_is_told_once_which_guests_want_to_play_again(evening: Evening) -> None:
    _, (host, ben, cora) = await evening.begin(friday(3))
    await evening.end(host, ben, cora)
    waiting = [asyncio.create_task(evening.rejoin(guest)) for guest in (ben, cora)]
    for guest in (ben, cora):
        await guest.until(AwaitingHost, lambda event: event.host_is == "there")
    await until(lambda: len(host.told(SeatWanted)) == 2)
    await evening.open(host, friday(3))
    await asyncio.gather(*waiting)
    await evening.end(host, ben, cora)
    fingerprints = {guest.node.identity.fingerprint for guest in (ben, cora)}
    assert sorted(event.player.fingerprint for event in host.told(SeatWanted)) == sorted(fingerprints)
    assert ben.told(SeatWanted) == cora.told(SeatWanted) == []


async def test_the_host_is_told_that_a_spectator_wants_a_seat(evening: Evening) -> None:
    _, (host, ben, eve) = await evening.begin(friday(2), is_watched=True)
    await evening.end(host, ben, eve)
    waiting = asyncio.create_task(evening.rejoin(eve))
    asked = await host.until(SeatWanted)
    assert (asked.player.name, asked.player.fingerprint) == ("a spectator", eve.node.identity.fingerprint)
    assert asked.watched
    await evening.open(host, friday(2))
    await until(lambda: len(host.told(SeatWanted)) == 2)  # the only free seat is kept for ben
    waiting.cancel()


async def test_the_host_is_told_of_a_few_spectators_only(evening: Evening) -> None:
    """A stranger can watch and ask for a seat with any number of keys."""
    _, (host, ben) = await evening.begin(friday(2))
    await evening.end(host, ben)
    active = host.node._active
    for key in range(40):
        identity = bytes([key]) * 32
        active.audience.admit(identity, HOST)
        active.audience.dismiss(identity)
        views.hosting(host).welcome(identity, TableAim(views.hosting(host).table.id, ""))
    await until(lambda: len(host.told(SeatWanted)) >= MOST_TOLD_OF)
    await asyncio.sleep(0.1)
    assert len(host.told(SeatWanted)) == MOST_TOLD_OF


async def test_late_messages_of_the_last_match_end_no_request_for_a_seat_at_the_next_table(evening: Evening) -> None:
    _, (host, ben, cleo) = await evening.begin(friday(2), is_watched=True)
    await evening.end(host, ben, cleo)
    receipt = next(iter(views.match_of(ben).history.results.values()))
    await evening.open(host, replace(friday(4), asks="always"))
    returning = asyncio.create_task(evening.rejoin(cleo))
    await host.until(SeatAsked)
    ben.node._runtime.post(host.node.identity.public, Carried(*receipt.wire))
    await asyncio.sleep(0.3)
    assert host.told(Notice) == []
    (asked,) = host.node.asked
    host.node.seat(asked.player)
    await returning
    assert len(host.told(SeatAsked)) == len(cleo.told(SeatPending)) == 1


async def test_the_host_is_not_told_of_strangers_who_want_a_seat(evening: Evening) -> None:
    opened, (host, ben) = await evening.begin(friday(2))
    await evening.end(host, ben)
    with pytest.raises(NodeError):
        await evening.sit("C", opened.join_line)
    assert host.told(SeatWanted) == []


async def test_three_matches_in_a_row_with_changed_seats_players_and_rules(evening: Evening) -> None:
    opened, (host, b, c) = await evening.begin(friday(3))
    port, table = host.node.port, host.node.table_id
    await evening.end(host, b, c)

    again = await evening.open(host, friday(3))
    assert (again.join_line, host.node.port, host.node.table_id) == (opened.join_line, port, table)
    assert host.node._mesh._wanted == {}  # the node dials no players of the finished match
    await evening.rejoin(c, b)
    await evening.end(host, b, c)

    await evening.open(host, friday(4, "perudo", "1"))
    newcomer = await evening.sit("D", opened.join_line)
    await evening.rejoin(b, c)
    started = await evening.told(c, MatchStarted)
    assert isinstance(started, MatchStarted)
    assert (started.ruleset.palifico, started.ruleset.dice, len(started.players)) == (True, 1, 4)
    await evening.end(host, b, c, newcomer)
    for player in (host, b, c, newcomer):
        assert len(player.node._mesh._wanted) == 3
        assert len(player.node._mesh.linked()) == 3
        assert player.told(TableClosed) == []
    genesis = [player.node.match for player in (host, newcomer)]
    assert all(match is not None and match.history.genesis.table == table for match in genesis)
    for player, matches in ((host, 3), (c, 3), (newcomer, 1)):
        kept = sorted(player.node._store.matches(), key=lambda each: each.name)
        days = [date.fromtimestamp(each.created) for each in kept]
        endings = ["friday", "friday-2", "friday-3"][:matches]
        assert [each.name for each in kept] == [f"{day}-{end}" for day, end in zip(days, endings, strict=True)]


async def test_a_private_table_keeps_its_token(evening: Evening) -> None:
    opened, (host, guest) = await evening.begin(friday(2, private=True))
    await evening.end(host, guest)
    assert (await evening.open(host, friday(3, private=True))).join_line == opened.join_line
    await evening.rejoin(guest)
    newcomer = await evening.sit("C", opened.join_line)
    await evening.end(host, guest, newcomer)
    public = await evening.open(host, friday(2))
    assert public.join_line.count("/") == 1
    await evening.rejoin(guest)
    await evening.end(host, guest)


async def test_a_table_its_match_and_its_next_table_are_advertised_in_turn(evening: Evening) -> None:
    _, (host, guest) = await evening.begin(friday(2))

    def told(player: Player) -> tuple[str, str] | None:
        advertised = player.node._locator._advertised
        return None if advertised is None else (advertised[0].status, advertised[0].id)

    await evening.end(host, guest)
    assert told(host) == told(guest) == ("playing", evening.ids[0])
    await evening.open(host, friday(2))
    await asyncio.sleep(0)
    assert told(host) == ("lobby", host.node.table_id.hex())
    await evening.rejoin(guest)
    await evening.end(host, guest)
    assert told(host) == told(guest) == ("playing", evening.ids[1])
    await evening.open(host, friday(2, private=True))
    assert told(host) is None


@pytest.mark.multicast
async def test_a_table_that_opens_again_is_found_by_name(evening: Evening) -> None:
    await multicast()
    host = await evening.people.sit("A", discovery=True)
    name = f"Friday {secrets.token_hex(4)}"  # unique, because other tests may run on this machine
    settings = replace(friday(2), name=name)
    opened = await evening.open(host, settings)
    guest = await evening.sit("B", opened.join_line)
    await evening.end(host, guest)
    newcomer = await evening.people.sit("C", discovery=True)
    with pytest.raises(NodeError, match="has begun already"):
        await newcomer.node.join(settings.name)
    await evening.open(host, replace(settings, seats=3))
    await newcomer.node.join(settings.name)
    await evening.rejoin(guest)
    await evening.end(host, guest, newcomer)


async def test_a_player_who_returns_before_the_table_is_open_waits_for_the_host(
    evening: Evening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("protocol.node.locator.GONE", 0.1)  # a host who is present is awaited longer than this
    _, (host, *guests) = await evening.begin(friday(3))
    await evening.end(host, *guests)
    waiting = [asyncio.create_task(evening.rejoin(guest)) for guest in guests]
    for guest in guests:
        awaiting = await guest.until(AwaitingHost)
        assert awaiting.host is not None
        assert awaiting.host.fingerprint == host.node.identity.fingerprint
    await asyncio.sleep(0.3)
    assert not any(task.done() for task in waiting)
    await evening.open(host, friday(3))
    await asyncio.gather(*waiting)
    await evening.end(host, *guests)
    for guest in guests:
        assert [event.host_is for event in guest.told(AwaitingHost)] == ["asked", "there"]
    assert [len(guest.told(TableJoined)) for guest in guests] == [2, 2]


async def test_players_who_return_at_once_do_not_count_as_strangers(evening: Evening) -> None:
    """Each guest dials while its link from the previous match is still up. Such links do not count as strangers'."""
    _, (host, *guests) = await evening.begin(friday(6, dice="1"), bounds=Limits(links_outside_roster=2))
    await evening.end(host, *guests)
    for _ in range(2):
        await evening.open(host, friday(6, dice="1"))
        await asyncio.gather(*(evening.rejoin(guest) for guest in guests))
        await evening.end(host, *guests)


async def test_a_player_who_missed_a_match_gets_a_seat_in_the_next(evening: Evening) -> None:
    _, (host, quick, slow) = await evening.begin(friday(3))
    await evening.end(host, quick, slow)
    await evening.open(host, friday(2))
    quick.hold()
    await evening.rejoin(quick)
    await evening.told(quick, MatchStarted)
    waiting = asyncio.create_task(evening.rejoin(slow))
    await slow.until(AwaitingHost, lambda event: event.host_is == "playing")
    quick.go_on()
    await evening.end(host, quick)
    await slow.until(MatchResult, after=evening.began[slow])
    evening.began[slow] = len(slow.events)
    await slow.until(AwaitingHost, lambda event: event.host_is == "there", after=evening.began[slow])
    await evening.open(host, friday(3))
    await evening.rejoin(quick)
    await waiting
    await evening.end(host, quick, slow)


async def test_rejoining_a_host_who_is_gone_fails_and_a_guest_can_host_instead(evening: Evening) -> None:
    opened, (host, b, c) = await evening.begin(friday(3))
    await evening.end(host, b, c)
    await host.leave()
    with pytest.raises(NodeError, match="A cannot be reached any more") as caught:
        await c.node.rejoin()
    assert [(awaiting.host_is, awaiting.seconds) for awaiting in c.told(AwaitingHost)] == [
        ("asked", 1.0),
        ("silent", 1.0),
    ]
    assert (caught.value.code, caught.value.hint) == ("unreachable", "host a table of your own, or join another one")
    own = await evening.open(b, friday(2))
    assert own.join_line != opened.join_line
    await c.node.join(own.join_line)
    await evening.end(b, c)
    await evening.open(b, friday(2))
    await evening.rejoin(c)
    await evening.end(b, c)


async def test_guests_find_a_host_that_was_killed_and_hosts_again(evening: Evening) -> None:
    _, (host, guest) = await evening.begin(friday(2))
    await evening.end(host, guest)
    port = host.node.port
    anew = await evening.people.sit("A", home=await host.kill(), port=port)
    waiting = asyncio.create_task(evening.rejoin(guest))
    await asyncio.sleep(0.2)
    await evening.open(anew, friday(2))
    await waiting
    await evening.end(anew, guest)


async def test_rejoin_refuses_a_stranger_at_the_former_hosts_address(evening: Evening) -> None:
    _, (host, guest) = await evening.begin(friday(2))
    await evening.end(host, guest)
    port = host.node.port
    await host.leave()
    stranger = await evening.people.sit("A", home=evening.people.folder / "stranger", port=port)
    await evening.open(stranger, friday(2))
    with pytest.raises(NodeError, match="A cannot be reached any more"):
        await guest.node.rejoin()
    assert not any(event.joined for event in stranger.told(LobbyChanged))
    assert len(guest.told(TableJoined)) == 1


@pytest.mark.parametrize(("code", "told"), [("full", "full"), ("closed", "refused"), ("rules", "rules")])
async def test_a_host_that_shows_the_table_and_refuses_at_once_gives_no_seat(
    evening: Evening, code: str, told: str
) -> None:
    host = await evening.people.sit("A")
    opened = await evening.open(host, friday(3))
    hosting = views.hosting(host)
    take = hosting.take

    def refuse_too(identity: bytes, frame: ShowLedger | JoinTable) -> None:
        take(identity, frame)
        host.node._runtime.post(identity, Refuse(code, "not you"))

    hosting.take = refuse_too  # type: ignore[method-assign]
    guest = await evening.people.sit("B")
    with pytest.raises(NodeError, match="not you") as caught:
        await guest.node.join(opened.join_line)
    assert caught.value.code == told
    assert guest.events == []
    hosting.take = take  # type: ignore[method-assign]
    await guest.node.join(opened.join_line)


async def test_a_guest_who_gives_up_while_being_admitted_keeps_no_seat(evening: Evening) -> None:
    opened, (host, guest) = await evening.begin(friday(2))
    await evening.end(host, guest)
    await evening.open(host, friday(3))
    waiting = asyncio.create_task(guest.node.rejoin())
    await asyncio.sleep(0)  # lets the join begin
    joining = views.joining(guest)
    take = joining.take

    def give_up(identity: bytes, frame: Table | Propose | Seat | Refuse | ShowLedger) -> None:
        take(identity, frame)
        if isinstance(frame, Seat):
            waiting.cancel()

    joining.take = give_up  # type: ignore[method-assign]
    await asyncio.wait([waiting], timeout=PATIENCE)
    assert waiting.cancelled()
    assert not joining.is_waiting
    await host.until(LobbyChanged, lambda event: bool(event.left), after=evening.began[host])
    joining.take = take  # type: ignore[method-assign]
    await evening.rejoin(guest)
    await evening.sit("C", opened.join_line)
    await evening.told(host, MatchStarted)


# Killed in the second match


async def test_a_player_killed_in_the_second_match_returns_to_it(evening: Evening) -> None:
    _, (host, guest) = await evening.begin(friday(2))
    await evening.end(host, guest)
    await evening.open(host, friday(2, dice="5"))
    await evening.rejoin(guest)
    started = await evening.told(host, MatchStarted)
    assert isinstance(started, MatchStarted)
    host.hold()
    await until(lambda: host._turn is not None)
    back = await evening.people.sit("B", home=await guest.kill())
    assert await back.node.resume() == started.match_id
    host.go_on()
    await evening.end(host, back)
    assert {stored.match.hex() for stored in back.node._store.matches()} == set(evening.ids)


async def test_a_player_restarted_in_a_match_resumes_without_the_hosts_address(evening: Evening) -> None:
    _, (host, b, c) = await evening.begin(friday(3, dice="5"))
    await in_mid_match(host)
    back = await evening.people.sit("B", home=await b.kill())
    await back.node.resume()
    host.go_on()
    await evening.end(host, back, c)
    waiting = asyncio.create_task(evening.rejoin(back))
    assert (await back.until(AwaitingHost)).host is None
    await evening.open(host, friday(3))
    await waiting
    await evening.rejoin(c)
    await evening.end(host, back, c)


async def test_a_returning_player_gets_the_first_matchs_end_during_the_second(evening: Evening) -> None:
    """The host plays the second match already, but still sends the end of the first to a player who resumes it."""
    opened, (host, late) = await evening.begin(friday(2, dice="5"))
    await in_mid_match(host)
    playing = late.node.match
    assert playing is not None
    views.hear_only(late, lambda _, frame: not (playing.signer.is_conceding and isinstance(frame, Carried | Page)))
    late.bot = Quitter()
    host.go_on()
    match = views.match_of(host)
    await until(lambda: match.is_ended)
    home = await late.kill()
    first = await host.until(MatchResult)
    await until(lambda: not host.node._mesh.linked())  # otherwise the host would reserve the seat
    evening.began[host] = len(host.events)
    await evening.open(host, friday(2, dice="5"))
    newcomer = await evening.sit("C", opened.join_line)
    await evening.told(host, MatchStarted)
    host.hold()
    await until(lambda: host._turn is not None)
    back = await evening.people.sit("B", home=home)
    await back.node.resume()
    over = await back.until(MatchResult)
    assert (over.match_id, over.confirmed) == (first.match_id, True)
    assert over.transcript.read_bytes() == first.transcript.read_bytes()
    assert host.node._active.former is not None
    await until(host.node._active.former.all_confirmed.is_set)
    assert [event.match_id for event in host.told(MatchResult)] == [first.match_id]
    host.go_on()
    await evening.end(host, newcomer)
    for player in (host, back):
        assert len(player.node._store.messages(bytes.fromhex(first.match_id))) > 4


async def test_a_player_who_resumes_a_match_keeps_that_nickname_for_the_next(evening: Evening) -> None:
    _, (host, guest) = await evening.begin(friday(2), guests=["Ben"])
    await evening.told(host, MatchStarted)
    host.hold()
    await until(lambda: host._turn is not None)
    back = await evening.people.sit("login name", home=await guest.kill())
    await back.node.resume()
    assert back.node.name == "Ben"
    host.go_on()
    await evening.end(host, back)
    await evening.open(host, friday(2))
    await evening.rejoin(back)
    started = await evening.told(host, MatchStarted)
    assert isinstance(started, MatchStarted)
    assert {player.name for player in started.players} == {"A", "Ben"}


async def test_late_messages_of_a_finished_match_are_ignored(evening: Evening) -> None:
    opened, (host, guest) = await evening.begin(friday(2))
    await evening.end(host, guest)
    match = views.match_of(guest)
    receipt = next(iter(match.history.results.values())).message
    await evening.open(host, friday(3))
    await evening.rejoin(guest)
    unsigned = Carried(receipt._replace(body=b"x" * 32).encoded(), bytes(64))
    guest.node._runtime.post(host.node.identity.public, unsigned)  # during the match this would cause a notice
    await evening.sit("C", opened.join_line)
    await evening.end(host, guest)
    assert host.told(Notice) == []


# Spectators


async def test_a_spectator_is_taken_to_the_next_match_automatically(evening: Evening) -> None:
    _, (host, guest, early) = await evening.begin(friday(2, dice="5"), is_watched=True)
    await in_mid_match(host)
    late = await evening.people.sit("W")
    await late.node.watch(f"{HOST}:{guest.node.port}")
    await until(lambda: len(late.node._mesh.linked()) == 2)
    host.go_on()
    await evening.end(host, guest, early, late)
    for rules in ("perudo", "classic"):
        await evening.open(host, friday(2, rules))
        for watching in (early, late):
            watched = await evening.told(watching, TableWatched)
            assert isinstance(watched, TableWatched)
            assert (watched.host.name, watched.seats) == ("A", 2)
        await evening.rejoin(guest)
        await evening.end(host, guest, early, late)
    assert early.told(TableClosed) == late.told(TableClosed) == []


async def test_a_spectator_is_told_the_end_before_the_next_table(evening: Evening) -> None:
    """The host often learns first that a match is over, and may open the next table before the spectator knows."""
    host = await evening.people.sit("A")
    opened = await evening.open(host, friday(2))
    watching = await evening.people.sit("W")
    await watching.node.watch(opened.join_line)
    host.hold()
    guest = await evening.sit("B", opened.join_line)
    await watching.until(MatchStarted)
    followed = watching.node._active.watching.followed  # type: ignore[union-attr]
    assert followed is not None
    carry_out, over = followed.carry_out, asyncio.Event()

    def be_late(effect: WriteTranscript | CalledOff | Show) -> None:
        if isinstance(effect, Show) and isinstance(effect.event, MatchResult):
            over.set()
            asyncio.get_running_loop().call_later(0.2, carry_out, effect)
        else:
            carry_out(effect)

    followed.carry_out = be_late  # type: ignore[method-assign]
    host.go_on()
    await host.until(MatchResult)
    await over.wait()
    await evening.open(host, friday(2))
    await watching.until(TableWatched, after=1 + watching.events.index(watching.told(TableWatched)[0]))
    assert len(watching.told(MatchResult)) == 1
    await evening.rejoin(guest)
    await guest.until(MatchResult, after=evening.began[guest])


async def test_a_spectator_sits_down_for_the_second_match(evening: Evening) -> None:
    _, (host, guest, early) = await evening.begin(friday(2, dice="5"), is_watched=True)
    await in_mid_match(host)
    late = await evening.people.sit("W")
    await late.node.watch(f"{HOST}:{guest.node.port}")
    host.go_on()
    await evening.end(host, guest, early, late)
    await evening.open(host, friday(4))
    await evening.rejoin(late, guest, early)
    await evening.end(host, guest, early, late)
    started = [event for event in early.told(MatchStarted) if event.my_seat is not None]
    assert len(started) == 1
    assert len(host.node._active.audience) == 0


async def test_a_spectator_does_not_follow_a_guest_to_another_table(evening: Evening) -> None:
    _, (host, guest, watching) = await evening.begin(friday(2), is_watched=True)
    await evening.end(host, guest, watching)
    await evening.open(guest, friday(2))
    await until(lambda: len(guest.node._active.audience) == 0)
    assert len(watching.told(TableWatched)) == 1


async def test_only_the_host_can_take_spectators_to_the_next_table(evening: Evening) -> None:
    _, (host, guest, watching) = await evening.begin(friday(2, dice="5"), is_watched=True)
    await in_mid_match(host)
    await until(lambda: len(watching.node._mesh.linked()) == 2)
    own = watching.node.identity.public
    false = Table("Mine", friday(2).ruleset.options(), 2, (120, 15), (("B", guest.node.identity.public),))
    guest.node._runtime.post(own, false)
    host.node._runtime.post(own, false._replace(name="Too early"))
    host.go_on()
    await evening.end(host, guest, watching)
    guest.node._runtime.post(own, false)
    await evening.open(host, friday(2))
    await evening.rejoin(guest)
    await evening.end(host, guest, watching)
    assert [event.name for event in watching.told(TableWatched)] == ["Friday", "Friday"]


# Refused actions


UNTIMELY = {
    Doing.IDLE: {"rejoin": "no table to go back to", "start": "only the host", "code": "only an open table"},
    Doing.HOSTING: {"host": "already open", "rejoin": "your own", "start": "needs two players", "code": "not work"},
    Doing.GUEST: {"rejoin": "already sit at the table", "start": "only the host", "watch": "already have a seat"},
    Doing.PLAYING: {"host": "not over yet", "rejoin": "not over yet", "start": "only the host", "code": "only an open"},
    Doing.WATCHING: {"say": "spectators cannot speak", "start": "only the host", "code": "only an open table"},
}
"""For each state, the actions that a node refuses, and its messages."""


async def test_an_action_at_the_wrong_time_is_refused_and_changes_nothing(evening: Evening) -> None:
    async def wish(player: Player, what: str) -> None:
        node = player.node
        match what:
            case "host":
                await node.host(friday(2))
            case "rejoin":
                await node.rejoin()
            case "watch":
                await node.watch(opened.join_line)
            case "start":
                node.start_match()
            case "code":
                node.renew_code()
            case "say":
                node.say("hello")

    async def check(player: Player, doing: Doing) -> None:
        for what, reason in UNTIMELY[doing].items():
            assert views.doing(player) is doing
            with pytest.raises(NodeError, match=reason):
                await wish(player, what)
        assert views.doing(player) is doing

    host, eve = await evening.people.sit("A"), await evening.people.sit("E")
    await check(host, Doing.IDLE)
    opened = await evening.open(host, friday(2, dice="5"))
    await check(host, Doing.HOSTING)
    await eve.node.watch(opened.join_line)
    await check(eve, Doing.WATCHING)
    guest = await evening.sit("B", opened.join_line)
    await in_mid_match(host)
    await check(guest, Doing.PLAYING)
    with pytest.raises(NodeError, match="not over yet"):
        await host.node.host(friday(2))
    host.go_on()
    await evening.end(host, guest, eve)
    await evening.open(host, friday(3))
    await evening.rejoin(guest)
    await check(guest, Doing.GUEST)
    await evening.sit("C", opened.join_line)
    await evening.end(host, guest)


async def test_joining_another_table_gives_up_the_first_seat(evening: Evening) -> None:
    hosts = [await evening.people.sit(name) for name in "AB"]
    lines = [(await evening.open(host, friday(3))).join_line for host in hosts]
    guest = await evening.sit("C", lines[0])
    await guest.node.join(lines[1])
    left = await hosts[0].until(LobbyChanged, lambda event: bool(event.left))
    assert [player.name for player in left.left] == ["C"]
    await hosts[1].until(LobbyChanged, lambda event: bool(event.joined))
    assert guest.told(TableClosed) == []


async def test_leaving_the_second_table_before_it_begins_frees_the_seat(evening: Evening) -> None:
    opened, (host, guest) = await evening.begin(friday(2))
    await evening.end(host, guest)
    await evening.open(host, friday(3))
    await evening.rejoin(guest)
    await guest.leave()
    changed = await host.until(LobbyChanged, lambda event: bool(event.left))
    assert [player.name for player in changed.left] == ["B"]
    others = [await evening.sit(name, opened.join_line) for name in "CD"]
    await evening.end(host, *others)


async def test_chat_reaches_all_once_while_the_next_table_fills(evening: Evening) -> None:
    _, (host, seated, idle, watching) = await evening.begin(friday(3), is_watched=True)
    await evening.end(host, seated, idle, watching)
    await evening.open(host, friday(3))
    await evening.rejoin(seated)
    host.node.say("another one?")
    seated.node.say("yes")
    for player in (host, seated, idle, watching):
        await player.until(Said, lambda said: said.text == "another one?")
    for player in (host, watching, idle):
        await player.until(Said, lambda said: said.text == "yes")
    await asyncio.sleep(0.1)
    for player in (host, seated, idle, watching):
        assert sorted(said.text for said in player.told(Said)) == ["another one?", "yes"]


@pytest.mark.parametrize("private", [False, True])
async def test_a_guest_who_gives_up_waiting_can_open_a_table_like_the_hosts(evening: Evening, private: bool) -> None:
    opened, (host, guest) = await evening.begin(friday(2, private=private))
    await evening.end(host, guest)
    await host.node.close()
    waiting = asyncio.create_task(rejoin(guest.node, ""))
    await until(lambda: guest.node.match is None)
    waiting.cancel()
    await asyncio.wait([waiting])
    evening.began[guest] = len(guest.events)
    await rejoin(guest.node, "host")
    table = await evening.told(guest, TableOpened)
    assert isinstance(table, TableOpened)
    assert (table.name, table.ruleset) == ("B's table", opened.ruleset)
    assert (table.problem == "the table is private", table.join_line.count("/")) == (private, 1 + private)


@pytest.mark.parametrize("kind", ["private", "unlisted"])
async def test_after_a_restart_an_unadvertised_table_opens_again_unadvertised(evening: Evening, kind: str) -> None:
    _, (host, guest) = await evening.begin(
        replace(friday(2, dice="5"), private=kind == "private", unlisted=kind == "unlisted")
    )
    await in_mid_match(guest)
    back = await evening.people.sit("A", home=await host.kill())
    if kind == "unlisted":
        back.node.party = Party(back.node.identity.public, frozenset({guest.node.identity.public}))
    await back.node.resume()
    guest.go_on()
    await evening.end(back, guest)
    table = back.node.table_again("Friday")
    assert table is not None
    assert (await evening.open(back, table)).problem == f"the table is {kind}"


async def test_the_customs_of_a_table_survive_a_restart(evening: Evening) -> None:
    """Customs are not signed, so each home stores them. ``asks`` is not stored: "never" becomes "strangers"."""
    settings = replace(friday(2, dice="5"), customs=Customs(odds=0, talk=1), asks="never")
    _, (host, guest) = await evening.begin(settings)
    await in_mid_match(guest)
    homes = await host.kill(), await guest.kill()
    back = [await evening.people.sit(name, home=home) for name, home in zip("AB", homes, strict=True)]
    for player in back:
        await player.node.resume()
    assert [player.node.customs for player in back] == [settings.customs] * 2
    again = [player.node.table_again("Friday") for player in back]
    assert again == [replace(settings, asks="strangers")] * 2


async def test_a_stored_match_tells_whether_the_player_hosted_it(evening: Evening) -> None:
    """Otherwise both players would wait for each other to open the next table."""
    _, (host, guest) = await evening.begin(friday(2))
    await evening.told(host, MatchStarted)
    for player in (host, guest):
        stored = player.node.find("last")
        assert (roster_index(stored) == stored.host) is (player is host)


async def test_the_hosts_own_bots_keep_their_seats_however_late_they_return(
    evening: Evening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("protocol.node.host.KEPT", 0.1)
    _, (host, bot, eve) = await evening.begin(friday(2), is_watched=True)
    await evening.end(host, bot, eve)
    host.node.party = Party(host.node.identity.public, frozenset({bot.node.identity.public}))
    await bot.leave()  # bots leave after a match; this one returns as another process
    await until(lambda: not host.node._mesh.is_linked(bot.node.identity.public))
    opened = await evening.open(host, friday(2))
    coming = asyncio.create_task(evening.rejoin(eve))
    await eve.until(AwaitingHost, lambda event: event.host_is == "full")
    await asyncio.sleep(0.3)
    again = await evening.people.sit(bot.name, home=bot.node.home.path)
    await again.node.join(opened.join_line)
    await evening.end(host, again)
    coming.cancel()
