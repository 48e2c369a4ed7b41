"""Programs under test as processes: started, watched, typed at, stopped, killed; and none of them outlives its test.

:func:`run` runs what ends by itself, :func:`run_here` a command that needs no process of its own. A :class:`Program`
runs beside its test, and may be anything. On it are built players who type at the line mode (:mod:`tests.cli.seat`),
people before a terminal (:mod:`tests.cli.screen`), and nodes that tell what happens as JSON
(:mod:`tests.network.processes`). Nodes in the process of the test itself are another thing:
:mod:`tests.network.company`.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final, Self, TypeVar
from unittest.mock import patch

import psutil

from cli import boundary
from tests.zygote import Popen

ROOT: Final = Path(__file__).resolve().parents[1]
PATIENCE: Final = 120.0
"""Seconds for whatever is waited for. Only a failing test takes so long, however busy the machine is."""
MODULE: Final = ("-m", "p2pdice")
"""How the front door is started."""
_SHOWN: Final = 60
"""Lines of output and of the log that a failure shows."""

T = TypeVar("T")
Done = subprocess.CompletedProcess[str]


def descendants(text: str, of: int | None = None) -> list[psutil.Process]:
    """Return the processes below that of the test, or below another, whose command line has this text in it.

    Any of them may end meanwhile: one that has ended, even if nobody has asked for its exit code, is none of them.
    """
    found = []
    for process in psutil.Process(of).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # a zombie, too
            if text in " ".join(process.cmdline()):
                found.append(process)
    return found


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a process under test: a home of its own, 80 columns, nothing that changes output."""
    kept = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS", "FORCE_COLOR"}}
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # Settings are those of a file that is not there, never the user's own.
    own = {"P2PDICE_HOME": str(home), "P2PDICE_CONFIG": str(home / "config.toml")}
    return kept | own | {"COLUMNS": "80", "PYTHONPATH": path, "PYTHONUTF8": "1"}


