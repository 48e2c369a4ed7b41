"""The store keeps every write that it confirmed, serves one process at a time, and reports failures and losses."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from itertools import product
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pdice.rulesets import PRESETS
from protocol.crypto.keys import MatchKey
from protocol.errors import NodeError
from protocol.events import Asks
from protocol.node.node import Node
from protocol.storage.database import Database, HomeInUseError, StoreError
from protocol.storage.home import Home
from protocol.storage.match_names import LATEST
from protocol.storage.store import Loss, Store
from protocol.wire.frames import Customs
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.programs import Program
from tests.simulation.world import IDENTITIES, World
from tests.tiers import thoroughly

KEY = MatchKey(bytes(32))
MATCH = b"m" * 32


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "store.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = Store(path)
    opened.add_seed(KEY.public, b"s" * 32)
    opened.add_match(MATCH, b"genesis", KEY.public, 1, 7000)
    yield opened
    opened.close()


def message(step: int) -> Signed:
    return sign(Message(MATCH, step, b"t" * 32, 0, Kind.LOCK, b"h" * 32), KEY)


def wires(messages: tuple[Signed, ...]) -> list[tuple[bytes, bytes]]:
    return [signed.wire for signed in messages]


def test_written_messages_survive_a_restart(store: Store, path: Path) -> None:
    written = [message(step) for step in range(5)]
    store.write(MATCH, written[:2])
    store.write(MATCH, written[2:])
    store.mark_formed(MATCH)
    store.close()
    again = Store(path)
    assert wires(again.messages(MATCH)) == [signed.wire for signed in written]
    (match,) = again.matches()
    assert (match.match, match.genesis, match.seed, match.formed, match.over) == (
        MATCH,
        b"genesis",
        b"s" * 32,
        True,
        False,
    )
    again.write(MATCH, [message(9)])
    assert len(again.messages(MATCH)) == 6
    again.close()


def test_sqlite_syncs_every_commit_to_the_disk(store: Store) -> None:
    """A test cannot cut the power, so this one checks SQLite's settings: 2 is FULL, a log sync at each commit."""
    asked = ("journal_mode", "synchronous", "fullfsync")
    assert [store.database.connection.execute(f"PRAGMA {name}").fetchone()[0] for name in asked] == ["wal", 2, 1]


