"""Discovery: finds tables on the LAN by multicast DNS (RFC 6762, RFC 6763). Anybody there can forge what it finds.

So an advertisement is only a hint. It names an address to dial; the link proves the identity of the peer that answers.
A killed node stays advertised until its records expire, so an advertisement is no sign of life.

zeroconf's parser reads and writes the packets. Its cache, browser and responder are not used, because their work per
packet grows with everything received before. :mod:`protocol.limits` bounds memory and work here, and the sockets are
read no faster than a node can afford, so that no flood delays a match.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import random
import secrets
import socket
import struct
from collections.abc import Callable, Coroutine, Iterable
from itertools import product
from typing import Any, Final, NamedTuple

from zeroconf import (
    DNSAddress,
    DNSIncoming,
    DNSOutgoing,
    DNSPointer,
    DNSQuestion,
    DNSRecord,
    DNSService,
    DNSText,
    Error,
    ServiceInfo,
)

from protocol.errors import ErrorCode, LocalError
from protocol.limits import (
    ADDRESSES_PER_PEER,
    ADDRESSES_WATCHED,
    ANSWER_INTERVAL,
    DATAGRAM,
    DATAGRAM_BURST,
    DATAGRAM_RATE,
    DATAGRAM_REST,
    HEARD_BURST,
    HEARD_BURST_PER_ADDRESS,
    HEARD_RATE,
    HEARD_RATE_PER_ADDRESS,
    LOOK,
    LOOK_BURST,
    TABLE_LIFE,
)
from protocol.net.discovery import POINTER, PRIVATE, SERVICE_TYPE, Advertisement, Sighting, Sightings
from protocol.net.interfaces import Interface, interface_addresses, interfaces
from protocol.rate_limit import Bucket, Buckets

log = logging.getLogger(__name__)

ENUMERATION: Final = "_services._dns-sd._udp.local."
"""The name to query for the kinds of services on the network (RFC 6763, §9)."""
ANNOUNCEMENTS: Final = (0.25, 1.0)
"""Seconds before each repetition of an announcement, since a packet may be lost."""
GOODBYES: Final = (0.05, 0.05)
JITTER: Final = (0.02, 0.12)
"""Range of random delays in seconds before an answer, so that nodes do not answer all at once (RFC 6762, §6)."""
FIRST_QUESTIONS: Final = 1.0
"""Seconds between the first two questions for all tables. Each further pause is three times as long."""
LAST_QUESTIONS: Final = 900.0
"""The longest pause between two questions for all tables. New tables announce themselves in any case."""
AFTER_FLOOD: Final = 5.0
"""Seconds until all tables are asked for again after packets had to be dropped."""

_IN, _UNIQUE = 1, 0x8000
_ANSWER, _QUESTION = 0x8400, 0


class DiscoveryUnavailable(LocalError):
    """Multicast discovery does not work here, for the reason in the message. Direct addresses still work."""

    code = ErrorCode.UNREACHABLE


class Discovery:
    """One node's view of the tables around it, and its own advertisement. One per process."""

    def __init__(self) -> None:
        self._multicast: Multicast | None = None
        self._interface: str | None = None
        self._advertised: tuple[Advertisement, int] | None = None
        # 128 random bits are unique. RFC 6762, §8.1 allows skipping the probing then, which would take more than a
        # second.
        self._token = secrets.token_hex(16)
        self._instance = f"{self._token}.{SERVICE_TYPE}"
        self._server = f"{self._token}.local."
        self._names = {SERVICE_TYPE, ENUMERATION, self._instance, self._server}
        self._own: tuple[DNSRecord, ...] = ()
        """The records of this node's own table, the pointer first."""
        self._announcing: asyncio.Task[None] | None = None
        self._answering: asyncio.TimerHandle | None = None
        self._spoke_at = -ANSWER_INTERVAL
        self._sightings = Sightings(self._instance)
        self._tables: tuple[Sighting, ...] = ()
        self._keeping: asyncio.Task[None] | None = None
        self._stirred = asyncio.Event()
        self._change = asyncio.Event()
        self._ask_at = 0.0
        self._pause = FIRST_QUESTIONS
        self._pace = Bucket(HEARD_RATE, HEARD_BURST, 0)
        self._pace_of_each: Buckets[str] = Buckets(HEARD_RATE_PER_ADDRESS, HEARD_BURST_PER_ADDRESS, ADDRESSES_WATCHED)

    async def start(self, interface: str | None = None) -> None:
        """Start looking for tables, on all interfaces or on the one with this name or address.

        After a failure, this can be called again; a table advertised in the meantime is then announced.

        :raises DiscoveryUnavailable: if no interface supports multicast.
        """
        self._interface = interface
        self._multicast = self._open()
        self._keeping = kept_up(self._keep())
        if self._advertised is not None:
            await self.advertise(*self._advertised)

    def _open(self) -> Multicast:
        try:
            return Multicast(self._interface, self._heard)
        except NoInterfaceError as error:
            raise DiscoveryUnavailable(str(error)) from error
        except OSError as error:
            raise DiscoveryUnavailable(f"multicast could not be started here ({error})") from error

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of interfaces that do not support multicast, so that no table is found through them."""
        return self._multicast.left_out if self._multicast is not None else ()

    async def close(self) -> None:
        """Withdraw the advertisement and stop looking."""
        await self.withdraw()
        multicast, self._multicast = self._multicast, None
        tasks = [each for each in (self._keeping, self._announcing) if each is not None]
        if self._keeping is not None:
            self._keeping.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if multicast is not None:
            await multicast.close()

    async def interfaces_changed(self) -> None:
        """Reopen the interfaces after sleep or a change of network, and ask for all tables again."""
        if self._multicast is None:
            return
        # If no socket can be opened now, keep the old ones. The next change of the network is the next chance.
        with contextlib.suppress(DiscoveryUnavailable):
            former, self._multicast = self._multicast, self._open()
            await former.close()
        self._ask_at, self._pause = 0.0, FIRST_QUESTIONS
        self._stirred.set()
        if self._advertised is not None:
            await self.advertise(*self._advertised)

    # This node's table

    async def advertise(self, advertisement: Advertisement, port: int) -> None:
        """Advertise a table reachable at ``port``, or change its advertisement; before :meth:`start`, only store it.

        :raises ValueError: if other nodes would not accept a field of the advertisement.
        """
        info = self._service(advertisement, port)
        self._advertised = advertisement, port
        if self._multicast is not None:
            self._own = _records(info)
            self._announce(self._own, ANNOUNCEMENTS)

    async def withdraw(self) -> None:
        """Announce that the table is gone."""
        advertised, self._advertised, self._own = self._advertised, None, ()
        if self._answering is not None:
            self._answering.cancel()
            self._answering = None
        if advertised is not None and self._multicast is not None:
            self._announce(_records(self._service(*advertised), ttl=0), GOODBYES)

    def _service(self, advertisement: Advertisement, port: int) -> ServiceInfo:
        own = interface_addresses(self._interface)
        # On another machine, a loopback address leads to that machine itself, so it is only a last resort.
        reachable = [each for each in own if not each.is_loopback] or own
        return ServiceInfo(
            SERVICE_TYPE,
            self._instance,
            port=port,
            properties=advertisement.to_txt(),
            server=self._server,
            addresses=[each.packed for each in reachable[:ADDRESSES_PER_PEER]],
        )

    def _announce(self, records: tuple[DNSRecord, ...], pauses: tuple[float, ...]) -> None:
        if self._announcing is not None:
            self._announcing.cancel()
        self._say(records)
        self._announcing = asyncio.create_task(self._repeat(records, pauses))

    async def _repeat(self, records: tuple[DNSRecord, ...], pauses: tuple[float, ...]) -> None:
        for pause in pauses:
            await asyncio.sleep(pause)
            self._say(records)

    def _answer_soon(self) -> None:
        if self._own and self._answering is None:
            loop = asyncio.get_running_loop()
            jitter = random.uniform(*JITTER)  # noqa: S311
            at = max(loop.time() + jitter, self._spoke_at + ANSWER_INTERVAL)
            self._answering = loop.call_at(at, self._answer)

    def _answer(self) -> None:
        self._answering = None
        self._say(self._own)

    def _say(self, records: Iterable[DNSRecord]) -> None:
        """Send all records in one packet, so that receivers need not combine packets."""
        packet = DNSOutgoing(_ANSWER)
        for record in records:
            packet.add_answer_at_time(record, 0)
        self._spoke_at = asyncio.get_running_loop().time()
        self._send(packet)

    def _send(self, packet: DNSOutgoing) -> None:
        if self._multicast is not None:
            self._multicast.send(packet.packets())

    # Tables of other nodes

    def tables(self) -> tuple[Sighting, ...]:
        """Return the current tables by name, except private ones."""
        return _told_to_all(self._tables)

    def told(self) -> tuple[Sighting, ...]:
        """Return the current tables and the recent advertisements that they replaced: anybody can take over a name.

        :raises DiscoveryUnavailable: if there were more than are kept.
        """
        return _told_to_all(self._ever_told())

    def numbered(self, number: int) -> tuple[Sighting, ...]:
        """Return the tables whose short code has this number, private or not, open or playing, and recent
        advertisements with this number.

        :raises DiscoveryUnavailable: as in :meth:`told`.
        """
        return tuple(each for each in self._ever_told() if each.advertisement.number == number)

    def numbers(self) -> frozenset[int]:
        return frozenset(each.advertisement.number for each in self._tables)

    def _ever_told(self) -> tuple[Sighting, ...]:
        try:
            return self._sightings.told(asyncio.get_running_loop().time())
        except ValueError:
            problem = "somebody on this network changes tables so often that no name can be trusted"
            raise DiscoveryUnavailable(problem) from None

    async def changed(self) -> None:
        await self._change.wait()

    async def _keep(self) -> None:
        """Ask questions, and update the tables after each packet, but not too often."""
        loop = asyncio.get_running_loop()
        pace = Bucket(1 / LOOK, LOOK_BURST, loop.time())
        while True:
            pace.take()
            self._stirred.clear()
            now = loop.time()
            tables = self._sightings.look(now)
            if tables != self._tables:
                self._tables = tables
                self._change.set()
                self._change = asyncio.Event()
            due = min(self._ask(now), self._sightings.due(now))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._stirred.wait()
            await asyncio.sleep(pace.wait(loop.time()))

    def _ask(self, now: float) -> float:
        """Send the questions that are due, and return the time of the next question for all tables."""
        packet = DNSOutgoing(_QUESTION)
        if self._ask_at <= now:
            # Ask for multicast answers. A unicast answer would reach only one of several nodes on a machine, because
            # they share the port.
            packet.add_question(DNSQuestion(SERVICE_TYPE, POINTER, _IN))
            known = [DNSPointer(SERVICE_TYPE, POINTER, _IN, ttl, name) for name, ttl in self._sightings.known(now)]
            for record in (*self._own[:1], *known):  # its own pointer keeps this node from answering itself
                packet.add_answer_at_time(record, 0)
            self._ask_at = now + self._pause
            self._pause = min(3 * self._pause, LAST_QUESTIONS)
        for name, kind in self._sightings.questions(now):
            packet.add_question(DNSQuestion(name, kind, _IN))
        if packet.questions:
            try:
                self._send(packet)
            except Error as error:  # a name from a peer that cannot be written; it should have been ignored earlier
                log.warning("not asked by multicast: %s", error)
        return self._ask_at

    # Receiving

    def _heard(self, datagram: Datagram) -> None:
        """Process a packet if it concerns this service and the rate allows it."""
        said = datagram.data.lower()
        if not any(part in said for part in (b"_p2pdice", b"_dns-sd", self._token.encode())):
            return
        now = asyncio.get_running_loop().time()
        if not (self._pace_of_each.bucket(datagram.host, now).admits(now) and self._pace.admits(now)):
            self._ask_at = min(self._ask_at, now + AFTER_FLOOD)
            return
        packet = DNSIncoming(datagram.data, scope_id=datagram.zone or None)
        if not packet.valid:
            return
        if packet.is_query():
            self._asked(packet)
        else:
            self._told(packet.answers(), now)

    def _asked(self, packet: DNSIncoming) -> None:
        names = {name for question in packet.questions if (name := question.name.lower()) in self._names}
        if names and self._own and not (names == {SERVICE_TYPE} and self._is_known(packet.answers())):
            self._answer_soon()

    def _is_known(self, answers: Iterable[DNSRecord]) -> bool:
        """Return whether the listed known answers include this node's table with enough time left."""
        return any(
            isinstance(each, DNSPointer) and each.alias.lower() == self._instance and each.ttl >= TABLE_LIFE / 2
            for each in answers
        )

    def _told(self, records: list[DNSRecord], now: float) -> None:
        # Answer records that contradict this node's own, so that all nodes receive both.
        if self._own and any(self._contradicts(each) for each in records):
            self._answer_soon()
        self._sightings.hear(records, now)
        self._stirred.set()

    def _contradicts(self, record: DNSRecord) -> bool:
        is_ours = record.name.lower() in (self._instance, self._server) or (
            isinstance(record, DNSPointer) and record.alias.lower() == self._instance
        )
        return is_ours and (not record.ttl or _content(record) not in map(_content, self._own))


