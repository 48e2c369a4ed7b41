"""A match of three during a flood of forged multicast, measured for the tests and ``benchmarks/storm.py``.

Each player is a process on its own laptop, and so is the forger. The flood begins with the match, which is abandoned
after a fixed time.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import psutil

from tests.network.namespaces import lan
from tests.network.processes import Process, Processes, processes

PLAYERS: Final = "ABC"
FORGER: Final = len(PLAYERS) + 1
"""The number of the forger's laptop."""
SAMPLING: Final = 0.1
"""Seconds between two samples of the processes."""


@dataclass(frozen=True)
class Storm:
    """The flood, and the match that it disturbs."""

    kind: str = ""
    """The kind of flood of :mod:`tests.network.forger`; empty for none."""
    rate: float = 0.0
    """Packets per second; 0 for as many as the CPU time left by the players allows."""
    seconds: float = 60.0
    delay: float = 0.1
    """The seconds for which players think about a move."""
    dice: int = 10
    """The dice of each player at the start. With ten, the match lasts longer than a minute."""


@dataclass(frozen=True)
class Damage:
    """The measured damage of a storm."""

    moves: int
    late_moves: int
    """The number of moves in the second half."""
    seconds: float
    longest_wait: float
    """The longest time between two moves that any player saw, in seconds."""
    growth: int
    """The largest growth of any player's memory during the storm, in bytes; all the player's processes count."""
    cpu: float
    """The CPU time of all nodes in seconds."""
    packets: int
    bytes: int

    @property
    def pace(self) -> float:
        """Moves per second."""
        return self.moves / self.seconds


class Node:
    """All processes of one player."""

    def __init__(self, player: Process) -> None:
        self.player = player
        self._process = psutil.Process(player.process.pid)

    def _all(self) -> list[psutil.Process]:
        return [self._process, *self._process.children(recursive=True)]

    def memory(self) -> int:
        return sum(each.memory_info().rss for each in self._all())

    def cpu(self) -> float:
        return sum(sum(each.cpu_times()[:2]) for each in self._all())


async def endure(folder: Path, storm: Storm) -> Damage:
    """Play during a storm, check that it cost no player, and return the damage."""
    with lan(FORGER) as wire:
        async with processes(folder) as at:
            go = folder / "go"
            options = ("--delay", str(storm.delay), "--hold", str(go), "--discovery", "--creep")
            table = ("--host", "3", "--dice", str(storm.dice), "--raise", "standard")
            host = await at.start("A", *table, *options, prefix=wire.on(1))
            await host.until("opened")
            players = [host]
            for laptop, name in enumerate(PLAYERS[1:], 2):
                players.append(await at.start(name, "--join", "Friday", *options, prefix=wire.on(laptop)))
                await players[-1].until("joined")
            for player in players:
                await player.until("started")
            return await _endure(at, [Node(player) for player in players], storm, wire.on(FORGER), go)


async def _endure(at: Processes, nodes: list[Node], storm: Storm, place: tuple[str, ...], go: Path) -> Damage:
    memory, cpu = [node.memory() for node in nodes], [node.cpu() for node in nodes]
    forger = None
    if storm.kind:
        options = ("--interface", f"10.77.0.{FORGER}", "--rate", str(storm.rate))
        # A real forger has its own machine. Here it gets only the CPU time that the players do not use.
        forger = await at.run("tests.network.forger", storm.kind, *options, prefix=(*place, "nice", "-n", "19"))
        await forger.until("begun")
    begun = time.monotonic()
    await asyncio.to_thread(go.touch)
    peaks = list(memory)
    while time.monotonic() < begun + storm.seconds:
        await asyncio.sleep(SAMPLING)
        peaks = [max(peak, node.memory()) for peak, node in zip(peaks, nodes, strict=True)]
    ended = time.monotonic()
    used = sum(node.cpu() for node in nodes) - sum(cpu)
    for node in nodes:
        for event in ("over", "lost", "suspended", "misbehaved"):
            assert not node.player.told(event), f"{event}: {node.player.lines[-3:]}"
        assert {each["reason"] for each in node.player.told("out")} <= {"lost"}, "a player was voted out"
    packets = size = 0
    if forger is not None:
        await forger.dismiss()
        left = await forger.until("left")
        packets, size = left["packets"], left["bytes"]
    moments = [[begun, *(each for each in node.player.moments_of("moved") if each <= ended), ended] for node in nodes]
    waits = [after - before for each in moments for before, after in pairwise(each)]
    growth = max(peak - before for peak, before in zip(peaks, memory, strict=True))
    moves = moments[0][1:-1]
    late = [each for each in moves if each > (begun + ended) / 2]
    return Damage(len(moves), len(late), ended - begun, max(waits), growth, used, packets, size)
