"""A backup is a snapshot of a home, even of a home in use, without any match that could be resumed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from p2pdice.rulesets import PRESETS
from protocol.crypto.keys import Identity, KeyFileError, MatchKey, WrongPassphraseError, fingerprint
from protocol.limits import BACKUP
from protocol.node.purse import PurseKeeper
from protocol.storage import backup
from protocol.storage.backup import BackupError
from protocol.storage.database import DamagedStoreError, HomeInUseError
from protocol.storage.home import Home
from protocol.storage.purses import OwnPurse
from protocol.storage.store import Store
from protocol.wire.genesis import match_id
from protocol.wire.purses import Purse, loss
from tests.protocol.test_store import message
from tests.simulation.world import IDENTITIES, genesis

FINISHED, FINISHED_SEEDS = genesis(PRESETS["classic"], 3, b"finished")
RUNNING, RUNNING_SEEDS = genesis(PRESETS["classic"], 2, b"running")
OWNER = IDENTITIES[FINISHED.roster[0].join.identity]
ZOE = fingerprint(b"z" * 32)


def fill(store: Store) -> None:
    for made, seeds in ((FINISHED, FINISHED_SEEDS), (RUNNING, RUNNING_SEEDS)):
        match, key = match_id(made.encoded()), MatchKey(seeds[0]).public
        if any(each.match == match for each in store.matches()):
            continue
        store.add_seed(key, seeds[0])
        store.add_match(match, made.encoded(), key, 1_700_000_000, 7000, "Friday")
        store.mark_formed(match)
        store.write(match, [message(step) for step in range(5)])
    store.add_choice(match_id(RUNNING.encoded()), 4, "3x5")
    store.mark_over(match_id(FINISHED.encoded()), (1,))


def filled(folder: Path) -> Home:
    """Make a home with a key, a finished match and an unfinished one."""
    made = Home(folder / "home")
    with closing(Store(made.store)) as store:
        fill(store)
    OWNER.save(made.identity)
    return made


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return filled(tmp_path)


def people(home: Home) -> list[tuple[str, int]]:
    with closing(Store(home.store)) as store:
        return sorted((each.fingerprint, each.matches) for each in store.people.everybody())


def test_a_home_is_restored_with_its_key_its_known_players_and_its_finished_matches(home: Home, tmp_path: Path) -> None:
    made = backup.back_up(home, tmp_path / "backup")
    assert (made.matches, made.is_protected) == (1, False)
    new = Home(tmp_path / "new")
    assert backup.restore(new, tmp_path / "backup") == (None, None, True)
    assert Identity.load(new.identity).public == OWNER.public
    assert people(new) == people(home)
    with closing(Store(home.store)) as store, closing(Store(new.store)) as restored:
        (finished,) = (each for each in store.matches() if each.over)
        assert restored.matches() == (finished,)
        assert restored.messages(finished.match) == store.messages(finished.match)
        met = sum(each.matches for each in store.people.everybody())
        fill(restored)  # new match numbers must not collide with the numbers in restored meetings
        assert sum(each.matches for each in restored.people.everybody()) == met + 1


def test_meetings_add_up_across_repeated_restores(tmp_path: Path) -> None:
    """Each restored home numbers its matches from 1 again. None of the matches had ended when it was backed up."""
    home = Home(tmp_path / "home-0")
    Identity.load_or_create(home.path)
    for count in range(1, 4):
        made, seeds = genesis(PRESETS["classic"].with_options({"dice": str(count)}), 2, b"the same two")
        match, key = match_id(made.encoded()), MatchKey(seeds[0]).public
        with closing(Store(home.store)) as store:
            store.add_seed(key, seeds[0])
            store.add_match(match, made.encoded(), key, 1_700_000_000, 7000)
            store.mark_formed(match)
        backup.back_up(home, tmp_path / f"backup-{count}")
        home = Home(tmp_path / f"home-{count}")
        backup.restore(home, tmp_path / f"backup-{count}")
        assert [matches for _, matches in people(home)] == [count]


def test_nothing_of_an_unfinished_match_is_in_a_backup(home: Home, tmp_path: Path) -> None:
    """Not even in unused pages of the SQLite file."""
    backup.back_up(home, tmp_path / "backup")
    content = (tmp_path / "backup").read_bytes()
    assert FINISHED_SEEDS[0] in content
    assert RUNNING_SEEDS[0] not in content
    assert RUNNING.encoded() not in content
    backup.restore(Home(tmp_path / "new"), tmp_path / "backup")
    assert RUNNING_SEEDS[0] not in Home(tmp_path / "new").store.read_bytes()


def test_a_backup_of_a_home_in_use_has_all_committed_data(home: Home, tmp_path: Path) -> None:
    with closing(Store(home.store)) as store:
        match = match_id(FINISHED.encoded())
        for count in range(3):
            store.write(match, [message(count + 5)])
            backup.back_up(home, tmp_path / f"backup-{count}")
            new = Home(tmp_path / f"new-{count}")
            backup.restore(new, tmp_path / f"backup-{count}")
            with closing(Store(new.store)) as restored:
                assert len(restored.messages(match)) == 6 + count


def test_a_backup_keeps_the_passphrase_of_the_key(home: Home, tmp_path: Path) -> None:
    home.identity.unlink()
    OWNER.save(home.identity, "correct horse")
    assert backup.back_up(home, tmp_path / "backup").is_protected
    new = Home(tmp_path / "new")
    backup.restore(new, tmp_path / "backup")
    with pytest.raises(WrongPassphraseError):
        Identity.load(new.identity)
    assert Identity.load(new.identity, "correct horse").public == OWNER.public


def test_a_backup_overwrites_no_file(home: Home, tmp_path: Path) -> None:
    (tmp_path / "backup").write_text("mine")
    with pytest.raises(FileExistsError):
        backup.back_up(home, tmp_path / "backup")
    assert (tmp_path / "backup").read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no mode bits")
def test_no_other_account_can_read_a_backup_or_a_restored_home(home: Home, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        backup.back_up(home, tmp_path / "backup")
        backup.restore(Home(tmp_path / "new"), tmp_path / "backup")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "backup").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()} == {0o600}


def test_restoring_into_a_home_with_data_keeps_its_store_and_its_former_key(home: Home, tmp_path: Path) -> None:
    backup.back_up(home, tmp_path / "backup")
    other = Home(tmp_path / "other")
    Identity.load_or_create(other.path)
    before = other.identity.read_bytes()
    with closing(Store(other.store)) as store:
        fill(store)
        for match in store.matches():
            if match.over:
                store.forget(match.match)
        store.people.trust(ZOE, "Zoe", 1)
    known = people(other)
    restored = backup.restore(other, tmp_path / "backup")
    assert not restored.has_store
    assert restored.former_key is not None
    assert restored.former_key.read_bytes() == before
    assert Identity.load(other.identity).public == OWNER.public
    assert people(other) == known


def lose(store: Store, bet: int) -> Purse:
    """Record a lost bet in the owner's purse, and return the purse."""
    purse = PurseKeeper(store, OWNER.public, lambda _: None).own.purse.with_record(loss(bytes(32), bet, 0))
    store.purses.bind(OwnPurse(purse), bytes(32), [(bytes(32), 0, 0, b"")])
    return purse


