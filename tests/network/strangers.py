"""Connections that begin at any address of the test's own network, and say whatever a test wants."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from protocol.crypto.keys import Identity
from protocol.crypto.tls import client_context
from protocol.limits import FRAME
from protocol.net.addresses import Address
from protocol.wire.frames import Frame, decode_frame, encode_frame
from protocol.wire.framing import FrameSplitter, frame_header


class Stranger:
    """A program that proves a key by TLS and keeps to no rule. Reads nothing before it is asked to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._splitter = FrameSplitter(FRAME)

    @classmethod
    @asynccontextmanager
    async def comes(cls, at: Address, source: str, identity: Identity | None = None) -> AsyncIterator[Stranger]:
        """Connect from an address for the length of a block, after which the connection is cut.

        :raises OSError: if the node does not go along.
        """
        context = client_context((identity or Identity.generate()).private_key)
        reader, writer = await asyncio.open_connection(*at, ssl=context, server_hostname="", local_addr=(source, 0))
        try:
            yield cls(reader, writer)
        finally:
            writer.transport.abort()

    async def say(self, *frames: Frame) -> None:
        """Send frames.

        :raises OSError: if the node has ended the connection.
        """
        data = [encode_frame(frame) for frame in frames]
        self._writer.write(b"".join(frame_header(each) + each for each in data))
        await self._writer.drain()

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
