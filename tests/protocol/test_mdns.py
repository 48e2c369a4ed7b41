"""Nodes find each other's tables by real multicast on the loopback interface."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from ipaddress import ip_address
from itertools import islice
from types import FrameType
from typing import NoReturn
from unittest.mock import Mock

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from zeroconf import DNSIncoming, DNSOutgoing, DNSQuestionType, DNSRecord
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from cli.table.play import loop_factory
from protocol.limits import (
    ADDRESSES_PER_PEER,
    DATAGRAM,
    FORMER_TABLES,
    HEARD_BURST,
    HEARD_BURST_PER_ADDRESS,
    HEARD_RATE,
    HEARD_RATE_PER_ADDRESS,
    LOOK,
    PLAYERS,
)
from protocol.net.addresses import format_address, parse_address
from protocol.net.discovery import LOBBY, PLAYING, SERVICE_TYPE, TEXT, Advertisement, Sighting
from protocol.net.interfaces import hosts_to_tell, interface_addresses, interfaces
from protocol.net.mdns import Datagram, Discovery, DiscoveryUnavailable, _records, receive_from
from tests.network import forger
from tests.programs import PATIENCE
from tests.protocol.test_sightings import places
from tests.waiting import until

pytestmark = pytest.mark.multicast

LOOPBACK = "127.0.0.1"
FRIDAY = Advertisement("00c0ffee", "Friday", "classic", 1, 4, LOBBY, 1)
GOOD = {b"v": b"1", b"id": b"00c0ffee", b"n": b"Friday", b"rules": b"classic", b"seats": b"1/4", b"st": b"lobby"}

Opener = Callable[[], Awaitable[Discovery]]


@pytest_asyncio.fixture(loop_scope="function")
async def opens(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Opener]:
    """Return a function that starts a discovery on loopback; fail if an exception reaches the event loop's handler."""
    left_over: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: left_over.append(context))
    opened: list[Discovery] = []
    monkeypatch.setattr("protocol.net.mdns.ANNOUNCEMENTS", (0.05, 0.05))

    async def start() -> Discovery:
        discovery = Discovery()
        try:
            await discovery.start(LOOPBACK)
        except DiscoveryUnavailable as error:
            pytest.skip(f"multicast on loopback is needed: {error}")
        opened.append(discovery)
        return discovery

    yield start
    await asyncio.gather(*(each.close() for each in opened))
    assert not left_over, left_over


