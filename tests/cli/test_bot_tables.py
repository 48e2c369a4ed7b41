"""Bot programs at real tables: they sit down, cannot stall a match, and end with the command that runs them."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cli.exits import ExitCode
from tests import zygote
from tests.cli.conftest import Run
from tests.cli.seat import SeatedPlayer, seated
from tests.cli.test_bots import GOOD, PRELUDE
from tests.cli.test_play import join_line, transcript
from tests.programs import descendants, wait_until_gone
from tests.tiers import thoroughly

STUBBORN = "import signal\nsignal.signal(15, signal.SIG_IGN)\nhello(); time.sleep(600)"
Sit = Callable[..., SeatedPlayer]


@pytest.fixture
def sit(tmp_path: Path) -> Iterator[Sit]:
    """Start players. Each home has the name of its player."""
    with ExitStack() as stack:
        yield lambda name, *arguments: stack.enter_context(seated(tmp_path / name, *arguments))


def program(folder: Path, name: str, text: str) -> list[str]:
    path = folder / f"{name}.py"
    path.write_text(
        f"{PRELUDE}\nopen({str(folder / 'pids')!r}, 'a').write(f'{{os.getpid()}} ')\n{text}", encoding="utf-8"
    )
    return [sys.executable, str(path)]


def pids(folder: Path) -> list[int]:
    return [int(pid) for pid in (folder / "pids").read_text().split()]


def as_text(command: list[str]) -> str:
    return " ".join(f'"{word}"' for word in command)


def test_a_bot_program_plays_a_fair_match(sit: Sit, here: Run, tmp_path: Path) -> None:
    host = sit("Ada", "host", "--name", "Ada", "--set", "dice=2", "--rules", "joker")
    command = program(tmp_path, "good", GOOD)
    bot = sit("Bot", "bot", join_line(host), "--name", "Bot", "--move-ms", "20000", "--", *command)
    host.play_to_the_end()
    assert host.finish()[0] == 0
    code, told = bot.finish()
    assert code == 0
    assert any(f"Bot (bot) {does}" in told for does in ("bids", "calls", "sides"))
    assert told.splitlines()[-1].startswith("Bot (bot) was asked for ")
    assert told.endswith(", without a fault.")
    assert here("verify", str(transcript(told))).returncode == ExitCode.DONE
    wait_until_gone(*pids(tmp_path))


def test_with_json_a_bot_prints_events_and_faults_as_ndjson(sit: Sit, tmp_path: Path) -> None:
    host = sit("Ada", "host", "--name", "Ada", "--set", "dice=1")
    command = program(tmp_path, "wrong", "for turn in listen(): move(turn, '\\x1b[2J')")
    bot = sit("Bot", "bot", join_line(host), "--json", "--name", "Bot", "--", *command)
    host.play_to_the_end()
    code, told = bot.finish()
    assert code == 0
    lines = [json.loads(line) for line in told.splitlines()]
    faults = [line for line in lines if line["type"] == "BotFault"]
    assert faults
    # All players are told of the fault, but not what the program wrote, because that could reveal its dice.
    assert any("My program made an illegal move, so I play " in line for line in host.finish()[1].splitlines())
    assert set(faults[0]) == {"type", "sentence", "bot", "kind", "faults", "trace"}
    assert (faults[0]["kind"], faults[0]["faults"]) == ("illegal", 1)
    assert lines[-1]["type"] == "BotDone"
    assert lines[-1]["faults"] == {"illegal": len(faults)}
    assert lines[-1]["moves"] == len(faults)
    assert any(line["type"] == "MatchOver" for line in lines)


CROWDS = {
    "every kind at a small table": (
        ["--set", "dice=1"],
        {
            "good": GOOD,
            "crashing": "for turn in listen(): sys.exit()",
            "flooding": "hello()\nwhile True: os.write(1, b'garbage\\n' * 1000); os.write(2, b'x' * 10000)",
            "deaf": "hello(); sys.stdin.close(); time.sleep(600)",
        },
    ),
    "motes and stakes": (
        ["--rules", "motes", "--pledge", "cursed"],
        {"good": GOOD, "wrong": "for turn in listen(): move(turn, 'stake 1001')"},
    ),
}


@pytest.mark.parametrize("crowd", [*thoroughly(["every kind at a small table"]), "motes and stakes"])
def test_no_program_stalls_the_table_of_its_host(sit: Sit, here: Run, tmp_path: Path, crowd: str) -> None:
    options, kinds = CROWDS[crowd]
    bots = [part for name, text in kinds.items() for part in ("--bot", as_text(program(tmp_path, name, text)))]
    host = sit("Ada", "host", "--name", "Ada", *options, "--bots", "1", *bots)
    if "motes" in options:
        assert host.until(" pledged to ").endswith(" and you to Cursed.")
        host.until("What do you stake")
        host.type("stake 10")
    host.until("You roll")
    host.type("concede")
    host.until("The transcript is")
    code, told = host.finish()
    assert code == 0, told
    summaries = [line for line in told.splitlines() if "was asked for" in line]
    assert len(summaries) == len(kinds)
    assert any("without a fault" not in line for line in summaries)
    assert any(" (bot) " in line and " so far)." in line for line in told.splitlines())
    assert here("verify", str(transcript(told))).returncode == ExitCode.DONE
    wait_until_gone(*pids(tmp_path))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("how", ["SIGTERM", *thoroughly(["SIGINT", "SIGHUP"])])
def test_a_bot_program_ends_with_its_command(sit: Sit, tmp_path: Path, how: str) -> None:
    host = sit("Ada", "host", "--name", "Ada", "--seats", "3")
    command = program(tmp_path, "stubborn", STUBBORN)
    bot = sit("Bot", "bot", join_line(host), "--name", "Bot", "--", *command)
    host.until("Bot (bot) sits down")
    bot.process.send_signal(getattr(signal, how))
    assert bot.finish()[0] == ExitCode.INTERRUPTED
    wait_until_gone(*pids(tmp_path))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_the_bots_of_a_killed_host_end(sit: Sit, tmp_path: Path) -> None:
    command = program(tmp_path, "stubborn", STUBBORN)
    host = sit("Ada", "host", "--name", "Ada", "--seats", "3", "--bot", as_text(command))
    host.until("sits down")
    host.kill_9()
    wait_until_gone(*pids(tmp_path))


def test_the_token_of_a_private_table_is_in_no_command_line(
    sit: Sit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zygote, "STARTERS", frozenset())  # a fork would show its zygote's command line
    command = program(tmp_path, "good", GOOD)
    host = sit("Ada", "host", "--private", "--name", "Ada", "--seats", "4", "--bots", "1", "--bot", as_text(command))
    token = join_line(host).rpartition("/")[2]
    assert len(token) == 16
    host.until("One seat is free.")
    running = descendants("house-bot", of=host.process.pid)
    assert len(running) == 2
    running += descendants(command[-1], of=host.process.pid)
    arguments = [each.cmdline() for each in running]
    assert command in arguments
    assert token not in str(arguments)
    assert token not in str([each.environ() for each in running])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--bot", ""), "the program is missing"),
        (("--bot", "'x"), "cannot be read"),
        (("--bot", "a", "--bot", "b", "--seats", "2"), "With 2 bots you need at least 3 seats"),
        (("--bots", "9", "--bot", "a"), "10 bots leave you no seat: a table has at most ten"),
    ],
)
def test_a_host_is_told_which_bot_options_are_wrong(here: Run, arguments: tuple[str, ...], complaint: str) -> None:
    done = here("host", *arguments)
    assert done.returncode == ExitCode.USAGE
    assert complaint in done.stderr
