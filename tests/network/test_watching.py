"""Spectators over real sockets see all tables and matches open to them, but no more than the players reveal."""

from __future__ import annotations

import asyncio
import secrets
from datetime import date
from pathlib import Path

import pytest

from p2pdice import events as game
from p2pdice.rulesets import PRESETS
from protocol import limits
from protocol.consensus.kinds import parse_signed
from protocol.consensus.verifier import verify
from protocol.errors import NodeError
from protocol.events import (
    DiceRolled,
    Happened,
    LobbyChanged,
    MatchFormed,
    MatchResult,
    MatchStarted,
    Misbehaved,
    Notice,
    PeerLost,
    TableClosed,
    TableWatched,
    Watching,
    YourTurn,
)
from protocol.limits import Limits
from protocol.match.effects import FrameReceived, MatchInput
from protocol.match.lobby import TableSettings
from protocol.net.addresses import parse_join_line
from protocol.node.locator import Target
from protocol.wire.frames import (
    Aim,
    Carried,
    Cut,
    Frame,
    Have,
    Hello,
    JoinTable,
    Leave,
    MatchAim,
    Need,
    Page,
    Propose,
    Refuse,
    Say,
    Table,
    TableAim,
    WatchAim,
)
from protocol.wire.genesis import match_id
from protocol.wire.messages import Kind
from tests.network import views
from tests.network.company import CLASSIC, HOST, IMPATIENT, Company, Player, agree, in_mid_match
from tests.network.strangers import Stranger
from tests.programs import PATIENCE
from tests.protocol.links import Peer
from tests.protocol.test_node import multicast
from tests.tiers import thoroughly
from tests.waiting import until

TINY = CLASSIC.with_options({"dice": "1"})


async def heard_by(stranger: Stranger) -> list[Frame]:
    """Return all frames that a stranger receives until the link ends."""
    async with asyncio.timeout(PATIENCE):
        frames = []
        while (frame := await stranger.hear()) is not None:
            frames.append(frame)
        return frames


async def test_spectators_cannot_follow_a_player_to_a_private_table(people: Company) -> None:
    (_, player), _ = await people.table(2, "AB", IMPATIENT, TINY)
    await player.until(MatchFormed)
    match = views.playing(player).match.id
    async with await Stranger.comes((HOST, player.node.port), HOST) as stranger:
        await stranger.say(Hello(0, WatchAim(match, "")))
        await player.until(Watching)
        await player.until(MatchResult)
        host = await people.sit("C")
        opened = await host.node.host(TableSettings("Secret", TINY, 2, IMPATIENT, private=True))
        await player.node.join(opened.join_line)
        await host.until(MatchResult)
        proposed = [frame.genesis for frame in await heard_by(stranger) if isinstance(frame, Propose)]
        assert [match_id(genesis) for genesis in proposed] == [match]


async def test_spectators_of_a_public_table_cannot_fetch_an_earlier_private_match(people: Company) -> None:
    """Knowing the match's id is not enough: ids of running matches are advertised, even at private tables."""
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Secret", TINY, 2, IMPATIENT, private=True))
    await people.join(opened.join_line, "B")
    await host.until(MatchResult)
    match = views.playing(host).match
    opened = await host.node.host(TableSettings("Friday", TINY, 3, IMPATIENT))
    async with await Stranger.comes((HOST, host.node.port), HOST) as stranger:
        await stranger.say(Hello(0, WatchAim(b"", "")))
        await host.until(Watching)
        await stranger.say(Need(match.id, 0, match.history.chain[0].tip, 0))
        await people.join(opened.join_line, "C")
        await stranger.say(Leave("enough"))
        heard = [type(frame) for frame in await heard_by(stranger)]
        assert heard.count(Table) == 2
        assert Page not in heard


async def watcher(people: Company, target: str, name: str = "W", **options: bool) -> Player:
    watching = await people.sit(name, **options)  # type: ignore[arg-type]
    async with asyncio.timeout(PATIENCE):
        await watching.node.watch(target)
    return watching


def address(player: Player) -> str:
    return f"{HOST}:{player.node.port}"


async def refused(people: Company, target: str, name: str = "W") -> str:
    with pytest.raises(NodeError) as caught:
        await watcher(people, target, name)
    assert caught.value.reason
    return caught.value.code


# What spectators see


