"""docs/playing.md names exactly the typed commands, keys, settings, options and sizes that the program has."""

from __future__ import annotations

import re
import shlex
from itertools import chain
from typing import cast

import pytest

from cli.front import build
from cli.preferences import SETTINGS
from cli.settings import Settings
from cli.table.line_editor import LineEditor
from cli.table.live_table import SpectatorTable
from cli.table.picture import CLASSES
from cli.table.player_table import PlayerTable
from cli.table.screen import Screen
from cli.table.terminal import ASCII_VARIABLE, SMALLEST, Showing
from cli.text.speech import hear
from p2pdice.rulesets import PRESETS
from protocol import limits
from protocol.node.node import Node
from tests.cli.table.boards import Sample
from tests.programs import ROOT

PAGE = (ROOT / "docs" / "playing.md").read_text(encoding="utf-8")
TABLE = PlayerTable(cast("Node", None))
NAMED = {"←": "left", "→": "right", "↑": "up", "↓": "down", "space": " "} | {
    "Enter": "c-m",
    "Tab": "c-i",
    "Shift-Tab": "s-tab",
}
"""Names of keys on the page that differ from prompt_toolkit's."""
NO_KEYS = {"<any>", "<bracketed-paste>", "<sigint>", "c-h"}
"""Bindings for typing itself and for signals, which the page need not list."""


def rows(head: str) -> list[list[str]]:
    """Return the cells of the table with this heading."""
    table = PAGE.partition(f"\n| {head} |")[2].partition("\n\n")[0]
    return [re.split(r" \| ", line.strip("| ")) for line in table.splitlines()[2:]]


def words(cell: str) -> list[str]:
    return re.findall("`([^`]+)`", cell)


def typed() -> list[str]:
    """Return every command line on the page."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    lines = chain.from_iterable(block.splitlines() for block in blocks)
    return [*lines, *(code for code in re.findall("`(p2pdice [^`]+)`", PAGE))]


def test_exactly_the_keys_of_the_screen_are_listed() -> None:
    screen = Screen.__new__(Screen)  # reading the bindings needs no terminal
    screen._table = TABLE
    screen._line = LineEditor(TABLE, lambda _: None)
    bound = {str(getattr(key, "value", key)) for each in screen._bindings().bindings for key in each.keys}
    named = [key for cells in rows("key") for key in words(cells[0])]
    assert {NAMED.get(key, key.replace("Ctrl-", "c-").lower()) for key in named} == bound - NO_KEYS
    assert len(named) == len(set(named))


def test_every_typed_command_is_listed_in_the_order_of_the_help() -> None:
    assert [words(cells[0]) for cells in rows("word")] == [[word] for word in TABLE.words]
    *most, last = [f"`{name}`" for name, word in TABLE.words.items() if word.in_full]
    assert f"{', '.join(most)} and {last} have to be typed in full." in PAGE
    shown = PAGE.partition("\n## Watch\n")[2].partition("\n## ")[0]
    watched = SpectatorTable(cast("Node", None), Showing(), "Friday")
    assert {*TABLE.words} - {*watched.words} <= {*words(shown.partition("every step.")[2])}


def test_typed_moves_are_read_as_the_page_says() -> None:
    sample = Sample(PRESETS["classic"])
    sample.roll()
    sample.play("2x3", "2x4", "3x4")
    turn = sample.board.turn
    assert turn is not None
    moves = rows("you type")
    in_a_match = [name for name, word in TABLE.words.items() if not word.in_lobby]
    assert len(moves) > 1
    for lines, (move,) in ((words(said), words(played)) for said, played in moves):
        for line in lines:
            assert str(hear(line, turn.view, sample.board.seating.names, in_a_match)) == move, line


def test_every_setting_is_listed_with_valid_values() -> None:
    assert [words(cells[0]) for cells in rows("setting")] == [[name] for name in SETTINGS]
    for name, values, _ in rows("setting"):
        for value in words(values):
            setting = SETTINGS[words(name)[0]]
            setting.check(setting.read(value))


@pytest.mark.parametrize("line", sorted(set(typed())))
def test_the_program_accepts_every_command_line(line: str) -> None:
    program, *arguments = shlex.split(line, comments=True)
    assert program == "p2pdice"
    command, context = build(), None
    while True:  # a command line that cannot be parsed raises a usage error
        context = command.make_context(None, arguments, parent=context, obj=Settings())
        arguments = [*getattr(context, "_protected_args", ()), *context.args]
        if not (arguments and hasattr(command, "resolve_command")):
            break
        _, command, arguments = command.resolve_command(context, arguments)
    assert not arguments


def test_options_named_alone_are_options_of_host() -> None:
    parts = build().get_command(build().make_context(None, ["host"], obj=Settings()), "host").params
    options = {each for part in parts for each in (*part.opts, *part.secondary_opts)}
    named = {code.split()[0] for code in re.findall("`(--[^`]+)`", PAGE)}
    assert named
    assert {name.partition("=")[0] for name in named} <= options


def test_the_numbers_agree_with_the_code() -> None:
    for said in (
        f"at least {SMALLEST[0]} columns and {SMALLEST[1]} lines",
        "From {} columns and {} lines on".format(*CLASSES["L"]),
        f"you have {limits.PATIENCE_HUMAN} seconds",
        f"up to {limits.WORD_CHARACTERS} characters",
        f"`{ASCII_VARIABLE}=1`",
    ):
        assert said in PAGE
