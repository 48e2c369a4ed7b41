"""The README's command skips tests that are marked for longer runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.programs import ROOT


def test_a_worker_skips_tests_of_longer_runs() -> None:
    """These tests use the demo's match. Workers rename such tests, to run them in one process."""
    thorough = ("-k", "at and rest and matches and save", "tests/cli/test_disks.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n1", "-p", "no:cacheprovider", *thorough],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, done.stdout
    assert "left to --thorough" in done.stdout
