"""Whole matches between laptops on a LAN of their own: found by multicast, played over TCP, cables pulled."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.network.namespaces import Lan, lan
from tests.network.processes import Process, Processes, agree, processes


async def started(at: Processes, wire: Lan, delay: float) -> list[Process]:
    """Host on the first laptop, join by the table's name from all others."""
    options = ("--discovery", "--delay", str(delay))
    players = [await at.start("A", "--host", str(len(wire.laptops)), *options, prefix=wire.on(1))]
    assert (await players[0].until("opened"))["advertised"]
    for laptop, name in zip(range(2, len(wire.laptops) + 1), "BCDE", strict=False):
        players.append(await at.start(name, "--join", "Friday", *options, prefix=wire.on(laptop)))
        await players[-1].until("joined")
    for player in players:
        await player.until("started")
    return players


async def test_two_laptops_find_each_other_by_multicast_and_play_a_whole_match(tmp_path: Path) -> None:
    with lan(2) as wire:
        async with processes(tmp_path) as at:
            await agree(*await started(at, wire, delay=0))


@pytest.mark.parametrize("seconds", [2.5, pytest.param(18.0, marks=pytest.mark.slow)])
async def test_a_cable_that_is_pulled_and_put_back_costs_nothing(tmp_path: Path, seconds: float) -> None:
    """The short time passes by retransmission; in the long one the links are found dead and made anew."""
    with lan(3) as wire:
        async with processes(tmp_path) as at:
            players = await started(at, wire, delay=0.05)
            await players[0].until("moved", times=3)
            wire.pull_cable(2)
            await asyncio.sleep(seconds)
            for player in players:
                assert not [line for line in player.lines if line["event"] == "over"]
            wire.plug_in(2)
            await agree(*players)


async def test_a_player_killed_on_the_lan_comes_back(tmp_path: Path) -> None:
    with lan(3) as wire:
        async with processes(tmp_path) as at:
            players = await started(at, wire, delay=0.05)
            match = (await players[2].until("started"))["match"]
            await players[0].until("moved", times=3)
            await players[2].kill()
            players[2] = await at.start("C", "--resume", match, "--discovery", prefix=wire.on(3))
            await agree(*players)


@pytest.mark.parametrize("moved", [[1], [2], [1, 2]], ids=["the host", "a guest", "both"])
async def test_a_laptop_that_gets_another_address_in_mid_match_plays_on(tmp_path: Path, moved: list[int]) -> None:
    """It dials the others itself, and who has moved too is found where multicast says."""
    with lan(3) as wire:
        async with processes(tmp_path) as at:
            players = await started(at, wire, delay=0.1)
            await players[0].until("moved", times=3)
            for laptop in moved:
                wire.move(laptop, 100 + laptop)
            seen = [len(player.lines) for player in players]
            assert not [line for player in players for line in player.lines if line["event"] == "over"]
            await agree(*players)
            assert all(len(player.lines) > before for player, before in zip(players, seen, strict=True))


async def test_a_match_is_watched_from_a_fourth_laptop_by_name_after_its_host_was_killed(tmp_path: Path) -> None:
    with lan(4) as wire:
        async with processes(tmp_path) as at:
            options = ("--discovery", "--delay", "0.1")
            host = await at.start("A", "--host", "3", *options, prefix=wire.on(1))
            await host.until("opened")
            guests = [
                await at.start(name, "--join", "Friday", *options, prefix=wire.on(laptop))
                for laptop, name in ((2, "B"), (3, "C"))
            ]
            await guests[0].until("moved", times=3)
            match = (await host.until("started"))["match"]
            await host.kill()
            watching = await at.start("W", "--watch", "Friday", "--discovery", prefix=wire.on(4))
            await watching.until("started")
            back = await at.start("A", "--resume", match, *options, prefix=wire.on(1))
            await agree(back, *guests, watching)
