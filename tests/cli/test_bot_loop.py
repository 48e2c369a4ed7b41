"""Help for authors of bots: consistent names, tracebacks, hints, and a log of all lines."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from random import Random

import pytest

from cli.arena.fixtures import fixtures
from cli.arena.game import close_programs, play_games
from cli.bots.bot import PlayerBot, SharedDice, rehearse
from cli.bots.crew import _ROOT, restore_path
from cli.bots.faults import Fault, fault_in_talk
from cli.bots.line_log import LARGEST_LOG, LineLog
from cli.bots.player_class import EntrantError, make_player
from cli.bots.program_bot import ProgramBot
from cli.bots.programs import ProgramError
from cli.foreign_text import LINE_BYTES
from cli.render import harmless
from p2pdice.players import OddsPlayer
from p2pdice.rulesets import PRESETS
from tests.cli.conftest import Run
from tests.cli.test_arena import GOOD, plan, program
from tests.programs import ROOT

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} ([<>!#]) (.*)")


def lines(log: Path) -> list[tuple[str, str]]:
    found = [LINE.fullmatch(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [(line[1], line[2]) for line in found if line is not None]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.bots.program_bot.HELLO_SECONDS", 120.0)


async def rehearsed(folder: Path, *words: str, rules: str = "classic") -> tuple[ProgramBot, list[Fault]]:
    faults: list[Fault] = []
    bot = ProgramBot(words, move_ms=60_000, on_fault=faults.append, logs=folder)
    await bot.open()
    try:
        await rehearse(PRESETS[rules], [bot, PlayerBot("House", OddsPlayer(Random(1)))], SharedDice("2"))
    finally:
        await bot.close()
    return bot, faults


@pytest.mark.parametrize(
    ("words", "rules", "name"),
    [
        (["odds"], "motes", "odds"),
        (["tests.cli.arena_players:Honest"], "motes", "Honest"),
        ([f"'{sys.executable}' '{ROOT / 'examples' / 'odds15.py'}'"], "classic", "odds15"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="the command is quoted for a POSIX shell")
async def test_programs_classes_and_house_bots_can_all_be_named_as_bots(
    tmp_path: Path, words: list[str], rules: str, name: str
) -> None:
    bot, faults = await rehearsed(tmp_path, *words, rules=rules)
    assert (bot.name, faults) == (name, [])
    assert bot.moves > 0


async def test_an_error_in_a_players_class_is_reported_with_its_traceback(tmp_path: Path) -> None:
    bot, faults = await rehearsed(tmp_path, "tests.cli.arena_players:Rare")
    assert [fault.kind for fault in faults[:1]] == ["crashed"]
    assert "and wrote: KeyError: 'round 2" in faults[0].reason
    assert re.findall(r", in (\w+)", faults[0].trace) == ["choose", "look_up"]
    assert bot.log is not None
    log = bot.log.path
    assert any(mark == "!" and "KeyError" in line for mark, line in lines(log))
    for fault in faults:
        name, _, number = fault.log.rpartition(":")
        assert name == log.name
        assert lines(log)[int(number) - 1] == ("#", f"crashed: it {harmless(fault.reason)}")


@pytest.mark.parametrize("command", [("arena", "odds", "{}", "--games", "2"), ("bot", "check", "--", "{}")])
def test_an_error_in_a_constructor_is_shown_once_with_its_place(here: Run, command: tuple[str, ...]) -> None:
    done = here(*(word.format("tests.cli.arena_players:Unmade") for word in command))
    assert done.returncode
    told = " ".join(done.stderr.split())
    assert told.count("ZeroDivisionError") == 1
    assert "arena_players.py" in told
    assert told.count("in __init__") == 1


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("mine.py", "'{python} mine.py', or mine:Class for a class in it"),
        ("./mine.py", "'{python} ./mine.py', or mine:Class for a class in it"),
        ("sub/mine.py:Careful", "sub.mine:Careful for a class in it"),
        ("mine", "'{python} mine.py', or mine:Class for a class in it"),
        ("mine.Careful", "mine:Careful for a class in it"),
        ("runs", "./runs"),
        ("runs.py", "./runs.py, or runs:Class for a class in it"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="Windows has other rules for executable files")
async def test_a_mistyped_file_or_class_gets_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, meant: str
) -> None:
    (tmp_path / "sub").mkdir()
    for file in ("mine.py", "sub/mine.py", "runs", "runs.py"):
        (tmp_path / file).touch(0o755 if "runs" in file else 0o644)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProgramError) as failed:
        await ProgramBot([typed]).open()
    assert failed.value.hint == f"Did you mean {meant.format(python='python3')}?"


def test_a_class_with_the_suffix_of_its_file_gets_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EntrantError, match="as in mine:Careful"):
        make_player("mine.py:Careful", Random(1))


async def test_a_log_contains_every_line_in_both_directions(tmp_path: Path) -> None:
    bot, _ = await rehearsed(tmp_path, "odds")
    assert bot.log is not None
    assert bot.log.path == tmp_path / "odds.1.log"
    logged = lines(bot.log.path)
    asked = [json.loads(line) for mark, line in logged if mark == ">"]
    said = [json.loads(line) for mark, line in logged if mark == "<"]
    turns = [message["id"] for message in asked if message["type"] == "turn"]
    assert [message.get("id") for message in said] == [None, *turns]
    assert len(turns) == bot.moves
    assert (asked[0]["type"], asked[-1]["type"], said[0]["type"]) == ("hello", "bye", "hello")
    assert not any("pickle" in message for message in asked)


def test_an_arena_logs_programs_and_classes_and_names_each_game(tmp_path: Path) -> None:
    rare, own = "tests.cli.arena_players:Rare", program(tmp_path, GOOD)
    arena = plan(rare, own, games=2)._replace(logs=tmp_path)
    try:
        games = play_games(arena, tuple(fixtures(arena.tables, arena.games)))
    finally:
        close_programs()
    for log, entrant in ((tmp_path / "Rare.1.log", 0), (tmp_path / "bot.1.log", 1)):
        logged = lines(log)
        seats = [(entrant + game.number) % 2 for game in games]
        assert [line for mark, line in logged if mark == "#" and line.startswith("game ")] == [
            f"game {game.number}, seat {seat}" for game, seat in zip(games, seats, strict=True)
        ]
        asked = sum(mark == ">" and json.loads(line)["type"] == "turn" for mark, line in logged)
        assert asked == sum(len(game.ms[seat]) for game, seat in zip(games, seats, strict=True))
    faults = [fault for game in games for fault in game.described]
    assert faults
    for fault in faults:
        name, _, number = fault.log.rpartition(":")
        assert lines(tmp_path / name)[int(number) - 1] == ("#", f"{fault.kind}: it {harmless(fault.reason)}")


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "", "..", "con", "a\x1b[2J\u202e\n", "x" * 999, "C:\\x"])
def test_every_log_is_a_new_file_in_the_folder(tmp_path: Path, name: str) -> None:
    first, second = LineLog(tmp_path, name), LineLog(tmp_path, name)
    first.close()
    second.close()
    assert {path.parent for path in (first.path, second.path)} == {tmp_path}
    assert first.path.name != second.path.name
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}\.\d\.log", first.path.name)
    assert sorted(tmp_path.iterdir()) == sorted((first.path, second.path))


@pytest.mark.skipif(os.name == "nt", reason="on Windows, creating links needs a special right")
def test_a_log_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "bot.1.log").symlink_to(tmp_path / "elsewhere")
    log = LineLog(tmp_path, "bot")
    log.close()
    assert log.path.name == "bot.2.log"
    assert not (tmp_path / "elsewhere").exists()


def test_a_log_consists_of_printable_lines(tmp_path: Path) -> None:
    log = LineLog(tmp_path, "bot")
    for data in (
        b"\x1b[2J\xff\n",
        b"half",
        b" a line\r\n",
        "\u202e\u2028 2026-01-01 00:00:00.000 > {}\n".encode(),
        b"rest",
    ):
        log.feed("<", data)
    log.feed("!", b"x" * 3 * LINE_BYTES)
    log.remark("two\n\x07lines")
    log.close()
    text = log.path.read_text(encoding="utf-8")
    assert text.replace("\n", "").isprintable()
    logged = lines(log.path)
    assert len(logged) == len(text.splitlines()) == 7
    assert [line for _, line in logged][1] == "half a line"
    assert [mark for mark, _ in logged] == ["<", "<", "<", "!", "<", "#", "#"]


def test_the_size_of_a_log_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LARGEST_LOG == 2**28
    monkeypatch.setattr("cli.bots.line_log.LARGEST_LOG", 2_000)
    log = LineLog(tmp_path, "bot")
    for _ in range(100):
        log.feed("<", b"x" * 99 + b"\n")
    log.close()
    assert log.path.stat().st_size < 2_100
    assert lines(log.path)[-1] == ("#", "This log is full: the rest is not kept.")


def test_a_fault_is_announced_without_text_from_the_program() -> None:
    for kind in ("late", "malformed", "illegal", "crashed"):
        told = fault_in_talk(Fault(kind, "my dice are 6 6 6", 3, "liar", "6 6 6"), 2)
        assert told.startswith("My program ")
        assert "so I play liar (two faults so far)." in told
        assert "6" not in told


def test_bots_get_the_callers_python_path(monkeypatch: pytest.MonkeyPatch) -> None:
    for path, left in ((os.pathsep.join((_ROOT, "mine")), "mine"), (_ROOT, ""), ("mine", "mine")):
        monkeypatch.setenv("PYTHONPATH", path)
        restore_path()
        assert os.environ["PYTHONPATH"] == left


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("arena", "odds", "press", "--log", os.devnull), "--log"),
        (("arena", "odds", "press", "--log", "x", "--cluster", "local"), "play on other machines"),
    ],
)
def test_an_unusable_folder_for_logs_is_refused(here: Run, arguments: tuple[str, ...], said: str) -> None:
    done = here(*arguments)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
