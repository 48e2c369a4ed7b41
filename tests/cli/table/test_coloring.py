"""Colours in line mode depend on the setting, the terminal, and ``NO_COLOR``."""

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
def test_line_mode_uses_the_configured_background(color: str) -> None:
    assert painter(Screen(), color)(TOLD) == painted(TOLD, color) != TOLD


def test_each_background_has_different_colours() -> None:
    assert len({painted(TOLD, color) for color in ("auto", "dark", "light")}) == 3


def test_line_mode_prints_no_colours_when_they_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert painter(Screen(), "none")(TOLD) == TOLD
    assert painter(io.StringIO(), "auto")(TOLD) == TOLD
    monkeypatch.setenv("NO_COLOR", "1")
    assert painter(Screen(), "dark")(TOLD) == TOLD
