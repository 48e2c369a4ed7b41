"""Files that others planted in a home while it was open to them are named and refused.

A planted file leads to another file, of the owner or of another account. No command may change that file.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from cli.exits import ExitCode
from protocol.crypto.keys import Identity
from protocol.storage.home import Home
from tests.cli.conftest import Run
from tests.disks import STRANGER, needs_root
from tests.programs import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="on Windows, creating links needs a special right")

STORE_FILES = ("store.sqlite3", "-wal", "-shm", "-journal", "-newest", "-lock", "-lock-journal")
FILES = (*(name if "." in name else f"store.sqlite3{name}" for name in STORE_FILES), "p2pdice.log")
VECTOR = ROOT / "tests" / "vectors" / "resign.p2pdice"
PRECIOUS = b"a file of the owner's, in which p2pdice has no business"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home that every account can write to."""
    made = Home(tmp_path / "home")
    Identity.load_or_create(made.path)
    made.path.chmod(0o777)
    return made


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.write_bytes(PRECIOUS)
    return path


def plant(kind: str, path: Path, precious: Path) -> None:
    path.unlink(missing_ok=True)
    if kind == "a link":
        path.symlink_to(precious)
    elif kind == "a hard link":
        path.hardlink_to(precious)
    elif kind == "a pipe":
        os.mkfifo(path, 0o600)
    else:
        path.write_bytes(b"")
        path.chmod(0o666)
        os.chown(path, STRANGER, STRANGER)


KINDS = ["a link", "a hard link", "a pipe", pytest.param("a file of another account", marks=needs_root)]
REASONS = {
    "a link": "It is a link, which is not followed",
    "a hard link": "It has another name somewhere else (a hard link)",
    "a pipe": "It is a pipe, not a file",
    "a file of another account": "It belongs to another account",
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_file_is_refused_by_its_name(here: Run, home: Home, precious: Path, kind: str, name: str) -> None:
    planted = home.path / name
    plant(kind, planted, precious)
    for again in (False, True):  # the first command closes the folder
        done = here("purse", "--json") if again else here("identity", "new", "--yes")
        assert done.returncode == ExitCode.FAILURE
        assert f"{planted}: {REASONS[kind]}" in done.stderr
        assert "move it away, or choose another folder with --home DIR" in done.stderr.replace("\n", " ")
        assert "yours alone" not in done.stderr
        assert ("removes duplicate files" in done.stderr.replace("\n", " ")) == (kind == "a hard link")
    assert precious.read_bytes() == PRECIOUS
    assert kind == "a pipe" or planted.read_bytes() == (b"" if "account" in kind else PRECIOUS)
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["matches", "proofs", "bots", "arenas"])
def test_a_planted_folder_is_refused_by_its_name(here: Run, home: Home, tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (home.path / name).symlink_to(tmp_path / "elsewhere")
    done = here("matches")
    assert done.returncode == ExitCode.FAILURE
    assert f"{home.path / name}: It is a link, which is not followed" in done.stderr
    assert "yours alone" not in done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_transcript_is_not_listed_and_is_refused_by_its_name(
    here: Run, home: Home, tmp_path: Path, kind: str
) -> None:
    home.path.chmod(0o700)
    home.matches.mkdir(0o700)
    name = "2026-11-22-classic-3f2a9c41"
    plant(kind, home.matches / f"{name}.p2pdice", VECTOR if "hard" not in kind else _copied(VECTOR, tmp_path))
    assert here("matches").stdout == "No match is kept here.\n"
    done = here("verify", name)
    assert done.returncode == ExitCode.FAILURE
    assert f"{home.matches / name}.p2pdice: {REASONS[kind]}" in done.stderr


def _copied(path: Path, folder: Path) -> Path:
    return Path(shutil.copy(path, folder))


@pytest.mark.parametrize("mode", [0o770, 0o775, 0o707, 0o777])
def test_a_home_that_is_writable_by_others_and_cannot_be_closed_is_refused(here: Run, home: Home, mode: int) -> None:
    home.path.chmod(mode)
    (home.path / "notes.txt").touch()
    done = here("matches")
    assert done.returncode == ExitCode.FAILURE
    assert f"{home.path}: It can be written to by other accounts of this machine" in done.stderr
    assert stat.S_IMODE(home.path.stat().st_mode) == mode
    home.path.chmod(0o755)
    done = here("matches")
    assert done.returncode == ExitCode.DONE
    assert "was left so, as it holds notes.txt, which is not p2pdice's" in done.stderr


@needs_root
def test_a_home_of_another_account_is_refused(here: Run, home: Home) -> None:
    os.chown(home.path, STRANGER, STRANGER)
    for mode in (0o755, 0o700):
        home.path.chmod(mode)
        done = here("matches")
        assert done.returncode == ExitCode.FAILURE
        assert f"{home.path}: It belongs to another account" in done.stderr


@pytest.mark.parametrize("mode", [0o750, 0o770, 0o705, 0o777])
def test_a_checked_home_is_closed_to_others(here: Run, home: Home, mode: int) -> None:
    home.path.chmod(mode)
    assert here("matches").stderr == f"{home.path} was open to other accounts of this machine; it is yours alone now.\n"
