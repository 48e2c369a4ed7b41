"""A person plays a whole match of motes in the line mode, by nothing but what its sentences say."""

from __future__ import annotations

import re
from pathlib import Path

from cli.exits import ExitCode
from tests.cli.conftest import Run
from tests.cli.seat import OVER, TURN, SeatedPlayer, seated
from tests.cli.test_play import transcript


def answer(question: str) -> str:
    """Return the boldest thing that a question offers: the first that is named in it, else what a bidder says."""
    if "stake" in question:
        return "stake 100"
    if "open the round" in question:
        return "2x3"
    if "it cannot be called" in question:
        quantity, face = re.search(r"(\d+)x(\d)", question).groups()  # type: ignore[union-attr]
        return f"{int(quantity) + 1}x{face}"
    if "or call it" in question:
        return "liar"
    offered = re.search(r"Type (.*?)(?:,| or |\.$)", question)
    assert offered is not None, question
    return offered[1]


def test_every_question_of_a_match_can_be_answered_from_its_sentence(here: Run, tmp_path: Path) -> None:
    with seated(tmp_path / "Ada", "host", "--name", "Ada", "--rules", "motes", "--bots", "2") as ada:
        kinds = set(play(ada))
        code, told = ada.finish()
    assert code == 0, told
    assert "is no move" not in told
    assert "not possible" not in told
    assert {"stake", "lose"} <= kinds
    assert "Pledged are " in told
    assert "The prize is the mote " in told
    assert "Coins won and lost: " in told
    assert "joins the prize: the Twin Soul " in told
    assert here("verify", str(transcript(told))).returncode == ExitCode.DONE


def play(player: SeatedPlayer) -> list[str]:
    """Play to the end; return the first words of all that was typed."""
    typed = []
    while not (line := player.until(TURN, OVER)).startswith(OVER):
        typed.append(answer(line))
        player.type(typed[-1])
    return [text.split()[0] for text in typed]
