"""Output that cannot be written, because whoever read it has seen enough, or the disk is full."""

from __future__ import annotations

import os
import sys


def discard_output() -> None:
    """Throw away what standard output still holds and will be given, or Python complains of it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