def test_a_trusted_player_is_still_trusted_after_a_restore(home: Home, tmp_path: Path) -> None:
    """A home that trusted one player once did not get its purse restored, so the owner had a newcomer's coins."""
    with closing(Store(home.store)) as store:
        own = lose(store, 1)
    backup.back_up(home, tmp_path / "backup")
    other = Home(tmp_path / "other")
    with closing(Store(other.store)) as store:
        store.people.trust(ZOE, "Zoe", 1)
    assert backup.restore(other, tmp_path / "backup").has_store
    with closing(Store(other.store)) as store:
        assert store.people.person(ZOE).trusted_as == "Zoe"
        assert PurseKeeper(store, OWNER.public, lambda _: None).own.purse.head == own.head


def test_a_restore_keeps_a_used_purse_even_if_its_matches_are_forgotten(home: Home, tmp_path: Path) -> None:
    """An older copy of the purse would contradict it."""
    backup.back_up(home, tmp_path / "backup")
    with closing(Store(home.store)) as store:
        own = lose(store, 1)
        for match in store.matches():
            store.forget(match.match)
        for person in store.people.everybody():
            store.people.untrust(person.fingerprint)
    assert not backup.restore(home, tmp_path / "backup").has_store
    with closing(Store(home.store)) as store:
        assert PurseKeeper(store, OWNER.public, lambda _: None).own.purse.head == own.head


