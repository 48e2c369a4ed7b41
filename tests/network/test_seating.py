"""Seats at a table: a host admits and removes guests, and guests are asked before they play beside a namesake."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, get_args

import pytest

from protocol import limits
from protocol.errors import NodeError
from protocol.events import (
    Asks,
    LobbyChanged,
    MatchResult,
    NamesakeError,
    Notice,
    PlayerInfo,
    SeatAsked,
    SeatPending,
    TableClosed,
    TableJoined,
)
from protocol.match.lobby import TableSettings
from protocol.node.activities import SENDERS
from protocol.rate_limit import Bucket
from protocol.wire.frames import (
    Carried,
    Hello,
    JoinTable,
    Known,
    Leave,
    MatchAim,
    Propose,
    Seat,
    TableAim,
    WatchAim,
    Welcome,
)
from protocol.wire.genesis import match_id
from tests.network import views
from tests.network.company import bend
from tests.network.test_forming import RULES, all_play, in_room, is_bound
from tests.simulation.room import PORT, Person, Room, RoomPeer, in_a_room
from tests.simulation.small_forming import line as join_line
from tests.simulation.small_forming import sign_on
from tests.waiting import until


def me(person: Person) -> PlayerInfo:
    """Return a player's name and fingerprint as others see them."""
    return PlayerInfo(person.name, person.node.identity.fingerprint)


async def open_table(room: Room, seats: int, asks: Asks = "always") -> tuple[Person, str]:
    host = await room.sit("Host")
    await host.node.host(TableSettings("Friday", RULES, seats, asks=asks))
    return host, join_line(room, host.key, host.node.identity.fingerprint)


def begin(work: Awaitable[Any]) -> asyncio.Task[Any]:
    return asyncio.ensure_future(work)


def seated(host: Person) -> list[str]:
    return [player.name for player in host.told(LobbyChanged)[-1].players]


# Links


def test_every_kind_of_frame_has_permitted_senders() -> None:
    """After the handshake, any peer may send LEAVE; every other kind has a list of permitted senders."""
    assert {*SENDERS} == {*get_args(Known)} - {Hello, Welcome, Leave}
    assert all(SENDERS.values())


@in_room
async def test_a_seat_request_ends_with_its_link(room: Room) -> None:
    host, target = await open_table(room, 3)
    hosting = views.hosting(host)
    hosting._pace = Bucket(rate=0.2, burst=1, now=room.now)
    hosting._pace.take()
    eve = RoomPeer(room, 1)
    await eve.mesh.connect([(room.host(host.key), PORT)], TableAim(b"", ""))
    eve.say(host.key, JoinTable(sign_on(eve, host.node.table_id, bytes(32)).wire))
    await until(lambda: hosting._asking)
    await asyncio.sleep(limits.REPLACEMENT)
    await eve.mesh.connect([(room.host(host.key), PORT)], WatchAim(b"", ""))
    ben = await room.sit("Ben")
    joining = begin(ben.node.join(target))
    await until(lambda: host.told(SeatAsked))
    assert [asked.player.name for asked in host.node.asked] == ["Ben"]
    host.node.seat(me(ben))
    await joining


@in_room
async def test_a_guest_may_return_over_a_link_for_the_proposed_match(room: Room) -> None:
    host, _ = await open_table(room, 3, "never")
    proposed: list[bytes] = []
    eve = RoomPeer(room, 1, lambda _, frame: proposed.append(frame.genesis) if isinstance(frame, Propose) else None)
    await eve.mesh.connect([(room.host(host.key), PORT)], TableAim(b"", ""))
    eve.say(host.key, JoinTable(sign_on(eve, host.node.table_id, bytes(32)).wire))
    await until(lambda: seated(host)[1:])
    host.node.start_match()
    await until(lambda: proposed)
    room.cut(eve.key, host.key)
    room.mend(eve.key, host.key)
    await until(lambda: not host.node._mesh.is_linked(eve.key))
    await eve.mesh.connect([(room.host(host.key), PORT)], MatchAim(match_id(proposed[0])))
    await asyncio.sleep(2 * limits.LINK_LOST)
    assert len(seated(host)) == 2
    assert len(proposed) == 2


# Questions to the host


@in_room
async def test_a_newcomer_waits_for_the_hosts_approval(room: Room) -> None:
    host, target = await open_table(room, 3)
    ada = await room.sit("Ada")
    joining = begin(ada.node.join(target))
    await until(lambda: host.told(SeatAsked))
    assert host.told(SeatAsked) == [SeatAsked(me(ada), namesake=False, came_by="network")] == [*host.node.asked]
    await until(lambda: ada.told(SeatPending))
    await asyncio.sleep(limits.SEAT_ASKED - 10)
    assert not joining.done()
    assert seated(host) == ["Host"]
    host.node.seat(me(ada))
    await joining
    assert seated(host) == ["Host", "Ada"]
    assert host.node.asked == ()


