"""Programs that speak NDJSON. Their output is bounded, every wait for them has a limit, and none is left running.

A program gets its own process group (on POSIX its own session), so that its children end with it unless they start
another session. Its standard error goes to the log, within a limit. No call here blocks, because a program may stop
reading or writing at any time.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import shlex
import shutil
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from cli.bots.line_log import LineLog
from cli.foreign_text import LINE_BYTES, LineBuffer
from cli.settings import HOME_VARIABLE

_logger = logging.getLogger("p2pdice.bot")

UNREAD_BYTES: Final = 1_048_576
"""Maximum bytes that are buffered for a program that does not read. A whole match is shorter."""
GRACE: Final = 0.5
"""Seconds that a program has to end by itself once its input has ended."""
_REAPING: Final = 2.0
"""Time limit in seconds for a killed process to disappear. Only a system in trouble needs longer."""
_LOGGED_BYTES: Final = 65_536
"""Maximum bytes of one run's standard error in the log. More would push out other entries."""
_LAST_BYTES: Final = 8_192
"""Bytes that are kept from the end of a run's standard error. A traceback is shorter."""
_COMPLAINT: Final = 200
"""Maximum characters of a line on standard error that are shown to people."""
_LOG_PAUSE: Final = 0.05
"""Seconds between two reads of standard error, so that a flood is read at only a few megabytes per second."""


class ProgramError(Exception):
    """A program cannot be started, or does not follow the protocol.

    :param hint: a sentence on what to type instead; unescaped.
    :param trace: the program's standard error without its last line, which is in the reason.
    """

    def __init__(self, reason: str, *, hint: str = "", trace: str = "") -> None:
        super().__init__(reason)
        self.hint = hint
        self.trace = trace


class LastWords(NamedTuple):
    """The exit code and the last output of a program that ended or failed."""

    code: int | None
    """Its exit code, or the negative number of the signal that ended it; None while it runs."""
    text: str
    """The end of its standard error, unescaped."""

    @property
    def clause(self) -> str:
        """How it ended and its last line, as the end of a sentence. Unescaped; empty if nothing is known."""
        lines = self.text.splitlines()
        code = self.code
        ended = "" if code is None else f" (exit code {code})" if code >= 0 else f" (killed by signal {-code})"
        return f"{ended}, and wrote: {lines[-1].strip()[:_COMPLAINT]}" if lines else ended


class Program(asyncio.SubprocessProtocol):
    """One run of a program, created by :func:`start_program`."""

    def __init__(self, log: LineLog | None = None) -> None:
        self._log = log
        self._lines = LineBuffer()
        self._news = asyncio.Event()
        self.has_ended = False
        """Whether the program has closed its output."""
        self._exited = asyncio.Event()
        self._is_gone = asyncio.Event()
        self._logged = 0
        self._last = b""
        """The end of its standard error."""
        self._has_complained = asyncio.Event()
        """Set once its standard error has ended."""
        self._is_killed = False
        self._transport: asyncio.SubprocessTransport

    # Input and output of the program

    def write(self, line: bytes) -> bool:
        """Send a line; return False if the program has closed its input, or has left too much of it unread."""
        pipe = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if pipe is None or pipe.is_closing() or pipe.get_write_buffer_size() > UNREAD_BYTES:
            return False
        pipe.write(line)
        return True

    async def read(self) -> bytes | None:
        """Return the next line; None after the last one.

        :raises OverlongLineError: in place of a line that is too long.
        """
        while True:
            self._news.clear()
            line = self._lines.take()
            if len(self._lines) <= LINE_BYTES:
                self._reading_pipe(1).resume_reading()
            if line is not None:
                return line
            if self.has_ended:
                return None
            await self._news.wait()

    async def last_words(self, seconds: float = _REAPING) -> LastWords:
        """Return the end of the program's standard error, which may explain why it has ended.

        :param seconds: time limit, because standard error can end a moment after standard output, or never.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._has_complained.wait()
                await self._exited.wait()
        text = self._last.decode(errors="replace").rstrip()
        return LastWords(self._transport.get_returncode(), text)

    async def close(self, grace: float = GRACE) -> None:
        """End the program and its process group. After ``grace`` seconds, kill them."""
        stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        try:
            stdin.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    # Keep reading, so that a program blocked in a write can continue.
                    while not self._exited.is_set() and not self.has_ended:
                        self._lines.clear()
                        self._reading_pipe(1).resume_reading()
                        self._news.clear()
                        await self._news.wait()
                    await self._exited.wait()
        finally:
            self.kill()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_REAPING):
                    await self._exited.wait()
                    await self._has_complained.wait()  # so that the log has all of it
            if stdin.get_write_buffer_size():
                stdin.abort()  # otherwise it waits until the program reads
            self._transport.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_REAPING):
                    await self._is_gone.wait()

    def kill(self) -> None:
        """Kill the program and everything that it started."""
        if self._is_killed:
            return  # another process may have the same id by now
        self._is_killed = True
        _running.discard(self)
        process = self._transport.get_pid()
        if sys.platform == "win32":
            tree = ["taskkill", "/T", "/F", "/PID", str(process)]
            subprocess.run(tree, capture_output=True, check=False)  # noqa: S603
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process, signal.SIGKILL)

    # Callbacks of the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        _running.add(self)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self._log is not None:
            self._log.feed("!" if fd == 2 else "<", data)
        if fd == 2:
            self._keep(data)
            return
        self._lines.feed(data)
        if len(self._lines) > LINE_BYTES:
            self._reading_pipe(1).pause_reading()
        self._news.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self.has_ended = True
            self._news.set()
        elif fd == 2:
            self._has_complained.set()

    def process_exited(self) -> None:
        self.kill()  # which ends its children, too
        if self._log is not None:
            self._log.remark(f"ended with code {self._transport.get_returncode()}")
        self._exited.set()
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_gone.set()

    def _reading_pipe(self, fd: int) -> asyncio.ReadTransport:
        return cast("asyncio.ReadTransport", self._transport.get_pipe_transport(fd))

    def _keep(self, data: bytes) -> None:
        self._last = (self._last + data)[-_LAST_BYTES:]
        kept = data[: max(0, _LOGGED_BYTES - self._logged)]
        if kept:
            _logger.warning("%s", kept.decode(errors="replace").rstrip())
            self._logged += len(kept)
            if self._logged >= _LOGGED_BYTES:
                _logger.warning("more than %d bytes on standard error: the rest is not kept", _LOGGED_BYTES)
        pipe = self._reading_pipe(2)
        pipe.pause_reading()
        asyncio.get_running_loop().call_later(_LOG_PAUSE, pipe.resume_reading)


_running: Final[set[Program]] = set()


def kill_programs() -> None:
    """Kill all programs, if this process ends without closing them."""
    for program in tuple(_running):
        program.kill()


atexit.register(kill_programs)


def forbid_vfork() -> None:
    """Make this process start others without vfork from now on. Call this before a bot is started.

    Right after its start, a child is still in this process's group. If Ctrl-Z stops it then, vfork never returns, and
    this process can neither stop nor continue. Python documents the switch.
    """
    setattr(subprocess, "_USE_VFORK", False)  # noqa: B010


def own_group() -> dict[str, Any]:
    """Return arguments that start a process in its own group, so that no signal of a terminal reaches it."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


