"""For an account without a home folder, some commands work, and the others explain how to name a folder."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.exits import ExitCode
from tests import programs
from tests.disks import AS_STRANGER, needs_setpriv
from tests.programs import MODULE, ROOT, Done
from tests.tiers import thoroughly

# In a group, only one process starts zygotes for the account.
pytestmark = [needs_setpriv, pytest.mark.xdist_group("stranger")]

VECTOR = str(ROOT / "tests" / "vectors" / "resign.p2pdice")
SAID = (
    "This account has no home folder.\n"
    "Name a folder with --home DIR (or P2PDICE_HOME), and a file for settings with P2PDICE_CONFIG.\n"
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the account may write to, unlike the folders of pytest."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o777)
        yield Path(made)


def run(folder: Path, *arguments: str, **variables: str) -> Done:
    nowhere = dict.fromkeys(("HOME", "P2PDICE_HOME", "P2PDICE_CONFIG", "XDG_DATA_HOME", "XDG_CONFIG_HOME"))
    own = nowhere | {"TMPDIR": str(folder)} | variables
    return programs.run(*MODULE, *arguments, home=folder, folder=folder, prefix=AS_STRANGER, variables=own)


@pytest.mark.parametrize(
    "command",
    [
        "verify VECTOR",
        "replay VECTOR",
        "report VECTOR --out page.html",
        "rules classic",
        "odds 3x5",
        "settings",
        "settings --json",
        "referee --players 2",
        "tables",
        "--help",
        *thoroughly(
            [
                "demo --players 2",
                "arena random odds --games 2 --out games.ndjson",
                f"bot check -- {sys.executable} {ROOT}/examples/odds15.py",
            ]
        ),
    ],
)
def test_commands_that_need_no_home_work_without_one(folder: Path, command: str) -> None:
    done = run(folder, *command.replace("VECTOR", VECTOR).split())
    assert SAID not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == ExitCode.DONE, done.stderr
    assert not list(folder.rglob("~"))


@pytest.mark.parametrize(
    "command",
    [
        *["matches", "history", "verify last", "host", "join 127.0.0.1:1", "resume", "identity", "people", "purse"],
        *["settings path", "settings set pace 1", "arena random odds --games 2", "bot 127.0.0.1:1 -- true"],
        *["watch 127.0.0.1:1", "identity backup x", "identity restore x", "replay last", "report last"],
    ],
)
def test_commands_that_need_a_home_say_how_to_name_one(folder: Path, command: str) -> None:
    done = run(folder, *command.split())
    assert done.stderr.removeprefix("Error: ") == SAID
    assert done.returncode == ExitCode.FAILURE
    assert not list(folder.iterdir())


def test_doctor_reports_that_the_account_has_no_home_folder(folder: Path) -> None:
    done = run(folder, "doctor", "--wait", "0.5")
    assert "home: this account has no home folder" in done.stdout.replace("\n", " ")
    assert "P2PDICE_CONFIG" in done.stdout.replace("\n", " ")


def test_a_named_home_is_used(folder: Path) -> None:
    done = run(folder, "identity", "--home", "here")
    assert (done.returncode, done.stderr) == (ExitCode.DONE, "")
    done = run(folder, "matches", P2PDICE_HOME="here")
    assert (done.returncode, done.stdout) == (ExitCode.DONE, "No match is kept here.\n")
    done = run(folder, "identity", "--home", str(folder))  # it belongs to root, and everybody can write to it
    assert "It can be written to by other accounts of this machine; take that right away" in done.stderr
    done = run(folder, "verify", "nothing", "--home", "here")
    assert "no match in here has that name" in done.stderr
