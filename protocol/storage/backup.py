"""Backups: one file with the identity key of a home and the contents of its store.

A backup is an SQLite database. It has the rows of a store as they were at one moment, copied by SQLite's own backup
function even while a node writes, and an unchanged copy of the key file, which stays protected by its passphrase if it
has one.

A backup from elsewhere can be anything that SQLite accepts as a database. So its tables must be defined, word for word,
as this program defines them. Then SQLite computes nothing when it reads them, and reads each page only a few times.

A backup contains no unfinished matches. An owner who resumed one from an outdated backup, or on two machines at once,
could sign two messages for one step: equivocation, which looks like cheating. As an unfinished match is left out
together with its match key and seed, nobody can sign anything in it; only the home itself can resume it.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from protocol.crypto.keys import (
    KeyFileError,
    WrongPassphraseError,
    is_protected,
    read_key,
    read_private,
    replace_key_file,
)
from protocol.errors import LocalError
from protocol.files import read_outside
from protocol.limits import BACKUP, BACKUP_OPERATIONS, BACKUP_VALUE, KEY_FILE_BYTES
from protocol.storage import archive
from protocol.storage.database import (
    SCHEMA_VERSION,
    DamagedStoreError,
    StoreError,
    failure,
    hold_file,
    put_aside,
    put_in_place,
    why_unreadable,
)
from protocol.storage.home import STORE_FILE, Home
from protocol.storage.match_names import calendar
from protocol.storage.store import Store, make_tables

APPLICATION: Final = 0x70326469
"""The SQLite application id in the header of every backup: ``p2di``."""
_TABLE: Final = "CREATE TABLE backup (key BLOB NOT NULL, made INTEGER NOT NULL, digest BLOB NOT NULL)"
"""The only table in addition to those of a store. The digest covers everything else."""
_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_LENGTH: BACKUP_VALUE,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 10_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 20,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
}
"""Limits for SQLite while it reads the definitions, which is before they can be compared."""
_KEY_MARKS: Final = (b"-----BEGIN ", b"p2pdice argon2id ")
"""The beginnings of key files."""


class BackupError(LocalError):
    """A backup cannot be made or restored. The message gives the reason. Nothing was changed."""


class Backup(NamedTuple):
    """The contents of a backup, or of a key file alone."""

    key: bytes
    """The contents of the key file."""
    made: int | None
    """When the backup was made, in seconds since 1970; None for a key file."""
    matches: int
    people: int
    has_purse: bool
    """Whether the backup contains a purse, even an empty one."""

    @property
    def is_protected(self) -> bool:
        return is_protected(self.key)


class Restored(NamedTuple):
    """The changes that a restore has made to a home."""

    former_key: Path | None
    """Where the previous key is kept; None if there was none."""
    former_store: Path | None
    """Where the previous, damaged store is kept; None if there was none."""
    has_store: bool
    """Whether the home's store now comes from the backup."""


def back_up(home: Home, path: Path) -> Backup:
    """Write a backup of a home to a new file, even while a node uses the home; return its contents.

    :raises FileExistsError: if the file already exists; it is not changed.
    :raises KeyFileError: if there is no trustworthy key.
    :raises StoreError: if the store cannot be read or is damaged.
    :raises OSError: if the file cannot be written.
    """
    key = read_private(home.identity)
    # Created now, so that no file that appears in the meantime is overwritten.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            draft = Path(folder) / STORE_FILE
            draft.touch(mode=0o600)
            with closing(sqlite3.connect(draft, isolation_level=None)) as database:
                _make(database)
                if home.store.exists():
                    copy = Path(folder) / "copy"
                    copy.touch(mode=0o600)
                    with archive.read_store(home) as store, closing(sqlite3.connect(copy)) as whole:
                        store.database.copy_to(whole)
                        _check(whole, home.store)
                    _take_rows(database, copy)
                _drop_unfinished(database)
                counts = _count(database)
                now = int(time.time())
                database.execute("INSERT INTO backup VALUES (?, ?, ?)", (key, now, _digest(database, key)))
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            draft.replace(path)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, sqlite3.Error):
            raise failure("cannot back up", home.store, error) from error
        raise
    return Backup(key, now, *counts)