@in_room
async def test_a_refused_guest_returns_only_with_the_hosts_approval(room: Room) -> None:
    host, target = await open_table(room, 3)
    ada = await room.sit("Ada")
    joining = begin(ada.node.join(target))
    await until(lambda: host.node.asked)
    host.node.refuse(me(ada))
    with pytest.raises(NodeError, match="sent you away"):
        await joining
    for doing in (ada.node.join, ada.node.watch):
        with pytest.raises(NodeError, match="sent you away"):
            await doing(target)
    assert len(host.told(SeatAsked)) == 1
    assert host.node.kept_out == (me(ada),)
    host.node.seat(me(ada))
    await ada.node.join(target)
    assert len(host.told(SeatAsked)) == 1
    assert seated(host) == ["Host", "Ada"]


@in_room
async def test_a_guest_allowed_only_to_watch_can_watch(room: Room) -> None:
    host, target = await open_table(room, 3)
    ada = await room.sit("Ada")
    joining = begin(ada.node.join(target))
    await until(lambda: host.node.asked)
    host.node.let_watch(me(ada))
    with pytest.raises(NodeError, match="you can watch") as caught:
        await joining
    assert caught.value.code == "full"
    await ada.node.watch(target)
    assert seated(host) == ["Host"]


@in_room
async def test_a_seat_question_without_an_answer_is_refused(room: Room) -> None:
    host, target = await open_table(room, 3)
    ada = await room.sit("Ada")
    begun = room.now
    with pytest.raises(NodeError, match="has not said"):
        await ada.node.join(target)
    assert limits.SEAT_ASKED <= room.now - begun < limits.SEAT_ASKED + 2
    assert host.node.asked == ()
    assert host.told(Notice)[-1].text == "Ada got no answer within two minutes and was turned away."


@in_room
async def test_seat_questions_end_when_the_guest_leaves_or_the_match_begins(room: Room) -> None:
    host, target = await open_table(room, 3)
    ada, ben, eve = [await room.sit(name) for name in ("Ada", "Ben", "Eve")]
    host.node.seat(me(ada))
    await ada.node.join(target)
    leaving, waiting = begin(ben.node.join(target)), begin(eve.node.join(target))
    await until(lambda: len(host.node.asked) == 2)
    leaving.cancel()
    await ben.node.close()
    ben.is_running = False
    await until(lambda: len(host.node.asked) == 1)
    assert [event.text for event in host.told(Notice)] == ["Ben no longer asks for a seat."]
    host.node.start_match()
    await all_play(host, ada)
    with pytest.raises(NodeError, match="has begun"):
        await waiting
    assert host.node.asked == ()


@in_room
async def test_only_a_few_seat_questions_are_open_at_once(room: Room) -> None:
    host, target = await open_table(room, 10)
    crowd = [await room.sit(f"Eve{number}") for number in range(limits.SEATS_ASKED + 1)]
    joining = [begin(eve.node.join(target)) for eve in crowd[:-1]]
    await until(lambda: len(host.node.asked) == limits.SEATS_ASKED)
    with pytest.raises(NodeError, match="about somebody else") as caught:
        await crowd[-1].node.join(target)
    assert caught.value.code == "full"
    for eve in crowd[:-1]:
        host.node.refuse(me(eve))
    assert len(await asyncio.gather(*joining, return_exceptions=True)) == limits.SEATS_ASKED
    last = begin(crowd[-1].node.join(target))
    await until(lambda: host.node.asked)
    host.node.seat(me(crowd[-1]))
    await last


@in_room
async def test_seat_questions_from_one_machine_are_limited(room: Room) -> None:
    host, target = await open_table(room, 10)
    room.host = lambda key, of=room.host: of(key) if key == host.key else "10.0.0.99"  # type: ignore[method-assign, misc]
    for number in range(limits.QUESTION_BURST):
        eve, other = await room.sit(f"Eve{number}"), await room.sit(f"Other{number}")
        joining = begin(eve.node.join(target))
        await until(lambda: host.node.asked)
        with pytest.raises(NodeError, match="about somebody else"):
            await other.node.join(target)
        host.node.refuse(me(eve))
        with pytest.raises(NodeError, match="sent you away"):
            await joining
    late = await room.sit("Late")
    with pytest.raises(NodeError, match="about somebody else"):
        await late.node.join(target)
    await asyncio.sleep(1 / limits.QUESTION_RATE)
    joining = begin(late.node.join(target))
    await until(lambda: host.node.asked)
    host.node.seat(me(late))
    await joining


