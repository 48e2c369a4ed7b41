"""The pictures of the documentation are small and complete, and reveal nothing about the machine that drew them."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.programs import ROOT

PICTURES = sorted(path for path in (ROOT / "docs" / "pictures").iterdir() if path.suffix in (".svg", ".png"))
LARGEST = 400_000
"""The largest size of a picture in bytes."""
PRIVATE = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b|/home/|/root|/tmp|/Users/|:\\")
"""Matches an IPv4 address, or a path on the machine that drew a picture."""


def words(picture: Path, *, is_still: bool = False) -> str:
    """Return all text in an SVG.

    :param is_still: whether to return only the text that is shown without animation.
    """
    rows = ElementTree.parse(picture).getroot().iter("{http://www.w3.org/2000/svg}g")
    return " ".join(text for row in rows if not (is_still and row.get("visibility")) for text in row.itertext())


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_a_picture_is_small_and_complete(picture: Path) -> None:
    data = picture.read_bytes()
    assert len(data) <= LARGEST
    if picture.suffix == ".svg":
        assert ElementTree.fromstring(data).tag == "{http://www.w3.org/2000/svg}svg"
    else:
        assert data.startswith(b"\x89PNG\r\n")
        assert data.endswith(b"IEND\xaeB`\x82")


@pytest.mark.parametrize("picture", [path for path in PICTURES if path.suffix == ".svg"], ids=lambda path: path.name)
def test_no_picture_shows_an_address_or_a_path(picture: Path) -> None:
    assert "Ada" in words(picture)
    assert not PRIVATE.search(words(picture))


def test_the_readme_opens_with_the_showdown_which_respects_reduced_motion() -> None:
    shown = re.findall(r"\]\((docs/pictures/[^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert shown[0] == "docs/pictures/showdown.svg"
    showdown = ROOT / shown[0]
    assert "@media (prefers-reduced-motion:no-preference){@keyframes" in showdown.read_text(encoding="utf-8")
    assert "cups go up" in words(showdown)
    assert "cups go up" not in words(showdown, is_still=True)
    assert "You caught" in words(showdown, is_still=True)


def test_every_picture_is_on_a_page() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")))
    assert not [picture.name for picture in PICTURES if f"pictures/{picture.name}" not in pages]
