"""The floors and wings: who may import whom, and that docs/architecture.md shows them as they are."""

import re
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"\b(?:cli|protocol|p2pdice)(?:\.\w+)+", PAGE)))
QUESTIONS = re.findall(r"^\*\*… (.*?)\*\*(.*?)(?=^\*\*…|\Z)", PAGE, re.MULTILINE | re.DOTALL)


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


@pytest.mark.parametrize("name", NAMES)
def test_every_name_on_the_page_is_in_the_code(name: str) -> None:
    resolve_name(name)


def test_every_file_on_the_page_is_there() -> None:
    paths = set(re.findall(r"`((?:cli|protocol|p2pdice|tests|docs)/[\w/.]*)`", PAGE))
    links = set(re.findall(r"\]\(([^)#:]+)\)", PAGE))
    assert paths
    assert links
    assert not [path for path in paths if not (ROOT / path).exists()]
    assert not [link for link in links if not (ROOT / "docs" / link).is_file()]


@pytest.mark.parametrize("package", ["protocol", "cli"])
def test_the_drawing_of_a_package_has_the_layers_of_its_contract(package: str) -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    (layers,) = (each["layers"] for each in tools["importlinter"]["contracts"] if each.get("containers") == [package])
    drawing = PAGE.partition(f"of `{package}/`\n")[2].partition("```text\n")[2].partition("```")[0]
    rows = [row.strip().partition(" " * 6)[0] for row in re.split(r"\n +│\n", drawing)]
    drawn = [re.findall(r"(\w+)/", row) or row.split() for row in rows]
    assert [sorted(re.findall(r"\w+", layer)) for layer in layers] == [sorted(row) for row in drawn]


def test_a_newcomer_finds_things_in_three_files_at_most() -> None:
    assert len(QUESTIONS) == 5
    for question, answer in QUESTIONS:
        files = set(re.findall(r"`([\w/]+\.py)`", answer))
        assert 1 <= len(files) <= 3, question


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_the_page_is_linked_from_where_people_look(name: str) -> None:
    assert "](docs/architecture.md)" in (ROOT / name).read_text(encoding="utf-8")
