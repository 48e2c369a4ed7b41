"""Nodes in trouble, over real sockets: who leaves, dies, comes back, concedes, or has a full disk."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from p2pdice.errors import RulesError
from p2pdice.moves import Liar
from protocol import limits
from protocol.consensus.kinds import parse_signed
from protocol.consensus.verifier import verify
from protocol.errors import NodeError
from protocol.events import (
    ConcedeAccepted,
    Continued,
    LobbyChanged,
    MatchFormed,
    MatchResult,
    MatchStarted,
    Overdue,
    PeerBack,
    PeerLost,
    Stopped,
    Suspended,
    TableClosed,
    YourTurn,
)
from protocol.match.lobby import TableSettings
from protocol.node.node import Node
from protocol.storage import archive
from protocol.storage.database import StoreError
from protocol.wire.frames import Carried, Frame, Page
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind
from tests.network import views
from tests.network.company import CLASSIC, HOST, IMPATIENT, Company, Player, agree, in_mid_match
from tests.programs import PATIENCE
from tests.protocol.test_node import multicast
from tests.tiers import thoroughly

# Before the match


async def test_a_guest_who_leaves_frees_the_seat_for_another(people: Company) -> None:
    (host, first), opened = await people.table(3, "AB")
    await first.leave()
    assert first.told(TableClosed) == []  # it knows that it has left
    gone = await host.until(LobbyChanged, lambda event: bool(event.left))
    assert [player.name for player in gone.left] == ["B"]
    second, third = await people.sit("C"), await people.sit("D")
    await second.node.join(opened.join_line)
    await third.node.join(opened.join_line)
    await agree(host, second, third)


async def test_when_the_host_leaves_the_table_is_gone(people: Company) -> None:
    (host, guest), _ = await people.table(3, "AB")
    await host.leave()
    closed = await guest.until(TableClosed)
    assert closed.code == "closed"
    (other_host, _), opened = await people.table(3, "EF")
    await guest.node.join(opened.join_line)
    await agree(other_host, guest)


async def test_the_host_may_start_before_all_seats_are_taken(people: Company) -> None:
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 5))
    with pytest.raises(NodeError, match="two players"):
        host.node.start_match()
    (guest,) = await people.join(opened.join_line, "B")
    with pytest.raises(NodeError, match="only the host"):
        guest.node.start_match()
    host.node.start_match()
    await host.until(MatchFormed)
    with pytest.raises(NodeError, match="begun"):
        host.node.start_match()
    await agree(host, guest)


async def test_a_guest_who_dies_while_the_match_forms_gives_way_to_a_later_one(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("protocol.limits.LINK_LOST", 0.2)
    (host, second), opened = await people.table(3, "AB")
    dying = await people.sit("C")
    say_nothing(dying)
    await dying.node.join(opened.join_line)
    await dying.until_true(lambda: dying.node.match is not None)
    await dying.kill()
    await host.until(LobbyChanged, lambda event: [player.name for player in event.left] == ["C"])
    (late,) = await people.join(opened.join_line, "D")
    await agree(host, second, late)
    assert {player.name for player in late.told(MatchStarted)[0].players} == {"A", "B", "D"}


async def test_a_link_that_breaks_while_the_match_forms_costs_nobody_the_table(people: Company) -> None:
    """The host waits for a guest who was lost then; so the guest waits for the host, and either dials."""
    host, guest = await people.sit("A"), await people.sit("B")
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 2))
    broken: list[bytes] = []

    def break_once(identity: bytes, frame: bytes) -> bool:
        if frame[1] != 7 or broken:  # the guest's signature under the genesis
            return True
        broken.append(identity)
        guest.node._mesh._peers[identity].link.drop("the cable was pulled")
        return False

    views.send_only(guest, break_once)
    await guest.node.join(opened.join_line)
    await agree(host, guest)
    assert broken
    assert guest.told(TableClosed) == []
    assert host.told(LobbyChanged)[-1].left == ()


def say_nothing(player: Player) -> None:
    """Let a node's signed messages be lost on the way."""
    views.send_only(player, lambda _, frame: frame[1] != 7)


def lose_commitments(player: Player) -> None:
    """Let a node lose what it is sent of them."""

    def takes(_: bytes, frame: Frame) -> bool:
        messages = frame.messages if isinstance(frame, Page) else [frame] if isinstance(frame, Carried) else []
        return all(parse_signed(*signed).message.kind is not Kind.COMMIT for signed in messages)

    views.hear_only(player, takes)


