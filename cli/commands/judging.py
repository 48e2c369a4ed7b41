"""Reading and judging transcripts: with a bound on size, on several cores if that is faster, and with progress."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO, TypeVar

from cli.boundary import as_failure
from cli.output import unguarded, wants_color
from cli.render import harmless
from cli.settings import Settings
from cli.table.suspending import hiding_cursor
from protocol.errors import NodeError
from protocol.files import read_outside
from protocol.limits import TRANSCRIPT
from protocol.storage.archive import transcript_named
from protocol.storage.database import StoreError
from protocol.storage.home import Home

if TYPE_CHECKING:
    from rich.status import Status

    from protocol.consensus.verifier import Mapped

SHARE: Final = 1024 * 1024
"""Bytes that justify another process: starting one takes as long as judging a few hundred thousand bytes."""
PIECE: Final = 32
"""Signatures that justify another thread: handing them over takes as long as checking two or three."""
MOST_CORES: Final = 61 if sys.platform == "win32" else 256
"""Maximum number of processes. Windows cannot wait for more at once. No known machine has more cores."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def read_transcript(path: Path) -> bytes:
    """Return the content of a file, cut off one byte after the largest size of a transcript.

    :raises OSError: if the file cannot be read, or is a folder, a pipe or a device: opening or reading one of these
        might block forever.
    """
    return read_outside(path, TRANSCRIPT + 1)


def cores() -> int:
    """Return how many cores this process may use, at most :data:`MOST_CORES`. A container may be limited to a few."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(usable or 1, MOST_CORES)


@contextmanager
def on_all_cores(work: Callable[[Path, Mapped], Result], paths: Sequence[Path]) -> Iterator[Callable[[Path], Result]]:
    """Process files on all cores inside the block: in parallel processes if that is faster, else one after the other
    with several threads each.

    :param work: a module-level function, so that other processes can import it. Its second argument replaces ``map``
        for work that releases the GIL, such as checking signatures.
    :return: a function that takes one of ``paths``, waits, and returns the result of ``work`` or raises its exception.
    """
    processes = min(len(paths), cores(), _size(paths) // SHARE)
    if processes < 2:
        with _threads() as mapped:
            yield lambda path: work(path, mapped)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Spawned on every system, because a forked process would share the open files of this one.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin)
    try:
        under_way = {path: pool.submit(work, path, map) for path in dict.fromkeys(paths)}
        yield lambda path: under_way[path].result()
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _threads() -> Iterator[Mapped]:
    """Yield a ``map`` that uses one thread per core: the calling thread, and a pool that ends with the block."""
    from concurrent.futures import ThreadPoolExecutor

    count = cores()
    with ThreadPoolExecutor(max(1, count - 1)) as pool:  # threads start on demand

        def mapped(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
            size = max(PIECE, -(-len(items) // count))
            pieces = [items[start : start + size] for start in range(size, len(items), size)]
            others = [pool.submit(list, map(work, piece)) for piece in pieces]
            own = list(map(work, items[:size]))
            return [*own, *chain.from_iterable(each.result() for each in others)]

        yield mapped


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches all processes; only the parent reports it


def _size(paths: Iterable[Path]) -> int:
    total = 0
    for path in paths:
        with suppress(OSError):
            total += path.stat().st_size
    return total


class ProgressLine:
    """Prints permanent lines to ``stream`` and, on a terminal, a status line below them: see :func:`progress_line`."""

    def __init__(self, stream: TextIO, status: Status | None = None) -> None:
        self._stream = stream
        self._status = status

    @property
    def has_status(self) -> bool:
        """Whether there is a status line."""
        return self._status is not None

    def line(self, text: str) -> None:
        """Print a permanent line."""
        if self._status is not None:
            self._status.console.print(harmless(text))
        else:
            print(text, file=self._stream, flush=True)

    def now(self, text: str) -> None:
        """Replace the status line, if the stream is a terminal."""
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(harmless(text), no_wrap=True, overflow="ellipsis"))


@contextmanager
def progress_line(stream: TextIO) -> Iterator[ProgressLine]:
    """Yield a progress line, whose status line is removed at the end of the block."""
    if not wants_color(stream):
        yield ProgressLine(stream)
        return
    from rich.console import Console

    console = Console(file=unguarded(stream), highlight=False, markup=False)
    with hiding_cursor(stream), console.status("") as status:
        yield ProgressLine(stream, status)


@contextmanager
def progress_over(paths: Sequence[Path], as_json: bool) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a status line at a terminal, if the files are large enough to take a moment."""
    if as_json or not sys.stdout.isatty() or _size(paths) <= SHARE:
        yield lambda _: None
        return
    with progress_line(sys.stdout) as progress:
        yield progress.now


def named_transcript(name: str, settings: Settings) -> Path:
    """Return the path of a transcript, given its path or a match in the home.

    :func:`protocol.storage.archive.transcript_named` resolves the names of matches. If ``name`` is an existing path,
    the home is not touched.

    :raises FileNotFoundError: if the name can only be a path, and there is no such file.
    :raises PermissionError: if the path leads through a folder that is closed to this account.
    :raises Failure: if no match in the home has this name, or several have.
    """
    with suppress(FileNotFoundError, NotADirectoryError, ValueError):  # it may be the name of a match
        try:
            os.lstat(name)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
        else:
            return Path(name)

    try:
        return transcript_named(Home(settings.private_home()), name)
    except (NodeError, StoreError) as error:
        failure = as_failure(error)
        assert failure is not None
        raise failure from None
