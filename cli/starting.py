"""Starting quickly: modules are imported while the garbage collector rests."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Let the garbage collector rest inside a block that imports much.

    Modules stay for ever, and there are ever more of them; to look through all of them again and again takes a fifth of
    the time in which a table is opened.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
