"""A flood of forged multicast neither delays a match nor costs a seat, and costs a bounded amount of memory.

``python -m benchmarks.storm`` prints the actual costs.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.network.forger import FORGERIES
from tests.network.namespaces import lan
from tests.network.processes import agree, processes
from tests.network.storm import FORGER, Damage, Storm, endure

MEMORY = 32 * 1024 * 1024
PACE = 0.9
WAIT = 0.5

KINDS = [pytest.param(kind, marks=() if kind == "shared" else pytest.mark.thorough) for kind in FORGERIES]


@pytest.mark.parametrize("kind", KINDS)
def test_a_flood_of_multicast_costs_no_seat_and_bounded_memory(tmp_path: Path, kind: str) -> None:
    damage = asyncio.run(endure(tmp_path, Storm(kind, rate=500, seconds=3)))
    assert damage.packets > 200  # of 1,500, because a busy machine sends fewer
    assert damage.late_moves > 0
    assert damage.growth < MEMORY


@pytest.mark.thorough
async def test_a_takeover_of_names_is_reported_and_the_join_line_still_works(
    tmp_path: Path,
) -> None:
    with lan(FORGER) as wire:
        async with processes(tmp_path) as at:
            host = await at.start("A", "--host", "2", "--discovery", prefix=wire.on(1))
            line = (await host.until("opened"))["join_line"]
            options = ("takeover", "--interface", f"10.77.0.{FORGER}", "--rate", "200")
            forger = await at.run("tests.network.forger", *options, prefix=wire.on(FORGER))
            await forger.until("begun")
            guest = await at.start("B", "--join", "Friday", "--discovery", prefix=wire.on(2))
            while not guest.lines:  # noqa: ASYNC110 - joining may succeed or fail
                await asyncio.sleep(0.05)
            if guest.told("failed"):
                assert guest.lines[0]["code"] in ("refused", "not-found")
                guest = await at.start("B", "--join", line, "--discovery", prefix=wire.on(3))
            await agree(host, guest)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Damage:
    return asyncio.run(endure(tmp_path_factory.mktemp("calm"), Storm()))


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORGERIES)
@pytest.mark.parametrize("rate", [0, 20], ids=["no limit", "a trickle"])
def test_a_minute_of_flooding_slows_a_match_by_at_most_a_tenth(
    tmp_path: Path, calm: Damage, kind: str, rate: float
) -> None:
    """Needs an idle machine, because it compares speeds."""
    damage = asyncio.run(endure(tmp_path, replace(Storm(), kind=kind, rate=rate)))
    assert damage.pace > PACE * calm.pace
    assert damage.longest_wait < calm.longest_wait + WAIT
    assert damage.growth - calm.growth < MEMORY
