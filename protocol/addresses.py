"""Hosts and ports as people type them and as sockets name them."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final

import ifaddr

Address = tuple[str, int]
"""Host (a name, IPv4, or IPv6 with its zone as ``fe80::1%2``) and port."""

_FORM: Final = re.compile(r"(?:\[(?P<bracketed>[^\[\]\s]{1,253})\]|(?P<plain>[^\[\]:\s]{1,253})):(?P<port>[0-9]{1,5})")


def parse_address(text: str) -> Address:
    """Read ``HOST:PORT``; an IPv6 address stands in brackets.

    :raises ValueError: if the text has another form or the port is not within 1–65535.

    >>> parse_address("[fe80::1%eth0]:7000")
    ('fe80::1%eth0', 7000)
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError("an address has the form HOST:PORT, with an IPv6 host in brackets: [::1]:7000")
    port = int(match["port"])
    if not 1 <= port <= 65535:
        raise ValueError("a port is a number from 1 to 65535")
    return match["bracketed"] or match["plain"], port


def format_address(address: Address) -> str:
    """Write an address so that :func:`parse_address` reads it back.

    >>> format_address(("::1", 7000)), format_address(("192.0.2.7", 7000))
    ('[::1]:7000', '192.0.2.7:7000')
    """
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def from_socket_name(name: Any) -> Address:
    """Turn what ``getpeername`` returns into an address, with the zone where an IPv6 address means nothing without it.

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


def interface_addresses(interface: str | None = None) -> tuple[IPv4Address | IPv6Address, ...]:
    """Return the addresses of this machine, or of the interface with this name or address; loopback last.

    Link-local IPv6 addresses come without their zone, which means nothing to other machines.
    """
    chosen = [
        [ip_address(ip.ip if isinstance(ip.ip, str) else ip.ip[0]) for ip in adapter.ips]
        for adapter in ifaddr.get_adapters()
        if interface is None
        or interface in (adapter.name, adapter.nice_name)
        or any(interface == (ip.ip if isinstance(ip.ip, str) else ip.ip[0]) for ip in adapter.ips)
    ]
    own = {address for addresses in chosen for address in addresses}
    return tuple(sorted(own, key=lambda each: (each.is_loopback, each.version, each.packed)))


def own_hosts(wildcard: str) -> tuple[str, ...]:
    """Return this machine's addresses behind ``0.0.0.0`` or ``::``, loopback last; nothing for any other host.

    Link-local IPv6 addresses are left out: they mean something only together with the zone of whoever dials them.
    """
    versions = {"0.0.0.0": 4, "::": 6}  # noqa: S104
    version = versions.get(wildcard)
    return tuple(str(each) for each in interface_addresses() if each.version == version and not _needs_zone(each))


def _needs_zone(address: IPv4Address | IPv6Address) -> bool:
    return address.version == 6 and address.is_link_local