def test_a_key_file_alone_can_be_restored(home: Home, tmp_path: Path) -> None:
    new = Home(tmp_path / "new")
    assert backup.restore(new, home.identity) == (None, None, False)
    assert new.identity.read_bytes() == home.identity.read_bytes()


def test_a_restore_renames_a_damaged_store_and_replaces_it(home: Home, tmp_path: Path) -> None:
    backup.back_up(home, tmp_path / "backup")
    expected = people(home)
    home.store.write_bytes(b"no database at all" * 1000)
    with pytest.raises(DamagedStoreError):
        Store(home.store)
    restored = backup.restore(home, tmp_path / "backup")
    assert restored.has_store
    assert restored.former_store is not None
    assert restored.former_store.read_bytes() == b"no database at all" * 1000
    assert people(home) == expected


def test_the_write_ahead_log_of_a_damaged_store_is_kept_with_it(home: Home, tmp_path: Path) -> None:
    """Without its log, the store would lack the newest transactions."""
    backup.back_up(home, tmp_path / "backup")
    killed = Home(tmp_path / "killed")
    killed.path.mkdir(mode=0o700)
    with closing(Store(home.store)) as store:
        store.people.trust(ZOE, "Zoe", 1)
        for path in home.path.iterdir():
            (killed.path / path.name).write_bytes(path.read_bytes())
    killed.identity.chmod(0o600)
    killed.store.write_bytes(b"no database at all" * 1000)
    log = killed.store.with_name(f"{killed.store.name}-wal").read_bytes()
    kept = backup.restore(killed, tmp_path / "backup").former_store
    assert kept is not None
    assert log
    assert kept.with_name(f"{kept.name}-wal").read_bytes() == log
    assert kept.with_name(f"{kept.name}-newest").exists()


def test_leftover_files_of_a_deleted_store_are_removed_on_restore(home: Home, tmp_path: Path) -> None:
    """SQLite would read the leftover log, and the leftover note would report lost data."""
    backup.back_up(home, tmp_path / "backup")
    home.store.unlink()
    rest = [home.store.with_name(f"{home.store.name}{ending}") for ending in ("-wal", "-shm", "-newest")]
    for path in rest:
        path.write_bytes(b"of the store that is gone")
    assert backup.restore(home, tmp_path / "backup").has_store
    assert not [path for path in rest if path.exists()]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no mode bits")
def test_nothing_is_restored_into_a_home_whose_key_others_can_read(home: Home, tmp_path: Path) -> None:
    backup.back_up(home, tmp_path / "backup")
    home.store.write_bytes(b"no database at all" * 1000)
    home.identity.write_bytes(IDENTITIES[FINISHED.roster[1].join.identity].encoded())
    home.identity.chmod(0o644)
    before = {path.name: path.read_bytes() for path in home.path.iterdir()}
    with pytest.raises(KeyFileError):
        backup.restore(home, tmp_path / "backup")
    after = {path.name: path.read_bytes() for path in home.path.iterdir()}
    assert after == before | {name: b"" for name in after if name.endswith("-lock")}


def test_a_home_in_use_is_not_changed(home: Home, tmp_path: Path) -> None:
    backup.back_up(home, tmp_path / "backup")
    key = home.identity.read_bytes()
    with closing(Store(home.store)), pytest.raises(HomeInUseError):
        backup.restore(home, tmp_path / "backup")
    assert home.identity.read_bytes() == key


