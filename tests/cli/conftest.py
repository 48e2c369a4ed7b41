"""Fixtures that run commands, in a process of their own or in the process of the test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.programs import MODULE, Done, run, run_here

Run = Callable[..., Done]


@pytest.fixture
def p2pdice(tmp_path: Path) -> Run:
    """Run a command in a new process until it ends, with ``given`` on standard input."""

    def command(*arguments: str, given: str = "", **variables: str) -> Done:
        return run(*MODULE, *arguments, home=tmp_path / "home", given=given, variables=variables)

    return command


@pytest.fixture
def here(tmp_path: Path) -> Run:
    """Run a command as ``p2pdice`` does, but in the process of the test, which is faster."""

    def command(*arguments: str, given: str = "", **variables: str) -> Done:
        return run_here(*arguments, home=tmp_path / "home", given=given, variables=variables)

    return command


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The summary of a demo. Several tests read its transcripts."""
    folder = tmp_path_factory.mktemp("demo")
    out = str(folder / "homes")
    done = run(*MODULE, "demo", "--seed", "1", "--out", out, "--json", home=folder / "home")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout)) | {"progress": done.stderr}
