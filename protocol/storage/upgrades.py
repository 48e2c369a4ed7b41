"""Upgrades of the store: each turns a store of one version into one of the next.

An upgrade is written out as it was when its version was new, and never changes. It uses none of the tables in
the modules of this folder: these are the present ones, and may change.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

from protocol.crypto.keys import fingerprint
from protocol.wire.canonical import decode, encode
from protocol.wire.genesis import MalformedGenesisError, players_of
from protocol.wire.lookalikes import outline
from protocol.wire.nicknames import is_marked_as_bot


def upgrade(database: sqlite3.Connection, version: int) -> None:
    """Turn a store of a version into one of the present version, within a transaction of the caller's.

    :raises sqlite3.Error: if that fails.
    """
    for each in _UPGRADES[version - 1 :]:
        each(database)


def _to_2(database: sqlite3.Connection) -> None:
    """Keep the names of tables and matches, the winners, and who was the host."""
    for column in (
        "table_name TEXT NOT NULL DEFAULT ''",
        "name TEXT NOT NULL DEFAULT ''",
        "winners TEXT NOT NULL DEFAULT ''",
        "hosted INTEGER NOT NULL DEFAULT 0",
    ):
        _add_column(database, "matches", column)


def _to_3(database: sqlite3.Connection) -> None:
    """Number all messages of a store in one column."""
    _add_column(database, "matches", "hosted INTEGER NOT NULL DEFAULT 0")  # the first stores of version 2 lacked it
    database.execute("ALTER TABLE messages RENAME TO former")
    database.execute("CREATE TABLE messages (place INTEGER PRIMARY KEY, data BLOB NOT NULL, signature BLOB NOT NULL)")
    rows = "SELECT (match << 32) + place, data, signature FROM former ORDER BY match, place"
    database.execute(f"INSERT INTO messages {rows}")
    database.execute("DROP TABLE former")


def _to_4(database: sqlite3.Connection) -> None:
    """Remember people: those of all formed matches."""
    database.execute(
        "CREATE TABLE meetings ("
        " fingerprint TEXT NOT NULL, match INTEGER NOT NULL, name TEXT NOT NULL, outline TEXT NOT NULL,"
        " met INTEGER NOT NULL, PRIMARY KEY (fingerprint, match)) WITHOUT ROWID"
    )
    database.execute("CREATE INDEX meetings_by_outline ON meetings (outline)")
    database.execute("CREATE INDEX meetings_by_match ON meetings (match)")
    database.execute(
        "CREATE TABLE trusted ("
        " fingerprint TEXT PRIMARY KEY, name TEXT NOT NULL, outline TEXT NOT NULL, since INTEGER NOT NULL)"
        " WITHOUT ROWID"
    )
    formed = "SELECT number, created, genesis, match_key FROM matches WHERE formed"
    for number, created, genesis, own in database.execute(formed).fetchall():
        if (type(created), type(genesis)) != (int, bytes):
            continue  # damaged: reading it raises the error
        with suppress(MalformedGenesisError):
            rows = [
                (fingerprint(player.identity), number, player.nickname, outline(player.nickname), created)
                for player in players_of(genesis)
                if player.match_key != own and not is_marked_as_bot(player.nickname)
            ]
            database.executemany("INSERT OR IGNORE INTO meetings VALUES (?, ?, ?, ?, ?)", rows)


def _to_5(database: sqlite3.Connection) -> None:
    """Keep purses: one's own, and the newest that was seen of others."""
    for statement in (
        "CREATE TABLE purses ("
        " number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, seed BLOB NOT NULL, identity BLOB NOT NULL,"
        " state BLOB NOT NULL, granted INTEGER NOT NULL, ended INTEGER NOT NULL DEFAULT 0)",
        "CREATE TABLE purse_entries ("
        " purse INTEGER NOT NULL, height INTEGER NOT NULL, kind INTEGER NOT NULL, match BLOB NOT NULL,"
        " change INTEGER NOT NULL, begins INTEGER, data BLOB NOT NULL, signature BLOB NOT NULL,"
        " PRIMARY KEY (purse, height)) WITHOUT ROWID",
        "CREATE INDEX purse_entries_by_beginning ON purse_entries (purse, begins)",
        "CREATE TABLE purse_evidence (purse INTEGER NOT NULL, height INTEGER NOT NULL, evidence BLOB NOT NULL)",
        "CREATE UNIQUE INDEX purse_evidence_by_height ON purse_evidence (purse, height)",
        "CREATE TABLE purse_partners ("
        " purse INTEGER NOT NULL, fingerprint TEXT NOT NULL, height INTEGER NOT NULL, name TEXT NOT NULL,"
        " change INTEGER NOT NULL, PRIMARY KEY (purse, fingerprint, height)) WITHOUT ROWID",
        "CREATE TABLE purses_met ("
        " key BLOB PRIMARY KEY, identity BLOB NOT NULL, granted INTEGER, ended BLOB NOT NULL, proof BLOB NOT NULL)"
        " WITHOUT ROWID",
        "CREATE INDEX purses_met_by_identity ON purses_met (identity)",
    ):
        database.execute(statement)


