"""Every target handles its examples, changed examples, and random bytes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.target import Target
from tests.fuzz.targets import TARGETS

EXPENSIVE = {"identity": 15, "purse": 60, "replay-command": 25, "store": 25, "verifier": 60, "verify-command": 15}
"""The number of inputs for targets that need many milliseconds per input."""
RELAXED = settings(suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_examples(target: Target) -> None:
    for data in target.examples():
        target.check(data)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_changed_examples(target: Target) -> None:
    examples = target.examples()

    @settings(RELAXED, max_examples=EXPENSIVE.get(target.name, 30))
    @given(st.sampled_from(examples), st.integers(1, 4), st.randoms())
    def changed(data: bytes, changes: int, rng: Random) -> None:
        for _ in range(changes):
            data = target.mutate(rng, data)
        target.check(data)

    changed()


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_any_bytes(target: Target) -> None:
    @settings(RELAXED, max_examples=EXPENSIVE.get(target.name, 30) // 2)
    @given(st.binary(max_size=300))
    def any_bytes(data: bytes) -> None:
        target.check(data)

    any_bytes()


def test_a_long_run_works_or_says_how_to_install_atheris(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz.long", "move", "--seconds", "1", "--findings", str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    if importlib.util.find_spec("atheris") is None:
        assert (done.returncode, done.stdout) == (2, "")
        assert "pip install" in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert "stat::number_of_executed_units" in done.stderr


def test_a_finding_can_be_replayed(tmp_path: Path) -> None:
    finding = tmp_path / "finding"
    finding.write_bytes(b"3x5")
    command = [sys.executable, "-m", "tests.fuzz.long", "move", "--replay", str(finding)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    assert "accepted" in done.stdout
