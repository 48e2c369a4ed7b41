"""Advertised tables: anybody on the LAN writes these records, and they are listed on a terminal."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import cast

import zeroconf
from zeroconf import DNSCache, DNSIncoming
from zeroconf.asyncio import AsyncServiceInfo

from cli.listing import data as as_data
from cli.listing import describe, listed
from protocol.canonical import NotCanonicalError, Value, decode, encode
from protocol.discovery import LOBBY, SERVICE_TYPE, Advertisement, _sighting
from tests.fuzz.mutation import mutate_bytes
from tests.fuzz.target import Target

ADVERTISEMENT = Advertisement("00c0ffee" * 4, "Friday", "classic", 2, 4, LOBBY, 1)


def check(data: bytes) -> None:
    """Treat ``data`` as a service (its instance, port, addresses and TXT record), or as a TXT record."""
    instance, port, addresses, txt = _service(data)
    try:
        info = AsyncServiceInfo(
            SERVICE_TYPE, f"{instance}.{SERVICE_TYPE}", port=port, addresses=addresses, properties=txt
        )
    except zeroconf.Error:  # not a name that the standard allows: such records are dropped
        return
    except (OverflowError, ValueError):  # what no DNS packet can hold
        return
    check_info(info)


def check_info(info: AsyncServiceInfo) -> None:
    """List a service, if it is a table."""
    sighting = _sighting(info)
    if sighting is None:
        return
    (row,) = listed([sighting])
    assert describe(row).isprintable()
    assert json.dumps(as_data(row)).isascii()
    own = sighting.advertisement
    assert Advertisement.from_txt({key.encode(): value.encode() for key, value in own.to_txt().items()}) == own
    assert all(0 < port < 65536 for _, port in sighting.addresses)


def _service(data: bytes) -> tuple[str, int, list[bytes], bytes]:
    try:
        value = decode(data)
    except NotCanonicalError:
        value = ()
    match value:
        case (str() as instance, int() as port, tuple() as addresses, bytes() as txt):
            return instance, port & 0xFFFF, _fitting(addresses), txt
    return "table", 7000, [bytes((192, 0, 2, 1))], data


def _fitting(addresses: tuple[Value, ...]) -> list[bytes]:
    return [each for each in addresses if isinstance(each, bytes) and len(each) in (4, 16)]


def check_packet(data: bytes) -> None:
    """Treat ``data`` as a multicast DNS packet, as it comes from the network."""
    packet = DNSIncoming(data, scope_id=2)
    cache = DNSCache()
    records = packet.answers() if packet.valid else []
    cache.async_add_records(records)
    for name in {record.name for record in records}:
        try:
            info = AsyncServiceInfo(SERVICE_TYPE, name)
        except zeroconf.Error:
            continue
        if info.load_from_cache(cast("zeroconf.Zeroconf", SimpleNamespace(cache=cache))):
            check_info(info)


def packets() -> tuple[bytes, ...]:
    name, host = f"table.{SERVICE_TYPE}", "table.local."
    answer = zeroconf.DNSOutgoing(0x8400)
    records: tuple[zeroconf.DNSRecord, ...] = (
        zeroconf.DNSPointer(SERVICE_TYPE, 12, 1, 4500, name),
        zeroconf.DNSService(name, 33, 1, 120, 0, 0, 7000, host),
        zeroconf.DNSText(name, 16, 1, 4500, examples()[0]),
        zeroconf.DNSAddress(host, 1, 1, 120, bytes((192, 0, 2, 1))),
        zeroconf.DNSAddress(host, 28, 1, 120, bytes((0xFE, 0x80)) + bytes(13) + b"\1"),
    )
    for record in records:
        answer.add_answer_at_time(record, 0)
    return tuple(answer.packets())


def examples() -> tuple[bytes, ...]:
    entries = [f"{key}={value}".encode() for key, value in ADVERTISEMENT.to_txt().items()]
    txt = b"".join(bytes((len(entry),)) + entry for entry in entries)
    addresses = (bytes((192, 0, 2, 1)), bytes((0xFE, 0x80)) + bytes(13) + b"\1", bytes(15) + b"\1")
    return txt, encode(("abc", 7000, addresses, txt)), encode(("a.b c", 1, addresses[:1], txt))


TARGETS = (Target("txt", check, examples), Target("mdns", check_packet, packets, mutate_bytes))
