"""How many processes of this program can work side by side."""

from __future__ import annotations

import os
import sys
from typing import Final

MOST: Final = 61 if sys.platform == "win32" else 256
"""Windows can wait for no more processes at once; no machine is known on which more than that would help elsewhere."""


def cores() -> int:
    """Return how many cores this process may use, at most :data:`MOST`: a container may have fewer than its machine."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(usable or 1, MOST)
