"""The mesh dials, replaces and closes links, and leaves none behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from protocol import limits
from protocol.crypto.keys import Identity
from protocol.crypto.tls import credentials
from protocol.net.addresses import Address
from protocol.net.dialer import DialError
from protocol.net.link import Link
from protocol.net.listener import listen
from protocol.net.mesh import REPLACED, Mesh
from protocol.wire.frames import Aim, CodeAim, Cut, MatchAim, TableAim, WatchAim
from tests.programs import PATIENCE
from tests.protocol.links import Nobody, Peer
from tests.simulation.room import Room, RoomPeer, in_a_room
from tests.waiting import until

HOST = "127.0.0.1"


@pytest.mark.parametrize("turns", range(8))
async def test_a_listener_closed_at_any_moment_leaves_no_connection_open(turns: int) -> None:
    """Close the listener after this many event loop turns. An unclosed socket would raise a ResourceWarning."""
    listener = await listen((HOST,), 0, credentials(Identity.generate().private_key), Nobody())
    strangers = [socket.create_connection((HOST, listener.port)) for _ in range(3)]
    for _ in range(turns):
        await asyncio.sleep(0)
    listener.close()
    loop = asyncio.get_running_loop()
    for stranger in strangers:
        stranger.setblocking(False)
        async with asyncio.timeout(PATIENCE):
            with contextlib.suppress(ConnectionError):
                assert await loop.sock_recv(stranger, 1) == b""
        stranger.close()
    gc.collect()


async def linked(one: Peer, other: Peer) -> None:
    """Wait until a peer has a link to another."""
    await until(lambda: one.mesh.is_linked(other.key))


async def dials(one: Peer, other: Peer, where: list[list[Address]], *, times: int) -> None:
    """Keep a link from one peer to another, and wait until its addresses were requested ``times`` times.

    :param where: lists of addresses; the last list is the current one.
    """
    asked = 0

    def addresses() -> list[Address]:
        nonlocal asked
        asked += 1
        return where[-1]

    one.mesh.keep(other.key, addresses, lambda: AIM, 0.0)
    await until(lambda: asked >= times)


@contextlib.asynccontextmanager
async def peers(count: int) -> AsyncIterator[list[Peer]]:
    opened = [Peer() for _ in range(count)]
    for each in opened:
        await each.mesh.listen(0, (HOST,))
    yield opened
    for each in opened:
        await each.mesh.close()


AIM = TableAim(b"", "")


async def test_a_peer_is_dialled_at_once_on_demand_whatever_failed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BACKOFF", (3600.0,))
    async with peers(2) as (ada, ben):
        where = [[(HOST, 1)]]
        await dials(ada, ben, where, times=1)
        await asyncio.sleep(0.1)
        assert not ada.mesh.is_linked(ben.key)
        where.append([(HOST, ben.mesh.port)])
        ada.mesh.dial_anew()
        await linked(ada, ben)


async def test_a_linked_peer_is_dialled_once_on_demand() -> None:
    async with peers(2) as (ada, ben):
        asked: list[None] = []

        def addresses() -> list[Address]:
            asked.append(None)
            return [(HOST, ben.mesh.port)]

        ada.mesh.keep(ben.key, addresses, lambda: AIM, 0.0)
        await linked(ada, ben)
        ada.mesh.dial_anew()
        await until(lambda: len(asked) == 2)
        await asyncio.sleep(0.3)
        assert len(asked) == 2
        assert ada.mesh.is_linked(ben.key)


async def test_connecting_skips_strangers_at_a_peers_addresses() -> None:
    """A search for one player dials every address that advertises the match."""
    async with peers(4) as (ada, ben, *others):
        where = [(HOST, each.mesh.port) for each in (*others, ben)]
        for _ in range(5):
            assert await ada.mesh.connect(where, AIM, ben.key.__eq__) == ben.key
            ada.mesh.disconnect(ben.key)


async def test_a_stranger_at_a_wanted_peers_address_gets_no_link() -> None:
    async with peers(3) as (ada, ben, stranger):
        where = [[(HOST, stranger.mesh.port)]]
        await dials(ada, ben, where, times=2)
        assert not ada.mesh.linked()
        where.append([(HOST, ben.mesh.port)])
        await linked(ada, ben)
        assert ada.mesh.linked() == (ben.key,)


async def test_a_program_is_told_that_another_with_the_same_key_replaced_it_before_its_link_ends() -> None:
    async with peers(2) as (ben, ada):
        where = [(HOST, ben.mesh.port)]
        await ada.mesh.connect(where, AIM)
        other = Peer(ada.identity)
        await other.mesh.connect(where, AIM)
        await until(lambda: "down" in ada.told)
        await other.mesh.close()
        assert ada.told == [REPLACED, "down"]
        assert other.told == ["down"]


async def test_a_program_that_replaces_its_own_link_gets_no_notice_of_replacement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The end of the old connection may arrive before the answer on the new one."""
    take_answer = Mesh._take_answer
    async with peers(2) as (ben, ada):
        where = [(HOST, ben.mesh.port)]
        await ada.mesh.connect(where, AIM)

        def late(*answer: Any) -> None:
            asyncio.get_running_loop().call_later(0.3, take_answer, *answer)

        monkeypatch.setattr(Mesh, "_take_answer", late)
        await ada.mesh.connect(where, AIM)
        assert ada.mesh.is_linked(ben.key)
        assert (ada.told, ben.told) == (["down"], [])


