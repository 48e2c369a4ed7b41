"""The file of a store: opening, locking, checking, upgrading and repairing it, independent of its tables.

One process at a time locks the file and writes to it. The system releases the lock when the process dies. Other
processes can read the file meanwhile. The database has a write-ahead log with ``synchronous=FULL`` (and ``fullfsync``
on macOS), so committed data survives a crash of the process or the system and a power cut.

To read a database, SQLite writes files beside it. Where it cannot, because the disk is full or read-only, a copy is
read: in memory if the system has a memory-backed folder or the log is empty, otherwise in the folder for temporary
files.

Of the released versions, only 0.1.0 wrote another format, the first one. A database in that format is converted when it
is opened for writing, completely or not at all. Formats in between were never released and are not read.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from hashlib import sha256
from io import FileIO
from pathlib import Path
from typing import Any, Final, NamedTuple

from protocol.crypto.hashing import HASH_BYTES
from protocol.errors import Choices, ErrorCode, LocalError, NodeError
from protocol.files import check_own, is_full, own_opener, read_own
from protocol.storage.home import note_of

log = logging.getLogger(__name__)

FAILURES: Final = (sqlite3.Error, UnicodeDecodeError, OverflowError)
"""The errors that ``sqlite3`` raises. The second occurs if it cannot decode SQLite's message about a damaged schema;
the third, if a damaged number of a match makes the place of a message too large for SQLite."""
SCHEMA_VERSION: Final = 11
"""The present format. After a release, any change of the tables needs a new number."""
FIRST: Final = 1
"""The format of 0.1.0."""

_LOG_PAGES: Final = 256
"""Pages of the write-ahead log, about three hundred commits, before SQLite copies it into the file and restarts it."""
_PATIENCE: Final = 5.0
"""Seconds that a reader waits while SQLite recovers the log of a killed process."""
_BESIDE: Final = ("", "-wal", "-shm", "-journal", "-newest", "-lock", "-lock-journal")
"""The suffixes of all files that belong to a database. SQLite opens some of them by itself."""
_IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder with a new name is made there
"""The folder for files in memory, on Linux. The disk with the temporary files may be the full one."""
_READINGS: Final = 100
"""How often to read files that another process keeps changing, before giving up with an error."""
_COUNT_BYTES: Final = 8
_CHECK_BYTES: Final = 8
_NOTE_BYTES: Final = HASH_BYTES + _COUNT_BYTES + _CHECK_BYTES
_COPIES: Final = {
    "seeds": "SELECT match_key, seed FROM former_seeds",
    "matches (number, match, genesis, match_key, created, formed, over, port)": (
        "SELECT number, match, genesis, match_key, created, formed, over, port FROM former_matches"
    ),
    "messages": "SELECT (match << 32) + place, data, signature FROM former_messages",
    "choices": "SELECT match, step, text FROM former_choices",
    "addresses": "SELECT identity, host, port, seen FROM former_addresses",
}
"""For each table, the query that reads its rows from the tables of the first format."""


class HomeInUseError(NodeError):
    """Another process has this home open."""

    def __init__(self, home: Path) -> None:
        hint = "close it, or give this one a home of its own with --home DIR"
        super().__init__(ErrorCode.HOME_IN_USE, (home, " is in use by another p2pdice"), hint)


class StoreError(LocalError):
    """The store cannot be read or written: the disk is full or read-only, or the file is damaged or was altered.

    A message that was not stored must not be sent.
    """


class FullDiskError(StoreError):
    """There is no room for the data to write. The data in the store is intact."""

    hint = "make room on that disk, or choose a folder on another one with --home DIR"


class ReadOnlyError(StoreError):
    """The folder of the store cannot be written. The data in the store is intact."""

    hint = "make sure that you can write there, or choose another folder with --home DIR"


class OtherFormatError(StoreError):
    """The store has a format that this program does not read. It was not changed."""

    hint = (
        "to go on with this program, move the file away: your key and transcripts are other files, but matches, people"
        " and purse are in it"
    )


class DamagedStoreError(StoreError):
    """The file is not a store, or its data differs from what was written. An empty file raises no error."""

    hint = (
        "the file is damaged, not empty, and was left as it is: put it back from a backup, or move it away to go on"
        " without the matches, people and purse in it; your key and transcripts are other files"
    )
    choices: Choices = (("p2pdice identity restore BACKUP", "Put it back from a backup"),)


class DamagedMatchError(StoreError):
    """The stored data of one match is damaged. The rest of the store may be intact."""

    choices = (("p2pdice matches forget MATCH", "The other matches are not affected. To forget this one"),)


class DamagedPurseError(DamagedStoreError):
    """The stored data of a purse, the owner's or another player's, is damaged. The rest of the store may be intact."""

    hint = ""
    choices = (("p2pdice identity restore BACKUP --home DIR", "Put a backup into another home"),)


class Noted(NamedTuple):
    """The match that was written last."""

    match: bytes
    messages: int
    """The number of its messages that were stored at that time."""


class Note:
    """A record of the newest commit, in a file beside the database.

    If SQLite's write-ahead log is missing or damaged, SQLite silently continues with an older state. The note reveals
    this. It is written after every commit, without waiting for the disk. A killed process leaves it intact, and a power
    cut can only leave an older note, which raises no alarm. Nothing depends on the note, so errors are only logged.
    """

    def __init__(self, database: Path) -> None:
        self._path = note_of(database)
        self._file: FileIO | None = None

    def read(self) -> Noted | None:
        """Return the note; None if there is no readable one."""
        try:
            data = read_own(self._path, _NOTE_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("cannot read %s: %s", self._path, error)
            return None
        content = data[:-_CHECK_BYTES]
        if len(data) != _NOTE_BYTES or data != content + _check(content):
            return None
        return Noted(content[:HASH_BYTES], int.from_bytes(content[HASH_BYTES:]))

    def write(self, noted: Noted) -> None:
        """Record a confirmed commit."""
        content = noted.match + noted.messages.to_bytes(_COUNT_BYTES)
        try:
            if self._file is None:
                self._file = FileIO(self._path, "wb", opener=own_opener)
            self._file.seek(0)
            self._file.write(content + _check(content))
        except OSError as error:
            log.warning("cannot write %s: %s", self._path, error)

    def remove(self) -> None:
        self.close()
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _check(content: bytes) -> bytes:
    return sha256(content).digest()[:_CHECK_BYTES]


class Database:
    """An open database.

    :param make: creates the present tables in an empty database.
    :param finish: derives what the first format did not contain, once its rows are in the present tables.
    :param is_reader: whether to open the database only for reading, even while another process writes or where nothing
        can be written.
    :raises HomeInUseError: if another process holds it.
    :raises DamagedStoreError: if the file is not a database.
    :raises FullDiskError: if there is no room for it.
    :raises ReadOnlyError: if its folder cannot be written.
    :raises OtherFormatError: if this program does not read its format.
    :raises StoreError: if it cannot be opened, or is not the owner's own file.
    """

    def __init__(
        self,
        path: Path,
        make: Callable[[sqlite3.Connection], None],
        finish: Callable[[sqlite3.Connection], None],
        *,
        is_reader: bool = False,
    ) -> None:
        self.path = path
        self.note = Note(path)
        self._make = make
        self._finish = finish
        with ExitStack() as opened:
            try:
                if not is_reader:
                    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    opened.enter_context(closing(hold_file(path)))
                for ending in _BESIDE:
                    check_own(path.with_name(f"{path.name}{ending}"))
                if is_reader:
                    self.connection = _opened_to_read(path)
                else:
                    # Created here to be private from the first byte on; SQLite would apply the umask.
                    _touch(path)
                    self.connection = sqlite3.connect(path, timeout=0, isolation_level=None)
                opened.callback(lambda: self.connection.close())
                version = self._prepare_copy() if is_reader else self._prepare()
            except (OSError, *FAILURES) as error:
                raise _unusable(path, error) from error
            if (why := why_unreadable(version)) is not None:
                raise OtherFormatError(path, why)
            opened.callback(self.note.close)
            self._opened = opened.pop_all()

    def close(self) -> None:
        self._opened.close()

    def _prepare(self) -> int:
        """Create a new database or convert an old one; return the previous format."""
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=FULL")
        self.connection.execute("PRAGMA fullfsync=1")
        self.connection.execute("PRAGMA foreign_keys=1")
        version = self._convert()
        if why_unreadable(version) is None:
            self._prepare_log()
        return version

    def _prepare_copy(self) -> int:
        """Prepare for reading only: if the format is old, convert a copy in memory. Return the format found on disk."""
        version = _version(self.connection)
        if version in (0, FIRST):
            in_place, self.connection = self.connection, sqlite3.connect(":memory:", isolation_level=None)
            _copy(in_place, self.connection)
            self._convert()
        self.connection.execute("PRAGMA query_only=1")
        return version

    def _convert(self) -> int:
        """Create the tables of a new database or convert those of an old one; return the previous format."""
        self.connection.execute("BEGIN EXCLUSIVE")
        version = _version(self.connection)
        if version == 0:
            self._make(self.connection)
        elif version == FIRST:
            tables = [table.split()[0] for table in _COPIES]
            for table in tables:
                self.connection.execute(f"ALTER TABLE {table} RENAME TO former_{table}")
            self._make(self.connection)
            for table, rows in _COPIES.items():
                self.connection.execute(f"INSERT INTO {table} {rows}")
            self._finish(self.connection)
            for table in reversed(tables):  # matches refer to seeds
                self.connection.execute(f"DROP TABLE former_{table}")
        self.connection.execute("COMMIT")
        return version

    def _prepare_log(self) -> None:
        """Give the write-ahead log its full length from the start.

        A commit that extends the log must also write the file's new length to the disk, which takes about twice as
        long. So the log is filled with zeros once, and then reused from its beginning.
        """
        self.connection.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES * 4 // 5}")
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute("CREATE TABLE padding (zeros BLOB)")
        padding = "INSERT INTO padding SELECT zeroblob(page_size * ?) FROM pragma_page_size"
        self.connection.execute(padding, (_LOG_PAGES,))
        self.connection.execute("DROP TABLE padding")
        self.connection.execute("COMMIT")
        self.connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()

    def rows(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query, whose values may have any type.

        :raises StoreError: if they cannot be read.
        """
        try:
            return self.connection.execute(query, values).fetchall()
        except FAILURES as error:
            raise failure("cannot read", self.path, error) from error

    def read(self, query: str, values: tuple[object, ...], types: tuple[type, ...]) -> list[tuple[Any, ...]]:
        """Return the rows of a query, after checking that their values have these types.

        :raises StoreError: if they cannot be read, or a value has another type, which SQLite does not prevent.
        """
        rows = self.rows(query, values)
        if any(tuple(map(type, row)) != types for row in rows):
            raise DamagedStoreError("the store is damaged: a column holds another type than was written")
        return rows

    def write(self, statement: str, values: tuple[object, ...]) -> None:
        """Execute and commit a statement.

        :raises StoreError: if that fails.
        """
        try:
            self.connection.execute(statement, values)
        except FAILURES as error:
            raise failure("cannot write to", self.path, error) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit everything written in the block, or nothing if an error occurs.

        :raises StoreError: if that fails.
        """
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            yield self.connection
            self.connection.execute("COMMIT")
        except FAILURES as error:
            raise failure("cannot write to", self.path, error) from error
        finally:
            with suppress(*FAILURES):
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")

    def copy_to(self, database: sqlite3.Connection) -> None:
        """Copy everything committed so far to another database, even while a process writes more.

        :raises StoreError: if that fails.
        """
        try:
            self.connection.backup(database)
        except FAILURES as error:
            raise failure("cannot copy", self.path, error) from error


def why_unreadable(version: int) -> str | None:
    """Return why this program does not read a format, as text to follow the name of the file; None if it does."""
    if version > SCHEMA_VERSION:
        return f" was written by a newer p2pdice (format {version}); update this one"
    if version not in (0, FIRST, SCHEMA_VERSION):  # an empty file has 0
        return f" has a format that was never released (format {version}): only the program that wrote it can read it"
    return None


def hold_file(path: Path) -> sqlite3.Connection:
    """Lock a file, such as a store and with it a home, until the connection is closed or the process dies.

    The lock is an empty database beside the file, because SQLite's locks work alike on every system.

    :raises HomeInUseError: if another process holds the file.
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
        raise _unusable(lock, error) from error
    return held