def _told_to_all(sightings: Iterable[Sighting]) -> tuple[Sighting, ...]:
    return tuple(each for each in sightings if each.advertisement.status != PRIVATE)


def _records(info: ServiceInfo, ttl: int | None = None) -> tuple[DNSRecord, ...]:
    """Return the records of a service. A ``ttl`` of 0 announces that it is gone."""
    life = TABLE_LIFE if ttl is None else ttl
    return (
        info.dns_pointer(override_ttl=ttl),
        info.dns_service(override_ttl=ttl),
        info.dns_text(override_ttl=ttl),
        *info.dns_addresses(override_ttl=ttl),
        DNSPointer(ENUMERATION, POINTER, _IN, life, SERVICE_TYPE),
    )


def _content(record: DNSRecord) -> tuple[object, ...]:
    """Return the content of a record without its lifetime and the interface on which it arrived."""
    said: tuple[object, ...] = ()
    match record:
        case DNSPointer():
            said = (record.alias.lower(),)
        case DNSService():
            said = (record.server.lower(), record.port)
        case DNSText():
            said = (record.text,)
        case DNSAddress():
            said = (record.address,)
    return (record.name.lower(), record.type, *said)


PORT: Final = 5353
_HOPS: Final = 255
"""Hop limit required by RFC 6762, §11."""
_FULL: Final = (errno.ENOBUFS, errno.ENOMEM)
"""Errors when a socket has joined the group on the maximum number of interfaces."""


