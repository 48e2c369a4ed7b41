"""The machine around a node: whether it slept, and whether its addresses have changed. Then links may be dead although
nobody has said so, and others may look for this node where it is no more."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Final

from protocol.addresses import interface_addresses
from protocol.patience import OVERSLEPT

POLL: Final = 2.0
"""Seconds between two looks at the interfaces. One look takes less than a millisecond."""


async def mind_surroundings(interface: str | None, changed: Callable[[], Awaitable[None]]) -> None:
    """Call ``changed`` whenever this machine has slept or its addresses are others than before, until cancelled.

    It is called again after the next look if it raises OSError.

    :param interface: name or address of the only interface that matters, None for all.
    """
    loop = asyncio.get_running_loop()
    addresses: tuple[object, ...] | None = None
    has_slept = False
    while True:
        # While the system is busy changing its addresses, it cannot always be asked for them: the next look tells.
        with contextlib.suppress(OSError):
            found = interface_addresses(interface)
            if has_slept or (addresses is not None and found != addresses):
                await changed()
                has_slept = False
            addresses = found
        # Monotonic clocks stand still in sleep on some systems and go on on others; the wall clock never stands still.
        # That somebody may set it costs a needless call.
        began, began_on_the_wall = loop.time(), time.time()
        await asyncio.sleep(POLL)
        passed = max(loop.time() - began, time.time() - began_on_the_wall)
        has_slept = has_slept or passed > POLL + OVERSLEPT
