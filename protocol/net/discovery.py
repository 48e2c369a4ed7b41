"""The tables that multicast DNS advertises, from records that anybody on the LAN can forge. No I/O, no clock.

An advertisement is the entries of a TXT record (RFC 6763, §6). Memory is bounded, and so is the work for a packet:
records are only noted as they are heard, and :meth:`Sightings.look` makes tables of them when its owner asks. A record
that contradicts an earlier one is believed, as RFC 6762 (§10.2) has it. The earlier one is kept for a while, as nobody
can tell which of the two is true.
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
"""An open table that is not told: only its number is, for those who have its short code."""


@dataclass(frozen=True, slots=True)
class Advertisement:
    """A table's description of itself. Anybody can forge it: escape its texts for a terminal."""

    id: str
    """The table's or the running match's id, 8 to 64 hexadecimal digits."""
    name: str
    """1 to 40 characters."""
    rules: str
    """Name of the ruleset or the start of its hash, 1 to 40 characters."""
    seats_taken: int
    seats: int
    status: str
    """:data:`LOBBY`, :data:`PLAYING` or :data:`PRIVATE`."""
    version: int
    """Version of the protocol. A table of another version is listed, though it cannot be joined."""
    number: int = 0
    """The number of its short code, 1 to 999; 0 if it has none."""

    def to_txt(self) -> dict[str, str]:
        """Return the TXT entries; :meth:`from_txt` reads them.

        :raises ValueError: if a field is not one that :meth:`from_txt` would accept.
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
        """Read TXT entries, or return None unless every entry is there and has the one form that is written.

        The number may be missing. Entries with other keys are passed over.

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
        """Read the data of a TXT record: entries of a length and as many bytes, ``key`` or ``key=value``.

        Of entries with one key the first counts (RFC 6763, §6.4).

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
"""Types of records."""
ASKING: Final = 1.0
"""Seconds between two questions for the details of tables."""
_SMALL: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_LABEL: Final = 63
"""Bytes of a label of a DNS name."""
_NAME: Final = 253
"""Bytes of a DNS name."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A table as it was advertised, and where."""

    advertisement: Advertisement
    addresses: tuple[Address, ...]
    """Where to dial, link-local IPv6 with its zone."""
    instance: str
    """Name of the advertising node's service: random if the node is honest."""

    @property
    def key(self) -> tuple[str, str, tuple[Address, ...]]:
        """Its id, name and addresses: they change when a table becomes a match, its machine moves, or by forgery."""
        return self.advertisement.id, self.advertisement.name, self.addresses


class _Host:
    """The target of services."""

    def __init__(self) -> None:
        self.zones: dict[int, dict[bytes, int | None]] = {IPV4: {}, IPV6: {}}
        """The zone of each address, by the type of its record."""
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
        """Take in all addresses of one kind from one packet."""
        before = self.zones[kind]
        if before.keys() == zones.keys():
            # One address is heard with its zone by IPv6 and without by IPv4.
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
    """One instance of the service, as far as it is known."""

    def __init__(self, name: str, now: float) -> None:
        self.name = name
        self.expires = inf
        self.vague_since = now
        """Time since which this has been no table, or no table yet."""
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
        """Return the table that the records make, with that host as target; None if they make none."""
        dialled = host.dialled()[0] if host is not None else ()
        if self.advertisement is None or not dialled or not self.port:
            return None
        addresses = tuple(zip(dialled, repeat(self.port)))
        return Sighting(self.advertisement, addresses, self.name[: -len(SERVICE_TYPE) - 1])

    def former(self) -> Sighting | None:
        """Return the same table at the earlier addresses of its host."""
        if self.sighting is None or self.host is None or not (hosts := self.host.dialled()[1]):
            return None
        return replace(self.sighting, addresses=tuple(zip(hosts, repeat(self.sighting.addresses[0][1]))))


