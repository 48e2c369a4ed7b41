"""Network changes: this machine slept, or its interfaces have changed. Then links may be dead without a sign, and
others may look for this node at an old address."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final

from protocol.limits import OVERSLEPT
from protocol.net.interfaces import interfaces

POLL: Final = 2.0
"""Seconds between two looks at the interfaces. One look takes less than a millisecond."""


def watch_network(interface: str | None, changed: Callable[[], Awaitable[None]]) -> Coroutine[None, None, None]:
    """Return a coroutine that calls ``changed`` whenever this machine has slept or its interfaces have changed, until
    cancelled.

    The first look is taken at once, so a change before the coroutine begins counts. If ``changed`` raises OSError, it
    is called again after the next look.

    :param interface: name or address of the only interface that matters, None for all.
    """
    return _mind(interface, changed, _look(interface))


def _look(interface: str | None) -> tuple[object, ...] | None:
    """Return the interfaces of this machine; None while the system is busy changing them."""
    try:
        return interfaces(interface)
    except OSError:
        return None


async def _mind(
    interface: str | None, changed: Callable[[], Awaitable[None]], before: tuple[object, ...] | None
) -> None:
    loop = asyncio.get_running_loop()
    has_slept = False
    while True:
        # Monotonic clocks stand still in sleep on some systems and go on on others; the wall clock never stands still.
        # If a person sets it, that costs a needless call.
        began, began_on_the_wall = loop.time(), time.time()
        await asyncio.sleep(POLL)
        passed = max(loop.time() - began, time.time() - began_on_the_wall)
        has_slept = has_slept or passed > POLL + OVERSLEPT
        if (found := _look(interface)) is None:
            continue
        with contextlib.suppress(OSError):  # it came too early: they are still changing
            if has_slept or found != before:
                await changed()
            before, has_slept = found, False