@pytest.fixture
def parsing(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """Wrap the packet parser in a mock that counts its calls."""
    parse = Mock(wraps=DNSIncoming)
    monkeypatch.setattr("protocol.net.mdns.DNSIncoming", parse)
    return parse


async def listed(discovery: Discovery, condition: Callable[[tuple[Sighting, ...]], bool]) -> tuple[Sighting, ...]:
    async with asyncio.timeout(PATIENCE):
        while not condition(discovery.tables()):
            await discovery.changed()
    return discovery.tables()


def called(discovery: Discovery, wanted: str) -> tuple[Sighting, ...]:
    """Return the tables with this name."""
    return tuple(each for each in discovery.tables() if each.advertisement.name == wanted)


async def find(discovery: Discovery, wanted: str) -> tuple[Sighting, ...]:
    """Wait for tables with this name."""
    await listed(discovery, lambda _: bool(called(discovery, wanted)))
    return called(discovery, wanted)


# Two nodes


async def test_a_table_is_found_by_nodes_started_before_and_after_it(opens: Opener) -> None:
    early, host = await opens(), await opens()
    await host.advertise(FRIDAY, 7000)
    late = await opens()
    for guest in (early, late):
        (found,) = await find(guest, "Friday")
        assert found.advertisement == FRIDAY
        assert (LOOPBACK, 7000) in found.addresses
    assert host.tables() == ()


async def test_an_advertisement_can_change(opens: Opener) -> None:
    host, guest = await opens(), await opens()
    await host.advertise(FRIDAY, 7000)
    await find(guest, "Friday")
    playing = dataclasses.replace(FRIDAY, seats_taken=4, status=PLAYING)
    await host.advertise(playing, 7000)
    (seen,) = await listed(guest, lambda tables: [each.advertisement for each in tables] == [playing])
    assert seen.addresses


async def test_two_tables_may_have_the_same_name(opens: Opener) -> None:
    first, second, guest = await opens(), await opens(), await opens()
    await first.advertise(FRIDAY, 7000)
    await second.advertise(dataclasses.replace(FRIDAY, id="00decade"), 7001)
    await listed(guest, lambda tables: len(tables) == 2)
    assert {each.advertisement.id for each in called(guest, "Friday")} == {"00c0ffee", "00decade"}


async def test_a_withdrawn_table_vanishes_and_can_come_back(opens: Opener) -> None:
    host, guest = await opens(), await opens()
    await host.advertise(FRIDAY, 7000)
    await find(guest, "Friday")
    await host.withdraw()
    await listed(guest, lambda tables: not tables)
    await host.advertise(FRIDAY, 7001)
    (seen,) = await find(guest, "Friday")
    assert (LOOPBACK, 7001) in seen.addresses


async def test_the_table_of_a_node_that_closes_vanishes(opens: Opener) -> None:
    host, guest = await opens(), await opens()
    await host.advertise(FRIDAY, 7000)
    await find(guest, "Friday")
    await host.close()
    await listed(guest, lambda tables: not tables)


async def test_rechecking_unchanged_interfaces_keeps_all_tables(opens: Opener) -> None:
    host, guest = await opens(), await opens()
    await host.advertise(FRIDAY, 7000)
    before = await find(guest, "Friday")
    await host.interfaces_changed()
    await guest.interfaces_changed()
    assert guest.tables() == before
    await host.advertise(dataclasses.replace(FRIDAY, name="Saturday"), 7000)
    assert await find(guest, "Saturday")


# Discovery that cannot be used


async def test_failed_discovery_raises_nothing_later_and_can_be_started_again(opens: Opener) -> None:
    host, guest = Discovery(), await opens()
    with pytest.raises(DiscoveryUnavailable, match="no network interface nowhere0"):
        await host.start("nowhere0")
    await host.advertise(FRIDAY, 7000)
    await host.interfaces_changed()
    assert host.tables() == ()
    await host.start(LOOPBACK)
    assert await find(guest, "Friday")
    await host.close()
    await host.withdraw()
    await host.close()


async def test_discovery_without_multicast_reports_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(19, "No such device")

    monkeypatch.setattr("protocol.net.mdns._Group", refuse)
    with pytest.raises(DiscoveryUnavailable, match="No such device"):
        await Discovery().start()


# Hostile advertisements


def pointer_packet(instance: bytes) -> bytes:
    """Build a PTR answer that announces a service instance of this name, which may be invalid."""
    service = b"\x08_p2pdice\x04_tcp\x05local\x00"
    name = bytes([len(instance)]) + instance + b"\xc0\x0c"
    return struct.pack(">6H", 0, 0x8400, 0, 1, 0, 0) + service + struct.pack(">HHIH", 12, 1, 4500, len(name)) + name


def send_on_loopback(packet: bytes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(LOOPBACK))
        sender.sendto(packet, ("224.0.0.251", 5353))


async def test_hostile_records_are_ignored(opens: Opener) -> None:
    guest = await opens()
    hostile = AsyncZeroconf(interfaces=[LOOPBACK])
    send_on_loopback(pointer_packet(b"\x1b[2J"))
    sent: list[Awaitable[object]] = []
    for name, port, properties, address in [
        ("text", 7000, GOOD | {b"n": b"\xff\xfe"}, LOOPBACK),
        ("none", 7000, {}, LOOPBACK),
        ("port", 0, GOOD, LOOPBACK),
        ("group", 7000, GOOD, "224.0.0.251"),
        ("escape", 7000, GOOD | {b"n": b"\x1b[2J"}, LOOPBACK),
        ("last", 7000, GOOD | {b"n": b"honest"}, LOOPBACK),
    ]:
        info = AsyncServiceInfo(
            SERVICE_TYPE,
            f"{name}.{SERVICE_TYPE}",
            port=port,
            properties=properties,
            server=f"{name}.local.",
            parsed_addresses=[address],
        )
        sent.append(await hostile.async_register_service(info, cooperating_responders=True, strict=False))
    await asyncio.gather(*sent)
    assert await find(guest, "honest")
    assert [each.advertisement.name for each in guest.tables()] == ["honest"]
    await hostile.async_close()


def label(raw: bytes) -> bytes:
    return bytes([len(raw)]) + raw


@pytest.mark.parametrize(
    ("instance", "host"),
    [(b"evil", "\u0130".encode() * 31), ("\u212a".encode() * 15 + b"\xff" * 16, b"host")],
    ids=["host grows in lower case", "instance shrinks in lower case"],
)
async def test_no_name_stops_discovery(opens: Opener, instance: bytes, host: bytes) -> None:
    guest, honest = await opens(), await opens()
    name = label(instance) + forger.TYPE
    send_on_loopback(forger.answer(forger.pointer(name), forger.service(name, label(host) + forger.LOCAL, 7000)))
    await asyncio.sleep(3 * LOOK)
    await honest.advertise(FRIDAY, 7000)
    assert await find(guest, "Friday")


async def test_a_query_that_cannot_be_encoded_is_logged_and_discovery_goes_on(
    opens: Opener, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    guest, honest = await opens(), await opens()
    monkeypatch.setattr(guest._sightings, "questions", lambda now: (("x" * 70 + ".local.", TEXT),))
    await honest.advertise(FRIDAY, 7000)
    await until(lambda: "not asked by multicast" in caplog.text)
    await honest.advertise(dataclasses.replace(FRIDAY, name="Saturday"), 7000)
    assert await find(guest, "Saturday")


async def test_the_number_of_tables_kept_is_limited(opens: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocol.net.discovery.TABLES", 2)
    guest = await opens()
    for number in range(4):
        host = await opens()
        await host.advertise(dataclasses.replace(FRIDAY, name=f"table {number}"), 7000)
        if number < 2:
            assert await find(guest, f"table {number}")
    await asyncio.sleep(0.2)
    assert called(guest, "table 3") == ()
    assert len(guest.tables()) == 2


# Names that are taken over


def forged(host: Discovery, identifier: str = "00decade") -> bytes:
    """Build a packet that replaces a node's records by another table at another address."""
    instance = forger.label(host._token) + forger.TYPE
    return forger.table(instance, forger.label("forger") + forger.LOCAL, "Friday", "192.0.2.66", 6666, identifier)


async def said_all(host: Discovery) -> None:
    """Wait until a node has sent its unsolicited announcements."""
    assert host._announcing is not None
    await host._announcing


async def test_a_hijacked_table_announces_itself_again_and_guests_see_both(opens: Opener) -> None:
    host, guest = await opens(), await opens()
    await host.advertise(FRIDAY, 7000)
    await find(guest, "Friday")
    await said_all(host)
    send_on_loopback(forged(host))
    await until(lambda: ("192.0.2.66", 6666) in places(guest.told()))
    await until(lambda: (LOOPBACK, 7000) in places(guest.tables()))
    assert {(LOOPBACK, 7000), ("192.0.2.66", 6666)} <= places(guest.told())


async def test_a_table_comes_back_after_a_forged_goodbye(opens: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    host, guest = await opens(), await opens()
    await host.advertise(FRIDAY, 7000)
    await find(guest, "Friday")
    await said_all(host)
    said: list[object] = []
    say = host._say

    def note_and_say(records: Iterable[DNSRecord]) -> None:
        said.append(records)
        say(records)

    monkeypatch.setattr(host, "_say", note_and_say)
    instance = forger.label(host._token) + forger.TYPE
    send_on_loopback(forger.answer(forger.record(forger.TYPE, forger.PTR, instance, ttl=0)))
    await until(lambda: len(said) >= 1)
    await asyncio.sleep(2 * LOOK)
    await until(lambda: bool(called(guest, "Friday")))
    assert (LOOPBACK, 7000) in places(guest.told())


@pytest.mark.parametrize("kind", [forger.PTR, forger.SRV, forger.TXT, forger.A])
async def test_a_forged_goodbye_is_answered_at_once(opens: Opener, kind: int) -> None:
    """The node announces its records again without being asked, although the goodbye holds its own record."""
    host = await opens()
    await host.advertise(FRIDAY, 7000)
    await said_all(host)
    forged = DNSOutgoing(0x8400)
    forged.add_answer_at_time(next(each for each in _records(host._service(FRIDAY, 7000), 0) if each.type == kind), 0)
    ears = forger.receiver(LOOPBACK)
    ears.setblocking(False)
    listening = asyncio.create_task(heard_from(host, ears, PATIENCE, most=2))
    send_on_loopback(*forged.packets())
    packets = await listening
    ears.close()
    assert [[bool(each.ttl) for each in packet.answers()] for packet in packets] == [[False], [True] * len(host._own)]


async def test_more_hijacks_than_can_be_remembered_are_reported(opens: Opener) -> None:
    host, guest = await opens(), await opens()
    await host.advertise(FRIDAY, 7000)
    await find(guest, "Friday")
    for number in range(FORMER_TABLES + 50):
        send_on_loopback(forged(host, f"{number:08x}"))
        if number % 20 == 0:
            await asyncio.sleep(0.02)
    with pytest.raises(DiscoveryUnavailable, match="no name can be trusted"):
        await until(lambda: not guest.told())


# Answering


async def test_the_longest_advertisement_fits_into_one_readable_packet(
    opens: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = tuple(ip_address(f"2001:db8::{number:x}:ffff") for number in range(1, 50))
    host, guest = await opens(), await opens()
    monkeypatch.setattr("protocol.net.mdns.interface_addresses", lambda interface: many)
    sent: list[bytes] = []
    assert host._multicast is not None
    monkeypatch.setattr(host._multicast, "send", sent.extend)
    longest = Advertisement("f" * 64, "é" * 40, "ü" * 40, 10, 10, PLAYING, 9999)
    await host.advertise(longest, 65535)
    (packet,) = sent
    assert len(packet) <= DATAGRAM
    guest._heard(Datagram(packet, LOOPBACK, 0))
    (seen,) = await find(guest, longest.name)
    assert seen.advertisement == longest
    assert seen.addresses == tuple((str(each), 65535) for each in many[:ADDRESSES_PER_PEER])


async def heard_from(discovery: Discovery, ears: socket.socket, seconds: float, most: int = 1000) -> list[DNSIncoming]:
    """Collect one node's responses until the time is over or ``most`` have arrived."""
    loop = asyncio.get_running_loop()
    packets: list[DNSIncoming] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while len(packets) < most:
                data = await loop.sock_recv(ears, 9000)
                packet = DNSIncoming(data)
                if packet.is_response() and discovery._token.encode() in data:
                    packets.append(packet)
    return packets


async def test_a_node_does_not_answer_its_own_packets(opens: Opener) -> None:
    """A node on all interfaces receives each of its own packets several times, with different zones."""
    ears = forger.receiver(LOOPBACK)
    ears.setblocking(False)
    host = Discovery()
    await host.start()
    await host.advertise(FRIDAY, 7000)
    on_each_interface = sum(len(each.addresses) for each in interfaces())
    said = len(await heard_from(host, ears, 2.0))
    ears.close()
    await host.close()
    assert 0 < said <= 3 * on_each_interface


async def test_a_flood_of_queries_gets_a_few_answers_a_second(opens: Opener) -> None:
    host = await opens()
    await host.advertise(FRIDAY, 7000)
    await said_all(host)
    ears = forger.receiver(LOOPBACK)
    ears.setblocking(False)
    listening = asyncio.create_task(heard_from(host, ears, 1.0))
    for packet in islice(forger.queries(), 300):
        send_on_loopback(packet)
        await asyncio.sleep(0.003)
    answers = await listening
    ears.close()
    assert 1 <= len(answers) <= 10
    assert all(len(each.answers()) <= 25 for each in answers)


async def test_a_query_that_lists_a_known_table_gets_no_answer(opens: Opener) -> None:
    host = await opens()
    await host.advertise(FRIDAY, 7000)
    await said_all(host)
    ears = forger.receiver(LOOPBACK)
    ears.setblocking(False)
    known = forger.record(forger.TYPE, forger.PTR, forger.label(host._token) + forger.TYPE, flush=False)
    asked = struct.pack(">6H", 0, 0, 1, 1, 0, 0) + forger.TYPE + struct.pack(">HH", forger.PTR, 1)
    listening = asyncio.create_task(heard_from(host, ears, 0.5))
    send_on_loopback(asked + known)
    assert await listening == []
    listening = asyncio.create_task(heard_from(host, ears, PATIENCE, most=1))
    send_on_loopback(asked + known.replace(struct.pack(">I", 4500), struct.pack(">I", 100)))
    assert len(await listening) == 1
    ears.close()


async def test_another_multicast_dns_program_finds_a_table_with_all_its_fields(opens: Opener) -> None:
    host = await opens()
    await host.advertise(FRIDAY, 7000)
    other = AsyncZeroconf(interfaces=[LOOPBACK])
    info = AsyncServiceInfo(SERVICE_TYPE, f"{host._token}.{SERVICE_TYPE}")
    assert await info.async_request(other.zeroconf, PATIENCE * 1000, DNSQuestionType.QM)
    assert info.properties == GOOD
    assert info.port == 7000
    assert LOOPBACK in info.parsed_addresses()
    await other.async_close()


# Floods


class Work:
    """Counts the Python and C calls that ``sys.setprofile`` reports in this thread."""

    def __init__(self) -> None:
        self.calls = 0

    def __enter__(self) -> Work:
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _count(self, frame: FrameType, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            self.calls += 1


async def test_services_on_one_host_do_not_multiply_the_work_for_its_addresses(opens: Opener) -> None:
    """With 200 services on one host, thirty packets of 200 addresses would make 1.2 million pairs."""
    await opens()
    packets = list(islice(forger.shared(), 200 + 60))
    for number, packet in enumerate(packets[:200]):
        send_on_loopback(packet)
        if number % 20 == 0:
            await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)
    with Work() as work:
        for packet in packets[200:]:
            send_on_loopback(packet)
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)
    assert work.calls < 1000 * len(packets)


async def test_a_flood_is_read_no_faster_than_the_limit(opens: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocol.net.mdns.DATAGRAM_RATE", 50.0)
    monkeypatch.setattr("protocol.net.mdns.DATAGRAM_BURST", 100)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    guest = await opens()
    read = turns = 0

    def heard(datagram: Datagram) -> None:
        nonlocal read
        read += 1

    assert guest._multicast is not None
    monkeypatch.setattr(guest._multicast, "_hear", heard)
    for packet in islice(forger.junk(), 3000):
        send_on_loopback(packet)
        await asyncio.sleep(0)
        turns += 1
    await asyncio.sleep(0.3)
    assert turns == 3000  # the flood did not block the event loop
    assert 50 <= read <= 100 + 50 * (loop.time() - begun) + 1


async def test_a_flood_from_one_address_is_parsed_up_to_the_limit_and_others_are_heard(
    opens: Opener, parsing: Mock
) -> None:
    loop = asyncio.get_running_loop()
    guest, begun = await opens(), loop.time()
    for packet in islice(forger.pointers(), 2 * HEARD_BURST_PER_ADDRESS):
        guest._heard(Datagram(packet, "192.0.2.66", 0))
    most = HEARD_BURST_PER_ADDRESS + HEARD_RATE_PER_ADDRESS * (loop.time() - begun) + 1
    assert HEARD_BURST_PER_ADDRESS <= parsing.call_count <= most
    for packet in islice(forger.junk(), 0, 600, 6):  # these do not name the service
        guest._heard(Datagram(packet, "192.0.2.67", 0))
    assert parsing.call_count <= most
    name = forger.label("x") + forger.TYPE
    guest._heard(Datagram(forger.table(name, forger.label("x") + forger.LOCAL, "x", LOOPBACK, 7, "c0ffee00"), "y", 0))
    assert await find(guest, "x")


async def test_an_error_that_ends_discovery_is_logged(
    opens: Opener, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(datagram: Datagram) -> None:
        raise RuntimeError("a defect")

    guest = await opens()
    assert guest._multicast is not None
    monkeypatch.setattr(guest._multicast, "_hear", fail)
    send_on_loopback(b"anything")
    await until(lambda: "a defect" in caplog.text)
    assert "the search for tables has stopped" in caplog.text


async def test_packets_from_all_addresses_together_are_parsed_up_to_the_limit(opens: Opener, parsing: Mock) -> None:
    """The total is limited even if packets come from many addresses, real or forged."""
    loop = asyncio.get_running_loop()
    guest, begun = await opens(), loop.time()
    for number, packet in enumerate(islice(forger.pointers(), HEARD_BURST * 3 // 2)):
        guest._heard(Datagram(packet, f"192.0.2.{number % 200}", 0))
    assert HEARD_BURST <= parsing.call_count <= HEARD_BURST + HEARD_RATE * (loop.time() - begun) + 1


async def test_all_tables_are_queried_again_after_a_flood(opens: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocol.net.mdns.AFTER_FLOOD", 0.1)
    guest = await opens()
    for packet in islice(forger.junk(), 2000):
        guest._heard(Datagram(packet, "192.0.2.66", 0))
    guest._pause = 900.0
    before = guest._ask_at
    await until(lambda: guest._ask_at > before + 100)


@st.composite
def advertisements(draw: st.DrawFn) -> Advertisement:
    names = st.from_regex(r"[A-Za-zäöü0-9 '.-]{1,40}", fullmatch=True)
    seats = draw(st.integers(2, PLAYERS))
    return Advertisement(
        id=draw(st.from_regex("[0-9a-f]{8,64}", fullmatch=True)),
        name=draw(names),
        rules=draw(names),
        seats_taken=draw(st.integers(0, seats)),
        seats=seats,
        status=draw(st.sampled_from([LOBBY, PLAYING])),
        version=draw(st.integers(1, 9999)),
    )


@given(advertisements())
def test_an_advertisement_survives_the_wire(advertisement: Advertisement) -> None:
    txt = {key.encode(): value.encode() for key, value in advertisement.to_txt().items()}
    assert Advertisement.from_txt(txt) == advertisement
    assert all(len(key) + 1 + len(value) <= 255 for key, value in txt.items())


@given(st.dictionaries(st.sampled_from(sorted(GOOD)), st.none() | st.binary(max_size=255) | st.text().map(str.encode)))
def test_hostile_text_is_refused_or_is_in_canonical_form(hostile: dict[bytes, bytes | None]) -> None:
    read = Advertisement.from_txt(GOOD | hostile)
    if read is not None:
        assert read.to_txt() == {key.decode(): (value or b"").decode() for key, value in (GOOD | hostile).items()}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"v", b"0"),
        (b"v", b"01"),
        (b"v", "١".encode()),
        (b"id", b"00C0FFEE"),
        (b"id", b"00"),
        (b"id", b"0" * 65),
        (b"n", b""),
        (b"n", b"x" * 41),
        (b"n", b"\x1b[31mred"),
        (b"n", "\u3164".encode()),
        (b"n", "a\u0301\u0301\u0301".encode()),
        (b"n", "‮evil".encode()),
        (b"n", "e\u0301".encode()),
        (b"rules", b"two\nlines"),
        (b"seats", b"5/4"),
        (b"seats", b"1/1"),
        (b"seats", b"1/11"),
        (b"seats", b"1/ 4"),
        (b"seats", None),
        (b"st", b"won"),
    ],
)
def test_every_field_has_its_bounds(key: bytes, value: bytes | None) -> None:
    assert Advertisement.from_txt(GOOD) == FRIDAY
    assert Advertisement.from_txt(GOOD | {key: value}) is None


def test_an_advertisement_that_peers_would_refuse_is_not_sent() -> None:
    with pytest.raises(ValueError, match="not a table that can be advertised"):
        dataclasses.replace(FRIDAY, name="x" * 41).to_txt()


# Addresses


@given(st.ip_addresses().map(str), st.integers(1, 65535))
def test_an_address_survives_formatting_and_parsing(host: str, port: int) -> None:
    assert parse_address(format_address((host, port))) == (host, port)


@pytest.mark.parametrize(
    "text",
    ["", "host", "host:", ":1", "host:0", "host:65536", "::1:7000", "[::1]", "a b:1", "host:1 ", "host:١", "[]:1"],
)
def test_a_record_with_a_malformed_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"address|port"):
        parse_address(text)


def test_loopback_comes_last_among_a_nodes_own_addresses() -> None:
    assert interface_addresses()[-1].is_loopback
    assert hosts_to_tell(["0.0.0.0"])[-1] == LOOPBACK
    assert hosts_to_tell([LOOPBACK]) == (LOOPBACK,)


def test_asyncios_loop_is_used_without_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop_factory() is None


class LoopWithoutTheCall(asyncio.SelectorEventLoop):
    """An event loop without ``sock_recvfrom``, like uvloop's."""

    async def sock_recvfrom(self, sock: socket.socket, bufsize: int) -> NoReturn:
        raise NotImplementedError


@pytest.mark.parametrize("factory", [None, LoopWithoutTheCall, loop_factory()], ids=["asyncio", "without", "default"])
def test_receiving_waits_for_a_packet_or_takes_a_queued_one(
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
