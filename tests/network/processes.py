"""Players as operating-system processes, reaped whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from protocol.verifier import verify
from tests.network.journal import history

PATIENCE = 60.0
"""Seconds; only a failing test takes so long."""
ROOT = Path(__file__).resolve().parents[2]


class Process:
    """One running player; its lines are read as they come."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self._moments: list[float] = []
        self._progress = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.lines.append(json.loads(line))
            self._moments.append(time.monotonic())
            self._progress.set()
        self._progress.set()

    def told(self, event: str) -> list[dict[str, Any]]:
        """Return what was said so far of one kind."""
        return [line for line in self.lines if line["event"] == event]

    def moments(self, event: str) -> list[float]:
        """Return when that was said, by the monotonic clock in seconds."""
        return [moment for line, moment in zip(self.lines, self._moments, strict=True) if line["event"] == event]

    async def until(self, event: str, times: int = 1) -> dict[str, Any]:
        """Wait until an event was told so many times; return the last."""
        async with asyncio.timeout(PATIENCE):
            while True:
                self._progress.clear()
                if len(told := self.told(event)) >= times:
                    return told[times - 1]
                assert not self._reading.done(), f"the process ended without {event!r}: {self.lines[-3:]}"
                await self._progress.wait()

    async def kill(self) -> None:
        """Kill -9, or what the system has for it."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        await self._reading

    def fall_asleep(self) -> None:
        """Stop the process where it is, as closing a laptop's lid does. Not on Windows."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def wake_up(self) -> None:
        """Let the process go on."""
        os.kill(self.process.pid, signal.SIGCONT)

    async def dismiss(self) -> int:
        """Tell the process that it may go; return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()


class Processes:
    """All players of one test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._all: list[Process] = []

    async def start(
        self,
        name: str,
        *options: str,
        prefix: tuple[str, ...] = (),
        home: str = "",
        program: str = "tests.network.player",
    ) -> Process:
        """Start a player in the home of that name; ``prefix`` goes before the command."""
        at_home = ("--home", str(self.folder / (home or name)), "--name", name)
        return await self.run(program, *at_home, *options, prefix=prefix)

    async def run(self, program: str, *options: str, prefix: tuple[str, ...] = ()) -> Process:
        """Start a module that prints JSON lines and stays until its standard input is closed."""
        process = await asyncio.create_subprocess_exec(
            *prefix,
            sys.executable,
            "-m",
            program,
            *options,
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        self._all.append(Process(process))
        return self._all[-1]

    async def reap(self) -> None:
        for each in self._all:
            await each.kill()


@contextlib.asynccontextmanager
async def processes(folder: Path) -> AsyncIterator[Processes]:
    """Start processes; none of them outlives the test."""
    started = Processes(folder)
    try:
        yield started
    finally:
        await started.reap()


def contents(path: str) -> bytes:
    return Path(path).read_bytes()


async def agree(*players: Process, verdict: str = "fair") -> bytes:
    """Wait for the end of the match, let the processes go and return the one transcript that all have.

    Where somebody was put out, each may have kept the votes of another majority.
    """
    ends = [await player.until("over") for player in players]
    transcripts = {contents(end["transcript"]) for end in ends}
    if verdict == "fair":
        assert len(transcripts) == 1
    assert len({history(transcript) for transcript in transcripts}) == 1
    assert {verify(transcript).verdict for transcript in transcripts} == {verdict}
    transcript = transcripts.pop()
    assert len({str(end["places"]) for end in ends}) == 1
    for player in players:
        assert player.told("misbehaved") == []
    assert [await player.dismiss() for player in players] == [0] * len(players)
    return transcript


async def table(
    at: Processes, names: str, *options: str, patience: tuple[int, int] = (120, 15), home: str = "{}"
) -> dict[str, Process]:
    """Let players sit down at a table of the first one's on this machine, until the match has started for all."""
    everyone = ("--interface", "127.0.0.1", *options)
    patiently = ("--patience", *map(str, patience))
    first, others = names[0], names[1:]
    host = await at.start(first, "--host", str(len(names)), *patiently, *everyone, home=home.format(first))
    line = (await host.until("opened"))["join_line"]
    players = {first: host}
    for name in others:
        players[name] = await at.start(name, "--join", line, *everyone, home=home.format(name))
        await players[name].until("joined")
    for player in players.values():
        await player.until("started")
    return players


async def resume(at: Processes, name: str, match: str, *options: str, home: str = "") -> Process:
    """Start the process of a player anew, in the same home."""
    return await at.start(name, "--resume", match, "--interface", "127.0.0.1", *options, home=home)
