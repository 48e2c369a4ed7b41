"""A store that lost messages, by restoring a backup or losing its last commits, gets them from other players."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

from protocol.storage.home import STORE_FILE
from tests.network.journal import contradictions, everything_signed, stored
from tests.network.processes import Process, Processes, agree, processes, resume, table
from tests.tiers import thoroughly

LONG = (600, 600)


def journalled(folder: Path) -> tuple[str, ...]:
    return "--delay", "0.05", "--journal", str(folder / "sent")


def copy_store(home: Path, copy: Path) -> None:
    """Copy the database with its write-ahead log, replacing any files at the destination."""
    copy.mkdir(exist_ok=True)
    for old in copy.glob(f"{STORE_FILE}*"):
        old.unlink()
    for file in home.glob(f"{STORE_FILE}*"):
        shutil.copy2(file, copy)


async def back_up(player: Process, home: Path, copy: Path) -> None:
    """Copy a running player's store at one instant, as a disk snapshot would."""
    player.fall_asleep()
    copy_store(home, copy)
    player.wake_up()


def lose_the_last_messages(store: Path, count: int) -> int:
    """Delete the newest ``count`` messages from a store; return how many are left. No process may have it open."""
    with contextlib.closing(sqlite3.connect(store)) as database, database:
        newest = "SELECT place FROM messages ORDER BY place DESC LIMIT ?"
        database.execute(f"DELETE FROM messages WHERE place IN ({newest})", (count,))
        ((left,),) = database.execute("SELECT COUNT(*) FROM messages").fetchall()
    return int(left)


async def play_on(at: Processes, players: dict[str, Process], names: str, match: str) -> None:
    """Restart the killed players, finish the match, and check that no player has signed contradicting messages."""
    for name in names:
        players[name] = await resume(at, name, match, *journalled(at.folder))
    await agree(*players.values())
    assert contradictions(everything_signed(at.folder)) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot copy a database that is in use")
@pytest.mark.parametrize("names", [*thoroughly(["A", "C"]), "AB"])
async def test_a_player_restored_from_a_backup_contradicts_nothing(tmp_path: Path, names: str) -> None:
    async with processes(tmp_path) as at:
        players = await table(at, "ABC", *journalled(tmp_path), patience=LONG)
        match = players["A"].told("started")[0]["match"]
        await players["A"].until("moved", times=4)
        for name in names:
            await back_up(players[name], tmp_path / name, tmp_path / f"backup-{name}")
        await players["A"].until("moved", times=25)
        for name in names:
            await players[name].kill()
        for name in names:
            before = len(stored(tmp_path / name / STORE_FILE))
            copy_store(tmp_path / f"backup-{name}", tmp_path / name)
            assert len(stored(tmp_path / name / STORE_FILE)) < before
            shutil.rmtree(tmp_path / f"backup-{name}")
        await play_on(at, players, names, match)


@pytest.mark.parametrize("count", [*thoroughly([1, 2, 5]), 10_000])
async def test_messages_that_a_store_lost_are_fetched_from_the_others(tmp_path: Path, count: int) -> None:
    async with processes(tmp_path) as at:
        players = await table(at, "ABC", *journalled(tmp_path), patience=LONG)
        match = players["A"].told("started")[0]["match"]
        await players["A"].until("moved", times=13)
        await players["B"].kill()
        left = lose_the_last_messages(tmp_path / "B" / STORE_FILE, count)
        assert len(stored(tmp_path / "B" / STORE_FILE)) == left
        await play_on(at, players, "B", match)