def run(
    *arguments: str,
    home: Path,
    given: str = "",
    folder: Path | None = None,
    prefix: tuple[str, ...] = (),
    variables: Mapping[str, str | None] = {},
) -> Done:
    """Run Python with these arguments to its end, with ``given`` on standard input.

    :param folder: where it runs, if not in the current folder.
    :param prefix: goes before the command, to run it as somebody else.
    :param variables: of its environment, beside those of every test; None takes one away.
    """
    command = [*prefix, sys.executable, *arguments]
    with Popen(
        command,
        env={key: value for key, value in (environment(home) | dict(variables)).items() if value is not None},
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            output, errors = process.communicate(given, timeout=PATIENCE)
        except BaseException:
            process.kill()
            raise
    return Done(command, process.returncode, output, errors)


class _TerminalText(io.TextIOWrapper):
    """A stream that passes for a terminal's."""

    def isatty(self) -> bool:
        return True


def run_here(
    *arguments: str, home: Path, given: str = "", variables: Mapping[str, str] = {}, as_terminal: bool = False
) -> Done:
    """Run a command in the process of the test itself, for its output and exit code: a process takes far longer.

    :param as_terminal: let all three streams pass for those of a terminal.
    """
    form: type[io.TextIOWrapper] = _TerminalText if as_terminal else io.TextIOWrapper
    stdin, stdout, stderr = (form(io.BytesIO(data), "utf-8") for data in (given.encode(), b"", b""))
    with (
        patch.dict(os.environ, environment(home) | dict(variables), clear=True),
        patch.multiple(sys, argv=["p2pdice", *arguments], stdin=stdin, stdout=stdout, stderr=stderr),
    ):
        code = boundary.run()
    for stream in (stdout, stderr):
        stream.seek(0)
    return Done(arguments, code, stdout.read(), stderr.read())


class Program:
    """One process of Python; its lines are gathered as they come.

    :param arguments: of Python, such as ``-m p2pdice tables``.
    :param home: its home, whose log is shown when a test fails.
    :param prefix: goes before the command, to run it elsewhere.
    :param variables: of its environment, beside those of every test.
    """

    is_merged: ClassVar = False
    """Whether complaints stand among the output, as before a terminal."""

    def __init__(
        self,
        *arguments: str,
        home: Path,
        prefix: tuple[str, ...] = (),
        variables: Mapping[str, str] = {},
    ) -> None:
        self.home = home
        self.output: list[str] = []
        """Lines of standard output so far, without their ends."""
        self.errors: list[str] = []
        """Lines of standard error, unless they are merged with the output."""
        self.moments: list[float] = []
        """When each line of output came, by the monotonic clock in seconds."""
        self._changed = threading.Condition()
        self._command = " ".join(arguments)
        self.process = self._start([*prefix, sys.executable, *arguments], environment(home) | dict(variables))
        self._readers = [threading.Thread(target=self._read, args=each, daemon=True) for each in self._sources()]
        self._open = len(self._readers)
        """How many of its streams have not ended."""
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # What kinds of programs do differently

    def _start(self, command: list[str], variables: dict[str, str]) -> subprocess.Popen[Any]:
        return Popen(
            command,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if self.is_merged else subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="backslashreplace",
            bufsize=1,
            start_new_session=True,
        )

    def _sources(self) -> list[tuple[Callable[[Any], None], Iterable[Any]]]:
        """Return what is to be read, each with what takes in a piece of it."""
        streams = ((self._told, self.process.stdout), (self._complained, self.process.stderr))
        return [(take, stream) for take, stream in streams if stream is not None]

    def _told(self, line: str) -> None:
        self.output.append(line.rstrip("\n"))
        self.moments.append(time.monotonic())

    def _complained(self, line: str) -> None:
        self.errors.append(line.rstrip("\n"))

    def shown(self) -> str:
        """Return all output so far."""
        return "\n".join(self.output)

    # Watching

    def _read(self, take: Callable[[Any], None], source: Iterable[Any]) -> None:
        for piece in source:
            with self._changed:
                take(piece)
                self._changed.notify_all()
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[], T], what: str) -> T:
        """Wait until a condition holds that depends on the output; return what it said.

        :raises AssertionError: if the output ends before that, or it takes too long. The text shows all there is.
        """
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while not (found := condition()):
                if not self._open or time.monotonic() > deadline:
                    raise self.failure(f"{what} never came")
                if not self._changed.wait(1.0) and self.process.poll() is not None:
                    raise self.failure(f"{what} never came")  # a stream is still open, for what it has started
            return found

    def failure(self, what: str) -> AssertionError:
        """Return an error with all that there is to know about this process."""
        code = self.process.poll()
        state = "still runs" if code is None else f"has ended with {code}"
        parts = [f"{what}. {self._command} {state}. It said:", *self.shown().splitlines()[-_SHOWN:]]
        if self.errors:
            parts += ["Its complaints:", *self.errors[-_SHOWN:]]
        with suppress(OSError):
            log = (self.home / "p2pdice.log").read_text(encoding="utf-8", errors="replace").splitlines()
            parts += ["Its log:", *log[-_SHOWN:]]
        return AssertionError("\n".join(parts))

    # Acting

    def type(self, line: str) -> None:
        """Type a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def close_input(self) -> None:
        """End what it reads, as closing a pipe or Ctrl-D does."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # what was typed last was not read any more
            self.process.stdin.close()

    def fall_asleep(self) -> None:
        """Stop the process where it is, as closing a laptop's lid does. Not on Windows."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def wake_up(self) -> None:
        """Let the process go on."""
        os.kill(self.process.pid, signal.SIGCONT)

    def kill_9(self) -> None:
        """Kill this one process as nobody can prevent, and wait until it is gone; what it has started lives on."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def end(self, patience: float = PATIENCE) -> int:
        """Wait for the end of the process and of its output; return the exit code."""
        try:
            code = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            raise self.failure("the end never came") from None
        for reader in self._readers:
            reader.join(PATIENCE)
        return code

    def close(self) -> None:
        """Kill it with all that it has started, and leave nothing behind."""
        if sys.platform == "win32":
            self.process.kill()
        else:
            with suppress(OSError):  # nobody is left of them
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        self._release()

    def _release(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()


def side_by_side(*acts: tuple[Program, Callable[[], None]]) -> None:
    """Do something with each of several programs at the same time.

    :raises AssertionError: as soon as one of these fails. The text shows what all of the programs said.
    """
    with ThreadPoolExecutor(len(acts)) as pool:
        doing = [pool.submit(act) for _, act in acts]
        done, _ = wait(doing, return_when=FIRST_EXCEPTION)
        failed = [error for each in done if (error := each.exception())]
        if failed:
            told = [str(program.failure("So far")) for program, _ in acts]
            for program, _ in acts:
                program.process.kill()  # nobody waits any longer
            raise AssertionError("\n\n".join([str(failed[0]), "Side by side with:", *told])) from failed[0]


# Processes that somebody else has started


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that has ended and waits to be reaped is none."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    if sys.platform != "linux":
        return True
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until_gone(*pids: int) -> None:
    """Wait until none of these processes is running."""
    deadline = time.monotonic() + PATIENCE
    while any(map(is_running, pids)):
        assert time.monotonic() < deadline, f"of the processes {pids} some are running still"
        time.sleep(0.02)  # no event tells of a stranger's child
