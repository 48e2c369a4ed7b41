"""Formats of the store: the present one, and what becomes of a store in another one.

Of the programs that were released, only 0.1.0 wrote another format, the first. Formats in between were those of
programs that were never released, and are not read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final

from protocol.storage import people

SCHEMA_VERSION: Final = 10
"""The version of the store. A change of its tables needs a new one, as soon as this one was released."""
FIRST: Final = 1
"""The version of the store of 0.1.0."""

_COPIES: Final = {
    "seeds": "SELECT match_key, seed FROM former_seeds",
    "matches (number, match, genesis, match_key, created, formed, over, port)": (
        "SELECT number, match, genesis, match_key, created, formed, over, port FROM former_matches"
    ),
    "messages": "SELECT (match << 32) + place, data, signature FROM former_messages",
    "choices": "SELECT match, step, text FROM former_choices",
    "addresses": "SELECT identity, host, port, seen FROM former_addresses",
}
"""By table: its rows, from the tables of the first version."""


def refusal(version: int) -> str | None:
    """Return why this program does not read a store of a version, to be said after the name of its file; None if it
    does."""
    if version > SCHEMA_VERSION:
        return f" was written by a newer p2pdice (format {version}); update this one"
    if version not in (0, FIRST, SCHEMA_VERSION):  # an empty file has 0
        return f" has a format that was never released (format {version}): only the program that wrote it can read it"
    return None


def upgrade(database: sqlite3.Connection, make: Callable[[sqlite3.Connection], None]) -> None:
    """Turn a store of the first version into one of the present version, within a transaction of the caller's.

    People are remembered as if the present program had met them in the matches. Matches have no names yet.

    :param make: makes the present tables.
    :raises sqlite3.Error: if that fails.
    """
    tables = [table.split()[0] for table in _COPIES]
    for table in tables:
        database.execute(f"ALTER TABLE {table} RENAME TO former_{table}")
    make(database)
    for table, rows in _COPIES.items():
        database.execute(f"INSERT INTO {table} {rows}")
    for (match,) in database.execute("SELECT match FROM matches WHERE formed").fetchall():
        people.meet(database, match)
    for table in reversed(tables):  # matches refer to seeds
        database.execute(f"DROP TABLE former_{table}")
