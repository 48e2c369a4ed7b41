"""Reads and judges transcripts: in this process, or many at once on all cores if that is faster."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from cli.cores import cores

if TYPE_CHECKING:
    from protocol.consensus.verifier import Verdict

SHARE: Final = 1024 * 1024
"""Bytes that are worth another process: to start one takes as long as to judge a few hundred thousand."""

Result = TypeVar("Result")


class Judged(NamedTuple):
    """The verdict on a file."""

    verdict: Verdict
    modified: float
    """Time of the last change of the file, in seconds since 1970."""


def judge(path: Path) -> Judged:
    """Judge a file.

    :raises OSError: if it cannot be read.
    """
    from protocol.consensus.verifier import verify

    data = read_transcript(path)
    return Judged(verify(data), path.stat().st_mtime)


@contextmanager
def on_all_cores(work: Callable[[Path], Result], paths: Sequence[Path]) -> Iterator[Callable[[Path], Result]]:
    """Work on these files side by side while the block lasts, if that is faster.

    :param work: a function of a module, as other processes import it.
    :return: takes the place of ``work`` for them: it waits for the result, or raises what ``work`` raised.
    """
    processes = min(len(paths), cores(), _size(paths) // SHARE)
    if processes < 2:
        yield work
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Started anew, as on every system: a forked process would share the open files of this one.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin)
    try:
        under_way = {path: pool.submit(work, path) for path in dict.fromkeys(paths)}
        yield lambda path: under_way[path].result()
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C is for all processes, and one of them tells of it


def takes_long(paths: Iterable[Path]) -> bool:
    """Tell whether it takes more than a moment to judge these files."""
    return _size(paths) > SHARE


def _size(paths: Iterable[Path]) -> int:
    total = 0
    for path in paths:
        with suppress(OSError):
            total += path.stat().st_size
    return total


def read_transcript(path: Path) -> bytes:
    """Return the bytes of a file, but at most one more than a transcript may have.

    :raises OSError: if it cannot be read, or is a folder, a pipe or a device: to read one of these may never end, and
        to open one may wait.
    """
    from protocol.files import read_outside
    from protocol.limits import TRANSCRIPT

    return read_outside(path, TRANSCRIPT + 1)
