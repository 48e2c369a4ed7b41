"""Waiting in tests for what no event announces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.programs import PATIENCE


async def until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Poll until a condition holds.

    :param seconds: by the clock of the event loop, which may be virtual.
    :raises TimeoutError: if it does not hold by then.
    """
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.01)
