"""A network of whole nodes in one process. Time is virtual: an hour of waiting takes a moment.

The nodes are real :class:`protocol.node.node.Node` objects with real stores. Only dialling and listening are replaced:
a link is a queue that delivers frames in order after a short delay, until a test cuts it. A :class:`RoomPeer` is a peer
without a node, which a test can make lie.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from protocol.crypto.keys import Identity
from protocol.crypto.tls import Credentials
from protocol.net.addresses import Address
from protocol.net.dialer import Accept, DialError, anybody
from protocol.net.link import ENDED, LinkHandler, LinkUse
from protocol.node.node import Node
from protocol.version import PROTOCOL_VERSION
from protocol.wire.frames import Frame
from tests.network import views
from tests.network.company import Heard
from tests.protocol.links import Peer

T = TypeVar("T")
PORT = 7000


class _Selector(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0.05 if timeout is None else 0)
        if not ready and timeout is not None:
            self.now += max(timeout, 0.0)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    """An event loop with virtual time. When nothing is ready, time jumps to the next timer."""

    def __init__(self) -> None:
        self._jumping = _Selector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


class _End:
    """One end of a link, with the methods of :class:`protocol.net.link.Link` that a mesh uses."""

    version = PROTOCOL_VERSION
    use, is_on_own_machine = LinkUse.IDLE, False

    def __init__(self, room: Room, owner: bytes, peer_key: bytes, remote: Address, handler: LinkHandler) -> None:
        self.room, self.owner, self.peer_key, self.remote, self.handler = room, owner, peer_key, remote, handler
        self.outbound = False
        self.is_connected = True
        self.other: _End
        self._queued: list[bytes] = []
        self._arrival = 0.0

    @property
    def is_up(self) -> bool:
        return self.is_connected

    def queue(self, frame: bytes) -> None:
        self._queued.append(frame)

    def send(self, frame: bytes) -> None:
        self.queue(frame)
        self.flush()

    def flush(self) -> None:
        frames, self._queued = self._queued, []
        for frame in frames if self.is_connected else ():
            self._arrival = max(self._arrival + 1e-6, self.room.now + self.room.delay())
            self.room.loop.call_at(self._arrival, self.other.arrive, frame)

    def arrive(self, frame: bytes) -> None:
        if self.is_connected and self.room.hears(self.peer_key, self.owner):
            self.handler.frame_received(self, frame)  # type: ignore[arg-type]

    def close(self, reason: str = ENDED) -> None:
        self.flush()
        if self.is_connected:
            self.is_connected = False
            self.room.loop.call_soon(self.handler.link_down, self, reason)  # type: ignore[arg-type]
            self.room.loop.call_at(max(self._arrival, self.room.now) + 1e-6, self.other.close)

    drop = close

    def widen(self) -> None:
        """Nothing to do: these links have no limits."""

    def excuse(self) -> None:
        """Nothing to do: these links have no limits."""

    async def wait_closed(self) -> None:
        """Nothing to wait for."""


class _Dialer:
    """Replaces :class:`protocol.net.dialer.Dialer`."""

    def __init__(self, room: Room, credentials: Credentials) -> None:
        self.room, self.key = room, credentials.public_key

    async def dial(self, addresses: Iterable[Address], handler: LinkHandler, accept: Accept = anybody) -> _End:
        room = self.room
        addresses = tuple(addresses)
        room.dialled.setdefault(self.key, []).extend(addresses)
        await asyncio.sleep(room.delay())
        for address in addresses:
            found = room.listening.get(address)
            if found is None or found[0] == self.key or not accept(found[0]) or not room.hears(self.key, found[0]):
                continue
            key, theirs = found
            here = _End(room, self.key, key, address, handler)
            there = _End(room, key, self.key, (room.host(self.key), 1), theirs)
            here.outbound, here.other, there.other = True, there, here
            room.ends += [here, there]
            for end in (there, here):
                end.handler.link_up(end)  # type: ignore[arg-type]
            return here
        raise DialError("no node answers at these addresses")


class _Listener:
    def __init__(self, addresses: tuple[Address, ...]) -> None:
        self.addresses, self.port = addresses, addresses[0][1]

    def close(self) -> None:
        """Nothing to do."""


class Room:
    """All nodes and links of one test.

    :param folder: contains the homes.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.random = random.Random(seed)
        self.loop = asyncio.get_running_loop()
        self.listening: dict[Address, tuple[bytes, LinkHandler]] = {}
        self.dialled: dict[bytes, list[Address]] = {}
        """By identity of a node, the addresses that it has dialled."""
        self.ends: list[_End] = []
        self.people: list[Person] = []
        self._hosts: list[bytes] = []
        self._cuts: set[frozenset[bytes]] = set()

    @property
    def now(self) -> float:
        return self.loop.time()

    def delay(self) -> float:
        """Return the random delay of one frame, in seconds."""
        return self.random.uniform(0.001, 0.05)

    def host(self, key: bytes) -> str:
        """Return the IP address of a node."""
        if key not in self._hosts:
            self._hosts.append(key)
        return f"10.0.0.{1 + self._hosts.index(key)}"

    def hears(self, one: bytes, other: bytes) -> bool:
        """Return whether frames pass between two nodes."""
        return frozenset((one, other)) not in self._cuts

    def cut(self, one: bytes, other: bytes) -> None:
        """Cut two nodes off from each other. Frames in flight are lost."""
        self._cuts.add(frozenset((one, other)))
        for end in self.ends:
            if end.is_connected and {end.owner, end.peer_key} == {one, other}:
                end.close("the connection was lost")

    def mend(self, one: bytes, other: bytes) -> None:
        """Undo :meth:`cut`."""
        self._cuts.discard(frozenset((one, other)))

    async def sit(self, name: str) -> Person:
        """Open a node for a person. Each name has its own home."""
        person = Person(self, name)
        await person.begin()
        self.people.append(person)
        return person

    async def leave(self) -> None:
        """Close all nodes."""
        for person in self.people:
            if person.is_running:
                await person.node.close()
        await asyncio.sleep(1)