def put_aside(path: Path) -> Path:
    """Rename a damaged database with its log and its note; return the new path."""
    number = 1
    while (kept := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    for ending in ("", "-wal", "-newest"):
        with suppress(FileNotFoundError):
            path.with_name(f"{path.name}{ending}").replace(kept.with_name(f"{kept.name}{ending}"))
    return kept


def put_in_place(draft: Path, path: Path) -> None:
    """Replace a database by another one, and remove the old log and note."""
    for ending in ("-wal", "-shm", "-newest"):
        path.with_name(f"{path.name}{ending}").unlink(missing_ok=True)
    draft.replace(path)


def _touch(path: Path) -> None:
    """Create a private file if it does not exist."""
    with open(path, "ab", opener=own_opener):
        pass


def _opened_to_read(path: Path) -> sqlite3.Connection:
    """Open a database for reading, or a copy in memory if it cannot be read in place. A missing one counts as empty.

    :raises sqlite3.Error: if the database cannot be read.
    :raises FullDiskError: if no folder has room for a copy.
    :raises OSError: if the database cannot be read.
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
        wal = path.with_name(f"{path.name}-wal")
        if wal.exists() and wal.stat().st_size:
            with _copied(path, wal) as copy:
                _copy(sqlite3.connect(copy), memory)
        elif path.exists():
            _copy(sqlite3.connect(f"{_uri(path, 'ro')}&immutable=1", uri=True), memory)
    except BaseException:
        memory.close()
        raise
    return memory


@contextmanager
def _copied(path: Path, wal: Path) -> Iterator[Path]:
    """Provide a copy of a database and its log, as they were at one moment, for the duration of the block.

    :raises FullDiskError: if no folder has room for them.
    :raises OSError: if they cannot be read.
    """
    contents = _at_one_moment(path, wal)
    for place in (_IN_MEMORY, None):
        with ExitStack() as stack:
            try:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=place)))
                for each, content in zip((path, wal), contents, strict=True):
                    (folder / each.name).write_bytes(content)
            except OSError:
                continue
            yield folder / path.name
            return
    full = FullDiskError("cannot read ", path, ": nothing can be written beside it, and there is no room for a copy")
    full.hint = "make room on that disk, or set TMPDIR to a folder on another one"
    raise full


def _at_one_moment(*paths: Path) -> list[bytes]:
    """Return the contents of files, all as they were at one moment. A missing file counts as empty.

    :raises OSError: if they cannot be read, or keep changing.
    """
    found = None
    for _ in range(_READINGS):
        # If two consecutive readings are equal, nothing changed in between, so they show all files at one moment.
        before, found = found, [path.read_bytes() if path.exists() else b"" for path in paths]
        if found == before:
            return found
    raise OSError(errno.EBUSY, "another process writes to it all the time", str(paths[0]))


def _uri(path: Path, mode: str) -> str:
    return f"{path.absolute().as_uri()}?mode={mode}"


def _copy(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    with closing(source):
        source.backup(target)


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _is_busy(error: Exception) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _state_of_disk(path: Path, error: Exception) -> type[StoreError] | None:
    """Return the error class if a full disk or a read-only folder makes a file unusable; otherwise None."""
    name, number = getattr(error, "sqlite_errorname", ""), getattr(error, "errno", None)
    if number in (errno.ENOSPC, errno.EDQUOT) or name == "SQLITE_FULL":
        return FullDiskError
    if number == errno.EROFS:
        return ReadOnlyError
    is_unclear = name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY"))
    if is_unclear or number == errno.EACCES:
        with suppress(OSError):
            if path.exists() and not os.access(path, os.R_OK):
                return None
            if not os.access(path.parent, os.W_OK):
                return ReadOnlyError
            if is_unclear and is_full(path.parent):
                return FullDiskError
    return None


def _unusable(path: Path, error: Exception) -> LocalError:
    return HomeInUseError(path.parent) if _is_busy(error) else failure("cannot use", path, error)


def failure(action: str, path: Path, error: Exception) -> StoreError:
    """Return the error for a failure of SQLite or of the system, distinguishing faults of the disk from faults of the
    file.

    :param action: what cannot be done with the file.
    """
    unusable = Path(getattr(error, "filename", None) or path)
    if (disk := _state_of_disk(unusable, error)) is not None:
        state = "the disk is full" if disk is FullDiskError else "its folder is read-only"
        return disk(f"{action} ", path, f": {state}")
    if isinstance(error, OSError):  # the reason says what to do
        return StoreError(f"{action} ", unusable, f": {error.strerror or error}")
    name = getattr(error, "sqlite_errorname", "")
    # A statement of this program fails with SQLITE_ERROR only if a table is missing or altered.
    is_damaged = (
        not isinstance(error, sqlite3.Error)
        or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT", "SQLITE_CONSTRAINT"))
        or name == "SQLITE_ERROR"
    )
    found = (DamagedStoreError if is_damaged else StoreError)(f"{action} ", path, f": {error}")
    if name.startswith("SQLITE_IOERR"):
        found.hint = "try again when the disk works"
    return found