async def test_a_guest_who_died_just_before_the_match_was_formed_comes_back(
    people: Company,
) -> None:
    """For the others the match has begun: it must not be lost to its last signer."""
    (host, second), opened = await people.table(3, "AB")
    dying = await people.sit("C")
    lose_commitments(dying)
    await dying.node.join(opened.join_line)
    await host.until(MatchFormed)
    await second.until(MatchFormed)
    assert dying.told(MatchFormed) == []
    home = await dying.kill()
    back = await people.sit("C", home=home)
    await back.node.resume()
    await agree(host, second, back)


# Death and return


@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("same_port", [*thoroughly([True]), False], ids=["same port", "another port"])
async def test_a_killed_node_resumes_and_the_match_goes_on(people: Company, players: int, same_port: bool) -> None:
    everyone, _ = await people.table(players)
    dying, *others = everyone[::-1]
    await in_mid_match(dying)
    port = dying.node.port
    home = await dying.kill()
    for other in others:
        await other.until(PeerLost)
        # Of three players two are a majority that could go on alone; of two there is none.
        waiting = await other.until(Suspended) if players == 2 else await other.until(Overdue)
        assert [player.name for player in waiting.awaited] == [dying.name]
    back = await people.sit(dying.name, home=home, port=0 if same_port else free_port())
    assert await back.node.resume() == others[0].told(MatchStarted)[0].match_id
    assert (back.node.port == port) is same_port
    await agree(back, *others)
    assert back.told(MatchStarted)[0].resumed
    for other in others:
        assert other.told(PeerBack)
        assert len(other.told(Continued)) == (players == 2)


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


async def test_all_killed_at_once_resume_one_after_the_other(people: Company) -> None:
    players, _ = await people.table(3)
    await in_mid_match(players[0])
    homes = [await player.kill() for player in players]
    back = []
    for player, home in zip(players, homes, strict=True):
        back.append(await people.sit(player.name, home=home))
        await back[-1].node.resume()
    await agree(*back)


async def test_a_player_who_quits_in_the_middle_can_come_back(people: Company) -> None:
    (host, guest), _ = await people.table(2)
    await in_mid_match(guest)
    await guest.leave()
    await host.until(Suspended)
    back = await people.sit("B", home=guest.node.home.path)
    (unfinished,) = back.node.unfinished()
    await back.node.resume(unfinished.match.hex()[:6])
    await agree(host, back)
    assert back.node.unfinished() == ()


# The host, who is like anyone else once the match has begun


async def away(player: Player, is_killed: bool) -> Path:
    """Let a player go, with or without taking leave; return the home they left."""
    if is_killed:
        return await player.kill()
    await player.leave()
    return player.node.home.path


async def test_quitting_is_told_apart_from_a_lost_link(people: Company) -> None:
    players, opened = await people.table(3)
    await in_mid_match(players[0])
    watching = await people.sit("W")
    await watching.node.watch(opened.join_line)
    await watching.until_true(lambda: len(watching.node._mesh.linked()) == 3)
    await players[1].leave()
    for each in (players[0], players[2], watching):
        lost = await each.until(PeerLost)
        assert (lost.player.name, lost.left_on_purpose) == ("B", True)
    home = await players[2].kill()
    for each in (players[0], watching):
        lost = await each.until(PeerLost, lambda event: event.player.name == "C")
        assert not lost.left_on_purpose
    back = await people.sit("B", home=players[1].node.home.path)
    await back.node.resume()
    await players[0].until(PeerBack)
    again = await people.sit("C", home=home)
    await again.node.resume()
    players[0].go_on()
    await agree(players[0], back, again, watching)


@pytest.mark.parametrize("is_killed", [False, True], ids=["quits", "is killed"])
async def test_when_the_host_leaves_right_after_the_start_the_others_go_on(people: Company, is_killed: bool) -> None:
    (host, *others), _ = await people.table(3, patience=IMPATIENT)
    await host.until(MatchFormed)
    await away(host, is_killed)
    ends = [await other.until(MatchResult) for other in others]
    assert ends[0].transcript.read_bytes() == ends[1].transcript.read_bytes()
    assert ends[0].places == ends[1].places
    assert [ends[0].players[seat].name for seat in ends[0].places[-1]] == ["A"]
    assert verify(ends[0].transcript.read_bytes()).verdict == "unproven"


@pytest.mark.parametrize("is_killed", [*thoroughly([False]), True], ids=["quits", "is killed"])
@pytest.mark.parametrize("through", ["B", "C"])
async def test_the_host_comes_back_through_any_other_player(people: Company, is_killed: bool, through: str) -> None:
    """One of the others is away at the time, and comes back later."""
    (host, *others), _ = await people.table(3)
    await host.until(MatchFormed)
    for player in others:
        player.hold()
    home = await away(host, is_killed)
    there = next(player for player in others if player.name == through)
    missing = next(player for player in others if player is not there)
    missing_home = await missing.kill()
    back = await people.sit("A", home=home)
    await back.node.resume()
    await back.until_true(lambda: back.node._mesh.is_linked(there.node.identity.public))
    returned = await people.sit(missing.name, home=missing_home)
    await returned.node.resume()
    there.go_on()
    await agree(back, there, returned)


