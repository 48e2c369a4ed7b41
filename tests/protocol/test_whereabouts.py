"""Being found: where multicast begins to work late, and what is no longer there."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from protocol.discovery import Discovery, DiscoveryUnavailable
from protocol.node import TableSettings
from protocol.whereabouts import Whereabouts
from tests.network.company import CLASSIC, HOST, company
from tests.protocol.test_node import multicast


async def test_where_there_was_no_multicast_it_is_tried_again_when_the_interfaces_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await multicast()

    async def fail(self: Discovery, interface: str | None = None) -> None:
        raise DiscoveryUnavailable("no interface takes multicast")

    whereabouts = Whereabouts(HOST, is_enabled=True)
    with monkeypatch.context() as patched:
        patched.setattr(Discovery, "start", fail)
        assert not await whereabouts.start()
        assert not await whereabouts.start()
        await whereabouts.interfaces_changed()
        assert whereabouts.problem == "no interface takes multicast"
    await whereabouts.interfaces_changed()
    assert await whereabouts.start()
    await whereabouts.close()


async def test_a_node_that_fell_silent_is_advertised_no_more(tmp_path: Path) -> None:
    await multicast()
    async with company(tmp_path) as people:
        host = await people.sit("A", discovery=True)
        name = secrets.token_hex(8)
        await host.node.host(TableSettings(name, CLASSIC, 2))
        looking = await people.sit("B", discovery=True)
        assert name in [each.advertisement.name for each in await looking.node.tables(1.0)]
        with host.node._shell.stopping_at_disk_errors():
            raise OSError("disk full")
        assert name not in [each.advertisement.name for each in await looking.node.tables(2.0)]
