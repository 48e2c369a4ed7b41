"""Keys on the full screen, and the lines that they type. A pipe supplies the keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input

from cli.table.player_table import PlayerTable
from cli.table.scene import Choice, Dialog, ReplayStrip, TextPage
from cli.table.screen import Screen
from p2pdice.engine import apply
from p2pdice.errors import RulesError
from p2pdice.moves import Bid, Play, Pledges
from p2pdice.rulesets import PRESETS
from p2pdice.views import view
from protocol.consensus.position import Purpose, Stage
from protocol.events import (
    Claimed,
    LobbyChanged,
    MatchFormed,
    MatchResult,
    MatchStarted,
    PeerLost,
    PlayerInfo,
    TableOpened,
    YourTurn,
)
from protocol.match.waiting import Clock, Progress
from protocol.storage.home import Home
from tests.cli.table.boards import JOIN_LINE, Sample

UP, DOWN, ENTER = "\x1b[A", "\x1b[B", "\r"
ADA = PlayerInfo("Ada", "AAAA-1111", is_me=True)
BEN, CLEO, DAN = (PlayerInfo(name, f"{name[0] * 4}-2222") for name in ("Ben", "Cleo", "Dan"))


class Keyboard:
    """A host's screen, and the pipe that its keys come from."""

    def __init__(self, table: PlayerTable, screen: Screen, press: Any) -> None:
        self.table = table
        self.screen = screen
        self._press = press

    async def types(self, keys: str) -> list[str]:
        """Press keys, and return the lines that the table receives."""
        self._press(keys)
        got: list[str] = []
        with suppress(TimeoutError):
            while True:
                async with asyncio.timeout(0.3):
                    got.append(str(await self.screen.read()))
        return got


NO_HOME = Home(Path("home"))


@asynccontextmanager
async def lobby(*guests: PlayerInfo) -> AsyncIterator[Keyboard]:
    """Show a host's lobby with these guests on a screen."""
    node = SimpleNamespace(
        match=None, coins=None, pledge="", clock=lambda: None, can_claim=False, asked=(), kept_out=(), home=NO_HOME
    )
    with create_pipe_input() as pipe, create_app_session(input=pipe):
        table = PlayerTable(cast("Any", node))
        async with Screen(table, None, bell="off", color="none") as screen:
            table.face = screen
            table.take(TableOpened("Friday", JOIN_LINE, (), True, seats=4, ruleset=PRESETS["classic"]))
            table.take(LobbyChanged((ADA, *guests), 4))
            await asyncio.sleep(0.1)  # it has been painted, so the line editor knows the key bar
            yield Keyboard(table, screen, pipe.send_text)


async def test_word_concerns_a_player_only_if_picked_with_the_arrow_keys() -> None:
    async with lobby(BEN, CLEO) as host:
        assert await host.types(f"trust{ENTER}") == ["trust"]
        assert await host.types(f"{DOWN}trust{ENTER}") == ["trust BBBB-2222"]
        assert await host.types(f"{DOWN}trust{ENTER}") == ["trust CCCC-2222"]
        assert await host.types(f"{DOWN}mute{ENTER}") == ["mute BBBB-2222"]
        assert await host.types(f"{UP}mute{ENTER}") == ["mute CCCC-2222"]


async def test_pick_stays_on_its_player_when_others_leave_or_sit_down() -> None:
    async with lobby(BEN, CLEO) as host:
        assert await host.types(f"{UP}remove{ENTER}") == ["remove CCCC-2222"]
        host.table.take(LobbyChanged((ADA, CLEO, DAN), 4))
        assert await host.types(f"remove{ENTER}") == ["remove CCCC-2222"]
        host.table.take(LobbyChanged((ADA, DAN), 4))
        assert await host.types(f"remove{ENTER}") == []
        assert "Cleo" in " ".join(host.screen._scene(80).reply)
        assert host.screen._scene(80).picked is None


@pytest.mark.parametrize(
    ("typed", "line"), [("r", "rules"), ("rem", "rem"), ("q", "q"), ("tr", "trust BBBB-2222"), ("ru", "rules")]
)
async def test_enter_does_not_complete_words_that_cannot_be_undone(typed: str, line: str) -> None:
    async with lobby(BEN, CLEO) as host:
        await host.types(DOWN)
        assert {"remove", "quit", "trust", "rules"} <= set(host.screen._line.hints)
        assert await host.types(f"{typed}{ENTER}") == [line]


async def test_enter_completes_quit_in_a_match_because_quit_asks_first() -> None:
    made = Sample(PRESETS["classic"])
    made.roll()
    made.play("1x2")
    async with lobby(BEN, CLEO) as player:
        player.table.board = made.board
        await asyncio.sleep(0.7)
        (line,) = await player.types(f"q{ENTER}")
        assert line == "quit"
        player.table.obey(line)
        assert not player.table._has_left
        assert player.table._is_leaving


