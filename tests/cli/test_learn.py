"""The lesson: Coach tells the truth, only the move that Coach asks for is accepted, and Esc leaves at any time."""

from __future__ import annotations

import re
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from cli.exits import ExitCode
from cli.table.lesson_table import HANDS, LESSONS, spoken
from p2pdice.counting import ONES_WILD, at_least
from p2pdice.engine import apply, new_match
from p2pdice.events import Judged
from p2pdice.moves import Bid, Hands, Play, Rolled
from p2pdice.rulesets import PRESETS
from tests.cli.conftest import Run
from tests.tiers import thoroughly

MINE, COACHS = HANDS
RULESET = PRESETS["classic"].with_options({"dice": "3"})


def test_what_coach_says_about_dice_and_chances_is_true() -> None:
    known = sum(face in (1, 4) for face in MINE)
    assert known == 2, "You have a 4 and a wild 1: two already"
    assert Bid(known, 4) == Bid(2, 4), "so two fours are certain"
    chance = at_least(4, 4, MINE, len(COACHS), ONES_WILD)
    assert chance == Fraction(7, 27)
    assert f"{round(100 * chance)}%" in LESSONS[2].words
    assert sum(face in (1, 4) for face in (*MINE, *COACHS)) == 2, "both cups together had two"


def test_the_script_is_a_legal_round_that_the_learner_wins() -> None:
    state, _ = apply(new_match(RULESET, 2, first=1), Rolled())
    raised, called = (lesson.move for lesson in LESSONS if lesson.move is not None)
    for seat, move in ((1, Bid(2, 4)), (0, raised), (1, Bid(4, 4)), (0, called)):
        state, _ = apply(state, Play(seat, move))
    state, events = apply(state, Hands(HANDS))
    assert [event.bid_true for event in events if isinstance(event, Judged)] == [False]
    assert state.dice == (3, 2), "Coach loses a die"


@pytest.mark.parametrize("has_keys", [True, False])
def test_no_step_of_the_lesson_leaves_a_placeholder(*, has_keys: bool) -> None:
    assert not any(re.search("[{}]", spoken(lesson.words + lesson.nudge, has_keys=has_keys)) for lesson in LESSONS)


def test_a_lesson_without_a_terminal_points_to_the_rules(p2pdice: Run) -> None:
    ended = p2pdice("learn")
    assert ended.returncode == ExitCode.FAILURE
    assert "p2pdice rules classic" in ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX pseudo-terminal")
def test_in_line_mode_only_the_move_that_coach_asks_for_is_accepted(tmp_path: Path) -> None:
    from tests.cli.screen import Terminal

    with Terminal(tmp_path, "learn", "--ui", "line", "--name", "Ada") as learner:
        learner.until("on both cups together")
        learner.type("\r")
        learner.until("type 3x4.")
        learner.type("2x6\r")
        learner.until("For this round, bid three fours: type 3x4.")
        learner.type("3x4\r")
        learner.until("type liar.")
        learner.type("5x4\r")
        learner.until("For this round, call me a liar: type liar.")
        learner.type("liar\r")
        learner.until("Enter goes on.")
        learner.type("\r")
        learner.until("That's the game")
        learner.type("\r")
        assert learner.end() == ExitCode.DONE
    assert not (tmp_path / "store.sqlite3").exists(), "the lesson stores nothing"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX pseudo-terminal")
@pytest.mark.parametrize("size", [(80, 24), *thoroughly([(40, 12)])])
def test_the_lesson_is_played_with_the_keys_that_coach_names(tmp_path: Path, size: tuple[int, int]) -> None:
    from tests.cli.keys import UP, KeyPlayer

    with KeyPlayer(tmp_path, "learn", "--ui", "screen", "--pace", "0", "--name", "Ada", size=size, own=()) as learner:
        learner.until_display("1 of 5")
        learner.type(" ")
        learner.until_display("2 of 5")
        learner.type(UP)
        learner.until_last_line("your turn> 3x4")
        assert learner.hint() == "three fours: 70% likely"
        learner.type("\r")
        learner.until_display("3 of 5")
        learner.type("!")
        learner.until_last_line("your turn> liar")
        learner.type("!")
        learner.until_display("4 of 5")
        learner.type(" ")
        learner.until_display("5 of 5")
        learner.type(" ")
        assert learner.end() == ExitCode.DONE


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX pseudo-terminal")
def test_escape_skips_the_lesson(tmp_path: Path) -> None:
    from tests.cli.keys import ESCAPE, KeyPlayer

    with KeyPlayer(tmp_path, "learn", "--ui", "screen", "--pace", "0", "--name", "Ada", own=()) as learner:
        learner.until_display("Esc skips")
        learner.type(ESCAPE)
        assert learner.end() == ExitCode.DONE
