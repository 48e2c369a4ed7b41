"""Transcripts read and judged: in this process, or, where it is worth it, many at once on all cores."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from protocol import Verdict

SHARE: Final = 1024 * 1024
"""Bytes that another process must have to judge: it takes as long to start one as to judge a few hundred thousand."""

MOST: Final = 61
"""Processes that Windows can wait for at once."""


class Judged(NamedTuple):
    """What a file turned out to be."""

    verdict: Verdict
    modified: float
    """When the file was, in seconds since 1970."""


def judge(path: Path) -> Judged:
    """Judge a file.

    :raises OSError: if it cannot be read.
    """
    from protocol import verify

    data = read_transcript(path)
    return Judged(verify(data), path.stat().st_mtime)


@contextmanager
def judges(paths: Sequence[Path]) -> Iterator[Callable[[Path], Judged]]:
    """Let these files be judged side by side as long as this lasts.

    :return: what :func:`judge` is, for them: it waits until the file is judged.
    """
    processes = min(len(paths), os.cpu_count() or 1, _size(paths) // SHARE, MOST)
    if processes < 2:
        yield judge
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # A process of its own from the start, as it is on every system: forked, it would share what this one has open.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin)
    try:
        under_way = {path: pool.submit(judge, path) for path in dict.fromkeys(paths)}
        yield lambda path: under_way[path].result()
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C is for all processes, and one of them tells of it


def takes_long(paths: Iterable[Path]) -> bool:
    """Tell whether to judge these files takes more than a moment."""
    return _size(paths) > SHARE


def _size(paths: Iterable[Path]) -> int:
    total = 0
    for path in paths:
        with suppress(OSError):
            total += path.stat().st_size
    return total


def read_transcript(path: Path) -> bytes:
    """Return the bytes of a file, but never more than just too many for a transcript.

    :raises OSError: if it cannot be read, or is no file but a folder, a pipe or a device: reading one of these may
        never end, and opening one may wait.
    """
    from protocol.limits import TRANSCRIPT
    from protocol.storage.home import open_without_waiting

    _require_file(path.stat().st_mode)
    with open(path, "rb", opener=open_without_waiting) as file:
        _require_file(os.fstat(file.fileno()).st_mode)  # another may have taken its place
        return file.read(TRANSCRIPT + 1)


def _require_file(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = "folder" if stat.S_ISDIR(mode) else "pipe" if stat.S_ISFIFO(mode) else "device or a socket"
        raise OSError(f"this is a {kind}; name a transcript or proof file")