@pytest.mark.parametrize(("asks", "is_asked"), [("never", False), ("strangers", True), ("always", True)])
def test_the_host_is_asked_about_a_trusted_name_with_another_key(tmp_path: Any, asks: Asks, is_asked: bool) -> None:
    async def scene(room: Room) -> None:
        host, target = await open_table(room, 3, asks)
        ben, false = await room.sit("Ben"), await room.sit("Ada")
        host.node.trust(PlayerInfo("Ada", ben.node.identity.fingerprint))
        joining = begin(false.node.join(target))
        await until(lambda: host.node.asked if is_asked else joining.done())
        assert host.told(SeatAsked) == ([SeatAsked(me(false), True, "network")] if is_asked else [])
        host.node.seat(me(false))
        await joining
        if asks != "always":  # otherwise the host would be asked about Ben too
            await ben.node.join(target)
            await all_play(host, ben, false)

    in_a_room(tmp_path, 1, scene)


def call_oneself(person: Person, name: str, host: Person) -> None:
    """Send another JOIN, under another name."""
    person.node.name = name
    person.node._runtime.post(host.key, JoinTable(views.proposals(person).sign_on(host.node.table_id).wire))


@in_room
async def test_an_answer_applies_only_to_the_name_that_was_shown(room: Room) -> None:
    host, target = await open_table(room, 3)
    ben, eve = await room.sit("Ben"), await room.sit("Zoe")
    host.node.trust(PlayerInfo("Ada", ben.node.identity.fingerprint))
    joining, zoe = begin(eve.node.join(target)), me(eve)
    await until(lambda: host.node.asked)
    call_oneself(eve, "Ada", host)
    await until(lambda: len(host.told(SeatAsked)) == 2)
    ada = PlayerInfo("Ada", zoe.fingerprint)
    assert host.node.asked == (SeatAsked(ada, namesake=True, came_by="network"),)
    assert [event.text for event in host.told(Notice)] == ["Zoe no longer asks for a seat."]
    host.node.seat(zoe)  # the owner answers the old question just as it changes
    await asyncio.sleep(1)
    call_oneself(eve, "Ada", host)
    await asyncio.sleep(1)
    assert seated(host) == ["Host"]
    assert host.node.asked
    host.node.seat(ada)
    await joining
    assert seated(host) == ["Host", "Ada"]


@in_room
async def test_a_newcomer_who_keeps_changing_names_is_refused(room: Room) -> None:
    host, target = await open_table(room, 3)
    eve = await room.sit("Eve")
    joining = begin(eve.node.join(target))
    await until(lambda: host.node.asked)
    for number in range(limits.QUESTION_BURST):
        call_oneself(eve, f"Eve{number}", host)
        await asyncio.sleep(0.5)
    with pytest.raises(NodeError, match="about somebody else"):
        await joining
    assert len(host.told(SeatAsked)) == limits.QUESTION_BURST
    assert host.node.asked == ()


@pytest.mark.parametrize("asks", ["never", "strangers", "always"])
def test_a_guest_who_changes_its_name_loses_its_seat(tmp_path: Any, asks: Asks) -> None:
    async def scene(room: Room) -> None:
        host, target = await open_table(room, 3, asks)
        eve = await room.sit("Zoe")
        host.node.seat(me(eve))
        await eve.node.join(target)
        call_oneself(eve, "Ada", host)
        await until(lambda: eve.told(TableClosed))
        assert "cannot change names" in eve.told(TableClosed)[0].reason
        assert seated(host) == ["Host"]

    in_a_room(tmp_path, 1, scene)


@in_room
async def test_the_host_is_asked_about_a_former_player_with_a_new_name(room: Room) -> None:
    host, target = await open_table(room, 2)
    eve = await room.sit("Zoe")
    host.node.seat(me(eve))
    await eve.node.join(target)
    await all_play(host, eve)
    eve.node.concede()
    await until(lambda: host.told(MatchResult) and eve.told(MatchResult))
    await host.node.host(TableSettings("Friday", RULES, 2, asks="always"))
    eve.node.name = "Ada"
    joining = begin(eve.node.join(target))
    await until(lambda: host.node.asked or joining.done())
    assert [each.player.name for each in host.node.asked] == ["Ada"]
    joining.cancel()


# The host removes a guest


@in_room
async def test_a_removed_guest_returns_only_with_the_hosts_approval(room: Room) -> None:
    host, target = await open_table(room, 3, "never")
    ada, eve = await room.sit("Ada"), await room.sit("Eve")
    for guest in (ada, eve):
        await guest.node.join(target) if guest is ada else None
    await eve.node.watch(target)
    host.node.remove(me(ada))
    await until(lambda: ada.told(TableClosed))
    assert [(event.code, event.reason) for event in ada.told(TableClosed)] == [
        ("refused", "the host has sent you away from this table")
    ]
    assert seated(host) == ["Host"]
    assert [player.name for player in host.told(LobbyChanged)[-1].left] == ["Ada"]
    with pytest.raises(NodeError, match="sent you away"):
        await ada.node.join(target)
    host.node.seat(me(ada))
    await ada.node.join(target)
    assert seated(host) == ["Host", "Ada"]


