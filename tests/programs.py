"""Programs under test as processes, which a test starts, watches, types at, stops and kills. None outlives its test.

:func:`run` runs a program that ends by itself, and :func:`run_here` a command in the test's own process. A
:class:`Program` runs concurrently with its test. Players who type in line mode (:mod:`tests.cli.seat`), people at a
terminal (:mod:`tests.cli.screen`), and nodes that report events as JSON (:mod:`tests.network.processes`) are based on
it. :mod:`tests.network.company` has nodes in the test's own process.
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
"""The time limit in seconds for any wait. Only a failing test takes that long, however busy the machine is."""
MODULE: Final = ("-m", "p2pdice")
"""Python's arguments for starting p2pdice."""
_SHOWN: Final = 60
"""How many lines of output and of the log a failure shows."""

T = TypeVar("T")
Done = subprocess.CompletedProcess[str]


def descendants(text: str, of: int | None = None) -> list[psutil.Process]:
    """Return the descendants of the test's process, or of another, whose command lines contain this text.

    Processes that have ended are left out, even if they have not been reaped.
    """
    found = []
    for process in psutil.Process(of).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # zombies included
            if text in " ".join(process.cmdline()):
                found.append(process)
    return found


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a process under test: its own home, 80 columns, and nothing that changes output."""
    kept = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS", "FORCE_COLOR"}}
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # The settings file does not exist, so that the user's own is never read.
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
    """Run Python with these arguments until it ends, with ``given`` as standard input.

    :param folder: the folder in which it runs; None for the current one.
    :param prefix: a command prefix, to run the command as somebody else.
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
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def run_here(
    *arguments: str, home: Path, given: str = "", variables: Mapping[str, str] = {}, as_terminal: bool = False
) -> Done:
    """Run a command in the test's own process, which is much faster; return its output and exit code.

    :param as_terminal: whether all three streams claim to be terminals.
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
    """A Python process whose lines of output are collected as they arrive.

    :param arguments: the arguments of Python, such as ``-m p2pdice tables``.
    :param home: the process's home, whose log is shown if the test fails.
    :param prefix: a command prefix, to run the process elsewhere.
    :param variables: environment variables in addition to those of every test.
    """

    is_merged: ClassVar = False
    """Whether standard error is merged with standard output, as at a terminal."""

    def __init__(
        self,
        *arguments: str,
        home: Path,
        prefix: tuple[str, ...] = (),
        variables: Mapping[str, str] = {},
    ) -> None:
        self.home = home
        self.output: list[str] = []
        """The lines of standard output so far, without their line breaks."""
        self.errors: list[str] = []
        """The lines of standard error, unless merged with standard output."""
        self.moments: list[float] = []
        """When each line of output arrived, by the monotonic clock in seconds."""
        self._changed = threading.Condition()
        self._command = " ".join(arguments)
        self.process = self._start([*prefix, sys.executable, *arguments], environment(home) | dict(variables))
        self._readers = [threading.Thread(target=self._read, args=each, daemon=True) for each in self._sources()]
        self._open = len(self._readers)
        """The number of streams that have not ended."""
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Overridden by kinds of programs

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
        """Return the sources to read, each with the function that takes its pieces."""
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
        """Wait until a condition on the output is true; return its value.

        :raises AssertionError: if the output ends first, or the wait takes too long. The message shows the output.
        """
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while not (found := condition()):
                if not self._open or time.monotonic() > deadline:
                    raise self.failure(f"{what} never came")
                if not self._changed.wait(1.0) and self.process.poll() is not None:
                    raise self.failure(f"{what} never came")  # a child process still keeps a stream open
            return found

    def failure(self, what: str) -> AssertionError:
        """Return an error that shows the output, the log and the state of this process."""
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
        """End the process's input, as closing a pipe or Ctrl-D does."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # the process has ended without reading the last input
            self.process.stdin.close()

    def fall_asleep(self) -> None:
        """Suspend the process, as closing a laptop's lid does. This does not work on Windows."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def wake_up(self) -> None:
        """Resume the suspended process."""
        os.kill(self.process.pid, signal.SIGCONT)

    def kill_9(self) -> None:
        """Kill only this process with SIGKILL, not its children, and wait until it is gone."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def end(self, patience: float = PATIENCE) -> int:
        """Wait until the process and its output have ended; return the exit code."""
        try:
            code = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            raise self.failure("the end never came") from None
        for reader in self._readers:
            reader.join(PATIENCE)
        return code

    def close(self) -> None:
        """Kill the process and its descendants, and free all resources."""
        if sys.platform == "win32":
            self.process.kill()
        else:
            with suppress(OSError):  # all of them have ended
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

    :raises AssertionError: as soon as one action fails. The message shows the output of all programs.
    """
    with ThreadPoolExecutor(len(acts)) as pool:
        doing = [pool.submit(act) for _, act in acts]
        done, _ = wait(doing, return_when=FIRST_EXCEPTION)
        failed = [error for each in done if (error := each.exception())]
        if failed:
            told = [str(program.failure("So far")) for program, _ in acts]
            for program, _ in acts:
                program.process.kill()  # ends all other waits
            raise AssertionError("\n\n".join([str(failed[0]), "Side by side with:", *told])) from failed[0]


# Processes started by others


def is_running(pid: int) -> bool:
    """Return whether a process is running. A zombie does not count."""
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
        time.sleep(0.02)  # no event announces the end of another process's child
