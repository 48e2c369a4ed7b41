"""README.md names every command with its options, and every exit code."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from cli.commands.verify import EPILOG
from cli.exits import ExitCode
from cli.front import COMMANDS, build
from p2pdice.errors import RulesetError
from p2pdice.rulesets import PRESETS
from tests.programs import ROOT

PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
ROWS = {row[1]: row[0] for row in re.finditer(r"^\| `p2pdice (\w+).*$", PAGE, re.MULTILINE)}
AT_EVERY_TABLE = {"--ui", "--pace", "--bell", "--no-bell"}
EVERYWHERE = {"--home", "--no-color"}
COMMAND_NAMES = [name for name, entry in COMMANDS.items() if not entry.hidden]


def options(command: Any) -> Iterator[str]:
    """Yield the long options of a command and of its subcommands."""
    for each in command.params:
        yield from (option for option in (*each.opts, *each.secondary_opts) if option.startswith("--"))
    for each in getattr(command, "commands", {}).values():
        yield from options(each)


def test_every_command_has_its_row() -> None:
    assert set(ROWS) == set(COMMAND_NAMES)


def named(text: str) -> set[str]:
    return set(re.findall(r"--[\w-]+", text))


def command_options(name: str) -> set[str]:
    front = build()
    with front.make_context("p2pdice", [], resilient_parsing=True) as context:
        return set(options(front.get_command(context, name)))


@pytest.mark.parametrize("name", COMMAND_NAMES)
def test_the_row_of_a_command_has_all_its_options_and_no_others(name: str) -> None:
    assert command_options(name) - AT_EVERY_TABLE - EVERYWHERE == named(ROWS[name])


def test_the_options_of_every_table_and_of_all_commands_are_named_once() -> None:
    assert named(PAGE.partition("At every table: ")[2].partition("\n\n")[0]) == AT_EVERY_TABLE
    assert named(PAGE.partition("Everywhere: ")[2].partition("Exit codes:")[0]) == EVERYWHERE
    assert all(command_options(name) >= EVERYWHERE for name in COMMAND_NAMES)
    assert all(command_options(name) >= AT_EVERY_TABLE for name in ("host", "join", "resume", "watch"))


MEANINGS = {
    ExitCode.DONE: "done|fair",
    ExitCode.FAILURE: "failure|a file is missing.*",
    ExitCode.USAGE: "usage",
    ExitCode.UNREACHABLE: "unreachable",
    ExitCode.MISMATCH: "versions or rules differ|written by another protocol version.*",
    ExitCode.FULL: "table full",
    ExitCode.REFUSED: "refused",
    ExitCode.TOO_FEW: "too few players",
    ExitCode.MISCONDUCT: "somebody broke the rules.*|misconduct proven",
    ExitCode.INCOMPLETE: ".*unfinished|incomplete",
    ExitCode.ALTERED: "unreadable or altered.*",
    ExitCode.UNPROVEN: "fair,? but with claims.*",
    ExitCode.INTERRUPTED: "interrupted",
}
"""The meaning of each exit code as stated on the page or in the help."""


def test_every_exit_code_is_told_with_its_meaning_here_and_in_the_help() -> None:
    verdicts = re.findall(
        r"^\| (\d+) \| (.*) \|$", PAGE.partition("| exit code |")[2].partition("\n\n")[0], re.MULTILINE
    )
    codes = r"(\d+) ([a-z][^,;]*)"
    others = re.findall(codes, PAGE.partition("Exit codes:")[2].partition("; `verify`")[0])
    help_of_verify = re.findall(codes, EPILOG.partition("Exit codes:")[2].replace("\n", " ").partition(". With")[0])
    for code, meaning in (*verdicts, *others, *help_of_verify):
        assert re.fullmatch(MEANINGS[ExitCode(int(code))], meaning.strip()), f"{code} {meaning}"
    assert {int(code) for code, _ in (*verdicts, *others)} == {*ExitCode}
    assert {int(code) for code, _ in verdicts} == {int(code) for code, _ in help_of_verify}


def test_the_example_of_set_works_for_all_games_that_the_page_promises() -> None:
    prose = " ".join(PAGE.split())
    option, value, but = re.findall(r"`--set (\w+)=(\w+)` changes an option of any game except `(\w+)`,", prose)[0]
    for name, ruleset in PRESETS.items():
        if name != but:
            ruleset.with_options({option: value})
    with pytest.raises(RulesetError):
        PRESETS[but].with_options({option: value})
