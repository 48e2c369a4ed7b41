"""Stores that earlier programs have written are converted when they are opened, and nothing in them is lost."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from protocol.consensus.purse_proofs import read_proof
from protocol.consensus.transcript import open_transcript
from protocol.crypto.keys import fingerprint
from protocol.node.purse_keeper import PurseKeeper
from protocol.storage import archive, backup, upgrades
from protocol.storage.home import Home
from protocol.storage.store import Store, StoreError
from protocol.storage.upgrades import SCHEMA_VERSION
from protocol.wire.genesis import match_id, players_of
from protocol.wire.purses import Frozen
from tests.old_stores import CREATED, FOLDER, MESSAGES, OTHER, SEED, STORES
from tests.protocol.test_backup import OWNER
from tests.protocol.test_purses import Owner

NAMES = pytest.mark.parametrize("name", STORES)


def wires(path: Path) -> list[tuple[bytes, bytes]]:
    """Return the messages of a store of any version, as they are stored."""
    with closing(sqlite3.connect(path)) as database:
        columns = [name for (name,) in database.execute("SELECT name FROM pragma_table_info('messages')")]
        order = "match, place" if "match" in columns else "place"
        return database.execute(f"SELECT data, signature FROM messages ORDER BY {order}").fetchall()


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


@pytest.fixture
def home(tmp_path: Path, name: str) -> Home:
    made = Home(tmp_path / "home")
    made.path.mkdir(mode=0o700)
    shutil.copyfile(FOLDER / f"{name}.sqlite3", made.store)
    return made


@NAMES
def test_the_files_have_the_versions_that_they_are_named_by(home: Home, name: str) -> None:
    assert version(home.store) == int(name.split("-")[1]) < SCHEMA_VERSION


@NAMES
def test_an_old_store_keeps_its_matches_messages_choices_and_addresses(home: Home, name: str) -> None:
    genesis = open_transcript(STORES[name][1].read_bytes()).genesis
    before = wires(home.store)
    for _ in range(2):
        with closing(Store(home.store)) as store:
            unfinished, finished = store.matches()
            assert (finished.match, finished.over, unfinished.match, unfinished.over) == (
                match_id(genesis),
                True,
                OTHER,
                False,
            )
            for each in (finished, unfinished):
                assert (each.genesis, each.seed, each.created, each.port) == (genesis, SEED, CREATED, 7000)
                assert (each.formed, each.hosted) == (True, False)
                assert each.name.startswith("2025-11-22")
            assert store.choices(OTHER) == {4: "3x5"}
            assert store.addresses(b"i" * 32) == (("192.0.2.1", 7000),)
        assert version(home.store) == SCHEMA_VERSION
        assert wires(home.store) == before
        assert len(before) == MESSAGES


@NAMES
def test_the_people_in_an_old_store_are_known(home: Home, name: str) -> None:
    genesis = open_transcript(STORES[name][1].read_bytes()).genesis
    with archive.read_store(home) as store:  # converted also for somebody who only reads
        known = {(each.fingerprint, each.name, each.matches, each.met) for each in store.people.everybody()}
    assert known == {(fingerprint(each.identity), each.nickname, 2, CREATED) for each in players_of(genesis)}


@pytest.mark.parametrize("name", ["store-7", "store-8"])
def test_names_in_an_old_store_look_like_those_that_pass_for_them_today(home: Home, name: str) -> None:
    with closing(sqlite3.connect(home.store)) as database:
        database.execute("UPDATE meetings SET name = 'Marnie', outline = 'marnle'")
        database.commit()
    with closing(Store(home.store)) as store:
        assert store.people.mismatch("A" * 19, "Mamie").namesakes


@pytest.mark.parametrize("name", ["store-7"])
def test_purses_of_others_stay_kept_or_held_and_those_of_no_match_are_forgotten(home: Home, name: str) -> None:
    owners = [Owner("of no match"), Owner("held"), Owner("kept")]
    with closing(sqlite3.connect(home.store)) as database:
        for owner, granted in zip(owners, (None, -1, 1), strict=True):
            row = owner.purse.key, owner.identity.public, granted, b"", owner.own.proof()
            database.execute("INSERT INTO purses_met VALUES (?, ?, ?, ?, ?)", row)
        database.commit()
    with closing(Store(home.store)) as store:
        met = [store.purses.met(owner.purse.key) for owner in owners]
    assert [each and each.is_kept for each in met] == [None, False, True]


@pytest.mark.parametrize("name", ["store-6"])
def test_stakes_in_an_old_purse_get_the_heights_at_which_they_were_frozen(home: Home, name: str) -> None:
    with closing(Store(home.store)) as store:
        (owner,) = store.purses.owners()
        purse = store.purses.state(owner)
        assert purse is not None
        assert purse.frozen == (Frozen(b"n" * 32, 10, 0, 1), Frozen(OTHER, 300, 0, 2))
        own = PurseKeeper(store, b"i" * 32, lambda _: None).own
    assert read_proof(own.proof()).purse == purse


def tables(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the columns of each table and index of a store."""
    with closing(sqlite3.connect(path)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")]
        return {
            name: database.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', (name,)).fetchall()
            or database.execute("SELECT name FROM pragma_index_info(?)", (name,)).fetchall()
            for name in names
        }


@NAMES
def test_an_old_store_gets_the_tables_of_a_new_one(home: Home, name: str, tmp_path: Path) -> None:
    for path in (home.store, tmp_path / "new.sqlite3"):
        Store(path).close()
    columns = {table: sorted(each) for table, each in tables(home.store).items()}
    assert columns == {table: sorted(each) for table, each in tables(tmp_path / "new.sqlite3").items()}


def test_an_upgrade_depends_on_no_table_of_the_present() -> None:
    """Else it would make the table of a later version, and the upgrade to that version would fail."""
    text = Path(upgrades.__file__).read_text(encoding="utf-8")
    used = {line.split()[1] for line in text.splitlines() if line.startswith(("from protocol", "import protocol"))}
    assert not [module for module in used if module.startswith("protocol.storage")]


@NAMES
def test_a_home_with_an_old_store_can_be_backed_up_and_restored(home: Home, name: str, tmp_path: Path) -> None:
    OWNER.save(home.identity)
    backup.back_up(home, tmp_path / "backup")
    backup.restore(Home(tmp_path / "new"), tmp_path / "backup")
    with archive.read_store(Home(tmp_path / "new")) as store:
        assert [each.match for each in store.matches()] == [
            match_id(open_transcript(STORES[name][1].read_bytes()).genesis)
        ]
        assert {each.matches for each in store.people.everybody()} == {2}


@NAMES
def test_a_disk_that_fails_while_a_store_is_converted_leaves_it_as_it_was(
    home: Home, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = wires(home.store)

    def fail(_genesis: bytes) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr("protocol.storage.upgrades._UPGRADES", (*upgrades._UPGRADES, fail))
        with pytest.raises(StoreError, match="disk I/O error"):
            Store(home.store)
    assert version(home.store) == int(name.split("-")[1])
    assert wires(home.store) == before
    Store(home.store).close()
    assert version(home.store) == SCHEMA_VERSION
