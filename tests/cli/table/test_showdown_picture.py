"""Pictures of showdowns as text, cup by cup. No picture reveals dice in closed cups."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from cli.table import answers, showdown
from cli.table.board import Board, CupOpened
from cli.table.canvas import Area, Canvas
from cli.table.hand import draw_verdict
from cli.table.moment import band, title
from cli.table.picture import picture
from cli.table.scene import Motion, Scene
from cli.table.theme import Theme
from p2pdice.moves import Hand
from p2pdice.rulesets import PRESETS
from tests.cli.table.boards import Sample, match_of

PICTURES, ASCII = Theme(), Theme("none", "unknown", is_ascii=True)
CLASSIC = PRESETS["classic"]
NAMES = ("Ada", "Ben", "Cleo", "Dan")
CUPS: tuple[Hand, ...] = ((1, 3, 5, 5, 6), (2, 3, 4, 4, 5), (1, 3, 5, 6, 6), (2, 4, 6, 6, 6))
"""All four cups together have six fives, wild ones included."""
SIZES = [(40, 12), (60, 18), (80, 24), (110, 34), (120, 40), (150, 46), (200, 50)]


def called(
    *moves: str, rules: str = "classic", cups: tuple[Hand | None, ...] = CUPS, shown: int | None = None
) -> Board:
    """Return the board after these moves.

    :param shown: how many beats of the showdown to put on the board; None for all.
    """
    sample = Sample(PRESETS[rules], NAMES)
    sample.roll()
    sample.play(*moves)
    if shown != 0:
        sample.open(*cups, beats_shown=shown)
    return sample.board


def on_seven_fives(shown: int | None = None, cups: tuple[Hand | None, ...] = CUPS) -> Board:
    return called("2x5", "3x5", "5x5", "7x5", "liar", cups=cups, shown=shown)


def drawn(board: Board, size: tuple[int, int] = (80, 24), theme: Theme = PICTURES, scene: Scene = Scene()) -> str:  # noqa: B008 - immutable
    return picture(board, scene, *size, theme).text()


def test_verdict_at_80_columns() -> None:
    assert (
        drawn(on_seven_fives()).rstrip()
        == """\
 ⚄ Friday   classic   round 1                                           19 dice
  ▲ Ben                      ■ Cleo                     ◆ Dan
     ▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀          ▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀          ▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀
     2   3   4   4   5          1   3   5   6   6          2   4   6   6   ✕
        one counts                  two count                 loses a die
▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄
   You call LIAR          ▄█▀▀▀               fives and wild ones
   on ◆ Dan's             ██▀█▄  of 7
   seven fives            ▀█▄█▀                1   5   5   5   1   5   ·
                                               ●   ●   ●   ▲   ■   ■

▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀
  ● Ada (you)               three count
          ●       ●   ●   ●   ●   ●   ●      ▄▀▄   █   ▀█▀ █▀▀   six fives,
    ●       ●       ●       ●     ●   ●      █▀█   █    █  █▀    not seven
              ●   ●   ●   ●   ●   ●   ●      ▀ ▀   ▀▀▀ ▀▀▀ ▀▀▀
 1 wild     3      ‹5›     ‹5›      6
────────────────────────────────────────────────────────────────────────────────"""
    )


def test_verdict_in_ascii() -> None:
    assert (
        drawn(on_seven_fives(), theme=ASCII).rstrip()
        == """\
 Friday   classic   round 1                                             19 dice
  ^ Ben                      # Cleo                     * Dan

     2   3   4   4  [5]        [1]  3  [5]  6   6          2   4   6   6  [x]
        one counts                  two count                 loses a die
+------------------------------------------------------------------------------+
|  You call LIAR           _                  fives and wild ones              |
|  on * Dan's             |_   of 7                                            |
|  seven fives            |_|                 [1] [5] [5] [5] [1] [5] (.)      |
|                                              o   o   o   ^   #   #           |
|                                                                              |
+------------------------------------------------------------------------------+
  o Ada (you)               three count
 [     ] [o    ] [o   o] [o   o] [o   o]                         six fives,
 [  o  ] [  o  ] [  o  ] [  o  ] [o   o]       *** A LIE ***     not seven
 [     ] [    o] [o   o] [o   o] [o   o]
