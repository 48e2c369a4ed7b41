"""Bot programs: faults are counted and a default move is played, so that no program can stall a table."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.bots.bot import PlayerBot, SharedDice, default_move, rehearse
from cli.bots.bot_seat import ProgramReporter
from cli.bots.faults import Fault, fault_sentence
from cli.bots.program_bot import STARTS, TABLE_SIZES, ProgramBot, fault_summary
from cli.bots.programs import LastWords, Program, ProgramError, split_command
from cli.foreign_text import LINE_BYTES
from p2pdice.engine import apply, new_match
from p2pdice.moves import Play, Stake
from p2pdice.players import OddsPlayer, Player
from p2pdice.players.contest import DrawnDice, contest
from p2pdice.rulesets import PRESETS
from p2pdice.state import Expect, State
from p2pdice.views import view
from tests.cli.conftest import Run
from tests.p2pdice.scripted import after_a_round, dealt, play, random_play, rolled, rules
from tests.programs import ROOT, wait_until_gone
from tests.tiers import thoroughly

PRELUDE = """
import json, os, subprocess, sys, time

def say(**message):
    print(json.dumps(message), flush=True)

def hello():
    say(type="hello", version=1, name="odd \\x1b[31m one")

def listen():
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            hello()
        if message["type"] == "turn":
            yield message

def move(turn, do=None, id=None):
    say(type="move", id=turn["id"] if id is None else id, do=do or turn["legal"][-1])