@in_room
async def test_a_removal_takes_back_the_hosts_approval_of_every_name_of_that_guest(room: Room) -> None:
    host, target = await open_table(room, 3)
    eve = await room.sit("Eve")
    host.node.seat(me(eve))
    await eve.node.join(target)
    host.node.remove(me(eve))
    await until(lambda: eve.told(TableClosed))
    host.node.seat(PlayerInfo("Zoe", me(eve).fingerprint))
    joining = begin(eve.node.join(target))
    await until(lambda: host.node.asked)
    host.node.seat(me(eve))
    await joining


@in_room
async def test_a_guest_can_be_removed_during_a_proposal(room: Room) -> None:
    host, target = await open_table(room, 3, "never")
    ada, eve, ben = [await room.sit(name) for name in ("Ada", "Eve", "Ben")]
    await ada.node.join(target)
    bend(eve, lambda _, frame: not isinstance(frame, Carried))
    await eve.node.join(target)
    await until(lambda: host.node.match is not None)
    host.node.remove(me(eve))
    assert host.node.match is None  # no proposal is left to show
    await until(lambda: ada.node.match is None)
    await ben.node.join(target)
    await all_play(host, ada, ben)
    assert not is_bound(eve)
    with pytest.raises(NodeError, match="has begun"):
        host.node.remove(me(ben))


@in_room
async def test_only_the_host_can_remove_a_guest(room: Room) -> None:
    host, target = await open_table(room, 3, "never")
    ada = await room.sit("Ada")
    with pytest.raises(NodeError, match="does not sit"):
        host.node.remove(me(ada))
    await ada.node.join(target)
    with pytest.raises(NodeError, match="only the host"):
        ada.node.remove(me(host))


# A guest and a namesake of a trusted player


@in_room
async def test_a_guest_joins_beside_a_namesake_only_if_its_owner_agrees(room: Room) -> None:
    host, target = await open_table(room, 4, "never")
    ada, false = await room.sit("Ben"), await room.sit("Ada")
    await false.node.join(target)
    ada.node.trust(PlayerInfo("Ada", host.node.identity.fingerprint))
    with pytest.raises(NamesakeError, match="another key") as caught:
        await ada.node.join(target)
    assert caught.value.players == (me(false),)
    assert seated(host) == ["Host", "Ada"]
    assert not ada.told(TableJoined)
    ada.node.seat(me(false))
    await ada.node.join(target)
    host.node.start_match()
    await all_play(host, ada, false)


@in_room
async def test_a_guest_plays_beside_a_later_namesake_if_its_owner_agrees(room: Room) -> None:
    host, target = await open_table(room, 4, "never")
    ben, false = await room.sit("Ben"), await room.sit("Ada")
    ben.node.trust(PlayerInfo("Ada", host.node.identity.fingerprint))
    await ben.node.join(target)
    await false.node.join(target)
    await until(lambda: ben.told(SeatAsked))
    assert ben.told(SeatAsked) == [SeatAsked(me(false), namesake=True)]
    ben.node.seat(me(false))
    host.node.start_match()
    await all_play(host, ben, false)


@in_room
async def test_a_guest_whose_owner_does_not_accept_a_namesake_gives_up_its_seat(room: Room) -> None:
    host, target = await open_table(room, 3, "never")
    ben, false = await room.sit("Ben"), await room.sit("Ada")
    ben.node.trust(PlayerInfo("Ada", host.node.identity.fingerprint))
    await ben.node.join(target)
    begun = room.now
    await false.node.join(target)  # all seats are taken: a match is proposed at once
    await until(lambda: ben.told(TableClosed))
    assert "another key" in ben.told(TableClosed)[0].reason
    assert not is_bound(ben)
    await until(lambda: seated(host) == ["Host", "Ada"])
    assert room.now - begun < 1
    with pytest.raises(NamesakeError):
        await ben.node.join(target)
    ben.node.seat(me(false))
    await ben.node.join(target)
    await all_play(host, ben, false)


@in_room
async def test_a_guest_leaves_a_host_who_says_pending_endlessly(room: Room) -> None:
    host, target = await open_table(room, 3, "never")
    ada = await room.sit("Ada")
    bend(host, lambda _, frame: Seat(0) if isinstance(frame, Seat) else True)
    begun = room.now
    with pytest.raises(NodeError, match="gave you no seat"):
        await ada.node.join(target)
    assert limits.SEAT_ASKED < room.now - begun < limits.SEAT_ASKED + 10
    assert len(ada.told(SeatPending)) == 1
