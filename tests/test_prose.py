"""Prose is plain, its lines are short enough for editors and terminals, and its links work."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "SPEC.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))
FOLDERS = ("p2pdice", "protocol", "cli", "tests", "benchmarks", "examples", "docs")
MODULE = re.compile(r"(?<![\w/.-])(?:\w+/)+\w+\.py\b")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PREPOSITION = re.compile(r"\bof\s+(which|whom)\b")
MAY_BE_UNCLEAR = re.compile(r"""\bof[\s#"'f]+(which|whom)\b|\bWho\b""")
"""Found in the source of every module that has such words in a text."""
WHO = re.compile(r"(?:\A|[.:;]\s+|\n\n)(Who\b[^.?!]*[.!])")
"""A sentence that begins with a free relative, as in ``Who asks is told.`` A question may begin so."""


def prose(page: Path) -> str:
    """Return a page with its code blocks blanked, so that line numbers stay the same."""
    return CODE.sub(lambda block: "\n" * block[0].count("\n"), page.read_text(encoding="utf-8"))


def links(page: Path) -> set[str]:
    """Return the targets of all links on a page, without anchors."""
    return set(re.findall(r"\]\(([^)#]+)[)#]", prose(page)))


def texts(source: str) -> Iterator[str]:
    """Yield all texts in a module: strings, including docstrings, help and messages, and comments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
    yield from comments_of(source)


def docstrings_of(source: str) -> Iterator[str]:
    """Yield the docstrings in a module, including those of attributes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def comments_of(source: str) -> Iterator[str]:
    """Yield the comments of a module, with comments on consecutive lines joined."""
    comments: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != last + 1:
                yield " ".join(comments)
                comments.clear()
            comments.append(token.string.lstrip("# "))
            last = token.start[0]
    yield " ".join(comments)


def unclear(text: str) -> list[str]:
    """Return the relative clauses in a text that a reader has to read twice."""
    return [found[0] for found in PREPOSITION.finditer(text)] + [found[1] for found in WHO.finditer(text)]


def lost_modules(text: str, folder: Path = ROOT) -> list[str]:
    """Return the module paths in a text that exist neither relative to the root nor to ``folder``."""
    return [each for each in MODULE.findall(text) if not ((ROOT / each).is_file() or (folder / each).is_file())]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "pyproject.toml"], ids=lambda page: page.stem)
def test_modules_named_by_path_on_a_page_exist(page: Path) -> None:
    assert not lost_modules(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_modules_named_by_path_in_docstrings_and_comments_exist(folder: str) -> None:
    """Paths may be relative to the root, as in ``protocol/limits.py``, or to the folder."""
    found = {
        f"{path.relative_to(ROOT)}: {lost}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for source in [path.read_text(encoding="utf-8")]
        if MODULE.search(source)
        for text in (*docstrings_of(source), *comments_of(source))
        for lost in lost_modules(text, ROOT / folder)
    }
    assert not found


def test_the_path_of_a_missing_module_is_found() -> None:
    text = "Enforced by match/gone.py, `protocol/match/waiting.py` and match/waiting.py; see /usr/lib/gone.py."
    assert lost_modules(text, ROOT / "protocol") == ["match/gone.py"]
    assert lost_modules(text) == ["match/gone.py", "match/waiting.py"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_line_of_prose_is_over_120_characters(page: Path) -> None:
    lines = [(number, line) for number, line in enumerate(prose(page).splitlines(), 1)]
    broken = [(number, line) for number, line in lines if not line.startswith(("|", "    "))]
    assert not [(number, line) for number, line in broken if len(line) > 120 and " " in line.strip()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    assert not [link for link in links(page) if "://" not in link and not (page.parent / link).is_file()]


def test_the_most_important_pages_are_linked() -> None:
    assert links(ROOT / "README.md") >= {"docs/architecture.md", "docs/threat-model.md", "docs/playing.md"}
    assert links(ROOT / "CONTRIBUTING.md") >= {"docs/architecture.md", "docs/threat-model.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_no_unclear_relative_clause(page: Path) -> None:
    assert not unclear(prose(page))


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_help_and_comments_have_no_unclear_relative_clause(folder: str) -> None:
    found = {
        f"{path.relative_to(ROOT)}: {words}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path != Path(__file__) and MAY_BE_UNCLEAR.search(source := path.read_text(encoding="utf-8"))
        for text in texts(source)
        for words in unclear(text)
    }
    assert not found


@pytest.mark.parametrize(
    ("text", "is_clear"),
    [
        ("Who asks is told.", False),
        ("It waits. Who is late\nis voted absent.", False),
        ("the rest of\nwhich is lost", False),
        ("Who may vote? A witness may.", True),
        ("The one who asks is told.", True),
        ("It depends on who asks.", True),
    ],
)
def test_the_check_tells_questions_from_subjects(text: str, is_clear: bool) -> None:
    assert bool(unclear(text)) != is_clear
