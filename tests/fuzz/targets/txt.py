"""Advertised tables: records from anybody on the LAN, which are listed on a terminal."""

from __future__ import annotations

import json
from ipaddress import ip_address

from zeroconf import (
    DNSAddress,
    DNSIncoming,
    DNSOutgoing,
    DNSPointer,
    DNSQuestion,
    DNSRecord,
    DNSService,
    DNSText,
)

from cli.commands.tables import data as as_data
from cli.commands.tables import describe, listed
from protocol.limits import ADDRESSES_PER_PEER
from protocol.net.discovery import (
    IPV4,
    IPV6,
    LOBBY,
    POINTER,
    SERVICE,
    SERVICE_TYPE,
    TEXT,
    Advertisement,
    Sighting,
    Sightings,
)
from protocol.wire.canonical import NotCanonicalError, Value, decode, encode
from tests.fuzz.mutation import mutate_bytes
from tests.fuzz.target import Target

HOST = "table.local."
ADVERTISEMENT = Advertisement("00c0ffee" * 4, "Friday", "classic", 2, 4, LOBBY, 1)


def check(data: bytes) -> None:
    """Treat ``data`` as an encoded service (instance, port, addresses and TXT record), or as a TXT record."""
    instance, port, addresses, txt = _service(data)
    name = f"{instance}.{SERVICE_TYPE}"
    check_records(
        [
            DNSPointer(SERVICE_TYPE, POINTER, 1, 4500, name),
            DNSService(name, SERVICE, 1, 120, 0, 0, port, HOST),
            DNSText(name, TEXT, 1, 4500, txt),
            *(DNSAddress(HOST, IPV4 if len(each) == 4 else IPV6, 1, 120, each) for each in addresses),
        ]
    )


def check_records(records: list[DNSRecord]) -> None:
    """List the tables in a packet, and query the records that it lacks."""
    sightings = Sightings()
    sightings.hear(records, 0.0)
    tables = sightings.look(0.0)
    assert sightings.told(0.0) == tables
    for sighting in tables:
        check_sighting(sighting)
    question = DNSOutgoing(0)
    for name, kind in sightings.questions(0.0):
        question.add_question(DNSQuestion(name, kind, 1))
    for name, ttl in sightings.known(0.0):
        question.add_answer_at_time(DNSPointer(SERVICE_TYPE, POINTER, 1, ttl, name), 0)
    for packet in question.packets():
        assert DNSIncoming(packet).valid


def check_sighting(sighting: Sighting) -> None:
    (row,) = listed([sighting])
    assert describe(row).isprintable()
    assert json.dumps(as_data(row)).isascii()
    assert sighting.instance.isprintable()
    own = sighting.advertisement
    assert Advertisement.from_txt({key.encode(): value.encode() for key, value in own.to_txt().items()}) == own
    assert 1 <= len(sighting.addresses) <= ADDRESSES_PER_PEER
    for host, port in sighting.addresses:
        assert ip_address(host)
        assert 0 < port < 65536


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
    """Treat ``data`` as a multicast DNS packet."""
    packet = DNSIncoming(data, scope_id=2)
    if packet.valid:
        check_records(packet.answers())


def packets() -> tuple[bytes, ...]:
    name = f"table.{SERVICE_TYPE}"
    answer = DNSOutgoing(0x8400)
    records: tuple[DNSRecord, ...] = (
        DNSPointer(SERVICE_TYPE, POINTER, 1, 4500, name),
        DNSService(name, SERVICE, 1, 120, 0, 0, 7000, HOST),
        DNSText(name, TEXT, 1, 4500, examples()[0]),
        DNSAddress(HOST, IPV4, 1, 120, bytes((192, 0, 2, 1))),
        DNSAddress(HOST, IPV6, 1, 120, bytes((0xFE, 0x80)) + bytes(13) + b"\1"),
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
