"""A store written by version 0.1.0 is converted without loss. A store in an unknown format is left unchanged."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from protocol.consensus.transcript import open_transcript
from protocol.crypto.keys import fingerprint
from protocol.storage import archive, backup
from protocol.storage.backup import BackupError
from protocol.storage.database import FIRST, SCHEMA_VERSION, DamagedStoreError, OtherFormatError, StoreError
from protocol.storage.home import Home
from protocol.storage.store import Store
from protocol.wire.genesis import match_id, players_of
from tests.protocol.test_backup import OWNER

DATA: Final = Path(__file__).parents[1] / "data"
OLD: Final = DATA / "store-1.sqlite3"
"""A store written by 0.1.0. It holds the match of version-1.p2pdice twice: finished, and as ``OTHER`` unfinished."""
GENESIS: Final = open_transcript((DATA / "version-1.p2pdice").read_bytes()).genesis
OTHER: Final = b"o" * 32
"""Id of the unfinished match."""
SEED: Final = b"s" * 32
CREATED: Final = 1_763_812_800
MESSAGES: Final = 12
"""The number of stored messages of the finished match."""


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(statement)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.path.mkdir(mode=0o700)
    shutil.copyfile(OLD, made.store)
    return made


def test_conversion_keeps_all_matches_messages_choices_and_addresses(home: Home) -> None:
    before = rows(home.store, "SELECT data, signature FROM messages ORDER BY match, place")
    assert (rows(home.store, "PRAGMA user_version"), len(before)) == ([(FIRST,)], MESSAGES)
    for _ in range(2):
        with closing(Store(home.store)) as store:
            unfinished, finished = store.matches()
            assert [(finished.match, finished.over), (unfinished.match, unfinished.over)] == [
                (match_id(GENESIS), True),
                (OTHER, False),
            ]
            for each in (finished, unfinished):
                assert (each.genesis, each.seed, each.created, each.port) == (GENESIS, SEED, CREATED, 7000)
                assert (each.formed, each.given_up, each.void, each.table_name, each.winners) == (
                    True,
                    False,
                    False,
                    "",
                    (),
                )
                assert archive.is_old(each)
            assert (finished.name, unfinished.name) == ("2025-11-22-match", "2025-11-22-match-2")
            assert store.choices(OTHER) == {4: "3x5"}
            assert store.addresses(b"i" * 32) == (("192.0.2.1", 7000),)
        assert rows(home.store, "SELECT data, signature FROM messages ORDER BY place") == before
        assert rows(home.store, "SELECT DISTINCT place >> 32 FROM messages") == [(finished.number,)]


def test_the_players_of_old_matches_are_known_even_to_a_read_only_store(home: Home) -> None:
    expected = {(fingerprint(each.identity), each.nickname, 2, CREATED) for each in players_of(GENESIS)}
    before = home.store.read_bytes()
    for is_reader in (True, False):
        with closing(Store(home.store, is_reader=is_reader)) as store:
            known = {(each.fingerprint, each.name, each.matches, each.met) for each in store.people.everybody()}
            assert known == expected
        assert (home.store.read_bytes() == before) == is_reader


def test_a_converted_store_has_the_same_schema_as_a_new_one(home: Home, tmp_path: Path) -> None:
    for path in (home.store, tmp_path / "new.sqlite3"):
        Store(path).close()
    old, new = (
        (
            rows(path, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 2"),
            rows(path, "PRAGMA user_version"),
        )
        for path in (home.store, tmp_path / "new.sqlite3")
    )
    assert old == new


def test_a_home_with_an_old_store_can_be_backed_up_and_restored(home: Home, tmp_path: Path) -> None:
    OWNER.save(home.identity)
    backup.back_up(home, tmp_path / "backup")
    backup.restore(Home(tmp_path / "new"), tmp_path / "backup")
    with archive.read_store(Home(tmp_path / "new")) as store:
        assert [each.match for each in store.matches()] == [match_id(GENESIS)]
        assert {each.matches for each in store.people.everybody()} == {2}


@pytest.mark.parametrize("where", ["protocol.storage.people.meet", "protocol.storage.store.free_name"])
def test_a_disk_error_during_conversion_leaves_the_store_unchanged(
    home: Home, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    before = rows(home.store, "SELECT * FROM matches"), rows(home.store, "SELECT sql FROM sqlite_schema")

    def fail(*_: object) -> str:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(where, fail)
        with pytest.raises(StoreError, match="disk I/O error"):
            Store(home.store)
    assert (rows(home.store, "SELECT * FROM matches"), rows(home.store, "SELECT sql FROM sqlite_schema")) == before
    assert rows(home.store, "PRAGMA user_version") == [(FIRST,)]
    with closing(Store(home.store)) as store:
        assert len(store.matches()) == 2


@pytest.mark.parametrize("damage", ["genesis = x'00'", "genesis = 7", "created = 'never'", "port = 65536"])
def test_one_damaged_match_does_not_hide_the_other(home: Home, damage: str) -> None:
    change(home.store, f"UPDATE matches SET {damage} WHERE over")
    with closing(Store(home.store)) as store:
        assert [each.match for each in store.matches() if each.match == OTHER and each.genesis == GENESIS] == [OTHER]
        store.forget(match_id(GENESIS))
        assert [each.match for each in store.matches()] == [OTHER]


@pytest.mark.parametrize("damage", ["DELETE FROM seeds", "DROP TABLE choices", "ALTER TABLE addresses RENAME TO x"])
def test_a_damaged_old_store_is_reported_and_left_unchanged(home: Home, damage: str) -> None:
    change(home.store, damage)
    before = rows(home.store, "SELECT * FROM matches")
    with pytest.raises(DamagedStoreError):
        Store(home.store)
    assert rows(home.store, "SELECT * FROM matches") == before


@pytest.mark.parametrize("version", [-1, 2, SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
@pytest.mark.parametrize("is_reader", [False, True])
def test_a_store_in_another_format_is_left_unchanged_and_unlocked(home: Home, version: int, is_reader: bool) -> None:
    Store(home.store).close()
    change(home.store, f"PRAGMA user_version={version}")
    before = home.store.read_bytes()
    for _ in range(2):
        with pytest.raises(OtherFormatError, match=rf"format {version}\)") as caught:
            Store(home.store, is_reader=is_reader)
        assert ("update this one" in str(caught.value)) == (version > SCHEMA_VERSION)
        assert "move the file away" in caught.value.hint
    assert home.store.read_bytes() == before


@pytest.mark.parametrize("version", [0, FIRST, 2, SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_a_backup_in_another_format_is_refused(home: Home, tmp_path: Path, version: int) -> None:
    OWNER.save(home.identity)
    backup.back_up(home, tmp_path / "backup")
    change(tmp_path / "backup", f"PRAGMA user_version={version}")
    with pytest.raises(BackupError, match="no backup" if version in (0, FIRST) else rf"format {version}\)"):
        backup.look(tmp_path / "backup")