<1 wild>    3      <5>     <5>      6
--------------------------------------------------------------------------------"""
    )


def test_verdict_in_the_smallest_window() -> None:
    assert (
        drawn(on_seven_fives(), (40, 12)).rstrip()
        == """\
 ⚄ Friday  round 1
 ▲ Ben 5      ■ Cleo 5     ◆ Dan 4

 You call LIAR: seven fives      6 of 7
  1   5   5   5   1   5   ·

 You   1   3   5   5   6
  A LIE: six fives, not seven"""
    )


def test_call_is_shown_before_any_cup_opens() -> None:
    shown = drawn(on_seven_fives(0))
    for needed in ("You call LIAR", "on ◆ Dan's", "seven fives", "of 7", "The cups go up one by one,", "Dan's last."):
        assert needed in shown
    assert shown.count("5 dice") == 4
    assert shown.count("·   ") == 6  # seven empty slots; the last has no blanks after it


def test_each_opened_cup_fills_slots() -> None:
    counts = [len(showdown.counted(on_seven_fives(shown), Motion())) for shown in range(5)]
    assert counts == [0, 3, 4, 6, 6]
    assert ["2   3   4   4   5" in drawn(on_seven_fives(shown)) for shown in range(5)] == [False, False, *[True] * 3]
    assert ["2   4   6   6   6" in drawn(on_seven_fives(shown)) for shown in range(5)] == [*[False] * 4, True]


@pytest.mark.parametrize(
    ("age", "is_half", "dice", "gold"),
    [(0, True, 0, 0), (89, True, 0, 0), (91, False, 5, 0), (459, False, 5, 0), (461, False, 5, 1), (571, False, 5, 2)],
)
def test_cup_is_lifted_before_its_dice_are_counted_one_by_one(age: int, is_half: bool, dice: int, gold: int) -> None:
    board = on_seven_fives(3)  # Cleo's cup is the last one open, and two of its dice count
    assert board.showdown is not None
    cup = showdown.cups(board, Motion({CupOpened: (CupOpened(2, board.showdown.shown), age)}))[2]
    assert (cup.is_half, len(cup.dice)) == (is_half, dice)
    assert [kind for _, kind in cup.dice].count("counts") == gold
    assert not any(kind == "miss" for _, kind in cup.dice) or gold, "the other dice fade only once one counts"
    assert len(showdown.counted(board, Motion({CupOpened: (CupOpened(2, board.showdown.shown), age)}))) == 4 + gold


def exchanged(board: Board, rng: Random) -> Board:
    """Return a copy of the board with other dice in the closed cups, and another count."""
    twin, now = board.copy(), board.showdown
    assert now is not None
    down = [seat for seat in range(len(now.shown.hands)) if seat not in now.opened and seat != board.me]
    hands = tuple(
        tuple(sorted(rng.randint(1, 6) for _ in hand)) if seat in down and hand else hand
        for seat, hand in enumerate(now.shown.hands)
    )
    shown = replace(now.shown, hands=hands, count=now.shown.count + rng.randint(0, 2))
    twin.showdown = now._replace(shown=shown)
    return twin


@settings(max_examples=10)
@given(
    rules=st.sampled_from(sorted(PRESETS)),
    players=st.integers(2, 8),
    me=st.sampled_from([0, 1, None]),
    size=st.sampled_from(SIZES),
    seed=st.integers(0, 1000),
)
def test_no_output_depends_on_dice_in_closed_cups(
    rules: str, players: int, me: int | None, size: tuple[int, int], seed: int
) -> None:
    rng = Random(seed)
    for board in match_of(PRESETS[rules], [f"P{seat}" for seat in range(players)], me, rng):
        if board.showdown is None or board.showdown.is_counted or rng.random() < 0.7:
            continue
        looks = []
        for each in (board, exchanged(board, rng)):
            now = band(each, "", with_odds=True, is_behind=True)
            shown = picture(each, Scene(with_odds=True, band=now), *size, PICTURES).fragments()
            looks.append((shown, title(each), [*answers.table(each)]))
        assert looks[0] == looks[1]


@pytest.mark.parametrize("moves", [("5x5", "liar"), ("6x5", "liar"), ("9x5", "liar")])
@pytest.mark.parametrize("cups", [CUPS, (CUPS[0], None, CUPS[2], CUPS[3])])
def test_verdict_is_unknown_until_the_engine_reports_it(moves: tuple[str, ...], cups: tuple[Hand | None, ...]) -> None:
    """This includes the news that a round is void because a cup stayed down."""
    for shown in range(5):
        assert showdown.words(called(*moves, cups=cups, shown=shown)) is None
    assert showdown.words(called(*moves, cups=cups)) is not None


@pytest.mark.parametrize(
    ("moves", "cups", "told"),
    [
        (("6x5", "exact"), CUPS, ("EXACT", "six fives", "on the nose")),
        (("5x5", "exact"), CUPS, ("NOT EXACT", "six fives,", "not five")),
        (("5x5", "liar"), CUPS, ("TRUE", "six fives,", "one to spare")),
        (("6x5", "liar"), CUPS, ("TRUE", "six fives,", "just enough")),
        (("9x5", "liar"), CUPS, ("A LIE", "six fives,", "not nine")),
        (("6x5", "liar"), (CUPS[0], None, CUPS[2], CUPS[3]), ("VOID", "Ben's cup stayed down:", "nobody loses a die")),
        (("4x5", "liar"), (CUPS[0], None, CUPS[2], CUPS[3]), ("TRUE", "at least five fives,", "one to spare")),
    ],
)
def test_words_of_a_verdict(moves: tuple[str, ...], cups: tuple[Hand | None, ...], told: tuple[str, ...]) -> None:
    words = showdown.words(called(*moves, rules="spot-on", cups=cups))
    assert words is not None
    assert words[:3] == told


@pytest.mark.parametrize(
    ("me", "tone"), [(0, "band-wrong"), (1, "band-right"), (2, "band-right"), (None, "band-right")]
)
def test_verdict_is_filled_by_the_readers_side(me: int | None, tone: str) -> None:
    sample = Sample(CLASSIC, NAMES, me=me)
    sample.roll()
    sample.play("9x5", "liar")  # Ada bids, Ben calls
    sample.open(*CUPS)
    words = showdown.words(sample.board)
    assert words is not None
    assert words.tone == tone


def test_bar_separates_dice_beyond_the_bid() -> None:
    assert "5   1   5   1 │ 5   5" in drawn(called("4x5", "liar"))  # Ben called, so the cup of the bidder, Ada, is last


def test_void_round_says_whose_cup_stayed_down() -> None:
    shown = drawn(called("6x5", "liar", cups=(CUPS[0], None, CUPS[2], CUPS[3])), theme=ASCII)
    assert "*** VOID ***" in shown
    assert "stayed down" in shown
    assert "nobody loses a die" in shown


def test_band_counts_only_the_opened_cups() -> None:
    told = [band(on_seven_fives(shown), "", with_odds=True, is_behind=False).text for shown in range(6)]
    assert told == [
        "You call liar on Dan's seven fives.",
        "Now your dice …",
        "Three so far. Ben lifts the cup …",
        "Four so far. Cleo lifts the cup …",
        "Six so far. It's down to Dan.",
        "Six fives.",
    ]


def test_slots_do_not_change_after_the_last_cup() -> None:
    def slots(shown: int) -> list[str]:
        return drawn(called("5x5", "liar", shown=shown)).split("\n")[8:10]

    assert slots(4) == slots(5)
    assert slots(5)[1].split() == ["▲", "■", "■", "●", "●", "●"]


@pytest.mark.parametrize("size", SIZES)
def test_long_name_does_not_hide_the_call(size: tuple[int, int]) -> None:
    sample = Sample(CLASSIC, ("Ada", "Maximilian the Great"))
    sample.roll()
    sample.play("7x5", "liar")
    assert "calls LIAR" in drawn(sample.board, size)


def test_siding_shows_the_players_of_each_side() -> None:
    sample = Sample(PRESETS["joker"], NAMES, me=3)
    sample.roll()
    sample.play("7x5", "liar", "accuser")
    shown = drawn(sample.board)
    left, right = shown.index("IT'S A LIE"), shown.index("IT'S TRUE")
    assert left < right
    row = next(line for line in shown.split("\n") if "▲ Ben   ■ Cleo" in line)
    assert row.index("■ Cleo") < 38 < row.index("● Ada")
    for needed in ("Ben called", "Ada bid", "calls liar", "sides with Ben", "bid seven fives", "Who's right?"):
        assert needed in shown


@settings(max_examples=20)
@given(
    rules=st.sampled_from(sorted(PRESETS)),
    names=st.lists(st.text("Ab五é", min_size=1, max_size=20), min_size=2, max_size=10, unique=True),
    me=st.sampled_from([0, 1, None]),
    size=st.sampled_from(SIZES),
    theme=st.sampled_from([PICTURES, ASCII]),
    seed=st.integers(0, 1000),
    motion=st.sampled_from(["full", "none"]),
)
def test_pictures_of_random_matches_fit_and_show_the_engines_count(
    rules: str, names: list[str], me: int | None, size: tuple[int, int], theme: Theme, seed: int, motion: str
) -> None:
    rng = Random(seed)
    for board in match_of(PRESETS[rules], names, me, rng):
        words = showdown.words(board)
        if words is None and rng.random() < 0.97:
            continue
        shown = drawn(board, size, theme, Scene(motion=Motion(kind=motion)))
        rows = shown.split("\n")
        assert len(rows) == size[1]
        assert all(get_cwidth(row) <= size[0] for row in rows)
        assert not theme.is_ascii or shown.replace("五", "").isascii()
        if words is None or board.over is not None or not showdown.is_on(board):
            continue
        assert board.showdown is not None
        count = board.showdown.shown.count
        assert len(showdown.counted(board, Motion())) == count == board.showdown.count_in(board.showdown.opened)
        if theme.is_ascii or size[0] < 60:
            assert words.title in shown
        if size[0] < 60:
            assert f"{count} of {board.showdown.shown.quantity}" in shown


@pytest.mark.parametrize("columns", [30, 34, 60])
@pytest.mark.parametrize("rows", [4, 5, 9])
def test_verdict_is_not_cut_at_a_colon(rows: int, columns: int) -> None:
    canvas = Canvas(columns, rows, ASCII)
    draw_verdict(canvas, called("6x5", "liar", cups=(CUPS[0], None, CUPS[2], CUPS[3])), Area(0, 0, columns, rows))
    shown = canvas.text()
    assert "stayed down" in shown
    assert "nobody loses" in shown or "down:" not in shown


def test_bids_answer_after_a_call_has_the_call_and_verdict() -> None:
    board = called("9x5", "liar")
    board.state = board.begun._replace(bids=())
    assert [*answers.bids(board)] == [
        "Ben called liar on your nine fives.",
        "A lie: six fives, three short. Ben was right; you were wrong.",
    ]
