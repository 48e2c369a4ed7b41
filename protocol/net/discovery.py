"""The tables advertised by multicast DNS, from records that anybody on the LAN can forge. No I/O, no clock.

An advertisement consists of the entries of a TXT record (RFC 6763, §6). Memory and work per packet are bounded:
incoming records are only stored, and :meth:`Sightings.look` derives tables from them on request. A record replaces an
earlier one that it contradicts, as in RFC 6762 (§10.2). The earlier one is kept for a while, because either of
the two may be forged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv6Address, ip_address
from itertools import islice, repeat
from math import inf
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from zeroconf import DNSAddress, DNSPointer, DNSRecord, DNSService, DNSText

from protocol.limits import (
    ADDRESSES_PER_PEER,
    FORMER_LIFE,
    FORMER_TABLES,
    KNOWN_ANSWERS,
    PLAYERS,
    RULES_CHARACTERS,
    TABLE_ANSWER,
    TABLE_LIFE,
    TABLES,
    TABLES_ASKED_FOR,
)
from protocol.net.addresses import Address
from protocol.wire.names import flaw, is_table_name

SERVICE_TYPE: Final = "_p2pdice._tcp.local."

LOBBY: Final = "lobby"
PLAYING: Final = "playing"
PRIVATE: Final = "private"
"""An open table that is not listed. Only its number is advertised, for people with its short code."""


@dataclass(frozen=True, slots=True)
class Advertisement:
    """A table's description of itself. It may be forged, so its texts must be escaped for a terminal."""

    id: str
    """The id of the table or of the running match: 8 to 64 hexadecimal digits."""
    name: str
    """1 to 40 characters."""
    rules: str
    """Name of the ruleset or start of its hash, 1 to 40 characters."""
    seats_taken: int
    seats: int
    status: str
    """:data:`LOBBY`, :data:`PLAYING` or :data:`PRIVATE`."""
    version: int
    """The protocol version. A table of another version is listed, although it cannot be joined."""
    number: int = 0
    """The number in its short code, 1 to 999; 0 if it has none."""

    def to_txt(self) -> dict[str, str]:
        """Return the TXT entries, which :meth:`from_txt` can read.

        :raises ValueError: if :meth:`from_txt` would not accept a field.
        """
        txt = {
            "v": str(self.version),
            "id": self.id,
            "n": self.name,
            "rules": self.rules,
            "seats": f"{self.seats_taken}/{self.seats}",
            "st": self.status,
        }
        if self.number:
            txt["no"] = str(self.number)
        if Advertisement.from_txt({key.encode(): value.encode() for key, value in txt.items()}) != self:
            raise ValueError(f"not a table that can be advertised: {self!r}")
        return txt

    @classmethod
    def from_txt(cls, txt: Mapping[bytes, bytes | None]) -> Advertisement | None:
        """Read TXT entries; return None unless all are present in the form that :meth:`to_txt` writes.

        The number is optional. Entries with other keys are ignored.

        >>> Advertisement.from_txt({b"v": b"1", b"id": b"00c0ffee", b"n": b"Friday", b"rules": b"classic",
        ...                         b"seats": b"2/4", b"st": b"lobby"}).name
        'Friday'
        """
        try:
            version, table_id, name, rules, seats, status, of_code = (
                (txt.get(key) or b"").decode() for key in (b"v", b"id", b"n", b"rules", b"seats", b"st", b"no")
            )
        except UnicodeDecodeError:
            return None
        places = _SEATS.fullmatch(seats)
        if not (
            _VERSION.fullmatch(version)
            and _ID.fullmatch(table_id)
            and is_table_name(name)
            and 0 < len(rules) <= RULES_CHARACTERS
            and not flaw(rules)
            and places
            and status in (LOBBY, PLAYING, PRIVATE)
            and (_NUMBER.fullmatch(of_code) or b"no" not in txt)
        ):
            return None
        taken, of = int(places[1]), int(places[2])
        if not (taken <= of and 2 <= of <= PLAYERS):
            return None
        return cls(table_id, name, rules, taken, of, status, int(version), int(of_code or 0))

    @classmethod
    def from_record(cls, data: bytes) -> Advertisement | None:
        """Read the data of a TXT record: length-prefixed entries, each ``key`` or ``key=value``.

        Among entries with the same key, the first counts (RFC 6763, §6.4).

        >>> Advertisement.from_record(b"\\x03v=1\\x05n=Eve") is None
        True
        """
        entries: dict[bytes, bytes | None] = {}
        while data:
            entry, data = data[1 : 1 + data[0]], data[1 + data[0] :]
            key, separator, value = entry.partition(b"=")
            entries.setdefault(key, value if separator else None)
        return cls.from_txt(entries)


