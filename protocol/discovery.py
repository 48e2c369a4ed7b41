"""Finding tables on the LAN by multicast DNS (RFC 6762, RFC 6763), as hints that anybody there can forge.

What is found here only says where to dial: the identity of who answers is proved by the link and told by its HELLO. A
node that was killed stays advertised until its records run out, so presence is no sign of life.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import unicodedata
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from zeroconf import (
    DNSQuestionType,
    Error,
    InterfaceChoice,
    IPVersion,
    ServiceStateChange,
    Zeroconf,
)
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from protocol.addresses import Address, interface_addresses
from protocol.limits import (
    ADDRESSES_PER_PEER,
    FORMER_TABLES,
    PLAYERS,
    RULES_CHARACTERS,
    TABLE_ANSWER,
    TABLE_NAME_CHARACTERS,
    TABLES,
    TABLES_ASKED_FOR,
)

SERVICE_TYPE: Final = "_p2pdice._tcp.local."

LOBBY: Final = "lobby"
PLAYING: Final = "playing"


class DiscoveryUnavailable(Exception):
    """Multicast discovery cannot be used here; the text says why. Direct addresses still work."""


@dataclass(frozen=True, slots=True)
class Advertisement:
    """What a table says about itself. Names may contain anything printable: escape them for a terminal."""

    id: str
    """The table's or the running match's id, 8 to 64 hexadecimal digits."""
    name: str
    """1 to 40 characters."""
    rules: str
    """Name of the ruleset or the start of its hash, 1 to 40 characters."""
    seats_taken: int
    seats: int
    status: str
    """:data:`LOBBY` or :data:`PLAYING`."""
    version: int
    """Of the protocol. A table of another version is listed, though it cannot be joined."""

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
        if Advertisement.from_txt({key.encode(): value.encode() for key, value in txt.items()}) != self:
            raise ValueError(f"not a table that can be advertised: {self!r}")
        return txt

    @classmethod
    def from_txt(cls, txt: Mapping[bytes, bytes | None]) -> Advertisement | None:
        """Read TXT entries, or return None unless every entry is there and has the one form that is written.

        Entries with other keys are passed over.

        >>> Advertisement.from_txt({b"v": b"1", b"id": b"00c0ffee", b"n": b"Friday", b"rules": b"classic",
        ...                         b"seats": b"2/4", b"st": b"lobby"}).name
        'Friday'
        """
        try:
            version, table_id, name, rules, seats, status = (
                (txt.get(key) or b"").decode() for key in (b"v", b"id", b"n", b"rules", b"seats", b"st")
            )
        except UnicodeDecodeError:
            return None
        places = _SEATS.fullmatch(seats)
        if not (
            _VERSION.fullmatch(version)
            and _ID.fullmatch(table_id)
            and _is_text(name, TABLE_NAME_CHARACTERS)
            and _is_text(rules, RULES_CHARACTERS)
            and places
            and status in (LOBBY, PLAYING)
        ):
            return None
        taken, of = int(places[1]), int(places[2])
        if not (taken <= of and 2 <= of <= PLAYERS):
            return None
        return cls(table_id, name, rules, taken, of, status, int(version))


_VERSION: Final = re.compile("[1-9][0-9]{0,3}")
_ID: Final = re.compile("[0-9a-f]{8,64}")
_SEATS: Final = re.compile("(0|[1-9][0-9]?)/([1-9][0-9]?)")


def is_table_name(name: str) -> bool:
    """Tell whether a table can be advertised under this name: 1 to 40 printable characters in NFC."""
    return _is_text(name, TABLE_NAME_CHARACTERS)


def _is_text(text: str, most: int) -> bool:
    return 1 <= len(text) <= most and unicodedata.is_normalized("NFC", text) and text.isprintable()


@dataclass(frozen=True, slots=True)
class Sighting:
    """A table as it was advertised, and where."""

    advertisement: Advertisement
    addresses: tuple[Address, ...]
    """Where to dial, link-local IPv6 with its zone."""
    instance: str
    """Name of the advertising node's service: random if the node is honest."""


