"""The cost of a siege to a player in a match, measured for the tests and ``benchmarks/siege.py``.

Player A hosts and is attacked. B plays honestly. C plays too if the siege includes a flood by a player. All are
processes. The attack lasts from the beginning of the match to its end.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import psutil

from tests.network.namespaces import Lan
from tests.network.processes import Process, Processes, agree, processes

LOOPBACK = "127.0.0.1"
SAMPLING = 0.05
"""Seconds between two samples of the besieged process."""


@dataclass(frozen=True)
class Siege:
    """The attacks on player A during the match."""

    attacks: tuple[tuple[str, int], ...] = ()
    """Pairs of an attack of :mod:`tests.network.besieger` and its count. All run at once, each in its own process."""
    flood: str = ""
    """The kind of flood of :mod:`tests.network.liar` that player C sends to A; empty for none."""
    frames: float = 0.0
    """Frames per second that player C sends."""
    lan: bool = False
    """Whether A limits the rates of processes on its own machine as if they were other machines."""
    dice: int = 5
    """The dice of each player at the start."""
    delay: float = 0.1
    """The seconds for which players think about a move."""
    discovery: bool = False


LONG: Final[dict[str, Any]] = {"dice": 10, "delay": 0.1}
"""Settings for a match long enough to repeat any attack a thousand times."""
SIEGES: Final = {
    "1,000 TCP connections that say nothing": Siege((("links", 1000),), **LONG),
    "1,000 strangers who finish TLS and say nothing": Siege((("silent", 1000),), **LONG),
    "50 strangers who connect and go, over and over": Siege((("knock", 50),), **LONG),
    "50 strangers who do TLS and go, over and over": Siege((("storm", 50),), **LONG),
    "300 who dribble: handshake, frame header, frame": Siege(
        (("drip_handshake", 100), ("drip_header", 100), ("drip_frame", 100)), **LONG
    ),
    "50 strangers who say HELLO and 400 more frames": Siege((("chatter", 50),), **LONG),
    "1,000 false tables by multicast": Siege((("tables", 1000),), discovery=True, **LONG),
    "a player's flood of duplicates": Siege(flood="known", frames=1000),
    "a player's flood of messages of other histories": Siege(flood="elsewhere", frames=1000),
    "a player's flood of future messages": Siege(flood="future", frames=1000),
    "a player's flood of NEED": Siege(flood="needs", frames=1000),
    "a player's flood of pages": Siege(flood="pages", frames=1000),
    "a player's flood of keepalives": Siege(flood="keepalives", frames=1000),
    "a player's flood of forged messages": Siege(flood="forged", frames=1000),
    "a player's flood of votes": Siege(flood="far_votes", frames=1000),
    "a player's flood of all of these": Siege(flood="everything", frames=1000),
}
"""The full sieges, by their names in the table that the benchmark prints."""


@dataclass(frozen=True)
class Cost:
    """The measured cost of a siege."""

    moves: int
    seconds: float
    """The duration of the match in seconds."""
    longest_wait: float
    """The longest time between two moves in seconds."""
    memory: int
    """The peak resident memory of the besieged process in bytes."""
    descriptors: int
    """The peak number of open file descriptors, or of handles on Windows."""
    cpu: float
    """The CPU time of the besieged process in seconds."""
    thrown: int
    """The number of connections, frames or tables of the attackers."""
    refused: int
    """The number of attackers' connections that the besieged node closed."""

    @property
    def moves_per_second(self) -> float:
        return self.moves / self.seconds


class Watch:
    """Samples a process periodically and keeps the peaks."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self.memory = self.descriptors = 0
        self.cpu = 0.0
        self._task = asyncio.create_task(self._look())

    async def _look(self) -> None:
        with suppress(psutil.NoSuchProcess):
            while True:
                self.memory = max(self.memory, self._process.memory_info().rss)
                if sys.platform == "win32":
                    count = self._process.num_handles()
                else:
                    count = self._process.num_fds()
                self.descriptors = max(self.descriptors, count)
                times = self._process.cpu_times()
                self.cpu = times.user + times.system
                await asyncio.sleep(SAMPLING)

    async def stop(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


async def measure(folder: Path, siege: Siege, wire: Lan | None = None) -> Cost:
    """Play one match under siege, check that all players have the same fair transcript, and return the cost.

    :param wire: the laptops to play on, players first and the stranger last; None for loopback.
    """
    async with processes(folder) as at:
        return await _measure(at, siege, wire, folder / "besieged")


async def _measure(at: Processes, siege: Siege, wire: Lan | None, go: Path) -> Cost:
    def place(laptop: int) -> tuple[str, ...]:
        return wire.on(laptop) if wire is not None else ()

    seats = 3 if siege.flood else 2
    common = ["--delay", str(siege.delay), "--hold", str(go), *(["--discovery"] if siege.discovery else [])]
    common += ["--interface", LOOPBACK] if wire is None else []
    limits = ["--lan"] if siege.lan else []
    host = await at.start("A", "--host", str(seats), "--dice", str(siege.dice), *common, *limits, prefix=place(1))
    line = (await host.until("opened"))["join_line"]
    address, _, port = line.partition("/")[0].rpartition(":")
    players = [host, await at.start("B", "--join", line, *common, prefix=place(2))]
    if siege.flood:
        flood = ["--victim", "A", "--begin", str(go), "--kind", siege.flood, "--rate", str(siege.frames)]
        players.append(
            await at.start("C", "--join", line, *common, *flood, prefix=place(3), program="tests.network.liar")
        )
    await host.until("started")
    watch = Watch(host.process.pid)
    attackers: list[Process] = []
    for attack, count in siege.attacks:
        target = ("--host", address.strip("[]"), "--port", port, "--count", str(count))
        attackers.append(await at.run("tests.network.besieger", attack, *target, prefix=place(len(players) + 1)))
    for attacker in attackers:
        await attacker.until("begun")
    begun = time.monotonic()
    await asyncio.to_thread(go.touch)
    await host.until("over")
    seconds = time.monotonic() - begun
    await watch.stop()
    thrown = refused = 0
    for attacker in attackers:
        await attacker.dismiss()
        left = await attacker.until("left")
        thrown, refused = thrown + left["opened"], refused + left["refused"]
    if siege.flood:
        await players[2].until("over")
        thrown = players[2].told("thrown")[-1]["frames"] if siege.frames else 0
    await agree(*players)
    moments = [begun, *host.moments_of("moved")]
    waits = [after - before for before, after in pairwise(moments)]
    assert min(waits) >= 0, "a move was made before the siege began"
    return Cost(len(waits), seconds, max(waits), watch.memory, watch.descriptors, watch.cpu, thrown, refused)
