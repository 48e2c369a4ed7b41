"""``p2pdice league``: a night of matches with all who join, which starts each match and ends without a person."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast, get_args

import pytest

from cli.bots.bot import PlayerBot
from cli.bots.bot_seat import Evening, Lull, TooLongError
from cli.bots.crew import Recruit
from cli.bots.league import WAIT, Ending, League, LeagueReport, Scores, Terms
from cli.commands.bot_options import GIVE_UP
from cli.exits import ExitCode, Failure
from cli.table.play import run
from cli.text.narrate import NIGHT_OVER, OF_BOTS, STANDINGS, event_name
from cli.text.seating import Seating
from p2pdice.engine import new_match
from p2pdice.events import PlayerOut
from p2pdice.players import OddsPlayer
from p2pdice.rulesets import PRESETS
from protocol.consensus.verifier import verify
from protocol.crypto.keys import Identity
from protocol.events import (
    DiceRolled,
    Happened,
    LobbyChanged,
    MatchResult,
    MatchStarted,
    NodeEvent,
    Notice,
    PlayerInfo,
    TableOpened,
    YourTurn,
)
from protocol.match.lobby import TableSettings
from protocol.node.host import KEPT
from protocol.node.node import Node
from protocol.storage.home import Home
from tests.cli.conftest import Run
from tests.network.company import HOST, IMPATIENT, Company, Heard, hurry
from tests.programs import MODULE, PATIENCE, ROOT, Program

TABLE = TableSettings("League", PRESETS["classic"].with_options({"dice": "1"}), 2, private=True)
TERMS = Terms(matches=1, least=2, wait=PATIENCE, give_up=PATIENCE)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


class Report(LeagueReport):
    """Records the events and the JSON output."""

    def __init__(self, folder: Path, matches: int) -> None:
        super().__init__(Home(folder / "host"), matches, folder / "out", as_json=True)
        self.heard = Heard()
        self.said: list[dict[str, Any]] = []

    def show(self, event: NodeEvent, seating: Seating) -> None:
        super().show(event, seating)
        self.heard.hear(event)

    def pass_on(self, said: dict[str, Any]) -> None:
        super().pass_on(said)
        self.said.append(said)


class Night:
    """A night in the process of the test, with a house bot in the host's seat."""

    def __init__(self, folder: Path, table: TableSettings = TABLE, terms: Terms = TERMS) -> None:
        self.report = Report(folder, terms.matches)
        self.until = self.report.heard.until
        own = Recruit("Hal (bot)", Identity.generate())
        self.league = League(table, [own], terms, self.report)
        self.playing = asyncio.create_task(self.league.run(folder / "host", 0, HOST, "redeemed"))

    async def line(self) -> str:
        opened: TableOpened = await self.until(TableOpened)
        return opened.join_line

    async def end(self) -> dict[str, Any]:
        """Wait for the end of the night, even if it is cancelled; return the last JSON object."""
        with suppress(asyncio.CancelledError):
            async with asyncio.timeout(PATIENCE):
                ending = await self.playing
                assert self.report.said[-1]["ending"] == ending
        assert self.report.said[-1]["type"] == "NightOver"
        return self.report.said[-1]


class Guest(Heard):
    """A house bot that joins as a guest and stays for all matches."""

    def __init__(self, folder: Path, name: str, line: str, matches: int) -> None:
        super().__init__()
        self.evening = Evening(lambda node: node.join(line), lambda node: node.watch(line), matches, PATIENCE)
        self.playing = asyncio.create_task(self._play(folder / name, name))

    async def _play(self, home: Path, name: str) -> None:
        node = await Node.open(home, name, interface=HOST, discovery=False)
        try:
            await self.evening.enter(node)
            bot = PlayerBot(name, OddsPlayer(random.Random(name)))
            await self.evening.attend(node, bot, lambda event, _: self.hear(event))
        finally:
            await node.close()