async def start_program(command: Sequence[str], log: LineLog | None = None) -> Program:
    """Start a program.

    :param log: receives everything that the program writes.
    :raises ProgramError: if it cannot be started.
    """
    forbid_vfork()
    # Unbuffered, because authors of Python programs often forget to flush. Without the home, because it has our keys.
    kept = {name: value for name, value in os.environ.items() if name != HOME_VARIABLE}
    try:
        _, program = await asyncio.get_running_loop().subprocess_exec(
            lambda: Program(log),
            *command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=kept | {"PYTHONUNBUFFERED": "1"},
            **own_group(),
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ProgramError(f"{command[0]} cannot be started: {reason}", hint=_meant(command[0])) from None
    return program


def _meant(word: str) -> str:
    """Return a hint on what to type instead of a word that cannot be started, such as a file or a class in a file."""
    path, _, name = word.partition(":")
    if not Path(path).is_file():
        path, _, name = word.partition(".")  # module.Class
        path += ".py"
    file = Path(path)
    ways = []
    if file.is_file() and not name:
        is_program = os.access(file, os.X_OK) and os.name == "posix"
        python = "python3" if os.name == "posix" else "python"
        ways = [f"./{path}"] if is_program and file.name == path else [f"'{python} {path}'"] * (file.suffix == ".py")
    if file.is_file() and file.suffix == ".py":
        ways.append(f"{'.'.join(file.with_suffix('').parts)}:{name or 'Class'} for a class in it")
    if ways:
        return f"Did you mean {', or '.join(ways)}?"
    return "Name the program, or its interpreter and the file, as you would in a shell."


def spelled_out(words: Sequence[str]) -> list[str]:
    """Return the words of a command. A single word can be a whole command that was quoted in the shell.

    >>> spelled_out(["python3", "my bot.py"]), spelled_out(["python3 'my bot.py'"])
    (['python3', 'my bot.py'], ['python3', 'my bot.py'])

    :raises ProgramError: as :func:`split_command` does.
    """
    is_whole = len(words) == 1 and len(words[0].split()) > 1 and shutil.which(words[0]) is None
    return split_command(words[0]) if is_whole else list(words)


def split_command(text: str) -> list[str]:
    """Split a text into a program and its arguments, as a shell would.

    >>> split_command("python3 'my bot.py' -v")
    ['python3', 'my bot.py', '-v']

    :raises ProgramError: if it is empty, or has an unmatched quotation mark.
    """
    try:
        if os.name == "posix":
            words = shlex.split(text)
        else:
            words = [word.strip('"') for word in shlex.split(text, posix=False)]
    except ValueError as error:
        raise ProgramError(f"{text} cannot be read: {error}") from None
    if not words:
        raise ProgramError("the program is missing")
    return words
