"""The front command: help, version, shared options, and which modules are not imported."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli import VERSION
from cli.front import COMMANDS
from tests.cli.conftest import Run
from tests.programs import environment

OWN = {"cli", "protocol", "p2pdice"}
VISIBLE = [name for name, entry in COMMANDS.items() if not entry.hidden]
FAMILIES = [(name,) for name in COMMANDS] + [
    ("identity", "show"),
    ("matches", "list"),
    ("matches", "save"),
    ("matches", "forget"),
    ("settings", "set"),
    ("settings", "unset"),
    ("settings", "path"),
]


def test_no_summary_of_a_subcommand_is_cut(here: Run) -> None:
    for family in ("bot", "matches", "history", "purse", "people", "identity", "settings", "arena"):
        _, _, rest = here(family, "--help").stdout.partition("Commands:\n")
        listed = re.sub(r"\n {6,}", " ", rest.partition("\n\n")[0]).splitlines()
        assert listed, family
        assert all(line.endswith(".") and not line.endswith("...") for line in listed), listed


def test_every_argument_is_explained(here: Run) -> None:
    """An argument without an explanation is listed with nothing or with [required] behind it."""
    for words in FAMILIES:
        listed = here(*words, "--help").stdout.partition("Arguments:\n")[2].partition("\n\n")[0]
        whole = re.sub(r"\n {6,}", "  ", listed)
        assert not re.search(r"^  \S+(  \[required\])?$", whole, re.MULTILINE), whole


def test_every_command_named_in_the_protocols_messages_exists() -> None:
    named = set()
    for path in (Path(__file__).parents[2] / "protocol").rglob("*.py"):
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        docstrings = [node.value for node in nodes if isinstance(node, ast.Expr)]
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
                named |= set(re.findall(r"\bp2pdice ([a-z]+)(?: ([a-z]+))?\b", node.value))
    prose = {"answers", "node", "transcript"}  # in sentences such as "another p2pdice answers at this port"
    assert {command for command, _ in named} - prose <= set(COMMANDS)
    of_families = {family[0] for family in FAMILIES if len(family) > 1}
    assert {each for each in named if each[0] in of_families and each[1]} <= {
        *FAMILIES,
        ("identity", "restore"),
        ("identity", "new"),
    }
    assert ("matches", "save") in named


def imported(tmp_path: Path, *arguments: str) -> set[str]:
    """Return the modules that are imported when this command line ends."""
    code = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); import cli; cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


def test_printing_the_version_imports_no_command_line_parser(tmp_path: Path) -> None:
    modules = imported(tmp_path, "--version")
    assert not modules & {"typer", "rich", "asyncio", "cryptography", "protocol", "argparse"}
    assert of_the_game(modules) == {"p2pdice", "p2pdice.version"}


def of_the_game(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "p2pdice"}


def test_help_imports_no_commands_and_almost_nothing_of_the_lower_layers(tmp_path: Path) -> None:
    modules = imported(tmp_path, "--help")
    assert not [name for name in modules if name.startswith(("cli.commands", "protocol"))]
    assert of_the_game(modules) == {"p2pdice", "p2pdice.version", "p2pdice.plurals"}
    assert not modules & {"asyncio", "rich", "cryptography", "prompt_toolkit", "zeroconf", "tomllib", "cli.preferences"}


def test_verify_imports_no_network_modules(tmp_path: Path) -> None:
    modules = imported(tmp_path, "verify", "--help") | imported(tmp_path, "rules", "classic")
    assert not modules & {"asyncio", "zeroconf", "prompt_toolkit", "tomllib", "protocol.node.node", "protocol.net.mesh"}
    assert "cli.preferences" not in modules


def test_join_imports_neither_node_nor_table_before_its_first_frame(tmp_path: Path) -> None:
    modules = imported(tmp_path, "join", "--help")
    assert "cli.table.play" in modules
    assert not modules & {"protocol.node.node", "cli.table.table", "cli.bots.crew", "sqlite3", "cryptography.x509"}


def test_commands_have_only_the_listed_lazy_imports() -> None:
    """The front imports a command lazily. Within cli/commands, only these imports may be lazy."""
    inside = set()
    for path in (Path(__file__).parents[2] / "cli" / "commands").glob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                imports = [node for node in ast.walk(function) if isinstance(node, ast.ImportFrom)]
                inside |= {
                    (path.stem, str(node.module)) for node in imports if str(node.module).partition(".")[0] in OWN
                }
    assert inside == {
        ("join", "cli.commands"),  # watch, which imports node and table: the first frame of join does not wait for them
        ("join", "protocol.node.locator"),
        ("tables", "protocol.net.mdns"),
        ("replay", "cli.report.page"),  # it would double what a replay imports
    }


@pytest.mark.parametrize("arguments", [("--version",), ("--no-color", "--version"), ("--home", "x", "--version")])
def test_the_version_is_one_line(here: Run, arguments: tuple[str, ...]) -> None:
    done = here(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"p2pdice {VERSION}\n", "")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_every_visible_command(here: Run, flag: str) -> None:
    done = here(flag)
    assert done.returncode == 0
    listed = re.findall(r"^  ([a-z][a-z-]+)  +\S", done.stdout, re.MULTILINE)
    assert listed == VISIBLE


@pytest.mark.parametrize("command", FAMILIES, ids=" ".join)
def test_the_help_of_a_command_has_its_summary_and_examples_in_80_columns(here: Run, command: tuple[str, ...]) -> None:
    short, long = here(*command, "-h").stdout, here(*command, "--help").stdout
    assert short == long
    assert max(map(len, long.splitlines())) <= 80
    name = command[0]
    assert f"Usage: p2pdice {name}" in long
    if command == (name,) and name in VISIBLE:
        assert " ".join(long.split("\n\n")[1].split()) == COMMANDS[name].summary
        assert name == "identity" or f"Examples:\n    p2pdice {name}" in long


def test_shared_options_are_accepted_before_and_after_the_command(here: Run, tmp_path: Path) -> None:
    before, after, inherited = tmp_path / "before", tmp_path / "after", tmp_path / "inherited"
    here("--home", str(before), "identity", "show")
    here("identity", "show", "--home", str(after), "--no-color")
    here("identity", "show", P2PDICE_HOME=str(inherited))
    assert [(home / "identity.key").is_file() for home in (before, after, inherited)] == [True] * 3


def test_the_home_option_takes_precedence_over_the_variable(here: Run, tmp_path: Path) -> None:
    here("--home", str(tmp_path / "a"), "identity", "show", P2PDICE_HOME=str(tmp_path / "b"))
    assert (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ((), "Usage: p2pdice"),
        (("verfy",), "Did you mean 'verify'?"),
        (("xyzzy",), "There is no command 'xyzzy'."),
        (("--nope",), "--nope"),
        (("rules", "--nope"), "--nope"),
        (("verify",), "FILE"),
        (("rules", "clasic"), "Did you mean classic?"),
        (("rules", "--set", "dice"), "K=V"),
        (("rules", "--set", "dice=eleven"), "number from 1 to 10"),
        (("rules", "--set", "die=3"), "there is no option die"),
        (("host", "--seats", "1"), "2<=x<=10"),
        (("host", "--bots", "3", "--seats", "3"), "4 seats"),
        (("host", "a/b"), "join line"),
        (("host", "Ann:80"), "HOST:PORT"),
        (("host", "--name", "x" * 21), "1 to 20 characters"),
        (("join", "somewhere", "--name", ""), "1 to 20 characters"),
        (("demo", "--players", "11"), "2<=x<=10"),
        (("demo", "--rules", "none"), "there is no ruleset"),
        (("resume", "--json"), "--list"),
        (("verify", "-50"), "There is no option -50. If it is a name or a file: p2pdice verify -- -50"),
        (("tables", "-50"), "There is no option -50."),
        (("bot", "-50"), "There is no option -50."),
        (("host", "--pledge", "-50"), "-50' is not one of 'redeemed', 'cursed'"),
    ],
    ids=" ".join,
)
def test_a_usage_error_says_what_is_wrong_and_ends_with_2(here: Run, arguments: tuple[str, ...], hint: str) -> None:
    done = here(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert hint in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_shell_completion_completes_commands(p2pdice: Run) -> None:
    asked = {"_P2PDICE_COMPLETE": "complete_bash", "COMP_WORDS": "p2pdice res", "COMP_CWORD": "1"}
    done = p2pdice(**asked)
    assert done.stdout.split() == ["resume"]