class Discovery:
    """One node's view of the tables around it, and its own advertisement. One per process."""

    def __init__(self) -> None:
        self._zeroconf: AsyncZeroconf | None = None
        self._browser: AsyncServiceBrowser | None = None
        self._interface: str | None = None
        self._advertised: tuple[Advertisement, int] | None = None
        self._tables: dict[str, Sighting] = {}
        self._former: dict[tuple[str, str, tuple[Address, ...]], Sighting] = {}
        """What was told of tables before something else was, by id, name and addresses."""
        self._resolving: dict[str, asyncio.Task[None]] = {}
        self._turns = asyncio.Semaphore(TABLES_ASKED_FOR)
        self._announcements: set[asyncio.Future[object]] = set()
        self._change = asyncio.Event()
        # 128 random bits cannot be in use by anybody else. RFC 6762, §8.1 says to skip probing then, which would take
        # more than a second.
        token = secrets.token_hex(16)
        self._instance = f"{token}.{SERVICE_TYPE}"
        self._server = f"{token}.local."

    async def start(self, interface: str | None = None) -> None:
        """Begin to look for tables, on all interfaces or on the one with this name or address.

        After a failure it can be tried again; a table advertised in the meantime is announced then.

        :raises DiscoveryUnavailable: if no interface takes multicast.
        """
        self._interface = interface
        self._zeroconf = await _open(_interfaces(interface))
        self._browse()
        if self._advertised is not None:
            await self.advertise(*self._advertised)

    def _browse(self) -> None:
        assert self._zeroconf is not None, "only an open discovery looks for tables"
        # Answers must come by multicast: a unicast one reaches only one of several nodes on a machine, as they share
        # the port.
        self._browser = AsyncServiceBrowser(
            self._zeroconf.zeroconf, SERVICE_TYPE, handlers=[self._heard], question_type=DNSQuestionType.QM
        )

    async def close(self) -> None:
        """Withdraw the advertisement and stop looking."""
        zeroconf, self._zeroconf = self._zeroconf, None
        for task in self._resolving.values():
            task.cancel()
        for announcement in self._announcements:
            announcement.cancel()
        if zeroconf is not None:
            with contextlib.suppress(OSError, Error):
                if self._browser is not None:
                    await self._browser.async_cancel()
                await zeroconf.async_close()

    # The own table

    async def advertise(self, advertisement: Advertisement, port: int) -> None:
        """Advertise a table reachable at ``port``, or say something new about it. Without discovery this does nothing.

        :raises ValueError: if the advertisement has a field that others would not accept.
        """
        info = self._service(advertisement, port)
        self._advertised = advertisement, port
        if self._zeroconf is None:
            return
        with contextlib.suppress(OSError, Error):
            if self._zeroconf.zeroconf.registry.async_get_info_name(self._instance):
                sent = await self._zeroconf.async_update_service(info)
            else:
                sent = await self._zeroconf.async_register_service(info, cooperating_responders=True)
            self._send_in_background(sent)

    async def withdraw(self) -> None:
        """Say that the table is gone."""
        advertised, self._advertised = self._advertised, None
        if advertised is not None and self._zeroconf is not None:
            with contextlib.suppress(OSError, Error):
                self._send_in_background(await self._zeroconf.async_unregister_service(self._service(*advertised)))

    async def interfaces_changed(self) -> None:
        """Look at the interfaces anew, after sleep or a change of network, and ask again who is there."""
        if self._zeroconf is None or self._browser is None:
            return
        with contextlib.suppress(OSError, Error, RuntimeError, DiscoveryUnavailable):
            await self._zeroconf.async_update_interfaces(_interfaces(self._interface))
            await self._browser.async_cancel()
            self._browse()
        if self._advertised is not None:
            await self.advertise(*self._advertised)

    def _service(self, advertisement: Advertisement, port: int) -> AsyncServiceInfo:
        own = interface_addresses(self._interface)
        # To another machine a loopback address means that machine itself: only a machine without any other gives it.
        reachable = [each for each in own if not each.is_loopback] or own
        return AsyncServiceInfo(
            SERVICE_TYPE,
            self._instance,
            port=port,
            properties=advertisement.to_txt(),
            server=self._server,
            addresses=[each.packed for each in reachable],
        )

    def _send_in_background(self, sent: Awaitable[object]) -> None:
        # Announcements are repeated over half a second; nothing waits for that.
        future = asyncio.ensure_future(sent)
        self._announcements.add(future)
        future.add_done_callback(self._sent)

    def _sent(self, future: asyncio.Future[object]) -> None:
        self._announcements.discard(future)
        if not future.cancelled():
            future.exception()  # a lost announcement is repeated on request

    # The tables of others

    def tables(self) -> tuple[Sighting, ...]:
        """Return the tables known now, by name."""
        return tuple(sorted(self._tables.values(), key=lambda each: (each.advertisement.name, each.instance)))

    def told(self) -> tuple[Sighting, ...]:
        """Return the tables known now, and what was told of tables before: anybody can take a name over.

        :raises DiscoveryUnavailable: if more was told than is kept.
        """
        if len(self._former) > FORMER_TABLES:
            raise DiscoveryUnavailable("somebody on this network changes tables so often that no name can be trusted")
        now = {_place(each): each for each in self.tables()}
        return (*now.values(), *(each for place, each in self._former.items() if place not in now))

    async def changed(self) -> None:
        """Wait until the tables are others than now."""
        await self._change.wait()

    def _heard(self, zeroconf: Zeroconf, service_type: str, name: str, state_change: ServiceStateChange) -> None:
        if name == self._instance:
            return
        if state_change is ServiceStateChange.Removed:
            if name in self._resolving:
                self._resolving[name].cancel()
            self._put(name, None)
        elif name in self._tables or len(self._tables) + len(self._resolving) < TABLES:
            try:
                info = AsyncServiceInfo(service_type, name)
            except Error:
                return  # not a name that the standard allows
            if info.load_from_cache(zeroconf):
                self._put(name, _sighting(info))
            elif name not in self._resolving:
                task = asyncio.create_task(self._resolve(zeroconf, info))
                self._resolving[name] = task
                task.add_done_callback(lambda _: self._resolving.pop(name, None))

    async def _resolve(self, zeroconf: Zeroconf, info: AsyncServiceInfo) -> None:
        with contextlib.suppress(OSError, Error):
            async with self._turns:
                if await info.async_request(zeroconf, TABLE_ANSWER * 1000, DNSQuestionType.QM):
                    self._put(info.name, _sighting(info))

    def _put(self, name: str, sighting: Sighting | None) -> None:
        former = self._tables.get(name)
        if sighting == former:
            return
        if former is not None and len(self._former) <= FORMER_TABLES:
            self._former[_place(former)] = former
        if sighting is None:
            del self._tables[name]
        else:
            self._tables[name] = sighting
        self._change.set()
        self._change = asyncio.Event()


