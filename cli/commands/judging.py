"""Judging transcripts: read within bounds, on all cores if that is faster, with progress at a terminal."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, TextIO, TypeVar

from cli.boundary import as_failure
from cli.output import painting, wants_color
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
"""Bytes that are worth another process: to start one takes as long as to judge a few hundred thousand."""
PIECE: Final = 32
"""Signatures that are worth another thread: it takes as long to hand them over as to check two or three."""
MOST_CORES: Final = 61 if sys.platform == "win32" else 256
"""Windows can wait for no more processes at once; no machine is known on which more than that would help elsewhere."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def read_transcript(path: Path) -> bytes:
    """Return the bytes of a file, but at most one more than a transcript may have.

    :raises OSError: if it cannot be read, or is a folder, a pipe or a device: to read one of these may never end, and
        to open one may wait.
    """
    return read_outside(path, TRANSCRIPT + 1)


def cores() -> int:
    """Return how many cores this process may use, at most :data:`MOST_CORES`: a container may have fewer than its
    machine.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(usable or 1, MOST_CORES)


@contextmanager
def on_all_cores(work: Callable[[Path, Mapped], Result], paths: Sequence[Path]) -> Iterator[Callable[[Path], Result]]:
    """Work on these files while the block lasts: side by side in processes if that is faster, else one after the other,
    each on several cores.

    :param work: a function of a module, as other processes import it. What it is given takes the place of ``map`` for
        whatever lets other threads run meanwhile, as the check of a signature does.
    :return: takes the place of ``work`` for them: it waits for the result, or raises what ``work`` raised.
    """
    processes = min(len(paths), cores(), _size(paths) // SHARE)
    if processes < 2:
        with _threads() as mapped:
            yield lambda path: work(path, mapped)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Started anew, as on every system: a forked process would share the open files of this one.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin)
    try:
        under_way = {path: pool.submit(work, path, map) for path in dict.fromkeys(paths)}
        yield lambda path: under_way[path].result()
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _threads() -> Iterator[Mapped]:
    """Give a ``map`` that works in as many threads as there are cores: this one, and others while the block lasts."""
    from concurrent.futures import ThreadPoolExecutor

    count = cores()
    with ThreadPoolExecutor(max(1, count - 1)) as pool:  # which starts them when there is work

        def mapped(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
            size = max(PIECE, -(-len(items) // count))
            pieces = [items[start : start + size] for start in range(size, len(items), size)]
            others = [pool.submit(list, map(work, piece)) for piece in pieces]
            own = list(map(work, items[:size]))
            return [*own, *chain.from_iterable(each.result() for each in others)]

        yield mapped


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C is for all processes, and one of them tells of it


def _size(paths: Iterable[Path]) -> int:
    total = 0
    for path in paths:
        with suppress(OSError):
            total += path.stat().st_size
    return total


class ProgressLine:
    """Prints finished lines to ``stream`` and, on a terminal, a last line below them that changes.

    A context manager: at its end the last line is taken away.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._status: Status | None = None
        self._stack = ExitStack()

    def __enter__(self) -> ProgressLine:
        if wants_color(self._stream):
            self._status = painting(self._stream).status("")
            self._stack.enter_context(hiding_cursor(self._stream))
            self._stack.enter_context(self._status)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def line(self, text: str) -> None:
        """Print a line that stays."""
        if self._status is not None:
            self._status.console.print(harmless(text))
        else:
            print(text, file=self._stream, flush=True)

    def now(self, text: str) -> None:
        """Show the present state in the last line, if the stream is a terminal."""
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(harmless(text), no_wrap=True, overflow="ellipsis"))


@contextmanager
def progress_over(paths: Sequence[Path], as_json: bool) -> Iterator[Callable[[str], None]]:
    """Give a function that shows the present state at a terminal, if the files take more than a moment to judge."""
    if as_json or not sys.stdout.isatty() or _size(paths) <= SHARE:
        yield lambda _: None
        return
    with ProgressLine(sys.stdout) as progress:
        yield progress.now


def named_transcript(name: str, settings: Settings) -> Path:
    """Return the file that a word names: any file by its path, a file of the home also by its match.

    :func:`protocol.storage.archive.transcript_named` tells the names of matches. If the path exists, the home is not
    touched.

    :raises FileNotFoundError: if the word can only be a path, and there is no such file.
    :raises PermissionError: if the path leads through a folder that is closed to this account.
    :raises Failure: if nothing in the home has this name, or more than one match has.
    """
    with suppress(FileNotFoundError, NotADirectoryError, ValueError):  # it may be a match
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
