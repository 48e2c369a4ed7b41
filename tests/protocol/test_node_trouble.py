"""Nodes over real sockets when a player leaves, crashes, comes back, concedes or runs out of disk space."""

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
from protocol.wire.frames import Carried, Frame, Page
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind
from tests.disks import disk_is_full
from tests.network import views
from tests.network.company import CLASSIC, HOST, IMPATIENT, Company, Player, agree, in_mid_match
from tests.protocol.test_node import multicast
from tests.tiers import thoroughly
from tests.waiting import until

# Before the match


async def test_a_guest_who_leaves_frees_the_seat_for_another(people: Company) -> None:
    (host, first), opened = await people.table(3, "AB")
    await first.leave()
    assert first.told(TableClosed) == []  # it left on its own
    gone = await host.until(LobbyChanged, lambda event: bool(event.left))
    assert [player.name for player in gone.left] == ["B"]
    second, third = await people.sit("C"), await people.sit("D")
    await second.node.join(opened.join_line)
    await third.node.join(opened.join_line)
    await agree(host, second, third)


async def test_the_table_closes_when_the_host_leaves(people: Company) -> None:
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


async def test_a_guest_who_crashes_while_the_match_forms_is_replaced(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("protocol.limits.LINK_LOST", 0.2)
    (host, second), opened = await people.table(3, "AB")
    dying = await people.sit("C")
    say_nothing(dying)
    await dying.node.join(opened.join_line)
    await until(lambda: dying.node.match is not None)
    await dying.kill()
    await host.until(LobbyChanged, lambda event: [player.name for player in event.left] == ["C"])
    (late,) = await people.join(opened.join_line, "D")
    await agree(host, second, late)
    assert {player.name for player in late.told(MatchStarted)[0].players} == {"A", "B", "D"}


async def test_a_link_that_breaks_while_the_match_forms_is_restored(people: Company) -> None:
    """While a match forms, both sides wait for a lost link and either side redials."""
    host, guest = await people.sit("A"), await people.sit("B")
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 2))
    broken: list[bytes] = []

    def break_once(identity: bytes, frame: bytes) -> bool:
        if frame[1] != 7 or broken:  # 7: a signed message; the first one signs the genesis
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
    """Drop every signed message that a node sends."""
    views.send_only(player, lambda _, frame: frame[1] != 7)


def lose_commitments(player: Player) -> None:
    """Drop every COMMIT sent to a node."""

    def takes(_: bytes, frame: Frame) -> bool:
        messages = frame.messages if isinstance(frame, Page) else [frame] if isinstance(frame, Carried) else []
        return all(parse_signed(*signed).message.kind is not Kind.COMMIT for signed in messages)

    views.hear_only(player, takes)


async def test_a_guest_who_crashed_just_before_the_match_was_formed_can_resume_it(
    people: Company,
) -> None:
    """The match has started for the other players, so the last signer must be able to join it."""
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
        # Two of three players are a majority and could go on alone; one of two is not.
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


async def test_players_who_were_all_killed_at_once_resume_one_by_one(people: Company) -> None:
    players, _ = await people.table(3)
    await in_mid_match(players[0])
    homes = [await player.kill() for player in players]
    back = []
    for player, home in zip(players, homes, strict=True):
        back.append(await people.sit(player.name, home=home))
        await back[-1].node.resume()
    await agree(*back)


async def test_a_player_who_quits_in_mid_match_can_come_back(people: Company) -> None:
    (host, guest), _ = await people.table(2)
    await in_mid_match(guest)
    await guest.leave()
    await host.until(Suspended)
    back = await people.sit("B", home=guest.node.home.path)
    (unfinished,) = back.node.unfinished()
    await back.node.resume(unfinished.match.hex()[:6])
    await agree(host, back)
    assert back.node.unfinished() == ()


# Once the match has started, the host is an ordinary player


async def away(player: Player, is_killed: bool) -> Path:
    """Kill a player, or let them leave properly; return their home directory."""
    if is_killed:
        return await player.kill()
    await player.leave()
    return player.node.home.path


async def test_quitting_is_distinguished_from_a_lost_link(people: Company) -> None:
    players, opened = await people.table(3)
    await in_mid_match(players[0])
    watching = await people.sit("W")
    await watching.node.watch(opened.join_line)
    await until(lambda: len(watching.node._mesh.linked()) == 3)
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


