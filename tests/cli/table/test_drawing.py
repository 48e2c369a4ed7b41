"""Pictures of a table as text: what has to be in sight, at each size, with and without pictures of dice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from cli.render import escape
from cli.table import answers, palette
from cli.table.board import Board
from cli.table.drawing import Gauge, Sight, picture
from cli.table.fragments import plain, rows, width
from cli.table.palette import ASCII, PICTURES, Glyphs
from cli.table.pieces import purpose
from cli.table.telling import tell
from cli.text.qr_code import qr_code
from cli.text.seating import Seating
from p2pdice import POWERS, PRESETS, Concede, Expect, Play, Rolled, apply, legal_moves, new_match, view
from protocol.events import (
    LobbyChanged,
    MatchResult,
    MatchStarted,
    PeerBack,
    PeerLost,
    Suspended,
    TableJoined,
    TableOpened,
    YourTurn,
)
from tests.cli.table.boards import JOIN_LINE, MINE, Sample, people
from tests.p2pdice.scripted import play, reach
from tests.p2pdice.scripted import table as laid

SIZES = [(80, 23), (60, 19), (120, 39)]
"""Of a terminal, without the line being typed."""
CLASSIC = PRESETS["classic"]


def drawn(board: Board, size: tuple[int, int] = (80, 23), glyphs: Glyphs = PICTURES, **sight: object) -> str:
    return "\n".join(plain(picture(board, Sight(**sight), *size, glyphs)))  # type: ignore[arg-type]


def asked() -> Sample:
    """Return a table at which the reader is to answer the bid 3x4."""
    sample = Sample(CLASSIC)
    sample.roll()
    sample.play("2x3", "2x4", "3x4")
    return sample


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("glyphs", [PICTURES, ASCII], ids=["pictures", "ascii"])
def test_the_screen_of_the_player_on_turn_has_all_that_a_decision_takes(size: tuple[int, int], glyphs: Glyphs) -> None:
    shown = drawn(asked().board, size, glyphs, steps=41, seconds=45, log=["Cleo bids 3x4."])
    for needed in ("Friday", "classic", "round 1", "match abababab", " verified", "0:45", "Cleo bids three fours"):
        assert needed in shown
    for needed in ("2x3", "2x4", "3x4", "90% likely", "raise the bid, or call it", "Cleo bids 3x4."):
        assert needed in shown
    players = [line for line in shown.split("\n") if line[2:6] in ("Ada ", "Ben ", "Cleo")]
    assert [row[:6].strip(f"{glyphs.turn} ") for row in players] == ["Ada", "Ben", "Cleo"]
    assert all(glyphs.die * 5 in row for row in players)
    assert players[0].startswith(f"{glyphs.turn} Ada (you)")
    assert "to move" in players[0]
    assert re.search(" +".join(map(str, MINE)), shown)
    assert shown.isascii() == glyphs.is_ascii


@pytest.mark.parametrize(
    ("funds", "asked_for"),
    [(1000, "for example stake 50."), (20, "for example stake 20."), (0, "Type stake 0: you have nothing.")],
)
def test_the_question_for_a_stake_names_one_that_can_be_made(funds: int, asked_for: str) -> None:
    state = new_match(CLASSIC.with_options({"stakes": "yes"}), 2)
    board = Board()
    board.take(MatchStarted("ab" * 32, state.ruleset, people(["Ada", "Ben"]), 0, state))
    board.take(YourTurn(view(state, 0)._replace(funds=funds), 1))
    assert asked_for in drawn(board)


@pytest.mark.parametrize("size", SIZES)
def test_cups_open_one_after_the_other_and_what_counts_is_marked_and_counted(size: tuple[int, int]) -> None:
    cups = [(1, 2, 3, 3, 6), (1, 1, 2, 4, 5), (2, 2, 3, 4, 6)]
    seen = []
    for beats in (1, 2, 3, 4, 5, None):
        sample = asked()
        sample.play("liar")
        sample.open(*cups, beats_shown=beats)
        seen.append(drawn(sample.board, size))
    assert all("You call liar on Cleo's three fours" in shown for shown in seen)
    assert "[1] 2  3  3  6   1" in seen[0]
    assert [shown.count("closed") for shown in seen] == [2, 1, 0, 0, 0, 0]
    assert [f"Counted: {gauge}" in shown for shown, gauge in zip(seen, ("▮▯▯ 1;", "▮▮▮+▮ 4;"), strict=False)] == [
        True,
        True,
    ]
    assert "[1][1] 2 [4] 5   3" in seen[1]
    assert "True:" not in seen[3]
    assert "True: Cleo was right; you were wrong." in seen[4]
    assert "You lose a die: four left." in seen[5]
    assert ["■■■■·" in shown for shown in seen] == [False] * 5 + [True]  # nobody knows before it is told


def test_the_showdown_stays_until_the_next_round_begins() -> None:
    sample = asked()
    sample.play("liar")
    sample.open((1, 2, 3, 3, 6), (1, 1, 2, 4, 5), None)
    assert "never opened" in drawn(sample.board)
    assert "round 1" in drawn(sample.board)
    sample.roll()
    assert "never opened" not in drawn(sample.board)
    assert "round 2" in drawn(sample.board)


def test_a_table_that_waits_keeps_its_board_and_says_for_whom() -> None:
    sample = asked()
    ben = sample.players[1]
    sample.board.take(PeerLost(ben))
    assert "away" in drawn(sample.board)
    sample.board.take(Suspended((ben,)))
    shown = drawn(sample.board)
    assert "Waiting for Ben: wait, or quit and resume another day." in shown
    assert "waited for" in shown
    assert "Cleo bids three fours" in shown
    assert sample.board.state is not None
    for me in (None, 0):  # a spectator, and a player who is out: nothing is theirs to resume
        looking_on = sample.board.copy()
        looking_on.seating = Seating.of(sample.players, me)
        state = sample.board.state
        looking_on.state = state._replace(table=state.table._replace(live=(1, 2)))
        assert "Waiting for Ben: wait, or quit.\n" in drawn(looking_on)
        told = list(tell(Suspended((ben,)), looking_on))
        assert told == ["The match waits for Ben. Wait, or leave."]
    sample.board.take(PeerBack(ben))
    assert "away" not in drawn(sample.board)


def test_odds_are_shown_or_not() -> None:
    assert "% likely" in drawn(asked().board, with_odds=True)
    assert "% likely" not in drawn(asked().board, with_odds=False)


def test_the_opener_of_a_round_is_told_in_a_whole_sentence() -> None:
    sample = Sample(CLASSIC)
    sample.roll()
    assert "No bid yet: you open the round." in drawn(sample.board)


def test_a_gauge_tells_how_many_have_signed() -> None:
    assert "commit ▮▮▯ 2/3" in drawn(asked().board, gauge=Gauge("commit", 2, 3))


def test_the_smallest_screen_says_in_short_what_dice_with_powers_add() -> None:
    state, _ = apply(laid(3, "grey@0", "light@2"), Rolled())
    board = Board()
    board.take(MatchStarted("ab" * 32, state.ruleset, people(["Ada", "Ben", "Cleo"]), 0, state))
    assert drawn(board, (40, 11)).splitlines()[5] == "── bidding, prize dark, graveyard 2 ────"
    assert "── log (PageDown: one newer line) " in drawn(board, (40, 11), log=list("abcd"), back=1)
    larger = drawn(board, (40, 23))
    for words in ("sunset - night - [bidding] - sunrise", "prize dark", "Graveyard: you grey@0", "── log ─"):
        assert words in larger
    assert "In the cups: L light, G grey, N neutral, B blue, R red, D dark" in drawn(board, (80, 23))
    told = " ".join(answers.table(board))
    assert "Round 1. It is time to bid. The prize is Dark." in told
    assert "In the graveyard, for Cleo to play: Light" in told


def test_no_window_is_open_while_a_die_is_sent_off_and_while_the_next_roll_is_awaited() -> None:
    board = Board()
    state = reach(laid(3, first=1), "discard")
    board.take(MatchStarted("ab" * 32, state.ruleset, people(["Ada", "Ben", "Cleo"]), 0, state))
    shown = drawn(board)
    assert "sunset - night - bidding - sunrise" in shown
    assert "Ben is choosing a die to lose." in shown
    state, _ = apply(state, Play(state.turn, legal_moves(state)[0]))
    assert state.awaits is Expect.ROLLED
    board.take(MatchStarted("ab" * 32, state.ruleset, people(["Ada", "Ben", "Cleo"]), 0, state))
    assert "sunset - night - bidding - sunrise" in drawn(board)


def test_a_player_who_is_out_is_not_shown_powers_of_their_dice() -> None:
    state = laid(3, "light@0", "grey@1")
    board = Board()
    board.take(MatchStarted("ab" * 32, state.ruleset, people(["Ada", "Ben", "Cleo"]), 0, state))
    assert POWERS["light"].brief in drawn(board)
    state, _ = apply(state, Play(0, Concede()))
    board.take(MatchStarted("ab" * 32, state.ruleset, people(["Ada", "Ben", "Cleo"]), 0, state))
    assert POWERS["light"].brief not in drawn(board)


def test_a_narrow_screen_says_in_full_what_lies_on_the_stack_and_what_each_die_can_do() -> None:
    state = laid(2, "light@0", "grey@0", "neutral@0", "blue@0", "red@0", "blue@1", "red@1")
    board = Board()
    board.take(MatchStarted("ab" * 32, state.ruleset, people(["Maximilian", "Benjamin"]), 0, state))
    shown = drawn(board, (60, 29))
    for mote in ("light", "grey", "neutral", "blue", "red"):
        assert re.search(rf" {mote}@0 \((night|sunset, sunrise)\): {POWERS[mote].brief}$", shown, re.MULTILINE)
    state, _ = apply(state, Rolled())
    for move in ("play red@0 on 1", "play blue@1"):
        state = play(state, move)
    board.take(MatchStarted("ab" * 32, state.ruleset, people(["Maximilian", "Benjamin"]), 0, state))
    told = " ".join(drawn(board, (60, 29)).split())
    assert "Stack, top first: blue@1 by Benjamin on red@0; red@0 by you on Benjamin" in told


def test_a_long_name_is_cut_before_immunity_is_left_out() -> None:
    state = reach(laid(2, "grey@0", first=0), "sunrise", loses="red@0")
    state = reach(play(state, "play grey@0"), "bidding")
    state = play(state, "2x3")
    board = Board()
    board.take(MatchStarted("ab" * 32, state.ruleset, people(["Maximilian", "Bartholomew Longstocking"]), 0, state))
    assert re.search(r"Ma\w*… \(you\) .* shielded", drawn(board, (60, 19)))


def test_the_hint_on_a_power_names_its_target() -> None:
    seating = asked().board.seating
    assert purpose("play red on 1", seating) == "Roll to bar a player from a group (Ben)."
    assert purpose("play red on 7", seating) == "Roll to bar a player from a group."
    assert purpose("play light take dark", seating) == "Take a die of the graveyard."


def test_the_clock_alarms_only_where_the_others_would_go_on() -> None:
    def styles(seconds: int, is_pressing: bool) -> set[str]:
        sight = Sight(seconds=seconds, is_pressing=is_pressing)
        return {
            style for line in picture(asked().board, sight, 80, 23, PICTURES) for style, text in line if ":" in text
        }

    assert palette.ALARM in styles(10, is_pressing=True)
    assert palette.ALARM not in styles(11, is_pressing=True)
    assert palette.ALARM not in styles(10, is_pressing=False)


@pytest.mark.parametrize("size", SIZES)
def test_a_lobby_shows_who_is_there_and_what_another_laptop_types(size: tuple[int, int]) -> None:
    board = Board()
    two = people(["Ada", "Ben"])
    board.take(TableOpened("Friday", JOIN_LINE, (), True, seats=2, ruleset=CLASSIC))
    board.take(LobbyChanged(two, 3))
    shown = drawn(board, size)
    for player in two:
        assert player.name in shown
        assert player.fingerprint in shown
    assert "free" in shown
    assert "Rules: classic: more of the same face" in " ".join(shown.split())
    assert f"\np2pdice join {JOIN_LINE}\n" in shown
    assert "type start" in shown


def test_a_table_is_drawn_at_any_size_before_anybody_sits_there() -> None:
    board = Board()
    board.take(TableOpened("Friday", JOIN_LINE, (), True, code="417-tiger-olive", seats=3, ruleset=CLASSIC))
    assert drawn(board, (80, 24)).count("free") == 3
    for columns in range(1, 81):
        for lines in range(1, 25):
            drawn(board, (columns, lines))


def opened_with_a_code(qr: str = "") -> Board:
    board = Board()
    board.qr = qr
    board.take(TableOpened("Friday", JOIN_LINE, (), True, code="417-tiger-olive", seats=2, ruleset=CLASSIC))
    board.take(LobbyChanged(people(["Ada"]), 3))
    return board


@pytest.mark.parametrize("size", SIZES)
def test_a_lobby_shows_the_short_code_above_the_long_line(size: tuple[int, int]) -> None:
    shown = drawn(opened_with_a_code(), size)
    assert "\np2pdice join 417-tiger-olive\n" in shown
    assert shown.index("417-tiger-olive") < shown.index(JOIN_LINE)


@pytest.mark.parametrize("background", ["dark", "light"])
def test_a_lobby_draws_the_join_line_for_a_camera_if_there_is_room(background: str) -> None:
    import segno

    code = segno.make(JOIN_LINE, error="l", micro=False)
    board = opened_with_a_code(background)
    rows = qr_code(JOIN_LINE, background)
    assert "\n".join(row.rstrip() for row in rows) in "\n".join(
        row.rstrip() for row in drawn(board, (80, 60)).split("\n")
    )
    light = {"█": (1, 1), "▀": (1, 0), "▄": (0, 1), " ": (0, 0)}
    squares = [[light[each][half] ^ (background == "light") for each in row] for row in rows for half in (0, 1)]
    assert [row[2:-2] for row in squares[2 : 2 + len(code.matrix)]] == [
        [1 - square for square in row] for row in code.matrix
    ]
    small = drawn(board, (80, 23))
    assert "\nTo see the QR code, type qr.\n" in small
    assert rows[3] not in small


def test_a_table_that_is_opened_again_shows_its_new_rules() -> None:
    sample = Sample(CLASSIC)
    sample.board.take(TableOpened("Friday", JOIN_LINE, (), True, seats=2, ruleset=PRESETS["motes"]))
    assert "Rules: motes: " in (shown := drawn(sample.board))
    assert "classic" not in shown


def test_a_guest_is_told_when_the_match_begins() -> None:
    board = Board()
    host, guest = people(["Ada", "Ben"], me=1)
    board.take(TableJoined("Friday", host, CLASSIC, 3))
    board.take(LobbyChanged((host, guest), 3))
    assert "It begins when all seats are taken, or when the host types start." in drawn(board)


@pytest.mark.parametrize("columns", [60, 80])
def test_a_join_line_that_is_too_long_is_broken_as_a_shell_allows(columns: int) -> None:
    board = Board()
    line = f"[fe80::dead:beef:dead:beef%wlan0]:40312/{'QZYM-' * 5}QZYM/{'ABCDEFGH' * 4}"
    board.take(TableOpened("Friday", line, (), True, seats=2, ruleset=CLASSIC))
    board.take(LobbyChanged(people(["Ada"]), 3))
    lines = drawn(board, (columns, 23)).split("\n")
    first = next(number for number, row in enumerate(lines) if row.startswith("p2pdice join"))
    typed = ""
    for row in lines[first:]:
        typed += row.removesuffix("\\")
        if not row.endswith("\\"):
            break
    assert typed in (f"p2pdice join {line}", f"p2pdice join '{line}'")


def test_places_and_score_are_shown_at_the_end() -> None:
    sample = Sample(CLASSIC)
    sample.board.take(MatchResult("ab" * 32, ((1,), (0, 2)), sample.players, Path("matches", "x.p2pdice"), True))
    shown = drawn(sample.board, score="Ben two, Ada one and Cleo no", after="Type again, or quit.")
    assert "1. Ben  wins" in shown
    assert "2. Ada (you)" in shown
    assert "2. Cleo" in shown
    assert "This evening: Ben two" in shown
    assert "x.p2pdice" in shown
    assert "Type again, or quit." in shown


HOSTILE = st.text(st.characters(exclude_categories=()), min_size=1, max_size=20) | st.sampled_from(
    ["\x1b[2J\x1b[1;1H", "\u202eadA", "\u200d", "五" * 20, "e" + "\u0301" * 19, "\u1100\u1161" * 9, "\u0903" * 20]
)


@given(
    st.lists(HOSTILE, min_size=2, max_size=10),
    st.lists(HOSTILE, max_size=5),
    st.integers(20, 140),
    st.integers(4, 50),
    st.sampled_from([PICTURES, ASCII]),
    st.booleans(),
    st.booleans(),
)
def test_no_name_and_no_size_disturbs_the_picture(
    names: list[str], said: list[str], columns: int, lines: int, glyphs: Glyphs, is_bid: bool, is_open: bool
) -> None:
    """Names come as peers write them, what was said is escaped before it is told."""
    sample = Sample(CLASSIC, names)
    sample.roll()
    if is_bid:
        sample.play("2x3", "2x4")
    if is_bid and is_open:
        sample.play("liar")
        sample.open(*[MINE] * len(names))
    shown = picture(sample.board, Sight(log=[escape(text) for text in said], seconds=9), columns, lines, glyphs)
    assert len(shown) == lines
    for line in shown:
        assert width(line) <= columns
        assert all(text.isprintable() for _, text in line)
        assert not glyphs.is_ascii or all(text.isascii() for _, text in line)


@given(st.lists(HOSTILE, min_size=2, max_size=10, unique=True))
def test_the_columns_of_the_table_stay_below_each_other(names: list[str]) -> None:
    sample = Sample(CLASSIC, names, me=None)
    sample.roll()
    shown = picture(sample.board, Sight(), 80, 23, PICTURES)[1 : 1 + len(names)]
    ends = set()
    for row in shown:
        place = next(number for number, (_, text) in enumerate(row) if "■" in text)
        ends.add(width(row[:place]))
    assert len(ends) == 1


@pytest.mark.parametrize("count", [2, 4, 7, 10])
def test_ones_own_dice_and_the_last_word_are_in_sight_on_the_smallest_screen(count: int) -> None:
    sample = Sample(CLASSIC, [f"Player {number}" for number in range(count)])
    sample.roll()
    sample.play("2x3")
    shown = drawn(sample.board, (40, 11), log=["the last word"])
    assert "Your dice: [1] [2] [3] [3] [6]" in shown
    assert "2x3" in shown
    assert "% likely" in shown
    assert_all_are_counted(shown, count)
    assert "the last word" in shown


def assert_all_are_counted(shown: str, count: int) -> None:
    """Players without room on the screen are counted on it."""
    in_sight = re.findall(r"^(?:  |▶ |  \d+\. )Player (\d)", shown, re.MULTILINE)
    (more,) = re.findall(r"\+(\d)\b", shown) or ["0"]
    assert len(in_sight) + int(more) == count
    assert len(in_sight) >= min(count, 3)


@pytest.mark.parametrize("me", [0, 7, None])
@pytest.mark.parametrize("size", [(40, 11), (120, 11), (80, 14)])
def test_on_a_small_screen_ten_players_are_in_sight_or_counted(size: tuple[int, int], me: int | None) -> None:
    names = [f"Player {number}" for number in range(10)]
    sample = Sample(CLASSIC, names, me)
    sample.roll()
    for _ in range(10):
        shown = drawn(sample.board, size)
        assert_all_are_counted(shown, 10)
        assert re.search(rf"▶ Player {sample.state.turn}\b", shown)
        if me is not None:
            assert f"Player {me} (you)" in shown
        sample.play(f"{sample.state.bids[-1].quantity + 1}x3" if sample.state.bids else "1x3")
    sample.play("liar")
    sample.open(*[MINE] * 10)
    assert_all_are_counted(drawn(sample.board, size), 10)
    places = tuple((seat,) for seat in range(10))
    sample.board.take(MatchResult("ab" * 32, places, sample.players, Path("x"), True))
    assert_all_are_counted(drawn(sample.board, size), 10)
    board = Board()
    board.take(TableOpened("Friday", JOIN_LINE, (), True, code="417-tiger-olive", seats=10, ruleset=CLASSIC))
    board.take(LobbyChanged(people(names, me), 10))
    shown = drawn(board, size)
    assert (
        len(re.findall("ZYM-KVHF", shown)) - shown.count(JOIN_LINE[-24:]) + int(re.findall(r"\+(\d)", shown)[0]) == 10
    )


def test_ten_players_fit_on_the_smallest_screen() -> None:
    sample = Sample(CLASSIC, [f"Player {number}" for number in range(10)])
    sample.roll()
    sample.play("2x3")
    shown = drawn(sample.board, (60, 19), log=["the last word"])
    assert all(f"Player {number}" in shown for number in range(10))
    assert "[1] [2] [3] [3] [6]" in shown
    assert "Player 0 (you)" in shown
    assert "the last word" in shown


@given(st.text("五 ab\u0301", max_size=30), st.integers(0, 8), st.integers(1, 8))
def test_any_line_is_broken_into_rows_that_fit_or_hold_one_character(said: str, indent: int, columns: int) -> None:
    broken = rows(" " * indent + said, columns)
    assert all(get_cwidth(row) <= columns or len(row.strip()) <= 1 for row in broken)
    assert "".join("".join(broken).split()) == "".join(said.split())


def test_a_long_path_is_broken_between_folders_and_a_long_command_between_words() -> None:
    path = "The transcript is /home/ada/.local/share/p2pdice/transcripts/2026-01-02-friday.p2pdice"
    assert rows(path, 30)[1:] == ["  /home/ada/.local/share/", "  p2pdice/transcripts/", "  2026-01-02-friday.p2pdice"]
    assert rows("    p2pdice replay 3f2a9c0d --home players/ada", 30) == [
        "    p2pdice replay 3f2a9c0d ",
        "    --home players/ada",
    ]


@pytest.mark.parametrize("columns", range(36, 46))
def test_a_player_with_a_wide_name_opens_a_round_at_any_width(columns: int) -> None:
    """At 41 columns there are two for what is said of the bid, and one character of such a name takes both."""
    sample = Sample(CLASSIC, ["五五五", "Ada"], me=1)
    sample.roll()
    assert drawn(sample.board, (columns, 23))


def test_the_first_line_keeps_the_id_of_the_match_at_60_columns() -> None:
    board = Sample(PRESETS["perudo"]).board
    for name in ("Friday", "The long table in the kitchen"):
        board.name = name
        head = drawn(board, (60, 19), steps=1234).split("\n")[0]
        assert "match abababab" in head
        assert head.startswith(f" {name[:6]}")
        assert head.endswith("1234 verified")


def test_a_table_cannot_write_to_the_terminal_by_its_name() -> None:
    board = asked().board
    board.name = "\x1b[2JFriday\u202e"
    assert "\\x1b[2JFriday\\u202e" in drawn(board)


def test_a_call_and_its_odds_are_broken_into_lines_not_cut_at_60_columns() -> None:
    sample = Sample(CLASSIC, ("Annabel (Roman's bot)", "Ben", "Cleo"), me=None)
    sample.roll()
    sample.play("12x6")
    sample.board.hands = {0: MINE, 1: MINE, 2: MINE}
    side = " ".join(line.partition("│")[2].strip() for line in drawn(sample.board, (60, 19)).split("\n"))
    assert re.search(r"it is false; (under )?\d+% for Annabel \(Roman's bot\)", side)
    sample.play("liar")
    sample.open(MINE, MINE, MINE, beats_shown=3)
    told = " ".join(drawn(sample.board, (60, 19)).split())
    assert "Ben calls liar on Annabel (Roman's bot)'s 12 sixes." in told