@pytest.mark.parametrize("content", [b"", b"no backup" * 1000, b"-----BEGIN PRIVATE KEY-----\nAAAA\n"])
def test_restoring_a_file_that_is_no_backup_changes_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "backup").write_bytes(content)
    with pytest.raises(BackupError):
        backup.restore(Home(tmp_path / "new"), tmp_path / "backup")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "damage",
    [
        "PRAGMA application_id=7",
        "DROP TABLE backup",
        "UPDATE backup SET key = 7",
        "UPDATE backup SET key = x'00'",
        "DELETE FROM backup",
        "ALTER TABLE backup DROP COLUMN made",
        "ALTER TABLE trusted RENAME COLUMN since TO later",
        "DROP TABLE matches",
        "CREATE TRIGGER t AFTER DELETE ON matches BEGIN DELETE FROM trusted; END",
        "PRAGMA user_version=99",
        "ALTER TABLE matches DROP COLUMN winners",
        "ALTER TABLE trusted DROP COLUMN outline",
        "DROP TABLE addresses",
        "CREATE VIRTUAL TABLE v USING fts5(x)",
    ],
)
def test_restoring_an_altered_backup_changes_nothing(home: Home, tmp_path: Path, damage: str) -> None:
    backup.back_up(home, tmp_path / "backup")
    with closing(sqlite3.connect(tmp_path / "backup", isolation_level=None)) as database:
        database.execute(damage)
    new = Home(tmp_path / "new")
    with pytest.raises(BackupError):
        backup.restore(new, tmp_path / "backup")
    assert not new.identity.exists()
    assert not new.store.exists()


