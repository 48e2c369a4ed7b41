"""Dialogs on the table: their questions, the lines that their choices type, and their layout."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import cast
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.table import answers
from cli.table.canvas import Area, Canvas, broken, width
from cli.table.picture import draw_dialog, draw_page, page_rows, page_size
from cli.table.player_table import PlayerTable
from cli.table.scene import Choice, Dialog, TextPage
from cli.table.theme import Theme
from p2pdice.rulesets import PRESETS
from protocol.events import (
    Continued,
    LobbyChanged,
    MatchFormed,
    MatchStarted,
    PeerBack,
    PeerLost,
    PlayerInfo,
    SeatAsked,
    Suspended,
    TableOpened,
)
from protocol.match.waiting import Clock
from tests.cli.paper import on_paper
from tests.cli.table.boards import JOIN_LINE, Sample, people

MALLORY = PlayerInfo("Mallory", "MQ4X-81RR-7DLQ-44XA-M2ZC")


def drawn(dialog: Dialog, area: Area, theme: Theme = Theme()) -> str:  # noqa: B008 - it is immutable
    canvas = Canvas(area.x + area.width, area.y + area.height, theme)
    draw_dialog(canvas, dialog, area)
    return canvas.text()


def table(players: Sequence[str] = ("Ada", "Ben", "Cleo"), *moves: str) -> Sample:
    sample = Sample(PRESETS["classic"], players)
    sample.roll()
    sample.play(*moves)
    return sample


def test_leaving_dialog_states_the_consequences() -> None:
    sample = table()
    clock = Clock(sample.players[:1], 101.2, 120.0, True)
    assert drawn(answers.leaving_box(sample.board, clock, is_conceding=False, goes_on=True), Area(1, 0, 66, 12)) == (
        """\
  ╭─ Leave the table? ───────────────────────────────────────────╮
  │                                                              │
  │ Round 1; it is your turn, with 1:42 left.                    │
  │ If you are away for long, they may go on without you.        │
  │                                                              │
  │ ▸ s  Stay                                                    │
  │   l  Come back later                                         │
  │      your dice are kept; return with p2pdice resume          │
  │   c  Concede                                                 │
  │      you are out for good; Ben and Cleo play on              │
  │                                                              │
  ╰──────────────────────────────────────────────────────────────╯"""
    )


def test_leaving_dialog_preselects_concede_if_requested() -> None:
    sample = table(("Ada", "Ben"), "1x2")
    dialog = answers.leaving_box(sample.board, None, is_conceding=True, goes_on=False)
    assert dialog.choices[dialog.picked].line == "concede yes"
    assert dialog.choices[dialog.picked].note == "you lose this match; it takes effect after Ben's move"
    assert dialog.lines[-1] == "The match waits for you."


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize(("can_wait", "can_claim"), [(False, False), (True, False), (True, True)])
def test_absence_dialog_offers_only_possible_choices(goes_on: bool, can_wait: bool, can_claim: bool) -> None:
    sample = table(("Ada", "Ben", "Cleo"), "1x2")
    ben = sample.players[1]
    clock = Clock((ben,), 78.0, 120.0, goes_on)
    dialog = answers.absence_box(sample.board, clock, ben, 42, can_wait=can_wait, can_claim=can_claim)
    lines = {choice.line for choice in dialog.choices}
    assert (dialog.lines[0] == "No word from Ben's laptop for 42 seconds.") == goes_on
    assert ("wait" in lines) == (goes_on and can_wait)
    assert ("claim" in lines) == (can_claim and not goes_on)
    assert "quit now" in lines
    offered = [choice.text for choice in dialog.choices]
    assert ("Go on without Ben in 1:18 (needs Cleo too)" in offered) == goes_on
    assert ("Wait for Ben" in offered) != goes_on


def test_absence_dialog_of_five_players_asks_for_a_majority() -> None:
    sample = table(("Ada", "Ben", "Cleo", "Dan", "Eve"), "1x2")
    ben = sample.players[1]
    dialog = answers.absence_box(sample.board, Clock((ben,), 78.0, 120.0, True), ben, 42, can_wait=True, can_claim=True)
    assert dialog.lines[1] == "More than half of you can go on without Ben in 1:18."
    assert "Go on without Ben in 1:18 (more than half of you must)" in [choice.text for choice in dialog.choices]


def test_absence_dialog_explains_a_claim() -> None:
    sample = table()
    sample.board.take(PeerLost(sample.players[1]))
    dialog = answers.absence_box(sample.board, None, sample.players[1], 42, can_wait=True, can_claim=True)
    assert drawn(dialog, Area(1, 0, 66, 13)) == (
        """\
  ╭─ Ben is away ────────────────────────────────────────────────╮
  │                                                              │
  │ There are too few of you to go on without Ben, so the match  │
  │   waits.                                                     │
  │                                                              │
  │ ▸ w  Wait for Ben                                            │
  │   l  Leave; resume another day                               │
  │   c  Leave it as claimed                                     │
  │      Only your own history notes it: claimed, not confirmed. │
  │        Nobody wins, no coins move, and you and Ben can both  │
  │        still resume.                                         │
  │                                                              │
  ╰──────────────────────────────────────────────────────────────╯"""
    )


def test_slow_player_is_not_called_away() -> None:
    sample = table()
    sample.board.take(Suspended(sample.players[1:2]))
    dialog = answers.absence_box(sample.board, None, sample.players[1], 42, can_wait=True, can_claim=True)
    assert dialog.title == "Still waiting for Ben"


def silent(monkeypatch: pytest.MonkeyPatch, *, can_claim: bool = False) -> tuple[PlayerTable, Sample]:
    """Return Ada's table. She waits for Ben and Cleo, who have both been away for a minute."""
    sample = table()
    node = SimpleNamespace(clock=lambda: None, can_claim=can_claim, match=None, coins=None, pledge="")
    player, _ = on_paper(node)
    player.board = sample.board
    for lost in sample.players[1:]:
        player.take(PeerLost(lost))
    player.take(Suspended(sample.players[1:]))
    now = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now + 60)
    return player, sample


