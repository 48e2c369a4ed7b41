"""The man page agrees with the help texts, and groff accepts it without a warning."""

import shutil
import subprocess

import pytest

from cli.front import COMMANDS
from tests.cli.manual import PAGE, manual


def test_the_man_page_agrees_with_the_help() -> None:
    assert PAGE.read_text(encoding="ascii") == manual(), "regenerate it: python -m tests.cli.manual"


def test_the_man_page_describes_every_visible_command() -> None:
    parts = {line.split()[2] for line in manual().splitlines() if line.startswith(".SS p2pdice ")}
    assert parts == {name for name, entry in COMMANDS.items() if not entry.hidden}


def test_groff_formats_the_man_page_without_a_warning() -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(["groff", "-man", "-ww", "-z", PAGE], capture_output=True, text=True, check=True)
    assert done.stderr == ""
