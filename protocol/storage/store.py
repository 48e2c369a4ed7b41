"""The store: one SQLite file per home, written before anything leaves the node.

It has a write-ahead log with ``synchronous=FULL`` (and ``fullfsync`` on macOS). When :meth:`Store.write` has returned,
its messages survive a crash of the process, the system and the power. The open file is locked exclusively, so one
process at a time has the home. The system releases the lock when the process dies.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from protocol.consensus.kinds import parse_signed
from protocol.crypto.hashing import HASH_BYTES
from protocol.errors import LocalError
from protocol.limits import ADDRESSES_REMEMBERED, PROPOSALS
from protocol.storage.match_names import day, free_name, is_name, rules_word, slug
from protocol.storage.newest import Note, Noted
from protocol.wire.genesis import MalformedGenesisError, parse_genesis
from protocol.wire.messages import MalformedMessageError, Signed

SCHEMA_VERSION: Final = 3

_LOG_PAGES: Final = 256
"""Pages of the write-ahead log, some three hundred commits. Then it is copied into the file and begun again."""

_LOG_HEADER: Final = 32
"""Bytes of the header of a write-ahead log, its salts among them."""
_ATTEMPTS: Final = 5
"""How often copying is tried while another process writes the store."""

_FAILURES: Final = (sqlite3.Error, UnicodeDecodeError, OverflowError)
"""Errors of ``sqlite3``: the second if it cannot read SQLite's own complaint about a damaged schema, the third for the
places of a match with an impossible number."""

LATEST: Final = 32_503_680_000
"""Seconds since 1970 up to the year 3000, which every system can turn into a date."""

_MESSAGES: Final = "CREATE TABLE messages (place INTEGER PRIMARY KEY, data BLOB NOT NULL, signature BLOB NOT NULL)"
"""A place is the number of a match and, in its lower 32 bits, the number of a message in it. Rows are only added at the
end and need no other index, so a turn changes the fewest pages."""
_SCHEMA: Final = f"""
CREATE TABLE seeds (match_key BLOB PRIMARY KEY, seed BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE matches (
    number INTEGER PRIMARY KEY, match BLOB NOT NULL UNIQUE, genesis BLOB NOT NULL,
    match_key BLOB NOT NULL REFERENCES seeds,
    created INTEGER NOT NULL, formed INTEGER NOT NULL DEFAULT 0, over INTEGER NOT NULL DEFAULT 0, port INTEGER NOT NULL,
    table_name TEXT NOT NULL DEFAULT '', name TEXT NOT NULL DEFAULT '', winners TEXT NOT NULL DEFAULT '',
    hosted INTEGER NOT NULL DEFAULT 0
);
{_MESSAGES};
CREATE TABLE choices (
    match BLOB NOT NULL, step INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (match, step)
) WITHOUT ROWID;
CREATE TABLE addresses (
    identity BLOB NOT NULL, host TEXT NOT NULL, port INTEGER NOT NULL, seen INTEGER NOT NULL,
    PRIMARY KEY (identity, host, port)
) WITHOUT ROWID;
"""

_UPGRADES: Final = (
    (
        "ALTER TABLE matches ADD COLUMN table_name TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE matches ADD COLUMN name TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE matches ADD COLUMN winners TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE matches ADD COLUMN hosted INTEGER NOT NULL DEFAULT 0",
    ),
    (
        "ALTER TABLE messages RENAME TO former",
        _MESSAGES,
        "INSERT INTO messages SELECT (match << 32) + place, data, signature FROM former ORDER BY match, place",
        "DROP TABLE former",
    ),
)
"""The statements that turn a store of version 1 into one of version 2, and so on."""
_WINNERS: Final = re.compile("([0-9](,[0-9])*)?")


class HomeInUseError(LocalError):
    """Another process has this home open."""


class StoreError(LocalError):
    """The store cannot be read or written: the disk is full, or the file is damaged or was altered.

    A message that was not stored must not be sent.
    """


class StoredMatch(NamedTuple):
    """A match as it is stored, with all that it needs to go on after a restart."""

    match: bytes
    genesis: bytes
    seed: bytes
    formed: bool
    """Everybody had locked the genesis, as far as this store knows."""
    created: int
    """Seconds since 1970 by this machine's clock; for people to read, never signed."""
    over: bool
    port: int
    """The port that this node listened at, so that peers find it at its old address."""
    table: str = ""
    """Name of the table, as its host chose it: any text. Empty if it was not kept."""
    name: str = ""
    """A name for the owner to type; no other match of the store has it. Empty as long as the match is not formed."""
    winners: tuple[int, ...] = ()
    """Roster indices of the winners. Empty as long as the match is not over, or if they were not kept."""
    hosted: bool = False
    """The owner opened the table, as far as this store knows."""

    def __repr__(self) -> str:
        return f"StoredMatch({self.match.hex()})"  # never the seed


class Loss(NamedTuple):
    """A loss: the store no longer holds data that it had confirmed."""

    match: bytes
    """The match that was written last."""
    is_here: bool
    """Whether the store still knows the match, and lacks only messages."""


class Store:
    """The durable memory of one home.

    :raises HomeInUseError: if another process holds it.
    :raises StoreError: if it cannot be opened or was written by a newer version.
    """

    def __init__(self, path: Path) -> None:
        self._ends: dict[bytes, tuple[int, int]] = {}
        """By match: its number and the place of its next message."""
        self._note = Note(path)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Created here so that it is private from its first byte on; SQLite would follow the umask.
            path.touch(mode=0o600)
            self._db = sqlite3.connect(path, timeout=0, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"cannot open {path}: {error}") from error
        try:
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute("PRAGMA fullfsync=1")
            self._db.execute("PRAGMA foreign_keys=1")
            self._db.execute("BEGIN EXCLUSIVE")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version < SCHEMA_VERSION:
                for statement in _SCHEMA.split(";") if version == 0 else chain(*_UPGRADES[version - 1 :]):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
                self._name_formed()
            self._db.execute("COMMIT")
            if version <= SCHEMA_VERSION:
                self._prepare_log()
        except sqlite3.OperationalError as error:
            self._db.close()
            if getattr(error, "sqlite_errorname", "") in ("SQLITE_BUSY", "SQLITE_LOCKED"):
                raise HomeInUseError(f"{path.parent} is in use by another p2pdice") from None
            raise StoreError(f"cannot use {path}: {error}") from error
        except _FAILURES as error:
            self._db.close()
            raise StoreError(f"cannot use {path}: {error}") from error
        if version > SCHEMA_VERSION:
            self._db.close()
            raise StoreError(f"{path} was written by a newer p2pdice (format {version}); update this one")
        self.loss: Final = self._find_loss()
        """Data lost before the store was opened: its log was damaged or removed, or an older file was put back."""

    def close(self) -> None:
        """Let go of the home."""
        self._note.close()
        self._db.close()

    def _find_loss(self) -> Loss | None:
        noted = self._note.read()
        if noted is None:
            return None
        number_query = "SELECT number FROM matches JOIN seeds USING (match_key) WHERE matches.match = ?"
        count_query = "SELECT COUNT(*) FROM messages WHERE place BETWEEN ? AND ?"
        try:
            for (number,) in self._db.execute(number_query, (noted.match,)).fetchall():
                ((messages,),) = self._db.execute(count_query, _places(number)).fetchall()
                return None if messages >= noted.messages else Loss(noted.match, is_here=True)
        except (*_FAILURES, StoreError):
            return None  # the next read of the store raises the same
        return Loss(noted.match, is_here=False)

    def _name_formed(self, match: bytes | None = None) -> None:
        """Give a name to a match that is formed and has none; to all such matches, the oldest first, if none is given.

        A name never changes, whatever is forgotten or played later: a name that was printed today works tomorrow.
        """
        query = "SELECT number, created, table_name, genesis FROM matches WHERE formed AND name = ''"
        taken = {str(name) for (name,) in self._db.execute("SELECT name FROM matches").fetchall()}
        which, values = ("", ()) if match is None else (" AND match = ?", (match,))
        for number, created, table, genesis in self._db.execute(f"{query}{which} ORDER BY number", values).fetchall():
            if (type(created), type(table), type(genesis)) != (int, str, bytes) or not 0 <= created < LATEST:
                continue  # damaged: reading it raises the error
            name = free_name(f"{day(created)}-{slug(table) or _rules(genesis)}", taken)
            taken.add(name)
            self._db.execute("UPDATE matches SET name = ? WHERE number = ?", (name, number))

    def _forget_note(self, match: bytes) -> None:
        noted = self._note.read()
        if noted is not None and noted.match == match:
            self._note.remove()

    def _prepare_log(self) -> None:
        """Let the write-ahead log have its full length from the start.

        A commit that makes the log longer must also write the file's new length to the disk, which takes about twice as
        long. So the log is filled with zeros once, and then used from its beginning.
        """
        self._db.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES * 4 // 5}")
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("CREATE TABLE padding (zeros BLOB)")
        self._db.execute("INSERT INTO padding SELECT zeroblob(page_size * ?) FROM pragma_page_size", (_LOG_PAGES,))
        self._db.execute("DROP TABLE padding")
        self._db.execute("COMMIT")
        self._db.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()

    def add_seed(self, match_key: bytes, seed: bytes) -> None:
        """Keep the seed behind a match key; called before the join record that names the key is sent."""
        self._write("INSERT INTO seeds VALUES (?, ?)", (match_key, seed))

    def add_match(
        self,
        match: bytes,
        genesis: bytes,
        match_key: bytes,
        created: int,
        port: int,
        table: str = "",
        hosted: bool = False,
    ) -> None:
        """Keep a proposed match; called before its genesis is locked. Adding one again changes nothing.

        Only the newest few proposals with one match key are kept unless they are formed.
        """
        self._write(
            "INSERT OR IGNORE INTO matches (match, genesis, match_key, created, port, table_name, hosted) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (match, genesis, match_key, created, port, table, hosted),
        )
        forgotten = (
            "SELECT number, match FROM matches WHERE match_key = ? AND formed = 0 AND number NOT IN "
            "(SELECT number FROM matches WHERE match_key = ? AND formed = 0 ORDER BY number DESC LIMIT ?)"
        )
        for number, proposal in self._read(forgotten, (match_key, match_key, PROPOSALS), (int, bytes)):
            self._ends.pop(proposal, None)
            self._write("DELETE FROM messages WHERE place BETWEEN ? AND ?", _places(number))
            self._write("DELETE FROM matches WHERE number = ?", (number,))
            self._forget_note(proposal)

    def mark_formed(self, match: bytes) -> None:
        """Note that everybody has locked the genesis: the match can be resumed and has a name from now on."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("UPDATE matches SET formed = 1 WHERE match = ?", (match,))
            self._name_formed(match)
            self._db.execute("COMMIT")
        except _FAILURES as error:
            self._roll_back()
            raise StoreError(f"cannot write to the store: {error}") from error

    def mark_over(self, match: bytes, winners: Sequence[int] = ()) -> None:
        """Note that the match has ended and its transcript is written.

        :param winners: roster indices of the winners.
        """
        self._write(
            "UPDATE matches SET over = 1, winners = ? WHERE match = ?", (",".join(map(str, sorted(winners))), match)
        )

    def forget(self, stored: StoredMatch) -> None:
        """Delete everything about a match, also the seed of its keys: nobody can ever return to it.

        :raises StoreError: if that fails. Then everything is as it was.
        """
        number = self._end(stored.match)[0]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            keys = self._db.execute("SELECT match_key FROM matches WHERE number = ?", (number,)).fetchall()
            self._db.execute("DELETE FROM messages WHERE place BETWEEN ? AND ?", _places(number))
            self._db.execute("DELETE FROM choices WHERE match = ?", (stored.match,))
            self._db.execute("DELETE FROM matches WHERE number = ?", (number,))
            for key in keys:  # proposals of one table share a seed
                self._db.execute(
                    "DELETE FROM seeds WHERE match_key = ? AND match_key NOT IN (SELECT match_key FROM matches)", key
                )
            self._db.execute("COMMIT")
            self._ends.pop(stored.match, None)
            self._forget_note(stored.match)
        except _FAILURES as error:
            self._roll_back()
            raise StoreError(f"cannot write to the store: {error}") from error

    def add_choice(self, match: bytes, step: int, text: str) -> None:
        """Keep a choice of the owner that others do not know yet; called before anything that depends on it is sent."""
        self._write("INSERT OR REPLACE INTO choices VALUES (?, ?, ?)", (match, step, text))

    def choices(self, match: bytes) -> dict[int, str]:
        """Return the owner's choices of a match that others may not know yet, by step."""
        query = "SELECT step, text FROM choices WHERE match = ? ORDER BY step"
        return dict(self._read(query, (match,), (int, str)))

    def remember_address(self, identity: bytes, host: str, port: int, seen: int) -> None:
        """Keep an address under which an identity was reached; the newest few of each are kept."""
        self._write("INSERT OR REPLACE INTO addresses VALUES (?, ?, ?, ?)", (identity, host, port, seen))
        self._write(
            "DELETE FROM addresses WHERE identity = ? AND (host, port) NOT IN "
            "(SELECT host, port FROM addresses WHERE identity = ? ORDER BY seen DESC, host, port LIMIT ?)",
            (identity, identity, ADDRESSES_REMEMBERED),
        )

    def addresses(self, identity: bytes) -> tuple[tuple[str, int], ...]:
        """Return (host, port) under which ``identity`` was reached before, newest first."""
        query = "SELECT host, port FROM addresses WHERE identity = ? ORDER BY seen DESC, host, port"
        return tuple(self._read(query, (identity,), (str, int)))

    def write(self, match: bytes, messages: Iterable[Signed]) -> None:
        """Store messages in one transaction; when this returns they are on the disk.

        :raises StoreError: if they are not. Then nothing that depends on them may be sent.
        """
        self._write_messages(match, messages, *self._end(match))

    def replace(self, match: bytes, messages: Iterable[Signed]) -> None:
        """Replace all stored messages of a match by these, in one transaction.

        :raises StoreError: if they are not. Then everything is as it was.
        """
        self._write_messages(match, messages, self._end(match)[0], 0)

    def _write_messages(self, match: bytes, messages: Iterable[Signed], number: int, place: int) -> None:
        rows = [(each, *signed.wire) for each, signed in enumerate(messages, _places(number)[0] + place)]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            if place == 0:
                self._db.execute("DELETE FROM messages WHERE place BETWEEN ? AND ?", _places(number))
            self._db.executemany("INSERT INTO messages VALUES (?, ?, ?)", rows)
            self._db.execute("COMMIT")
            self._ends[match] = number, place + len(rows)
            self._note.write(Noted(match, place + len(rows)))
        except _FAILURES as error:
            self._roll_back()
            raise StoreError(f"cannot write to the store: {error}") from error

    def _roll_back(self) -> None:
        with contextlib.suppress(*_FAILURES):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def messages(self, match: bytes) -> tuple[Signed, ...]:
        """Return the stored messages of a match in the order in which they were written."""
        query = "SELECT data, signature FROM messages WHERE place BETWEEN ? AND ? ORDER BY place"
        rows = self._read(query, _places(self._end(match)[0]), (bytes, bytes))
        try:
            return tuple(parse_signed(data, signature) for data, signature in rows)
        except MalformedMessageError as error:
            raise StoreError(f"the store is damaged: {error}") from None

    def _end(self, match: bytes) -> tuple[int, int]:
        """Return the number of a match and the place of its next message."""
        if match not in self._ends:
            rows = self._read("SELECT number FROM matches WHERE match = ?", (match,), (int,))
            if not rows:
                raise StoreError("the store does not know the match")
            first, last = _places(rows[0][0])
            newest = "SELECT place FROM messages WHERE place BETWEEN ? AND ? ORDER BY place DESC LIMIT 1"
            places = self._read(newest, (first, last), (int,)) or [(first - 1,)]
            if places[0][0] == last:
                raise StoreError("the store is damaged: a message has the last place of all")
            self._ends[match] = rows[0][0], places[0][0] + 1 - first
        return self._ends[match]

    def matches(self) -> tuple[StoredMatch, ...]:
        """Return the matches that were formed or proposed; formed ones first, of each kind the newest first."""
        query = (
            "SELECT match, genesis, seed, formed, created, over, port, table_name, name, winners, hosted "
            "FROM matches JOIN seeds USING (match_key) ORDER BY formed DESC, number DESC"
        )
        rows = self._read(query, (), (bytes, bytes, bytes, int, int, int, int, str, str, str, int))
        if not all(
            len(match) == HASH_BYTES
            and 0 <= created < LATEST
            and 0 <= port < 65536
            and (not name or is_name(name))
            and _WINNERS.fullmatch(winners)
            for match, _, _, _, created, _, port, _, name, winners, _ in rows
        ):
            raise StoreError("the store is damaged: a match has an id, a date, a port, a name or winners that are none")
        return tuple(
            StoredMatch(
                match,
                genesis,
                seed,
                bool(formed),
                created,
                bool(over),
                port,
                table,
                name,
                tuple(map(int, filter(None, winners.split(",")))),
                bool(hosted),
            )
            for match, genesis, seed, formed, created, over, port, table, name, winners, hosted in rows
        )

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        try:
            self._db.execute(statement, values)
        except _FAILURES as error:
            raise StoreError(f"cannot write to the store: {error}") from error

    def _read(self, query: str, values: tuple[object, ...], types: tuple[type, ...]) -> list[tuple[Any, ...]]:
        try:
            rows = self._db.execute(query, values).fetchall()
        except _FAILURES as error:
            raise StoreError(f"cannot read the store: {error}") from error
        # SQLite keeps values of any type in any column.
        if any(tuple(map(type, row)) != types for row in rows):
            raise StoreError("the store is damaged: a column holds another type than was written")
        return rows


def copy_store(path: Path, folder: Path) -> Path:
    """Copy a store into a folder, also while another process writes it; return the path of the copy.

    The log overrides pages of the file that are written meanwhile. Only if the log is begun anew, and so gets another
    header, the two halves of the copy may not belong together. The process that holds the store must not call this:
    POSIX systems would release its lock.

    :raises StoreError: if it cannot be copied.
    """
    copy = folder / path.name
    log, copied_log = (each.with_name(f"{each.name}-wal") for each in (path, copy))
    try:
        for _ in range(_ATTEMPTS):
            begun = _header(log)
            shutil.copyfile(path, copy)
            if begun:
                shutil.copyfile(log, copied_log)
            if _header(log) == begun:
                return copy
    except OSError as error:
        raise StoreError(f"cannot copy {path}: {error}") from error
    raise StoreError(f"cannot copy {path}: it is written all the time")


def _header(log: Path) -> bytes:
    """Return the header of a write-ahead log, which changes when the log is begun anew; nothing if there is no log."""
    if not log.exists():
        return b""
    with log.open("rb") as file:
        return file.read(_LOG_HEADER)


def _places(number: int) -> tuple[int, int]:
    """Return the first place of the messages of a match, and the last.

    :raises StoreError: if no such place fits in a row: then the number was altered.
    """
    if not 0 < number < 1 << 31:
        raise StoreError("the store is damaged: the number of a match is out of range")
    return number << 32, ((number + 1) << 32) - 1


def _rules(genesis: bytes) -> str:
    """Return a word for the rules of a match."""
    try:
        return rules_word(parse_genesis(genesis).ruleset)
    except MalformedGenesisError:
        return "match"
