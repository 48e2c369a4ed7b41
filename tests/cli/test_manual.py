"""The man page says what the help says, and troff has nothing to complain of."""

import shutil
import subprocess

import pytest

from cli.front import COMMANDS
from tests.cli.manual import PAGE, manual


def test_the_man_page_says_what_the_help_says() -> None:
    assert PAGE.read_text(encoding="ascii") == manual(), "write it anew: python -m tests.cli.manual"


def test_every_command_but_hidden_ones_has_its_part() -> None:
    parts = {line.split()[2] for line in manual().splitlines() if line.startswith(".SS p2pdice ")}
    assert parts == {name for name, entry in COMMANDS.items() if not entry.hidden}


def test_troff_takes_the_man_page_without_a_warning() -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not here")
    done = subprocess.run(["groff", "-man", "-ww", "-z", PAGE], capture_output=True, text=True, check=True)
    assert done.stderr == ""
