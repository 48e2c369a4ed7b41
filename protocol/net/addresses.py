"""Addresses: hosts and ports as people type them and as sockets name them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, Final

import ifaddr

from protocol.errors import LocalError


class PortError(LocalError, ValueError):
    """The port of an address is out of range."""


Address = tuple[str, int]
"""Host (a name, IPv4, or IPv6 with its zone as ``fe80::1%2``) and port."""

_FORM: Final = re.compile(r"(?:\[(?P<bracketed>[^\[\]\s]{1,253})\]|(?P<plain>[^\[\]:\s]{1,253})):(?P<port>[0-9]{1,9})")


def parse_address(text: str) -> Address:
    """Read ``HOST:PORT``; an IPv6 address stands in brackets.

    :raises ValueError: if the text has another form.
    :raises PortError: if the port is not within 1–65535.

    >>> parse_address("[fe80::1%eth0]:7000")
    ('fe80::1%eth0', 7000)
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError("an address has the form HOST:PORT, with an IPv6 host in brackets: [::1]:7000")
    port = int(match["port"])
    if not 1 <= port <= 65535:
        raise PortError("a port is a number from 1 to 65535")
    return match["bracketed"] or match["plain"], port


def format_address(address: Address) -> str:
    """Write an address so that :func:`parse_address` reads it back.

    >>> format_address(("::1", 7000)), format_address(("192.0.2.7", 7000))
    ('[::1]:7000', '192.0.2.7:7000')
    """
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def from_socket_name(name: Any) -> Address:
    """Turn the result of ``getpeername`` into an address, with the zone where an IPv6 address means nothing without it.

    >>> from_socket_name(("fe80::1", 7000, 0, 2)), from_socket_name(("::1", 7000, 0, 0))
    (('fe80::1%2', 7000), ('::1', 7000))
    """
    host, port = name[0], name[1]
    if len(name) == 4 and name[3] and "%" not in host:
        host = f"{host}%{name[3]}"
    return host, port


def is_own_machine(remote: Address, local: Address) -> bool:
    """Tell whether a connection comes from this machine: from loopback, or from the very address that it reached.

    >>> is_own_machine(("127.0.0.1", 5), ("127.0.0.1", 7)), is_own_machine(("192.0.2.1", 5), ("192.0.2.2", 7))
    (True, False)
    """
    return remote[0] == local[0] or ip_address(remote[0]).is_loopback


def origin(host: str) -> str:
    """Return what one machine cannot change about the address that it comes from: all of an IPv4 address, the first 64
    bits of an IPv6 address. All machines of one network may have these bits in common.

    >>> origin("192.0.2.7"), origin("2001:db8::7:7"), origin("fe80::1%2")
    ('192.0.2.7', '2001:db8::/64', 'fe80::/64')
    """
    address = ip_address(host)
    return host if address.version == 4 else str(IPv6Network((int(address) >> 64 << 64, 64)))


Host = IPv4Address | IPv6Address


def interface_addresses(interface: str | None = None) -> tuple[Host, ...]:
    """Return the addresses of this machine, or of the interface with this name or address; loopback last.

    Link-local IPv6 addresses come without their zone, which means nothing to other machines.
    """
    own = {_without_zone(address) for address, _ in _zoned_addresses(interface)}
    return tuple(sorted(own, key=lambda each: (each.is_loopback, each.version, each.packed)))


def hosts_to_listen_at(interface: str) -> tuple[str, ...]:
    """Return the addresses of an interface as a socket is bound to them: link-local IPv6 with its zone."""
    own = _zoned_addresses(interface)
    return tuple(f"{each}%{zone}" if zone and _needs_zone(each) else str(each) for each, zone in own)


def hosts_to_tell(bound: Iterable[str]) -> tuple[str, ...]:
    """Return the hosts that others can dial, out of those that this machine listens at, the most useful first.

    ``0.0.0.0`` and ``::`` stand for all addresses of this machine. A link-local IPv6 address is told only if there is
    no better one, and without its zone, as every machine has its own names for zones: a dialler tries all of
    theirs (:func:`hosts_to_dial`). Loopback addresses come last: nobody else reaches them.

    :returns: one at least; loopback if this machine has no address at all.
    """
    versions = {"0.0.0.0": 4, "::": 6}  # noqa: S104
    told: set[Host] = set()
    for host in bound:
        if host in versions:
            told.update(each for each in interface_addresses() if each.version == versions[host])
        else:
            told.add(_without_zone(ip_address(host)))
    if any(not each.is_loopback and not _needs_zone(each) for each in told):
        told = {each for each in told if not _needs_zone(each)}
    told = told or {IPv4Address("127.0.0.1")}
    return tuple(map(str, sorted(told, key=lambda each: (each.is_loopback, each.version, each.packed))))


def hosts_to_dial(host: str) -> tuple[str, ...]:
    """Return the hosts to dial for one host: link-local IPv6 without a zone gives one for each zone of this machine.

    >>> hosts_to_dial("fe80::1%2"), hosts_to_dial("fd00::1"), hosts_to_dial("ada.local")
    (('fe80::1%2',), ('fd00::1',), ('ada.local',))
    """
    try:
        address = ip_address(host)
    except ValueError:
        return (host,)
    if not _needs_zone(address) or "%" in host:
        return (host,)
    zones = dict.fromkeys(zone for own, zone in _zoned_addresses() if zone and _needs_zone(own))
    return tuple(f"{host}%{zone}" for zone in zones) or (host,)


def _zoned_addresses(interface: str | None = None) -> tuple[tuple[Host, int], ...]:
    """Return addresses of this machine, each with the number of its interface, 0 if the system gives none."""
    return tuple(
        (ip_address(text), adapter.index or 0)
        for adapter in ifaddr.get_adapters()
        if interface is None
        or interface in (adapter.name, adapter.nice_name)
        or any(interface == _text(ip) for ip in adapter.ips)
        for text in map(_text, adapter.ips)
    )


def to_host(ip: ifaddr.IP) -> Host:
    """Return an address of an adapter without its zone."""
    return _without_zone(ip_address(_text(ip)))


def _text(ip: ifaddr.IP) -> str:
    return ip.ip if isinstance(ip.ip, str) else ip.ip[0]


def _without_zone(address: Host) -> Host:
    return ip_address(str(address).partition("%")[0])


def _needs_zone(address: Host) -> bool:
    return address.version == 6 and address.is_link_local
