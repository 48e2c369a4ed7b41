"""Players as processes that are killed at random moments and come back."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from tests.network.processes import Process, Processes, agree, processes

LOOPBACK = ("--interface", "127.0.0.1")


async def started(at: Processes, home: str, delay: float) -> dict[str, Process]:
    slowly = ("--delay", str(delay), *LOOPBACK)
    host = await at.start("A", "--host", "3", *slowly, home=f"{home}-A")
    line = (await host.until("opened"))["join_line"]
    players = {"A": host}
    for name in "BC":
        players[name] = await at.start(name, "--join", line, *slowly, home=f"{home}-{name}")
        await players[name].until("joined")
    for player in players.values():
        await player.until("started")
    return players


async def play_with_kills(folder: Path, kills: int, seed: int) -> None:
    trouble = random.Random(seed)
    async with processes(folder) as at:
        game = 0
        while kills > 0:
            game += 1
            players = await started(at, str(game), delay=0.02)
            match = (await players["A"].until("started"))["match"]
            while kills > 0:
                await asyncio.sleep(trouble.uniform(0, 0.4))  # any moment will do
                name = trouble.choice("ABC")
                if any(line["event"] == "over" for line in players[name].lines):
                    break
                await players[name].kill()
                kills -= 1
                players[name] = await at.start(
                    name, "--resume", match, "--delay", "0.02", *LOOPBACK, home=f"{game}-{name}"
                )
                await players[name].until("started")
            await agree(*players.values())


async def test_kill_9_of_any_of_three_at_any_moment_costs_nothing(tmp_path: Path) -> None:
    await play_with_kills(tmp_path, kills=5, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
async def test_a_hundred_kills_cost_nothing(tmp_path: Path, seed: int) -> None:
    await play_with_kills(tmp_path, kills=10, seed=seed)


async def test_a_spectator_survives_the_death_of_whom_it_watches_with_and_comes_late_or_early(tmp_path: Path) -> None:
    async with processes(tmp_path) as at:
        slowly = ("--delay", "0.05", *LOOPBACK)
        host = await at.start("A", "--host", "3", *slowly)
        line = (await host.until("opened"))["join_line"]
        early = await at.start("early", "--watch", line, *LOOPBACK)
        await early.until("joined")
        guests = [await at.start(name, "--join", line, *slowly) for name in "BC"]
        await guests[0].until("moved", times=5)
        late = await at.start("late", "--watch", line, *LOOPBACK)
        await late.until("started")
        match = (await host.until("started"))["match"]
        await host.kill()
        back = await at.start("A", "--resume", match, *slowly)
        await agree(back, *guests, early, late)
        assert [(await each.until("started"))["resumed"] for each in (early, late)] == [False, True]
