"""A program in a pseudo-terminal: tests press keys and read the screen. POSIX only."""

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
"""The settings file, unless a test names another."""
IN_FOREGROUND = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from cli import main; main()"
"""Makes the pseudo-terminal the controlling terminal of the process, so that Ctrl-C reaches it."""
SHELL = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
"""The same, for a shell."""
BASH = ("bash", "--norc", "--noprofile", "--noediting", "-i")
"""A shell that repairs the terminal modes whenever a program stops or ends."""
DASH = ("dash", "-i")
"""A shell that does not repair the terminal modes."""
ESCAPED = re.compile(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}")
"""A character escaped by :func:`cli.render.escape`."""
FULL_SCREEN = 1049 << 5
"""The mode of a pyte screen that stands for the full (alternate) screen."""
ENTERS_THE_SCREEN, LEAVES_THE_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"


class Paper(pyte.HistoryScreen):
    """A screen that also records text written beyond the right edge of the full screen."""

    def __init__(self, columns: int, lines: int) -> None:
        self.beyond: list[str] = []
        self._is_pulled = False
        """Whether the window was resized. Then output may still be meant for the former size."""
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
    """A process in a pseudo-terminal, and the screen with its output."""

    _begin = IN_FOREGROUND
    shows_foreign_text: ClassVar = False
    """Whether some of the text comes from others, so that escaped characters are expected."""
    is_alone: ClassVar = True
    """Whether no other program, such as a shell, writes to this terminal."""

    def __init__(self, home: Path, *arguments: str, size: tuple[int, int] = (COLUMNS, LINES), **variables: str) -> None:
        self._columns, self._lines = size
        self._screen = Paper(*size)
        self._may_read = threading.Event()
        self._may_read.set()
        self._stream = pyte.ByteStream(self._screen)
        self._rows: list[str] = []
        """A cache of the lines on the screen; empty if outdated."""
        self.raw = b""
        self._answered = 0
        """The number of turns that were answered."""
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
            except OSError:  # Linux raises EIO when the other side is closed
                return
            if not data:
                return
            yield data

    def _painted(self, data: bytes) -> None:
        self.raw += data
        self._stream.feed(data)
        self._rows = []
        if b"\x1b[6n" in data:  # a terminal answers this query with the position of its cursor
            self.type(f"\x1b[{self._screen.cursor.y + 1};{self._screen.cursor.x + 1}R")

    def __exit__(self, kind: type[BaseException] | None, *more: Any) -> None:
        super().__exit__(kind, *more)
        if kind is None:
            self._check_painting()

    def _check_painting(self) -> None:
        """Check that the program's own texts needed no escaping, and that nothing was painted beyond the edge."""
        if not self.shows_foreign_text and (escaped := ESCAPED.findall(self.written())):
            raise self.failure(f"{escaped[:5]} were painted")
        if self.is_alone and (beyond := self._screen.beyond):
            raise self.failure(f"{beyond[:5]} were painted beyond the edge")

    def close(self) -> None:
        self.thaw()
        super().close()

    def _release(self) -> None:
        with suppress(OSError):  # already closed
            os.close(self._fd)

    def hang_up(self) -> None:
        """Close the terminal, as closing its window does."""
        self.freeze()
        os.close(self._fd)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._fd, keys.encode())

    def interrupt(self) -> int:
        """Press Ctrl-C until the process has ended, and return its exit code.

        One press may not be enough: Python's input() notices a signal just before its read only at the next key.
        """
        while self.process.poll() is None:
            self.type("\x03")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
        return self.end()

    def shown(self) -> str:
        """Return all lines that were shown, without trailing blanks."""
        with self._changed:
            above = ["".join(line[x].data for x in range(self._columns)) for line in self._screen.history.top]
            return "\n".join(line.rstrip() for line in (*above, *self._screen.display))

    def display(self) -> list[str]:
        """Return the lines that are on the screen now, without trailing blanks."""
        with self._changed:
            if not self._rows:
                self._rows = [line.rstrip() for line in self._screen.display]
            return self._rows

    def cells(self) -> list[list[Any]]:
        """Return the characters that are on the screen now, line by line, with their colours."""
        with self._changed:
            lines = range(self._lines)
            return [[self._screen.buffer[y][x] for x in range(self._columns)] for y in lines]

    def until_display(self, *texts: str) -> list[str]:
        """Wait until the screen shows all the texts at the same time; return its lines."""

        def found() -> list[str]:
            lines = self.display()
            shown = "\n".join(lines)
            return lines if all(text in shown for text in texts) else []

        return self.wait_for(found, " and ".join(map(repr, texts)))

    def join_line(self) -> str:
        """Type ``link`` at a host's table, and return the join line that appears."""
        self.until("p2pdice join")
        self.type("link\r")
        found = self.wait_for(lambda: re.search(r"p2pdice join (\S+/[A-Z0-9-]+)", self.shown()), "a long line")
        assert found is not None
        if b"\x1b[?1049h" in self.raw:  # on the full screen a page shows the line, and covers the table
            self.type("\x1b")
        return found[1]

    def resize(self, columns: int, lines: int) -> None:
        """Resize the terminal, as dragging the corner of its window does."""
        with self._changed:
            self._columns, self._lines = columns, lines
            self._screen.resize(lines, columns)
            self._screen.cursor.y = min(self._screen.cursor.y, lines - 1)
            self._rows = []
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def freeze(self) -> None:
        """Stop reading output, as Ctrl-S makes a terminal do."""
        self._may_read.clear()

    def thaw(self) -> None:
        """Read output again."""
        self._may_read.set()

    def last_line(self) -> str:
        """Return the line with the cursor."""
        with self._changed:
            return self._screen.display[self._screen.cursor.y].rstrip()

    def until(self, *texts: str) -> None:
        """Wait until each of the texts has been shown."""
        self.wait_for(lambda: all(text in self.shown() for text in texts), " and ".join(map(repr, texts)))

    def until_last_line(self, *texts: str) -> None:
        """Wait until the line with the cursor is one of these."""
        self.wait_for(lambda: self.last_line() in texts, " or ".join(map(repr, texts)))

    def asks_for_move(self) -> bool:
        """Return whether the line with the cursor is the prompt for a move, with nothing typed."""
        return self.last_line().startswith("your turn") and self.last_line().endswith(">")

    def is_on_turn(self) -> bool:
        """Return whether the table waits for this player's move."""
        # The prompt can appear a moment before its sentence.
        return self.asks_for_move() and len(self._turns()) > self._answered

    def written(self) -> str:
        """Return all that was written so far, without colours."""
        return re.sub(r"\x1b\[[0-9;]*m", "", self.raw.decode(errors="replace"))

    def _matches(self) -> int:
        return self.written().count(OVER)

    def _turns(self) -> list[str]:
        """Return what was written after each announcement of a turn.

        Raw output is counted, because the screen can show an announcement twice while it is repainted.
        """
        return self.written().split(TURN)[1:]

    def asked(self) -> str:
        """Return what was written after the last announcement of a turn."""
        return self._turns()[-1]

    def answer(self, *lines: str) -> None:
        """Answer the turn with these lines."""
        self._answered = len(self._turns())
        self.type("".join(f"{line}\r" for line in lines))

    def play_to_the_end(self) -> None:
        """Play a match as :meth:`play_a_match` does, then leave."""
        self.play_a_match()
        self.leave()

    def play_a_match(self, which: int = 1) -> None:
        """Open with one two, and call any bid, until this many matches are over."""
        while True:
            self.wait_for(lambda: self.is_on_turn() or self._matches() >= which, "a turn or the end")
            if self._matches() >= which:
                return
            self.answer(bold(self.asked()))
            self.wait_for(lambda: not self.asks_for_move() or self.is_on_turn(), "another prompt")

    def leave(self) -> int:
        """Leave the table after the match, and return the exit code."""
        self.until("Again?")
        self.type("quit\r")
        return self.end()

    def is_sane(self) -> bool:
        """Return whether the terminal edits and echoes lines again, as a shell expects."""
        local = termios.tcgetattr(self._fd)[3]
        return bool(local & termios.ICANON and local & termios.ECHO)


class Shell(Terminal):
    """A shell with job control, in which a program is started."""

    _begin = SHELL
    is_alone = False

    def __init__(self, home: Path, *arguments: str, shell: Sequence[str] = BASH) -> None:
        super().__init__(home, *shell, PS1="shell> ", TERM="xterm")
        self.until_last_line("shell>")
        self.command = shlex.join((sys.executable, *MODULE, *arguments))
        self.type(f"{self.command}\r")

    def program(self) -> psutil.Process:
        """Return the process of the program."""
        return next(iter(psutil.Process(self.process.pid).children()))

    def until_stopped(self) -> None:
        """Wait until the program is stopped and the shell shows its prompt."""
        self.wait_for(lambda: self.program().status() == psutil.STATUS_STOPPED, "a stopped program")
        self.until_shell()

    def until_shell(self) -> None:
        """Wait until the shell shows its prompt and the terminal modes are restored."""
        self.wait_for(lambda: self.last_line().removeprefix("^C") == "shell>" and self.is_sane(), "the shell")

    def go_on(self, text: str) -> None:
        """Type ``fg``, and wait until the program has painted the full screen again, with this text.

        Earlier frames do not count, because until the new one keys would still go to the shell.
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