@pytest.mark.parametrize("players", [3, *thoroughly([2, 5])])
async def test_a_spectator_sees_every_event_but_no_hand_before_its_reveal(people: Company, players: int) -> None:
    (host,), opened = await people.table(players, "A")
    watching = await watcher(people, opened.join_line)
    watched = await watching.until(TableWatched)
    assert (watched.name, watched.host.name, watched.ruleset, watched.seats) == ("Friday", "A", CLASSIC, players)
    assert watched.host.fingerprint == host.node.identity.fingerprint
    seated = [host]
    for name in "BCDE"[: players - 1]:
        seated.append(await people.sit(name))
        await seated[-1].node.join(opened.join_line)
        await watching.until(LobbyChanged, lambda event, name=name: [each.name for each in event.joined] == [name])  # type: ignore[misc]
    await agree(*seated, watching)
    assert len(watching.told(MatchFormed)) == 1
    (started,) = watching.told(MatchStarted)
    assert (started.my_seat, started.resumed, started.table) == (None, False, "Friday")
    assert [player.is_me for player in started.players] == [False] * players
    told = [event.event for event in seated[0].told(Happened)]
    assert [event.event for event in watching.told(Happened)] == told
    assert not watching.told(DiceRolled)
    assert not watching.told(YourTurn)
    assert not watching.told(Misbehaved)


async def test_a_spectator_of_the_lobby_gets_the_whole_match_without_asking(people: Company) -> None:
    """A spectator's program may be suspended until all players have left; then no player is left to ask."""
    (host,), opened = await people.table(2, "A", IMPATIENT, TINY)
    async with await Stranger.comes((HOST, host.node.port), HOST) as stranger:
        await stranger.say(Hello(0, WatchAim(b"", "")))
        await host.until(Watching)
        await people.join(opened.join_line, "B")
        await host.until(MatchResult)
        match = views.playing(host).match
        await host.node.close()
        heard = [frame for frame in await heard_by(stranger) if isinstance(frame, Propose | Carried)]
    proposed, *carried = heard
    assert proposed == Propose(match.history.genesis_data)
    assert not any(isinstance(frame, Propose) for frame in carried)
    assert {frame.data for frame in carried} == {signed.data for signed in match.replica.shown(0)}  # type: ignore[union-attr]


async def test_a_spectator_that_redials_still_reads_the_end_from_old_links(people: Company) -> None:
    """After a sleep, a spectator redials all players. A player who has left may have sent the end over the old link."""
    players, _ = await people.table(2, "AB", IMPATIENT)
    await in_mid_match(players[0])
    watching = await watcher(people, address(players[0]))
    await until(lambda: len(watching.node._mesh.linked()) == 2)
    for player in players:
        views.listen_no_more(player)
    followed = views.watched(watching)
    assert followed is not None
    followed.dial_anew()
    players[0].go_on()
    await agree(*players, watching)


async def test_a_spectator_redials_a_player_who_answers_for_another_table(people: Company) -> None:
    players, _ = await people.table(2, "AB", IMPATIENT)
    await in_mid_match(players[0])
    views.mislead_spectators(players[1], TableAim(views.playing(players[1]).match.history.genesis.table, ""), times=3)
    watching = await watcher(people, address(players[0]))
    await until(lambda: len(watching.node._mesh.linked()) == 2)
    players[0].go_on()
    await agree(*players, watching)


def is_end(frame: Frame) -> bool:
    """Return whether a frame may contain or mention a RESULT."""
    is_result = isinstance(frame, Carried) and parse_signed(frame.data, frame.signature).message.kind is Kind.RESULT
    return is_result or isinstance(frame, Page | Have)


async def test_a_spectator_does_not_follow_a_host_who_has_left_to_its_next_table(people: Company) -> None:
    """The next table opens before the spectator has read the end of the match, and its host leaves soon after."""
    (host,), opened = await people.table(2, "A", ruleset=TINY)
    watching = await watcher(people, opened.join_line)
    await host.until(Watching)
    (guest,) = await people.join(opened.join_line, "B")
    views.hear_only(watching, lambda _, frame: not is_end(frame))
    await host.until(MatchResult)
    await until(lambda: (followed := views.watched(watching)) is not None and followed.match.is_ended)
    views.send(host, watching.node.identity.public, views.hosting(host).table.frame())
    for player in (host, guest):
        await player.node.close()
    await watching.until(MatchResult)
    assert len(watching.told(TableWatched)) == 1
    assert watching.told(LobbyChanged)[-1].joined[0].name == "B"


