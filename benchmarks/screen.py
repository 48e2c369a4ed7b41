"""Measure delays on the full screen: the first frame of ``join``, the time from a key press to its display, the
painting of one frame, and how often an idle table wakes up. POSIX only.

    python -m benchmarks.screen

Times are also given as multiples of an empty run of Python, which depend less on the machine than seconds.
"""

from __future__ import annotations

import io
import os
import pty
import re
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import psutil
from prompt_toolkit.application import Application
from prompt_toolkit.application.current import set_app
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import DummyInput
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from cli.table.picture import picture
from cli.table.scene import Band, Scene, Talk
from cli.table.theme import Theme
from p2pdice.moves import Bid
from p2pdice.rulesets import PRESETS
from tests.cli.table.boards import Sample
from tests.cli.test_replay import SMALL, play

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

RUNS = 7
KEYS = 200
IDLE = 10.0
"""Seconds to watch an idle table."""
FRAME_LIMIT = 25.0
"""The most time to the first frame, as a multiple of an empty run of Python."""
KEY_LIMIT = 0.050
"""The most seconds from a key press to its display."""
FRAMES = {(80, 24): 3.0, (120, 40): 5.0, (200, 50): 8.0}
"""The most milliseconds for a frame in the middle of a match, by columns and rows of the terminal."""


class Person:
    """A user at a pseudo-terminal of 80 x 24 who reads all output at once."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.shown = b""
        self.began = time.perf_counter()
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.environ.update(P2PDICE_HOME=str(home), P2PDICE_CONFIG=str(home / "none.toml"), TERM="xterm-256color")
            os.environ.update(LINES="24", COLUMNS="80")
            os.execv(sys.executable, [sys.executable, "-m", "p2pdice", *arguments])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGTERM)
        with suppress(OSError):
            while os.read(self._fd, 65536):
                pass
        os.waitpid(self._pid, 0)
        os.close(self._fd)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._fd, keys.encode())

    def settle(self) -> None:
        """Read until there is no output for 0.2 seconds."""
        while select.select([self._fd], [], [], 0.2)[0]:
            self.shown += os.read(self._fd, 65536)

    def wakes(self, seconds: float) -> float:
        """Return how often per second the idle program wakes up."""
        process = psutil.Process(self._pid)
        before = process.num_ctx_switches().voluntary
        time.sleep(seconds)
        return (process.num_ctx_switches().voluntary - before) / seconds

    def until(self, condition: Callable[[bytes], object], since: int = 0) -> float:
        """Read until the output after ``since`` meets a condition; return the time. Cursor movements become blanks."""
        deadline = time.perf_counter() + 60
        while not condition(re.sub(rb"\x1b\[[0-9]*C", b" ", self.shown[since:])):
            ready, _, _ = select.select([self._fd], [], [], max(deadline - time.perf_counter(), 0))
            if not ready:
                raise TimeoutError(self.shown.decode(errors="replace"))
            self.shown += os.read(self._fd, 65536)
        return time.perf_counter()


def empty_run() -> float:
    """Return the seconds that Python needs to start and exit."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began


def is_table(shown: bytes) -> bool:
    """Return whether a whole frame that includes this player has been painted."""
    return b"Ben (you)" in shown.partition(b"\x1b[?1049h")[2]


def is_frame(shown: bytes) -> bool:
    """Return whether anything has been painted on the full screen."""
    return b"Asking for a seat" in shown.partition(b"\x1b[?1049h")[2]


def frames_of_join(folder: Path, line: str, run: int) -> tuple[float, float]:
    """Return the seconds from the start of ``join`` to its first frame, and to the frame with the player seated."""
    with Person(folder / f"guest{run % 2}", "join", line, "--name", "Ben", "--ui", "screen") as guest:
        return guest.until(is_frame) - guest.began, guest.until(is_table) - guest.began


