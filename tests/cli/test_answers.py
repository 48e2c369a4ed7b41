"""A line that has no effect now is answered with the reason and with what can be typed instead."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cli.table import answers
from cli.table.picture import picture
from cli.table.player_table import PlayerTable
from cli.table.scene import Scene
from cli.table.theme import Theme
from p2pdice.engine import apply, new_match
from p2pdice.moves import Concede, Play, Stake
from p2pdice.rulesets import PRESETS
from p2pdice.views import view
from protocol import events as node
from tests.cli.paper import Paper, on_paper
from tests.cli.table.boards import Sample
from tests.cli.test_line import BEN, Table
from tests.cli.test_waiting import OVER

ADA = node.PlayerInfo("Ada", "1111-2222", is_me=True)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("hello", "I don't know 'hello'. ? shows what you can type."),
        ("conced", "I don't know 'conced'. Did you mean concede?"),
        ("3x3", "One moment: Ben is signing."),
        ("three threes", "One moment: Ben is signing."),
        ("liar!", "One moment: Ben is signing."),
        ("red on Ben", "One moment: Ben is signing."),
        ("l", "One moment: Ben is signing."),
    ],
)
def test_only_moves_out_of_turn_are_answered_with_whose_turn_it_is(typed: str, told: str) -> None:
    assert Table(is_my_turn=False).types(typed) == [told]


def test_after_the_match_lines_are_answered_with_what_can_be_typed() -> None:
    async def again(_wish: str) -> None:
        """Do nothing."""

    table = Table(is_interactive=True, is_my_turn=False)
    table.line._again = again
    table.line.take(OVER)
    assert table.types("hello") == ["I don't know 'hello'. Type again, quit, say or help."]
    assert table.types("3x3") == ["The match is over. Type again, quit, say or help."]


def staking(funds: int = 1000, tickets: int = 0) -> tuple[PlayerTable, Paper, list[object]]:
    """Return a table that asks for a stake, its record of sentences, and the list of moves played."""
    ruleset = PRESETS["classic"].with_options({"stakes": "yes"})
    state = new_match(ruleset, 2)
    played: list[object] = []
    owner = SimpleNamespace(
        play=lambda move, _: played.append(move), match=None, coins=None, pledge="", can_claim=False
    )
    line, paper = on_paper(owner, home=Path("home"))
    line.take(node.MatchStarted("ab" * 32, ruleset, (ADA, BEN), 0, state))
    line.take(node.YourTurn(view(state, 0, ())._replace(funds=funds, tickets=tickets), 1))
    return line, paper, played


def test_after_staking_the_table_says_the_stake_and_who_is_awaited() -> None:
    line, paper, played = staking()
    line.obey("1,000")
    assert not played
    assert paper.said[-1] == "Those are all your coins: 1,000. Press Enter again to stake them."
    line.obey("50")
    assert played == [Stake(50)]
    assert answers.whose_turn(line.board) == "you stake 50 coins; waiting for Ben"
    assert "; you stake 50 coins; waiting for Ben]" in answers.status(line.board)
    paper.said.clear()
    line.obey("60")
    assert paper.said == ["You stake 50 coins; waiting for Ben."]


def test_a_player_without_funds_is_not_asked_for_a_stake() -> None:
    """Regression test: a player who did not type stake 0 was evicted."""
    _, paper, played = staking(funds=0, tickets=0)
    assert played == [Stake(0)]
    assert "You have nothing to stake, so you stake nothing." in paper.said


def test_the_status_line_shows_the_players_dice_and_the_number_of_all_dice() -> None:
    table = Table()
    assert "; your dice 1, 2, 3, 3, 6; 10 dice in all; " in answers.status(table.line.board)
    table.line.board.hand = (3,)
    assert "; your die 3; 10 dice in all; " in answers.status(table.line.board)


def test_after_a_player_conceded_only_those_who_stayed_signed() -> None:
    table = Table()
    state = table.line.board.state
    assert state is not None
    table.line.take(OVER)
    assert table.paper.said[0].startswith("Everybody signed the result.")
    table = Table()
    state, happened = apply(state, Play(1, Concede()))
    for event in happened:
        table.line.take(node.Happened(event, state))
    table.paper.said.clear()
    table.line.take(OVER)
    assert table.paper.said[0].startswith("Everybody who stayed signed the result.")
    panel = picture(table.line.board, Scene(), 80, 24, Theme()).text()
    assert "Everybody who stayed signed the result." in panel


def test_a_spectator_is_told_that_players_choose_stakes() -> None:
    ruleset = PRESETS["classic"].with_options({"stakes": "yes"})
    table = Table()
    table.line.take(node.MatchStarted("ab" * 32, ruleset, (ADA, BEN), None, new_match(ruleset, 2)))
    assert answers.whose_turn(table.line.board) == "everybody stakes in secret"


def test_own_bots_that_leave_after_a_match_are_not_mentioned() -> None:
    table = Table()
    table.line.board.over = cast("Any", SimpleNamespace())
    table.paper.said.clear()
    table.line.bots = frozenset({BEN.fingerprint})
    table.line.take(node.PeerLost(BEN, left_on_purpose=True))
    assert not table.paper.said
    table.line.bots = frozenset()
    table.line.take(node.PeerLost(BEN, left_on_purpose=True))
    assert table.paper.said == ["Ben left."]


def test_only_a_host_is_told_that_bots_leave_after_a_match() -> None:
    table = Table()
    table.line.board.over = cast("Any", SimpleNamespace())
    table.paper.said.clear()
    bot = node.PlayerInfo("Cleo (Zoe's bot)", "5555-6666")
    table.line.take(node.PeerLost(bot, left_on_purpose=True))
    assert not table.paper.said
    table.line.board.join_line = "192.0.2.1:7000/KEY"
    table.line.take(node.PeerLost(bot, left_on_purpose=True))
    assert table.paper.said == ["Cleo (Zoe's bot) left."]


def test_a_host_whose_bots_take_all_seats_sees_no_join_line() -> None:
    table = Table()
    table.line.bots = frozenset({"3333-4444"})
    table.paper.said.clear()
    opened = node.TableOpened("Friday", "192.0.2.1:7000/KEY", (), True, seats=2, ruleset=PRESETS["classic"])
    table.line.take(opened)
    table.line.take(node.LobbyChanged((ADA,), 2))
    assert table.paper.said[0] == "Your bots take all other seats."
    painted = picture(table.line.board, Scene(), 80, 24, Theme()).text()
    assert "join" not in painted
    assert "start" not in painted


def test_all_views_of_a_table_name_the_same_round() -> None:
    sample = Sample(PRESETS["classic"])
    sample.roll()
    sample.play("1x2", "liar")
    sample.open((3,) * 5, (3,) * 5, (4,) * 5)
    assert "round 1 " in picture(sample.board, Scene(), 80, 24, Theme()).text().split("\n")[0]
    assert next(answers.table(sample.board)).startswith("Round 1.")
    assert answers.status(sample.board).startswith("[round 1;")
    sample.roll()
    assert answers.status(sample.board).startswith("[round 2;")


def test_the_moves_in_the_help_are_separated_by_commas() -> None:
    shown = next(line for line in Table().types("help") if line.startswith("    2x4"))
    assert shown.startswith("    2x4, 2x5, ")
    assert shown.endswith(", …, liar, exact")