def _place(sighting: Sighting) -> tuple[str, str, tuple[Address, ...]]:
    return sighting.advertisement.id, sighting.advertisement.name, sighting.addresses


def _interfaces(interface: str | None) -> InterfaceChoice | list[str]:
    if interface is None:
        return InterfaceChoice.All
    if addresses := interface_addresses(interface):
        return [str(each) for each in addresses]
    raise DiscoveryUnavailable(f"there is no network interface {interface}")


async def _open(interfaces: InterfaceChoice | list[str]) -> AsyncZeroconf:
    reason = "no network interface takes it"
    versions = (IPVersion.All, IPVersion.V4Only) if interfaces is InterfaceChoice.All else (None,)
    for version in versions:  # a kernel without IPv6 refuses the first
        zeroconf = None
        try:
            zeroconf = AsyncZeroconf(interfaces=interfaces, ip_version=version)
            await zeroconf.zeroconf.async_wait_for_start()
            if zeroconf.zeroconf.engine.senders:
                return zeroconf
        except (OSError, RuntimeError, Error) as error:
            reason = error.strerror or reason if isinstance(error, OSError) else reason
        if zeroconf is not None:
            await zeroconf.async_close()
    raise DiscoveryUnavailable(f"multicast could not be started here ({reason})")


def _sighting(info: AsyncServiceInfo) -> Sighting | None:
    advertisement = Advertisement.from_txt(info.properties)
    hosts = [host for host in info.parsed_scoped_addresses() if _can_be_dialled(host)][:ADDRESSES_PER_PEER]
    if advertisement is None or not hosts or not info.port:
        return None
    return Sighting(advertisement, tuple((host, info.port) for host in hosts), info.name.removesuffix(f".{info.type}"))


def _can_be_dialled(host: str) -> bool:
    address: IPv4Address | IPv6Address = ip_address(host)
    if isinstance(address, IPv6Address) and address.is_link_local:
        return address.scope_id is not None
    return not (address.is_multicast or address.is_unspecified)