async def test_guests_play_all_matches_and_leave_with_the_host(tmp_path: Path) -> None:
    night = Night(tmp_path, replace(TABLE, seats=3), TERMS._replace(matches=2, least=3))
    line = await night.line()
    guests = [Guest(tmp_path, name, line, 9) for name in ("Ben", "Cleo")]
    over = await night.end()
    await asyncio.gather(*(guest.playing for guest in guests))
    assert (over["ending"], over["matches"], over["unfinished"]) == ("done", 2, None)
    assert [player["matches"] for player in over["players"]] == [2, 2, 2]
    assert sum(player["wins"] for player in over["players"]) == 2
    assert sum(player["beaten"] for player in over["players"]) == 6
    paths = [Path(each) for each in over["transcripts"]]
    assert [path.parent for path in paths] == [tmp_path / "out"] * 2
    assert [verdict(each) for each in over["transcripts"]] == ["fair", "fair"]
    for guest in guests:
        assert [event.transcript.read_bytes() for event in guest.told(MatchResult)] == [
            path.read_bytes() for path in paths
        ]
        assert guest.events[-1] == Notice("The host is not opening the table again")


async def test_a_late_guest_watches_and_plays_the_next_match(tmp_path: Path, people: Company) -> None:
    night = Night(tmp_path, replace(TABLE, seats=3), TERMS._replace(matches=2, wait=0.3))
    line = await night.line()
    (ben,) = await people.join(line, "Ben")
    ben.hold()
    await night.until(MatchStarted)
    late = Guest(tmp_path, "Cleo", line, 1)
    assert (await late.until(MatchStarted)).my_seat is None
    ben.go_on()
    over = await night.end()
    await late.playing
    assert late.told(MatchStarted)[1].my_seat is not None
    matches = {player["name"]: player["matches"] for player in over["players"]}
    assert matches == {"Hal (bot)": 2, "Ben": 1, "Cleo": 1}


@pytest.mark.thorough
async def test_the_night_continues_without_a_guest_who_leaves(tmp_path: Path, people: Company) -> None:
    table = replace(TABLE, seats=3, patience=IMPATIENT)
    night = Night(tmp_path, table, TERMS._replace(matches=2))
    line = await night.line()
    (ben,) = await people.join(line, "Ben")
    ben.hold()
    cleo = Guest(tmp_path, "Cleo", line, 2)
    await night.until(MatchStarted)
    night.league._terms = night.league._terms._replace(wait=0.3)  # not earlier, so that all three sit down first
    await ben.leave()
    over = await night.end()
    await cleo.playing
    assert {player["name"]: player["matches"] for player in over["players"]} == {"Hal (bot)": 2, "Cleo": 2, "Ben": 1}
    assert [verdict(each) for each in over["transcripts"]] == ["unproven", "fair"]


async def test_the_night_ends_if_no_guest_comes(tmp_path: Path) -> None:
    over = await Night(tmp_path, terms=TERMS._replace(give_up=0.2)).end()
    assert (over["ending"], over["matches"], over["transcripts"]) == ("too-few", 0, [])
    assert Ending(over["ending"]).exit_code == ExitCode.TOO_FEW


async def test_no_match_begins_with_too_few_players(tmp_path: Path, people: Company) -> None:
    night = Night(tmp_path, replace(TABLE, seats=4), TERMS._replace(least=3, wait=0))
    (ben,) = await people.join(await night.line(), "Ben")
    await night.until(LobbyChanged, times=2)
    night.league._lull._limit.reschedule(asyncio.get_running_loop().time())
    over = await night.end()
    assert (over["ending"], over["matches"]) == ("too-few", 0)
    assert not ben.told(MatchStarted)


@pytest.mark.parametrize("others", [("Ben",), ()], ids=["with another guest", "alone"])
async def test_a_guest_who_keeps_leaving_does_not_delay_the_start(tmp_path: Path, others: tuple[str, ...]) -> None:
    begun: list[bool] = []
    there = tuple(PlayerInfo(name, name) for name in ("Hal", *others))
    own = Recruit("Hal (bot)", Identity.generate())
    league = League(replace(TABLE, seats=4), [own], TERMS._replace(wait=0.2), Report(tmp_path, 1))
    league._node = cast("Node", SimpleNamespace(start_match=lambda: begun.append(league._has_enough)))
    async with asyncio.timeout(PATIENCE), Lull(PATIENCE) as league._lull:
        while not begun:
            for players in ((*there, PlayerInfo("Eve", "Eve")), there):
                league._take(LobbyChanged(players, 4), Seating())
            await asyncio.sleep(0.01)
    assert begun == [True]


async def test_guests_who_keep_leaving_do_not_extend_a_lull() -> None:
    async def come_and_go() -> None:
        async with asyncio.timeout(PATIENCE), Lull(0.2) as lull:
            while True:
                lull.note(is_lull=False)
                lull.note(is_lull=True)
                await asyncio.sleep(0.01)

    with pytest.raises(TooLongError):
        await come_and_go()