@pytest.mark.parametrize(
    ("asked", "aim", "is_answer"),
    [
        (TableAim(b"", ""), TableAim(bytes(16), ""), True),
        (TableAim(b"", ""), MatchAim(bytes(32)), False),
        (TableAim(b"", ""), WatchAim(b"", ""), False),
        (MatchAim(bytes(32)), MatchAim(bytes(32)), True),
        (MatchAim(bytes(32)), MatchAim(b"\1" * 32), False),
        (MatchAim(bytes(32)), TableAim(bytes(16), ""), False),
        (MatchAim(bytes(32)), WatchAim(b"", ""), False),
        (MatchAim(bytes(32)), CodeAim(417), False),
        (WatchAim(b"", ""), TableAim(bytes(16), ""), True),
        (WatchAim(b"", ""), MatchAim(bytes(32)), True),
        (WatchAim(b"", ""), WatchAim(b"", ""), False),
        (CodeAim(417), TableAim(bytes(16), ""), True),
        (CodeAim(417), CodeAim(417), False),
    ],
)
async def test_a_dialled_peer_cannot_change_the_purpose_of_the_link(asked: Aim, aim: Aim, is_answer: bool) -> None:
    """Otherwise a host that dials a peer for a match could be made to let it watch or join a private table."""
    async with peers(2) as (ada, eve):
        eve.welcome = lambda *_: aim  # type: ignore[method-assign]
        with contextlib.nullcontext() if is_answer else pytest.raises(DialError, match="does not keep to the protocol"):
            await ada.mesh.connect([(HOST, eve.mesh.port)], asked)
        assert ada.mesh.asked(eve.key) == (asked if is_answer else None)
        if is_answer:
            assert eve.mesh.is_linked(ada.key)
            assert eve.mesh.asked(ada.key) is None


CUTS = [Cut(bytes(32), (author,)) for author in range(3)]


@pytest.mark.parametrize(("aim", "expected"), [(AIM, 3), (WatchAim(b"", ""), 1)], ids=["player", "spectator"])
async def test_frames_sent_together_reach_a_spectator_in_one_record(
    monkeypatch: pytest.MonkeyPatch, aim: Aim, expected: int
) -> None:
    """A player receives each frame at once, in a record of its own."""
    async with peers(2) as (host, other):
        await other.mesh.connect([(HOST, host.mesh.port)], aim)
        await linked(host, other)
        arrived: list[int] = []
        take = Link.data_received

        def count(self: Link, data: bytes, records: int) -> None:
            arrived.append(records)
            take(self, data, records)

        monkeypatch.setattr(Link, "data_received", count)
        for cut in CUTS:
            host.say(other.key, cut)
        await until(lambda: len(other.told) >= len(CUTS))
        assert other.told == CUTS
        assert sum(arrived) == expected


def test_frames_for_a_spectator_are_sent_at_most_once_in_each_delay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the frames are spread over time, which is virtual here."""
    monkeypatch.setattr(Room, "delay", lambda _: 0.001)
    arrived: list[float] = []

    async def scene(room: Room) -> None:
        host, other = RoomPeer(room, 1), RoomPeer(room, 2, lambda *_: arrived.append(room.now))
        await other.mesh.connect([host.address], WatchAim(b"", ""))
        for number in range(40):
            host.say(other.key, CUTS[number % 3])
            await asyncio.sleep(0.4 * limits.SPECTATOR_DELAY)
        await asyncio.sleep(1)

    in_a_room(tmp_path, 1, scene)
    assert len(arrived) == 40
    pauses = [later - earlier for earlier, later in itertools.pairwise(arrived) if later - earlier > 0.001]
    assert min(pauses) > 0.99 * limits.SPECTATOR_DELAY


@pytest.mark.parametrize("ends_all", [False, True])
async def test_a_spectator_receives_buffered_frames_before_its_link_ends(
    monkeypatch: pytest.MonkeyPatch, ends_all: bool
) -> None:
    monkeypatch.setattr(limits, "SPECTATOR_DELAY", 10 * PATIENCE)
    async with peers(2) as (host, other):
        await other.mesh.connect([(HOST, host.mesh.port)], WatchAim(b"", ""))
        await linked(host, other)
        for cut in CUTS:
            host.say(other.key, cut)
        if ends_all:
            await host.mesh.close()
        else:
            host.mesh.disconnect(other.key)
        await until(lambda: "down" in other.told)
        assert other.told == [*CUTS, "down"]
