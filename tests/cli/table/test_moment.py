"""What is on the table never runs ahead of what is told, and in the end is what the engine says."""

from __future__ import annotations

from cli.table.board import Board
from cli.table.drawing import Sight, picture
from cli.table.fragments import plain
from cli.table.pace import beats
from cli.table.palette import PICTURES
from p2pdice import Event, Hands, Play, State, apply, parse_move
from protocol.events import MatchStarted
from tests.cli.table.boards import people, told
from tests.p2pdice.scripted import play, reach, table


def shown(state: State, events: tuple[Event, ...], after: State) -> list[tuple[str, str]]:
    """Return what is shown of these events, one thing after the other: its type, and the picture at that moment."""
    board = Board()
    board.take(MatchStarted("ab" * 32, state.ruleset, people(["Ada", "Ben", "Cleo"], None), None, state))
    pictures = []
    for event in told(events, after):
        for beat in beats(event):
            board.take(beat)
            what = type(event.event if beat is event else beat).__name__
            pictures.append((what, "\n".join(plain(picture(board, Sight(), 80, 23, PICTURES)))))
    return pictures


def test_nobody_is_asked_for_a_die_before_the_verdict_is_told() -> None:
    called = play(reach(table(3), "bidding"), "9x2", "liar")
    after, events = apply(called, Hands(((3,) * 5,) * 3))
    assert (after.phase, after.turn) == ("discard", 0)
    pictures = shown(called, events, after)
    assert [(what, "Ada is choosing a die" in text) for what, text in pictures] == [
        *[("CupOpened", False)] * 3,
        ("HandsShown", False),
        ("Judged", True),
    ]


def test_a_window_opens_when_it_is_told() -> None:
    losing = reach(table(3, "grey@1"), "discard")
    lost = parse_move(f"lose red@{losing.turn}")
    after, events = apply(losing, Play(losing.turn, lost))
    assert [type(event).__name__ for event in events] == ["DieLost", "PhaseBegun"]
    (_, first), (_, second) = shown(losing, events, after)
    for text, window in ((first, "sunset - night - bidding - sunrise"), (second, "[sunrise]")):
        assert window in text
        assert f"red@{losing.turn}" in text.partition("Graveyard: ")[2]
    assert "to move" not in first
    assert "Ben is choosing" in second
