"""What docs/bots.md shows is what happens, and the examples are programs that play."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from cli.bots.bot import HELLO_SECONDS, LATE_IN_A_ROW, MOVE_MS, PlayerBot, ProgramBot
from cli.bots.local_match import rehearse
from cli.bots.ndjson import LINE_BYTES
from p2pdice import Move, View
from p2pdice.players import Player
from tests.cli.conftest import Run
from tests.p2pdice.scripted import rules
from tests.programs import PATIENCE, ROOT, environment
from tests.tiers import thoroughly

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
    """Makes the lowest bid, and calls any that is made."""

    def choose(self, view: View) -> Move:
        return view.legal[-1] if view.state.bid else view.legal[0]


async def test_the_session_of_the_guide_is_what_the_example_says_and_hears(tmp_path: Path) -> None:
    listener, heard = tmp_path / "listener.py", tmp_path / "heard"
    listener.write_text(LISTENER, encoding="utf-8")
    bot = ProgramBot([sys.executable, str(listener), str(heard), sys.executable, str(EXAMPLE)], move_ms=20_000)
    await bot.open()
    try:
        await rehearse(rules("classic", dice="1"), [bot, PlayerBot("Ada", Cautious())], Random(12))
    finally:
        await bot.close()
    assert not bot.faults
    session = heard.read_text(encoding="utf-8")
    session = session.replace('"move_ms":20000', f'"move_ms":{MOVE_MS}').replace(listener.name, "odds15.py")
    session = session.replace(f'"{Path(sys.executable).name}"', '"python3"')
    session = re.sub(r'"left_ms":\d+', '"left_ms":1999', session)
    shown = re.search(r"<!-- session -->\n```\n(.*?)```", GUIDE, re.DOTALL)
    assert shown is not None
    assert shown[1] == session


def test_the_example_of_the_guide_is_the_file() -> None:
    assert f"```python\n{EXAMPLE.read_text(encoding='utf-8')}```" in GUIDE
    assert sum(bool(line) for line in EXAMPLE.read_text(encoding="utf-8").splitlines()) == 15


def test_the_numbers_of_the_guide_are_those_of_the_code() -> None:
    assert f"{MOVE_MS} milliseconds" in GUIDE
    assert f"{HELLO_SECONDS:.0f} seconds" in GUIDE
    assert f"{LINE_BYTES} bytes" in GUIDE
    assert LATE_IN_A_ROW == 3
    assert "three late answers in a row" in GUIDE


@pytest.mark.parametrize(
    "command", [*thoroughly([["sh", "shellbot.sh"]]), [sys.executable, "odds15.py"]], ids=lambda words: words[1]
)
def test_the_examples_conform(p2pdice: Run, command: list[str]) -> None:
    if shutil.which(command[0]) is None or (command[0] == "sh" and shutil.which("awk") is None):
        pytest.skip("there is no shell with awk here")
    done = p2pdice(
        "bot", "check", "--move-ms", "20000", "--json", "--", command[0], str(ROOT / "examples" / command[1])
    )
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["bot"] == Path(command[1]).stem


def test_programs_can_be_matched_by_a_script(tmp_path: Path) -> None:
    python = f'"{sys.executable}"'
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "bot_match.py"), "--games", "4", f"{python} {EXAMPLE}", "house"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert sum(int(line.split()[0]) for line in lines) == 4
    assert all(" of 4 games, 0 faults: " in line for line in lines)
