"""The join line: one word, short enough to type, that leads another laptop to a table.

``HOST:PORT[,HOST:PORT…]/FINGERPRINT[/TOKEN]``: the addresses of the host, the fingerprint of the key that must answer
there, and for a private table the secret that admits.
"""

from __future__ import annotations

import secrets
from base64 import b32encode
from typing import Final, NamedTuple

from protocol.crypto.keys import parse_fingerprint
from protocol.limits import ADDRESSES_PER_PEER, TOKEN_CHARACTERS
from protocol.net.addresses import Address, format_address, parse_address

_TOKEN_BYTES: Final = 10
"""80 bits: each guess costs a TLS handshake."""


class JoinLine(NamedTuple):
    """A parsed join line."""

    addresses: tuple[Address, ...]
    fingerprint: str
    token: str = ""

    def __str__(self) -> str:
        where = ",".join(format_address(address) for address in self.addresses)
        return "/".join((where, self.fingerprint, self.token) if self.token else (where, self.fingerprint))


def new_token() -> str:
    """Return a fresh secret for a private table: 16 letters and digits."""
    return b32encode(secrets.token_bytes(_TOKEN_BYTES)).decode("ascii")


def parse_join_line(text: str) -> JoinLine:
    """Parse a join line.

    >>> line = parse_join_line("192.0.2.7:7000/t4z5wfhy2xdwpx45wp3p")
    >>> str(line)
    '192.0.2.7:7000/T4Z5-WFHY-2XDW-PX45-WP3P'

    :raises ValueError: naming the part that is wrong.
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
