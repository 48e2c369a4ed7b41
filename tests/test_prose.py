"""Prose is in lines that an editor and a terminal show whole."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "SPEC.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_line_of_prose_is_over_120_characters(page: Path) -> None:
    text = CODE.sub(lambda block: "\n" * block[0].count("\n"), page.read_text(encoding="utf-8"))
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if not line.startswith(("|", "    "))]
    can_be_broken = [(number, line) for number, line in lines if len(line) > 120 and " " in line.strip()]
    assert not can_be_broken