def _drop_unfinished(database: sqlite3.Connection) -> None:
    """Delete the matches that are not over from a store of the present format."""
    database.execute("PRAGMA journal_mode=DELETE")
    database.execute("BEGIN")
    database.execute("DELETE FROM matches WHERE NOT over OR typeof(over) != 'integer'")
    numbers = "SELECT number FROM matches"
    database.execute(f"DELETE FROM messages WHERE place >> 32 NOT IN ({numbers})")  # noqa: S608 - no value in it
    database.execute("DELETE FROM choices WHERE match NOT IN (SELECT match FROM matches)")
    database.execute("DELETE FROM seeds WHERE match_key NOT IN (SELECT match_key FROM matches)")
    # Keep the meetings in those matches, under negative numbers lower than any in use. A restored home numbers its
    # matches from 1 again, so no future match gets such a number.
    ((lowest,),) = database.execute("SELECT min(0, coalesce(min(match), 0)) FROM meetings").fetchall()
    former = f"match > 0 AND typeof(match) = 'integer' AND match NOT IN ({numbers})"
    database.execute(f"UPDATE meetings SET match = ? - match WHERE {former}", (lowest,))  # noqa: S608
    database.execute("COMMIT")
    database.execute("VACUUM")  # deleted seeds could still be read from their former pages


def _count(database: sqlite3.Connection) -> tuple[int, int, bool]:
    """Return the number of matches and of people, and whether there is a purse."""
    people = "SELECT COUNT(*) FROM (SELECT fingerprint FROM meetings UNION SELECT fingerprint FROM trusted)"
    ((matches,),) = database.execute("SELECT COUNT(*) FROM matches").fetchall()
    ((known,),) = database.execute(people).fetchall()
    purses = database.execute("SELECT 1 FROM purses LIMIT 1").fetchall()
    return matches, known, bool(purses)