def key_times(player: Person) -> list[float]:
    """Return the seconds from each key press to its display."""
    taken = []
    for number in range(KEYS):
        since, key = len(player.shown), b"abcdefghij"[number % 10 : number % 10 + 1]
        began = time.perf_counter()
        player.type(key.decode())
        taken.append(player.until(partial(_holds, key), since) - began)
        if number % 10 == 9:
            player.type("\x1b")
            player.settle()
    return taken


def _holds(key: bytes, shown: bytes) -> bool:
    return key in shown


def frame_time(columns: int, rows: int) -> float:
    """Return the median CPU time, in milliseconds, for composing, laying out and writing a frame."""
    sample = Sample(PRESETS["classic"], ("Ada", "Ben", "Cleo", "Dan"))
    sample.roll()
    sample.play("3x5", "5x5", "6x5", "7x5")
    theme, taken = Theme(), list[float]()
    talk = [Talk(1, "Ben", "who bids seven with three dice")] * 9

    def painted() -> StyleAndTextTuples:
        scene = Scene(typed=Bid(8 + len(taken) % 2, 5), seconds=len(taken), talk=talk, band=Band("Your turn", "seat0"))
        return picture(sample.board, scene, columns, rows, theme).fragments()

    output = Vt100_Output(io.StringIO(), lambda: Size(rows, columns), term="xterm-256color")
    app = Application[None](
        Layout(Window(FormattedTextControl(painted))), style=theme.style(), full_screen=True, output=output,
        input=DummyInput(), color_depth=ColorDepth.DEPTH_24_BIT,
    )  # fmt: skip
    with set_app(app):
        for _ in range(KEYS):
            began = time.process_time()
            app.renderer.render(app, app.layout)
            taken.append(1000 * (time.process_time() - began))
    return statistics.median(taken)


def wakes_of_idle(folder: Path) -> float:
    """Return how often per second an idle table wakes up, using a replay, which has no network."""
    path = folder / "match.p2pdice"
    path.write_bytes(play(SMALL).machines[0].transcript)
    with Person(folder / "reader", "replay", str(path), "--ui", "screen") as reader:
        reader.until(lambda shown: b"start>" in shown)
        reader.settle()
        return reader.wakes(IDLE)


def main() -> None:
    """Measure and print the results."""
    for (columns, rows), limit in FRAMES.items():
        print(f"a frame at {columns} x {rows}: {frame_time(columns, rows):.1f} ms (at most {limit:.0f})")
    pass_ = statistics.median(empty_run() for _ in range(RUNS))
    print(f"python -c pass: {pass_ * 1000:.0f} ms")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Person(folder / "host", "host", "--name", "Ada", "--seats", "3", "--ui", "screen") as host:
            host.until(lambda shown: b"seats taken" in shown)
            host.type("link\r")
            host.until(lambda shown: re.search(rb"p2pdice join [0-9.]+:", shown))
            host.settle()
            found = re.search(rb"join(?: |\x1b\[C)([0-9.]+:\d+/[A-Z0-9-]+)", host.shown)
            assert found, host.shown
            frames = [frames_of_join(folder, found[1].decode(), run) for run in range(RUNS)]
        for what, times in zip(("first frame", "first frame of the table"), zip(*frames, strict=True), strict=True):
            frame = statistics.median(times)
            print(
                f"{what} of join: {frame * 1000:.0f} ms, {frame / pass_:.1f} times an empty run (the very first at most"
                f" {FRAME_LIMIT:.0f}); from {min(times) * 1000:.0f} to {max(times) * 1000:.0f} ms"
            )
        with Person(folder / "solo", "host", "--name", "Ada", "--bots", "3", "--ui", "screen", "--pace", "0") as player:
            player.until(lambda shown: b"your turn>" in shown)
            taken = key_times(player)
        print(f"an idle table wakes up {wakes_of_idle(folder):.1f} times a second (at most 1)")
        slowest = sorted(taken)[int(len(taken) * 0.99)]
        print(
            f"a key on the screen: {statistics.median(taken) * 1000:.1f} ms, 99% within {slowest * 1000:.1f} ms"
            f" (at most {KEY_LIMIT * 1000:.0f})"
        )


if __name__ == "__main__":
    main()
