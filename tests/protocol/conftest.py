"""Fixtures that several modules of this folder share."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from protocol.limits import Limits
from protocol.net.listener import listen
from tests.protocol.links import HOST, SHORT, Opener, Recorder, Table


@pytest_asyncio.fixture(loop_scope="function")
async def opens() -> AsyncIterator[Opener]:
    """Opens tables; fails the test if an exception reaches the event loop or a socket stays open."""
    left_over: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: left_over.append(context))
    tables: list[Table] = []

    async def open_table(limits: Limits = SHORT, *, widens: bool = True) -> Table:
        table = Table(limits, Recorder(widens=widens))
        table.listener = await listen([HOST], 0, table.credentials, table.recorder, limits)
        tables.append(table)
        return table

    yield open_table
    for table in tables:
        table.listener.close()
        for link in table.recorder.links:
            link.drop("the test is over")
    for table in tables:
        await table.recorder.until(table.recorder.has_heard_all_ends)
    await asyncio.sleep(0.05)
    gc.collect()  # an unclosed socket warns when it is collected, and a warning fails the test
    assert not left_over, left_over