def title(player: PlayerTable) -> str:
    dialog = player.dialog()
    return dialog.title if dialog is not None else ""


def test_each_absent_player_has_a_separate_dialog(monkeypatch: pytest.MonkeyPatch) -> None:
    player, _ = silent(monkeypatch)
    assert title(player) == "Ben is away"
    player.close_dialog()
    assert title(player) == "Cleo is away"
    player.close_dialog()
    assert title(player) == ""


@pytest.mark.parametrize("is_new", [False, True])
def test_dialog_opens_again_for_a_new_absence(monkeypatch: pytest.MonkeyPatch, is_new: bool) -> None:
    player, sample = silent(monkeypatch)
    player.close_dialog()
    player.close_dialog()
    if is_new:
        player.take(MatchStarted("cd" * 32, PRESETS["classic"], sample.players, 0, sample.state))
        for lost in sample.players[1:]:
            player.take(PeerLost(lost))
    else:
        player.take(Continued())
    player.take(Suspended(sample.players[1:]))
    now = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now + 60)
    assert title(player) == "Ben is away"


@pytest.mark.parametrize("can_claim", [True, False])
def test_claim_is_offered_only_if_the_node_can_make_it(monkeypatch: pytest.MonkeyPatch, can_claim: bool) -> None:
    dialog = silent(monkeypatch, can_claim=can_claim)[0].dialog()
    assert dialog is not None
    assert [choice.key for choice in dialog.choices] == ["w", "l", *(["c"] if can_claim else [])]


