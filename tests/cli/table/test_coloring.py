"""Colours of line mode: those of the palette, for the background that is set, and none where none are wanted."""

from __future__ import annotations

import io

import pytest

from cli.preferences import COLORS
from cli.table.face import painter
from cli.table.theme import painted

TOLD = "Your turn: raise three fives, or call it. You lose a die: Blue, Neutral."


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _colors_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize("color", [each for each in COLORS if each != "none"])
def test_line_mode_is_painted_for_the_background_that_is_set(color: str) -> None:
    assert painter(Screen(), color)(TOLD) == painted(TOLD, color) != TOLD


def test_each_background_has_colours_of_its_own() -> None:
    assert len({painted(TOLD, color) for color in ("auto", "dark", "light")}) == 3


def test_without_colours_nothing_is_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert painter(Screen(), "none")(TOLD) == TOLD
    assert painter(io.StringIO(), "auto")(TOLD) == TOLD
    monkeypatch.setenv("NO_COLOR", "1")
    assert painter(Screen(), "dark")(TOLD) == TOLD