def _digest(database: sqlite3.Connection, key: bytes) -> bytes:
    """Return the hash of a key and of all tables except ``backup``."""
    content = sha256(key)
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'backup' ORDER BY name"
    for (table,) in database.execute(tables).fetchall():
        columns = [name for (name,) in database.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        content.update(ascii((table, columns)).encode())
        name, order = table.replace('"', '""'), ", ".join(map(str, range(1, len(columns) + 1)))
        for row in database.execute(f'SELECT * FROM "{name}" ORDER BY {order}'):  # noqa: S608 - in quotes
            content.update(ascii(row).encode())
    return content.digest()


def _check(database: sqlite3.Connection, path: Path) -> None:
    """Check all pages of a database.

    :raises DamagedStoreError: if it is damaged.
    """
    ((found,),) = database.execute("PRAGMA quick_check(1)").fetchall()
    if found != "ok":
        raise DamagedStoreError(path, f" is damaged: {found}")


def restore(home: Home, path: Path) -> Restored:
    """Give a home the key of a backup or key file; and the store of the backup, unless the home's store has contents.

    The previous key is kept beside the new one, and so is a damaged store.

    :raises BackupError: if the file is not a valid backup or key file.
    :raises HomeInUseError: if a process uses the home.
    :raises KeyFileError: if the home has a key that cannot be trusted.
    :raises StoreError: if the home's store cannot be read, but is not damaged.
    :raises OSError: if the home cannot be written.
    """
    backup = look(path)
    home.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if home.store.exists():
        with suppress(DamagedStoreError):
            Store(home.store).close()  # converts a store of 0.1.0
    with closing(hold_file(home.store)), tempfile.TemporaryDirectory(prefix=".restore.", dir=home.path) as folder:
        is_damaged, remembers = _condition(home)
        draft = None
        if backup.made is not None and not remembers:
            draft = _make_store(path, Path(folder))
            if home.store.exists() and not is_damaged:
                _take_trusted(home.store, draft)
        # The key is replaced first, because that fails if the home's key cannot be trusted.
        former_key = replace_key_file(home.identity, backup.key)
        former_store = put_aside(home.store) if is_damaged else None
        if draft is not None:
            put_in_place(draft, home.store)
        return Restored(former_key, former_store, draft is not None)


def look(path: Path) -> Backup:
    """Return the contents of a backup or a key file.

    :raises BackupError: if it is neither, is damaged, or cannot be read.
    :raises OSError: if it cannot be read.
    """
    try:
        beginning = read_outside(path, KEY_FILE_BYTES)
    except OSError as error:
        raise BackupError(path, f" cannot be read: {error.strerror or error}") from None
    if beginning.startswith(_KEY_MARKS):
        _require_key(beginning, path)
        return Backup(beginning, None, 0, 0, has_purse=False)
    with _reading(path), closing(_opened(path)) as found:
        _check(found, path)
        ((key, made, digest),) = found.execute("SELECT * FROM backup LIMIT 1").fetchall() or [(b"", 0, b"")]
        if type(key) is not bytes or type(made) is not int or len(key) > KEY_FILE_BYTES:
            raise BackupError(path, " holds no key")
        if digest != _digest(found, key):
            raise BackupError(path, " is damaged: not everything in it is as it was written")
        _require_key(key, path)
        return Backup(key, calendar(made), *_count(found))


def _opened(path: Path) -> sqlite3.Connection:
    """Open a backup, having read only its header and the definitions of its tables.

    :raises BackupError: if it is too large, has another format, or its tables differ from those that this program
        writes.
    :raises sqlite3.Error: if it is not a database.
    """
    if path.stat().st_size > BACKUP:
        raise BackupError(path, f" is longer than {BACKUP // 2**20} MiB, so it is no backup of p2pdice")
    found = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        for kind, most in _LIMITS.items():
            found.setlimit(kind, most)
        found.set_progress_handler(lambda: True, BACKUP_OPERATIONS)  # aborts a statement that takes more
        ((application,),) = found.execute("PRAGMA application_id").fetchall()
        ((version,),) = found.execute("PRAGMA user_version").fetchall()
        if application == APPLICATION and (why := why_unreadable(version)) is not None:
            raise BackupError(path, why)
        with closing(sqlite3.connect(":memory:")) as own:
            _make(own)
            written = _schema(own)
        if (application, version, _schema(found)) != (APPLICATION, SCHEMA_VERSION, written):
            raise BackupError(path, " is no backup of p2pdice")
        found.set_progress_handler(None, 0)
    except BaseException:
        found.close()
        raise
    return found


def _make(database: sqlite3.Connection) -> None:
    database.execute(f"PRAGMA application_id={APPLICATION}")
    make_tables(database)
    database.execute(_TABLE)


def _schema(database: sqlite3.Connection) -> list[tuple[object, ...]]:
    """Return the definitions of everything in a database."""
    return sorted(database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall(), key=repr)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn every failure to read a backup into a :class:`BackupError`."""
    try:
        yield
    except (sqlite3.Error, StoreError, UnicodeDecodeError, OverflowError) as error:
        cause = error.parts if isinstance(error, StoreError) else (str(error),)
        raise BackupError(path, " is no backup, or it is damaged: ", *cause) from None


def _make_store(path: Path, folder: Path) -> Path:
    """Make a home's store from a backup, in ``folder``; return its path.

    :raises BackupError: if its rows violate a constraint, or the file has changed meanwhile.
    """
    copy, draft = folder / "copy", folder / STORE_FILE
    for each in (copy, draft):
        each.touch(mode=0o600)
    shutil.copyfile(path, copy)
    try:
        look(copy)
    except BackupError as error:  # name the original file
        raise BackupError(*(path if part == copy else part for part in error.parts)) from None
    with _reading(path), closing(sqlite3.connect(draft, isolation_level=None)) as database:
        make_tables(database)
        _take_rows(database, copy)
        _drop_unfinished(database)
    return draft


def _take_rows(database: sqlite3.Connection, path: Path) -> None:
    """Fill the tables of a store with the rows of another store of the same format."""
    tables = (
        "SELECT tables.name, group_concat(columns.name) FROM sqlite_schema AS tables,"
        " pragma_table_info(tables.name) AS columns"
        " WHERE tables.type = 'table' AND tables.name != 'backup' GROUP BY tables.name"
    )
    present = database.execute(tables).fetchall()
    database.execute("ATTACH ? AS other", (str(path),))
    database.execute("BEGIN")
    for table, columns in present:
        database.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM other.{table}")  # noqa: S608
    database.execute("COMMIT")
    database.execute("DETACH other")


def _require_key(key: bytes, path: Path) -> None:
    try:
        read_key(key, None, path)
    except WrongPassphraseError:
        pass  # the passphrase is asked for when the key is used
    except KeyFileError:
        raise BackupError(path, " holds no key that can be read") from None


def _condition(home: Home) -> tuple[bool, bool]:
    """Return whether a home's store is damaged, and whether it has contents to keep. The caller has locked the home."""
    if not home.store.exists():
        return False, False
    try:
        with closing(Store(home.store, is_reader=True)) as store:
            return False, remembers(store)
    except DamagedStoreError:
        return True, False


def remembers(store: Store) -> bool:
    """Return whether a store contains anything besides trusted keys, so that a backup must not replace it.

    People and matches are always read, so that damage to them is noticed.

    :raises StoreError: if the store cannot be read or is damaged.
    """
    people = store.people.everybody()
    return bool(store.matches()) or bool(store.purses.matches()) or any(person.matches for person in people)


def _take_trusted(store: Path, draft: Path) -> None:
    """Copy the keys that the owner trusts here into the store made from a backup."""
    with (
        closing(Store(store, is_reader=True)) as here,
        closing(sqlite3.connect(draft, isolation_level=None)) as database,
    ):
        rows = here.people.trusted()
        database.executemany("INSERT OR IGNORE INTO trusted VALUES (?, ?, ?, ?)", rows)
