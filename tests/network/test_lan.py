"""Whole matches between laptops on a LAN: found by multicast, and played over TCP while the network fails."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from protocol.consensus.verifier import verify
from tests.network.journal import blamed, contradictions, everything_signed
from tests.network.namespaces import Lan, lan
from tests.network.processes import Process, Processes, agree, processes
from tests.tiers import thoroughly


async def started(at: Processes, wire: Lan, delay: float, patience: tuple[int, int] = (120, 15)) -> list[Process]:
    """Open a table on the first laptop; let all others join it by name."""
    options = ("--discovery", "--delay", str(delay), "--journal", str(at.folder / "sent"))
    table = ("--host", str(len(wire.laptops)), "--dice", "3", "--patience", *map(str, patience))
    players = [await at.start("A", *table, *options, prefix=wire.on(1))]
    assert (await players[0].until("opened"))["advertised"]
    for laptop, name in zip(range(2, len(wire.laptops) + 1), "BCDE", strict=False):
        players.append(await at.start(name, "--join", "Friday", *options, prefix=wire.on(laptop)))
        await players[-1].until("joined")
    for player in players:
        await player.until("started")
    return players


async def comes_back(at: Processes, wire: Lan, laptop: int, match: str, *options: str) -> Process:
    """Restart a player's program on its laptop."""
    return await at.start(
        "ABCDE"[laptop - 1],
        *("--resume", match, "--discovery", "--journal", str(at.folder / "sent"), *options),
        prefix=wire.on(laptop),
    )


def nobody_contradicts_themselves(folder: Path) -> None:
    assert contradictions(everything_signed(folder)) == []


def are_out(player: Process) -> set[str]:
    return {line["player"] for line in player.told("out") if line["reason"] == "evicted"}


async def test_two_laptops_find_each_other_by_multicast_and_play_a_whole_match(tmp_path: Path) -> None:
    with lan(2) as wire:
        async with processes(tmp_path) as at:
            await agree(*await started(at, wire, delay=0))


@pytest.mark.parametrize("seconds", [2.5, *thoroughly([18.0])])
async def test_unplugging_a_cable_for_a_while_costs_nothing(tmp_path: Path, seconds: float) -> None:
    """TCP retransmission bridges the shorter time. In the longer one, the links are found dead and are replaced."""
    with lan(3) as wire:
        async with processes(tmp_path) as at:
            players = await started(at, wire, delay=0.05, patience=(120, 60))
            await players[0].until("moved", times=3)
            wire.pull_cable(2)
            await asyncio.sleep(seconds)
            for player in players:
                assert player.told("over") == []
            wire.plug_in(2)
            await agree(*players)
    nobody_contradicts_themselves(tmp_path)


@pytest.mark.parametrize("laptop", [*thoroughly([1]), 3], ids=["the host", "a guest"])
async def test_a_player_killed_on_the_lan_comes_back(tmp_path: Path, laptop: int) -> None:
    with lan(3) as wire:
        async with processes(tmp_path) as at:
            players = await started(at, wire, delay=0.05)
            match = players[0].told("started")[0]["match"]
            await players[0].until("moved", times=3)
            await players[laptop - 1].kill()
            players[laptop - 1] = await comes_back(at, wire, laptop, match)
            await agree(*players)
    nobody_contradicts_themselves(tmp_path)


@pytest.mark.thorough
async def test_restarted_players_find_each_other_at_new_ports_by_multicast(tmp_path: Path) -> None:
    """The addresses that they have stored for each other are all outdated."""
    with lan(3) as wire:
        async with processes(tmp_path) as at:
            players = await started(at, wire, delay=0.05)
            match = players[0].told("started")[0]["match"]
            await players[0].until("moved", times=3)
            for player in players:
                await player.kill()
            back = [await comes_back(at, wire, laptop, match, "--port", str(7700 + laptop)) for laptop in (3, 1, 2)]
            await agree(*back)
    nobody_contradicts_themselves(tmp_path)


# Partitions


@pytest.mark.thorough
@pytest.mark.parametrize("away", [(4,), (3, 4)], ids=["one of four", "two of four"])
async def test_a_partition_shorter_than_patience_costs_no_seat(tmp_path: Path, away: tuple[int, ...]) -> None:
    with lan(4) as wire:
        async with processes(tmp_path) as at:
            players = await started(at, wire, delay=0.05)
            await players[0].until("moved", times=3)
            wire.move_to_another_room(*away)
            await asyncio.sleep(3)
            wire.bring_back(*away)
            transcript = await agree(*players)
    assert blamed(everything_signed(tmp_path), transcript) == set()


@pytest.mark.thorough
@pytest.mark.parametrize("laptops", [3, 4])
async def test_in_a_long_partition_the_majority_plays_on_and_the_minority_waits(tmp_path: Path, laptops: int) -> None:
    with lan(laptops) as wire:
        async with processes(tmp_path) as at:
            *majority, alone = await started(at, wire, delay=0.3, patience=(5, 5))
            name = "ABCD"[laptops - 1]
            await majority[0].until("moved", times=3)
            wire.move_to_another_room(laptops)
            for player in majority:
                assert (await player.until("out"))["player"] == name
            await alone.until("suspended")
            assert are_out(alone) == set()
            assert alone.told("over") == []
            wire.bring_back(laptops)
            transcript = await agree(*majority, alone, verdict="unproven")
            for player in (*majority, alone):
                assert are_out(player) == {name}
                assert player.told("over")[0]["places"][-1] == [name]
    judged = verify(transcript)
    assert name in judged.reason
    nobody_contradicts_themselves(tmp_path)


