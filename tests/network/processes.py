"""Players as processes that report events as lines of JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from protocol.consensus.verifier import verify
from tests.network.journal import history
from tests.programs import Program


class Process(Program):
    """One player's process, whose events can be awaited in an event loop."""

    def __init__(self, *arguments: str, home: Path, prefix: tuple[str, ...] = ()) -> None:
        self.lines: list[dict[str, Any]] = []
        super().__init__(*arguments, home=home, prefix=prefix)

    def _told(self, line: str) -> None:
        self.lines.append(json.loads(line))
        super()._told(line)

    def told(self, event: str) -> list[dict[str, Any]]:
        """Return all events of one kind so far."""
        return [line for line in self.lines if line["event"] == event]

    def moments_of(self, event: str) -> list[float]:
        """Return when each event of one kind was printed, by the monotonic clock in seconds."""
        return [moment for line, moment in zip(self.lines, self.moments, strict=True) if line["event"] == event]

    async def until(self, event: str, times: int = 1) -> dict[str, Any]:
        """Wait until events of one kind have been reported ``times`` times; return the last one."""
        told = await asyncio.to_thread(self.wait_for, lambda: self.told(event)[times - 1 : times], f"{times} × {event}")
        return told[0]

    async def kill(self) -> None:
        """Kill the process with SIGKILL, or its equivalent on this system."""
        await asyncio.to_thread(self.kill_9)

    async def dismiss(self) -> int:
        """Close the process's input, wait for its end, and return its exit code."""
        self.close_input()
        return await asyncio.to_thread(self.end)


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
        """Start a player in the home ``name``. ``prefix`` is put before the command."""
        at_home = ("--home", str(self.folder / (home or name)), "--name", name)
        return await self.run(program, *at_home, *options, prefix=prefix)

    async def run(self, program: str, *options: str, prefix: tuple[str, ...] = ()) -> Process:
        """Start a module that prints JSON lines and runs until its standard input is closed."""
        home = Path(options[options.index("--home") + 1]) if "--home" in options else self.folder
        self._all.append(Process("-m", program, *options, home=home, prefix=prefix))
        return self._all[-1]

    def close(self) -> None:
        for each in self._all:
            each.close()


@contextlib.asynccontextmanager
async def processes(folder: Path) -> AsyncIterator[Processes]:
    """Let a test start processes; close them afterwards."""
    started = Processes(folder)
    try:
        yield started
    finally:
        started.close()


def contents(path: str) -> bytes:
    return Path(path).read_bytes()


async def agree(*players: Process, verdict: str = "fair") -> bytes:
    """Wait for the match's end, end the processes, check that all have the same history, and return one transcript.

    Transcripts may contain votes from different quorums, and may close a LOCK by messages or by votes.
    """
    ends = [await player.until("over") for player in players]
    transcripts = {contents(end["transcript"]) for end in ends}
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
    """Let the first player open a table and the others join it; wait until the match has started for all."""
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
    """Start a player's process again in the same home."""
    return await at.start(name, "--resume", match, "--interface", "127.0.0.1", *options, home=home)
