"""A person before a real terminal: what is painted there, and which keys are pressed. POSIX only."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import psutil
import pyte
from prompt_toolkit.utils import get_cwidth

from tests.cli.seat import OVER, TURN, bold
from tests.programs import MODULE, Program
from tests.zygote import Popen

if sys.platform != "win32":
    import fcntl
    import pty
    import struct
    import termios

COLUMNS, LINES = 80, 24
LINES_AT_ONCE = 'ui = "line"\npace = 0\n'
"""Settings of those who do not ask for anything else."""
IN_FOREGROUND = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from cli import main; main()"
"""Makes the pseudo-terminal the one whose Ctrl-C the process gets, as a shell does."""


SHELL = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
"""The same for a shell in the place of the program."""
BASH = ("bash", "--norc", "--noprofile", "--noediting", "-i")
"""Puts the terminal in order whenever a program has stopped or ended."""
DASH = ("dash", "-i")
"""Leaves the terminal as a program leaves it."""
ESCAPED = re.compile(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}")
"""What :func:`cli.render.escape` makes of a character."""
FULL_SCREEN = 1049 << 5
"""The full screen, among the modes of a screen of pyte."""
ENTERS_THE_SCREEN, LEAVES_THE_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"


class Paper(pyte.HistoryScreen):
    """What is painted, and what was written beyond the right edge of the full screen."""

    def __init__(self, columns: int, lines: int) -> None:
        self.beyond: list[str] = []
        self._is_pulled = False
        """The window has had another size, and what comes may have been painted for that one."""
        super().__init__(columns, lines, history=1000)

    def draw(self, data: str) -> None:
        is_full = FULL_SCREEN in self.mode
        if is_full and not self._is_pulled and self.cursor.x + get_cwidth(data) > self.columns:
            self.beyond.append(data)
        super().draw(data)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        self._is_pulled = True
        super().resize(lines, columns)


class Terminal(Program):
    """A process in a pseudo-terminal, and the screen that its output paints."""

    _begin = IN_FOREGROUND
    shows_foreign_text: ClassVar = False
    """Whether others have written some of what is shown, so that something in it may be escaped."""
    is_alone: ClassVar = True
    """Whether no other program writes there, whose lines the terminal breaks."""

    def __init__(self, home: Path, *arguments: str, size: tuple[int, int] = (COLUMNS, LINES), **variables: str) -> None:
        self._columns, self._lines = size
        self._screen = Paper(*size)
        self._may_read = threading.Event()
        self._may_read.set()
        self._stream = pyte.ByteStream(self._screen)
        self._rows: list[str] = []
        """What is on the screen; empty until somebody looks."""
        self.raw = b""
        self._answered = 0
        """Turns in which a move was made."""
        settings = home.parent / "lines.toml"
        settings.write_text(LINES_AT_ONCE)
        own = {"TERM": "xterm", "P2PDICE_CONFIG": str(settings)}
        super().__init__("-c", self._begin, *arguments, home=home, variables=own | variables)

    def _start(self, command: list[str], variables: dict[str, str]) -> subprocess.Popen[Any]:
        self._fd, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", self._lines, self._columns, 0, 0))
        env = {key: value for key, value in variables.items() if key != "COLUMNS"}
        process = Popen(command, env=env, stdin=child, stdout=child, stderr=child, start_new_session=True)
        os.close(child)
        return process

    def _sources(self) -> list[tuple[Callable[[Any], None], Iterable[Any]]]:
        return [(self._painted, self._pieces())]

    def _pieces(self) -> Iterator[bytes]:
        while self._may_read.wait():
            try:
                data = os.read(self._fd, 65536)
            except OSError:  # Linux says EIO when the other side is closed
                return
            if not data:
                return
            yield data

    def _painted(self, data: bytes) -> None:
        self.raw += data
        self._stream.feed(data)
        self._rows = []
        if b"\x1b[6n" in data:  # asked where its cursor stands, a terminal answers
            self.type(f"\x1b[{self._screen.cursor.y + 1};{self._screen.cursor.x + 1}R")

    def __exit__(self, kind: type[BaseException] | None, *more: Any) -> None:
        super().__exit__(kind, *more)
        if kind is None:
            self._check_painting()

    def _check_painting(self) -> None:
        """Check that the program has painted nothing that it had to make visible itself, and all within the edges."""
        if not self.shows_foreign_text and (escaped := ESCAPED.findall(self.written())):
            raise self.failure(f"{escaped[:5]} were painted")
        if self.is_alone and (beyond := self._screen.beyond):
            raise self.failure(f"{beyond[:5]} were painted beyond the edge")

    def close(self) -> None:
        self.thaw()
        super().close()

    def _release(self) -> None:
        with suppress(OSError):  # it was closed already
            os.close(self._fd)

    def hang_up(self) -> None:
        """Close the terminal, as somebody who closes its window."""
        self.freeze()
        os.close(self._fd)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._fd, keys.encode())

    def interrupt(self) -> int:
        """Press Ctrl-C until the process has ended, and return its exit code.

        Of one that comes in the moment before it reads, Python's input() takes notice at the next key only.
        """
        while self.process.poll() is None:
            self.type("\x03")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
        return self.end()

    def shown(self) -> str:
        """Return everything that was shown, without the blanks at the ends of lines."""
        with self._changed:
            above = ["".join(line[x].data for x in range(self._columns)) for line in self._screen.history.top]
            return "\n".join(line.rstrip() for line in (*above, *self._screen.display))

    def display(self) -> list[str]:
        """Return the lines that are on the screen now, without the blanks at their ends."""
        with self._changed:
            if not self._rows:
                self._rows = [line.rstrip() for line in self._screen.display]
            return self._rows

    def cells(self) -> list[list[Any]]:
        """Return the characters on the screen now, line by line, each with its colours."""
        with self._changed:
            lines = range(self._lines)
            return [[self._screen.buffer[y][x] for x in range(self._columns)] for y in lines]

    def until_display(self, *texts: str) -> list[str]:
        """Watch until all the texts are on the screen at the same time; return its lines."""

        def found() -> list[str]:
            lines = self.display()
            shown = "\n".join(lines)
            return lines if all(text in shown for text in texts) else []

        return self.wait_for(found, " and ".join(map(repr, texts)))

    def join_line(self) -> str:
        """Ask a host for the long line by which others join, and return it."""
        self.until("p2pdice join")
        self.type("link\r")
        found = self.wait_for(lambda: re.search(r"p2pdice join (\S+/[A-Z0-9-]+)", self.shown()), "a long line")
        assert found is not None
        return found[1]

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size, as pulling at the corner of its window does."""
        with self._changed:
            self._columns, self._lines = columns, lines
            self._screen.resize(lines, columns)
            self._screen.cursor.y = min(self._screen.cursor.y, lines - 1)
            self._rows = []
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def freeze(self) -> None:
        """Take no output any more, as a terminal does whose owner has pressed Ctrl-S."""
        self._may_read.clear()

    def thaw(self) -> None:
        """Take output again."""
        self._may_read.set()

    def last_line(self) -> str:
        """Return the line with the cursor."""
        with self._changed:
            return self._screen.display[self._screen.cursor.y].rstrip()

    def until(self, *texts: str) -> None:
        """Watch until all the texts are on the screen, or have been."""
        self.wait_for(lambda: all(text in self.shown() for text in texts), " and ".join(map(repr, texts)))

    def until_last_line(self, *texts: str) -> None:
        """Watch until the line with the cursor is one of these."""
        self.wait_for(lambda: self.last_line() in texts, " or ".join(map(repr, texts)))

    def asks_for_move(self) -> bool:
        """Tell whether the line with the cursor is the prompt for a move, and nothing after it."""
        return self.last_line().startswith("your turn") and self.last_line().endswith(">")

    def is_on_turn(self) -> bool:
        """Tell whether a move is asked for that was not made yet."""
        # The prompt can be there a moment before the sentence that belongs to it.
        return self.asks_for_move() and len(self._turns()) > self._answered

    def written(self) -> str:
        """Return all that was written so far, without colours."""
        return re.sub(r"\x1b\[[0-9;]*m", "", self.raw.decode(errors="replace"))

    def _matches(self) -> int:
        return self.written().count(OVER)

    def _turns(self) -> list[str]:
        """Return what was written after each announcement of a turn.

        On the screen, one can be seen twice for a moment, while what stands around it is painted anew.
        """
        return self.written().split(TURN)[1:]

    def asked(self) -> str:
        """Return what was written after the last announcement of a turn."""
        return self._turns()[-1]

    def answer(self, *lines: str) -> None:
        """Type what is asked for."""
        self._answered = len(self._turns())
        self.type("".join(f"{line}\r" for line in lines))

    def play_to_the_end(self) -> None:
        """Open with one two, call whatever is bid, until the match is over; then leave."""
        self.play_a_match()
        self.leave()

    def play_a_match(self, which: int = 1) -> None:
        """Open with one two, call whatever is bid, until a match is over: the first one, or another of the evening."""
        while True:
            self.wait_for(lambda: self.is_on_turn() or self._matches() >= which, "a turn or the end")
            if self._matches() >= which:
                return
            self.answer(bold(self.asked()))
            self.wait_for(lambda: not self.asks_for_move(), "another prompt")

    def leave(self) -> int:
        """Leave the table when the match is over, and return the exit code."""
        self.until("Again?")
        self.type("quit\r")
        return self.end()

    def is_sane(self) -> bool:
        """Tell whether lines are edited and echoed by the terminal again, as a shell expects."""
        local = termios.tcgetattr(self._fd)[3]
        return bool(local & termios.ICANON and local & termios.ECHO)


