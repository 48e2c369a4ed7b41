"""A home that was open to other accounts is closed with a message, and no other folder is changed."""

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
    """A home of an earlier version, in a folder with mode 755."""
    folder = tmp_path / "home"
    assert here("identity", "show").returncode == 0
    for name in ("matches", "proofs"):
        (folder / name).mkdir(mode=0o755)
    for path in ("store.sqlite3-wal", "p2pdice.log", "p2pdice.log.1", "matches/a.p2pdice", "proofs/b.p2pdice"):
        (folder / path).touch()
        (folder / path).chmod(0o644)
    folder.chmod(0o755)
    return folder


def test_an_open_home_is_closed_with_a_single_message(here: Run, home: Path) -> None:
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
def test_every_command_that_uses_a_home_closes_it(here: Run, home: Path, command: str) -> None:
    assert "it is yours alone now." in here(*command.split(), given="a\n" if "house" in command else "").stderr
    assert mode(home) == 0o700


def test_open_files_in_a_closed_home_are_closed_silently(here: Run, home: Path) -> None:
    home.chmod(0o700)
    assert here("matches").stderr == ""
    assert mode(home / "matches" / "a.p2pdice") == 0o600


@pytest.mark.parametrize("what", ["a file of something else", "the sticky bit"])
def test_a_folder_that_is_not_a_home_is_left_open_with_a_message(home: Path, what: str) -> None:
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


def test_a_folder_that_also_contains_the_settings_is_a_home(here: Run, home: Path) -> None:
    """On macOS and Windows, data and settings are in the same folder."""
    (home / "config.toml").touch(0o644)
    (home / "config.toml").chmod(0o644)
    assert "it is yours alone now." in here("identity", "show").stderr
    assert (mode(home), mode(home / "config.toml")) == (0o700, 0o600)


def test_a_link_in_a_home_leaves_its_target_open(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch(0o644)
    (home / "matches" / "link.p2pdice").symlink_to(elsewhere)
    close_to_others(home)
    assert mode(elsewhere) == 0o644


@pytest.mark.parametrize("name", ["matches", "proofs", "bots"])
def test_a_linked_folder_in_a_home_leaves_its_target_open(home: Path, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(0o755)
    (elsewhere / "file").touch(0o644)
    if (home / name).exists():
        (home / name).rename(tmp_path / "before")
    (home / name).symlink_to(elsewhere)
    with pytest.raises(NotOwnError, match="It is a link, which is not followed"):
        close_to_others(home)
    assert (mode(elsewhere), mode(elsewhere / "file"), mode(home)) == (0o755, 0o644, 0o700)


def test_files_of_file_browsers_do_not_keep_a_home_open(home: Path) -> None:
    (home / ".DS_Store").touch(0o644)
    assert "it is yours alone now" in str(close_to_others(home)[-1])
    assert mode(home) == 0o700


def test_a_file_that_vanishes_while_the_home_is_closed_is_ignored(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, SQLite removes the write-ahead log when the process that used the home ends."""
    listdir = os.listdir

    def vanish(folder: Path) -> list[str]:
        names = listdir(folder)
        (folder / "store.sqlite3-wal").unlink()
        return names

    monkeypatch.setattr(os, "listdir", vanish)
    close_to_others(home)
    assert mode(home / "matches" / "a.p2pdice") == 0o600


def test_a_failed_write_leaves_the_old_file_and_its_neighbours(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_new_empty_folder_is_closed_silently(here: Run, tmp_path: Path) -> None:
    new = tmp_path / "new"
    new.mkdir(0o755)
    done = here("--home", str(new), "identity", "show")
    assert done.stderr == ""
    assert mode(new) == 0o700
