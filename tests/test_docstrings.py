"""Examples in docstrings are what happens."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in ("p2pdice", "protocol", "cli")
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", MODULES)
def test_an_example_of_a_docstring_is_what_happens(module: str) -> None:
    failed, attempted = doctest.testmod(import_module(module), optionflags=doctest.ELLIPSIS)
    assert (failed, attempted > 0) == (0, True)
