"""Addresses as people type them and as sockets name them, and the join line, which contains some.

A join line is one word, short enough to type, that leads another laptop to a table:
``HOST:PORT[,HOST:PORT…]/FINGERPRINT[/TOKEN]``. It contains the host's addresses, the fingerprint of the key that must
answer there and, for a private table, the secret that admits guests.
"""

from __future__ import annotations

import re
import secrets
from base64 import b32encode
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Any, Final, NamedTuple

from protocol.crypto.keys import parse_fingerprint
from protocol.errors import LocalError
from protocol.limits import ADDRESSES_PER_PEER, TOKEN_CHARACTERS


class PortError(LocalError, ValueError):
    """The port of an address is out of range."""


Address = tuple[str, int]
"""Host (a name, IPv4, or IPv6 with a zone such as ``fe80::1%2``) and port."""

_FORM: Final = re.compile(r"(?:\[(?P<bracketed>[^\[\]\s]{1,253})\]|(?P<plain>[^\[\]:\s]{1,253})):(?P<port>[0-9]{1,9})")


def parse_address(text: str) -> Address:
    """Parse ``HOST:PORT``, with an IPv6 address in brackets.

    :raises ValueError: if the text has another form.
    :raises PortError: if the port is not 1 to 65535.

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
    """Format an address such that :func:`parse_address` can parse it.

    >>> format_address(("::1", 7000)), format_address(("192.0.2.7", 7000))
    ('[::1]:7000', '192.0.2.7:7000')
    """
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def from_socket_name(name: Any) -> Address:
    """Return a socket name, such as the result of ``getpeername``, as an address. An IPv6 address that needs a zone
    gets one, and an IPv4-mapped address becomes the IPv4 address, because both lead to the same machine.

    >>> from_socket_name(("fe80::1", 7000, 0, 2)), from_socket_name(("::ffff:192.0.2.7", 7000, 0, 0))
    (('fe80::1%2', 7000), ('192.0.2.7', 7000))
    """
    host, port = name[0], name[1]
    mapped = IPv6Address(host).ipv4_mapped if ":" in host else None
    if mapped is not None:
        return str(mapped), port
    if len(name) == 4 and name[3] and "%" not in host:
        host = f"{host}%{name[3]}"
    return host, port


def is_own_machine(remote: Address, local: Address) -> bool:
    """Return whether a connection comes from this machine: from loopback, or from the address that it reached.

    >>> is_own_machine(("127.0.0.1", 5), ("127.0.0.1", 7)), is_own_machine(("192.0.2.1", 5), ("192.0.2.2", 7))
    (True, False)
    """
    return remote[0] == local[0] or ip_address(remote[0]).is_loopback


def origin(host: str) -> str:
    """Return the part of an address that its machine cannot change: a whole IPv4 address, or the first 64 bits of an
    IPv6 address, which all machines of a network may share.

    >>> origin("192.0.2.7"), origin("2001:db8::7:7"), origin("fe80::1%2")
    ('192.0.2.7', '2001:db8::/64', 'fe80::/64')
    """
    address = ip_address(host)
    return host if address.version == 4 else str(IPv6Network((int(address) >> 64 << 64, 64)))


_TOKEN_BYTES: Final = 10
"""80 bits are enough, because each guess costs a TLS handshake."""


class JoinLine(NamedTuple):
    addresses: tuple[Address, ...]
    fingerprint: str
    token: str = ""

    def __str__(self) -> str:
        where = ",".join(format_address(address) for address in self.addresses)
        return "/".join((where, self.fingerprint, self.token) if self.token else (where, self.fingerprint))


def new_token() -> str:
    """Return a random token for a private table: 16 letters and digits."""
    return b32encode(secrets.token_bytes(_TOKEN_BYTES)).decode("ascii")


def parse_join_line(text: str) -> JoinLine:
    """Parse a join line.

    >>> line = parse_join_line("192.0.2.7:7000/t4z5wfhy2xdwpx45wp3p")
    >>> str(line)
    '192.0.2.7:7000/T4Z5-WFHY-2XDW-PX45-WP3P'

    :raises ValueError: if the text is not a join line; the message names the faulty part.
    """
    where, *rest = text.strip().split("/")
    if not 1 <= len(rest) <= 2:
        raise ValueError("a join line has the form HOST:PORT/FINGERPRINT, with /TOKEN at the end for a private table")
    addresses = tuple(parse_address(part) for part in where.split(","))
    if len(addresses) > ADDRESSES_PER_PEER:
        raise ValueError(f"a join line has at most {ADDRESSES_PER_PEER} addresses")
    token = rest[1].upper() if len(rest) == 2 else ""
    if len(rest) == 2 and not (token.isascii() and token.isalnum() and len(token) <= TOKEN_CHARACTERS):
        raise ValueError(f"the token of a join line has 1 to {TOKEN_CHARACTERS} letters and digits, and nothing else")
    return JoinLine(addresses, parse_fingerprint(rest[0]), token)
