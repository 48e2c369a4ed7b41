"""Nodes find each other's tables by real multicast, which stays on the loopback interface here."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from protocol import discovery as discovery_module
from protocol.addresses import format_address, hosts_to_tell, interface_addresses, parse_address
from protocol.discovery import (
    LOBBY,
    PLAYING,
    SERVICE_TYPE,
    Advertisement,
    Discovery,
    DiscoveryUnavailable,
    Sighting,
)
from protocol.limits import PLAYERS, TABLES_ASKED_FOR

pytestmark = pytest.mark.xdist_group("multicast")

LOOPBACK = "127.0.0.1"
PATIENCE = 10.0
FRIDAY = Advertisement("00c0ffee", "Friday", "classic", 1, 4, LOBBY, 1)
GOOD = {b"v": b"1", b"id": b"00c0ffee", b"n": b"Friday", b"rules": b"classic", b"seats": b"1/4", b"st": b"lobby"}

Opener = Callable[[], Awaitable[Discovery]]


@pytest_asyncio.fixture(loop_scope="function")
async def opens() -> AsyncIterator[Opener]:
    """Starts discoveries on loopback; watches that no exception is left to the event loop."""
    left_over: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: left_over.append(context))
    opened: list[Discovery] = []

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
    assert left_over == []


async def until(discovery: Discovery, condition: Callable[[tuple[Sighting, ...]], bool]) -> tuple[Sighting, ...]:
    async with asyncio.timeout(PATIENCE):
        while not condition(discovery.tables()):
            await discovery.changed()
    return discovery.tables()


def called(discovery: Discovery, wanted: str) -> tuple[Sighting, ...]:
    """Return the tables with this name."""
    return tuple(each for each in discovery.tables() if each.advertisement.name == wanted)


async def find(discovery: Discovery, wanted: str) -> tuple[Sighting, ...]:
    """Wait for tables with this name."""
    await until(discovery, lambda _: bool(called(discovery, wanted)))
    return called(discovery, wanted)


# Two nodes


async def test_a_table_is_found_whoever_came_first(opens: Opener) -> None:
    early, host = await opens(), await opens()
    await host.advertise(FRIDAY, 7000)
    late = await opens()
    for guest in (early, late):
        (found,) = await find(guest, "Friday")
        assert found.advertisement == FRIDAY
        assert (LOOPBACK, 7000) in found.addresses
    assert host.tables() == ()


async def test_what_a_table_says_about_itself_can_change(opens: Opener) -> None:
    host, guest = await opens(), await opens()
    await host.advertise(FRIDAY, 7000)
    await find(guest, "Friday")
    playing = dataclasses.replace(FRIDAY, seats_taken=4, status=PLAYING)
    await host.advertise(playing, 7000)
    (seen,) = await until(guest, lambda tables: [each.advertisement for each in tables] == [playing])
    assert seen.addresses


async def test_two_tables_may_bear_one_name(opens: Opener) -> None:
    first, second, guest = await opens(), await opens(), await opens()
    await first.advertise(FRIDAY, 7000)
    await second.advertise(dataclasses.replace(FRIDAY, id="00decade"), 7001)
    await until(guest, lambda tables: len(tables) == 2)
    assert {each.advertisement.id for each in called(guest, "Friday")} == {"00c0ffee", "00decade"}


async def test_a_withdrawn_table_vanishes_and_can_come_back(opens: Opener) -> None:
    host, guest = await opens(), await opens()
    await host.advertise(FRIDAY, 7000)
    await find(guest, "Friday")
    await host.withdraw()
    await until(guest, lambda tables: not tables)
    await host.advertise(FRIDAY, 7001)
    (seen,) = await find(guest, "Friday")
    assert (LOOPBACK, 7001) in seen.addresses


async def test_the_table_of_a_node_that_closes_vanishes(opens: Opener) -> None:
    host, guest = await opens(), await opens()
    await host.advertise(FRIDAY, 7000)
    await find(guest, "Friday")
    await host.close()
    await until(guest, lambda tables: not tables)


async def test_a_look_at_the_interfaces_keeps_everything_as_it_was(opens: Opener) -> None:
    host, guest = await opens(), await opens()
    await host.advertise(FRIDAY, 7000)
    before = await find(guest, "Friday")
    await host.interfaces_changed()
    await guest.interfaces_changed()
    assert guest.tables() == before
    await host.advertise(dataclasses.replace(FRIDAY, name="Saturday"), 7000)
    assert await find(guest, "Saturday")


# Discovery that cannot be used


async def test_without_discovery_nothing_fails_and_it_can_start_later(opens: Opener) -> None:
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


async def test_a_machine_without_multicast_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(19, "No such device")

    monkeypatch.setattr(discovery_module, "AsyncZeroconf", refuse)
    with pytest.raises(DiscoveryUnavailable, match="No such device"):
        await Discovery().start()


# Hostile advertisements


def pointer_packet(instance: bytes) -> bytes:
    """Build the answer that says: there is a service instance of this name, which may be none that is allowed."""
    service = b"\x08_p2pdice\x04_tcp\x05local\x00"
    name = bytes([len(instance)]) + instance + b"\xc0\x0c"
    return struct.pack(">6H", 0, 0x8400, 0, 1, 0, 0) + service + struct.pack(">HHIH", 12, 1, 4500, len(name)) + name


def send_on_loopback(packet: bytes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(LOOPBACK))
        sender.sendto(packet, ("224.0.0.251", 5353))


async def test_hostile_records_are_passed_over(opens: Opener) -> None:
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


async def test_no_more_tables_are_kept_than_the_limit(opens: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery_module, "TABLES", 2)
    guest = await opens()
    for number in range(4):
        host = await opens()
        await host.advertise(dataclasses.replace(FRIDAY, name=f"table {number}"), 7000)
        if number < 2:
            assert await find(guest, f"table {number}")
    await asyncio.sleep(0.2)
    assert called(guest, "table 3") == ()
    assert len(guest.tables()) == 2


async def test_no_more_tables_are_asked_for_at_once_than_the_limit(
    opens: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names without details cost an answer each; who invents them by the hundred gets a few questions at a time."""
    asking = most = 0

    async def ask(self: AsyncServiceInfo, *_: object) -> bool:
        nonlocal asking, most
        asking += 1
        most = max(most, asking)
        await asyncio.sleep(0.05)
        asking -= 1
        return False

    monkeypatch.setattr(AsyncServiceInfo, "async_request", ask)
    guest = await opens()
    for number in range(40):
        send_on_loopback(pointer_packet(b"false %d" % number))
    async with asyncio.timeout(PATIENCE):
        while not most or guest._resolving:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert most == TABLES_ASKED_FOR


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
def test_hostile_text_is_refused_or_has_the_one_form(hostile: dict[bytes, bytes | None]) -> None:
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


def test_what_others_would_refuse_is_not_advertised() -> None:
    with pytest.raises(ValueError, match="not a table that can be advertised"):
        dataclasses.replace(FRIDAY, name="x" * 41).to_txt()


# Addresses


@given(st.ip_addresses().map(str), st.integers(1, 65535))
def test_an_address_is_read_as_it_was_written(host: str, port: int) -> None:
    assert parse_address(format_address((host, port))) == (host, port)


@pytest.mark.parametrize(
    "text",
    ["", "host", "host:", ":1", "host:0", "host:65536", "::1:7000", "[::1]", "a b:1", "host:1 ", "host:١", "[]:1"],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"address|port"):
        parse_address(text)


def test_loopback_comes_last_among_the_own_addresses() -> None:
    assert interface_addresses()[-1].is_loopback
    assert hosts_to_tell(["0.0.0.0"])[-1] == LOOPBACK
    assert hosts_to_tell([LOOPBACK]) == (LOOPBACK,)
