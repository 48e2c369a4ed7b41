"""A player at the line mode through pipes: what is typed, and what comes back."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.cli.conftest import environment

TURN = "Your turn: "
OVER = "The match is over: "
PATIENCE = 60.0
"""Seconds before a test gives up; nothing here takes more than a few."""


class SeatedPlayer:
    """One ``p2pdice`` process, its output gathered as it comes."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "p2pdice", *arguments],
            env=environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            bufsize=1,
        )
        self.seen: list[str] = []
        self._unanswered = ""
        """The line that told of a turn in which nothing has been typed yet."""
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def type(self, line: str) -> None:
        """Type a line."""
        assert self.process.stdin is not None
        self._unanswered = ""
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def until(self, *texts: str) -> str:
        """Read on until a line holds one of the texts, and return that line."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"waited for {texts} in vain, after:\n" + "\n".join(self.seen)) from None
            if line is None:
                raise AssertionError(f"ended before {texts}, after:\n" + "\n".join(self.seen))
            self.seen.append(line)
            if line.startswith(TURN):
                self._unanswered = line
            if any(text in line for text in texts):
                return line

    def play_to_the_end(self) -> None:
        """Open with one two, call whatever is bid, until the match is over."""
        while not (line := self._unanswered or self.until(TURN, OVER)).startswith(OVER):
            self.type("1x2" if "open the round" in line else "liar")

    def finish(self) -> tuple[int, str]:
        """Wait for the end; return the exit code and all output."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        while (line := self._lines.get()) is not None:
            self.seen.append(line)
        return code, "\n".join(self.seen)

    def close(self) -> None:
        """Leave nothing behind."""
        self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):  # what was typed last was not read any more
                stream.close()


@contextmanager
def seated(home: Path, *arguments: str) -> Iterator[SeatedPlayer]:
    """Start a player, and end it with the block."""
    player = SeatedPlayer(home, *arguments)
    try:
        yield player
    finally:
        player.close()


def play_together(*players: SeatedPlayer) -> None:
    """Let players play their match to its end, side by side."""
    with ThreadPoolExecutor(len(players)) as pool:
        for done in [pool.submit(player.play_to_the_end) for player in players]:
            done.result()
