"""The mesh ends what it began, whenever it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket

import pytest

from protocol.certificates import credentials
from protocol.keys import Identity
from protocol.link import Link
from protocol.transport import listen

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
    """Closed so many turns of the event loop after strangers have connected; a forgotten socket would warn."""
    listener = await listen((HOST,), 0, credentials(Identity.generate().private_key), Nobody())
    strangers = [socket.create_connection((HOST, listener.port)) for _ in range(3)]
    for _ in range(turns):
        await asyncio.sleep(0)
    listener.close()
    loop = asyncio.get_running_loop()
    for stranger in strangers:
        stranger.setblocking(False)
        async with asyncio.timeout(10):
            with contextlib.suppress(ConnectionError):
                assert await loop.sock_recv(stranger, 1) == b""
        stranger.close()
    gc.collect()
