"""Homes on full and read-only disks, and on disks without file modes.

Reading commands work, writing commands explain the problem, and no data is lost. The disks are real, except that the
disk without file modes is simulated, because few systems let a test mount one.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.exits import ExitCode
from protocol.storage import database as stores
from protocol.storage.database import FullDiskError, StoreError, failure
from protocol.storage.home import Home
from protocol.storage.store import Store
from tests.cli.conftest import Run
from tests.disks import STRANGER, fill, make_read_only, needs_mounts, needs_root, small_disk
from tests.programs import ROOT
from tests.tiers import thoroughly

READING = (
    "matches",
    "history",
    "history stats",
    "replay last",
    "verify last",
    "people",
    "purse",
    "identity",
    "resume --list",
    "identity backup {elsewhere}/backup",
    "matches save last -o {elsewhere}/transcript",
    "report last --out {elsewhere}/report.html",
)
STORE = ": {state}. "
WRITING = {
    "identity new --yes": STORE,
    "matches forget last --yes": STORE,
    "host --bots 1 --ui line": STORE,
    "people trust {fingerprint}": STORE,
    "matches save last": ".p2pdice: {cause}. ",
}
"""Commands that write, each with the end of its error message."""
STATES = {
    "full": ("the disk is full", "no space left on device"),
    "read-only": ("its folder is read-only", "read-only file system"),
}


@pytest.fixture(params=[*thoroughly(["at rest"]), "with a log"])
def played(request: pytest.FixtureRequest, demo: dict[str, Any], tmp_path: Path) -> Path:
    """A home with a match. With a log, its write-ahead log has data that the store lacks, as after a crash."""
    path = tmp_path / "played"
    shutil.copytree(Path(demo["folder"]) / "ada", path)
    if request.param == "with a log":
        with closing(Store(path / "store.sqlite3")) as store:
            store.remember_address(b"i" * 32, "192.0.2.1", 7000)
            shutil.copytree(path, tmp_path / "crashed", ignore=shutil.ignore_patterns("*-shm"))
        assert (tmp_path / "crashed" / "store.sqlite3-wal").stat().st_size
        return tmp_path / "crashed"
    return path


@pytest.fixture(params=["full", "read-only"])
def home(request: pytest.FixtureRequest, played: Path, tmp_path: Path) -> Iterator[Home]:
    with small_disk(tmp_path / "disk") as disk:
        made = Home(disk / "home")
        shutil.copytree(played, made.path)
        if request.param == "full":
            fill(disk)
        else:
            make_read_only(disk)
        yield made


def content(home: Home) -> dict[Path, bytes]:
    """Return the contents of the files in a home, except SQLite's shared memory."""
    files = (path for path in home.path.rglob("*") if path.is_file() and not path.name.endswith("-shm"))
    return {path: data for path in files if (data := path.read_bytes())}


@needs_mounts
def test_reading_commands_work_on_full_and_read_only_disks(here: Run, home: Home, played: Path, tmp_path: Path) -> None:
    before, elsewhere = content(home), tmp_path / "elsewhere"
    for command in READING:
        words = command.format(elsewhere=elsewhere).split()
        elsewhere.mkdir()
        done = here(*words, "--home", str(home.path))
        assert (done.returncode, done.stderr) == (ExitCode.DONE, ""), command
        shutil.rmtree(elsewhere)
        elsewhere.mkdir()
        usual = here(*words, "--home", str(played))
        shutil.rmtree(elsewhere)
        assert done.stdout.replace(str(home.path), "HOME") == usual.stdout.replace(str(played), "HOME"), command
        assert content(home) == before, command


@needs_mounts
@pytest.mark.parametrize("command", WRITING)
def test_writing_commands_report_a_full_or_read_only_disk(
    here: Run, home: Home, demo: dict[str, Any], command: str
) -> None:
    fingerprint = next(each["fingerprint"] for each in _people(here, home))
    done = here(*command.format(fingerprint=fingerprint).split(), "--home", str(home.path))
    assert done.returncode == ExitCode.FAILURE
    said = done.stderr.replace("\n", " ").lower()
    state, cause = STATES["full" if (home.path.parent / "filler").exists() else "read-only"]
    assert WRITING[command].format(state=state, cause=cause) in said
    assert ".part" not in said
    assert "damaged" not in said
    assert "backup" not in said
    assert "inside p2pdice" not in said