class _Version(NamedTuple):
    """A version of IP and its socket options."""

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
    data: bytes
    host: str
    """Address of the sender, which anybody can forge."""
    zone: int
    """Number of the interface on which it arrived; 0 for IPv4."""


def kept_up(work: Coroutine[None, None, None]) -> asyncio.Task[None]:
    """Start a task that runs until it is cancelled. An error that ends it is logged, because no caller awaits it."""

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the search for tables has stopped", exc_info=error)

    task = asyncio.create_task(work)
    task.add_done_callback(ended)
    return task


class _Group:
    """The multicast DNS group in one version of IP.

    :raises OSError: if this machine lacks that version, or a program that does not share the port has taken it.
    """

    def __init__(self, version: _Version) -> None:
        self._version = version
        self.ears = socket.socket(version.family, socket.SOCK_DGRAM)
        self._members = [self.ears]
        self._ways: list[tuple[bytes, tuple[str | int, ...]]] = []
        """Pairs of a socket option's value, which selects an interface, and the destination."""
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
            # Some systems accept these only as a single byte.
            self.ears.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, bytes([_HOPS]))
            self.ears.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, bytes([1]))
        else:
            self.ears.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            self.ears.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, _HOPS)
            self.ears.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 1)
        self.ears.bind(("", PORT))

    def join(self, interface: Interface) -> bool:
        """Start receiving and sending on an interface; return whether it has an address of this version.

        :raises OSError: if it does not support multicast.
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
            # On Linux, a socket can join a group on at most 20 interfaces. But every socket on the port receives the
            # packets of a group that any socket of the machine has joined (ip(7), IP_MULTICAST_ALL).
            another = socket.socket(self._version.family, socket.SOCK_DGRAM)
            try:
                another.setsockopt(self._version.level, self._version.join, membership)
            except BaseException:
                another.close()
                raise
            self._members.append(another)

    def send(self, packet: bytes) -> None:
        """Send a packet on every interface. A packet that cannot be sent is lost, as any datagram may be."""
        for interface, address in self._ways:
            with contextlib.suppress(OSError):
                self.ears.setsockopt(self._version.level, self._version.send_by, interface)
                self.ears.sendto(packet, address)

    def close(self) -> None:
        for each in self._members:
            each.close()


async def receive_from(listening: socket.socket, most: int) -> tuple[bytes, Any]:
    """Wait for a packet; return its content and its sender's address. uvloop does not implement ``sock_recvfrom``.

    :raises OSError: if receiving fails.
    """
    loop = asyncio.get_running_loop()
    try:
        return await loop.sock_recvfrom(listening, most)
    except NotImplementedError:
        arrived = asyncio.Event()
    while True:
        # Try first, as sock_recvfrom does: a cancelled receiver may still have to remove its reader.
        try:
            return listening.recvfrom(most)
        except BlockingIOError:  # no packet, or another program on the port took it, or its checksum was wrong
            arrived.clear()
        loop.add_reader(listening, arrived.set)
        try:
            await arrived.wait()
        finally:
            loop.remove_reader(listening)


class NoInterfaceError(LocalError, OSError):
    """This machine has no interface with the given name or address."""


class Multicast:
    """Receives and sends on one or all interfaces, and shares the port with other programs on this machine.

    :param interface: name or address of the only interface to use, or None for all.
    :param hear: called with each packet of a valid length, at a limited rate.
    :raises OSError: if no interface supports multicast, or a program that does not share the port has taken it; the
        message states the reason.
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
        """Names of interfaces that do not support multicast, so that no table is found through them."""
        log.debug("multicast by %s", ", ".join(each.name for each in meant if each in joined))
        self._pace = Bucket(DATAGRAM_RATE, DATAGRAM_BURST, asyncio.get_running_loop().time())
        self._listening = [kept_up(self._listen(group.ears)) for group in self._groups]

    async def _listen(self, ears: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                data, source = await receive_from(ears, DATAGRAM + 1)
            except OSError:  # a packet too long for Windows, or an interface that is gone
                data = b""
            if 0 < len(data) <= DATAGRAM:
                self._hear(Datagram(data, source[0], source[3] if len(source) == 4 else 0))
            self._pace.take()
            # In a flood there is always something to read, so without a pause this task would never yield.
            await asyncio.sleep(DATAGRAM_REST if self._pace.wait(loop.time()) else 0)

    def send(self, packets: Iterable[bytes]) -> None:
        """Send packets on every interface. A packet that cannot be sent is lost, as any datagram may be."""
        for packet in packets:
            for group in self._groups:
                group.send(packet)

    async def close(self) -> None:
        """Stop receiving and sending."""
        for task in self._listening:
            task.cancel()
        await asyncio.wait(self._listening)
        self._close_sockets()

    def _close_sockets(self) -> None:
        for group in self._groups:
            group.close()