@pytest.mark.parametrize("is_host_here", [True, False])
async def test_key_bar_offers_the_line_that_plays_another_match(*, is_host_here: bool) -> None:
    made = Sample(PRESETS["classic"])
    made.board.host = made.players[1]
    made.board.take(MatchResult("ab" * 32, ((0,), (1,), (2,)), made.players))
    if not is_host_here:
        made.board.take(PeerLost(made.players[1], left_on_purpose=True))
    async with lobby(BEN, CLEO) as player:
        player.table.board = made.board
        line = "again" if is_host_here else "again host"
        assert (line, "") in player.screen._scene(80).keys
        assert await player.types(f"a{ENTER}") == [line]
        assert await player.types(f"again{ENTER}") == ["again"], "a whole word is not completed"


async def test_first_enter_in_the_lobby_asks_before_it_starts() -> None:
    async with lobby(BEN) as host:
        assert ("Enter", "start with two") in host.screen._scene(80).keys
        assert await host.types(ENTER) == []
        shown = host.screen._scene(80)
        assert shown.band.text == "Start with two? Enter starts, Esc takes it back."
        assert shown.keys[:2] == [("Enter", "start"), ("Esc", "take it back")]
        assert await host.types(ENTER) == ["start"]


async def test_started_question_is_withdrawn_when_the_table_fills_or_empties() -> None:
    """Regression test: it also stood over the dealt match, where it hid whose turn it is and Enter started nothing."""
    async with lobby(BEN) as host:
        await host.types(ENTER)
        host.table.take(LobbyChanged((ADA,), 4))
        shown = host.screen._scene(80)
        assert shown.band.text == "Waiting for somebody to sit down."
        assert ("Enter", "start") not in shown.keys
        host.table.take(LobbyChanged((ADA, BEN, CLEO, DAN), 4))
        host.table.take(MatchFormed("ab" * 32))
        assert host.screen._line.is_empty


async def test_enter_completes_quit_after_a_claim_because_the_match_is_left() -> None:
    async with lobby(BEN) as player:
        player.table.take(Claimed("ab" * 32, (ADA, BEN), (BEN,), 300, Path("friday.msgpack")))
        await asyncio.sleep(0.7)
        assert await player.types(f"q{ENTER}") == ["quit"]


async def test_host_is_asked_once_before_the_guests_lose_their_table() -> None:
    async with lobby(BEN, CLEO) as host:
        host.table.obey("quit")
        assert not host.table._has_left
        box = host.table.dialog()
        assert box is not None
        assert list(box.lines) == ["Ben and Cleo sit here. If you leave, the table is closed."]
        host.table.close_dialog()
        assert host.table.dialog() is None
        host.table.obey("quit")
        host.table.take(MatchFormed("ab" * 32))
        assert not host.table._is_leaving, "the question is not about the match"
    async with lobby(BEN, CLEO) as host:
        for line in ("quit", "quit now"):
            host.table.obey(line)
        assert host.table._has_left


@pytest.mark.parametrize("is_host", [True, False])
async def test_lobby_is_left_at_once_if_nobody_loses_a_table(*, is_host: bool) -> None:
    async with lobby(*([] if is_host else [BEN])) as player:
        player.table.board.hosts = is_host
        player.table.obey("quit")
        assert player.table._has_left


@pytest.mark.parametrize(
    ("stage", "passed", "told"),
    [(Stage.LOCK, 5, "waiting for Ben"), (Stage.LOCK, 0.5, ""), (Stage.CHOOSE, 5, "")],
)
async def test_band_says_who_is_waited_for_after_a_moment(stage: Stage, passed: float, told: str) -> None:
    made = Sample(PRESETS["classic"])
    made.roll()
    made.play("1x2", "liar")
    async with lobby(BEN) as player:
        table = cast("Any", player.table)
        table.board = made.board
        table.clock = lambda: Clock(made.players[1:2], 15 - passed, 15, True)
        table.progress = lambda: Progress(9, Purpose.SHOWDOWN, stage, (), made.players[:2])
        assert player.screen._scene(80).band.right == told


async def test_key_bar_no_longer_offers_again_once_it_was_typed() -> None:
    made = Sample(PRESETS["classic"])
    made.board.take(MatchResult("ab" * 32, ((0,), (1,), (2,)), made.players))
    async with lobby(BEN, CLEO) as player:
        player.table.board = made.board
        assert ("again", "") in player.screen._scene(80).keys
        player.table._returning = asyncio.create_task(asyncio.sleep(60))
        assert ("again", "") not in player.screen._scene(80).keys
        player.table.close()