"""
GOOD = "for turn in listen(): move(turn)"
PATIENT = 20_000
Write = Callable[[str], list[str]]


@pytest.fixture
def program(tmp_path: Path) -> Write:
    """A function that writes a program and returns its command."""

    def write(text: str) -> list[str]:
        path = tmp_path / "odd.py"
        path.write_text(PRELUDE + text, encoding="utf-8")
        return [sys.executable, str(path)]

    return write


async def rehearsed(
    command: list[str], *, move_ms: int = PATIENT, ruleset: str = "classic", dice: str = "2"
) -> ProgramBot:
    """Let a program play a short match against a house bot; return the program, closed."""
    faults: list[Fault] = []
    bot = ProgramBot(command, move_ms=move_ms, on_fault=faults.append)
    await bot.open()
    try:
        over = await rehearse(
            rules(ruleset, dice=dice), [bot, PlayerBot("House", OddsPlayer(Random(1)))], SharedDice("2")
        )
    finally:
        await bot.close()
    assert over.awaits is Expect.OVER
    assert Counter(fault.kind for fault in faults) == bot.faults
    for fault in faults:
        sentence = fault_sentence(bot.name, fault, 1)
        assert sentence.isprintable()
        assert sentence.startswith(f"{bot.name} ")
    return bot


async def test_a_correct_program_makes_no_fault(program: Write) -> None:
    bot = await rehearsed(program(GOOD))
    assert (bot.faults, bot.is_given_up) == (Counter(), True)
    assert bot.moves > 0
    assert bot.name == "odd \\x1b[31m one"
    assert fault_summary(bot.name, bot).endswith(", without a fault.")


@pytest.mark.parametrize("name", PRESETS)
async def test_bots_and_players_play_identical_matches(name: str) -> None:
    def players() -> list[Player]:
        return [OddsPlayer(Random(seat)) for seat in range(3)]

    over = await rehearse(PRESETS[name], [PlayerBot("House", player) for player in players()], DrawnDice(Random(7)))
    assert over == contest(PRESETS[name], players(), Random(7))


LATE, MALFORMED, ILLEGAL, CRASHED = ("late",), ("malformed",), ("illegal",), ("crashed",)


FAULTY = [
    ("", CRASHED),
    ("sys.exit(3)", CRASHED),
    ("sys.stdin.close(); time.sleep(60)", LATE),
    ("hello(); sys.stdout.close(); os.close(1); time.sleep(60)", CRASHED),
    ("hello(); os.close(0); time.sleep(60)", (*CRASHED, *LATE)),
    ("for turn in listen(): sys.exit('at the first turn')", CRASHED),
    ("for turn in listen(): time.sleep(60)", LATE),
    ("hello(); time.sleep(60)", LATE),
    ("for turn in listen(): time.sleep(0.4); move(turn)", LATE),
    ("for turn in listen(): print('thinking hard', flush=True); move(turn)", MALFORMED),
    ("for turn in listen(): print('{', flush=True)", MALFORMED),
    ("for turn in listen(): os.write(1, b'\\xff\\xfe\\n')", MALFORMED),
    ("for turn in listen(): move(turn, id=turn['id'] + 1)", MALFORMED),
    ("for turn in listen(): print('[' * 30000, flush=True)", MALFORMED),
    (f"for turn in listen(): print('x' * {3 * LINE_BYTES}, flush=True); move(turn)", MALFORMED),
    ("for turn in listen(): move(turn, '0x7')", ILLEGAL),
    ("say(type='hello', version=2); time.sleep(60)", MALFORMED),
    ("while True: print('y', flush=True)", (*MALFORMED, *CRASHED)),
    ("hello()\nwhile True: os.write(1, b'y' * 65536)", (*LATE, *CRASHED)),
    ("hello()\nwhile True: say(type='move', id=0, do='liar')", (*MALFORMED, *CRASHED)),
    ("for turn in listen():\n  move(turn)\n  while True: say(type='move', id=turn['id'], do='liar')", MALFORMED),
]
FAULTY_TOO = [
    ("for turn in listen(): print('[1]', flush=True)", MALFORMED),
    ("for turn in listen(): print('NaN', flush=True)", MALFORMED),
    ("for turn in listen(): say(type='move', id=turn['id'], do=['liar'])", MALFORMED),
    ("for turn in listen(): say(type='move', id=turn['id'])", MALFORMED),
    ("for turn in listen(): say(type='move', id=str(turn['id']), do='liar')", MALFORMED),
    ("for turn in listen(): say(type='pass')", MALFORMED),
    ("for turn in listen(): move(turn, 'lose red@0')", ILLEGAL),
    ("for turn in listen(): move(turn, 'liar ' * 99)", ILLEGAL),
    ("say(type='hello', version=True); time.sleep(60)", MALFORMED),
    ("say(type='move', id=1, do='liar'); time.sleep(60)", MALFORMED),
    ("hello()\nwhile True: print('y', flush=True)", (*MALFORMED, *CRASHED)),
]
"""Variants of these faults, for thorough runs."""


@pytest.mark.parametrize("fault", [*FAULTY, *thoroughly(FAULTY_TOO)], ids=lambda fault: fault[0][:60])
async def test_faults_of_a_program_are_counted_and_a_default_is_played(
    program: Write, fault: tuple[str, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, kinds = fault
    # Only a program that is late on purpose gets a short limit, because machines may be slow.
    move_ms = 250 if "late" in kinds else PATIENT
    monkeypatch.setattr("cli.bots.program_bot.HELLO_SECONDS", 2 * move_ms / 1000)
    bot = await rehearsed(program(text), move_ms=move_ms)
    assert bot.faults
    assert set(bot.faults) <= set(kinds)


async def test_answers_to_earlier_turns_do_no_harm(program: Write) -> None:
    bot = await rehearsed(program("for turn in listen(): [move(turn) for _ in range(3)]"))
    assert not bot.faults


@pytest.mark.parametrize(
    ("text", "dice", "crashes"),
    [
        ("for turn in listen(): sys.exit() if turn['id'] == 2 else move(turn)", "2", 1),
        ("for turn in listen(): sys.exit()", "5", 2),
    ],
    ids=["once", "whenever it is asked"],
)
async def test_a_crashed_program_is_restarted_once(
    program: Write, tmp_path: Path, text: str, dice: str, crashes: int
) -> None:
    starts = tmp_path / "starts"
    bot = await rehearsed(program(f"open({str(starts)!r}, 'a').write('x')\n{text}"), dice=dice)
    assert bot.faults == Counter(crashed=crashes)
    assert starts.read_text() == "xx"
    assert bot.moves > 2


async def test_a_program_that_hangs_counts_as_crashed(
    program: Write,
) -> None:
    bot = await rehearsed(program("for turn in listen(): time.sleep(60)"), move_ms=60, dice="5")
    # Three late turns before each of two crashes. On a busy machine, the hello of each start can also be late.
    assert bot.faults["late"] <= 8 < bot.moves


async def test_a_program_that_reads_nothing_takes_no_memory(program: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.bots.programs.UNREAD_BYTES", 20_000)
    bot = await rehearsed(program("hello(); time.sleep(60)"), move_ms=30, ruleset="joker", dice="8")
    assert set(bot.faults) <= {"late", "crashed"}


def listening(heard: Path, at_its_turn: str) -> str:
    """Return a program that writes the messages it gets to a file."""
    return (
        f"heard = open({str(heard)!r}, 'w')\n"
        "for line in sys.stdin:\n"
        "  heard.write(line); heard.flush()\n"
        "  message = json.loads(line)\n"
        "  hello() if message['type'] == 'hello' else None\n"
        f"  {at_its_turn} if message['type'] == 'turn' else None\n"
    )


def heard_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_faulty_program_is_told_which_move_was_played(program: Write, tmp_path: Path) -> None:
    bot = await rehearsed(program(listening(tmp_path / "heard", "move(message, '9x9')")))
    lines = heard_in(tmp_path / "heard")
    errors = [line for line in lines if line["type"] == "error"]
    assert len(errors) == bot.faults["illegal"] == bot.moves
    assert errors[0]["id"] == 1
    assert errors[0]["played"] in ("1x1", "liar")
    assert "'9x9' is not a move" in errors[0]["error"]


async def test_a_program_sees_its_own_hand_and_what_is_public(program: Write, tmp_path: Path) -> None:
    await rehearsed(program(listening(tmp_path / "heard", "move(message)")), ruleset="motes", dice="5")
    lines = heard_in(tmp_path / "heard")
    assert set(lines[0]) == {"type", "version", "rules", "seat", "players", "move_ms"}
    assert (lines[0]["version"], lines[0]["seat"], len(lines[0]["players"])) == (1, 0, 2)
    assert lines[0]["rules"] == dict(PRESETS["motes"].options())
    turns = [line for line in lines if line["type"] == "turn"]
    assert [turn["id"] for turn in turns] == list(range(1, len(turns) + 1))
    stake, *moves = turns
    assert (stake["legal"], stake["funds"], stake["tickets"]) == (["stake 0", "stake 1000"], 1000, 0)
    for turn in moves:
        assert set(turn) == {"type", "id", "view", "legal", "left_ms"}
        assert turn["legal"] == turn["view"]["legal"]
        assert turn["view"]["seat"] == 0
        assert 0 < turn["left_ms"] <= PATIENT
        if turn["view"]["phase"] in ("bidding", "night"):
            assert len(turn["view"]["hand"]) == turn["view"]["dice"][0]
            assert turn["view"]["hands"] is None
    shown = [line["event"] for line in lines if line["type"] == "event"]
    assert shown[0]["type"] == "pledges"
    assert shown[-1]["type"] == "over"
    assert lines[-1] == {"type": "bye", "places": shown[-1]["places"]}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("text", ["for turn in listen(): move(turn)", "hello(); time.sleep(60)", "sys.exit()"])
async def test_no_child_process_of_a_program_outlives_it(program: Write, tmp_path: Path, text: str) -> None:
    pids = tmp_path / "pids"
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    start = (
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        f"child = subprocess.Popen([sys.executable, '-c', {stubborn!r}])\n"
        f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}} {{child.pid}} ')\n"
    )
    await rehearsed(program(start + text), move_ms=100 if "sleep(60)" in text else PATIENT)
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) >= 2
    for pid in started:
        wait_until_gone(pid)


async def test_a_limited_part_of_standard_error_goes_to_the_log(
    program: Write, caplog: pytest.LogCaptureFixture
) -> None:
    await rehearsed(program("os.write(2, b'odd \\x1b[2J thing\\n')\n" + GOOD))
    assert "odd \x1b[2J thing" in caplog.messages
    caplog.clear()
    await rehearsed(program("os.write(2, b'x' * 2_000_000)\n" + GOOD))
    assert sum(map(len, caplog.messages)) < 100_000


async def test_a_missing_program_is_an_error() -> None:
    with pytest.raises(ProgramError, match="no-such-program cannot be started"):
        await ProgramBot(["no-such-program"]).open()
    with pytest.raises(ProgramError, match="cannot be started"):
        await ProgramBot(["odd\0name"]).open()


def test_a_command_text_is_split_as_by_a_shell() -> None:
    assert split_command("python3 'my bot.py' --fast") == ["python3", "my bot.py", "--fast"]
    for text in ("", "  ", "python3 'my"):
        with pytest.raises(ProgramError):
            split_command(text)


class Script:
    """A stub of a program, which answers with these lines."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines

    def write(self, line: bytes) -> bool:
        json.loads(line)
        return True

    async def read(self) -> bytes | None:
        return self._lines.pop(0) if self._lines else None

    async def last_words(self, _seconds: float) -> LastWords:
        return LastWords(1, "why\n\x1b[2J")

    async def close(self, grace: float = 0) -> None:
        """Do nothing."""