async def test_only_play_ends_a_lull() -> None:
    state = new_match(PRESETS["classic"], 2)
    async with Lull(PATIENCE) as lull:
        lull._since -= PATIENCE / 2
        lull.note(is_lull=False)
        assert lull._left < PATIENCE
        lull.take(Happened(PlayerOut(0, "lost"), state))
        assert lull._left == PATIENCE


async def test_the_host_leaves_a_match_that_waits_too_long_and_saves_it(tmp_path: Path, people: Company) -> None:
    night = Night(tmp_path)
    (ben,) = await people.join(await night.line(), "Ben")
    ben.hold()
    await night.until(MatchStarted)
    night.league._lull._seconds = night.league._lull._left = (
        0.2  # not earlier, because sitting down takes an unknown time
    )
    await ben.leave()
    over = await night.end()
    assert (over["ending"], over["matches"]) == ("too-few", 0)
    assert Path(over["unfinished"]).parent == tmp_path / "out"
    assert verdict(over["unfinished"]) == "incomplete"


async def test_a_guest_leaves_a_match_that_waits_too_long(tmp_path: Path, people: Company) -> None:
    (host,), opened = await people.table(2, ["Ada"])
    host.hold()
    guest = Guest(tmp_path, "Ben", opened.join_line, 2)
    await guest.until(MatchStarted)
    guest.evening._lull._seconds = guest.evening._lull._left = 0.2
    await host.leave()
    with pytest.raises(Failure) as caught:
        await guest.playing
    assert caught.value.code == ExitCode.TOO_FEW


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows, raise_signal(SIGINT) ends the test")
async def test_ctrl_c_ends_the_night_after_the_match(tmp_path: Path, people: Company) -> None:
    night = Night(tmp_path, terms=TERMS._replace(matches=5))
    (ben,) = await people.join(await night.line(), "Ben")
    ben.hold()
    await night.until(MatchStarted)
    signal.raise_signal(signal.SIGINT)
    ben.go_on()
    over = await night.end()
    assert (over["ending"], over["matches"], over["unfinished"]) == ("interrupted", 1, None)
    assert any("last one" in said["sentence"] for said in night.report.said)


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows, raise_signal(SIGINT) ends the test")
@pytest.mark.parametrize("in_match", [False, True])
async def test_ctrl_c_without_a_match_or_twice_ends_the_night_at_once(
    tmp_path: Path, people: Company, in_match: bool
) -> None:
    night = Night(tmp_path)
    line = await night.line()
    if in_match:
        (ben,) = await people.join(line, "Ben")
        ben.hold()
        await night.until(MatchStarted)
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
    over = await night.end()
    assert night.playing.cancelled()
    assert over["ending"] == "interrupted"
    assert (over["unfinished"] is not None) is in_match
    assert ("p2pdice resume " in over["sentence"]) is in_match


async def test_the_dice_of_the_hosts_seat_are_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    night = Night(tmp_path)
    guest = Guest(tmp_path, "Ben", await night.line(), 1)
    await night.end()
    await guest.playing
    told = [json.loads(line)["type"] for line in capsys.readouterr().out.splitlines()]
    assert {DiceRolled, YourTurn} <= set(map(type, night.report.heard.events))
    assert not {"DiceRolled", "YourTurn"} & set(told)
    assert {"TableOpened", "MatchStarted", "Happened", "MatchOver", "Standings", "NightOver"} <= set(told)


def verdict(path: str) -> str:
    return verify(Path(path).read_bytes()).verdict


def test_players_are_ranked_by_wins_and_then_by_players_beaten() -> None:
    ada, ben, cleo = (PlayerInfo(name, name * 2) for name in ("Ada", "Ben", "Cleo"))
    scores = Scores()
    for places in (((0,), (1,), (2,)), ((2,), (1,), (0,)), ((1, 2), (0,))):
        scores.add(MatchResult("", places, (ada, ben, cleo), Path(), confirmed=True))
    told = [(score["name"], score["wins"], score["beaten"]) for score in scores.to_json()]
    assert told == [("Cleo", 2, 3), ("Ben", 1, 3), ("Ada", 1, 2)]


