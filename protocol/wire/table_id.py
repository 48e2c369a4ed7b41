"""Admission to a table: the id of a private table holds the hash of the secret in its join line.

So every player can check a token, also in the running match and after a restart, and nobody needs to store it.
"""

from __future__ import annotations

import secrets
from typing import Final

from protocol.crypto.hashing import tagged_hash

TABLE_ID_BYTES: Final = 16
_OPEN: Final = b"\0"
"""First byte of an open table's id."""
_PRIVATE: Final = b"\1"
"""First byte of a private table's id. There is no third kind."""


def check_table_id(table: bytes) -> bytes:
    """Return ``table`` if it is the id of a table.

    :raises ValueError: for any other bytes.
    """
    if len(table) != TABLE_ID_BYTES or table[:1] not in (_OPEN, _PRIVATE):
        raise ValueError(f"a table id has {TABLE_ID_BYTES} bytes, and the first is 0 or 1")
    return table


def open_table_id() -> bytes:
    """Return a fresh id for a table that admits everybody."""
    return _OPEN + secrets.token_bytes(TABLE_ID_BYTES - 1)


def private_table_id(token: str) -> bytes:
    """Return the id of the table that admits the holders of this token.

    >>> admits(private_table_id("SECRET"), "SECRET"), admits(private_table_id("SECRET"), "")
    (True, False)
    """
    return _PRIVATE + tagged_hash("table-token", token.encode())[: TABLE_ID_BYTES - 1]


def is_private(table: bytes) -> bool:
    """Tell whether a table takes a token."""
    return table[:1] == _PRIVATE


def admits(table: bytes, token: str) -> bool:
    """Tell whether the table with this id admits a node with this token; an open one admits everybody."""
    return not is_private(table) or table == private_table_id(token)
