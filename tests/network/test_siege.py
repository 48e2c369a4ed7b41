"""Floods and slow peers cost a match nothing but bounded memory.

Each siege is one match between processes, compared with a match without a siege. The full counts require ``--slow``;
``python -m benchmarks.siege`` prints their costs.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from protocol.limits import HANDSHAKES, LINKS_OUTSIDE_ROSTER, RATE, TABLES
from protocol.net.mdns import Discovery
from tests.network.namespaces import lan
from tests.network.processes import processes
from tests.network.siege import LOOPBACK, SIEGES, Cost, Siege, measure
from tests.programs import PATIENCE
from tests.tiers import thoroughly

pytestmark = pytest.mark.multicast

MEMORY = 32 * 1024 * 1024
"""Bytes that a siege may cost. All permitted links and handshakes of strangers, with full TLS buffers, take a third."""
DESCRIPTORS = HANDSHAKES + LINKS_OUTSIDE_ROSTER + 32
"""The limit on open descriptors: all permitted connections, and 32 for connections that are being closed."""

STRANGERS = (
    ("links", 200),
    ("silent", 50),
    ("storm", 4),
    ("knock", 4),
    ("drip_handshake", 10),
    ("drip_header", 10),
    ("drip_frame", 10),
    ("chatter", 4),
)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Cost:
    return asyncio.run(measure(tmp_path_factory.mktemp("calm"), Siege(delay=0.05)))


def assert_bounded(cost: Cost, calm: Cost) -> None:
    assert cost.memory - calm.memory < MEMORY
    assert cost.descriptors - calm.descriptors < DESCRIPTORS


@pytest.mark.parametrize(
    "is_lan",
    [*thoroughly([False]), True],
    ids=["as this machine", "as another machine"],
)
def test_strangers_of_all_kinds_at_once_cost_bounded_memory(tmp_path: Path, calm: Cost, is_lan: bool) -> None:
    siege = Siege(attacks=STRANGERS, lan=is_lan, dice=3, delay=0.2)
    cost = asyncio.run(measure(tmp_path, siege))
    assert cost.refused > 200
    assert_bounded(cost, calm)


@pytest.mark.thorough
def test_strangers_from_another_laptop_cost_bounded_memory(tmp_path: Path, calm: Cost) -> None:
    """The real limits for strangers apply to connections from another address."""
    with lan(3) as wire:
        siege = Siege(attacks=(("storm", 16), ("links", 200), ("chatter", 4)), dice=3, delay=0.2)
        cost = asyncio.run(measure(tmp_path, siege, wire))
    assert cost.refused > 200
    assert_bounded(cost, calm)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("is_lan", "frames", "least"),
    [(False, 1000, 1000), (True, RATE / 2, 50)],
    ids=["as this machine", "as another machine within the rate limit"],
)
def test_a_flood_by_a_player_costs_bounded_memory(
    tmp_path: Path, calm: Cost, is_lan: bool, frames: float, least: int
) -> None:
    siege = Siege(flood="everything", frames=frames, lan=is_lan, delay=0.05)
    cost = asyncio.run(measure(tmp_path, siege))
    assert cost.thrown > least
    assert_bounded(cost, calm)


def test_false_tables_by_multicast_cost_bounded_memory(tmp_path: Path, calm: Cost) -> None:
    siege = Siege(attacks=(("tables", 100),), discovery=True)
    assert_bounded(asyncio.run(measure(tmp_path, siege)), calm)


async def test_a_node_lists_no_more_false_tables_than_the_limit(tmp_path: Path) -> None:
    discovery = Discovery()
    await discovery.start(LOOPBACK)
    async with processes(tmp_path) as at:
        count = str(TABLES + 50)
        besieger = await at.run("tests.network.besieger", "tables", "--port", "7000", "--count", count)
        await besieger.until("begun")
        async with asyncio.timeout(PATIENCE):
            while len(discovery.tables()) < TABLES:
                await discovery.changed()
        await asyncio.sleep(0.5)
        assert len(discovery.tables()) == TABLES
    await discovery.close()


@pytest.mark.slow
@pytest.mark.parametrize("is_lan", [False, True], ids=["as this machine", "as another machine"])
@pytest.mark.parametrize("name", SIEGES)
def test_a_full_siege_costs_bounded_memory(tmp_path: Path, calm: Cost, name: str, is_lan: bool) -> None:
    siege = replace(SIEGES[name], lan=is_lan)
    if is_lan and siege.flood:
        siege = replace(siege, frames=RATE / 2)
    assert_bounded(asyncio.run(measure(tmp_path, siege)), calm)
