"""A store that a failing disk, another program or a person has changed: it works, or reports the damage."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from protocol.consensus.history import History
from protocol.consensus.reading import Reading
from protocol.consensus.rule import MisconductError, RejectedMessageError
from protocol.crypto.keys import MatchKey, fingerprint
from protocol.storage.database import HomeInUseError, Note, StoreError
from protocol.storage.match_names import is_name
from protocol.storage.store import Store
from protocol.wire.canonical import NotCanonicalError, Value, decode, encode
from protocol.wire.genesis import MalformedGenesisError
from protocol.wire.messages import Signed
from tests.fuzz.samples import SHORT, messages_of, world
from tests.fuzz.target import Target

FILES: Final = "files"
ROWS: Final = "rows"
IDENTITY: Final = b"i" * 32
PERSON: Final = fingerprint(IDENTITY)
COLUMNS: Final = {
    "seeds": ("match_key", "seed"),
    "matches": (
        "number",
        "match",
        "genesis",
        "match_key",
        "created",
        "formed",
        "over",
        "port",
        "table_name",
        "name",
        "winners",
    ),
    "messages": ("place", "data", "signature"),
    "choices": ("match", "step", "text"),
    "addresses": ("identity", "host", "port", "seen"),
    "meetings": ("fingerprint", "match", "name", "outline", "met"),
    "trusted": ("fingerprint", "name", "outline", "since"),
}
PLACES: Final = tuple((table, column) for table, columns in COLUMNS.items() for column in columns)


def check(data: bytes) -> None:
    """Treat ``data`` as a store file with its write-ahead log, as changes of rows, or as a store file alone."""
    try:
        value = decode(data)
    except NotCanonicalError:
        value = ()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite3"
        match value:
            case (tag, bytes() as main, bytes() as log) if tag == FILES:
                path.write_bytes(main)
                path.with_name("store.sqlite3-wal").write_bytes(log)
            case (tag, tuple() as changes) if tag == ROWS:
                path.write_bytes(crashed()[0])
                path.with_name("store.sqlite3-wal").write_bytes(crashed()[1])
                change_rows(path, changes)
            case _:
                path.write_bytes(data)
        recover(path)


def change_rows(path: Path, changes: tuple[Value, ...]) -> None:
    """Write values of any type into cells, as far as SQLite permits it."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        for change in changes:
            match change:
                case (int() as column, int() as row, (int() | bytes() | str()) as cell):
                    table, name = PLACES[column % len(PLACES)]
                    key = COLUMNS[table][0]
                    # SQLite refuses some values: a key that exists already, or a number of more than 64 bits.
                    with contextlib.suppress(sqlite3.Error, OverflowError):
                        database.execute(
                            f"UPDATE {table} SET {name} = ? WHERE {key} IN"
                            f" (SELECT {key} FROM {table} LIMIT 1 OFFSET {row % 2})",
                            (cell,),
                        )


def recover(path: Path) -> None:
    """Use a store as a restarted node does."""
    before = path.read_bytes()
    try:
        store = Store(path)
    except (StoreError, HomeInUseError) as error:
        assert str(path.parent) in str(error)
        return
    try:
        read(store)
    except StoreError as error:
        assert str(error)
    finally:
        store.close()
    assert path.stat().st_size or not before


def read(store: Store) -> None:
    """Read everything, continue every match, and write more."""
    for stored in store.matches():
        match_bytes = (stored.match, stored.genesis, stored.seed)
        assert [type(each) for each in match_bytes] == [bytes] * 3
        assert {type(each) for each in (stored.formed, stored.over)} == {bool}
        assert {type(each) for each in (stored.created, stored.port)} == {int}
        assert 0 <= stored.port < 65536
        assert len(stored.match.hex()) == 64
        assert not stored.name or is_name(stored.name)
        assert {type(each) for each in stored.winners} <= {int}
        assert MatchKey(stored.seed).public
        messages = store.messages(stored.match)
        for step, text in store.choices(stored.match).items():
            assert (type(step), type(text)) == (int, str)
        with contextlib.suppress(MalformedGenesisError, RejectedMessageError, MisconductError):
            reading = Reading(History(stored.genesis))
            for signed in messages:
                reading.add(signed)
        store.write(stored.match, messages[:1])
        assert len(store.messages(stored.match)) == len(messages) + len(messages[:1])
    for host, port in store.addresses(IDENTITY):
        assert (type(host), type(port)) == (str, int)
    for person in store.people.everybody():
        assert store.people.person(person.fingerprint).matches >= 0
        assert store.people.mismatch(PERSON, person.name)
    store.add_seed(b"k" * 32, b"s" * 32)
    store.add_match(b"m" * 32, b"genesis", b"k" * 32, 1, 7000)
    store.remember_address(IDENTITY, "192.0.2.9", 7000)


@cache
def crashed() -> tuple[bytes, bytes]:
    """Return the store file and the write-ahead log after a crash in the middle of a match."""
    played = world(SHORT[0])
    match = played.machines[0].match.history.match
    messages: tuple[Signed, ...] = messages_of(SHORT[0])[:12]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite3"
        Store(path).close()
        # Without its free pages the file is a tenth as large.
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("VACUUM")
        log = path.with_name("store.sqlite3-wal")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode=WAL")
            store = Store(Path(folder) / "other.sqlite3")
            store.database.connection.close()
            store.database.connection, store.database.note = database, Note(path)
            store.people.trust(PERSON, "Ada", 1)
            store.add_seed(MatchKey(played.seeds[0]).public, played.seeds[0])
            store.add_match(match, played.data, MatchKey(played.seeds[0]).public, 1, 7000)
            store.mark_formed(match)
            store.write(match, messages[:6])
            store.add_choice(match, 3, "stake 5")
            store.remember_address(IDENTITY, "192.0.2.1", 7000)
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            store.write(match, messages[6:])
            store.database.note.close()
            return path.read_bytes(), log.read_bytes()


def examples() -> tuple[bytes, ...]:
    main, log = crashed()
    cells: tuple[Value, ...] = (
        *((column, 0, value) for column in range(len(PLACES)) for value in (-1, "x")),
        *((column, 0, b"") for column in range(len(PLACES))),
    )
    return (
        main,
        encode((FILES, main, log)),
        encode((FILES, main, b"")),
        main.replace(b"CREATE TABLE seeds", b"CREATE TABLE \xff\x1b[2J"),
        encode((ROWS, ())),
        *(encode((ROWS, (cell,))) for cell in cells),
        b"",
    )


TARGETS = (Target("store", check, examples),)