def test_namesakes_have_separate_standings() -> None:
    one, other = PlayerInfo("Ada", "AAAA-1111"), PlayerInfo("Ada", "BBBB-2222")
    scores = Scores()
    for places in (((0,), (1,)), ((0,), (1,)), ((1,), (0,))):
        scores.add(MatchResult("", places, (one, other), Path(), confirmed=True))
    told = [(score["fingerprint"], score["wins"], score["matches"]) for score in scores.to_json()]
    assert told == [("AAAA-1111", 2, 3), ("BBBB-2222", 1, 3)]


async def test_a_league_never_asks_about_newcomers(tmp_path: Path) -> None:
    opened: list[TableSettings] = []

    async def host(table: TableSettings) -> None:
        opened.append(table)
        raise TooLongError

    league = League(
        replace(TABLE, asks="always"), [Recruit("Hal (bot)", Identity.generate())], TERMS, Report(tmp_path, 1)
    )
    league._node = cast("Node", SimpleNamespace(host=host))
    assert await league._play() == Ending.TOO_FEW
    assert [table.asks for table in opened] == ["never"]


# The commands and the guide

GUIDE = (ROOT / "docs" / "league.md").read_text(encoding="utf-8")


def test_the_guides_script_equals_the_file() -> None:
    assert f"```python\n{(ROOT / 'examples' / 'league.py').read_text(encoding='utf-8')}```" in GUIDE


def test_the_guides_events_endings_and_numbers_agree_with_the_code() -> None:
    rows = GUIDE.partition("| `type` |")[2].partition("\n\n")[0]
    types = [name for row in rows.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert set(types) <= {*map(event_name, get_args(NodeEvent)), STANDINGS, NIGHT_OVER, *OF_BOTS}
    assert {each for each in Ending if f"`{each}`" in GUIDE} == set(Ending)
    assert f"`--wait` seconds ({WAIT})" in GUIDE
    assert f"`--give-up` seconds ({GIVE_UP})" in GUIDE
    assert KEPT == 10
    assert "For ten seconds the seats are kept" in GUIDE


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_a_command_that_ignores_sighup_survives_it() -> None:
    async def hung_up() -> str:
        signal.raise_signal(signal.SIGHUP)
        await asyncio.sleep(0)
        return "still here"

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run(hung_up()) == "still here"
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("host", "--matches", "3"), "No such option: --matches"),
        (("host", "--no-play"), "No such option: --no-play"),
        (("league", "--ui", "line"), "No such option: --ui"),
        (("league", "--bots", "3", "--seats", "2"), "With 3 bots you need at least 3 seats"),
        (("league", "--at-least", "3"), "for '--at-least': The table has only 2 seats"),
        (("league", "--bots", "11"), "11 bots are too many"),
        (("host", "--bots", "10"), "10 bots leave you no seat"),
        (("league", "--bots", "9", "--bot", "a", "--bot", "b"), "11 bots are too many"),
        (("host", "--bots", "9", "--bot", "a"), "10 bots leave you no seat"),
    ],
)
def test_a_host_is_told_which_options_conflict(here: Run, arguments: tuple[str, ...], complaint: str) -> None:
    done = here(*arguments)
    assert done.returncode == ExitCode.USAGE
    assert complaint in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="the test starts p2pdice by a shell script")
def test_the_guides_script_runs_a_night(tmp_path: Path) -> None:
    command = tmp_path / "bin" / "p2pdice"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" {" ".join(MODULE)} "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    variables = {"PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}
    script = [str(ROOT / "examples" / "league.py"), "--set", "dice=1", "--matches", "2"]
    prefix = ("sh", "-c", 'cd "$0" && exec "$@"', str(tmp_path))
    with Program(*script, home=tmp_path / "host", prefix=prefix, variables=variables) as night:
        line = night.wait_for(lambda: next((s for s in night.output if "p2pdice join" in s), ""), "a table").split()[-1]
        program = [sys.executable, str(ROOT / "examples" / "odds15.py")]
        bot = [*MODULE, "bot", line, "--matches", "2", "--move-ms", "20000", "--", *program]
        with Program(*bot, home=tmp_path / "guest") as guest:
            assert guest.end() == 0, guest.output
        assert night.end() == 0
    assert night.output[-1] == "The night is over after 2 of 2 matches."
    season = json.loads((tmp_path / "season.json").read_text())
    assert sorted(player["matches"] for player in season.values()) == [2, 2]
    assert sum(player["wins"] for player in season.values()) == 2
    assert len(list((tmp_path / "transcripts").iterdir())) == 2