def test_every_choice_begins_with_a_capital() -> None:
    sample = table()
    clock = Clock((sample.players[1],), 78.0, 120.0, True)
    dialogs = [
        answers.leaving_box(sample.board, None, is_conceding=False, goes_on=True),
        *(
            answers.absence_box(sample.board, each, sample.players[1], 42, can_wait=True, can_claim=True)
            for each in (clock, None)
        ),
        *(answers.newcomer_box("Mallory", MALLORY, came_by, namesake=True) for came_by in ("code", "")),
    ]
    assert [choice.text for dialog in dialogs for choice in dialog.choices if not choice.text[0].isupper()] == []


def test_dialog_says_that_a_player_left_on_purpose() -> None:
    sample = table()
    sample.board.gone.add(sample.players[1].fingerprint)
    dialog = answers.absence_box(sample.board, None, sample.players[1], 360, can_wait=False, can_claim=False)
    assert dialog.lines[0] == "Ben left six minutes ago, and can still come back."


@pytest.mark.parametrize(
    ("came_by", "namesake", "lines"),
    [
        ("line", False, ["seat", "refuse", "watch"]),
        ("code", True, ["seat", "refuse", "watch"]),
        ("", True, ["seat", "quit"]),
    ],
)
def test_newcomer_dialog_shows_the_fingerprint_and_types_it(came_by: str, namesake: bool, lines: list[str]) -> None:
    dialog = answers.newcomer_box("Mallory", MALLORY, came_by, namesake=namesake)
    typed = [f"{word} {MALLORY.fingerprint}" if word != "quit" else word for word in lines]
    assert [choice.line for choice in dialog.choices] == typed, "names can be ambiguous"
    shown = drawn(dialog, Area(0, 0, 80, 12))
    assert MALLORY.fingerprint in shown
    assert ("Not the Mallory you trust" in shown) == namesake


@given(
    st.integers(40, 200),
    st.integers(6, 30),
    st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=99), max_size=4),
    st.integers(1, 4),
    st.sampled_from([Theme(), Theme("none"), Theme("16", "light", True)]),
)
def test_dialog_fits_its_area_and_shows_all_choices(
    columns: int, height: int, lines: list[str], many: int, theme: Theme
) -> None:
    choices = [Choice(key, f"choice {key}", "a consequence " * 3) for key in "abcd"[:many]]
    shown = drawn(Dialog("A question?", lines, choices), Area(0, 1, columns, height), theme).split("\n")
    assert shown[0] == ""
    assert all(any(f"{choice.key}  {choice.text}" in row for row in shown) for choice in choices)
    assert all(width(normalize("NFC", row)) <= columns for row in shown)
    assert "A question?" in "\n".join(shown)


@given(st.integers(40, 120), st.integers(12, 50), st.lists(st.text("ab c\n", max_size=300), max_size=20))
def test_paging_shows_every_line_of_a_text(columns: int, height: int, lines: list[str]) -> None:
    page = TextPage("Rules", lines)
    told = page_rows(page, columns)
    room = page_size(columns, height)[1]
    read: list[str] = []
    for at in range(0, max(len(told), 1), room):
        canvas = Canvas(columns, height, Theme())
        draw_page(canvas, TextPage("Rules", lines, at))
        read += [row[1:] for row in canvas.text().split("\n")[1 : 1 + room]]
        assert canvas.text().split("\n")[room + 1 :] == [""] * (height - room - 1)
    for row in told:
        assert row.rstrip() in read


@given(st.text("ab 五\n", max_size=200), st.integers(8, 60))
def test_breaking_a_text_into_lines_loses_nothing(text: str, columns: int) -> None:
    shown = broken(text, columns)
    assert all(width(row) <= columns for row in shown)
    assert "".join("".join(shown).split()) == "".join(text.split())


@pytest.mark.parametrize("line", ["~/evenings/friday/ada.msgpack", "p2pdice verify ~/evenings/friday/ada.msgpack"])
def test_indented_line_that_is_too_long_is_copied_without_added_spaces(line: str) -> None:
    """Regression test: every part of a broken path was indented."""
    assert "".join(broken(f"    {line}", 20)) == line
    assert broken(f"    {line}", width(line)) == [line]
    assert broken(f"    {line}", width(line) + 4) == [f"    {line}"]


