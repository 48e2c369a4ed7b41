"""Examples in docstrings are correct."""

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
def test_examples_in_docstrings_are_correct(module: str) -> None:
    failed, attempted = doctest.testmod(import_module(module), optionflags=doctest.ELLIPSIS)
    assert (failed, attempted > 0) == (0, True)
