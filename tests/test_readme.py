"""README.md names every command with its options, and every exit code; what it links to is there."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from cli.exits import ExitCode
from cli.front import COMMANDS, build
from tests.programs import ROOT

PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
ROWS = {row[1]: row[0] for row in re.finditer(r"^\| `p2pdice (\w+).*$", PAGE, re.MULTILINE)}
AT_EVERY_TABLE = {"--ui", "--pace", "--bell"}
EVERYWHERE = {"--home", "--no-color", "--help"}
COMMAND_NAMES = [name for name, entry in COMMANDS.items() if not entry.hidden]


def options(command: Any) -> Iterator[str]:
    """Yield the long options of a command and of its subcommands."""
    for each in command.params:
        yield from (option for option in each.opts if option.startswith("--"))
    for each in getattr(command, "commands", {}).values():
        yield from options(each)


def test_every_command_has_its_row() -> None:
    assert set(ROWS) == set(COMMAND_NAMES)


@pytest.mark.parametrize("name", COMMAND_NAMES)
def test_every_option_is_in_the_row_of_its_command(name: str) -> None:
    front = build()
    with front.make_context("p2pdice", [], resilient_parsing=True) as context:
        command = front.get_command(context, name)
    named = set(re.findall(r"--[\w-]+", ROWS[name])) | AT_EVERY_TABLE | EVERYWHERE
    assert not set(options(command)) - named


def test_every_exit_code_is_told() -> None:
    told = (
        PAGE.partition("| exit code |")[2].partition("\n\n")[0]
        + PAGE.partition("Exit codes:")[2].partition("`verify`")[0]
    )
    assert {int(code) for code in re.findall(r"\b\d+\b", told)} == {code.value for code in ExitCode}


def test_what_it_links_to_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)
    assert links
    assert not [link for link in links if not (ROOT / link).is_file()]