_VERSION: Final = re.compile("[1-9][0-9]{0,3}")
_NUMBER: Final = re.compile("[1-9][0-9]{0,2}")
_ID: Final = re.compile("[0-9a-f]{8,64}")
_SEATS: Final = re.compile("(0|[1-9][0-9]?)/([1-9][0-9]?)")


POINTER, TEXT, SERVICE, IPV4, IPV6 = 12, 16, 33, 1, 28
"""DNS record types."""
ASKING: Final = 1.0
"""Seconds between two questions for the details of tables."""
_SMALL: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_LABEL: Final = 63
"""The maximum length of a label in a DNS name, in bytes."""
_NAME: Final = 253
"""The maximum length of a DNS name, in bytes."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """An advertised table and its addresses."""

    advertisement: Advertisement
    addresses: tuple[Address, ...]
    """The addresses to dial; link-local IPv6 addresses have their zone."""
    instance: str
    """The instance name of the advertising node's service, which is random if the node is honest."""

    @property
    def key(self) -> tuple[str, str, tuple[Address, ...]]:
        """The id, name and addresses. They change with a new match, a move, or a forged record."""
        return self.advertisement.id, self.advertisement.name, self.addresses


class _Host:
    """A host that services name as their target."""

    def __init__(self) -> None:
        self.zones: dict[int, dict[bytes, int | None]] = {IPV4: {}, IPV6: {}}
        """The zone of each address, by record type."""
        self.former: dict[bytes, int | None] = {}
        """The zones of earlier addresses."""
        self.former_until = -inf
        self.has_more_former = False
        self._spelled: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    def dialled(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the addresses that can be dialled now, and earlier ones."""
        if self._spelled is None:
            now = self.zones[IPV4] | self.zones[IPV6]
            self._spelled = _hosts(now), _hosts({each: zone for each, zone in self.former.items() if each not in now})
        return self._spelled

    def hear(self, kind: int, zones: dict[bytes, int | None], now: float) -> None:
        """Replace all addresses of one record type by those in one packet."""
        before = self.zones[kind]
        if before.keys() == zones.keys():
            # An address has a zone if it was received over IPv6, and none if over IPv4. Keep known zones.
            zones = {packed: zone or before[packed] for packed, zone in zones.items()}
        for packed, zone in before.items():
            if packed not in zones:
                if len(self.former) < ADDRESSES_PER_PEER:
                    self.former[packed] = zone
                elif packed not in self.former:
                    self.has_more_former = True
                self.former_until = now + FORMER_LIFE
        if before != zones:
            self.zones[kind] = zones
            self._spelled = None

    def drop_former(self, now: float) -> None:
        if self.former and self.former_until <= now:
            self.former.clear()
            self.has_more_former = False
            self._spelled = None


class _Service:
    """One instance of the service, with the details known so far."""

    def __init__(self, name: str, now: float) -> None:
        self.name = name
        self.expires = inf
        self.vague_since = now
        """When its records ceased to form a table, or when it was first heard."""
        self.ask_at = now
        self.target = ""
        self.port = 0
        self.text: bytes | None = None
        self.advertisement: Advertisement | None = None
        self.host: _Host | None = None
        self.sighting: Sighting | None = None

    def hear_text(self, text: bytes) -> None:
        if text != self.text:
            self.text, self.advertisement = text, Advertisement.from_record(text)

    def look(self, host: _Host | None) -> Sighting | None:
        """Return the table that the records form with ``host`` as target, or None if they form none."""
        dialled = host.dialled()[0] if host is not None else ()
        if self.advertisement is None or not dialled or not self.port:
            return None
        addresses = tuple(zip(dialled, repeat(self.port)))
        return Sighting(self.advertisement, addresses, self.name[: -len(SERVICE_TYPE) - 1])

    def former(self) -> Sighting | None:
        """Return the current table at earlier addresses of its host, or None if there are none."""
        if self.sighting is None or self.host is None or not (hosts := self.host.dialled()[1]):
            return None
        return replace(self.sighting, addresses=tuple(zip(hosts, repeat(self.sighting.addresses[0][1]))))


class Sightings:
    """The advertised tables.

    :param own: the name of this node's own instance, which is ignored.
    """

    def __init__(self, own: str = "") -> None:
        self._own = _key(own)
        self._services: dict[str, _Service] = {}
        self._vague: dict[str, None] = {}
        """Keys of services that are not tables, or not yet."""
        self._hosts: dict[str, _Host] = {}
        self._changed_hosts: set[str] = set()
        self._former: dict[object, tuple[Sighting, float]] = {}
        """Earlier advertisements by key, each with the time until which it is kept."""
        self._more_former_until = -inf
        self._ask_from = -inf

    def hear(self, records: Iterable[DNSRecord], now: float) -> None:
        """Store the records of one packet. Addresses count only for services that are known or in the packet."""
        told: dict[tuple[str, int], dict[bytes, int | None]] = {}
        touched: dict[str, _Service] = {}
        records = tuple(records)
        for record in records:
            if isinstance(record, DNSPointer) and record.type == POINTER and _key(record.name) == SERVICE_TYPE:
                self._hear_pointer(record.alias, record.ttl, now)
        for record in records:
            name = _key(record.name)
            if isinstance(record, DNSAddress):
                zones = told.setdefault((name, record.type), {})
                if record.ttl and len(zones) < ADDRESSES_PER_PEER:
                    zones[record.address] = record.scope_id
            elif record.ttl and (service := self._services.get(name)) is not None:
                if isinstance(record, DNSService) and _can_be_spelled(record.server):
                    service.target, service.port = _key(record.server), record.port
                    self._hosts.setdefault(service.target, _Host())
                elif isinstance(record, DNSText):
                    service.hear_text(record.text)
                touched[name] = service
        for (name, kind), zones in told.items():
            if zones and (host := self._hosts.get(name)) is not None and kind in host.zones:
                host.hear(kind, zones, now)
                self._changed_hosts.add(name)
        for key, service in touched.items():
            self._judge(key, service, now)
        if len(self._hosts) > 2 * TABLES:
            self._drop_hosts()

    def _hear_pointer(self, name: str, ttl: float, now: float) -> None:
        key = _key(name)
        if key == self._own or not _is_instance(key):
            return
        if not ttl:
            self._drop(key, now)
            return
        if key not in self._services:
            if len(self._services) >= TABLES:
                # A service that is not a table makes room. A list full of tables stays as it is.
                if not self._vague:
                    return
                self._drop(next(iter(self._vague)), now)
            self._services[key] = _Service(name, now)
            self._vague[key] = None
        self._services[key].expires = now + min(ttl, TABLE_LIFE)

    def _drop(self, key: str, now: float) -> None:
        if (service := self._services.pop(key, None)) is not None:
            self._vague.pop(key, None)
            self._remember(service, now)

    def _judge(self, key: str, service: _Service, now: float) -> None:
        """Determine which table, if any, the records of a service form now."""
        after = service.look(host := self._hosts.get(service.target))
        if after is None or (service.sighting is not None and after.key != service.sighting.key):
            self._remember(service, now)
        service.host, service.sighting = host, after
        if after is not None:
            self._vague.pop(key, None)
        elif key not in self._vague:
            self._vague[key] = None
            service.vague_since = service.ask_at = now

    def _remember(self, service: _Service, now: float) -> None:
        """Keep a service's present and former sighting among the earlier advertisements."""
        for each in (service.sighting, service.former()):
            if each is None:
                continue
            if len(self._former) < FORMER_TABLES or each.key in self._former:
                self._former[each.key] = each, now + FORMER_LIFE
            else:
                self._more_former_until = now + FORMER_LIFE

    def look(self, now: float) -> tuple[Sighting, ...]:
        """Return the current tables by name, and drop expired ones."""
        for key, service in tuple(self._services.items()):
            if service.target in self._changed_hosts:
                self._judge(key, service, now)
            if service.expires <= now or (key in self._vague and service.vague_since + TABLE_ANSWER <= now):
                self._drop(key, now)
        self._changed_hosts.clear()
        self._drop_hosts()
        found = (service.sighting for service in self._services.values() if service.sighting is not None)
        return tuple(sorted(found, key=lambda each: (each.advertisement.name, each.instance)))

    def told(self, now: float) -> tuple[Sighting, ...]:
        """Return the current tables and recent advertisements that have changed since.

        :raises ValueError: if there were more of these than are kept.
        """
        tables = self.look(now)
        self._former = {key: kept for key, kept in self._former.items() if kept[1] > now}
        for host in self._hosts.values():
            host.drop_former(now)
        if self._more_former_until > now or any(host.has_more_former for host in self._hosts.values()):
            raise ValueError("more tables were advertised than are kept")
        moved = (each for service in self._services.values() if (each := service.former()) is not None)
        former = (each for each, _ in self._former.values())
        return tuple({each.key: each for each in (*former, *moved, *tables)}.values())

    def _drop_hosts(self) -> None:
        targets = {service.target for service in self._services.values()}
        self._hosts = {name: host for name, host in self._hosts.items() if name in targets}

    def questions(self, now: float) -> tuple[tuple[str, int], ...]:
        """Return the due questions about services without details, as pairs of name and record type."""
        if now < self._ask_from:
            return ()
        asked = list(islice((key for key in self._vague if self._services[key].ask_at <= now), TABLES_ASKED_FOR))
        found: list[tuple[str, int]] = []
        for key in asked:
            service = self._services[key]
            service.ask_at = self._ask_from = now + ASKING
            self._vague[key] = self._vague.pop(key)  # to the end of the queue
            found += ((service.name, SERVICE), (service.name, TEXT))
            if service.target:
                found += ((service.target, IPV4), (service.target, IPV6))
        return tuple(found)

    def known(self, now: float) -> Iterator[tuple[str, int]]:
        """Yield known services that need not answer, and their remaining seconds, as many as fit in a packet."""
        fresh = (
            (service.name, int(service.expires - now))
            for service in self._services.values()
            if service.sighting is not None and service.expires - now > TABLE_LIFE / 2
        )
        return islice(fresh, KNOWN_ANSWERS)

    def due(self, now: float) -> float:
        """Return the next time to look or ask, if no packet arrives before then."""
        times = [inf, *(service.expires for service in self._services.values())]
        for key in self._vague:
            service = self._services[key]
            times += (max(service.ask_at, self._ask_from), service.vague_since + TABLE_ANSWER)
        return min(each for each in times if each > now)


def _key(name: str) -> str:
    """Return one key for all spellings of a DNS name. The case of ASCII letters is ignored (RFC 6762, §16).

    Other letters stay unchanged, because their lowercase forms can take more bytes.
    """
    return name.translate(_SMALL)


def _is_instance(key: str) -> bool:
    """Return whether this is the name of an instance of the service and can be displayed."""
    label = key.removesuffix(f".{SERVICE_TYPE}")
    return label != key and label.isprintable() and _can_be_spelled(key)


def _can_be_spelled(name: str) -> bool:
    """Return whether a name read from a packet still fits into one: decoding replaced each invalid byte by U+FFFD,
    which takes three bytes."""
    labels = name.removesuffix(".").split(".")
    return all(1 <= len(label.encode()) <= _LABEL for label in labels) and len(name.encode()) <= _NAME


def _hosts(zones: Mapping[bytes, int | None]) -> tuple[str, ...]:
    """Format addresses for dialling, as many as may be dialled for one peer."""
    spelled = (_host(packed, zone) for packed, zone in zones.items())
    return tuple(islice((each for each in spelled if each is not None), ADDRESSES_PER_PEER))


def _host(packed: bytes, zone: int | None) -> str | None:
    """Format an address for dialling, or return None if it cannot be dialled."""
    address = ip_address(packed)
    if isinstance(address, IPv6Address) and address.is_link_local:
        return f"{address}%{zone}" if zone else None
    return None if address.is_multicast or address.is_unspecified else str(address)