def test_learned_names_of_rules_are_bounded_and_do_not_replace_own_names(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("protocol.storage.store.RULES_NAMES_REMEMBERED", 5)
    own, theirs = b"o" * 32, [bytes([number]) * 32 for number in range(9)]
    store.learn_rules_name(own, "theirs")
    store.name_rules(own, "mine")
    for digest in theirs:
        store.learn_rules_name(digest, "theirs")
    store.learn_rules_name(theirs[-1], "theirs, too")
    store.learn_rules_name(own, "theirs")
    kept = dict.fromkeys(theirs[-5:], "theirs") | {theirs[-1]: "theirs, too"}
    assert store.rules_names() == {own: "mine", **kept}
    assert store.rules_names(own=True) == {own: "mine"}


def test_formed_matches_are_listed_first_and_then_the_newest(store: Store) -> None:
    for number in (1, 2, 3):
        store.add_match(bytes([number]) * 32, b"genesis", KEY.public, number, 7000)
    store.mark_formed(bytes([2]) * 32)
    store.mark_over(bytes([2]) * 32)
    assert [match.match[0] for match in store.matches()] == [2, 3, 1, MATCH[0]]
    assert [match.over for match in store.matches()] == [True, False, False, False]


@pytest.mark.parametrize("asks", get_args(Asks))
def test_the_customs_and_prompts_of_a_table_survive_a_restart(store: Store, path: Path, asks: Asks) -> None:
    for odds, talk in product(range(3), range(2)):
        match = bytes([odds, talk]) * 16
        store.add_match(match, b"genesis", KEY.public, 1, 7000, customs=Customs(odds, talk), asks=asks)
    store.close()
    found = {each.match: (each.customs, each.asks) for each in Store(path).matches() if each.match != MATCH}
    assert found == {bytes(customs) * 16: (Customs(*customs), asks) for customs in product(range(3), range(2))}


def test_adding_a_match_again_changes_nothing(store: Store) -> None:
    store.mark_formed(MATCH)
    store.add_match(MATCH, b"genesis", KEY.public, 99, 9)
    (match,) = store.matches()
    assert (match.formed, match.port) == (True, 7000)


def test_the_newest_addresses_of_an_identity_are_kept(store: Store) -> None:
    for port in range(7000, 7006):
        store.remember_address(b"i" * 32, "192.0.2.1", port)
    store.remember_address(b"i" * 32, "192.0.2.1", 7003)
    assert [port for _, port in store.addresses(b"i" * 32)] == [7003, 7005, 7004, 7002]
    assert store.addresses(b"j" * 32) == ()


HOLDER = """
import sys
from pathlib import Path
from protocol.storage.store import Store
store = Store(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_home_is_locked_until_its_process_dies(path: Path) -> None:
    with Program("-c", HOLDER, str(path), home=path.parent) as holder:
        holder.wait_for(lambda: holder.output, "the message that the store is held")
        with pytest.raises(HomeInUseError):
            Store(path)
        holder.kill_9()
    Store(path).close()


def test_readers_see_every_message_even_after_the_log_restarts(store: Store, path: Path) -> None:
    for count in range(0, 1000, 10):
        store.write(MATCH, [message(step) for step in range(count, count + 10)])
        with contextlib.closing(Store(path, is_reader=True)) as reader:
            assert [signed.message.step for signed in reader.messages(MATCH)] == [*range(count + 10)]


def test_a_reader_cannot_write(store: Store, path: Path) -> None:
    with contextlib.closing(Store(path, is_reader=True)) as reader, pytest.raises(StoreError, match="readonly"):
        reader.add_choice(MATCH, 1, "3x5")
    assert store.choices(MATCH) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a profile private by access lists, not by mode bits")
def test_other_accounts_cannot_read_a_home(path: Path) -> None:
    before = os.umask(0)
    try:
        store = Store(path)
    finally:
        os.umask(before)
    store.add_seed(KEY.public, bytes(32))
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
    store.close()


NOON = int(time.mktime((2026, 11, 22, 12, 0, 0, 0, 0, -1)))


def test_matches_at_one_table_on_one_day_are_numbered_and_keep_their_names(store: Store, path: Path) -> None:
    store.add_match(b"n" * 32, b"genesis", KEY.public, NOON, 7000, "Friday!")
    store.add_match(b"o" * 32, b"genesis", KEY.public, NOON, 7000, "friday")
    for match in (b"n", b"o"):
        store.mark_formed(match * 32)
        store.mark_formed(match * 32)
    store.mark_over(b"o" * 32, (2, 0))

    def names() -> dict[bytes, tuple[str, str]]:
        return {each.match[:1]: (each.name, each.table_name) for each in store.matches()}

    assert names() == {
        b"m": ("", ""),
        b"n": ("2026-11-22-friday", "Friday!"),
        b"o": ("2026-11-22-friday-2", "friday"),
    }
    store.forget(b"n" * 32)
    store.close()
    store = Store(path)
    assert names() == {b"m": ("", ""), b"o": ("2026-11-22-friday-2", "friday")}
    assert store.matches()[0].winners == (0, 2)
    store.close()


def test_a_file_that_is_not_a_store_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database at all" * 1000)
    with pytest.raises(StoreError):
        Store(path)
    assert path.read_bytes() == b"no database at all" * 1000


def test_a_home_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError):
        Store(tmp_path / "file" / "store.sqlite3")


def test_a_write_that_does_not_fit_is_an_error_and_changes_nothing(store: Store) -> None:
    store.write(MATCH, [message(0)])
    pages = store.database.connection.execute("PRAGMA page_count").fetchone()[0]
    store.database.connection.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(StoreError, match="full"):
        store.write(MATCH, [message(step) for step in range(1, 20_000)])
    assert wires(store.messages(MATCH)) == [message(0).wire]
    store.database.connection.execute("PRAGMA max_page_count=1000000")
    store.write(MATCH, [message(1)])
    assert len(store.messages(MATCH)) == 2


def test_every_call_to_a_closed_store_is_a_store_error(store: Store) -> None:
    store.close()
    for action in (
        lambda: store.write(MATCH, [message(0)]),
        lambda: store.messages(MATCH),
        lambda: store.add_seed(b"k", b"s"),
        store.matches,
    ):
        with pytest.raises(StoreError):
            action()


def test_messages_of_an_unknown_match_are_not_written(store: Store) -> None:
    with pytest.raises(StoreError, match="does not know"):
        store.write(b"x" * 32, [message(0)])


@pytest.mark.parametrize("column", ["data", "signature"])
async def test_a_damaged_match_is_not_resumed(tmp_path: Path, column: str) -> None:
    world = World(PRESETS["classic"], 2, seed=1)
    for _ in range(60):
        world.step()
    match = world.machines[0].match.history.match
    store = Store(Home(tmp_path).store)
    store.add_seed(MatchKey(world.seeds[0]).public, world.seeds[0])
    store.add_match(match, world.data, MatchKey(world.seeds[0]).public, 1, 0)
    store.write(match, world.machines[0].disk)
    store.mark_formed(match)
    store.database.connection.execute(f"UPDATE messages SET {column} = zeroblob(7) WHERE place = (1 << 32) + 3")
    store.close()
    IDENTITIES[world.genesis.roster[0].join.identity].save(Home(tmp_path).identity)
    node = await Node.open(tmp_path, "ann", discovery=False, interface="127.0.0.1")
    with pytest.raises(NodeError, match="damaged") as caught:
        await node.resume()
    assert caught.value.code == "failed"
    await node.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE messages SET data = 7",
        "UPDATE messages SET signature = 'x'",
        "UPDATE messages SET signature = zeroblob(7)",
        "UPDATE messages SET place = (1 << 32) + 4294967295",
        "UPDATE matches SET number = 9223372036854775807",
        "UPDATE matches SET match = 'm'",
        "UPDATE matches SET match = zeroblob(31)",
        "UPDATE choices SET text = x'ff'",
        "UPDATE addresses SET port = 'http'",
    ],
)
def test_an_invalid_row_is_reported_as_damage(store: Store, path: Path, damage: str) -> None:
    store.write(MATCH, [message(0)])
    store.add_choice(MATCH, 1, "stake 5")
    store.remember_address(b"i" * 32, "192.0.2.1", 7000)
    store.database.connection.execute("PRAGMA foreign_keys=0")
    store.database.connection.execute(damage)
    store.close()
    again = Store(path)
    with pytest.raises(StoreError, match=r"damaged|too large"):
        read_all(again)
    again.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE matches SET number = 9223372036854775807 WHERE match = ?",
        "UPDATE matches SET port = 65536 WHERE match = ?",
        "UPDATE matches SET created = 'now' WHERE match = ?",
        "UPDATE matches SET formed = 'yes' WHERE match = ?",
        "UPDATE matches SET table_name = x'00' WHERE match = ?",
        "UPDATE matches SET name = 'a b' WHERE match = ?",
        "UPDATE matches SET name = '../x' WHERE match = ?",
        "UPDATE matches SET odds = 3 WHERE match = ?",
        "UPDATE matches SET talk = 'all' WHERE match = ?",
        "UPDATE matches SET asks = 'nobody' WHERE match = ?",
        "UPDATE matches SET winners = '1,' WHERE match = ?",
        "UPDATE matches SET winners = '10' WHERE match = ?",
        "UPDATE matches SET winners = x'31' WHERE match = ?",
        "UPDATE matches SET match_key = x'31' WHERE match = ?",
        "UPDATE seeds SET seed = 7 WHERE match_key = (SELECT match_key FROM matches WHERE match = ?)",
    ],
)
def test_a_damaged_match_hides_no_other_and_can_be_forgotten(store: Store, path: Path, damage: str) -> None:
    other, bad = MatchKey(b"o" * 32), b"o" * 32
    store.add_seed(other.public, b"o" * 32)
    store.add_match(bad, b"genesis", other.public, 1, 7000)
    store.mark_formed(bad)
    store.write(MATCH, [message(0)])
    (good,) = (each for each in store.matches() if each.match == MATCH)
    store.database.connection.execute("PRAGMA foreign_keys=0")
    store.database.connection.execute(damage, (bad,))
    store.close()
    again = Store(path)
    assert good in again.matches()
    again.forget(bad)
    assert again.matches() == (good,)
    assert wires(again.messages(MATCH)) == [message(0).wire]
    again.close()


@pytest.mark.parametrize(("clock", "told"), [(-5, 0), (1e15, LATEST), (2**62, LATEST)])
def test_a_match_begun_under_a_wrong_clock_gets_a_valid_date(store: Store, path: Path, clock: float, told: int) -> None:
    """In an earlier version such a match made a home unusable."""
    store.database.connection.execute("UPDATE matches SET created = ?", (int(clock),))
    store.mark_formed(MATCH)
    store.close()
    again = Store(path)
    (kept,) = again.matches()
    assert (kept.created, kept.genesis) == (told, b"genesis")
    assert kept.name == f"{date.fromtimestamp(told)}-match"
    again.close()


def read_all(store: Store) -> None:
    for match in store.matches():
        store.messages(match.match)
        store.choices(match.match)
        store.addresses(b"i" * 32)
        store.write(match.match, [message(1)])


def test_a_schema_that_is_not_utf_8_is_an_error(store: Store, path: Path) -> None:
    """SQLite's error message quotes the schema, and Python's sqlite3 cannot decode that message."""
    store.database.connection.execute("VACUUM")
    store.close()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE seeds", b"CREATE TABLE \xffeeds"))
    with pytest.raises(StoreError, match="cannot use"):
        Store(path)


WRITER = """
import sys
from pathlib import Path
from protocol.storage.store import Store
from tests.protocol.test_store import KEY, MATCH, message
store = Store(Path(sys.argv[1]))
store.add_seed(KEY.public, b"s" * 32)
store.add_match(MATCH, b"genesis", KEY.public, 1, 7000)
for step in range(100_000):
    store.write(MATCH, [message(step)])
    print(step, flush=True)
"""


@pytest.mark.parametrize("after", [0, 150, *thoroughly([1, 400])])
def test_a_killed_process_loses_nothing_and_reports_no_loss(path: Path, after: int) -> None:
    with Program("-c", WRITER, str(path), home=path.parent) as writer:
        writer.wait_for(lambda: len(writer.output) > after, "the message that enough is stored")
        writer.kill_9()
        writer.end()
        confirmed = int(writer.output[-1])
    store = Store(path)
    assert store.loss is None
    assert len(store.messages(MATCH)) > confirmed
    store.close()


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a store after a crash. It holds twenty messages, and the last ten are only in the log."""
    folder = tmp_path_factory.mktemp("crashed")
    path = folder / "home" / "store.sqlite3"
    store = Store(path)
    store.add_seed(KEY.public, b"s" * 32)
    store.add_match(MATCH, b"genesis", KEY.public, 1, 7000)
    store.write(MATCH, [message(step) for step in range(10)])
    store.close()
    store = Store(path)
    for step in range(10, 20):
        store.write(MATCH, [message(step)])
    shutil.copytree(path.parent, folder / "left")
    store.close()
    return folder / "left"


@settings(max_examples=30)
@given(at=st.integers(0, 100_000), bit=st.integers(0, 7), is_cut=st.booleans())
def test_a_loss_by_any_damage_to_the_log_is_detected(crashed: Path, at: int, bit: int, is_cut: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "home" / "store.sqlite3"
        shutil.copytree(crashed, path.parent)
        log = path.with_name("store.sqlite3-wal")
        content = bytearray(log.read_bytes())
        if is_cut:
            del content[at:]
        else:
            content[at] ^= 1 << bit
        log.write_bytes(content)
        store = Store(path)
        held = len(store.messages(MATCH))
        assert store.loss == (Loss(MATCH, is_here=True) if held < 20 else None)
        store.close()


@pytest.mark.parametrize("content", [b"", b"x" * 48, bytes(47), bytes(4096)])
def test_an_unreadable_note_of_the_newest_message_reports_no_loss(store: Store, path: Path, content: bytes) -> None:
    store.write(MATCH, [message(0)])
    store.close()
    path.with_name("store.sqlite3-newest").write_bytes(content)
    again = Store(path)
    assert again.loss is None
    again.write(MATCH, [message(1)])
    again.close()


def test_a_forgotten_match_is_not_reported_as_lost(store: Store, path: Path) -> None:
    store.write(MATCH, [message(0)])
    store.forget(MATCH)
    store.close()
    again = Store(path)
    assert (again.loss, again.matches()) == (None, ())
    again.close()


def test_replacing_messages_by_fewer_reports_no_loss(store: Store, path: Path) -> None:
    store.write(MATCH, [message(step) for step in range(9)])
    store.replace(MATCH, [message(9)])
    store.close()
    again = Store(path)
    assert again.loss is None
    again.close()


def test_a_crash_right_after_replacing_messages_by_fewer_reports_no_loss(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transaction = Database.transaction

    @contextlib.contextmanager
    def last(database: Database) -> Iterator[sqlite3.Connection]:
        with transaction(database) as connection:
            yield connection
        raise KeyboardInterrupt

    store.write(MATCH, [message(step) for step in range(9)])
    monkeypatch.setattr(Database, "transaction", last)
    with pytest.raises(KeyboardInterrupt):
        store.replace(MATCH, [message(9)])
    store.close()
    again = Store(path)
    assert (again.loss, len(again.messages(MATCH))) == (None, 1)
    again.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets nobody make links by default")
@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal", "-newest", "-lock", "-lock-journal"])
@pytest.mark.parametrize("is_reader", [False, True])
def test_no_file_of_a_store_is_opened_through_a_link(path: Path, tmp_path: Path, ending: str, is_reader: bool) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"precious")
    path.parent.mkdir(exist_ok=True)
    planted = path.with_name(f"{path.name}{ending}")
    for plant in (planted.symlink_to, planted.hardlink_to):
        plant(elsewhere)
        with pytest.raises(StoreError, match=f"{planted}: it (is a link|has another name)") as caught:
            Store(path, is_reader=is_reader)
        assert caught.value.hint == ""
        assert elsewhere.read_bytes() == b"precious"
        planted.unlink()