@pytest.mark.multicast
async def test_a_player_who_resumes_at_another_port_finds_moved_players_by_multicast(
    people: Company,
) -> None:
    """Nobody listens where anybody else last saw them."""
    await multicast()
    players, _ = await people.table(3, discovery=True)
    await in_mid_match(players[0])
    known = {player.node.port for player in players}
    homes = [await player.kill() for player in players]
    back = []
    for name, home in zip("CAB", (homes[2], homes[0], homes[1]), strict=True):
        port = free_port()
        assert port not in known
        back.append(await people.sit(name, home=home, port=port, discovery=True))
        await back[-1].node.resume()
    await agree(*back)


async def test_the_last_word_of_a_killed_node_can_still_be_fetched(people: Company) -> None:
    """It knows the end and has its transcript, but nobody else got its opening."""
    (host, guest), _ = await people.table(2, patience=Patience(120, 5))
    await in_mid_match(host, 1)
    say_nothing_more_at_the_end(host)
    host.go_on()
    over = host.until(MatchResult)
    await over
    assert guest.told(MatchResult) == []
    home = await host.kill()
    back = await people.sit("A", home=home)
    await back.node.resume(host.told(MatchResult)[0].match_id)
    await agree(back, guest)


def say_nothing_more_at_the_end(player: Player) -> None:
    """Let what a node sends be lost from the moment that the match has ended for it."""
    views.send_only(player, lambda *_: not player.node.match.is_ended)  # type: ignore[union-attr]


async def test_there_is_nothing_to_resume_where_nothing_was_played(people: Company) -> None:
    player = await people.sit("A")
    for wanted in (None, "abc"):
        with pytest.raises(NodeError) as caught:
            await player.node.resume(wanted)
        assert caught.value.code == "no-match"


async def test_a_broken_link_comes_back_by_itself(people: Company) -> None:
    (host, guest), _ = await people.table(2)
    await in_mid_match(guest)
    before = dict(host.node._mesh._peers)
    for peer in before.values():
        peer.link.drop("the cable was pulled")
    await host.until_true(lambda: host.node._mesh._peers.keys() == before.keys() and host.node._mesh._peers != before)
    guest.go_on()
    await agree(host, guest)
    assert not host.told(PeerLost)  # it is no news if it lasts no second
    assert not host.told(PeerBack)


async def test_after_sleep_all_links_are_made_anew(people: Company) -> None:
    """A link may be dead on the other side of a sleep, though nothing here says so."""
    (host, guest), _ = await people.table(2)
    await in_mid_match(guest)
    before = dict(host.node._mesh._peers)
    await asyncio.sleep(limits.REPLACEMENT)
    await host.node._active.interfaces_changed()
    await host.until_true(lambda: host.node._mesh._peers.keys() == before.keys() and host.node._mesh._peers != before)
    guest.go_on()
    await agree(host, guest)
    assert host.told(PeerLost) == guest.told(PeerLost) == []


# The host has no part in a match that others have not


async def test_when_the_host_quits_after_the_start_the_others_play_on(people: Company) -> None:
    host = await people.sit("A")
    settings = TableSettings("Friday", CLASSIC, 3, Patience(5, 5))
    opened = await host.node.host(settings)
    guests = [await people.sit(name) for name in "BC"]
    for guest in guests:
        await guest.node.join(opened.join_line)
    await in_mid_match(host)
    await host.leave()
    ends = [await guest.until(MatchResult) for guest in guests]
    (transcript,) = {end.transcript.read_bytes() for end in ends}
    assert verify(transcript).verdict == "unproven"  # that somebody was silent is a claim
    (seat,) = [seat for seat, player in enumerate(ends[0].players) if player.name == "A"]
    assert ends[0].places[-1] == (seat,)


async def test_a_host_who_quit_is_let_back_in_by_any_player(people: Company) -> None:
    (host, near, far), _ = await people.table(3, patience=Patience(120, 5))
    await in_mid_match(near)
    await host.leave()
    where = await far.kill()  # so that one player alone knows the way
    back = await people.sit("A", home=host.node.home.path, port=free_port())
    await back.node.resume()
    await back.until(MatchStarted)
    third = await people.sit("C", home=where, port=free_port())
    await third.node.resume()
    near.go_on()
    await agree(back, near, third)


# Giving up


