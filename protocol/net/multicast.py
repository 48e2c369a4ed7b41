"""Sockets for multicast DNS. They are read no faster than a node can afford, so that no flood delays a match."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Coroutine, Iterable
from typing import Final, NamedTuple

from zeroconf import Error, InterfaceChoice, IPVersion, autodetect_ip_version, create_sockets

from protocol.limits import DATAGRAM, DATAGRAM_BURST, DATAGRAM_RATE, DATAGRAM_REST
from protocol.net.loop import receive_from
from protocol.rate_limit import Bucket

log = logging.getLogger(__name__)

PORT: Final = 5353
GROUPS: Final = {socket.AF_INET: "224.0.0.251", socket.AF_INET6: "ff02::fb"}


class Datagram(NamedTuple):
    """One packet as it came."""

    data: bytes
    host: str
    """Address of the sender, which anybody can forge."""
    zone: int
    """Number of the interface that it arrived at; 0 for IPv4."""


def kept_up(work: Coroutine[None, None, None]) -> asyncio.Task[None]:
    """Begin work that goes on until it is cancelled. Nobody waits for it, so an error that ends it is logged."""

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("tables are looked for no longer", exc_info=error)

    task = asyncio.create_task(work)
    task.add_done_callback(ended)
    return task


class Multicast:
    """Hears and sends on some interfaces, beside other programs of this machine on the same port.

    :param interfaces: all, or those with these addresses.
    :param hear: called with each packet of a usable length, a limited number of times a second.
    :raises OSError: if no interface takes multicast, or the port is taken by a program that does not share it.
    :raises RuntimeError: if there is no interface at all.
    """

    def __init__(
        self, interfaces: InterfaceChoice | list[str], version: IPVersion | None, hear: Callable[[Datagram], None]
    ) -> None:
        ears, self._mouths = create_sockets(interfaces, ip_version=version or autodetect_ip_version(interfaces))
        assert ears is not None, "only unicast has none"
        self._ears = ears
        self._hear = hear
        if not self._mouths:
            self._ears.close()
            raise OSError
        for each in (self._ears, *self._mouths):
            each.setblocking(False)
        self._listening = kept_up(self._listen())

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        pace = Bucket(DATAGRAM_RATE, DATAGRAM_BURST, loop.time())
        while True:
            try:
                data, source = await receive_from(self._ears, DATAGRAM + 1)
            except OSError:  # too long for Windows, or an interface that is gone
                data = b""
            if 0 < len(data) <= DATAGRAM:
                self._hear(Datagram(data, source[0], source[3] if len(source) == 4 else 0))
            pace.take()
            # In a flood there is always something to read. Without a pause, reading would never let go of the loop.
            await asyncio.sleep(DATAGRAM_REST if pace.wait(loop.time()) else 0)

    def send(self, packets: Iterable[bytes]) -> None:
        """Send packets by every interface. A packet that cannot be sent now is lost, as any datagram may be."""
        for packet in packets:
            for mouth in self._mouths:
                # A link-local address comes with its zone. For others the interface was set when the socket was made.
                scope = mouth.getsockname()[2:]
                with contextlib.suppress(OSError):
                    mouth.sendto(packet, (GROUPS[mouth.family], PORT, *scope))

    async def close(self) -> None:
        """Neither hear nor send any more."""
        self._listening.cancel()
        await asyncio.wait([self._listening])
        for each in (self._ears, *self._mouths):
            each.close()


def open_multicast(interfaces: InterfaceChoice | list[str], hear: Callable[[Datagram], None]) -> Multicast:
    """Open sockets on the interfaces, without IPv6 if need be.

    :raises OSError: if no interface takes multicast; the text says why.
    """
    reason = "no network interface takes it"
    versions = (IPVersion.All, IPVersion.V4Only) if interfaces is InterfaceChoice.All else (None,)
    for version in versions:  # a kernel without IPv6 refuses the first
        try:
            return Multicast(interfaces, version, hear)
        except (OSError, RuntimeError, Error) as error:
            reason = error.strerror or reason if isinstance(error, OSError) else reason
    raise OSError(reason)