async def test_host_and_players_see_spectators_under_the_names_they_trust(people: Company) -> None:
    (host,), opened = await people.table(2, "A")
    known = await watcher(people, opened.join_line, "W")
    await host.until(Watching, lambda event: event.names == ("a spectator",))
    eve = await people.sit("Eve")
    host.node._store.people.trust(eve.node.identity.fingerprint, "Eve", 1)
    await eve.node.watch(opened.join_line)
    await host.until(Watching, lambda event: event.names == ("a spectator", "Eve"))
    await known.leave()
    await host.until(Watching, lambda event: event.names == ("Eve",))
    (ben,) = await people.join(opened.join_line, "B")
    ben.hold()
    await ben.until(Watching, lambda event: event.names == ("a spectator",))  # Eve now has a link with each player
    await eve.leave()
    await ben.until(Watching, lambda event: event.names == ())
    await host.until(Watching, lambda event: event.names == ())
    ben.go_on()
    await agree(host, ben)


async def test_a_spectator_who_leaves_as_a_table_opens_is_no_longer_counted(people: Company) -> None:
    """The lobby once kept showing *1 watching* after the spectator had left."""
    (host,), opened = await people.table(2, "A")
    watching = await watcher(people, opened.join_line)
    await host.until(Watching)
    host.node._active.audience.tell()
    host.node._active.audience.dismiss(watching.node.identity.public)
    await host.until(Watching, lambda event: event.names == ())


async def test_replacing_a_spectators_link_is_not_reported(people: Company) -> None:
    (host,), opened = await people.table(2, "A")
    watching = await watcher(people, opened.join_line)
    await host.until(Watching)
    host.node._active.audience.dismiss(watching.node.identity.public)
    host.node._active.audience.admit(watching.node.identity.public, HOST)
    await asyncio.sleep(limits.WATCHERS_TOLD + 0.2)
    assert [event.names for event in host.told(Watching)] == [("a spectator",)]


async def test_a_late_spectator_is_shown_the_current_state(people: Company) -> None:
    players, _ = await people.table(3)
    await in_mid_match(players[0], events=25)
    watching = await watcher(people, address(players[1]))
    started = await watching.until(MatchStarted)
    assert started.resumed
    position = views.match_of(players[1]).history.position
    assert started.state == position.state
    before = len(players[0].told(Happened))
    players[0].go_on()
    await agree(*players, watching)
    seen = [event.event for event in watching.told(Happened)]
    assert seen == [event.event for event in players[0].told(Happened)][before:]
    assert views.match_of(watching).history.results


async def test_a_spectator_sees_no_clock_for_a_turn_that_began_earlier(people: Company) -> None:
    """A new spectator's clock once started at full time: it showed two minutes for a player with ten seconds left."""
    players, _ = await people.table(3)
    await in_mid_match(players[0])
    for player in players[1:]:
        player.hold()
    watching = await watcher(people, address(players[1]))
    await watching.until(MatchStarted)
    step = views.match_of(watching).progress.step
    for player in players:
        assert player.node.clock() is not None
    assert watching.node.clock() is None
    await watcher(people, address(players[2]), "V")  # must not start the first spectator's clock
    assert watching.node.clock() is None
    players[0].go_on()
    players[0].hold()

    def is_next_turn() -> bool:
        steps = {each.node.match.progress.step for each in (*players, watching) if each.node.match is not None}
        return len(steps) == 1 and steps.pop() > step and any(each._turn is not None for each in players)

    await until(is_next_turn)
    clock = watching.node.clock()
    assert clock is not None
    assert [each.name for each in clock.awaited] == [each.name for each in players if each._turn is not None]
    for player in players:
        player.go_on()
    await agree(*players, watching)


async def test_a_spectator_after_the_end_gets_the_transcript(people: Company) -> None:
    players, _ = await people.table(2)
    ends = [await player.until(MatchResult) for player in players]
    watching = await watcher(people, address(players[0]))
    over = await watching.until(MatchResult)
    assert over.transcript.read_bytes() == ends[0].transcript.read_bytes()
    assert over.places == ends[0].places
    assert [type(each.event) for each in watching.told(Happened)] == [game.MatchOver]
    assert watching.told(MatchStarted)