@pytest.mark.parametrize(
    ("is_killed", "in_middle"),
    [(False, False), (True, False), (False, True)],
    ids=["quits after the start", "is killed after the start", "quits in mid-match"],
)
async def test_the_others_go_on_when_the_host_leaves(people: Company, is_killed: bool, in_middle: bool) -> None:
    (host, *others), _ = await people.table(3, patience=IMPATIENT)
    await (in_mid_match(host) if in_middle else host.until(MatchFormed))
    await away(host, is_killed)
    ends = [await other.until(MatchResult) for other in others]
    assert ends[0].transcript.read_bytes() == ends[1].transcript.read_bytes()
    assert ends[0].places == ends[1].places
    assert [ends[0].players[seat].name for seat in ends[0].places[-1]] == ["A"]
    # A transcript cannot prove that a player was silent.
    assert verify(ends[0].transcript.read_bytes()).verdict == "unproven"


@pytest.mark.parametrize("is_killed", [*thoroughly([False]), True], ids=["quits", "is killed"])
@pytest.mark.parametrize("through", ["B", "C"])
async def test_the_host_comes_back_through_any_other_player(people: Company, is_killed: bool, through: str) -> None:
    """Only one other player is online when the host returns; the third returns later."""
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
    await until(lambda: back.node._mesh.is_linked(there.node.identity.public))
    returned = await people.sit(missing.name, home=missing_home)
    await returned.node.resume()
    there.go_on()
    await agree(back, there, returned)


@pytest.mark.multicast
async def test_players_who_all_resume_at_new_ports_find_each_other_by_multicast(
    people: Company,
) -> None:
    """Every player has a new port, so every stored address is out of date."""
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


async def test_the_last_message_of_a_killed_node_can_still_be_fetched(people: Company) -> None:
    """The killed node knew the end and had the transcript, but its last message had reached no other player."""
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
    """Drop everything that a node sends once its match has ended."""
    views.send_only(player, lambda *_: not player.node.match.is_ended)  # type: ignore[union-attr]


async def test_resuming_without_a_match_is_refused(people: Company) -> None:
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
    await until(lambda: host.node._mesh._peers.keys() == before.keys() and host.node._mesh._peers != before)
    guest.go_on()
    await agree(host, guest)
    assert not host.told(PeerLost)  # a loss of under a second is not reported
    assert not host.told(PeerBack)


async def test_all_links_are_reopened_after_a_sleep(people: Company) -> None:
    """After a sleep a link may be dead on the other side without any sign of it here."""
    (host, guest), _ = await people.table(2)
    await in_mid_match(guest)
    before = dict(host.node._mesh._peers)
    await asyncio.sleep(limits.REPLACEMENT)
    await host.node._active.interfaces_changed()
    await until(lambda: host.node._mesh._peers.keys() == before.keys() and host.node._mesh._peers != before)
    guest.go_on()
    await agree(host, guest)
    assert host.told(PeerLost) == guest.told(PeerLost) == []


async def test_a_host_who_quit_can_come_back_through_the_only_player_left(people: Company) -> None:
    (host, near, far), _ = await people.table(3, patience=Patience(120, 5))
    await in_mid_match(near)
    await host.leave()
    where = await far.kill()  # only one player is left who knows the host
    back = await people.sit("A", home=host.node.home.path, port=free_port())
    await back.node.resume()
    await back.until(MatchStarted)
    third = await people.sit("C", home=where, port=free_port())
    await third.node.resume()
    near.go_on()
    await agree(back, near, third)


# Giving up


async def test_conceding_ends_the_match_only_for_the_player_who_concedes(people: Company) -> None:
    players, _ = await people.table(3)
    await in_mid_match(players[1], 1)
    players[1].node.concede()
    await players[1].until(ConcedeAccepted)
    await agree(*players)
    over = players[0].told(MatchResult)[0]
    (seat,) = [seat for seat, player in enumerate(over.players) if player.name == "B"]
    assert over.places[-1] == (seat,)
    assert over.confirmed


async def test_illegal_and_late_moves_are_refused_without_harm(people: Company) -> None:
    (host, guest), _ = await people.table(2)
    for player in (host, guest):
        player.hold()
    await until(lambda: host.told(YourTurn) or guest.told(YourTurn))
    player, turn = next((player, turn) for player in (host, guest) for turn in player.told(YourTurn))
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
async def test_a_node_with_a_full_disk_stops_with_a_reason_and_closes_cleanly(
    people: Company, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    (host, guest), opened = await people.table(3, "AB")
    third = await people.sit("C")

    monkeypatch.setattr(third.node._store, operation, disk_is_full)
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
async def test_an_invalid_table_name_is_refused_with_the_rule(people: Company, name: str, rule: str) -> None:
    host = await people.sit("A")
    with pytest.raises(NodeError, match="table's name") as caught:
        await host.node.host(TableSettings(name, CLASSIC, 2))
    assert rule in caught.value.hint


async def test_an_invalid_name_of_rules_is_refused_with_the_rule(people: Company) -> None:
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
async def test_a_wrong_clock_neither_stops_a_match_nor_makes_the_home_unusable(
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