def _to_6(database: sqlite3.Connection) -> None:
    """Note that the owner has signed that a match is void."""
    _add_column(database, "matches", "void INTEGER NOT NULL DEFAULT 0")


def _to_7(database: sqlite3.Connection) -> None:
    """Note at which height each frozen stake was frozen. Evidence that has frozen stakes without heights, of programs
    that were never released, is not converted: it is signed as it is."""
    for number, state in database.execute("SELECT number, state FROM purses").fetchall():
        with suppress(TypeError, ValueError):  # damaged: reading it raises the error
            key, height, head, balance, frozen, *rest = cast("tuple[Any, ...]", decode(state))
            heights = database.execute(
                "SELECT match, MAX(height) FROM purse_entries WHERE purse = ? AND kind = 2 GROUP BY match", (number,)
            )
            at = dict(heights.fetchall())
            stakes = tuple((*stake[:3], at.get(stake[0], 0)) for stake in frozen)
            row = encode((key, height, head, balance, stakes, *rest)), number
            database.execute("UPDATE purses SET state = ? WHERE number = ?", row)


def _to_8(database: sqlite3.Connection) -> None:
    """Find entries by their match. Note of others' purses whether they are kept, and forget those that count for
    nothing, as they were never in a match. Letters of more scripts count as alike."""
    database.execute("CREATE INDEX purse_entries_by_match ON purse_entries (match)")
    database.execute("ALTER TABLE purses RENAME TO former")  # older programs of SQLite cannot drop a column
    database.execute(
        "CREATE TABLE purses ("
        " number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, seed BLOB NOT NULL, identity BLOB NOT NULL,"
        " state BLOB NOT NULL, ended INTEGER NOT NULL DEFAULT 0)"
    )
    database.execute("INSERT INTO purses SELECT number, key, seed, identity, state, ended FROM former")
    database.execute("DROP TABLE former")
    database.execute("ALTER TABLE purses_met RENAME TO former")
    database.execute("DROP INDEX purses_met_by_identity")
    database.execute(
        "CREATE TABLE purses_met ("
        " key BLOB PRIMARY KEY, identity BLOB NOT NULL, is_kept INTEGER NOT NULL, fork BLOB NOT NULL,"
        " proof BLOB NOT NULL) WITHOUT ROWID"
    )
    rows = "SELECT key, identity, granted >= 0, ended, proof FROM former WHERE granted IS NOT NULL"
    database.execute(f"INSERT INTO purses_met {rows}")
    database.execute("DROP TABLE former")
    database.execute("CREATE INDEX purses_met_by_identity ON purses_met (identity)")
    _draw_outlines(database)


def _draw_outlines(database: sqlite3.Connection) -> None:
    """Write the outlines of all names anew, as this program draws them."""
    for table in ("meetings", "trusted"):
        for (name,) in database.execute(f"SELECT DISTINCT name FROM {table}").fetchall():  # noqa: S608
            if type(name) is str:  # else damaged: reading it raises the error
                database.execute(f"UPDATE {table} SET outline = ? WHERE name = ?", (outline(name), name))  # noqa: S608


def _to_9(database: sqlite3.Connection) -> None:
    """Keep the names of house rules. Names of players count as alike by Unicode's table of confusable characters."""
    database.execute(
        "CREATE TABLE rules_names ("
        " number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, name TEXT NOT NULL, own INTEGER NOT NULL)"
    )
    _draw_outlines(database)


def _add_column(database: sqlite3.Connection, table: str, column: str) -> None:
    """Add a column to a table that lacks it."""
    names = database.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    if (column.split(" ")[0],) not in names:
        database.execute(f"ALTER TABLE {table} ADD COLUMN {column}")


_UPGRADES: Final[tuple[Callable[[sqlite3.Connection], None], ...]] = (
    _to_2,
    _to_3,
    _to_4,
    _to_5,
    _to_6,
    _to_7,
    _to_8,
    _to_9,
)

SCHEMA_VERSION: Final = len(_UPGRADES) + 1
"""The version of the store."""