async def test_conceding_ends_ones_match_and_nobody_elses(people: Company) -> None:
    players, _ = await people.table(3)
    await in_mid_match(players[1], 1)
    players[1].node.concede()
    await players[1].until(ConcedeAccepted)
    await agree(*players)
    over = players[0].told(MatchResult)[0]
    (seat,) = [seat for seat, player in enumerate(over.players) if player.name == "B"]
    assert over.places[-1] == (seat,)
    assert over.confirmed


async def test_an_illegal_move_and_one_that_comes_too_late_cost_nothing(people: Company) -> None:
    (host, guest), _ = await people.table(2)
    for player in (host, guest):
        player.hold()
    async with asyncio.timeout(PATIENCE):
        while not (turns := [(player, turn) for player in (host, guest) for turn in player.told(YourTurn)]):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    player, turn = turns[0]
    if turn.view.state.bids == ():
        with pytest.raises(RulesError):
            player.node.play(Liar(), turn.token)
    with pytest.raises(NodeError, match="over"):
        player.node.play(turn.view.legal[0], turn.token - 1)
    for each in (host, guest):
        each.go_on()
    await agree(host, guest)


# The home


async def test_a_home_serves_one_node_at_a_time(people: Company) -> None:
    player = await people.sit("A")
    with pytest.raises(NodeError) as caught:
        await Node.open(player.node.home.path, "A")
    assert caught.value.code == "home-in-use"


@pytest.mark.parametrize("name", ["", "x" * 21, "a\u202eb", "два one"])
async def test_an_invalid_name_opens_no_node(tmp_path: Path, name: str) -> None:
    with pytest.raises(NodeError) as caught:
        await Node.open(tmp_path, name)
    assert caught.value.code == "failed"


@pytest.mark.parametrize("operation", ["write", *thoroughly(["remember_address", "mark_formed"]), "add_match"])
async def test_a_node_with_a_full_disk_falls_silent_says_so_and_closes_cleanly(
    people: Company, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    (host, guest), opened = await people.table(3, "AB")
    third = await people.sit("C")

    def fail(*_: object) -> None:
        raise StoreError("cannot write to the store: database or disk is full")

    monkeypatch.setattr(third.node._store, operation, fail)
    await third.node.join(opened.join_line)
    stopped = await third.until(Stopped)
    assert "disk is full" in stopped.reason
    await third.leave()
    monkeypatch.undo()
    if host.told(MatchFormed):
        back = await people.sit("C", home=third.node.home.path)
        await back.node.resume()
        await agree(host, guest, back)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("", "1 to 40 characters"),
        ("a" * 41, "1 to 40 characters"),
        ("a\nb", "(U+000A)"),
        ("\x1b[2J", "(U+001B)"),
        ("\u1019\u103c\u102d\u102f\u1037", "must not have more than 2 combining marks on a character"),
        ("\u0301a", "must not begin with a combining mark"),
    ],
)
async def test_a_name_that_cannot_be_advertised_is_refused_with_the_rule(people: Company, name: str, rule: str) -> None:
    host = await people.sit("A")
    with pytest.raises(NodeError, match="table's name") as caught:
        await host.node.host(TableSettings(name, CLASSIC, 2))
    assert rule in caught.value.hint


async def test_a_name_of_rules_that_cannot_be_advertised_is_refused_with_the_rule(people: Company) -> None:
    host = await people.sit("A")
    for name, rule in (
        ("a" * 32, "1 to 31 characters"),
        ("\u1019\u103c\u102d\u102f\u1037", "must not have more than 2 combining marks on a character"),
        ("Perudo", 'must not be "perudo"'),
        ("a  b", "no two in a row"),
    ):
        with pytest.raises(NodeError, match="name of rules") as caught:
            await host.node.host(TableSettings("Friday", CLASSIC.with_options({"dice": "1"}), 2, rules_name=name))
        assert rule in caught.value.hint


@pytest.mark.parametrize("clock", [-5.0, 1e15])
async def test_a_match_under_a_wrong_clock_is_played_to_its_end_and_locks_no_home(
    people: Company, monkeypatch: pytest.MonkeyPatch, clock: float
) -> None:
    (ada,), opened = await people.table(2, ["Ada"], ruleset=CLASSIC.with_options({"dice": "1"}))
    monkeypatch.setattr("protocol.node.session.time", SimpleNamespace(time=lambda: clock))
    (ben,) = await people.join(opened.join_line, "Ben")
    transcript = await agree(ada, ben)
    await ada.leave()
    again = await people.sit("Ada")
    assert again.node.unfinished() == ()
    (stored,) = again.node._store.matches()
    assert stored.genesis
    (path,) = archive.files_about(again.node.home, stored.match)
    assert path.read_bytes() == transcript
