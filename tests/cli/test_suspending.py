"""A person leaves a program for a moment, as any shell lets them: it is stopped, and goes on where it was."""

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
    pytest.skip("jobs of a shell are POSIX", allow_module_level=True)
if None in (shutil.which("bash"), shutil.which("dash")):
    pytest.skip("shells with job control are needed", allow_module_level=True)

pytestmark = pytest.mark.multicast

Open = Callable[..., Shell]
SHOWS_THE_CURSOR, HIDES_THE_CURSOR = b"\x1b[?25h", b"\x1b[?25l"


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Open]:
    """Open shells from which a program is started."""
    with ExitStack() as stack:
        yield lambda *arguments, **more: stack.enter_context(Shell(tmp_path / "home", *arguments, **more))


def by_key(shell: Shell) -> None:
    shell.type("\x1a")


def by_signal(shell: Shell) -> None:
    os.kill(shell.program().pid, signal.SIGTSTP)


def without_warning(shell: Shell) -> None:
    os.kill(shell.program().pid, signal.SIGSTOP)


@pytest.mark.parametrize("stop", [by_key, *thoroughly([by_signal, without_warning])])
def test_a_host_on_the_full_screen_is_stopped_and_goes_on(shell: Open, stop: Callable[[Shell], None]) -> None:
    host = shell("host", "Friday", "--ui", "screen", "--bots", "1", "--seats", "2", "--name", "Ada")
    host.until_display("(you)", "round 1")
    for time in (1, 2):  # what works once may leave something behind
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
def test_a_terminal_that_no_shell_repairs_is_in_order_at_the_end(
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
    """A terminal whose shell does not know jobs, and says so to the programs that it starts."""

    _begin = f"import signal; signal.signal(signal.SIGTSTP, signal.SIG_IGN); {IN_FOREGROUND}"


def test_where_nobody_could_let_it_go_on_nothing_stops_it(tmp_path: Path) -> None:
    path = tmp_path / "match.p2pdice"
    path.write_bytes(play(SMALL).machines[0].transcript)
    with WithoutJobs(tmp_path / "home", "replay", str(path), "--ui", "screen") as reader:
        reader.until_display("to see what")
        left = reader.raw.count(LEAVES_THE_SCREEN)  # by the curtain
        reader.type("\x1a")
        reader.type("\r")
        reader.until_display("round 1 of ")
        assert reader.raw.count(LEAVES_THE_SCREEN) == left


@pytest.mark.parametrize("stop", [*thoroughly([by_key, by_signal]), without_warning])
def test_a_replay_on_the_full_screen_is_stopped_and_goes_on(
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


def test_lines_are_asked_for_again_after_a_stop(shell: Open) -> None:
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


def test_a_demo_shows_the_cursor_while_it_is_stopped(shell: Open) -> None:
    demo = shell("demo", "--fast", "--players", "2")
    demo.until("homes in")
    demo.wait_for(lambda: HIDES_THE_CURSOR in demo.raw, "a line that changes")
    demo.type("\x1a")
    demo.until_stopped()
    assert demo.raw.rfind(SHOWS_THE_CURSOR) > demo.raw.rfind(HIDES_THE_CURSOR)
    demo.type("fg\r")
    demo.until("all valid")
