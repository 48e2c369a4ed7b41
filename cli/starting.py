"""Starting quickly: the garbage collector is paused while modules are imported."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector inside a block that imports many modules.

    Nothing that an import makes is garbage, yet each collection looks through all of it again. That took a fifth of the
    time in which a table is opened. At the end of the block everything that is there is frozen: no later collection
    looks at it either.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