@pytest.mark.parametrize("is_back", [False, True])
async def test_talk_page_after_a_return_says_that_talk_is_not_kept(is_back: bool) -> None:
    async with lobby(BEN) as host:
        host.table.board.is_back = is_back
        await host.types("\x1b[5~")
        page = host.screen._scene(80).page
        assert page is not None
        assert any("Talk is not kept" in line for line in page.lines) == is_back


async def test_enter_on_an_empty_line_seals_the_displayed_stake() -> None:
    made = Sample(PRESETS["motes"])
    state, _ = apply(made.state, Pledges(("redeemed", "cursed", "redeemed")))
    made.board.state = state
    made.board.turn = YourTurn(view(state, 0), 1)
    async with lobby(BEN, CLEO) as player:
        player.table.board = made.board
        await asyncio.sleep(0.3)
        assert player.screen._scene(40).keys[0] == ("Enter", "seal it")
        assert await player.types(ENTER) == ["stake 0"]
        assert await player.types(f"{UP}{ENTER}") == ["stake 50"]
        player.table._may_enter = True  # as after a stake of all coins, which needs confirmation
        assert await player.types(ENTER) == [""]


async def test_escape_withdraws_a_bid_that_waits_for_a_second_enter() -> None:
    made = Sample(PRESETS["classic"])
    made.roll()
    made.play("1x2", "2x2", "2x3")
    played: list[object] = []
    async with lobby(BEN, CLEO) as player:
        player.table.board = made.board
        cast("Any", player.table._node).play = lambda move, token: played.append(move)
        for keys in ("40x3\r", "\x1b", "\r"):
            for line in await player.types(keys):
                player.table.obey(line)
        assert played == []
        for line in await player.types("40x3\r\r"):
            player.table.obey(line)
        assert played == [Bid(40, 3)]


async def test_key_bar_of_a_page_names_only_useful_keys() -> None:
    async with lobby(BEN) as host:
        screen = host.screen
        rows = screen.page_size[1]
        for many, at, key in ((1, 0, []), (3 * rows, 0, ["PgDn"]), (3 * rows, 2 * rows, ["PgUp"])):
            screen._page = TextPage("Talk", ["x"] * many, at)
            assert [each for each, _ in screen._scene(80).keys] == [*key, "Esc"]


async def test_typing_past_a_dialog_says_to_choose_first() -> None:
    async with lobby(BEN) as host:
        host.table.dialog = lambda: Dialog("Leave?", (), (Choice("l", "leave", line="quit now"),))  # type: ignore[method-assign]
        assert await host.types("say") == []
        assert host.screen._scene(80).reply == ("Choose in the box first; Esc closes it.",)


async def test_second_match_is_announced_in_the_talk() -> None:
    made = Sample(PRESETS["classic"])
    started = MatchStarted("ab" * 32, PRESETS["classic"], made.players, 0, made.state)
    async with lobby(BEN, CLEO) as player:
        for is_second in (False, True):
            player.table._had_match = is_second
            player.table.take(started)
            said = [each.text for each in player.screen._scene(80).talk]
            assert ("Another match begins." in said) == is_second


@pytest.mark.parametrize(
    ("latest", "told"),
    [("Round 1. Ada starts.", "Round 1. Ada starts."), ("Ben bids two fours.", "Round 1: Ben bids two fours.")],
)
async def test_band_of_a_replay_has_one_round_number(latest: str, told: str) -> None:
    async with lobby(BEN) as host:
        host.table.strip = lambda: ReplayStrip(1, (0,), 1, 5, "all dice")  # type: ignore[method-assign,assignment,return-value]
        host.table.latest = latest
        assert host.screen._scene(80).band.text == told


@pytest.mark.parametrize("columns", [80, 200])
async def test_refused_raise_does_not_open_a_page(columns: int) -> None:
    made = Sample(PRESETS["classic"])
    made.roll()
    made.play("1x2", "2x2", "2x3")
    assert made.board.turn is not None
    async with lobby(BEN, CLEO) as player:
        player.table.board = made.board
        player.screen._replies = []
        player.screen._output.get_size = lambda: Size(rows=24, columns=columns)  # type: ignore[method-assign]
        with pytest.raises(RulesError) as refused:
            apply(made.board.begun, Play(made.board.begun.turn, Bid(1, 1)))
        player.table._refuse(Bid(1, 1), made.board.turn, refused.value)
        player.screen._show_replies()
        assert player.screen._page is None
        assert player.screen._reply_rows[0].startswith("1x1 is not a raise")
        assert player.table._knows_raises == (columns == 200)
