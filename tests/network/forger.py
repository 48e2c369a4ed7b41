"""A forger of multicast DNS, as one process: ``python -m tests.network.forger KIND --interface ADDRESS --rate N``.

It prints ``{"event": "begun"}`` with its first packet and floods until its standard input is closed. Then it prints
the totals sent, as ``{"event": "left", "packets": …, "bytes": …}``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import random
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from typing import Final

from zeroconf import DNSIncoming, DNSPointer

GROUP: Final = ("224.0.0.251", 5353)
TYPE: Final = b"\x08_p2pdice\x04_tcp\x05local\x00"
LOCAL: Final = b"\x05local\x00"
FRAME: Final = 1400
"""The size in bytes of a packet that fits into an Ethernet frame."""
JUMBO: Final = 8900
"""The size in bytes of the largest packet of multicast DNS, which is sent in fragments."""
HEAP: Final = 0.005
"""Seconds between two bursts of packets, if the rate is limited."""
A, PTR, TXT, AAAA, SRV, ANY = 1, 12, 16, 28, 33, 255
FLUSH: Final = 0x8001
"""Class IN with the cache-flush bit, which makes receivers drop earlier records."""

FALSE: Final = ("10.77.0.66", 6666)
"""The address that forged tables advertise."""


def label(text: str) -> bytes:
    encoded = text.encode()
    return bytes([len(encoded)]) + encoded


def record(name: bytes, kind: int, data: bytes, *, flush: bool = True, ttl: int = 4500) -> bytes:
    return name + struct.pack(">HHIH", kind, FLUSH if flush else 1, ttl, len(data)) + data


def answer(*records: bytes) -> bytes:
    """Build a response packet with these records."""
    return struct.pack(">6H", 0, 0x8400, 0, len(records), 0, 0) + b"".join(records)


def question(*questions: bytes, flags: int = 0) -> bytes:
    """Build a query packet with these questions."""
    return struct.pack(">6H", 0, flags, len(questions), 0, 0, 0) + b"".join(questions)


def text(name: str, table: str) -> bytes:
    """Build the TXT entries of a table."""
    entries = (b"v=1", f"id={table}".encode(), f"n={name}".encode(), b"rules=classic", b"seats=1/4", b"st=lobby")
    return b"".join(bytes([len(each)]) + each for each in entries)


def pointer(instance: bytes) -> bytes:
    return record(TYPE, PTR, instance, flush=False)


def service(instance: bytes, target: bytes, port: int) -> bytes:
    return record(instance, SRV, struct.pack(">3H", 0, 0, port) + target, ttl=120)


def table(instance: bytes, target: bytes, name: str, address: str, port: int, identifier: str) -> bytes:
    """Build the packet with all records of one table."""
    return answer(
        pointer(instance),
        service(instance, target, port),
        record(instance, TXT, text(name, identifier)),
        record(target, A, socket.inet_aton(address), ttl=120),
    )


# The floods: each yields packets indefinitely.


def shared() -> Iterator[bytes]:
    """Many services with one SRV target, then an endless series of new addresses for that target."""
    target = label("shared") + LOCAL
    instances = [label(f"service {number}") + TYPE for number in range(200)]
    numbers = itertools.count()
    for instance in instances:
        yield answer(
            pointer(instance), service(instance, target, 7000), record(instance, TXT, text("shared", "00c0ffee"))
        )
    for round_ in itertools.count():
        size = JUMBO if round_ % 2 else FRAME
        first = record(TYPE, PTR, instances[round_ % len(instances)], flush=False)
        room = (size - len(first)) // (len(target) + 26)
        addresses = [b"\x20\x01\x0d\xb8" + bytes(4) + struct.pack(">Q", next(numbers)) for _ in range(room)]
        yield answer(first, *(record(target, AAAA, each, flush=False, ttl=120) for each in addresses))


def pointers() -> Iterator[bytes]:
    """PTR records without other records, each for a new service."""
    numbers = itertools.count()
    for round_ in itertools.count():
        size = JUMBO if round_ % 2 else FRAME
        many = size // (len(TYPE) * 2 + 40)
        yield answer(*(pointer(label(f"{next(numbers):08x}-pointer-flood") + TYPE) for _ in range(many)))


def services() -> Iterator[bytes]:
    """Complete records of tables, each with a new name."""
    for number in itertools.count():
        name, host = label(f"{number:032x}") + TYPE, label(f"host-{number:x}") + LOCAL
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        yield table(name, host, f"Table {number}", address, 1 + number % 65535, f"{number:032x}")


def junk() -> Iterator[bytes]:
    """Malformed packets and packets with false record counts. Half of them contain the name of the service."""
    chance = random.Random(5353)
    chain = b"".join(struct.pack(">H", 0xC000 | (12 + 2 * number)) for number in range(600))
    for round_ in itertools.count():
        noise = chance.randbytes(chance.choice((1, 11, 12, 60, 600, FRAME, JUMBO)))
        match round_ % 6:
            case 0:
                yield noise
            case 1:
                yield struct.pack(">6H", 0, 0x8400, 0, 0xFFFF, 0xFFFF, 0xFFFF) + TYPE + noise
            case 2:
                yield struct.pack(">6H", 0, 0x8400, 0, 600, 0, 0) + chain + TYPE + struct.pack(">HHIH", PTR, 1, 1, 2)
            case 3:
                yield question(*[TYPE + noise[:4]] * 40)
            case 4:
                yield answer(record(TYPE, PTR, noise[:30]), record(label("x" * 63) * 4 + TYPE, TXT, noise[:200]))
            case _:
                yield answer(*[b"\x00" + struct.pack(">HHIH", 65000, 1, 0, 0)] * 120) + TYPE


def queries() -> Iterator[bytes]:
    """Queries that every node answers: plain, for unicast answers, truncated, and with many questions in one packet."""
    asked = TYPE + struct.pack(">HH", PTR, 1)
    unicast = TYPE + struct.pack(">HH", ANY, 0x8001)
    again = b"\xc0\x0c" + struct.pack(">HH", PTR, 1)
    for number in itertools.count():
        unlike = TYPE + struct.pack(">HH", TXT, 1 + number % 250)  # no two packets are the same
        match number % 4:
            case 0:
                yield question(asked, unlike)
            case 1:
                yield question(unicast, unlike)
            case 2:
                yield question(asked, unlike, flags=0x0200)
            case _:
                yield question(asked, *[again] * 200, unlike)


def takeover() -> Iterator[bytes]:
    """False records for every advertised instance. Their cache-flush bit makes receivers drop the true ones."""
    heard: dict[str, None] = {}
    threading.Thread(target=overhear, args=(heard,), daemon=True).start()
    for number in itertools.count():
        for name in tuple(heard):
            instance = label(name) + TYPE
            yield table(instance, label("forger") + LOCAL, "Friday", FALSE[0], FALSE[1], f"{number % 16:032x}")
            if number % 8 == 0:
                yield answer(record(TYPE, PTR, instance, flush=False, ttl=0))
        if not heard:
            yield question(TYPE + struct.pack(">HH", PTR, 1))


def overhear(heard: dict[str, None]) -> None:
    """Record the names of all advertised services."""
    with contextlib.closing(receiver(OPTIONS.interface)) as ears:
        while True:
            packet = DNSIncoming(ears.recv(9000))
            for each in packet.answers() if packet.valid and packet.is_response() else ():
                if isinstance(each, DNSPointer) and each.alias.endswith("._p2pdice._tcp.local."):
                    heard[each.alias.split(".")[0]] = None


def receiver(interface: str) -> socket.socket:
    """Open a socket that receives multicast DNS on the interface with this address."""
    ears = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ears.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "SO_REUSEPORT"):
        ears.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    ears.bind(("", GROUP[1]))
    ears.setsockopt(
        socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP[0]) + socket.inet_aton(interface)
    )
    return ears


def sender(interface: str) -> socket.socket:
    """Open a socket that sends multicast through the interface with this address."""
    mouth = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    mouth.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(interface))
    return mouth


FORGERIES: Final = {each.__name__: each for each in (shared, pointers, services, takeover, junk, queries)}
OPTIONS = argparse.Namespace(interface="127.0.0.1")


def say(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


def flood(kind: str, interface: str, rate: float, over: threading.Event) -> tuple[int, int]:
    """Send until ``over`` is set; return the number of packets and bytes sent.

    :param rate: packets per second; 0 for as many as possible.
    """
    packets = size = 0
    begun = time.monotonic()
    with contextlib.closing(sender(interface)) as mouth:
        for packet in FORGERIES[kind]():
            with contextlib.suppress(OSError):  # the send buffer is full
                size += mouth.sendto(packet, GROUP)
                packets += 1
            if packets == 1:
                say("begun")
            if rate and packets % max(1, int(rate * HEAP)) == 0:
                time.sleep(max(0.0, begun + packets / rate - time.monotonic()))
            if over.is_set():
                break
    return packets, size


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=FORGERIES)
    parser.add_argument("--interface", default="127.0.0.1", help="address to send from")
    parser.add_argument("--rate", type=float, default=0.0, help="packets a second; 0: as many as go")
    parser.parse_args(namespace=OPTIONS)
    over = threading.Event()
    flooding = asyncio.create_task(asyncio.to_thread(flood, OPTIONS.kind, OPTIONS.interface, OPTIONS.rate, over))
    await asyncio.to_thread(sys.stdin.read)
    over.set()
    packets, size = await flooding
    say("left", packets=packets, bytes=size)


if __name__ == "__main__":
    asyncio.run(main())
