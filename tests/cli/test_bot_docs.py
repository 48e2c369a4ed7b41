"""docs/bots.md is correct, and the examples play."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.bots.bot import PlayerBot, SharedDice, rehearse
from cli.bots.program_bot import HELLO_SECONDS, LATE_IN_A_ROW, MOVE_MS, STARTS, VERSION, ProgramBot
from cli.bots.programs import _LOGGED_BYTES, GRACE
from cli.foreign_text import LINE_BYTES
from p2pdice.moves import MAX_QUANTITY, Move
from p2pdice.players import Player
from p2pdice.views import View
from tests.cli.conftest import Run
from tests.p2pdice.scripted import rules
from tests.programs import PATIENCE, ROOT
from tests.tiers import slowly, thoroughly

GUIDE = (ROOT / "docs" / "bots.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "odds15.py"
LISTENER = """
import subprocess, sys
bot = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
with open(sys.argv[1], "wb") as transcript:
    for line in sys.stdin.buffer:
        transcript.write(b"> " + line)
        bot.stdin.write(line)
        bot.stdin.flush()
        if b'"type":"hello"' in line or b'"type":"turn"' in line:
            answer = bot.stdout.readline()
            transcript.write(b"< " + answer)
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()
        transcript.flush()
"""


class Cautious(Player):
    """Opens with the lowest bid, and calls every bid."""

    def choose(self, view: View) -> Move:
        return view.legal[-1] if view.state.bid else view.legal[0]


async def test_the_guides_session_is_what_the_example_sends_and_receives(tmp_path: Path) -> None:
    listener, heard = tmp_path / "listener.py", tmp_path / "heard"
    listener.write_text(LISTENER, encoding="utf-8")
    command = [sys.executable, str(listener), str(heard), sys.executable, str(EXAMPLE)]
    bot = ProgramBot(command, move_ms=20_000, name="odds15")
    await bot.open()
    try:
        await rehearse(rules("classic", dice="1"), [bot, PlayerBot("Ada", Cautious())], SharedDice("1"))
    finally:
        await bot.close()
    assert not bot.faults
    session = heard.read_text(encoding="utf-8")
    session = session.replace('"move_ms":20000', f'"move_ms":{MOVE_MS}').replace(listener.name, "odds15.py")
    session = re.sub(r'"left_ms":\d+', '"left_ms":1999', session)
    shown = re.search(r"<!-- session -->\n```\n(.*?)```", GUIDE, re.DOTALL)
    assert shown is not None
    assert shown[1] == session


def test_the_guides_example_equals_the_file() -> None:
    assert f"```python\n{EXAMPLE.read_text(encoding='utf-8')}```" in GUIDE
    assert sum(bool(line) for line in EXAMPLE.read_text(encoding="utf-8").splitlines()) == 15


def test_the_numbers_of_the_guide_are_those_of_the_code() -> None:
    prose = " ".join(GUIDE.split())
    assert f"The time limit for a move is {MOVE_MS} milliseconds" in prose
    assert f"at once, within {HELLO_SECONDS:.0f} seconds" in prose
    assert f"longer than {LINE_BYTES} bytes" in prose
    assert f"its first {_LOGGED_BYTES // 1024} KiB go to the home's log file" in prose
    assert GRACE == 0.5
    assert "If it is still running half a second later, it is killed" in prose
    assert STARTS == 2
    assert "A program that crashes is restarted once in each match" in prose
    assert f"legal, too, up to {MAX_QUANTITY}." in prose
    assert f"| `version` ({VERSION})," in prose
    assert LATE_IN_A_ROW == 3
    assert "Three late answers in a row count as a crash" in prose


@pytest.mark.parametrize(
    "command", thoroughly([["sh", "shellbot.sh"], [sys.executable, "odds15.py"]]), ids=lambda words: words[1]
)
def test_the_example_bots_pass_the_bot_check(p2pdice: Run, command: list[str]) -> None:
    if shutil.which(command[0]) is None or (command[0] == "sh" and shutil.which("awk") is None):
        pytest.skip("sh or awk is not installed")
    done = p2pdice(
        "bot", "check", "--move-ms", "20000", "--json", "--", command[0], str(ROOT / "examples" / command[1])
    )
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["bot"] == Path(command[1]).stem


def test_the_guides_arena_command_runs(p2pdice: Run) -> None:
    done = p2pdice("arena", "odds", f'"{sys.executable}" "{EXAMPLE}"', "--games", "4", "--move-ms", "20000", "--json")
    assert done.returncode == 0, done.stderr
    assert [bot["faults"] for bot in json.loads(done.stdout)["bots"]] == [{}, {}]


CLAIMS = [
    tuple(cell.strip() for cell in line.strip("| ").split("|"))
    for line in GUIDE.partition("| preset | players | beside |")[2].partition("\n\n")[0].splitlines()[2:]
]
"""The rows of the table of results between levels."""


@pytest.mark.parametrize("claim", [CLAIMS[0], *thoroughly(CLAIMS[4::4]), *slowly(sorted({*CLAIMS} - {*CLAIMS[::4]}))])
def test_a_claim_about_levels_is_reproduced_by_its_command(here: Run, claim: tuple[str, ...]) -> None:
    preset, players, beside, _, won, interval, fair, *_, command = claim
    low = float(interval.split("–")[0])
    assert low > float(fair), "the claim: the whole interval is above a fair share"
    assert low < float(won)
    words = command.strip("`").split()
    done = here(*words[1:], "--games", players, "--jobs", "1", "--json")
    assert done.returncode == 0, done.stderr
    table = next(each for each in json.loads(done.stdout)["tables"] if each["bot"] == "mind")
    assert (table["rules"], table["games"]) == (preset, int(players))
    assert table["seats"] == ["mind", *[beside] * (int(players) - 1)]
    assert table["fair"] == pytest.approx(float(fair) / 100, abs=0.001)


def test_each_claims_command_plays_the_claimed_number_of_games() -> None:
    assert len(CLAIMS) >= 21
    for preset, players, beside, games, *_, command in CLAIMS:
        assert command == (
            f"`p2pdice arena mind {beside} --gauntlet --rules {preset} --players {players} --games {games}`"
        )


@pytest.mark.thorough
def test_the_learning_example_learns_to_win() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "learn.py"), "--matches", "500"],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    won = re.search(r"it wins (\d+)% of 50 matches", done.stdout)
    assert won is not None
    assert int(won[1]) > 70
