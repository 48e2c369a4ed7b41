"""Options of the whole test run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# Nothing asserts how long something takes: a machine may be busy.
hypothesis.settings.register_profile("p2pdice", deadline=None)
hypothesis.settings.load_profile("p2pdice")


TIERS = {"thorough": "minutes longer", "slow": "hours longer"}
"""Markers of tests that the README's command leaves to longer runs; ``--slow`` runs what ``--thorough`` does, too."""
LEFT = "left to --"


def pytest_addoption(parser: pytest.Parser) -> None:
    for tier, length in TIERS.items():
        parser.addoption(f"--{tier}", action="store_true", help=f"run the tests marked {tier} as well: {length}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tiers = list(TIERS)
    asked_for = max((place for place, tier in enumerate(tiers, 1) if config.getoption(tier)), default=0)
    for item in items:
        for tier in tiers[asked_for:]:
            if item.get_closest_marker(tier):
                item.add_marker(pytest.mark.skip(reason=f"{LEFT}{tier}"))


def pytest_report_teststatus(report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, str] | None:
    """Count what is left to a longer run apart from what cannot run on this machine, in pytest's closing line."""
    if report.skipped and isinstance(report.longrepr, tuple) and LEFT in (reason := report.longrepr[2]):
        return reason.removeprefix("Skipped: "), "", "LEFT"
    return None


@pytest.fixture(scope="session")
def third_party() -> Callable[[str], Any]:
    """Read a file of other people's test vectors, which lie beside the project, not in it."""

    def read(name: str) -> Any:
        path = Path(__file__).resolve().parents[2] / "shared" / "vectors" / name
        if not path.is_file():
            pytest.skip(f"third-party vectors are not here: {path.name} is looked for in ../shared/vectors")
        return json.loads(path.read_text(encoding="utf-8"))

    return read
