"""A terminal's late report of its background is not taken for key presses, even if it arrives in pieces."""

from __future__ import annotations

import sys
from itertools import combinations

import pytest
from prompt_toolkit.application import Application, create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput

from cli.table.screen import _drop_late_answers

if sys.platform == "win32":
    pytest.skip("the background is only queried on POSIX", allow_module_level=True)

ANSWERS = ("\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\", "\x1b]11;rgba:ffff/ffff/dddd/ffff\x07")


def pressed(pieces: tuple[str, ...], flushed_after: tuple[int, ...] = ()) -> list[str]:
    """Return the keys parsed from input that arrives in pieces.

    :param flushed_after: indices of the pieces after which the parser times out.
    """
    keys = list[str]()
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        app: Application[None] = Application()
        _drop_late_answers(app)
        for number, piece in enumerate(pieces):
            pipe.send_text(piece)
            keys += [press.key for press in app.input.read_keys()]
            if number in flushed_after or number == len(pieces) - 1:
                keys += [press.key for press in app.input.flush_keys()]
    return keys


@pytest.mark.parametrize("answer", ANSWERS)
def test_answer_in_pieces_is_dropped(answer: str) -> None:
    sent = f"a{answer}b"
    for cuts in [(at,) for at in range(1, len(sent))] + [*combinations(range(1, len(sent)), 2)][::29]:
        pieces = tuple(sent[start:end] for start, end in zip((0, *cuts), (*cuts, len(sent)), strict=True))
        assert pressed(pieces) == ["a", "b"], pieces


@pytest.mark.parametrize("answer", ANSWERS)
def test_answer_interrupted_by_a_flush_is_dropped(answer: str) -> None:
    for at in range(3, len(answer)):
        assert pressed((answer[:at], f"{answer[at:]}b"), (0,)) == ["b"]


def test_keys_are_not_mistaken_for_an_answer() -> None:
    assert pressed(("\x1b",)) == [Keys.Escape]
    assert pressed(("\x1b", "[A")) == [Keys.Up]
    assert pressed(("\x1b", "a"), (0,)) == [Keys.Escape, "a"]
    assert pressed(("\x1b]",)) == [Keys.Escape, "]"]
    assert pressed((f"x{ANSWERS[0][:12]}\x1b[A3x5",)) == ["x", Keys.Up, "3", "x", "5"]
    assert pressed(
        (
            "\x1b[200~",
            "3x5\x1b[201~",
        )
    ) == [Keys.BracketedPaste]