def test_the_error_for_a_backup_that_changes_during_a_restore_names_the_original_path(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "backup"
    backup.back_up(home, path)

    def copy_another(_source: Path, target: Path) -> None:
        target.write_bytes(b"no backup")

    monkeypatch.setattr(shutil, "copyfile", copy_another)
    with pytest.raises(BackupError) as raised:
        backup.restore(Home(tmp_path / "new"), path)
    assert str(raised.value).startswith(f"{path} ")
    assert ".restore." not in str(raised.value)


@pytest.mark.parametrize("made", [-1, 99_999_999_999_999_999])
def test_a_backup_with_an_impossible_timestamp_still_has_a_date(home: Home, tmp_path: Path, made: int) -> None:
    backup.back_up(home, tmp_path / "backup")
    with closing(sqlite3.connect(tmp_path / "backup", isolation_level=None)) as database:
        database.execute("UPDATE backup SET made = ?", (made,))
    found = backup.look(tmp_path / "backup").made
    assert found is not None
    assert datetime.fromtimestamp(found, UTC).year in (1970, 2999)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_a_pipe_is_no_backup(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BackupError, match="this is a pipe, not a file"):
        backup.look(tmp_path / "pipe")


@pytest.mark.parametrize("table", ["messages", "matches", "meetings", "purses", "backup"])
def test_restoring_a_backup_with_one_flipped_bit_changes_nothing(home: Home, tmp_path: Path, table: str) -> None:
    """SQLite finds no fault in its pages, so only the hash over the backup's content reveals the change."""
    with closing(Store(home.store)) as store:
        lose(store, 1)
    backup.back_up(home, tmp_path / "backup")
    with closing(sqlite3.connect(tmp_path / "backup")) as database:
        column = {"messages": "data", "matches": "genesis", "meetings": "name", "purses": "ledger"}.get(table, "key")
        (value,) = database.execute(f"SELECT {column} FROM {table}").fetchone()
    content = value.encode() if isinstance(value, str) else value
    data = bytearray((tmp_path / "backup").read_bytes())
    place = data.index(content)
    data[place + len(content) // 2] ^= (
        0x20 if table == "backup" else 1
    )  # 0x20 turns a letter of the key file into a letter
    (tmp_path / "backup").write_bytes(data)
    with pytest.raises(BackupError, match="is damaged"):
        backup.restore(Home(tmp_path / "new"), tmp_path / "backup")
    assert not Home(tmp_path / "new").store.exists()


def test_restoring_a_backup_replaces_a_store_with_an_unreadable_row(home: Home, tmp_path: Path) -> None:
    backup.back_up(home, tmp_path / "backup")
    expected = people(home)
    with closing(sqlite3.connect(home.store)) as database:
        database.execute("INSERT INTO trusted VALUES ('nobody', 'Nobody', 'nobody', 1)")
        database.commit()
    with pytest.raises(DamagedStoreError, match="a fingerprint is invalid"):
        people(home)
    restored = backup.restore(home, tmp_path / "backup")
    assert restored.former_store is not None
    assert people(home) == expected


def test_restoring_a_backup_with_a_damaged_page_changes_nothing(home: Home, tmp_path: Path) -> None:
    backup.back_up(home, tmp_path / "backup")
    content = bytearray((tmp_path / "backup").read_bytes())
    content[4096:8192] = bytes(4096)
    (tmp_path / "backup").write_bytes(content)
    with pytest.raises(BackupError):
        backup.restore(Home(tmp_path / "new"), tmp_path / "backup")
    assert not (tmp_path / "new").joinpath("identity.key").exists()


def test_a_damaged_store_is_not_backed_up(home: Home, tmp_path: Path) -> None:
    content = bytearray(home.store.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    home.store.write_bytes(content)
    with pytest.raises(DamagedStoreError):
        backup.back_up(home, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


HOSTILE = {
    "a generated column": (
        "DROP TABLE trusted",
        "CREATE TABLE trusted (fingerprint TEXT PRIMARY KEY, name TEXT NOT NULL, outline TEXT NOT NULL, since INTEGER"
        " NOT NULL, more AS (hex(zeroblob(900000)))) WITHOUT ROWID",
        "INSERT INTO trusted (fingerprint, name, outline, since) WITH RECURSIVE rows (n) AS (SELECT 1 UNION ALL SELECT"
        " n + 1 FROM rows WHERE n < 1000) SELECT n, 'n', 'n', 1 FROM rows",
    ),
    "a check": (
        "DROP TABLE messages",
        "CREATE TABLE messages (place INTEGER PRIMARY KEY, data CHECK (length(zeroblob(900000))), signature)",
    ),
    "an index of expressions": ("CREATE INDEX more ON trusted (hex(zeroblob(900000)))",),
    "one more table": ("CREATE TABLE more (x)",),
    "one table less": ("DROP TABLE addresses",),
    "one more column": ("ALTER TABLE trusted ADD COLUMN more",),
    "one index less": ("DROP INDEX meetings_by_match",),
    "a view": ("CREATE VIEW more AS SELECT * FROM trusted",),
    "very many views": (
        "PRAGMA writable_schema=1",
        "INSERT INTO sqlite_schema"
        " WITH RECURSIVE rows (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM rows WHERE n < 8000)"
        " SELECT 'view', 'more_' || n, 'more_' || n, 0, 'CREATE VIEW more_' || n || ' AS SELECT 1' FROM rows",
    ),
    "a long definition": (f"CREATE TABLE more ({', '.join(f'c{number}' for number in range(1900))})",),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_backup_is_read_only_if_its_schema_is_the_expected_one(
    home: Home, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A matching hash is no defence, as the attacker can compute it. The schema is checked before any row is read."""
    path = tmp_path / "backup"
    backup.back_up(home, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN")
        for statement in HOSTILE[what]:
            database.execute(statement)
        database.execute("COMMIT")

    def read(*_: object) -> None:
        raise AssertionError("rows of a hostile backup were read")

    monkeypatch.setattr(backup, "_check", read)
    for act in (backup.look, lambda each: backup.restore(Home(tmp_path / "new"), each)):
        with pytest.raises(BackupError, match="is no backup"):
            act(path)
    assert not (tmp_path / "new").exists()


def test_a_file_longer_than_the_limit_of_a_backup_is_not_opened(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "backup"
    backup.back_up(home, path)
    os.truncate(path, BACKUP + 1)  # sparse on most file systems
    monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(BackupError, match="is longer than 1024 MiB"):
        backup.look(path)


def test_a_second_row_with_a_key_in_a_backup_is_ignored(home: Home, tmp_path: Path) -> None:
    made = backup.back_up(home, tmp_path / "backup")
    with closing(sqlite3.connect(tmp_path / "backup", isolation_level=None)) as database:
        database.execute("INSERT INTO backup VALUES (x'00', 0, x'00')")
    assert backup.look(tmp_path / "backup") == made
