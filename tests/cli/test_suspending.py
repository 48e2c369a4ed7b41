"""A program that is stopped from a shell (Ctrl-Z) and continued (fg) restores the terminal and its screen."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.screen import DASH, IN_FOREGROUND, LEAVES_THE_SCREEN, Shell, Terminal
from tests.cli.test_replay import SMALL, play
from tests.tiers import thoroughly

if sys.platform == "win32":
    pytest.skip("job control is POSIX only", allow_module_level=True)
if None in (shutil.which("bash"), shutil.which("dash")):
    pytest.skip("bash and dash are not both installed", allow_module_level=True)

pytestmark = pytest.mark.multicast

Open = Callable[..., Shell]
SHOWS_THE_CURSOR, HIDES_THE_CURSOR = b"\x1b[?25h", b"\x1b[?25l"


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Open]:
    """A function that opens a shell and starts a program in it."""
    with ExitStack() as stack:
        yield lambda *arguments, **more: stack.enter_context(Shell(tmp_path / "home", *arguments, **more))


def by_key(shell: Shell) -> None:
    shell.type("\x1a")


def by_signal(shell: Shell) -> None:
    os.kill(shell.program().pid, signal.SIGTSTP)


def without_warning(shell: Shell) -> None:
    os.kill(shell.program().pid, signal.SIGSTOP)


@pytest.mark.parametrize("stop", [by_key, *thoroughly([by_signal, without_warning])])
def test_a_host_on_the_full_screen_can_be_stopped_and_continued(shell: Open, stop: Callable[[Shell], None]) -> None:
    host = shell("host", "Friday", "--ui", "screen", "--bots", "1", "--seats", "2", "--name", "Ada")
    host.until_display("(you)", "round 1")
    for time in (1, 2):  # the first stop could break the second
        host.type("/zz")
        host.until_display("/zz")
        stop(host)
        host.until_stopped()
        if stop is not without_warning:
            assert host.raw.count(LEAVES_THE_SCREEN) >= time
        host.go_on("/zz")
        host.type("\x1b")
        host.wait_for(lambda: host.display()[-1].endswith(">"), "an empty line")
    assert not any("^Z" in line or "fg" in line for line in host.display())
    host.type("\x04")
    host.until_display("Leave the table?")
    host.type("\x04")
    host.until_shell()


@pytest.mark.parametrize("stop", [by_key, *thoroughly([by_signal])])
def test_a_terminal_that_the_shell_does_not_repair_is_restored(
    shell: Open, stop: Callable[[Shell], None], tmp_path: Path
) -> None:
    path = tmp_path / "match.p2pdice"
    path.write_bytes(play(SMALL).machines[0].transcript)
    reader = shell("replay", str(path), "--ui", "screen", shell=DASH)
    reader.until_display("to see what")
    for _ in range(2):
        stop(reader)
        reader.until_stopped()
        reader.go_on("to see what")
    reader.type("quit\r")
    reader.until_shell()


class WithoutJobs(Terminal):
    """A terminal without job control: its programs inherit an ignored SIGTSTP."""

    _begin = f"import signal; signal.signal(signal.SIGTSTP, signal.SIG_IGN); {IN_FOREGROUND}"


def test_without_job_control_ctrl_z_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "match.p2pdice"
    path.write_bytes(play(SMALL).machines[0].transcript)
    with WithoutJobs(tmp_path / "home", "replay", str(path), "--ui", "screen") as reader:
        reader.until_display("to see what")
        left = reader.raw.count(LEAVES_THE_SCREEN)  # the frame shown at the start leaves it, too
        reader.type("\x1a")
        reader.type("\r")
        reader.until_display("round 1 of ")
        assert reader.raw.count(LEAVES_THE_SCREEN) == left


@pytest.mark.parametrize("stop", [*thoroughly([by_key, by_signal]), without_warning])
def test_a_replay_on_the_full_screen_can_be_stopped_and_continued(
    shell: Open, stop: Callable[[Shell], None], tmp_path: Path
) -> None:
    path = tmp_path / "match.p2pdice"
    path.write_bytes(play(SMALL).machines[0].transcript)
    reader = shell("replay", str(path), "--ui", "screen")
    reader.until_display("to see what")
    stop(reader)
    reader.until_stopped()
    reader.go_on("to see what")
    reader.type("\r")
    reader.until_display("round 1 of ")
    reader.type("quit\r")
    reader.until_shell()


def test_in_line_mode_the_prompt_returns_after_a_stop(shell: Open) -> None:
    host = shell("host", "Friday", "--ui", "line", "--bots", "1", "--seats", "2", "--name", "Ada")
    host.until("You roll")
    host.type("\x1a")
    host.until_stopped()
    host.type("fg\r")
    host.wait_for(lambda: host.last_line().endswith(">") and host.last_line() != "shell>", "a prompt of the table")
    host.type("dice\r")
    host.until("; ten in all.")


def test_an_arena_shows_the_cursor_while_it_is_stopped(shell: Open) -> None:
    arena = shell("arena", "random", "odds", "--jobs", "1", "--games", "1000000")
    arena.wait_for(lambda: HIDES_THE_CURSOR in arena.raw, "a status line")
    arena.type("\x1a")
    arena.until_stopped()
    assert arena.raw.rfind(SHOWS_THE_CURSOR) > arena.raw.rfind(HIDES_THE_CURSOR)
    arena.type("fg\r")
    arena.wait_for(lambda: arena.raw.rfind(HIDES_THE_CURSOR) > arena.raw.rfind(SHOWS_THE_CURSOR), "a status line")
    arena.type("\x03")
    arena.until_shell()


@pytest.mark.thorough
def test_a_demo_shows_the_cursor_while_it_is_stopped(shell: Open) -> None:
    demo = shell("demo", "--fast", "--players", "2")
    demo.until("homes in")
    demo.wait_for(lambda: HIDES_THE_CURSOR in demo.raw, "a line that changes")
    demo.type("\x1a")
    demo.until_stopped()
    assert demo.raw.rfind(SHOWS_THE_CURSOR) > demo.raw.rfind(HIDES_THE_CURSOR)
    demo.type("fg\r")
    demo.until("all valid")
