"""Strangers who besiege a node, as one process: ``python -m tests.network.besieger ATTACK --port PORT --count N``.

It prints ``{"event": "begun"}`` once the attack has begun: when all connections are open or, if the attack reconnects
again and again, when the first one is. It continues until its standard input is closed. Then it prints
``{"event": "left", "opened": …, "refused": …}``: how many connections it opened, and how many the node closed.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import ssl
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from protocol.crypto.keys import MatchKey
from protocol.crypto.tls import client_context
from protocol.net.discovery import LOBBY, SERVICE_TYPE, Advertisement
from protocol.wire.frames import Carried, Hello, Need, Page, TableAim, encode_frame, frame_header
from protocol.wire.messages import Kind, Message, sign
from tests.network.strangers import framed

HANDSHAKES_AT_ONCE = 32
DRIP = 0.1
"""Seconds between two bytes of an attack that sends byte by byte."""

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Siege:
    """One attack on one node.

    :param count: the number of simultaneous connections, or of advertised tables.
    """

    def __init__(self, host: str, port: int, count: int) -> None:
        self.host = host
        self.port = port
        self.count = count
        self.opened = 0
        self.refused = 0
        self.begun = asyncio.Event()
        # All connections share one identity: a stranger's key makes no difference, and creating certificates is slow.
        self._context = client_context(Ed25519PrivateKey.generate())
        self._handshakes = asyncio.Semaphore(HANDSHAKES_AT_ONCE)
        self._held: list[asyncio.StreamWriter] = []

    async def plain(self) -> Connection:
        """Open a TCP connection."""
        self.opened += 1
        return await asyncio.open_connection(self.host, self.port)

    async def secured(self) -> Connection:
        """Open a connection and complete its TLS handshake."""
        async with self._handshakes:
            self.opened += 1
            return await asyncio.open_connection(self.host, self.port, ssl=self._context, server_hostname="")

    async def until_refused(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while await reader.read(65536):
                pass
        self.refused += 1

    async def many(self, connect: Callable[[], Awaitable[Connection]]) -> None:
        """Open all connections and leave them idle."""

        async def leave() -> None:
            try:
                reader, writer = await connect()
            except OSError:
                self.refused += 1
                return
            self._held.append(writer)
            watching.append(asyncio.create_task(self.until_refused(reader)))

        watching: list[asyncio.Task[None]] = []
        await asyncio.gather(*(leave() for _ in range(self.count)))
        self.begun.set()
        await asyncio.gather(*watching)

    async def again_and_again(
        self, connect: Callable[[], Awaitable[Connection]], act: Callable[[asyncio.StreamWriter], Awaitable[None]]
    ) -> None:
        """Keep ``count`` connections open: each runs ``act`` until it ends, and is then replaced."""

        async def quietly(writer: asyncio.StreamWriter) -> None:
            with suppress(OSError):  # the node has closed the connection
                await act(writer)

        async def worker() -> None:
            while True:
                try:
                    reader, writer = await connect()
                except OSError:
                    self.refused += 1
                else:
                    self.begun.set()
                    acting = asyncio.create_task(quietly(writer))
                    await self.until_refused(reader)
                    acting.cancel()
                    writer.transport.abort()
                await asyncio.sleep(0.01)

        await asyncio.gather(*(worker() for _ in range(self.count)))

    # The attacks

    async def links(self) -> None:
        """TCP connections that send nothing."""
        await self.many(self.plain)

    async def silent(self) -> None:
        """Strangers who complete the TLS handshake and send nothing."""
        await self.many(self.secured)

    async def storm(self) -> None:
        """Strangers who complete the TLS handshake and disconnect, again and again."""

        async def act(writer: asyncio.StreamWriter) -> None:
            writer.transport.abort()

        await self.again_and_again(self.secured, act)

    async def knock(self) -> None:
        """Strangers who open a TCP connection and disconnect, again and again."""

        async def act(writer: asyncio.StreamWriter) -> None:
            writer.transport.abort()

        await self.again_and_again(self.plain, act)

    async def drip_handshake(self) -> None:
        """Strangers who send their ClientHello byte by byte."""
        outgoing = ssl.MemoryBIO()
        with suppress(ssl.SSLWantReadError):
            self._context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
        hello = outgoing.read()
        await self.again_and_again(self.plain, lambda writer: drip(writer, hello))

    async def drip_header(self) -> None:
        """Strangers who send the length of a frame byte by byte."""
        await self.again_and_again(self.secured, lambda writer: drip(writer, frame_header(bytes(1000))))

    async def drip_frame(self) -> None:
        """Strangers who send a frame byte by byte."""
        await self.again_and_again(self.secured, lambda writer: drip(writer, frame_header(bytes(1000)) + bytes(1000)))

    async def chatter(self) -> None:
        """Strangers who send HELLO to a table, followed by many well-formed frames."""
        said = framed(encode_frame(Hello(1, TableAim(b"", "")))) + framed(*valid_frames()) * 100

        async def act(writer: asyncio.StreamWriter) -> None:
            for _ in range(20):  # afterwards, a stranger who is still connected waits to be cut off
                writer.write(said)
                await writer.drain()
                await asyncio.sleep(0.02)

        await self.again_and_again(self.secured, act)

    async def tables(self) -> None:
        """False tables advertised by multicast DNS on the interface of the host."""
        zeroconf = AsyncZeroconf(interfaces=[self.host])
        announcements = []
        for number in range(self.count):
            advertisement = Advertisement(f"{number:08x}", f"false {number}", "classic", 1, 4, LOBBY, 1)
            info = AsyncServiceInfo(
                SERVICE_TYPE,
                f"false-{number}.{SERVICE_TYPE}",
                port=self.port,
                properties=advertisement.to_txt(),
                server=f"false-{number}.local.",
                parsed_addresses=[self.host],
            )
            announcements.append(await zeroconf.async_register_service(info, cooperating_responders=True))
            self.opened += 1
        await asyncio.gather(*announcements)
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            # False tables expire by themselves, so they are not withdrawn.
            zeroconf.zeroconf.close()


def valid_frames() -> list[bytes]:
    """Return frames that are well-formed but useless."""
    stray = sign(Message(bytes(32), 0, bytes(32), 0, Kind.LOCK, bytes(32)), MatchKey(bytes(32)))
    return [
        b"",
        encode_frame(Carried(*stray.wire)),
        encode_frame(Need(bytes(32), 0, bytes(32), 0)),
        encode_frame(Page(bytes(32), 0, (stray.wire,) * 10)),
    ]


async def drip(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Send data byte by byte. Zeros replace the last byte and never end, so that the data is never complete."""
    for byte in itertools.chain(data[:-1], itertools.repeat(0)):
        if writer.is_closing():
            return
        writer.write(bytes([byte]))
        await asyncio.sleep(DRIP)


ATTACKS = ("links", "silent", "storm", "knock", "drip_handshake", "drip_header", "drip_frame", "chatter", "tables")


def say(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


async def besiege(attack: str, host: str, port: int, count: int) -> None:
    siege = Siege(host, port, count)
    attacking = asyncio.create_task(getattr(siege, attack)())
    await siege.begun.wait()
    say("begun")
    await asyncio.to_thread(sys.stdin.read)
    attacking.cancel()
    with suppress(asyncio.CancelledError):
        await attacking
    say("left", opened=siege.opened, refused=siege.refused)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("attack", choices=ATTACKS)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    options = parser.parse_args()
    asyncio.run(besiege(options.attack, options.host, options.port, options.count))


if __name__ == "__main__":
    main()