class Sightings:
    """The tables that were advertised.

    :param own: the name of this node's own instance, which is ignored.
    """

    def __init__(self, own: str = "") -> None:
        self._own = _key(own)
        self._services: dict[str, _Service] = {}
        self._vague: dict[str, None] = {}
        """Services that are not tables: not yet, or never."""
        self._hosts: dict[str, _Host] = {}
        self._changed_hosts: set[str] = set()
        self._former: dict[object, tuple[Sighting, float]] = {}
        """Earlier advertisements by key, each with the time until which it is kept."""
        self._more_former_until = -inf
        self._ask_from = -inf

    def hear(self, records: Iterable[DNSRecord], now: float) -> None:
        """Take in the records of one packet. Addresses count only for services that are known or in the packet."""
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
                # A service that is no table yet makes room; a list that is full of tables stays as it is.
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
        """Work out which table a service is by now."""
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
        """Keep the advertisements of a service until now among the earlier ones."""
        for each in (service.sighting, service.former()):
            if each is None:
                continue
            if len(self._former) < FORMER_TABLES or each.key in self._former:
                self._former[each.key] = each, now + FORMER_LIFE
            else:
                self._more_former_until = now + FORMER_LIFE

    def look(self, now: float) -> tuple[Sighting, ...]:
        """Return the current tables, by name, and drop expired ones."""
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
        """Return the current tables, and recent advertisements that have changed since.

        :raises ValueError: if there were more than are kept.
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
        """Return the questions that are due about services without details, as names and types of records."""
        if now < self._ask_from:
            return ()
        asked = list(islice((key for key in self._vague if self._services[key].ask_at <= now), TABLES_ASKED_FOR))
        found: list[tuple[str, int]] = []
        for key in asked:
            service = self._services[key]
            service.ask_at = self._ask_from = now + ASKING
            self._vague[key] = self._vague.pop(key)  # to the end: the others have their turn first
            found += ((service.name, SERVICE), (service.name, TEXT))
            if service.target:
                found += ((service.target, IPV4), (service.target, IPV6))
        return tuple(found)

    def known(self, now: float) -> Iterator[tuple[str, int]]:
        """Yield known services that need not answer, each with the seconds left to it: one packet full at most."""
        fresh = (
            (service.name, int(service.expires - now))
            for service in self._services.values()
            if service.sighting is not None and service.expires - now > TABLE_LIFE / 2
        )
        return islice(fresh, KNOWN_ANSWERS)

    def due(self, now: float) -> float:
        """Return when to look or to ask again if nothing is heard until then."""
        times = [inf, *(service.expires for service in self._services.values())]
        for key in self._vague:
            service = self._services[key]
            times += (max(service.ask_at, self._ask_from), service.vague_since + TABLE_ANSWER)
        return min(each for each in times if each > now)


def _key(name: str) -> str:
    """Return one key for all spellings of a DNS name: they differ in the case of ASCII letters only (RFC 6762, §16).

    Only those are changed, so a name keeps its length. Other letters can take more bytes in lower case.
    """
    return name.translate(_SMALL)


def _is_instance(key: str) -> bool:
    """Tell whether this is the name of an instance of the service, and of one that can be shown."""
    label = key.removesuffix(f".{SERVICE_TYPE}")
    return label != key and label.isprintable() and _can_be_spelled(key)


def _can_be_spelled(name: str) -> bool:
    """Tell whether a name that was read from a packet can be written into one: bytes that were no UTF-8 have grown."""
    labels = name.removesuffix(".").split(".")
    return all(1 <= len(label.encode()) <= _LABEL for label in labels) and len(name.encode()) <= _NAME


def _hosts(zones: Mapping[bytes, int | None]) -> tuple[str, ...]:
    """Spell as many addresses as are dialled for one peer."""
    spelled = (_host(packed, zone) for packed, zone in zones.items())
    return tuple(islice((each for each in spelled if each is not None), ADDRESSES_PER_PEER))


def _host(packed: bytes, zone: int | None) -> str | None:
    """Spell an address as it can be dialled, or return None if it cannot."""
    address = ip_address(packed)
    if isinstance(address, IPv6Address) and address.is_link_local:
        return f"{address}%{zone}" if zone else None
    return None if address.is_multicast or address.is_unspecified else str(address)
