"""Connections from any address of the test's own network. A test decides what they send."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from protocol.crypto.keys import Identity
from protocol.crypto.tls import client_context
from protocol.limits import FRAME
from protocol.net.addresses import Address
from protocol.wire.frames import Frame, FrameSplitter, decode_frame, encode_frame, frame_header
from tests.programs import PATIENCE
from tests.waiting import until


def framed(*frames: bytes) -> bytes:
    return b"".join(frame_header(frame) + frame for frame in frames)


class Stranger:
    """A connection that follows no rules. It reads only in :meth:`hear` and :meth:`is_cut_off`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._splitter = FrameSplitter(FRAME)

    @classmethod
    async def comes(cls, at: Address, source: str = "", identity: Identity | None = None) -> Stranger:
        """Connect with TLS.

        :param source: the address to connect from; empty for any.
        :param identity: the key to prove; None for a new one.
        :raises OSError: if the node refuses the connection.
        """
        context = client_context((identity or Identity.generate()).private_key)
        local = (source, 0) if source else None
        return cls(*await asyncio.open_connection(*at, ssl=context, server_hostname="", local_addr=local))

    @classmethod
    async def plain(cls, at: Address) -> Stranger:
        """Connect without TLS."""
        return cls(*await asyncio.open_connection(*at))

    async def __aenter__(self) -> Stranger:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.transport.abort()

    async def send(self, data: bytes) -> None:
        """Send bytes.

        :raises OSError: if the node has ended the connection.
        """
        self._writer.write(data)
        await self._writer.drain()

    async def say(self, *frames: Frame) -> None:
        """Send frames.

        :raises OSError: if the node has ended the connection.
        """
        await self.send(framed(*map(encode_frame, frames)))

    async def is_cut_off(self) -> bool:
        """Wait until the other side ends the connection, cleanly or not; return True."""
        async with asyncio.timeout(PATIENCE):
            with suppress(OSError):
                while await self._reader.read(65536):
                    pass
        await self.go()
        return True

    async def go(self) -> None:
        """End the connection."""
        self._writer.close()
        with suppress(OSError, ssl.SSLError):
            await self._writer.wait_closed()

    async def hear(self) -> Frame | None:
        """Return the next frame; None at the end of the connection."""
        with suppress(OSError):
            while True:
                if (frame := self._splitter.next_frame()) is None:
                    if not (data := await self._reader.read(FRAME)):
                        break
                    self._splitter.feed(data)
                elif frame:
                    return decode_frame(frame)
        return None


class Trap:
    """Addresses at which connections are accepted, but nothing is ever sent.

    :param hangs_up: whether each connection is closed at once.
    """

    def __init__(self, *, hangs_up: bool = False) -> None:
        self._hangs_up = hangs_up
        self.port = 0
        self.dialled = 0
        self.open: set[asyncio.StreamWriter] = set()
        self.most_at_once = 0

    @classmethod
    @asynccontextmanager
    async def set_up(cls, *, hangs_up: bool = False) -> AsyncIterator[Trap]:
        """Accept connections; close all of them at the end of the block."""
        trap = cls(hangs_up=hangs_up)
        server = await asyncio.start_server(trap._hold, "0.0.0.0", 0, backlog=1000)
        trap.port = server.sockets[0].getsockname()[1]
        try:
            yield trap
        finally:
            server.close()
            trap._hangs_up = True  # connections accepted a moment ago reach _hold later
            for writer in trap.open:
                writer.transport.abort()
            await asyncio.sleep(0.1)

    async def _hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.dialled += 1
        self.open.add(writer)
        self.most_at_once = max(self.most_at_once, len(self.open))
        with suppress(OSError):
            while not self._hangs_up and await reader.read(1024):
                pass
        self.open.discard(writer)
        writer.close()

    async def until_dialled(self, times: int) -> None:
        """Wait until this many connections have been accepted."""
        await until(lambda: self.dialled >= times)
