"""A game of an arena can be replayed, and nothing claims that it was verified."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.arena.game_file import Game
from cli.arena.retold_game import RetoldGame, UnreadableGameError
from cli.arena.tournament import Journal, filed
from cli.exits import ExitCode
from cli.render import escape
from cli.table.board import Board
from cli.table.picture import picture
from cli.table.replay_table import ReplayTable
from cli.table.scene import Scene
from cli.table.terminal import Showing
from cli.table.theme import Theme
from p2pdice.events import BidMade, MatchOver
from p2pdice.plurals import number
from p2pdice.rulesets import PRESETS
from protocol.events import CupsSeen, DiceRolled, Happened, MatchResult, Notice
from tests.cli.conftest import Run
from tests.cli.paper import Paper
from tests.cli.test_arena import plan, played
from tests.cli.test_arena import text as fixture_of
from tests.cli.test_game_file import FAULT

if sys.platform != "win32":
    from tests.cli.screen import Terminal

    class Looking(Terminal):
        """A terminal that replays a game with a control sequence in a fault."""

        shows_foreign_text = True


RARE = "tests.cli.arena_players:Rare"


def game(*bots: str, rules: str = "classic", size: int = 2) -> dict[str, Any]:
    arena = plan(*bots, games=2, rules=rules, size=size)
    data: dict[str, Any] = json.loads(json.dumps(filed(arena, fixture_of(arena, 0), played(arena)[0]).to_json()))
    return data


def retold(data: dict[str, Any]) -> RetoldGame:
    return RetoldGame(Path("x"), Game.from_json(data))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    arena = plan(RARE, "odds", games=4)
    with Journal(tmp_path / "games.ndjson", arena, is_resumed=False) as journal:
        journal.add(played(arena))
    return tmp_path / "games.ndjson"


@pytest.mark.parametrize("rules", PRESETS)
def test_a_game_is_replayed_as_it_was_played(rules: str) -> None:
    data = game("odds", "press", "random", rules=rules, size=3)
    told = [event for _, event in retold(data).tell()]
    moves = [line["do"] for line in data["lines"] if line.get("do", "")[:1].isdigit()]
    bids = [happened.event for happened in told if isinstance(happened, Happened)]
    assert [f"{bid.quantity}x{bid.face}" for bid in bids if isinstance(bid, BidMade)] == moves
    (over,) = (bid for bid in bids if isinstance(bid, MatchOver))
    assert [list(place) for place in over.places] == data["places"]
    deals = [line["deal"] for line in data["lines"] if "deal" in line]
    assert [[list(hand or ()) for hand in cups.hands] for cups in told if isinstance(cups, CupsSeen)] == deals
    assert isinstance(told[-1], MatchResult)
    board = Board()
    for event in told:
        board.take(event)
    assert board.over is not None


def test_a_game_can_be_replayed_from_any_step_and_seat() -> None:
    shown = retold(game(RARE, "odds"))
    whole = list(shown.tell())
    for since in range(1, shown.last_step + 1):
        assert list(shown.tell(since=since)) == [moment for moment in whole if moment.step >= since]
    seen = [event for _, event in shown.tell(0)]
    assert not any(isinstance(event, CupsSeen) for event in seen)
    hands = [tuple(line["deal"][0]) for line in game(RARE, "odds")["lines"] if "deal" in line]
    assert [event.hand for event in seen if isinstance(event, DiceRolled)] == [hand for hand in hands if hand]


def test_a_fault_is_reported_at_the_move_that_replaced_it() -> None:
    data = game(RARE, "odds")
    data["described"][0]["times"] = 3
    told = list(retold(data).tell())
    notices = [(step, event.text) for step, event in told if isinstance(event, Notice)]
    assert [step for step, _ in notices] == [fault["line"] for fault in data["described"]]
    for fault, (step, text) in zip(data["described"], notices, strict=True):
        first = f" (the first of {number(fault['times'])} such faults in this game)" if fault["times"] > 1 else ""
        assert text == f"Rare {fault['reason']}, and {fault['played']} was played instead{first}"
        assert data["lines"][step]["do"] == fault["played"]


def notes_at(lines: list[str], data: dict[str, Any]) -> list[str]:
    """Return the talk on the screen of a replay after these typed lines."""
    paper = Paper(is_interactive=True)
    paper.shows_board = True
    table = ReplayTable(retold(data), Showing(pace=0), None, "x: UNSIGNED.", paper)
    table.begin()
    for line in lines:
        table.obey(line)
    return [said.text for said in table.notes]


def test_a_fault_is_in_the_talk_of_its_scene_only() -> None:
    data = game(RARE, "odds")
    data["described"][0]["times"] = 1
    after = sum("deal" in line for line in data["lines"][: data["described"][0]["line"] + 1])
    forward = [f"round {after}"]
    while not (told := notes_at(forward, data)):
        forward.append("next")
    first = data["described"][0]
    assert told == [f"Rare {escape(first['reason'])}, and {first['played']} was played instead."]
    assert notes_at([*forward, "next"], data) == []
    assert notes_at([*forward, "next", "back"], data) == told
    assert notes_at([*forward, "end", "round 1", *forward, "as odds"], data) == told
    first["line"] = len(data["lines"])  # as if the class failed when it was told the result
    assert notes_at(["end"], data) == told


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX pseudo-terminal")
def test_on_the_screen_of_a_replay_a_fault_is_drawn_as_a_notice(file: Path, tmp_path: Path) -> None:
    with Looking(tmp_path, "replay", str(file), "--game", "1", "--ui", "screen", "--pace", "0") as person:
        person.until("round 1 of")
        person.type("round 2\r")
        person.until("Round 2.")
        while "was played instead" not in person.shown():
            before = person.shown()
            person.type("\x1b[C")
            person.wait_for(lambda: person.shown() != before, "the next scene")  # noqa: B023
        assert "· Rare raised KeyError: " in person.shown()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["lines"].pop(),
        lambda data: data["lines"].insert(1, {"seat": 0, "do": "lose red@0"}),
        lambda data: data["lines"][0]["deal"][0].append(7),
        lambda data: data["places"].reverse(),
        lambda data: data["options"].update(dice=10**30),
        lambda data: data["options"].update({"\x1b[2J": 1}),
        lambda data: data.update(lines=[]),
    ],
)
def test_a_game_that_breaks_the_rules_is_not_replayed(change: Callable[[dict[str, Any]], object]) -> None:
    data = game("odds", "odds")
    change(data)
    filed = Game.from_json(data)
    with pytest.raises(UnreadableGameError):
        RetoldGame(Path("x"), filed)


def test_a_replayed_game_is_called_unsigned_and_never_fair(here: Run, file: Path) -> None:
    done = here("replay", str(file), "--game", "1")
    assert done.returncode == 0, done.stderr
    assert "game 1: UNSIGNED.\n  Nobody signed this game, so nothing was verified" in done.stdout
    assert "Rare raised KeyError: " in done.stdout
    assert "FAIR" not in done.stdout
    first, *events = map(json.loads, here("replay", str(file), "--game", "1", "--json").stdout.splitlines())
    assert (first["type"], first["verdict"]) == ("Verdict", "unsigned")
    assert events[-1]["type"] == "MatchOver"


def test_the_end_of_a_replayed_game_claims_no_proof() -> None:
    board = Board()
    for _, event in retold(game("odds", "odds")).tell():
        board.take(event)
    shown = " ".join(picture(board, Scene(), 120, 40, Theme()).text().split())
    assert "Nobody signed this game: x proves nothing." in shown
    assert "proves it" not in shown


def test_the_report_of_a_game_is_called_unsigned_and_has_no_verifier(here: Run, file: Path, tmp_path: Path) -> None:
    page = tmp_path / "game.html"
    done = here("report", str(file), "--game", "0", "-o", str(page))
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert "UNSIGNED. Nobody signed this game, so nothing was verified" in text
    assert "Rare raised KeyError" in text
    for claim in ("<script", "script-src", "ingerprint", "ignature", "Verified again", "transcript", "signed with"):
        assert claim not in text


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), ExitCode.FAILURE, "It has several games."),
        (("--game", "9"), ExitCode.FAILURE, "It has no game 9: its four games are numbered 0 to 3."),
    ],
)
def test_a_missing_game_number_is_refused_with_the_numbers(
    here: Run, file: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = here("replay", str(file), *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "--game 0" in done.stderr


def test_a_single_line_of_a_file_can_be_replayed(here: Run, file: Path, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(file.read_bytes().splitlines(keepends=True)[2])
    assert "UNSIGNED" in here("replay", str(tmp_path / "one")).stdout


def test_hostile_text_in_a_file_is_escaped(here: Run, tmp_path: Path) -> None:
    data = game("odds", "odds")
    data |= {"bots": ["x"] * 2, "names": ["\x1b[2J\u202e", "odds"], "seed": "\x1b[2J\n", "rules": "\x1b]0;x\x07"}
    hostile = {"line": 3, "reason": "\x1b[2J\nFAIR.", "played": "\x07", "log": "\x1b[2J", "times": 2}
    data["described"] = [FAULT | hostile]
    (tmp_path / "one").write_text('{"type":"game",' + json.dumps(data).removeprefix('{"type": "game", ') + "\n")
    for options in ((), ("--json",)):
        done = here("replay", str(tmp_path / "one"), *options)
        assert done.returncode == 0, done.stderr
        assert done.stdout.replace("\n", "").isprintable()
        assert "\nFAIR." not in done.stdout


def test_a_truncated_game_is_not_replayed(here: Run, file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])
    done = here("replay", str(file), "--game", "3")
    assert (done.returncode, done.stdout) == (ExitCode.FAILURE, "")
    assert "It has no game 3: its three games are numbered 0 to 2." in done.stderr