@pytest.mark.parametrize(
    ("seconds", "words"), [(1, "one second"), (42, "42 seconds"), (119, "119 seconds"), (360, "six minutes")]
)
def test_elapsed_time_in_words(seconds: int, words: str) -> None:
    assert answers.since(seconds) == words


# Dialogs of a whole table


class Owner(SimpleNamespace):
    """A stub of a node with the attributes that dialogs read."""

    def __init__(self) -> None:
        asked = list[SeatAsked]()
        super().__init__(asked=asked, kept_out=(), match=None, can_claim=False, coins=None, pledge="", awaited=None)

    def clock(self) -> Clock | None:
        return cast("Clock | None", self.awaited)

    def progress(self) -> None:
        """Return None: no step is open."""


def test_absence_dialog_opens_after_15_seconds_and_can_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    (line, _), sample = on_paper(owner := Owner()), table()
    line.board = sample.board
    ben = sample.players[1]
    owner.awaited = Clock((ben,), 50.0, 120.0, True)
    line.take(PeerLost(ben, left_on_purpose=False))
    now += 14
    assert line.dialog() is None
    now += 2
    box = line.dialog()
    assert box is not None
    assert "Ben" in box.title
    assert {choice.line for choice in box.choices} >= {"wait", "quit now"}
    owner.can_claim = True
    owner.awaited = Clock((ben,), 50.0, 120.0, False)
    box = line.dialog()
    assert box is not None
    assert "claim" in [choice.line for choice in box.choices]
    line.close_dialog()
    assert line.dialog() is None
    line.take(PeerBack(ben))
    line.take(PeerLost(ben, left_on_purpose=False))
    now += 16
    assert line.dialog() is not None
    line.close_dialog()  # choosing closes the dialog, then types the word
    owner.wait_longer = lambda seconds: seconds
    line.obey("wait")
    now += 119
    assert line.dialog() is None
    now += 2
    assert line.dialog() is not None, "the two minutes are over"


def test_concede_dialog_opens_before_the_seats_are_drawn() -> None:
    """At that time the board has no game state."""
    line, paper = on_paper(Owner())
    paper.shows_board = True
    line.take(LobbyChanged(people(("Ada", "Ben")), 2))
    line.take(MatchFormed("ab" * 32))
    line.obey("concede")
    box = line.dialog()
    assert box is not None
    assert [(choice.line, choice.note) for choice in box.choices][2] == ("concede yes", "you are out for good")


def test_newcomer_dialog_opens_for_the_host_and_can_be_closed() -> None:
    line, _ = on_paper(owner := Owner())
    line.take(LobbyChanged(people(("Ada", "Ben")), 4))
    assert line.dialog() is None
    owner.asked.append(SeatAsked(MALLORY, namesake=False, came_by="code"))
    box = line.dialog()
    assert box is not None
    key = MALLORY.fingerprint
    assert [choice.line for choice in box.choices if choice.line] == [f"seat {key}", f"refuse {key}", f"watch {key}"]
    line.close_dialog()
    assert line.dialog() is None
    owner.asked[0] = SeatAsked(replace(MALLORY, name="Ben"), namesake=True, came_by="code")
    assert title(line).startswith("Ben ["), "a new name needs a new decision"


@pytest.mark.parametrize(
    ("custom", "others", "gives"),
    [
        (0, ("Ben (bot)",), False),
        (0, ("Ben",), False),
        (1, ("Ben",), True),
        (2, ("Ben",), False),
        (2, ("Ben (bot)",), True),
        (2, ("Ben (bot)", "Cleo"), False),
    ],
)
def test_default_for_showing_odds(custom: int, others: tuple[str, ...], gives: bool) -> None:
    line, _ = on_paper(Owner())
    line.take(TableOpened("Friday", JOIN_LINE, (), True, seats=4, ruleset=PRESETS["classic"], odds=custom))
    line.take(LobbyChanged(people(("Ada", *others)), 4))
    assert line.gives_odds is gives
