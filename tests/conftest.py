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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow as well")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="a long run: give --slow"))


@pytest.fixture(scope="session")
def third_party() -> Callable[[str], Any]:
    """Read a file of other people's test vectors, which lie beside the project, not in it."""

    def read(name: str) -> Any:
        path = Path(__file__).resolve().parents[2] / "shared" / "vectors" / name
        if not path.is_file():
            pytest.skip(f"third-party vectors are not here: {path.name} is looked for in ../shared/vectors")
        return json.loads(path.read_text(encoding="utf-8"))

    return read
