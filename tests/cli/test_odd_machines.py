"""Unusual machines: a removed current folder, a home that is a file, names that look like options, full disks."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from cli.exits import ExitCode
from cli.render import command_line
from protocol.storage.home import Home
from tests.cli.conftest import Run
from tests.disks import fill, needs_mounts, needs_root, small_disk
from tests.programs import MODULE, PATIENCE, ROOT, Done, run, run_here
from tests.tiers import thoroughly

VECTOR = ROOT / "tests" / "vectors" / "resign.p2pdice"


def where(folder: Path, *arguments: str, home: Path) -> Done:
    """Run a command in a folder."""
    return run(*MODULE, *arguments, home=home, folder=folder)


REMOVED = """
import os, sys
os.mkdir(gone := sys.argv.pop(1))
os.chdir(gone)
os.rmdir(gone)
import cli
cli.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not remove the current folder of a process")
@pytest.mark.parametrize(
    "command",
    [
        "--home h identity",
        "--home h league",
        "demo --players 2 --out o",
        "report {vector}",
        "arena random odds --games 1 --out zz",
        "matches save last --out x",
    ],
)
def test_a_removed_current_folder_is_reported_in_a_sentence(command: str, demo: dict[str, Any], tmp_path: Path) -> None:
    gone, home = tmp_path / "gone", Path(demo["folder"]) / "ada"
    words = command.format(vector=VECTOR).split()
    done = run("-c", REMOVED, str(gone), *words, home=home, variables={"PWD": str(gone)})
    assert done.returncode == ExitCode.FAILURE
    assert done.stderr.endswith(
        f"Error: The current folder, {gone}, was removed.\nChange to another folder with cd, and try again.\n"
    )
    assert "Traceback" not in done.stderr


def test_suggested_commands_for_a_file_named_with_a_dash_work(tmp_path: Path) -> None:
    folder, home = tmp_path / "folder", tmp_path / "home"
    folder.mkdir()
    shutil.copy(VECTOR, folder / "-dash.p2pdice")
    judged = where(folder, "verify", "./-dash.p2pdice", home=home)
    advised = [shlex.split(line)[1:] for line in judged.stdout.splitlines() if line.startswith("    p2pdice ")]
    assert [words[0] for words in advised] == ["replay", "report"]
    for words in advised:
        assert where(folder, *words, home=home).returncode == ExitCode.DONE


def test_the_suggested_command_restores_a_backup_into_another_home(tmp_path: Path) -> None:
    folder, home = tmp_path / "folder", tmp_path / "home"
    folder.mkdir()
    fingerprint = where(folder, "identity", "--json", home=home).stdout
    made = where(folder, "identity", "backup", "--", "-bk", home=home)
    (advised,) = (line for line in made.stdout.splitlines() if "restore" in line and line.startswith("    "))
    words = shlex.split(advised)[1:]
    assert words[-2:] == ["--home", "DIR"]
    assert where(folder, *words, "--yes", home=home).returncode == ExitCode.DONE
    again = where(folder, "identity", "--json", "--home", "DIR", home=home).stdout
    assert again.partition('"key"')[0] == fingerprint.partition('"key"')[0]


def test_only_paths_are_rewritten_so_as_not_to_look_like_options() -> None:
    assert command_line("verify", "--json", Path("-x"), Path("x")).split()[1:3] == ["verify", "--json"]
    assert Path(command_line("verify", Path("-x")).split()[2]) == Path("-x")
    assert not command_line("verify", Path("-x")).split()[2].startswith("-")


AS_ANOTHER = """
import os, sys
from cli import boundary
*before, path = sys.argv
sys.argv = [*before, os.devnull + "/missing"]
boundary.run()  # imports all modules of this command while they are readable
os.seteuid(12345)
sys.argv = [*before, path]
sys.exit(boundary.run())
"""


@needs_root
@pytest.mark.parametrize("command", ["verify", "replay"])
def test_a_file_in_an_unreadable_folder_is_not_called_missing(command: str) -> None:
    with tempfile.TemporaryDirectory() as folder:  # other accounts cannot enter the folders of pytest
        Path(folder).chmod(0o755)
        closed = Path(folder) / "closed"
        closed.mkdir(mode=0o700)
        shutil.copy(VECTOR, closed / "x.p2pdice")
        done = run("-c", AS_ANOTHER, command, str(closed / "x.p2pdice"), home=Path(folder) / "home")
    assert done.returncode == ExitCode.FAILURE
    assert "x.p2pdice: Permission denied.\n" in done.stderr