ANSWERS = st.binary(max_size=40) | st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["move", "hello", 1, None]),
        "id": st.sampled_from([0, 1, 2, True, 1.0, "1", None, 10**30]),
        "do": st.sampled_from(
            ["liar", "3x5", "1x1", "999x6", "concede", "stake 0", "stake 9999", "", "\ud800", 7, None]
        )
        | st.text(max_size=8),
        "more": st.none() | st.lists(st.integers()),
    },
).map(lambda message: json.dumps(message).encode())


@given(st.lists(ANSWERS, max_size=80), st.sampled_from(["to open", "to answer", "to stake"]))
async def test_any_answers_of_a_program_lead_to_a_legal_move(lines: list[bytes], what: str) -> None:
    opened = rolled(rules(), (5, 5))
    states = {"to open": opened, "to answer": play(opened, "3x5"), "to stake": new_match(rules(stakes="yes"), 2)}
    state = states[what]
    bot = ProgramBot(["script"])
    bot._program = cast("Program", Script(list(lines)))
    bot._starts = STARTS
    move = await bot.choose(view(state, max(state.turn, 0)))
    if isinstance(move, Stake):
        assert move.bet <= 1000
        assert move.tickets == 0
    else:
        apply(state, Play(state.turn, move))
    await bot.close()


