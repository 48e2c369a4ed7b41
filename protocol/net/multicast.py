"""Sockets for multicast DNS. They are read no faster than a node can afford, so that no flood delays a match."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import struct
from collections.abc import Callable, Coroutine, Iterable
from itertools import product
from typing import Final, NamedTuple

from protocol.errors import LocalError
from protocol.limits import DATAGRAM, DATAGRAM_BURST, DATAGRAM_RATE, DATAGRAM_REST
from protocol.net.interfaces import Interface, interfaces
from protocol.net.loop import receive_from
from protocol.rate_limit import Bucket

log = logging.getLogger(__name__)

PORT: Final = 5353
_HOPS: Final = 255
"""RFC 6762, §11."""
_FULL: Final = (errno.ENOBUFS, errno.ENOMEM)
"""Errors of a socket that is a member on as many interfaces as it may be."""


class _Version(NamedTuple):
    """A version of IP, and its options of sockets."""

    family: socket.AddressFamily
    number: int
    group: str
    level: int
    join: int
    send_by: int


VERSIONS: Final = (
    _Version(socket.AF_INET, 4, "224.0.0.251", socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.IP_MULTICAST_IF),
    _Version(socket.AF_INET6, 6, "ff02::fb", socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, socket.IPV6_MULTICAST_IF),
)


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


class _Group:
    """The group of multicast DNS in one version of IP.

    :raises OSError: if this machine lacks that version, or the port is taken by a program that does not share it.
    """

    def __init__(self, version: _Version) -> None:
        self._version = version
        self.ears = socket.socket(version.family, socket.SOCK_DGRAM)
        self._members = [self.ears]
        self._ways: list[tuple[bytes, tuple[str | int, ...]]] = []
        """What chooses an interface, and where to send then."""
        try:
            self._prepare()
        except BaseException:
            self.ears.close()
            raise

    def _prepare(self) -> None:
        self.ears.setblocking(False)
        self.ears.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "SO_REUSEPORT"):
            self.ears.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if self._version.number == 4:
            # Some systems take these as one byte only.
            self.ears.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, bytes([_HOPS]))
            self.ears.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, bytes([1]))
        else:
            self.ears.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            self.ears.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, _HOPS)
            self.ears.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 1)
        self.ears.bind(("", PORT))

    def join(self, interface: Interface) -> bool:
        """Hear and send on an interface from now on; tell whether it has an address of this version.

        :raises OSError: if it takes no multicast.
        """
        version, zone = self._version, interface.number
        own = [each.packed for each in interface.addresses if each.version == version.number]
        if not own:
            return False
        if version.number == 4:
            ways: list[tuple[bytes, tuple[str | int, ...]]] = [(each, (version.group, PORT)) for each in own]
        else:
            ways = [(struct.pack("@I", zone), (version.group, PORT, 0, zone))]
        self._become_member(socket.inet_pton(version.family, version.group) + ways[0][0])
        self._ways += ways
        return True

    def _become_member(self, membership: bytes) -> None:
        try:
            self._members[-1].setsockopt(self._version.level, self._version.join, membership)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            # On Linux a socket is a member on 20 interfaces at most. But where any socket of the machine is a member,
            # all sockets at the port hear the group, so another one makes the ears hear more (ip(7), IP_MULTICAST_ALL).
            another = socket.socket(self._version.family, socket.SOCK_DGRAM)
            try:
                another.setsockopt(self._version.level, self._version.join, membership)
            except BaseException:
                another.close()
                raise
            self._members.append(another)

    def send(self, packet: bytes) -> None:
        """Send a packet by every interface. Where it cannot be sent now it is lost, as any datagram may be."""
        for interface, address in self._ways:
            with contextlib.suppress(OSError):
                self.ears.setsockopt(self._version.level, self._version.send_by, interface)
                self.ears.sendto(packet, address)

    def close(self) -> None:
        for each in self._members:
            each.close()


class NoInterfaceError(LocalError, OSError):
    """This machine has no interface with the name or address that was given."""


class Multicast:
    """Hears and sends on some interfaces, beside other programs of this machine on the same port.

    :param interface: name or address of the only interface to use, None for all.
    :param hear: called with each packet of a usable length, a limited number of times a second.
    :raises OSError: if no interface takes multicast, or the port is taken by a program that does not share it; the text
        says why.
    """

    def __init__(self, interface: str | None, hear: Callable[[Datagram], None]) -> None:
        meant = interfaces(interface)
        if interface is not None and not meant:
            raise NoInterfaceError(f"there is no network interface {interface}")
        self._hear = hear
        self._groups: list[_Group] = []
        reason = "no network interface takes it"
        for version in VERSIONS:
            try:
                self._groups.append(_Group(version))
            except OSError as error:  # a kernel without IPv6, for example
                reason = error.strerror or reason
        joined = set()
        for each, group in product(meant, self._groups):
            try:
                if group.join(each):
                    joined.add(each)
            except OSError as error:
                reason = error.strerror or reason
                log.info("no multicast by %s: %s", each.name, error)
        if not joined:
            self._close_sockets()
            raise OSError(reason)
        self.left_out = tuple(each.name for each in meant if each not in joined and not each.is_loopback)
        """Names of interfaces that take no multicast: nobody finds tables by them."""
        log.debug("multicast by %s", ", ".join(each.name for each in meant if each in joined))
        self._pace = Bucket(DATAGRAM_RATE, DATAGRAM_BURST, asyncio.get_running_loop().time())
        self._listening = [kept_up(self._listen(group.ears)) for group in self._groups]

    async def _listen(self, ears: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                data, source = await receive_from(ears, DATAGRAM + 1)
            except OSError:  # too long for Windows, or an interface that is gone
                data = b""
            if 0 < len(data) <= DATAGRAM:
                self._hear(Datagram(data, source[0], source[3] if len(source) == 4 else 0))
            self._pace.take()
            # In a flood there is always something to read. Without a pause, reading would never let go of the loop.
            await asyncio.sleep(DATAGRAM_REST if self._pace.wait(loop.time()) else 0)

    def send(self, packets: Iterable[bytes]) -> None:
        """Send packets by every interface. A packet that cannot be sent now is lost, as any datagram may be."""
        for packet in packets:
            for group in self._groups:
                group.send(packet)

    async def close(self) -> None:
        """Neither hear nor send any more."""
        for task in self._listening:
            task.cancel()
        await asyncio.wait(self._listening)
        self._close_sockets()

    def _close_sockets(self) -> None:
        for group in self._groups:
            group.close()
