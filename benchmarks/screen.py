"""What a person waits for at the full screen: the first frame of ``join``, and a key until it is seen. POSIX only.

    python -m benchmarks.screen

Times are told as multiples of an empty run of Python too, which says more than seconds of one machine.
"""

from __future__ import annotations

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
from typing import Self

RUNS = 7
KEYS = 200
FRAME_LIMIT = 25.0
"""Times an empty run of Python."""
KEY_LIMIT = 0.050
"""Seconds."""


class Person:
    """Somebody at a pseudo-terminal of 80 x 24, who reads everything at once."""

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
        """Read until nothing more comes for a moment."""
        while select.select([self._fd], [], [], 0.2)[0]:
            self.shown += os.read(self._fd, 65536)

    def until(self, condition: Callable[[bytes], object], since: int = 0) -> float:
        """Read until something holds of what was shown since then; return the moment."""
        deadline = time.perf_counter() + 60
        while not condition(self.shown[since:]):
            ready, _, _ = select.select([self._fd], [], [], max(deadline - time.perf_counter(), 0))
            if not ready:
                raise TimeoutError(self.shown.decode(errors="replace"))
            self.shown += os.read(self._fd, 65536)
        return time.perf_counter()


def empty_run() -> float:
    """Return the seconds that Python needs to start and end."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began


def is_table(shown: bytes) -> bool:
    """Tell whether a whole frame with this player in it was painted."""
    return b"Ben (you)" in shown.partition(b"\x1b[?1049h")[2]


def is_frame(shown: bytes) -> bool:
    """Tell whether something was painted on the full screen."""
    return b"Asking for a seat" in shown.partition(b"\x1b[?1049h")[2]


def frames_of_join(folder: Path, line: str, run: int) -> tuple[float, float]:
    """Return the seconds from the start of ``join`` to its first frame, and to that of the table, the seat taken."""
    with Person(folder / f"guest{run % 2}", "join", line, "--name", "Ben", "--ui", "screen") as guest:
        return guest.until(is_frame) - guest.began, guest.until(is_table) - guest.began


def key_times(player: Person) -> list[float]:
    """Return the seconds from each key to its picture."""
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


def main() -> None:
    """Measure, and say what came out."""
    pass_ = statistics.median(empty_run() for _ in range(RUNS))
    print(f"python -c pass: {pass_ * 1000:.0f} ms")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Person(folder / "host", "host", "--name", "Ada", "--seats", "3", "--ui", "screen") as host:
            host.until(lambda shown: b"taken, by Ada" in shown)
            found = re.search(rb"p2pdice join ([0-9.]+:\d+/[A-Z0-9-]+)", host.shown)
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
        slowest = sorted(taken)[int(len(taken) * 0.99)]
        print(
            f"a key on the screen: {statistics.median(taken) * 1000:.1f} ms, 99% within {slowest * 1000:.1f} ms"
            f" (at most {KEY_LIMIT * 1000:.0f})"
        )


if __name__ == "__main__":
    main()