def _people(here: Run, home: Home) -> list[dict[str, Any]]:
    found = json.loads(here("people", "--json", "--home", str(home.path)).stdout)
    return list(found["people"])


@needs_mounts
def test_a_log_left_by_a_crash_is_read_from_a_read_only_disk(tmp_path: Path) -> None:
    """If only the store were read, the data in the log would silently be missing."""
    with closing(Store(tmp_path / "home" / "store.sqlite3")) as store:
        store.add_choice(b"m" * 32, 1, "3x5")
        with small_disk(tmp_path / "disk") as disk:
            for name in ("store.sqlite3", "store.sqlite3-wal"):
                shutil.copyfile(tmp_path / "home" / name, disk / name)
            make_read_only(disk)
            with closing(Store(disk / "store.sqlite3", is_reader=True)) as reader:
                assert reader.choices(b"m" * 32) == {1: "3x5"}
            with closing(sqlite3.connect(f"file:{disk}/store.sqlite3?mode=ro&immutable=1", uri=True)) as alone:
                tables = alone.execute("SELECT name FROM sqlite_schema WHERE name = 'choices'").fetchall()
                assert not tables or not alone.execute("SELECT * FROM choices").fetchall()


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The store of a crashed process, on a full disk that is also used for temporary files."""
    with closing(Store(tmp_path / "home" / "store.sqlite3")) as store, small_disk(tmp_path / "disk") as disk:
        store.add_choice(b"m" * 32, 1, "3x5")
        for name in ("store.sqlite3", "store.sqlite3-wal"):
            shutil.copyfile(tmp_path / "home" / name, disk / name)
        fill(disk)
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        yield disk / "store.sqlite3"


@needs_mounts
def test_a_store_on_a_full_disk_is_read_even_without_room_for_temporary_files(full: Path) -> None:
    with closing(Store(full, is_reader=True)) as reader:
        assert reader.choices(b"m" * 32) == {1: "3x5"}


@needs_mounts
def test_without_room_for_a_copy_the_error_names_tmpdir(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_IN_MEMORY", full.parent / "none")
    with pytest.raises(FullDiskError, match="no room for a copy") as raised:
        Store(full, is_reader=True)
    assert "TMPDIR" in raised.value.hint


@needs_mounts
def test_a_store_that_changes_while_it_is_copied_is_copied_again(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may move the log into the store after the store was read and before the log is."""
    old, log = full.read_bytes(), full.with_name(f"{full.name}-wal")
    new = full.parent.with_name("new")
    new.write_bytes(old)
    new.with_name("new-wal").write_bytes(log.read_bytes())
    with closing(sqlite3.connect(new)) as emptied:
        emptied.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    read = Path.read_bytes
    seen: list[bytes] = []

    def reading(path: Path) -> bytes:
        found = read(path)
        if path == full and not seen:
            seen.append(found)
            (full.parent / "filler").unlink()
            full.write_bytes(read(new))
            log.write_bytes(b"")
            fill(full.parent)
        return found

    monkeypatch.setattr(Path, "read_bytes", reading)
    with closing(Store(full, is_reader=True)) as reader:
        assert reader.choices(b"m" * 32) == {1: "3x5"}
    assert seen == [old]


def test_a_locked_file_is_not_reported_as_a_read_only_folder(tmp_path: Path) -> None:
    """On Windows, there is only this error to go by."""
    path = tmp_path / "store.sqlite3"
    path.touch()
    error = failure("cannot use", path, PermissionError(errno.EACCES, "Permission denied", str(path)))
    assert type(error) is StoreError
    assert str(error) == f"cannot use {path}: Permission denied"