@pytest.mark.parametrize("command", ["matches", "identity", "history", "people", "purse", "host --bots 1 --ui line"])
def test_a_home_that_is_a_file_is_refused(command: str, tmp_path: Path) -> None:
    home = tmp_path / "m.p2pdice"
    shutil.copy(VECTOR, home)
    settings = {"P2PDICE_CONFIG": str(tmp_path / "config.toml")}
    for words in ([], ["--home", str(home)]):
        done = run_here(*command.split(), *words, home=home, variables=settings)
        assert done.returncode == ExitCode.FAILURE
        assert done.stderr == f"Error: {home}: It is no folder; choose another place with --home DIR.\n"
    assert home.read_bytes() == VECTOR.read_bytes()


def test_an_empty_home_option_is_an_error_and_creates_no_key(tmp_path: Path) -> None:
    done = where(tmp_path, "identity", "--home", "", home=tmp_path / "home")
    assert done.returncode == ExitCode.USAGE
    assert "it is empty. Name a folder" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows, arguments are text and not bytes")
@pytest.mark.parametrize("command", [("identity", "show", "--name", "Zoë"), *thoroughly([("league", "--name", "Zoë")])])
def test_a_name_outside_the_terminals_encoding_is_refused_with_the_right_reason(
    command: tuple[str, ...], p2pdice: Run
) -> None:
    done = p2pdice(*command, LC_ALL="POSIX", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == ExitCode.USAGE
    assert "encoding of this terminal" in done.stderr
    assert "LC_ALL" in done.stderr
    assert p2pdice("identity", "show", "--name", "Zoë", LC_ALL="C.UTF-8").returncode == ExitCode.DONE


def test_a_rules_option_without_a_name_is_quoted(here: Run) -> None:
    assert "there is no option ''" in here("rules", "--set", "=").stderr.replace("\n", " ")


def test_the_doctor_listens_for_one_second(p2pdice: Run) -> None:
    assert "for 1 second…" in p2pdice("doctor", "--wait", "1").stderr


@needs_mounts
def test_a_demo_on_a_full_disk_says_that_the_disk_is_full(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        (disk / "d").mkdir()
        fill(disk)
        done = run(*MODULE, "demo", "--players", "2", "--out", str(disk / "d"), home=tmp_path / "home")
    assert done.returncode == ExitCode.FAILURE
    assert "\nThe disk is full: " in done.stderr
    assert "Its log" not in done.stderr


@needs_mounts
def test_a_host_is_told_that_the_disk_is_too_full_for_bots(tmp_path: Path) -> None:
    from tests.cli.screen import Terminal

    with small_disk(tmp_path / "disk", "2800k") as disk:
        arguments = ("host", "--bots", "2", "--name", "Ada", "--ui", "line", "--pace", "0")
        with Terminal(disk / "h", *arguments, P2PDICE_CONFIG=str(tmp_path / "config.toml")) as terminal:
            terminal.until("ended with exit code 1. The disk is full:")


@needs_mounts
@pytest.mark.parametrize("command", ["report last --out", "matches save last --out"])
def test_an_output_file_that_does_not_fit_on_the_disk_is_named(
    command: str, demo: dict[str, Any], tmp_path: Path
) -> None:
    home = tmp_path / "ada"
    shutil.copytree(Path(demo["folder"]) / "ada", home)
    with small_disk(tmp_path / "disk") as disk:
        fill(disk)
        done = run(*MODULE, *command.split(), str(disk / "out"), home=home)
        assert not (disk / "out").exists()
    assert done.returncode == ExitCode.FAILURE
    assert done.stderr.endswith(f"Error: {tmp_path / 'disk' / 'out'}: No space left on device.\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX pseudo-terminal")
def test_a_match_ends_silently_when_its_terminal_is_closed(tmp_path: Path) -> None:
    from tests.cli.screen import IN_FOREGROUND, Terminal

    class Deaf(Terminal):
        """A terminal whose program ignores SIGHUP, as under nohup."""

        _begin = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); {IN_FOREGROUND}"

    home = tmp_path / "a"
    with Deaf(home, "host", "--bots", "2", "--name", "Ada", "--ui", "line", "--pace", "1") as terminal:
        terminal.until("You roll ")
        terminal.hang_up()
        terminal.process.wait(PATIENCE)
    assert not Home(home).log.exists() or not Home(home).log.read_text()