class Person(Heard):
    """A person with a node."""

    def __init__(self, room: Room, name: str) -> None:
        super().__init__()
        self.room, self.name = room, name
        self.is_running = False
        self._identity = Identity(Ed25519PrivateKey.from_private_bytes(room.random.randbytes(32)))

    @property
    def key(self) -> bytes:
        return self.node.identity.public

    async def begin(self) -> None:
        """Open the node."""
        place = self.room.folder / self.name
        self.node = await Node.open(place, self.name, port=PORT, discovery=False, identity=self._identity)
        self.is_running = True
        self._listening = asyncio.create_task(self._listen(self.node))

    async def _listen(self, node: Node) -> None:
        async for event in node.events():
            self.hear(event)

    async def die(self) -> None:
        """End the node like a crash, without sending or storing anything."""
        node, self.is_running = self.node, False
        views.crash(node)
        for address, (key, _) in tuple(self.room.listening.items()):
            if key == self.key:
                del self.room.listening[address]
        for end in self.room.ends:
            if end.owner == self.key:
                end.close("the connection was lost")
        self._listening.cancel()
        await asyncio.sleep(0)
        node._store.close()

    @property
    def plays(self) -> list[bytes]:
        """The id of the match that this person plays, if any."""
        playing = self.node._active.proposals.formed
        return [playing.match.id] if playing is not None else []


class RoomPeer(Peer):
    """A peer at an address in a room.

    :param take: called with the identity of a peer and a frame from it.
    """

    def __init__(self, room: Room, number: int, take: Callable[[bytes, Frame], None] = lambda _, __: None) -> None:
        seed = b"stranger" + number.to_bytes(24, "big")
        super().__init__(Identity(Ed25519PrivateKey.from_private_bytes(seed)))
        self.room, self.take = room, take
        self.address = (room.host(self.key), PORT)
        room.listening[self.address] = self.key, self.mesh

    def peer_frame(self, identity: bytes, frame: Frame) -> None:
        self.take(identity, frame)


@contextmanager
def _without_network(room: Room) -> Iterator[None]:
    async def listening(port: int, credentials: Credentials, handler: LinkHandler) -> _Listener:
        address = room.host(credentials.public_key), port
        room.listening[address] = credentials.public_key, handler
        return _Listener((address,))

    async def nothing_changes(*_: object) -> None:
        await asyncio.Event().wait()

    with ExitStack() as patches:
        for name, value in (
            ("protocol.net.mesh.listen", lambda _, port, own, handler, *__: listening(port, own, handler)),
            ("protocol.net.mesh.Dialer", lambda own, *_: _Dialer(room, own)),
            ("protocol.node.activities.watch_network", nothing_changes),
            ("protocol.node.playing.secrets.token_bytes", room.random.randbytes),
        ):
            patches.enter_context(patch(name, value))
        yield


def in_a_room(folder: Path, seed: int, happens: Callable[[Room], Awaitable[T]]) -> T:
    """Run a coroutine with a new room, close all nodes, and return its result.

    :raises AssertionError: if an exception was raised in a callback.
    """
    left_over: list[dict[str, Any]] = []

    async def whole() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: left_over.append(context))
        room = Room(folder, seed)
        with _without_network(room):
            try:
                return await happens(room)
            finally:
                await room.leave()
                left = asyncio.all_tasks() - {asyncio.current_task()}
                for task in left:
                    task.cancel()
                await asyncio.gather(*left, return_exceptions=True)

    loop = _Loop()
    try:
        result = loop.run_until_complete(whole())
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
    if left_over:
        raise AssertionError(left_over[0]) from left_over[0].get("exception")
    return result
