"""A home is its owner's alone: one that was open is closed, which is said, and nobody else's folder is touched."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from protocol.files import NotOwnError, write_whole
from protocol.storage.home import close_to_others
from tests.cli.conftest import Run
from tests.tiers import thoroughly

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no mode bits")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def home(here: Run, tmp_path: Path) -> Path:
    """A home as an earlier version left it, in a folder that was made by hand."""
    folder = tmp_path / "home"
    assert here("identity", "show").returncode == 0
    for name in ("matches", "proofs"):
        (folder / name).mkdir(mode=0o755)
    for path in ("store.sqlite3-wal", "p2pdice.log", "p2pdice.log.1", "matches/a.p2pdice", "proofs/b.p2pdice"):
        (folder / path).touch()
        (folder / path).chmod(0o644)
    folder.chmod(0o755)
    return folder


def test_a_home_that_was_open_is_closed_and_that_is_said_once(here: Run, home: Path) -> None:
    first, second = here("identity", "show"), here("identity", "show")
    assert first.stderr == f"{home} was open to other accounts of this machine; it is yours alone now.\n"
    assert second.stderr == ""
    assert first.stdout == second.stdout
    for path in (home, *home.rglob("*")):
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize(
    "command",
    [
        *["host", "matches", "join 127.0.0.1:1"],
        *thoroughly(["resume", "matches save last", "bot check -- true", "house-bot --name Bot"]),
        *thoroughly(["watch 127.0.0.1:1", "bot 127.0.0.1:1 -- true"]),
    ],
)
def test_whatever_uses_a_home_closes_it(here: Run, home: Path, command: str) -> None:
    assert "it is yours alone now." in here(*command.split(), given="a\n" if "house" in command else "").stderr
    assert mode(home) == 0o700


def test_files_that_were_open_in_a_closed_home_are_closed_without_a_word(here: Run, home: Path) -> None:
    home.chmod(0o700)
    assert here("matches").stderr == ""
    assert mode(home / "matches" / "a.p2pdice") == 0o600


@pytest.mark.parametrize("what", ["a file of something else", "the sticky bit"])
def test_a_folder_that_is_no_home_is_left_as_it_is_and_that_is_said(home: Path, what: str) -> None:
    if what == "a file of something else":
        (home / ".bashrc").touch(0o644)
    else:
        home.chmod(0o1777)
    before = {path: mode(path) for path in (home, *home.rglob("*"))}
    said = "".join(map(str, close_to_others(home)))
    assert said.startswith(f"{home} is open to other accounts of this machine, and was left so, as it ")
    assert (".bashrc" in said) == (what == "a file of something else")
    assert said.endswith(f"to close it: chmod 700 {home}")
    assert {path: mode(path) for path in before} == before


def test_a_home_in_which_the_settings_lie_is_one(here: Run, home: Path) -> None:
    """macOS and Windows have one folder for data and settings."""
    (home / "config.toml").touch(0o644)
    (home / "config.toml").chmod(0o644)
    assert "it is yours alone now." in here("identity", "show").stderr
    assert (mode(home), mode(home / "config.toml")) == (0o700, 0o600)


def test_a_link_in_a_home_closes_nothing_elsewhere(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch(0o644)
    (home / "matches" / "link.p2pdice").symlink_to(elsewhere)
    close_to_others(home)
    assert mode(elsewhere) == 0o644


@pytest.mark.parametrize("name", ["matches", "proofs", "bots"])
def test_a_folder_of_a_home_that_is_a_link_closes_nothing_elsewhere(home: Path, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(0o755)
    (elsewhere / "file").touch(0o644)
    if (home / name).exists():
        (home / name).rename(tmp_path / "before")
    (home / name).symlink_to(elsewhere)
    with pytest.raises(NotOwnError, match="It is a link, which is not followed"):
        close_to_others(home)
    assert (mode(elsewhere), mode(elsewhere / "file"), mode(home)) == (0o755, 0o644, 0o700)


def test_files_that_file_browsers_leave_in_a_home_do_not_keep_it_open(home: Path) -> None:
    (home / ".DS_Store").touch(0o644)
    assert "it is yours alone now" in str(close_to_others(home)[-1])
    assert mode(home) == 0o700


def test_a_file_that_another_process_removes_meanwhile_is_none_to_close(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the write-ahead log goes when the process that used the home ends."""
    listdir = os.listdir

    def vanish(folder: Path) -> list[str]:
        names = listdir(folder)
        (folder / "store.sqlite3-wal").unlink()
        return names

    monkeypatch.setattr(os, "listdir", vanish)
    close_to_others(home)
    assert mode(home / "matches" / "a.p2pdice") == 0o600


def test_a_file_is_written_whole_without_touching_its_neighbours(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    neighbour, saved = home / "game.part", home / "game.p2pdice"
    neighbour.write_bytes(b"mine")
    write_whole(saved, b"first")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_whole(saved, b"second")
    assert (neighbour.read_bytes(), saved.read_bytes(), mode(saved)) == (b"mine", b"first", 0o600)
    assert {path.name for path in home.glob("game*")} == {"game.part", "game.p2pdice"}


def test_nothing_is_said_of_a_new_empty_folder(here: Run, tmp_path: Path) -> None:
    new = tmp_path / "new"
    new.mkdir(0o755)
    done = here("--home", str(new), "identity", "show")
    assert done.stderr == ""
    assert mode(new) == 0o700
