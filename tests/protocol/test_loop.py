"""The event loop: uvloop where it is installed, and packets are received alike in both."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from typing import NoReturn

import pytest

from cli.table.play import loop_factory
from protocol.net.mdns import receive_from


def test_asyncios_own_loop_is_taken_where_uvloop_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop_factory() is None


class LoopWithoutTheCall(asyncio.SelectorEventLoop):
    """Has no ``sock_recvfrom``, like uvloop's."""

    async def sock_recvfrom(self, sock: socket.socket, bufsize: int) -> NoReturn:
        raise NotImplementedError


@pytest.mark.parametrize(
    "factory", [None, LoopWithoutTheCall, loop_factory()], ids=["asyncio", "without", "taken here"]
)
def test_a_packet_is_waited_for_and_one_that_is_there_is_taken(
    factory: Callable[[], asyncio.AbstractEventLoop] | None,
) -> None:
    async def receive() -> list[bytes]:
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ears,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth,
        ):
            ears.bind(("127.0.0.1", 0))
            ears.setblocking(False)
            waiting = asyncio.ensure_future(receive_from(ears, 100))
            await asyncio.sleep(0)
            mouth.sendto(b"first", ears.getsockname())
            heard = [await waiting]
            mouth.sendto(b"second", ears.getsockname())
            heard.append(await receive_from(ears, 100))
            waiting = asyncio.ensure_future(receive_from(ears, 100))
            await asyncio.sleep(0)
            waiting.cancel()
            mouth.sendto(b"third", ears.getsockname())
            heard.append(await receive_from(ears, 100))
            return [data for data, _ in heard]

    with asyncio.Runner(loop_factory=factory) as runner:
        assert runner.run(receive()) == [b"first", b"second", b"third"]
