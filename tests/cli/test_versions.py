"""Commands answer version 1 of the protocol with a sentence and exit code 4."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from cli.exits import ExitCode
from protocol.crypto.keys import Identity
from protocol.storage.home import Home
from tests.cli.conftest import Run
from tests.protocol.test_versions import TRANSCRIPT, old_match

WHY = "played by version 1 of the protocol, and this program speaks version 3"
NAME = f"{date.fromtimestamp(0)}-friday"


@pytest.fixture
def match(tmp_path: Path) -> str:
    """Put an unfinished match of version 1 into the home of the commands; return its id."""
    return old_match(Home(tmp_path / "home"), over=False).hex()


@pytest.fixture
def transcript(tmp_path: Path, match: str) -> str:
    """Write the transcript of the match into the home; return its file name."""
    folder = Home(tmp_path / "home").matches
    folder.mkdir()
    path = folder / f"1970-01-01-house-rules-{match[:8]}.p2pdice"
    path.write_bytes(TRANSCRIPT)
    return path.name


@pytest.mark.parametrize("command", ["verify", "replay"])
def test_an_old_transcript_is_refused(here: Run, transcript: str, match: str, command: str) -> None:
    for name in (transcript, match[:8], NAME, "last"):
        done = here(command, name)
        assert done.returncode == ExitCode.MISMATCH
        assert "ANOTHER PROTOCOL VERSION." in done.stdout + done.stderr
        assert WHY in (done.stdout + done.stderr).lower()
    done = here(command, transcript, "--json")
    assert done.returncode == ExitCode.MISMATCH
    assert json.loads(done.stdout)["verdict"] == "other version"


def test_among_several_files_an_old_one_is_worse_than_a_missing_one(here: Run, transcript: str, tmp_path: Path) -> None:
    assert here("verify", transcript, str(tmp_path / "none")).returncode == ExitCode.MISMATCH
    (tmp_path / "none").write_bytes(b"x")
    assert here("verify", transcript, str(tmp_path / "none")).returncode == ExitCode.ALTERED


def test_old_matches_are_listed_as_old_and_without_suggested_commands(here: Run, transcript: str) -> None:
    done = here("matches")
    assert done.stdout == f"{NAME}  old         {WHY}\n"
    (listed,) = json.loads(here("matches", "--json").stdout)["matches"]
    assert (listed["state"], listed["rules"], listed["players"]) == ("old", None, [])
    assert listed["transcript"].endswith(transcript)
    here("matches", "forget", NAME, "--yes")
    (left,) = json.loads(here("matches", "--json").stdout)["matches"]
    assert (left["state"], left["match"][:8]) == ("old", transcript[-16:-8])


@pytest.mark.parametrize("command", [("resume",), ("resume", "last"), ("resume", NAME), ("matches", "save", NAME)])
def test_an_old_match_can_be_neither_resumed_nor_saved(
    here: Run, match: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    Identity.load_or_create(tmp_path / "home")
    done = here(*command)
    assert WHY in done.stderr
    assert done.returncode == ExitCode.MISMATCH


def test_old_matches_are_not_listed_as_resumable(here: Run, match: str) -> None:
    assert here("resume", "--list").stdout == "There is no unfinished match here.\n"
