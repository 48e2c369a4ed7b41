"""Where the games of an arena are played: in processes of this machine, or in those of a cluster
(:mod:`cli.arena.cluster`).

Both are executors, so one feeder serves both. It hands out batches that take a fraction of a second. When a process
dies, its batches are handed out again.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.arena.fixtures import Fixture
from cli.arena.game import Game
from cli.arena.worker import Plan, close_programs, play_games
from cli.bots.programs import kill_programs
from cli.exits import ExitCode, Failure
from cli.log import open_log

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

BATCH_SECONDS: Final = 0.5
"""The longest that a batch should take: handing it out takes far less, and progress is seen often enough."""
_LARGEST_BATCH: Final = 512
_DEATHS: Final = 5
"""Give up after this many deaths of processes in a row, without a game between them."""
_AHEAD: Final = 2
"""Batches that wait or are played, for each worker."""

_ENDING: Final = {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}

Executors = Callable[[], Executor]


class WorkersDied(Failure):
    """Processes die before they have played a game."""


def play_all(open_executor: Executors, workers: int, plan: Plan, fixtures: Iterator[Fixture]) -> Generator[list[Game]]:
    """Yield the games as they end, in any order. The caller may stop at any time.

    :param workers: how many batches are played at a time.
    :raises EntrantError: if there is no such class of players.
    :raises ProgramError: if a command cannot be started.
    :raises WorkersDied: if the processes keep dying.
    """
    lost: list[tuple[Fixture, ...]] = []
    deaths = 0
    while True:
        executor = open_executor()
        running: dict[Future[tuple[list[Game], float]], tuple[Fixture, ...]] = {}
        size = 1
        try:
            while True:
                while len(running) < _AHEAD * workers and (
                    batch := lost.pop() if lost else tuple(islice(fixtures, size))
                ):
                    lost.append(batch)  # until it runs: a broken executor does not take it
                    with _undisturbed():
                        running[executor.submit(_timed, plan, batch)] = batch
                    lost.pop()
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    games, seconds = future.result()
                    del running[future]
                    deaths = 0
                    if seconds < BATCH_SECONDS / 2 and len(games) >= size:
                        size = min(2 * size, _LARGEST_BATCH)
                    yield games
        except BrokenExecutor:
            deaths += 1
            if deaths == _DEATHS:
                raise WorkersDied(
                    "The processes that play the games die again and again.",
                    hint="A class of players may end its process. With --jobs 1 they take the least memory.",
                ) from None
            lost.extend(running.values())
        finally:
            for future in running:
                future.cancel()
            if running and isinstance(executor, _Processes):
                executor.abandon()  # nobody waits for these games: a slow program can make them last for hours
            executor.shutdown()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold signals that end an arena back for a moment in which a process may be started.

    Otherwise they could come when it is half started, or end it with a traceback before it has told itself to ignore
    them. The process inherits that.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _timed(plan: Plan, batch: tuple[Fixture, ...]) -> tuple[list[Game], float]:
    begun = time.monotonic()
    return play_games(plan, batch), time.monotonic() - begun


def local(jobs: int, home: Path | None = None) -> Executors:
    """Return a function that starts worker processes on this machine.

    They are spawned, not forked, so that they are alike on every system. They end when this process does.

    :param home: the home whose log gets the standard error of programs.
    """
    return lambda: _Processes(jobs, home)


class _Processes(ProcessPoolExecutor):
    """Processes that can be ended in the middle of a game."""

    def __init__(self, jobs: int, home: Path | None) -> None:
        context = get_context("spawn")
        ended, self._end = context.Pipe(duplex=False)
        super().__init__(jobs, context, initializer=_begin_worker, initargs=(ended, home))

    def abandon(self) -> None:
        """End all processes, and the programs that they run, whatever they are doing."""
        self._end.close()


def _begin_worker(ended: Connection, home: Path | None) -> None:
    import atexit

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends its workers
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)  # they were held back while this process started
    if home is not None:
        open_log(home)
    sys.stdout = sys.stderr  # what a class of players prints is no part of the standings
    atexit.register(close_programs)
    threading.Thread(target=_end_with_parent, args=(ended,), daemon=True).start()


def _end_with_parent(ended: Connection) -> None:
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel, ended])
    kill_programs()
    os._exit(ExitCode.FAILURE)
