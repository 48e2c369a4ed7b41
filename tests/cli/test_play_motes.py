"""In line mode, a whole match of motes can be played by typing only what the sentences offer."""

from __future__ import annotations

import re
from pathlib import Path

from cli.exits import ExitCode
from cli.text.speech import hear_bid
from tests.cli.conftest import Run
from tests.cli.seat import seated
from tests.cli.test_play import transcript


def answer(question: str) -> str:
    """Return an answer to a question: a call or a bid if it asks for one, otherwise the first move that it offers."""
    if "stake" in question:
        return "stake 100"
    if "make the first bid" in question:
        return "2x3"
    if "can't be called" in question:
        bid = hear_bid(question.rpartition(" bid ")[2])
        assert bid is not None
        return f"{bid.quantity + 1}x{bid.face}"
    if "call it" in question or "Your turn: call " in question:
        return "liar"
    offered = re.search(r"Type (.*?)(?:,| or |\.$)", question)
    assert offered is not None, question
    return offered[1]


def test_every_question_of_a_match_offers_an_answer_that_is_accepted(here: Run, tmp_path: Path) -> None:
    typed: list[str] = []

    def answered(question: str) -> str:
        typed.append(answer(question))
        return typed[-1]

    with seated(tmp_path / "Ada", "host", "--name", "Ada", "--rules", "motes", "--bots", "2") as ada:
        ada.play_to_the_end(answered)
        code, told = ada.finish()
    assert code == 0, told
    assert "is not a move" not in told
    assert "not possible" not in told
    assert {"stake", "lose"} <= {text.split()[0] for text in typed}
    assert "pledged to " in told
    assert "The prize is " in told
    assert "Coins won and lost: " in told
    assert "it is the Twin Soul " in told
    assert here("verify", str(transcript(told))).returncode == ExitCode.DONE