class Shell(Terminal):
    """A person before a shell with job control, from which they start a program."""

    _begin = SHELL
    is_alone = False

    def __init__(self, home: Path, *arguments: str, shell: Sequence[str] = BASH) -> None:
        super().__init__(home, *shell, PS1="shell> ", TERM="xterm")
        self.until_last_line("shell>")
        self.command = shlex.join((sys.executable, *MODULE, *arguments))
        self.type(f"{self.command}\r")

    def program(self) -> psutil.Process:
        """Return the process that the shell has started for the program."""
        return next(iter(psutil.Process(self.process.pid).children()))

    def until_stopped(self) -> None:
        """Watch until the shell tells that the program is stopped, and can be typed at."""
        self.wait_for(lambda: self.program().status() == psutil.STATUS_STOPPED, "a stopped program")
        self.until_shell()

    def until_shell(self) -> None:
        """Watch until the shell asks for a command, at a terminal that is in order."""
        self.wait_for(lambda: self.last_line().removeprefix("^C") == "shell>" and self.is_sane(), "the shell")

    def go_on(self, text: str) -> None:
        """Let the stopped program go on, and watch until it has painted the full screen again, with this text.

        What it had painted before, and what the shell echoes, does not count: keys would still go to the shell.
        """
        entered = self.raw.count(ENTERS_THE_SCREEN)
        self.type("fg\r")
        self.wait_for(
            lambda: (
                self.raw.count(ENTERS_THE_SCREEN) > entered
                and text.encode() in self.raw[self.raw.rfind(ENTERS_THE_SCREEN) :]
            ),
            f"{text!r} painted again",
        )