@pytest.mark.multicast
async def test_a_table_and_its_match_are_watched_by_name_and_by_the_start_of_the_id(people: Company) -> None:
    await multicast()
    host = await people.sit("A", discovery=True)
    name = f"Friday {secrets.token_hex(4)}"
    opened = await host.node.host(TableSettings(name, CLASSIC, 3))
    early = await watcher(people, name, "early", discovery=True)
    await early.until(TableWatched)
    guests = [await people.sit(each, discovery=True) for each in "BC"]
    guests[0].hold()
    for guest in guests:
        await guest.node.join(opened.join_line)
    match = (await host.until(MatchStarted)).match_id
    by_id = await watcher(people, match[:10].upper(), "by id", discovery=True)
    by_name = await watcher(people, name, "by name", discovery=True)
    for late in (by_id, by_name):
        assert (await late.until(MatchStarted)).table == name
    guests[0].go_on()
    await agree(host, *guests, early, by_id, by_name)


# Who may watch


@pytest.mark.parametrize("returning", ["host", "guest"])
async def test_a_returning_player_knows_and_advertises_the_table_name(people: Company, returning: str) -> None:
    players, _ = await people.table(2)
    lost = players[0 if returning == "host" else 1]
    await in_mid_match(lost)
    home = await lost.kill()
    back = await people.sit(lost.name, home=home)
    await back.node.resume()
    started = await back.until(MatchStarted)
    assert (started.resumed, started.table) == (True, "Friday")
    await until(lambda: back.node._locator._advertised is not None)
    advertisement, _ = back.node._locator._advertised  # type: ignore[misc]
    assert (advertisement.name, advertisement.status) == ("Friday", "playing")
    (stored,) = back.node._store.matches()
    assert (stored.table_name, stored.name) == ("Friday", f"{date.fromtimestamp(stored.created)}-friday")


async def test_every_player_shows_a_private_match_to_spectators_with_the_join_line(
    people: Company,
) -> None:
    host, guest = await people.sit("A"), await people.sit("B")
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 2, private=True))
    line = parse_join_line(opened.join_line)
    for attempt in (address(host), str(line._replace(token="")), str(line._replace(token="WRONG"))):
        assert await refused(people, attempt, secrets.token_hex(4)) == "refused"
    early = await watcher(people, opened.join_line, "early")
    await guest.node.join(opened.join_line)
    await in_mid_match(guest)
    assert await refused(people, address(guest), "nosy") == "refused"
    home = await host.kill()
    host = await people.sit("A", home=home)
    host.hold()
    match = await host.node.resume()
    assert await refused(people, address(host), "nosy again") == "refused"
    late = await people.sit("late")
    line = line._replace(addresses=((HOST, host.node.port),))
    await late.node.watch(str(line))
    other = await people.sit("other")
    guests_line = line._replace(addresses=((HOST, guest.node.port),), fingerprint=guest.node.identity.fingerprint)
    await other.node.watch(str(guests_line))
    for player in (host, guest):
        player.go_on()
    await agree(host, guest, early, late, other)
    assert late.told(MatchResult)[0].match_id == match