@pytest.mark.parametrize(
    ("state", "default"),
    [
        (rolled(rules(), (5, 5)), "1x1"),
        (rolled(rules("perudo"), (5, 5)), "1x2"),
        (play(rolled(rules("perudo"), (5, 5)), "3x5"), "liar"),
        (play(rolled(rules("joker"), (5, 5, 5)), "3x5", "liar"), "accused"),
        (dealt(rules("motes"), 2)._replace(awaits=Expect.STAKES), "stake 0"),
        (after_a_round(), "lose red@0"),
        (play(after_a_round(), "lose grey@0"), "pass"),
        (play(after_a_round(), "evict 1"), "crown light@0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_default_moves_are_the_documented_ones(state: State, default: str) -> None:
    assert str(default_move(view(state, max(state.turn, 0)))) == default


@pytest.mark.parametrize("preset", PRESETS)
def test_the_default_move_is_always_legal(preset: str) -> None:
    for before, _, _ in random_play(PRESETS[preset], 3, Random(preset)):
        if before.awaits is Expect.MOVE:
            chosen = view(before, before.turn)
            assert default_move(chosen) in chosen.legal


def test_bot_check_passes_a_good_program(here: Run, program: Write) -> None:
    done = here("bot", "check", "--json", "--", *program(GOOD))
    report = json.loads(done.stdout)
    assert (done.returncode, report["conforms"], report["complete"], report["faults"]) == (0, True, True, [])
    assert set(report) == {"bot", "conforms", "complete", "moves", "slowest_ms", "matches", "faults"}
    assert [(trial["rules"], trial["players"]) for trial in report["matches"]] == [
        (preset, players) for preset in PRESETS for players in TABLE_SIZES
    ]
    assert set(report["matches"][0]) == {"rules", "players", "seat", "place", "moves", "faults"}
    assert report["bot"] == "odd \\x1b[31m one"


def test_bot_check_plays_only_the_given_rules_and_players(here: Run, program: Write) -> None:
    chosen = ("--rules", "perudo", "--set", "dice=1", "--players", "3")
    report = json.loads(here("bot", "check", "--json", *chosen, "--", *program(GOOD)).stdout)
    assert [(trial["rules"], trial["players"]) for trial in report["matches"]] == [("perudo with dice=1", 3)]
    assert report["conforms"]


def test_bot_check_names_faults_and_stops_after_enough(here: Run, program: Write) -> None:
    command = program("for turn in listen(): move(turn, 'liar')")
    done = here("bot", "check", "--", *command)
    assert done.returncode == 1
    assert "  classic, two players, turn 1: illegal: it made no legal move: " in done.stdout
    assert "1x1 was played instead" in done.stdout
    assert "and was stopped" in done.stdout
    report = json.loads(here("bot", "check", "--json", "--", *command).stdout)
    assert (report["conforms"], report["complete"]) == (False, False)
    assert set(report["faults"][0]) == {"rules", "players", "turn", "kind", "reason", "played", "trace", "log"}


def test_bot_check_shows_equal_faults_once_with_their_number(here: Run, program: Write) -> None:
    done = here("bot", "check", "--", *program("for turn in listen(): move(turn, 'zz')"))
    assert done.stdout.count("illegal: it made no legal move: ") == done.stdout.count("the first of ") == 1
    assert re.search(r"\(the first of \d+ such faults\)\nodd", done.stdout)


def test_a_late_hello_is_reported_with_the_limit(here: Run, program: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.bots.program_bot.HELLO_SECONDS", 0.25)
    done = here("bot", "check", "--", *program("time.sleep(60)"))
    assert " did not say hello within 0.25 s" in " ".join(done.stderr.split())


def test_fault_reports_are_wrapped_at_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    ProgramReporter("odds15 (bot)", as_json=False).fault(Fault("late", "has not answered in time", 3, "1x1"))
    assert all(len(line) < 30 for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("check",), 2, "the program is missing: it comes after --"),
        (("check", "python3", "odds15.py"), 2, "the program is missing: it comes after --"),
        (("Friday", "python3", "odds15.py"), 2, "the program is missing: it comes after --"),
        (("Friday",), 2, "the program is missing: it comes after --"),
        (("Friday", "--"), 2, "the program is missing: it comes after --"),
        (("check", "--", "no-such-program"), 1, "The bot's program no-such-program cannot be started"),
        (
            ("check", "--", sys.executable, "no-such-file.py"),
            1,
            "does not say hello: it has ended (exit code 2), and wrote: ",
        ),
        (("check", "--", sys.executable, "no-such-file.py"), 1, "can't open file"),
        (("127.0.0.1:1", "--", "no-such-program"), 1, "The bot's program no-such-program cannot be started"),
        (("127.0.0.1:1", "--", sys.executable, str(ROOT / "examples" / "odds15.py")), 3, "cannot be reached"),
    ],
)
def test_mistakes_in_bot_commands_are_explained(
    here: Run, arguments: tuple[str, ...], code: int, complaint: str
) -> None:
    done = here("bot", *arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if code != 3:
        assert complaint in done.stderr
        assert not done.stdout


def test_the_last_output_of_a_program_is_awaited(here: Run) -> None:
    """Standard error may end after standard output, especially on a busy machine."""
    program = "import os, sys, time; os.close(1); time.sleep(0.5); sys.stderr.write('the cause\\n')"
    done = here("bot", "check", "--", sys.executable, "-c", program)
    assert "does not say hello: it has ended (exit code 0), and wrote: the cause" in " ".join(done.stderr.split())


def test_starting_a_bot_disables_vfork_and_importing_does_not() -> None:
    script = """if True:
        import asyncio, subprocess, sys
        from cli.bots.programs import start_program
        async def start():
            (await start_program([sys.executable, "-c", ""])).kill()
        print(subprocess._USE_VFORK)
        asyncio.run(start())
        print(subprocess._USE_VFORK)
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["True", "False"]
