"""The mesh ends what it began, whenever it is told to, and begins anew."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from protocol import limits
from protocol.crypto.keys import Identity
from protocol.crypto.tls import credentials
from protocol.net.dialer import DialError
from protocol.net.link import Link
from protocol.net.listener import listen
from protocol.net.mesh import REPLACED, Mesh
from protocol.wire.frames import Aim, CodeAim, Cut, Frame, Hello, MatchAim, Refuse, TableAim, WatchAim, encode_frame
from tests.programs import PATIENCE

HOST = "127.0.0.1"


class Nobody:
    """An owner of links that gets none."""

    def link_up(self, link: Link) -> None:
        raise AssertionError("nobody completes a handshake here")

    def frame_received(self, link: Link, frame: bytes) -> None:
        raise AssertionError("nobody sends anything here")

    def link_down(self, link: Link, reason: str) -> None:
        raise AssertionError("there was no link")


@pytest.mark.parametrize("turns", range(8))
async def test_a_listener_closed_at_any_moment_leaves_no_connection_open(turns: int) -> None:
    """Closed this many passes of the event loop after strangers have connected; a forgotten socket would warn."""
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


class Peer:
    """An owner that welcomes everybody and says nothing."""

    def __init__(self, identity: Identity | None = None) -> None:
        self.identity = identity or Identity.generate()
        self.told: list[Frame | str] = []
        self.mesh = Mesh(credentials(self.identity.private_key), self)

    def welcome(self, identity: bytes, hello: Hello) -> Aim | Refuse:
        return TableAim(bytes(16), "") if isinstance(hello.aim, WatchAim) else hello.aim

    def peer_up(self, identity: bytes, aim: Aim, at: tuple[str, int]) -> None:
        """Nothing follows from it."""

    def peer_frame(self, identity: bytes, frame: Frame) -> None:
        self.told.append(frame)

    def peer_down(self, identity: bytes, reason: str) -> None:
        self.told.append("down")

    async def until_linked(self, other: Peer) -> None:
        async with asyncio.timeout(PATIENCE):
            while not self.mesh.is_linked(other.identity.public):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def dials(self, other: Peer, where: list[list[tuple[str, int]]], *, times: int) -> None:
        """Keep a link to another from now on, and wait until that was begun so many times.

        :param where: the last of these is where the other is.
        """
        asked = 0

        def addresses() -> list[tuple[str, int]]:
            nonlocal asked
            asked += 1
            return where[-1]

        self.mesh.keep(other.identity.public, addresses, lambda: AIM, 0.0)
        async with asyncio.timeout(PATIENCE):
            while asked < times:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


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
        await ada.dials(ben, where, times=1)
        await asyncio.sleep(0.1)
        assert not ada.mesh.is_linked(ben.identity.public)
        where.append([(HOST, ben.mesh.port)])
        ada.mesh.dial_anew()
        await ada.until_linked(ben)


async def test_strangers_that_answer_at_a_peers_addresses_are_passed_over() -> None:
    """All who advertise a match are dialled in the search for one of them."""
    async with peers(4) as (ada, ben, *others):
        where = [(HOST, each.mesh.port) for each in (*others, ben)]
        for _ in range(5):
            assert await ada.mesh.connect(where, AIM, ben.identity.public.__eq__) == ben.identity.public
            ada.mesh.disconnect(ben.identity.public)


async def test_a_stranger_at_the_address_of_a_wanted_peer_gets_no_link() -> None:
    async with peers(3) as (ada, ben, stranger):
        where = [[(HOST, stranger.mesh.port)]]
        await ada.dials(ben, where, times=2)
        assert not ada.mesh.linked()
        where.append([(HOST, ben.mesh.port)])
        await ada.until_linked(ben)
        assert ada.mesh.linked() == (ben.identity.public,)


async def test_a_program_whose_place_another_with_the_same_key_takes_is_told_so_before_its_link_ends() -> None:
    async with peers(2) as (ben, ada):
        where = [(HOST, ben.mesh.port)]
        await ada.mesh.connect(where, AIM)
        other = Peer(ada.identity)
        await other.mesh.connect(where, AIM)
        async with asyncio.timeout(PATIENCE):
            while "down" not in ada.told:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await other.mesh.close()
        assert ada.told == [REPLACED, "down"]
        assert other.told == ["down"]


async def test_a_program_that_replaces_its_own_link_is_not_told_that_another_has_done_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two connections have no order: the end of the old one may be seen before the answer on the new one."""
    take_answer = Mesh._take_answer
    async with peers(2) as (ben, ada):
        where = [(HOST, ben.mesh.port)]
        await ada.mesh.connect(where, AIM)

        def late(*answer: Any) -> None:
            asyncio.get_running_loop().call_later(0.3, take_answer, *answer)

        monkeypatch.setattr(Mesh, "_take_answer", late)
        await ada.mesh.connect(where, AIM)
        assert ada.mesh.is_linked(ben.identity.public)
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
async def test_a_peer_that_is_dialled_does_not_choose_what_the_link_is_for(
    asked: Aim, aim: Aim, is_answer: bool
) -> None:
    """A host that dialled for a match would otherwise let the peer watch its private table, or ask for a seat there."""
    async with peers(2) as (ada, eve):
        eve.welcome = lambda *_: aim  # type: ignore[method-assign]
        with contextlib.nullcontext() if is_answer else pytest.raises(DialError, match="does not keep to the protocol"):
            await ada.mesh.connect([(HOST, eve.mesh.port)], asked)
        assert ada.mesh.asked(eve.identity.public) == (asked if is_answer else None)
        if is_answer:
            assert eve.mesh.is_linked(ada.identity.public)
            assert eve.mesh.asked(ada.identity.public) is None


CUTS = [Cut(bytes(32), (author,)) for author in range(3)]


@pytest.mark.parametrize(("aim", "expected"), [(AIM, 3), (WatchAim(b"", ""), 1)], ids=["player", "spectator"])
async def test_frames_of_one_moment_reach_a_spectator_in_one_record(
    monkeypatch: pytest.MonkeyPatch, aim: Aim, expected: int
) -> None:
    """A player waits for none of them."""
    async with peers(2) as (host, other):
        await other.mesh.connect([(HOST, host.mesh.port)], aim)
        await host.until_linked(other)
        arrived: list[int] = []
        take = Link.data_received

        def count(self: Link, data: bytes, records: int) -> None:
            arrived.append(records)
            take(self, data, records)

        monkeypatch.setattr(Link, "data_received", count)
        for cut in CUTS:
            host.mesh.send(other.identity.public, encode_frame(cut))
            host.mesh.flush()
        async with asyncio.timeout(PATIENCE):
            while len(other.told) < len(CUTS):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert other.told == CUTS
        assert sum(arrived) == expected


@pytest.mark.parametrize("ends_all", [False, True])
async def test_a_spectator_is_sent_what_was_gathered_before_its_link_ends(
    monkeypatch: pytest.MonkeyPatch, ends_all: bool
) -> None:
    monkeypatch.setattr(limits, "SPECTATOR_DELAY", 10 * PATIENCE)
    async with peers(2) as (host, other):
        await other.mesh.connect([(HOST, host.mesh.port)], WatchAim(b"", ""))
        await host.until_linked(other)
        for cut in CUTS:
            host.mesh.send(other.identity.public, encode_frame(cut))
            host.mesh.flush()
        if ends_all:
            await host.mesh.close()
        else:
            host.mesh.disconnect(other.identity.public)
        async with asyncio.timeout(PATIENCE):
            while "down" not in other.told:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert other.told == [*CUTS, "down"]