async def test_a_lobby_reserves_links_for_players(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SPECTATORS_OF_A_LOBBY", 2)
    (host,), opened = await people.table(2, "A")
    watching = [await watcher(people, opened.join_line, name) for name in ("V", "W")]
    assert await refused(people, opened.join_line, "X") == "full"
    await watching.pop().leave()
    await until(lambda: len(host.node._active.audience) == 1)
    watching.append(await watcher(people, opened.join_line, "Y"))
    (guest,) = await people.join(opened.join_line, "B")
    await agree(host, guest, *watching)


async def test_spectators_use_only_the_links_for_strangers(people: Company) -> None:
    (host,), opened = await people.table(2, "A", bounds=Limits(links_outside_roster=2))
    (guest,) = await people.join(opened.join_line, "B")
    await in_mid_match(guest)
    watching = [await watcher(people, opened.join_line, name) for name in ("V", "W")]
    assert await refused(people, opened.join_line, "X") == "unreachable"
    guest.go_on()
    await agree(host, guest, *watching)


async def test_watching_ones_own_match_or_a_missing_table_is_refused(people: Company) -> None:
    players, opened = await people.table(2)
    await in_mid_match(players[0])
    home = await players[1].kill()
    assert "resume" in (await watch_error(people, opened.join_line, home)).reason
    back = await people.sit("B", home=home)
    await back.node.resume()
    players[0].go_on()
    await agree(players[0], back)
    assert await refused(people, "127.0.0.1:1") == "unreachable"
    assert await refused(people, "127.0.0.1:1/TYPO", "V") == "not-found"
    idle = await people.sit("idle")
    await idle.node._active.listen(0)
    assert await refused(people, address(idle), "X") == "refused"


async def watch_error(people: Company, target: str, home: Path) -> NodeError:
    player = await people.sit("B", home=home)
    with pytest.raises(NodeError) as caught:
        await player.node.watch(target)
    await player.leave()
    people.players.remove(player)
    return caught.value


async def test_a_spectator_who_returns_often_displaces_no_other_from_memory(people: Company) -> None:
    """The host is told if somebody who watched wants a seat."""
    (host,), _ = await people.table(2, "A")
    audience, once, often = host.node._active.audience, b"o" * 32, b"f" * 32
    for identity in (once, *(often,) * (limits.LINKS_OUTSIDE_ROSTER + 1)):
        audience.admit(identity, HOST)
        audience.dismiss(identity)
    assert audience.has_watched(once)


# Sources that leave


async def test_a_spectator_whose_source_is_killed_continues_with_another(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SPECTATOR_LINKS", 1)
    players, opened = await people.table(3)
    await in_mid_match(players[1])
    watching = await watcher(people, opened.join_line)
    await watching.until(MatchStarted)
    home = await players[0].kill()
    await watching.until(Notice, lambda event: "No player" in event.text)
    await watching.until(Notice, lambda event: "again" in event.text)
    back = await people.sit("A", home=home)
    await back.node.resume()
    players[1].go_on()
    await agree(back, *players[1:], watching)


async def test_a_spectator_with_several_links_can_lose_one(people: Company) -> None:
    players, opened = await people.table(3)
    await in_mid_match(players[1])
    watching = await watcher(people, opened.join_line)
    await until(lambda: len(watching.node._mesh.linked()) == 3)
    home = await players[0].kill()
    assert (await watching.until(PeerLost)).player.name == "A"
    back = await people.sit("A", home=home)
    await back.node.resume()
    await until(lambda: len(watching.node._mesh.linked()) == 3)
    players[1].go_on()
    await agree(back, *players[1:], watching)
    assert watching.told(Notice) == []


async def test_a_spectator_gets_the_votes_that_evict_a_player(people: Company) -> None:
    (host,), opened = await people.table(3, "A", IMPATIENT)
    watching = await watcher(people, opened.join_line)
    guests = await people.join(opened.join_line, *"BC")
    await in_mid_match(host)
    await host.leave()
    late = await watcher(people, address(guests[0]), "late")
    ends = [await each.until(MatchResult) for each in (*guests, watching, late)]
    transcripts = [end.transcript.read_bytes() for end in ends]
    assert len({end.places for end in ends}) == 1
    assert [verify(each).verdict for each in transcripts] == ["unproven"] * 4
    assert len(set(transcripts)) == 1  # equal, because exactly two players voted: a majority of three


async def test_a_spectator_is_told_when_the_host_leaves_before_the_start(people: Company) -> None:
    (host,), opened = await people.table(2, "A")
    watching = await watcher(people, opened.join_line)
    await host.leave()
    assert (await watching.until(TableClosed)).code == "closed"


async def test_a_spectator_has_a_separate_rate_limit_for_each_player(people: Company) -> None:
    """The players may share one machine, and each of them sends the spectator the whole match."""
    players, opened = await people.table(3)
    await in_mid_match(players[1])
    watching = await watcher(people, opened.join_line)
    await watching.until(MatchStarted)
    assert set(watching.node._mesh._allowances.roster) == {player.node.identity.public for player in players}
    players[1].go_on()
    await agree(*players, watching)


# Hostile spectators


class Watcher(Peer):
    """A peer that asks one player to let it watch."""

    async def watch(self, player: Player) -> None:
        self.host = await self.mesh.connect(((HOST, player.node.port),), WatchAim(b"", ""), lambda _: True)

    def tell(self, frame: Frame) -> None:
        self.say(self.host, frame)

    async def heard(self, count: int, kind: type[Frame]) -> list[Frame]:
        """Wait until this many frames of a kind have come; return all of them."""
        await until(lambda: len([each for each in self.told if isinstance(each, kind)]) >= count)
        return [each for each in self.told if isinstance(each, kind)]


async def test_all_frames_of_a_spectator_except_need_are_ignored(people: Company) -> None:
    players, _ = await people.table(3)
    await in_mid_match(players[0])
    match = views.match_of(players[1])
    history = match.history
    mine = next(signed for position in history.chain[1:] for signed in position.entries.values())
    stranger = Watcher()
    await stranger.watch(players[0])
    (proposed,) = await stranger.heard(1, Propose)
    assert proposed == Propose(history.genesis_data)
    inputs: list[object] = []
    feed = views.playing(players[0]).feed

    def noted(item: MatchInput) -> None:
        inputs.append(item)
        feed(item)

    players[0].node._active.proposals.session.feed = noted  # type: ignore[method-assign, union-attr]
    for frame in (
        Carried(*mine.wire),
        Carried(b"nonsense", bytes(64)),
        Say(b"nonsense", bytes(64)),
        Page(history.match, 0, (mine.wire,)),
        Propose(history.genesis_data),
        Table("Friday", (), 2, (), ()),
        JoinTable(()),
        Refuse("full", "no"),
        Need(bytes(32), 0, bytes(32), 0),
        Cut(history.match, (0, 1)),
    ):
        stranger.tell(frame)
    stranger.tell(Need(history.match, 0, history.match, 0))
    await stranger.heard(1, Page)
    (asked,) = inputs
    assert isinstance(asked, FrameReceived)
    assert isinstance(asked.frame, Need)
    assert "down" not in stranger.told
    stranger.tell(Leave("bye"))
    await until(lambda: len(players[0].node._active.audience) == 0)
    players[0].go_on()
    await agree(*players)
    await stranger.mesh.close()


async def test_a_spectator_who_asks_endlessly_is_answered_within_limits(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SPECTATOR_PAGES", 5)
    monkeypatch.setattr(limits, "SPECTATOR_PAGE_RATE", 1e-6)
    players, _ = await people.table(2, ruleset=PRESETS["classic"])
    await in_mid_match(players[0], 20)
    history = views.match_of(players[0]).history
    stranger = Watcher()
    await stranger.watch(players[0])
    for step in range(20):
        stranger.tell(Need(history.match, step, history.chain[step].tip, 0))
    players[0].go_on()
    await agree(*players)
    assert len(await stranger.heard(5, Page)) == 5
    await stranger.mesh.close()


# Hostile sources


async def test_a_genesis_is_accepted_only_from_its_players(people: Company) -> None:
    players, _ = await people.table(2)
    await in_mid_match(players[0])
    history = views.match_of(players[0]).history
    fake = FakePlayer(history.genesis_data, MatchAim(history.match))
    assert await refused(people, await fake.open()) == "refused"
    await fake.mesh.close()
    players[0].go_on()
    await agree(*players)


async def test_a_spectator_of_one_match_is_not_shown_another(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody can advertise a match that is played elsewhere. The spectator then tries the next advertised address."""
    players, _ = await people.table(2)
    others = [await people.sit(name) for name in "YZ"]
    await others[1].node.join((await others[0].node.host(TableSettings("Saturday", CLASSIC, 2))).join_line)
    await asyncio.gather(in_mid_match(players[0]), in_mid_match(others[0]))
    match = views.match_of(players[0]).history.match
    watching = await people.sit("W")
    places = [Target(((HOST, player.node.port),), match) for player in (others[0], players[0])]

    async def advertised(wanted: str) -> list[Target]:
        return places

    monkeypatch.setattr(watching.node._locator, "resolve_to_watch", advertised)
    await watching.node.watch(match.hex())
    for player in (players[0], others[0]):
        player.go_on()
    await agree(*players, watching)
    await agree(*others)


class FakePlayer(Peer):
    """A peer that sends a match's genesis to every spectator."""

    def __init__(self, genesis: bytes, aim: Aim) -> None:
        super().__init__()
        self.genesis, self.aim = genesis, aim

    async def open(self) -> str:
        await self.mesh.listen(0, (HOST,))
        return f"{HOST}:{self.mesh.port}"

    def peer_up(self, identity: bytes, aim: Aim, at: tuple[str, int]) -> None:
        self.say(identity, Propose(self.genesis))
