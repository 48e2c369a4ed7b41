"""No test fails because others play on this machine, or because the machine is busy."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.network.namespaces import HAS_OWN_NETWORK, give_up
from tests.programs import ROOT, Program

TABLES = 100
FOUND_BY_LINE = ("cli/test_screen.py", "network/test_again.py")
"""Test files to leave out: their nodes advertise tables, but find each other by join lines."""
BUSY = "while True: pass"


@pytest.mark.slow
@pytest.mark.timeout(1600)
def test_multicast_tests_pass_beside_a_hundred_tables_on_a_busy_machine(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests run in a new process, in the same network namespace as the hundred tables."""
    if not request.config.stash[HAS_OWN_NETWORK]:
        give_up("tests have no network of their own here")
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        monkeypatch.delenv(name)
    with ExitStack() as stack:
        tables = Program("-m", "tests.network.neighbours", "--tables", str(TABLES), home=tmp_path)
        stack.enter_context(tables).wait_for(lambda: tables.output, f"{TABLES} tables")
        for _ in range(2 * (os.cpu_count() or 1)):
            stack.enter_context(Program("-c", BUSY, home=tmp_path))
        options = ("-q", "-n0", "-m", "multicast", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "tests"))
        ignored = [f"--ignore={ROOT / 'tests' / name}" for name in FOUND_BY_LINE]
        tests = stack.enter_context(Program("-m", "pytest", *options, *ignored, str(ROOT / "tests"), home=tmp_path))
        assert tests.end(patience=1500) == 0, tests.shown()
