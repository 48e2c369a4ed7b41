"""A node notices that its machine slept or moved to another network, and reports nothing otherwise."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from ipaddress import ip_address

import pytest
import pytest_asyncio

from protocol.net import interfaces
from protocol.net.interfaces import watch_network
from tests.waiting import until

pytestmark = pytest.mark.multicast

HOME, CAFE = (ip_address("192.0.2.1"),), (ip_address("198.51.100.7"),)


class Machine:
    """A machine whose clock and addresses a test sets."""

    def __init__(self) -> None:
        self.addresses = HOME
        self.slept = 0.0
        self.looks = 0
        self.changes: list[int] = []
        self.is_busy = False
        """Reading the addresses fails for now."""
        self.cannot_answer = False
        """The next handling of a change fails, as if it came too early."""

    def look(self, interface: str | None) -> tuple[object, ...]:
        assert interface == "eth0"
        self.looks += 1
        if self.is_busy:
            raise OSError("Resource temporarily unavailable")
        return self.addresses

    async def changed(self) -> None:
        if self.cannot_answer:
            self.cannot_answer = False
            raise OSError("Cannot assign requested address")
        self.changes.append(self.looks)

    async def looked(self, times: int) -> None:
        wanted = self.looks + times
        await until(lambda: self.looks >= wanted)


@pytest_asyncio.fixture(loop_scope="function")
async def machine(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Machine]:
    minded = Machine()
    wall = time.time
    monkeypatch.setattr(interfaces, "POLL", 0.01)
    monkeypatch.setattr(interfaces, "interfaces", minded.look)
    monkeypatch.setattr("protocol.net.interfaces.time.time", lambda: wall() + minded.slept)
    task = asyncio.create_task(watch_network("eth0", minded.changed))
    await minded.looked(2)
    yield minded
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_an_unchanged_machine_reports_no_change(machine: Machine) -> None:
    await machine.looked(5)
    assert machine.changes == []


async def test_a_change_of_addresses_is_reported_once(machine: Machine) -> None:
    machine.addresses = CAFE
    await machine.looked(5)
    assert len(machine.changes) == 1
    machine.addresses = HOME
    await machine.looked(5)
    assert len(machine.changes) == 2


async def test_a_sleep_that_stopped_the_monotonic_clock_is_reported_once(machine: Machine) -> None:
    machine.slept = 3600.0
    await machine.looked(5)
    assert len(machine.changes) == 1


async def test_a_short_pause_is_not_reported_as_sleep(machine: Machine) -> None:
    machine.slept = 1.5
    await machine.looked(5)
    assert machine.changes == []


async def test_a_change_whose_handling_failed_is_reported_again(machine: Machine) -> None:
    machine.cannot_answer = True
    machine.addresses = CAFE
    await machine.looked(5)
    assert len(machine.changes) == 1
    machine.cannot_answer = True
    machine.slept = 3600.0
    await machine.looked(5)
    assert len(machine.changes) == 2


async def test_reading_the_addresses_is_retried_after_an_error(machine: Machine) -> None:
    machine.is_busy = True
    await machine.looked(2)
    machine.is_busy, machine.addresses = False, CAFE
    await machine.looked(5)
    assert len(machine.changes) == 1


async def test_a_change_before_the_first_poll_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network may change after the host has shown the join line but before the watcher's first poll."""
    machine = Machine()
    monkeypatch.setattr(interfaces, "POLL", 0.01)
    monkeypatch.setattr(interfaces, "interfaces", machine.look)
    task = asyncio.create_task(watch_network("eth0", machine.changed))
    machine.addresses = CAFE
    await machine.looked(3)
    task.cancel()
    assert len(machine.changes) == 1
