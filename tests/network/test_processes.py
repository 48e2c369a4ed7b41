"""Players are processes, which are killed at random moments and restarted, or suspended for a while."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

import pytest

from tests.network.journal import blamed, contradictions, everything_signed
from tests.network.processes import Process, Processes, agree, processes, resume, table

LOOPBACK = ("--interface", "127.0.0.1")
LONG = (600, 600)
"""A patience so long that nobody is voted out, however slowly a busy machine starts a process."""


async def play_with_kills(folder: Path, names: str, kills: int, delay: float, seed: int) -> None:
    """Play one match in which a random process is killed and restarted ``kills`` times."""
    trouble = random.Random(seed)
    options = ("--delay", str(delay), "--journal", str(folder / "sent"))
    async with processes(folder) as at:
        players = await table(at, names, *options, patience=LONG)
        match = players["A"].told("started")[0]["match"]
        for _ in range(kills):
            await asyncio.sleep(trouble.uniform(0, 0.4))  # a random moment
            name = trouble.choice(names)
            assert not all(player.told("over") for player in players.values()), "the match was too short"
            await players[name].kill()
            players[name] = await resume(at, name, match, *options)
            if trouble.random() < 0.8:  # without this wait, the next kill may hit while a process is starting
                await players[name].until("started")
        transcript = await agree(*players.values())
    signed = everything_signed(folder)
    assert len(signed) > 100
    assert contradictions(signed) == []
    assert blamed(signed, transcript) == set()


async def test_killing_one_of_four_players_once_costs_nothing(tmp_path: Path) -> None:
    await play_with_kills(tmp_path, "ABCD", kills=6, delay=0.05, seed=1)


@pytest.mark.thorough
async def test_killing_players_again_and_again_costs_nothing(tmp_path: Path) -> None:
    await play_with_kills(tmp_path, "ABCD", kills=20, delay=0.15, seed=5)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(2, 12))
async def test_a_hundred_kills_in_one_match_cost_nothing(tmp_path: Path, seed: int) -> None:
    await play_with_kills(tmp_path, "ABCD", kills=100, delay=0.5, seed=seed)


# Sleep

cannot_sleep = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot stop a process from outside")


async def in_motion(at: Processes, folder: Path, patience: tuple[int, int], delay: float = 0.1) -> dict[str, Process]:
    options = ("--delay", str(delay), "--journal", str(folder / "sent"))
    players = await table(at, "ABC", *options, patience=patience)
    await players["A"].until("moved", times=5)
    return players


@cannot_sleep
async def test_a_nap_within_the_patience_of_the_others_costs_nothing(tmp_path: Path) -> None:
    async with processes(tmp_path) as at:
        players = await in_motion(at, tmp_path, patience=(120, 15))
        players["B"].fall_asleep()
        await asyncio.sleep(2.5)
        players["B"].wake_up()
        transcript = await agree(*players.values())
    signed = everything_signed(tmp_path)
    assert blamed(signed, transcript) == set()
    assert contradictions(signed) == []


@cannot_sleep
async def test_the_first_player_to_wake_blames_nobody(tmp_path: Path) -> None:
    async with processes(tmp_path) as at:
        players = await in_motion(at, tmp_path, patience=(5, 5))
        for player in players.values():
            player.fall_asleep()
        await asyncio.sleep(6.5)  # longer than anybody's patience
        for player in players.values():
            player.wake_up()
            await asyncio.sleep(1)
        transcript = await agree(*players.values())
    assert blamed(everything_signed(tmp_path), transcript) == set()


@cannot_sleep
@pytest.mark.thorough
@pytest.mark.parametrize("seconds", [9, 25])
async def test_a_player_who_oversleeps_is_out_and_blames_nobody(tmp_path: Path, seconds: float) -> None:
    """The links survive the shorter sleep. When the sleeper wakes, the others' messages are waiting."""
    async with processes(tmp_path) as at:
        players = await in_motion(at, tmp_path, patience=(5, 5), delay=0.3)
        players["C"].fall_asleep()
        await asyncio.sleep(seconds)
        players["C"].wake_up()
        transcript = await agree(*players.values(), verdict="unproven")
        for player in players.values():
            assert {"event": "out", "player": "C", "reason": "evicted"} in player.lines
    signed = everything_signed(tmp_path)
    # The sleeper may vote against itself, as the others did, but not against the others.
    assert blamed(signed, transcript) - {("C", "C")} == {("A", "C"), ("B", "C")}
    assert contradictions(signed) == []


async def test_early_and_late_spectators_survive_the_death_of_their_source(tmp_path: Path) -> None:
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
