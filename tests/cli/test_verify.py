"""``verify``: verdicts as exit codes, for people and as data, whatever the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.commands.verify import CODES, WORST_FIRST, describe
from cli.exits import ExitCode
from protocol.verifier import Judgement, Verdict
from tests.cli.conftest import Run

KEYS = {
    "file", "verdict", "culprit", "step", "reason", "match", "rules", "players", "winners", "steps", "signatures",
}  # fmt: skip


@pytest.fixture
def files(demo: dict[str, Any], tmp_path: Path) -> dict[str, str]:
    """Return files of every kind that a test can make from one fair match."""
    fair = Path(demo["transcripts"][0]).read_bytes()
    contents = {
        "fair": fair,
        "cut": fair[: len(fair) // 2],
        "flipped": fair[:-40] + bytes([fair[-40] ^ 1]) + fair[-39:],
        "empty": b"",
        "garbage": b"\x1b[2J no transcript \xff",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return {name: str(tmp_path / name) for name in (*contents, "missing")}


@pytest.mark.parametrize(
    ("names", "codes"),
    [
        (["fair"], {0}),
        (["cut"], {11, 12}),
        (["flipped"], {12}),
        (["empty"], {12}),
        (["garbage"], {12}),
        (["missing"], {1}),
        (["fair", "garbage", "fair"], {12}),
        (["fair", "missing"], {1}),
        (["missing", "garbage"], {12}),
    ],
    ids=str,
)
def test_the_exit_code_is_the_worst_verdict(
    p2pdice: Run, files: dict[str, str], names: list[str], codes: set[int]
) -> None:
    done = p2pdice("verify", *(files[name] for name in names))
    assert done.returncode in codes
    assert len(done.stdout.splitlines()) + len(done.stderr.splitlines()) == len(names)
    assert (done.stdout + done.stderr).replace("\n", "").isprintable()


def test_a_fair_match_is_described(p2pdice: Run, files: dict[str, str], demo: dict[str, Any]) -> None:
    text = p2pdice("verify", files["fair"]).stdout
    assert f"{files['fair']}: FAIR." in text
    assert f"{demo['winners'][0]} won." in text
    assert f"{demo['signatures']} signatures in {demo['steps']} steps" in text


def test_verdicts_as_data(p2pdice: Run, files: dict[str, str], demo: dict[str, Any]) -> None:
    done = p2pdice("verify", "--json", files["fair"], files["missing"], files["garbage"])
    fair, garbage = map(json.loads, done.stdout.splitlines())
    assert set(fair) == set(garbage) == KEYS
    assert [fair[key] for key in ("file", "verdict", "culprit", "winners")] == [
        files["fair"],
        "fair",
        None,
        demo["winners"],
    ]
    assert [garbage[key] for key in ("file", "verdict", "culprit", "players")] == [
        files["garbage"],
        "altered",
        None,
        [],
    ]
    assert "missing" in done.stderr


def test_a_folder_is_no_transcript(p2pdice: Run, tmp_path: Path) -> None:
    done = p2pdice("verify", str(tmp_path))
    assert done.returncode == ExitCode.FAILURE
    assert "Traceback" not in done.stderr


def test_every_judgement_has_a_code_and_a_rank() -> None:
    assert set(CODES) == {judgement.value for judgement in Judgement}
    assert sorted({*CODES.values(), ExitCode.FAILURE}) == sorted(WORST_FIRST)
    assert WORST_FIRST[0] is ExitCode.MISCONDUCT


@pytest.mark.parametrize("judgement", Judgement)
def test_every_judgement_is_described_and_hostile_names_are_escaped(judgement: Judgement) -> None:
    text = describe(
        Verdict(judgement, "so it is\x1b[2J", "Eve\n", 7, "ab" * 32, "classic", ("Eve\n", "\u202eBen"), (), 7, 9)
    )
    assert text.isprintable()
    assert "step 7" in text
