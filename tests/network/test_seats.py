"""Seats at a table that opens again, and players who find no free seat."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from protocol.errors import NodeError
from protocol.events import AwaitingHost, LobbyChanged, MatchResult, MatchStarted, TableJoined
from protocol.node.locator import Target
from protocol.node.watching import SpectatorSession
from tests.network.company import Player
from tests.network.test_again import Evening, evening, friday, quickly
from tests.waiting import until

__all__ = ["evening", "quickly"]


async def until_no_seat(player: Player) -> None:
    """Wait until a player is notified that no seat is free."""
    await player.until(AwaitingHost, lambda event: event.host_is == "full")


async def test_seats_are_reserved_briefly_for_the_last_matchs_players(
    evening: Evening, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, (host, guest, watching) = await evening.begin(friday(2), is_watched=True)
    await evening.end(host, guest, watching)
    opened = await evening.open(host, friday(2))
    waiting = asyncio.create_task(evening.rejoin(watching))
    await until_no_seat(watching)
    newcomer = await evening.people.sit("N")
    with pytest.raises(NodeError, match="kept for a moment") as caught:
        await newcomer.node.join(opened.join_line)
    assert caught.value.code == "full"
    await evening.rejoin(guest)
    await evening.end(host, guest)

    monkeypatch.setattr("protocol.node.host.KEPT", 0.3)
    await evening.open(host, friday(2))
    await waiting
    evening.began[watching] = watching.events.index(await watching.until(TableJoined))
    await evening.end(host, watching)


async def test_a_waiting_player_gets_a_seat_if_the_match_ends_before_it_is_watched(
    evening: Evening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The player once watched the new table instead of joining it, and the table waited for that player forever."""
    _, (host, guest, watching) = await evening.begin(friday(2, dice="5"), is_watched=True)
    await evening.end(host, guest, watching)
    await evening.open(host, friday(2, dice="5"))
    host.hold()
    await evening.rejoin(guest)
    await evening.told(guest, MatchStarted)
    is_open, enter = asyncio.Event(), SpectatorSession.enter

    async def enter_late(session: SpectatorSession, places: Sequence[Target]) -> None:
        await is_open.wait()
        await enter(session, places)

    monkeypatch.setattr(SpectatorSession, "enter", enter_late)
    monkeypatch.setattr("protocol.node.host.KEPT", 0.1)
    waiting = asyncio.create_task(evening.rejoin(watching))
    await watching.until(AwaitingHost, lambda event: event.host_is == "playing")
    host.go_on()
    await evening.end(host, guest)
    await evening.open(host, friday(2))
    is_open.set()
    await waiting
    evening.began[watching] = watching.events.index(await watching.until(TableJoined))
    await evening.end(host, watching)


async def test_a_player_without_a_seat_watches_and_then_plays_the_next_match(evening: Evening) -> None:
    _, (host, guest, watching) = await evening.begin(friday(2, dice="5"), is_watched=True)
    await evening.end(host, guest, watching)
    await evening.open(host, friday(2, dice="5"))
    host.hold()
    await evening.rejoin(guest)
    await evening.told(guest, MatchStarted)
    waiting = asyncio.create_task(evening.rejoin(watching))
    seen = await watching.until(MatchStarted, lambda event: event.resumed)
    assert seen.my_seat is None
    before = len(watching.events)
    host.go_on()
    await evening.end(host, guest)
    await watching.until(MatchResult, after=before)
    assert not waiting.done()
    evening.began[watching] = len(watching.events)
    await evening.open(host, friday(3))
    await evening.rejoin(guest)
    await waiting
    await watching.until(TableJoined)
    await evening.end(host, guest, watching)


async def test_no_seat_is_reserved_for_a_player_who_left(evening: Evening) -> None:
    opened, (host, guest) = await evening.begin(friday(2))
    await evening.end(host, guest)
    await guest.leave()
    await until(lambda: not host.node._mesh.linked())
    await evening.open(host, friday(2))
    newcomer = await evening.sit("N", opened.join_line)
    await host.until(LobbyChanged, lambda event: [each.name for each in event.joined] == ["N"])
    await evening.end(host, newcomer)
