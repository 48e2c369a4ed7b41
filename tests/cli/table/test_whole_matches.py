"""Whole matches with every power, drawn after each event at different sizes."""

from __future__ import annotations

import re
from random import Random

import pytest
from prompt_toolkit.utils import get_cwidth

from cli.table.board import Board
from cli.table.picture import picture
from cli.table.scene import Scene
from cli.table.theme import Theme
from cli.text.move_forms import offers
from p2pdice.events import PowerPlayed
from p2pdice.motes import MOTES
from p2pdice.powers import POWERS
from p2pdice.rulesets import PRESETS
from protocol.events import Happened
from tests.cli.table.boards import match_of

SIZES = ((80, 24), (60, 18), (120, 40), (40, 12))
NAMES = ("Ada", "Ben", "Cleo")
ASIDE = 84
"""The first column of the bids and the talk on a wide screen."""


def cup_of(board: Board, seat: int, shown: str, theme: Theme) -> str:
    """Return the letters of the motes drawn below a player's name."""
    rows = [row[:ASIDE] for row in shown.split("\n")]
    mark = f"{theme.mark(seat)} {board.seating.names[seat]}"
    top, left = next((row, text.index(mark)) for row, text in enumerate(rows) if mark in text)
    others = [rows[top].find(f"{theme.mark(other)} {board.seating.names[other]}") for other in range(len(NAMES))]
    right = min((at for at in others if at > left), default=left + 40)
    below = [row[max(left - 4, 0) : right - 4] for row in rows[top + 1 : top + 4]]
    letters = "".join(power.letter for power in POWERS.values())
    return next(filter(None, ("".join(re.findall(rf"\b([{letters}])[a-z]?\b", row)) for row in below)), "")


def check(board: Board, number: int) -> None:
    """Draw a board at a size that depends on ``number``, and check the prize, the cups and the stack."""
    columns, rows = SIZES[number % len(SIZES)]
    theme = Theme(is_ascii=not number % 5)
    moves = offers(board.turn.view, NAMES) if board.turn is not None else ()
    shown = picture(board, Scene(moves=moves), columns, rows, theme).text()
    assert [get_cwidth(row) <= columns for row in shown.split("\n")] == [True] * rows
    state = board.state
    assert state is not None
    if state.motes is None or not state.motes.prize or board.over is not None or columns < 60:
        return
    assert f"prize {state.motes.prize.capitalize()}" in shown or columns == 60
    if board.showdown is None:
        assert [cup_of(board, seat, shown, theme) for seat in range(len(NAMES)) if seat != board.me] == [
            "".join(POWERS[die.mote].letter for die in cup)
            for seat, cup in enumerate(state.motes.cups)
            if seat != board.me
        ]
    if board.showdown is None and state.motes.stack:
        assert f"{state.motes.stack[-1].die.mote.capitalize()}" in shown


def test_matches_with_every_power_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    played: set[str] = set()
    take = Board.take

    def noted(board: Board, event: object) -> None:
        if isinstance(event, Happened) and isinstance(event.event, PowerPlayed):
            played.add(event.event.die.mote)
        take(board, event)  # type: ignore[arg-type]

    monkeypatch.setattr(Board, "take", noted)
    for seed in range(30):
        for number, board in enumerate(match_of(PRESETS["motes"], NAMES, 0, Random(seed))):
            check(board, number)
        if played == set(MOTES):
            return
    raise AssertionError(f"only {sorted(played)} were played")
