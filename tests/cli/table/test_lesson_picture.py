"""Pictures of a lesson as text. Every size shows all of Coach's words, and the dice that they mention."""

from __future__ import annotations

import asyncio
import re
from typing import Any, cast

import pytest

from cli.table.lesson_table import LESSONS, LessonTable, spoken
from cli.table.picture import picture
from cli.table.scene import Scene
from cli.table.terminal import Showing
from cli.table.theme import Theme

SIZES = [(40, 12), (44, 13), (60, 18), (70, 20), (80, 24), (110, 34), (150, 46), (200, 50)]


class Steps:
    """A face that records the picture of each step, then makes the move that Coach asks for."""

    is_interactive = shows_board = True

    def __init__(self, size: tuple[int, int], theme: Theme) -> None:
        self.size, self.theme = size, theme
        self.shown: list[str] = []
        self.bars: list[list[tuple[str, str]]] = []
        self.table: LessonTable | None = None

    def tell(self, _text: str, talk: object = None) -> None:
        raise AssertionError(f"the talk would cut {talk}")

    def say(self, text: str) -> None:
        raise AssertionError(text)

    def refresh(self) -> None:
        table = self.table
        assert table is not None
        if table.step == len(self.shown):
            return
        scene = Scene(coach=table.coach, lesson=table.lesson, keys=table.key_bar())
        self.shown.append(picture(table.board, scene, *self.size, self.theme).text())
        self.bars.append([*table.key_bar()])
        move = LESSONS[table.step - 1].move
        table.obey("" if move is None else str(move))


def steps(size: tuple[int, int], theme: Theme = Theme()) -> Steps:  # noqa: B008 - it is immutable
    face = Steps(size, theme)
    face.table = LessonTable(Showing(pace=0), "Ada", cast("Any", face))
    asyncio.run(face.table.follow())
    return face


def bubble(shown: str) -> str:
    """Return the text to the right of the vertical bar: Coach's words."""
    return " ".join(part for row in shown.split("\n") if (part := row.partition("▎")[2].strip()))


@pytest.mark.parametrize("size", SIZES)
def test_every_step_shows_all_of_coachs_words(size: tuple[int, int]) -> None:
    face = steps(size)
    assert len(face.shown) == len(LESSONS)
    for number, (shown, lesson) in enumerate(zip(face.shown, LESSONS, strict=True), 1):
        assert spoken(lesson.words, has_keys=True) in bubble(shown)
        assert f"{number} of 5" in shown.split("\n")[0]
        assert "Esc skips" in shown.split("\n")[0]
        assert "talk" not in shown


@pytest.mark.parametrize("size", SIZES)
def test_lesson_shows_the_bid_and_dice_that_coach_mentions(size: tuple[int, int]) -> None:
    _, raised, called, *_ = steps(size).shown
    assert "two fours" in raised.replace(bubble(raised), "")
    assert "four fours" in called
    assert ("1 wild" in raised and "‹4›" in raised) or re.search(r"You\D+1\D+4\D+6", raised)


@pytest.mark.parametrize(("columns", "rows"), [(40, 12), (80, 24), (120, 40)])
def test_key_bar_shows_the_keys_that_coach_names(columns: int, rows: int) -> None:
    face = steps((columns, rows))
    for shown, bar in zip(face.shown, face.bars, strict=True):
        key, text = bar[0]
        assert f"{key} {text}" in " ".join(shown.split())
    if columns > 40:
        assert all("skip the lesson" in shown for shown in face.shown)
