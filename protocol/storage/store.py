"""The store: one SQLite file per home, written before anything leaves the node.

It has a write-ahead log with ``synchronous=FULL`` (and ``fullfsync`` on macOS). When :meth:`Store.write` has returned,
its messages survive a crash of the process, the system and the power.

One process at a time has the home and writes: it holds a lock, which the system releases when the process dies. Others
can read the store meanwhile, and back it up. A store of 0.1.0 is converted when it is opened to write, as a whole or
not at all.

To read a store, SQLite writes beside it. Where it cannot, because the disk is full or read-only, a copy is read: in
memory, if the system has a folder there or the log is empty, else in the folder for temporary files.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from protocol.consensus.kinds import parse_signed
from protocol.crypto.hashing import HASH_BYTES
from protocol.errors import Choices, ErrorCode, LocalError
from protocol.files import check_own, is_full, own_opener
from protocol.limits import ADDRESSES_REMEMBERED, PLAYERS, RULES_NAMES_REMEMBERED
from protocol.storage import people, purses
from protocol.storage.match_names import calendar, day, free_name, is_name, rules_word, slug
from protocol.storage.newest import Note, Noted
from protocol.storage.people import People
from protocol.storage.purses import Purses
from protocol.storage.upgrades import FIRST, SCHEMA_VERSION, refusal, upgrade
from protocol.wire.genesis import MalformedGenesisError, parse_genesis
from protocol.wire.messages import MalformedMessageError, Signed

_LOG_PAGES: Final = 256
"""Pages of the write-ahead log, some three hundred commits. Then it is copied into the file and begun again."""

_PATIENCE: Final = 5.0
"""Seconds that a reader waits while the log of a process that was killed is read in."""

_BESIDE: Final = ("", "-wal", "-shm", "-journal", "-newest", "-lock", "-lock-journal")
"""What is added to the name of a store for each file that belongs to it. SQLite opens some of them by itself."""

_IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder with a new name is made there
"""The folder whose files are in memory, on Linux. The disk of temporary files may be the one that is full."""

_READINGS: Final = 100
"""How often files are read that another process changes meanwhile. Then it is an error."""

_FAILURES: Final = (sqlite3.Error, UnicodeDecodeError, OverflowError)
"""Errors of ``sqlite3``. The second comes if it cannot read SQLite's own complaint about a damaged schema; the third,
for the places of a match with an impossible number."""

_SCHEMA: Final = f"""
CREATE TABLE seeds (match_key BLOB PRIMARY KEY, seed BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE matches (
    number INTEGER PRIMARY KEY, match BLOB NOT NULL UNIQUE, genesis BLOB NOT NULL,
    match_key BLOB NOT NULL REFERENCES seeds,
    created INTEGER NOT NULL, formed INTEGER NOT NULL DEFAULT 0, over INTEGER NOT NULL DEFAULT 0, port INTEGER NOT NULL,
    table_name TEXT NOT NULL DEFAULT '', name TEXT NOT NULL DEFAULT '', winners TEXT NOT NULL DEFAULT '',
    host INTEGER NOT NULL DEFAULT 0, given_up INTEGER NOT NULL DEFAULT 0, void INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE messages (place INTEGER PRIMARY KEY, data BLOB NOT NULL, signature BLOB NOT NULL);
CREATE TABLE choices (
    match BLOB NOT NULL, step INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (match, step)
) WITHOUT ROWID;
CREATE TABLE addresses (
    identity BLOB NOT NULL, host TEXT NOT NULL, port INTEGER NOT NULL, seen INTEGER NOT NULL,
    PRIMARY KEY (identity, host, port)
) WITHOUT ROWID;
CREATE TABLE rules_names (
    number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, name TEXT NOT NULL, own INTEGER NOT NULL
);
{";".join((*people.SCHEMA, *purses.SCHEMA))}
"""
"""The present tables. A change of them may need another version, in :mod:`protocol.storage.upgrades`.

The place of a message is the number of its match and, in the lower 32 bits, the number of the message in it. Rows are
only added at the end and need no other index, so a turn changes the fewest pages.
"""


_COLUMNS: Final = (bytes, bytes, bytes, int, int, int, int, str, str, str, int, int, int, int)
"""What the columns of a match hold; SQLite keeps values of any type in any column."""
_CLAIM: Final = -1
"""The step of the choice that is no move: the owner has claimed the match."""
_MATCHES: Final = (
    "SELECT matches.match, genesis, seed, formed, created, over, port, table_name, name, winners, host,"
    " given_up, void, number, text FROM matches LEFT JOIN seeds USING (match_key)"
    " LEFT JOIN choices ON choices.match = matches.match AND step = -1"
)
_CLAIMED: Final = re.compile("([0-9]{1,12}) ([0-9]{1,12})")
_WINNERS: Final = re.compile("([0-9](,[0-9])*)?")


class HomeInUseError(LocalError):
    """Another process has this home open."""

    code = ErrorCode.HOME_IN_USE
    hint = "close it, or give this one a home of its own with --home DIR"


class StoreError(LocalError):
    """The store cannot be read or written: the disk is full or read-only, or the file is damaged or was altered.

    A message that was not stored must not be sent.
    """


class FullDiskError(StoreError):
    """There is no room for what is to be written. What is in the store is whole."""

    hint = "make room on that disk, or choose a folder on another one with --home DIR"


class ReadOnlyError(StoreError):
    """The folder of the store cannot be written. What is in the store is whole."""

    hint = "see that you may write there, or choose another folder with --home DIR"


class OtherFormatError(StoreError):
    """The store has a format that this program does not read. It was left as it is."""

    hint = (
        "to go on with this program, move the file away: your key and transcripts are other files, but matches, people"
        " and purse are in it"
    )


class DamagedStoreError(StoreError):
    """The file is no store, or holds something else than was written. An empty store raises no error."""

    hint = (
        "the file is damaged, not empty, and was left as it is: put it back from a backup, or move it away to go on"
        " without the matches, people and purse in it; your key and transcripts are other files"
    )
    choices: Choices = (("p2pdice identity restore BACKUP", "Put it back from a backup"),)


class DamagedMatchError(StoreError):
    """What is kept of one match is damaged. The rest of the store may be whole."""

    choices = (("p2pdice matches forget MATCH", "The other matches are not affected. To forget this one"),)


class DamagedPurseError(DamagedStoreError):
    """What is kept of a purse is damaged: the owner's, or another's. The rest of the store may be whole."""

    hint = ""
    choices = (("p2pdice identity restore BACKUP --home DIR", "Put a backup into another home"),)


class Claim(NamedTuple):
    """A match that its owner has left as claimed, because the other player was away. Nobody has signed that."""

    at: int
    """Seconds since 1970 by this machine's clock."""
    away: int
    """Seconds that the other had been away by then."""


class StoredMatch(NamedTuple):
    """A stored match, with everything needed to go on after a restart."""

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
    table_name: str = ""
    """Name of the table, as its host chose it: any text. Empty if it was not kept."""
    name: str = ""
    """A name for the owner to type; no other match of the store has it. Empty as long as the match is not formed."""
    winners: tuple[int, ...] = ()
    """Roster indices of the winners. Empty as long as the match is not over, or if they were not kept."""
    host: int = 0
    """Roster index of the host."""
    given_up: bool = False
    """The owner does not play the match, even if others have formed it."""
    void: bool = False
    """The owner has signed that the match is void, and signs nothing else in it any more."""
    claim: Claim | None = None
    """The owner has left the match, unless they have returned to it since."""
    number: int = 0
    """Counts up: of two matches, the one with the higher number was stored later."""

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

    :param is_reader: only read it, also while another process writes, or where nothing can be written.
    :raises HomeInUseError: if another process holds it.
    :raises DamagedStoreError: if the file is no store.
    :raises FullDiskError: if there is no room for it.
    :raises ReadOnlyError: if its folder cannot be written.
    :raises OtherFormatError: if this program does not read its format.
    :raises StoreError: if it cannot be opened, or is not the owner's own.
    """

    def __init__(self, path: Path, *, is_reader: bool = False) -> None:
        self._ends: dict[bytes, tuple[int, int]] = {}
        """By match: its number and the place of its next message."""
        self._path = path
        self._note = Note(path)
        self._lock: sqlite3.Connection | None = None
        try:
            if is_reader:
                _check_files(path)
                self._db = _opened_to_read(path)
            else:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._lock = hold_file(path)
                _check_files(path)
                # Created here so that it is private from its first byte on; SQLite would follow the umask.
                _touch(path)
                self._db = sqlite3.connect(path, timeout=0, isolation_level=None)
        except (OSError, *_FAILURES) as error:
            self._unlock()
            if _is_busy(error):
                raise HomeInUseError(path.parent, " is in use by another p2pdice") from None
            raise failure("cannot use", path, error) from error
        try:
            version = self._prepare_copy() if is_reader else self._prepare()
        except _FAILURES as error:
            self.close()
            if _is_busy(error):
                raise HomeInUseError(path.parent, " is in use by another p2pdice") from None
            raise failure("cannot use", path, error) from error
        if (why := refusal(version)) is not None:
            self.close()
            raise OtherFormatError(path, why)
        self.people: Final = People(self._read, self._write)
        self.purses: Final = Purses(self._read, self._transaction)
        self.loss: Final = self._find_loss()
        """Data lost before the store was opened: its log was damaged or removed, or an older file was put back."""

    @staticmethod
    def make(database: sqlite3.Connection) -> None:
        """Make an empty store of a database."""
        for statement in _SCHEMA.split(";"):
            database.execute(statement)
        database.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def copy_to(self, database: sqlite3.Connection) -> None:
        """Copy everything that is committed at this moment to another database, also while a process writes more.

        :raises StoreError: if that fails.
        """
        try:
            self._db.backup(database)
        except _FAILURES as error:
            raise failure("cannot copy", self._path, error) from error

    def _prepare(self) -> int:
        """Make a new store, or convert an old one; return the version that it had."""
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("PRAGMA fullfsync=1")
        self._db.execute("PRAGMA foreign_keys=1")
        version = self._convert()
        if refusal(version) is None:
            self._prepare_log()
        return version

    def _prepare_copy(self) -> int:
        """Convert an old store that is only read, in memory; return the version that it had."""
        version = _version(self._db)
        if version in (0, FIRST):
            in_place, self._db = self._db, sqlite3.connect(":memory:", isolation_level=None)
            with contextlib.closing(in_place):
                in_place.backup(self._db)
            self._convert()
        self._db.execute("PRAGMA query_only=1")
        return version

    def _convert(self) -> int:
        """Make the tables of a new store, or convert those of an old one; return the version that it had."""
        self._db.execute("BEGIN EXCLUSIVE")
        version = _version(self._db)
        if version == 0:
            self.make(self._db)
        elif version == FIRST:
            upgrade(self._db, self.make)
            self._name_formed()
        self._db.execute("COMMIT")
        return version

    def close(self) -> None:
        """Let go of the home."""
        self._note.close()
        self._db.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

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

        A name never changes, so a name that was printed today works tomorrow.
        """
        query = "SELECT number, created, table_name, genesis FROM matches WHERE formed AND name = ''"
        taken = {str(name) for (name,) in self._db.execute("SELECT name FROM matches").fetchall()}
        which, values = ("", ()) if match is None else (" AND match = ?", (match,))
        for number, created, table, genesis in self._db.execute(f"{query}{which} ORDER BY number", values).fetchall():
            if (type(created), type(table), type(genesis)) != (int, str, bytes):
                continue  # damaged: reading it raises the error
            name = free_name(f"{day(calendar(created))}-{slug(table) or _rules(genesis)}", taken)
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
        """Keep the seed behind a match key."""
        self._write("INSERT OR IGNORE INTO seeds VALUES (?, ?)", (match_key, seed))

    def add_match(
        self,
        match: bytes,
        genesis: bytes,
        match_key: bytes,
        created: int,
        port: int,
        table: str = "",
        host: int = 0,
    ) -> None:
        """Keep a proposed match; called before its owner signs COMMIT in it. Adding one again changes nothing.

        :param host: roster index of the host.
        """
        self._write(
            "INSERT OR IGNORE INTO matches (match, genesis, match_key, created, port, table_name, host) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (match, genesis, match_key, created, port, table, host),
        )

    def mark_given_up(self, match: bytes) -> None:
        """Note that the owner does not play the match, even if others have formed it."""
        self._write("UPDATE matches SET given_up = 1 WHERE match = ?", (match,))

    def mark_formed(self, match: bytes) -> None:
        """Note that everybody has locked the genesis: the match can be resumed and has a name from now on."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("UPDATE matches SET formed = 1 WHERE match = ?", (match,))
            self._name_formed(match)
            people.meet(self._db, match)
            self._db.execute("COMMIT")
        except _FAILURES as error:
            self._roll_back()
            raise failure("cannot write to", self._path, error) from error

    def mark_over(self, match: bytes, winners: Sequence[int] = ()) -> None:
        """Note that the match has ended and its transcript is written.

        :param winners: roster indices of the winners.
        """
        self._write(
            "UPDATE matches SET over = 1, winners = ? WHERE match = ?", (",".join(map(str, sorted(winners))), match)
        )

    def mark_void(self, match: bytes) -> None:
        """Note that the owner signs that the match is void; called before anybody can see the signature."""
        self._write("UPDATE matches SET void = 1 WHERE match = ?", (match,))

    def forget(self, match: bytes) -> None:
        """Delete everything about a match, also the seed of its keys. Nobody can return to it after that.

        A damaged one can be forgotten like any other.

        :raises StoreError: if that fails. Then everything is as it was.
        """
        number = self._number(match)
        try:
            self._db.execute("BEGIN IMMEDIATE")
            keys = self._db.execute("SELECT match_key FROM matches WHERE number = ?", (number,)).fetchall()
            with contextlib.suppress(StoreError):  # a number that is none has no messages
                self._db.execute("DELETE FROM messages WHERE place BETWEEN ? AND ?", _places(number))
            self._db.execute("DELETE FROM choices WHERE match = ?", (match,))
            self._db.execute("DELETE FROM meetings WHERE match = ?", (number,))
            self._db.execute("DELETE FROM matches WHERE number = ?", (number,))
            for key in keys:  # proposals of one table share a seed
                self._db.execute(
                    "DELETE FROM seeds WHERE match_key = ? AND match_key NOT IN (SELECT match_key FROM matches)", key
                )
            self._db.execute("COMMIT")
            self._ends.pop(match, None)
            self._forget_note(match)
        except _FAILURES as error:
            self._roll_back()
            raise failure("cannot write to", self._path, error) from error

    def add_choice(self, match: bytes, step: int, text: str) -> None:
        """Keep a choice of the owner that others do not know yet; called before anything that depends on it is sent."""
        self._write("INSERT OR REPLACE INTO choices VALUES (?, ?, ?)", (match, step, text))

    def claim(self, match: bytes, claim: Claim) -> None:
        """Note that the owner has left a match as claimed."""
        self.add_choice(match, _CLAIM, f"{claim.at} {claim.away}")

    def take_claim_back(self, match: bytes) -> None:
        """Note that the owner is back in a match."""
        self._write("DELETE FROM choices WHERE match = ? AND step = ?", (match, _CLAIM))

    def choices(self, match: bytes) -> dict[int, str]:
        """Return the owner's choices of a match that others may not know yet, by step."""
        query = "SELECT step, text FROM choices WHERE match = ? AND step >= 0 ORDER BY step"
        return dict(self._read(query, (match,), (int, str)))

    def remember_address(self, identity: bytes, host: str, port: int) -> None:
        """Keep an address under which an identity was reached just now; the newest few of each are kept."""
        # Counted, not dated: after a clock was set back, the newest address would count as the oldest.
        self._write(
            "INSERT OR REPLACE INTO addresses "
            "SELECT ?1, ?2, ?3, coalesce(max(seen), 0) + 1 FROM addresses WHERE identity = ?1",
            (identity, host, port),
        )
        self._write(
            "DELETE FROM addresses WHERE identity = ? AND (host, port) NOT IN "
            "(SELECT host, port FROM addresses WHERE identity = ? ORDER BY seen DESC, host, port LIMIT ?)",
            (identity, identity, ADDRESSES_REMEMBERED),
        )

    def addresses(self, identity: bytes) -> tuple[tuple[str, int], ...]:
        """Return (host, port) under which ``identity`` was reached before, newest first."""
        query = "SELECT host, port FROM addresses WHERE identity = ? ORDER BY seen DESC, host, port"
        return tuple(self._read(query, (identity,), (str, int)))

    def name_rules(self, digest: bytes, name: str) -> None:
        """Keep what the owner calls the house rules with this hash, instead of an earlier name."""
        self._write("INSERT OR REPLACE INTO rules_names (hash, name, own) VALUES (?, ?, 1)", (digest, name))

    def learn_rules_name(self, digest: bytes, name: str) -> None:
        """Keep what somebody else calls the house rules with this hash, unless the owner has named them; the newest
        such names are kept."""
        self._write(
            "INSERT INTO rules_names (hash, name, own) VALUES (?, ?, 0) "
            "ON CONFLICT (hash) DO UPDATE SET name = excluded.name WHERE NOT own",
            (digest, name),
        )
        self._write(
            "DELETE FROM rules_names WHERE NOT own AND number NOT IN "
            "(SELECT number FROM rules_names WHERE NOT own ORDER BY number DESC LIMIT ?)",
            (RULES_NAMES_REMEMBERED,),
        )

    def rules_names(self, *, own: bool = False) -> dict[bytes, str]:
        """Return the names of house rules by the hash of each: any text.

        :param own: only those that the owner has given.
        """
        query = "SELECT hash, name FROM rules_names WHERE own >= ?"
        return dict(self._read(query, (int(own),), (bytes, str)))

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
            raise failure("cannot write to", self._path, error) from error

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
            raise DamagedStoreError(f"the store is damaged: {error}") from None

    def _end(self, match: bytes) -> tuple[int, int]:
        """Return the number of a match and the place of its next message."""
        if match not in self._ends:
            number = self._number(match)
            first, last = _places(number)
            newest = "SELECT place FROM messages WHERE place BETWEEN ? AND ? ORDER BY place DESC LIMIT 1"
            places = self._read(newest, (first, last), (int,)) or [(first - 1,)]
            if places[0][0] == last:
                raise DamagedStoreError("the store is damaged: a message number is out of range")
            self._ends[match] = number, places[0][0] + 1 - first
        return self._ends[match]

    def _number(self, match: bytes) -> int:
        rows = self._read("SELECT number FROM matches WHERE match = ?", (match,), (int,))
        if not rows:
            raise StoreError("the store does not know the match")
        return int(rows[0][0])

    def name(self, match: bytes) -> str:
        """Return the name of a match; empty if it has none, or is not kept here."""
        return next((name for (name,) in self._read("SELECT name FROM matches WHERE match = ?", (match,), (str,))), "")

    def matches(self) -> tuple[StoredMatch, ...]:
        """Return the matches that were formed or proposed; formed ones first, of each kind the newest first.

        One that is damaged comes without a genesis, as if it were over: it can only be forgotten.

        :raises StoreError: if the store cannot be read, or a match has no id.
        """
        return tuple(map(_stored, self._rows(f"{_MATCHES} ORDER BY formed DESC, number DESC", ())))

    def match(self, match: bytes) -> StoredMatch | None:
        """Return a match by its id, as :meth:`matches` does; None if it is not kept here.

        :raises StoreError: if the store cannot be read.
        """
        return next(map(_stored, self._rows(f"{_MATCHES} WHERE matches.match = ?", (match,))), None)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit what is written in the block, all of it or nothing.

        :raises StoreError: if that fails.
        """
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db
            self._db.execute("COMMIT")
        except _FAILURES as error:
            raise failure("cannot write to", self._path, error) from error
        finally:
            self._roll_back()

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        try:
            self._db.execute(statement, values)
        except _FAILURES as error:
            raise failure("cannot write to", self._path, error) from error

    def _rows(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query, values).fetchall()
        except _FAILURES as error:
            raise failure("cannot read", self._path, error) from error

    def _read(self, query: str, values: tuple[object, ...], types: tuple[type, ...]) -> list[tuple[Any, ...]]:
        rows = self._rows(query, values)
        # SQLite keeps values of any type in any column.
        if any(tuple(map(type, row)) != types for row in rows):
            raise DamagedStoreError("the store is damaged: a column holds another type than was written")
        return rows


def _stored(row: Sequence[Any]) -> StoredMatch:
    """Return the match of a row.

    :raises StoreError: if it has no id.
    """
    *row, claim = row
    match, genesis, seed, formed, created, over, port, table, name, winners, host, given_up, void, number = row
    if type(match) is not bytes or len(match) != HASH_BYTES:
        raise DamagedStoreError("the store is damaged: the id of a match is invalid")
    if (
        tuple(map(type, row)) != _COLUMNS
        or not 0 <= port < 65536
        or not 0 <= host < PLAYERS
        or (name and not is_name(name))
        or not _WINNERS.fullmatch(winners)
    ):
        return StoredMatch(match, b"", b"", formed=bool(formed), created=0, over=True, port=0, number=number)
    authors = tuple(map(int, filter(None, winners.split(","))))
    times = bool(formed), calendar(created), bool(over)
    claimed = _CLAIMED.fullmatch(claim) if isinstance(claim, str) and not over else None
    marks = bool(given_up), bool(void), Claim(*map(int, claimed.groups())) if claimed is not None else None
    return StoredMatch(match, genesis, seed, *times, port, table, name, authors, host, *marks, number)


def hold_file(path: Path) -> sqlite3.Connection:
    """Hold a file, such as a store and with it a home, until the connection is closed or the process dies.

    Two processes cannot lock one database, which is the same on every system. So an empty one beside the file is the
    lock.

    :raises HomeInUseError: if another process holds it.
    :raises StoreError: if the lock cannot be used.
    """
    lock = path.with_name(f"{path.name}-lock")
    try:
        check_own(lock.with_name(f"{lock.name}-journal"))
        _touch(lock)
        held = sqlite3.connect(lock, timeout=0, isolation_level=None)
        try:
            held.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error:
            held.close()
            raise
    except (OSError, sqlite3.Error) as error:
        if _is_busy(error):
            raise HomeInUseError(path.parent, " is in use by another p2pdice") from None
        raise failure("cannot use", lock, error) from error
    return held


def _check_files(path: Path) -> None:
    """Check that all files of a store are the owner's own.

    :raises OSError: if one of them is not.
    """
    for ending in _BESIDE:
        check_own(path.with_name(f"{path.name}{ending}"))


def _touch(path: Path) -> None:
    """Create a private file, if it is not there."""
    with open(path, "ab", opener=own_opener):
        pass


def _opened_to_read(path: Path) -> sqlite3.Connection:
    """Open a database to read it; if it cannot be read where it is, a copy in memory. One that is missing is empty.

    :raises sqlite3.Error: if it cannot be read.
    :raises FullDiskError: if no folder has room for a copy.
    :raises OSError: if it cannot be read.
    """
    if path.exists():
        database = sqlite3.connect(_uri(path, "rw"), timeout=_PATIENCE, isolation_level=None, uri=True)
        try:
            _version(database)
        except sqlite3.OperationalError as error:
            database.close()
            if _is_busy(error) or _state_of_disk(path, error) is None:
                raise
        except BaseException:
            database.close()
            raise
        else:
            return database
    memory = sqlite3.connect(":memory:", isolation_level=None)
    try:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            with _copied(path, log) as copy:
                _copy(sqlite3.connect(copy), memory)
        elif path.exists():
            _copy(sqlite3.connect(f"{_uri(path, 'ro')}&immutable=1", uri=True), memory)
    except BaseException:
        memory.close()
        raise
    return memory


@contextlib.contextmanager
def _copied(path: Path, log: Path) -> Iterator[Path]:
    """Copy a store and its log, as they were at one moment, for as long as the block lasts.

    :raises FullDiskError: if no folder has room for them.
    :raises OSError: if they cannot be read.
    """
    contents = _at_one_moment(path, log)
    for place in (_IN_MEMORY, None):
        with contextlib.ExitStack() as stack:
            try:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=place)))
                for each, content in zip((path, log), contents, strict=True):
                    (folder / each.name).write_bytes(content)
            except OSError:
                continue
            yield folder / path.name
            return
    full = FullDiskError("cannot read ", path, ": nothing can be written beside it, and there is no room for a copy")
    full.hint = "make room on that disk, or set TMPDIR to a folder on another one"
    raise full


def _at_one_moment(*paths: Path) -> list[bytes]:
    """Return the contents of files, all as they were at one moment. One that is missing is empty.

    :raises OSError: if they cannot be read, or change all the time.
    """
    found = None
    for _ in range(_READINGS):
        # If two readings in a row are equal, this is what all files held between them.
        before, found = found, [path.read_bytes() if path.exists() else b"" for path in paths]
        if found == before:
            return found
    raise OSError(errno.EBUSY, "another process writes to it all the time", str(paths[0]))


def _uri(path: Path, mode: str) -> str:
    return f"{path.absolute().as_uri()}?mode={mode}"


def _copy(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    with contextlib.closing(source):
        source.backup(target)


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _is_busy(error: Exception) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _state_of_disk(path: Path, error: Exception) -> type[StoreError] | None:
    """Return the error for a full disk or a read-only folder, if a file cannot be used because of it."""
    name, number = getattr(error, "sqlite_errorname", ""), getattr(error, "errno", None)
    if number in (errno.ENOSPC, errno.EDQUOT) or name == "SQLITE_FULL":
        return FullDiskError
    if number == errno.EROFS:
        return ReadOnlyError
    is_unclear = name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY"))
    if is_unclear or number == errno.EACCES:
        with contextlib.suppress(OSError):
            if path.exists() and not os.access(path, os.R_OK):
                return None
            if not os.access(path.parent, os.W_OK):
                return ReadOnlyError
            if is_unclear and is_full(path.parent):
                return FullDiskError
    return None


def failure(action: str, path: Path, error: Exception) -> StoreError:
    """Return the error for a failure of SQLite or of the system: is it the disk, or the file?

    :param action: what cannot be done with the file.
    """
    unusable = Path(getattr(error, "filename", None) or path)
    if (disk := _state_of_disk(unusable, error)) is not None:
        state = "the disk is full" if disk is FullDiskError else "its folder is read-only"
        return disk(f"{action} ", path, f": {state}")
    if isinstance(error, OSError):  # the reason says what to do
        return StoreError(f"{action} ", unusable, f": {error.strerror or error}")
    name = getattr(error, "sqlite_errorname", "")
    # A statement that this program wrote fails as such if a table is missing, or is another one.
    is_damaged = (
        not isinstance(error, sqlite3.Error)
        or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT", "SQLITE_CONSTRAINT"))
        or name == "SQLITE_ERROR"
    )
    found = (DamagedStoreError if is_damaged else StoreError)(f"{action} ", path, f": {error}")
    if name.startswith("SQLITE_IOERR"):
        found.hint = "try again when the disk works"
    return found


def _places(number: int) -> tuple[int, int]:
    """Return the first place of the messages of a match, and the last.

    :raises StoreError: if these places fit in no row: then the number was altered.
    """
    if not 0 < number < 1 << 31:
        raise DamagedStoreError("the store is damaged: the number of a match is out of range")
    return number << 32, ((number + 1) << 32) - 1


def _rules(genesis: bytes) -> str:
    """Return a word for the rules of a match."""
    try:
        return rules_word(parse_genesis(genesis).ruleset)
    except MalformedGenesisError:
        return "match"
