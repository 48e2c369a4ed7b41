"""Whether processes are still there."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that has ended and waits to be reaped is none."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    if sys.platform != "linux":
        return True
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False


async def ended(*pids: int) -> None:
    """Wait until none of these processes is running."""
    async with asyncio.timeout(20):
        while any(map(is_running, pids)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)  # no event tells of a stranger's child
