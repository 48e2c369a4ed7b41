"""The floors: cli stands on protocol, protocol on p2pdice, and the cores of the agreement do no I/O."""

from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parents[1]


def test_every_import_contract_is_kept(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), cache_dir=None, no_cache=True, no_logo=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_the_game_needs_nothing_but_the_standard_library() -> None:
    import grimp

    graph = grimp.build_graph("p2pdice", include_external_packages=True, cache_dir=None)
    import sys

    outside = {module for module in graph.modules if module.partition(".")[0] != "p2pdice"}
    assert outside - set(sys.stdlib_module_names) == {"cli"}, "only p2pdice.__main__ may look up, to the front door"
