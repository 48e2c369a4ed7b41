"""Waiting in tests for what no event announces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.programs import PATIENCE


async def until(condition: Callable[[], object], seconds: float = PATIENCE, every: float = 0.01) -> None:
    """Poll until a condition holds.

    :param seconds: by the clock of the event loop, which may be virtual.
    :param every: the interval in seconds; 0 polls in every pass of the loop, for a condition that soon ends.
    :raises TimeoutError: if it does not hold by then.
    """
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(every)
