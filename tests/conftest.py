"""Options of the whole test run."""

import gc
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis
import pytest

from tests.network.company import Company, company
from tests.network.namespaces import HAS_OWN_NETWORK, elsewhere, give_up, leave_the_network
from tests.simulation.signatures import cached_checks

# No deadlines: the machine may be busy.
hypothesis.settings.register_profile("ordinary", deadline=None, max_examples=20)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=500)
hypothesis.settings.load_profile("ordinary")

TIERS = {"thorough": "minutes longer", "slow": "hours longer"}
"""Markers of the tests that the README's command skips. ``--slow`` includes the tests of ``--thorough``."""
LEFT = pytest.StashKey[dict[str, int]]()
"""How many tests were skipped because of each marker."""
LATER = pytest.StashKey[str]()
"""The marker that makes this run skip a test. A dictionary by test would fail: xdist renames tests, and so their hashes
change."""
FOLDER = Path(__file__).parent
MEMORY = Path("/dev/shm")
"""A folder that Linux keeps in memory. On a disk, tests would spend most of their time syncing hundreds of stores."""
ENOUGH = 2**30
"""The free bytes that this folder must have. A complete run needs less than a tenth of them."""


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until the tests are collected
    if config.getoption("thorough") or config.getoption("slow"):
        hypothesis.settings.load_profile("thorough")
    if config.getoption("dist", "no") == "no":  # this process runs tests itself
        config.stash[HAS_OWN_NETWORK] = leave_the_network()
    # A shell makes background jobs ignore Ctrl-C, and the processes that tests start would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Tests must not read the user's own settings.
    os.environ["P2PDICE_CONFIG"] = os.devnull
    # Some containers set this variable. Then each of hundreds of processes would compile all modules again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ENOUGH:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.hookimpl(trylast=True)  # before its own hook, hypothesis forbids strategies
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the tests in two processes first. Otherwise all workers of a complete run would do so at once."""
    is_alone = session.config.getoption("dist", "no") == "no"
    is_whole = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if is_alone or not is_whole or any(FOLDER.glob("cli/__pycache__/test_*-pytest-*.pyc")):
        return
    looking = [sys.executable, "-m", "pytest", "-q", "-n0", "--collect-only", "-p", "no:cacheprovider"]
    halves = ([FOLDER / "cli"], [FOLDER, f"--ignore={FOLDER / 'cli'}"])
    collecting = [subprocess.Popen([*looking, *half], stdout=subprocess.DEVNULL) for half in halves]
    hypothesis.strategies.text().validate()  # finds all encodable characters, and keeps them for the workers
    for process in collecting:
        process.wait()  # the workers will report any errors


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of test processes. On an idle machine, they spend two thirds of their time waiting."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(3 * cores, cores + 16)


def pytest_addoption(parser: pytest.Parser) -> None:
    for tier, length in TIERS.items():
        parser.addoption(f"--{tier}", action="store_true", help=f"run the tests marked {tier} as well: {length}")


@pytest.hookimpl(wrapper=True)  # before xdist looks for groups, and after others have deselected tests
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    tiers = list(TIERS)
    asked_for = max((place for place, tier in enumerate(tiers, 1) if config.getoption(tier)), default=0)
    for item in items:
        names = {mark.name for mark in item.iter_markers()}
        if "multicast" in names and not config.stash.get(HAS_OWN_NETWORK, False):
            item.add_marker(pytest.mark.xdist_group("multicast"))
        elif "demo" in getattr(item, "fixturenames", ()):  # its match is played once in each process that uses it
            item.add_marker(pytest.mark.xdist_group("demo"))
        if tier := next((tier for tier in tiers[asked_for:] if tier in names), None):
            item.stash[LATER] = tier
    yield
    left = Counter(item.stash[LATER] for item in items if LATER in item.stash)
    items[:] = [item for item in items if LATER not in item.stash]
    config.stash[LEFT] = left
    if hasattr(config, "workeroutput"):  # this is a worker of xdist
        config.workeroutput["left"] = dict(left)


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection, which then only has to search what tests create."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000)  # frequent collections took a tenth of the time of simulated worlds and found little


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Read from a worker how many tests it skipped."""
    node.config.stash[LEFT] = getattr(node, "workeroutput", {}).get("left", {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report in pytest's last line how many tests are left to longer runs."""
    for tier, count in config.stash.get(LEFT, {}).items():
        terminalreporter.stats[f"left to --{tier}"] = [SimpleNamespace()] * count


@pytest.fixture(scope="module", autouse=True)
def checked_once() -> Iterator[None]:
    """Check each signature only once per test file, because the nodes of a world and the judge get the same ones."""
    with cached_checks():
        yield


@pytest.fixture
async def people(tmp_path: Path) -> AsyncIterator[Company]:
    """The players of one test, whose nodes run in this process and are closed after the test."""
    async with company(tmp_path) as gathered:
        yield gathered


@pytest.fixture(scope="session", name="elsewhere")
def other_machines(pytestconfig: pytest.Config) -> Callable[[int], str]:
    """A function from numbers to addresses that a node on loopback treats as other machines."""
    if not pytestconfig.stash.get(HAS_OWN_NETWORK, False):
        give_up("addresses of other machines need a network of one's own, and that needs Linux, root and ip")
    return elsewhere
