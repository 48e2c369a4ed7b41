"""The command line as its users meet it: processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a process under test: a home of its own, 80 columns, nothing that changes output."""
    kept = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS", "FORCE_COLOR"}}
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return kept | {"P2PDICE_HOME": str(home), "COLUMNS": "80", "PYTHONPATH": path, "PYTHONUTF8": "1"}


@pytest.fixture
def p2pdice(tmp_path: Path) -> Run:
    """Run one command to its end, with ``given`` on standard input."""

    def run(*arguments: str, given: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "p2pdice", *arguments]
        env = environment(tmp_path / "home") | variables
        return subprocess.run(
            command, env=env, input=given, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False
        )

    return run


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The summary of one demo, whose transcripts other tests look at."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "p2pdice", "demo", "--seed", "1", "--out", str(folder / "homes"), "--json"]
    done = subprocess.run(
        command, env=environment(folder / "home"), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout)) | {"progress": done.stderr}
