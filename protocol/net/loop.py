"""The event loop that a program runs in: uvloop, where it is installed, or asyncio's own."""

from __future__ import annotations

import asyncio
import socket
from asyncio import AbstractEventLoop
from collections.abc import Callable
from typing import Any


def loop_factory() -> Callable[[], AbstractEventLoop] | None:
    """Return uvloop's factory of event loops, which are faster, if it is installed; None for asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def receive_from(listening: socket.socket, most: int) -> tuple[bytes, Any]:
    """Wait for a packet; return its content and the address of its sender. uvloop has no call for it.

    :raises OSError: if the system cannot give it.
    """
    loop = asyncio.get_running_loop()
    try:
        return await loop.sock_recvfrom(listening, most)
    except NotImplementedError:
        arrived = asyncio.Event()
    while True:
        # At once if one is there, as by the call: a receiver that was cancelled may still have to take its reader back.
        try:
            return listening.recvfrom(most)
        except BlockingIOError:  # none is there, another program on the port took it, or its checksum was wrong
            arrived.clear()
        loop.add_reader(listening, arrived.set)
        try:
            await arrived.wait()
        finally:
            loop.remove_reader(listening)