@needs_root
@pytest.mark.parametrize("is_folder_closed", [False, True])
def test_an_unreadable_file_is_not_reported_as_a_read_only_folder(is_folder_closed: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "store.sqlite3"
        Store(path).close()
        for each in (path.parent, *path.parent.iterdir()):
            os.chown(each, STRANGER, STRANGER)
        path.chmod(0)
        path.parent.chmod(0o500 if is_folder_closed else 0o700)
        os.setresuid(STRANGER, STRANGER, 0)
        try:
            with pytest.raises(StoreError) as raised:
                Store(path, is_reader=True)
        finally:
            os.setresuid(0, 0, 0)
    assert type(raised.value) is StoreError
    assert "unable to open" in str(raised.value) or "Permission denied" in str(raised.value)


@needs_mounts
@pytest.mark.parametrize("fault", ["can be read by others", "belongs to another account"])
def test_on_a_read_only_disk_the_advice_can_be_followed(
    here: Run, demo: dict[str, Any], tmp_path: Path, fault: str
) -> None:
    """It is impossible to find out whether a read-only disk keeps modes."""
    with small_disk(tmp_path / "disk") as disk:
        home = Home(disk / "home")
        shutil.copytree(Path(demo["folder"]) / "ada", home.path)
        if "account" in fault:
            os.chown(home.identity, STRANGER, STRANGER)
        else:
            home.identity.chmod(0o644)
        make_read_only(disk)
        done = here("identity", "--home", str(home.path))
    assert done.returncode == ExitCode.FAILURE
    said = done.stderr.replace("\n", " ")
    assert f"{fault}; its disk is read-only, so copy the folder to another disk" in said
    assert "--home DIR" in said
    assert "run: chmod" not in said
    assert "move it away" not in said


WITHOUT_MODES = """
import os

DISK, OWNER = os.environ["DISK_WITHOUT_MODES"], os.environ["DISK_OWNER"]
stat, lstat, fstat, chmod = os.stat, os.lstat, os.fstat, os.chmod


def is_there(path):
    if isinstance(path, int):
        path = os.readlink(f"/proc/self/fd/{path}")
    return os.path.abspath(os.fsdecode(path)).startswith(DISK + "/")


def seen(path, found):
    if not is_there(path):
        return found
    owner = int(OWNER) if OWNER else found.st_uid
    return os.stat_result((found.st_mode | 0o777, *found[1:4], owner, *found[5:10]))


os.stat = lambda path, **options: seen(path, stat(path, **options))
os.lstat = lambda path, **options: seen(path, lstat(path, **options))
os.fstat = lambda descriptor: seen(descriptor, fstat(descriptor))
os.chmod = lambda path, mode, **options: None if is_there(path) else chmod(path, mode, **options)
"""
"""Simulates exFAT, or a Windows disk under Linux: chmod does nothing, and all files have the same mode and owner."""


@pytest.mark.skipif(sys.platform != "linux", reason="the simulation needs /proc")
@pytest.mark.parametrize("owner", [*thoroughly([""]), "12345"], ids=["no modes", "no modes and no owners"])
def test_a_disk_without_modes_is_reported_once_and_can_be_played_on(p2pdice: Run, tmp_path: Path, owner: str) -> None:
    (tmp_path / "double").mkdir()
    (tmp_path / "double" / "sitecustomize.py").write_text(WITHOUT_MODES)
    disk = tmp_path / "disk"
    home = disk / "home"
    path = os.pathsep.join((str(tmp_path / "double"), str(ROOT)))
    double = {"DISK_WITHOUT_MODES": str(disk), "DISK_OWNER": owner, "PYTHONPATH": path, "P2PDICE_HOME": str(home)}
    home.mkdir(parents=True)
    said = []
    for command in ("identity", "league --bots 2 --seats 2 --set dice=1"):
        done = p2pdice(*command.split(), **double)
        assert done.returncode == ExitCode.DONE, (command, done.stderr, done.stdout)
        said.append(done.stderr)
    assert "The transcript is" in done.stdout
    (first, *later) = [each for each in said if "accounts" in each]
    assert f"{home} is on a disk that keeps no file from other accounts of this machine" in first.replace("\n", " ")
    assert "choose a folder on another disk with --home DIR" in first.replace("\n", " ")
    assert not later
    assert "yours alone" not in "".join(said)
    (home / "p2pdice.log").rename(home / "p2pdice.log.1")
    (home / "p2pdice.log").symlink_to(tmp_path / "elsewhere")
    assert "p2pdice.log: It is a link" in p2pdice("matches", **double).stderr
    (home / "p2pdice.log").unlink()
    found = {
        each["check"]: each
        for each in json.loads(p2pdice("doctor", "--json", "--wait", "0.5", **double).stdout)["findings"]
    }
    assert (found["home"]["state"], found["key"]["state"]) == ("warning", "ok")