@pytest.mark.thorough
async def test_two_equal_halves_wait_and_continue_when_reunited(tmp_path: Path) -> None:
    """Neither half is a majority. So nobody is voted out, although the partition outlasts every patience."""
    with lan(4) as wire:
        async with processes(tmp_path) as at:
            players = await started(at, wire, delay=0.1, patience=(5, 5))
            await players[0].until("moved", times=3)
            wire.move_to_another_room(3, 4)
            for player in players:
                await player.until("suspended")
                assert player.told("over") == []
            wire.bring_back(3, 4)
            await agree(*players)
            for player in players:
                assert are_out(player) == set()
    nobody_contradicts_themselves(tmp_path)


# Relaying


@pytest.mark.thorough
@pytest.mark.parametrize("laptops", [3, 4])
async def test_two_players_without_a_link_play_through_the_others(tmp_path: Path, laptops: int) -> None:
    with lan(laptops) as wire:
        wire.keep_apart(2, 3)
        async with processes(tmp_path) as at:
            players = await started(at, wire, delay=0, patience=(10, 10))
            transcript = await agree(*players)
            for player, other in ((players[1], "C"), (players[2], "B")):
                assert other not in {line["player"] for line in player.told("back")}
    assert blamed(everything_signed(tmp_path), transcript) == set()


@pytest.mark.thorough
async def test_two_players_who_lose_their_link_play_on_through_the_third(tmp_path: Path) -> None:
    """The outage is long enough for the link to be found dead. Relayed messages keep both players in the match."""
    with lan(3) as wire:
        async with processes(tmp_path) as at:
            players = await started(at, wire, delay=0.3, patience=(60, 30))
            await players[0].until("moved", times=3)
            wire.keep_apart(2, 3)
            transcript = await agree(*players)
            assert "C" in {line["player"] for line in players[1].told("lost")}
    assert blamed(everything_signed(tmp_path), transcript) == set()
    nobody_contradicts_themselves(tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("moved", [[1], [2], [1, 2]], ids=["the host", "a guest", "both"])
async def test_a_laptop_that_gets_another_address_in_mid_match_plays_on(tmp_path: Path, moved: list[int]) -> None:
    """It dials the others from its new address. Others who have moved as well are found by multicast."""
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


async def test_a_host_with_a_new_address_shows_a_new_join_line_that_works(tmp_path: Path) -> None:
    with lan(2) as wire:
        async with processes(tmp_path) as at:
            host = await at.start("A", "--host", "2", prefix=wire.on(1))
            opened = await host.until("opened")
            wire.move(1, 101)
            line = (await host.until("readdressed"))["join_line"]
            assert line != opened["join_line"]
            guest = await at.start("B", "--join", line, prefix=wire.on(2))
            await agree(host, guest)
            assert len(host.told("readdressed")) == 1


@pytest.mark.parametrize("prefix", ["", *thoroughly(["fd00:77::"])], ids=["link-local", "unique-local"])
async def test_the_printed_join_line_works_on_an_ipv6_only_lan(tmp_path: Path, prefix: str) -> None:
    """The line's link-local address has no zone, so guests try every zone. Guests reach each other as well."""
    with lan(3) as wire:
        wire.leave_ipv4()
        for laptop in (1, 2, 3):
            if prefix:
                wire.add_address(laptop, f"{prefix}{laptop}/64")
        async with processes(tmp_path) as at:
            host = await at.start("A", "--host", "3", "--dice", "1", prefix=wire.on(1))
            line = (await host.until("opened"))["join_line"]
            assert line.startswith(f"[{prefix or 'fe80::'}1]:")
            guests = [
                await at.start(name, "--join", line, prefix=wire.on(laptop)) for laptop, name in ((2, "B"), (3, "C"))
            ]
            await agree(host, *guests)
            assert "C" not in {each["player"] for each in guests[0].told("lost")}


async def test_one_interface_can_be_chosen_on_an_ipv6_only_lan(tmp_path: Path) -> None:
    with lan(2) as wire:
        wire.leave_ipv4()
        async with processes(tmp_path) as at:
            host = await at.start("A", "--host", "2", "--dice", "1", "--interface", "eth0", prefix=wire.on(1))
            line = (await host.until("opened"))["join_line"]
            await agree(host, await at.start("B", "--join", line, "--interface", "eth0", prefix=wire.on(2)))


@pytest.mark.parametrize("options", [(), *thoroughly([("--interface", "127.0.0.1")])], ids=["no network", "loopback"])
async def test_a_host_without_a_network_is_told_so_and_gets_no_join_line(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    with lan(1) as wire:
        wire.pull_out(1)
        async with processes(tmp_path) as at:
            host = await at.start("A", "--host", "2", "--dice", "1", *options, prefix=wire.on(1))
            opened = await host.until("opened")
            assert not opened["reachable"]
            wire.put_in(1, 5)
            if not options:
                assert (await host.until("readdressed"))["join_line"].startswith("10.77.0.5:")
            guest = await at.start("B", "--join", opened["join_line"], *options, prefix=wire.on(1))
            await agree(host, guest)


async def test_a_match_can_be_watched_by_name_after_its_host_was_killed(tmp_path: Path) -> None:
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
