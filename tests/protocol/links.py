"""Recorders of links, peers without a node, and listeners, for tests below the level of a node."""

from __future__ import annotations

import asyncio
import itertools
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from protocol.crypto.keys import Identity
from protocol.crypto.tls import Credentials, credentials
from protocol.limits import KIB, Limits
from protocol.net.addresses import Address, JoinLine
from protocol.net.dialer import Accept, Dialer, anybody
from protocol.net.link import Link, LinkHandler, LinkUse
from protocol.net.listener import Listener, listen
from protocol.net.mesh import Mesh
from protocol.wire.frames import Aim, Frame, Hello, Refuse, TableAim, WatchAim, decode_frame, encode_frame
from tests.programs import PATIENCE

SHORT = Limits(handshake=0.4, started_frame=0.4, silence=0.8, keepalive=0.2, shutdown=0.2)
"""Timeouts of tenths of a second instead of seconds."""
HOST = "127.0.0.1"
KNOCKING = Limits(paces_own_machine=True, handshake=2)


async def dial_any(
    addresses: Iterable[Address],
    credentials: Credentials,
    handler: LinkHandler,
    accept: Accept = anybody,
    limits: Limits | None = None,
) -> Link:
    """Dial with a fresh dialer, so that no earlier dial counts against a rate limit."""
    return await Dialer(credentials, limits).dial(addresses, handler, accept)


async def dial(
    host: str,
    port: int,
    credentials: Credentials,
    handler: LinkHandler,
    accept: Accept = anybody,
    limits: Limits | None = None,
) -> Link:
    return await dial_any([(host, port)], credentials, handler, accept, limits)


class Nobody:
    """An owner of links, or of a mesh, that expects no links."""

    def link_up(self, link: Link) -> None:
        raise AssertionError("no link was expected")

    def frame_received(self, link: Link, frame: bytes) -> None:
        raise AssertionError("no link was expected")

    def link_down(self, link: Link, reason: str) -> None:
        raise AssertionError("no link was expected")

    def welcome(self, identity: bytes, hello: Hello) -> Aim | Refuse:
        raise AssertionError("no link was expected")

    def peer_up(self, identity: bytes, aim: Aim, at: Address) -> None:
        raise AssertionError("no link was expected")

    def peer_frame(self, identity: bytes, frame: Frame) -> None:
        raise AssertionError("no link was expected")

    def peer_down(self, identity: bytes, reason: str) -> None:
        raise AssertionError("no link was expected")


class Peer:
    """A key and a mesh without a node. It accepts every link, and sends only what a test gives it."""

    def __init__(self, identity: Identity | None = None) -> None:
        self.identity = identity or Identity.generate()
        self.aim: Aim = TableAim(bytes(16), "")
        """The answer to a peer that wants to sit at a table, or to watch."""
        self.ups: list[bytes] = []
        """The identities of peers, once for each link."""
        self.told: list[Frame | str] = []
        """All frames from all peers, and ``down`` for each link that ended without being replaced."""
        self.mesh = Mesh(credentials(self.identity.private_key), self)

    @property
    def key(self) -> bytes:
        return self.identity.public

    def say(self, identity: bytes, *frames: Frame) -> None:
        """Send frames to a peer, if there is a link."""
        for frame in frames:
            self.mesh.send(identity, encode_frame(frame))
        self.mesh.flush()

    def welcome(self, identity: bytes, hello: Hello) -> Aim | Refuse:
        return self.aim if isinstance(hello.aim, TableAim | WatchAim) else hello.aim

    def peer_up(self, identity: bytes, aim: Aim, at: Address) -> None:
        self.ups.append(identity)

    def peer_frame(self, identity: bytes, frame: Frame) -> None:
        self.told.append(frame)

    def peer_down(self, identity: bytes, reason: str) -> None:
        self.told.append("down")


class Recorder:
    """An owner of links that records their events.

    :param widens: whether it raises the limits of every link and marks the link as engaged.
    """

    def __init__(self, *, widens: bool = True) -> None:
        self.widens = widens
        self.links: list[Link] = []
        self.frames: list[bytes] = []
        self.ends: list[tuple[Link, str]] = []
        self._progress = asyncio.Event()

    def link_up(self, link: Link) -> None:
        self.links.append(link)
        if self.widens:
            link.widen()
            link.use = LinkUse.ENGAGED
        self._progress.set()

    def frame_received(self, link: Link, frame: bytes) -> None:
        assert link in self.links
        assert link not in [ended for ended, _ in self.ends]
        self.frames.append(frame)
        self._progress.set()

    def link_down(self, link: Link, reason: str) -> None:
        assert link in self.links
        assert link not in [ended for ended, _ in self.ends], "a link ends once"
        self.ends.append((link, reason))
        self._progress.set()

    @property
    def reasons(self) -> list[str]:
        return [reason for _, reason in self.ends]

    def has_heard_all_ends(self) -> bool:
        return len(self.ends) == len(self.links)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._progress.clear()
                await self._progress.wait()


NUMBERS: Iterator[int] = itertools.count(1)


def identity() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(next(NUMBERS).to_bytes(32, "big"))


class Table:
    """A listener whose links a recorder owns."""

    def __init__(self, limits: Limits, recorder: Recorder) -> None:
        self.limits = limits
        self.recorder = recorder
        self.identity = identity()
        self.credentials = credentials(self.identity)
        self.listener: Listener

    async def dial(self, recorder: Recorder, key: Ed25519PrivateKey | None = None, limits: Limits = SHORT) -> Link:
        return await dial(HOST, self.listener.port, credentials(key or identity()), recorder, limits=limits)

    async def is_alive(self) -> bool:
        """Tell whether a new peer can still connect and send a frame that arrives."""
        guest = Recorder()
        link = await self.dial(guest)
        token = f"alive {next(NUMBERS)}".encode()
        link.send(token)
        await self.recorder.until(lambda: token in self.recorder.frames)
        link.close()
        await guest.until(lambda: bool(guest.ends))
        return True


Opener = Callable[..., Awaitable[Table]]


async def is_cut_off(reader: asyncio.StreamReader) -> bool:
    """Wait until the peer ends the connection, cleanly or not."""
    async with asyncio.timeout(PATIENCE):
        with suppress(OSError):
            while await reader.read(64 * KIB):
                pass
        return True


async def raw_tls(table: Table, context: ssl.SSLContext) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(HOST, table.listener.port, ssl=context, server_hostname="")


class FakeHost:
    """A host that proves its identity and then answers HELLO with the frames that the test chooses."""

    def __init__(self, *answers: Frame) -> None:
        self.identity = Identity.generate()
        self.answers = answers
        self.heard: list[bytes] = []
        self.links: list[Link] = []

    async def open(self) -> JoinLine:
        self.listener = await listen((HOST,), 0, credentials(self.identity.private_key), self, Limits())
        return JoinLine(((HOST, self.listener.port),), self.identity.fingerprint)

    def close(self) -> None:
        self.listener.close()
        for link in self.links:
            link.close()

    def link_up(self, link: Link) -> None:
        self.links.append(link)

    def frame_received(self, link: Link, frame: bytes) -> None:
        self.heard.append(frame)
        if isinstance(decode_frame(frame), Hello):
            for answer in self.answers:
                link.send(encode_frame(answer))
            link.widen()

    def link_down(self, link: Link, reason: str) -> None:
        self.links.remove(link)
