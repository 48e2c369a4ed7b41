"""Executors for the games of an arena: processes on this machine, or a Dask cluster.

:func:`play_all` feeds both with batches that take a fraction of a second. In both, the future of a batch raises
BrokenExecutor if its process dies.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from multiprocessing import connection, get_context, parent_process, resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cli.arena.fixtures import Fixture
from cli.arena.game import Plan, close_all_programs, close_programs, forfeited, play_games
from cli.arena.game_file import Game
from cli.bots.programs import kill_programs
from cli.exits import ExitCode, Failure
from cli.home import open_log

if TYPE_CHECKING:
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection as Connection
    else:
        from multiprocessing.connection import Connection
    from distributed import Client
    from distributed import Future as Task

BATCH_SECONDS: Final = 0.5
"""Target duration of a batch. Submitting it takes far less, and progress is still reported often enough."""
_LARGEST_BATCH: Final = 512
_DEATHS: Final = 5
"""The arena gives up after this many deaths per worker without a finished game between them."""
_AHEAD: Final = 2
"""Unfinished batches per worker, waiting or running."""

_ENDING: Final = {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}

Executors = Callable[[], Executor]
T = TypeVar("T")


class WorkersDied(Failure):
    """Processes keep dying, although only house bots play in them or no game has begun."""

    def __init__(self) -> None:
        super().__init__(
            "The processes that play the games die again and again.", hint="With --jobs 1 they take the least memory."
        )


def play_all(open_executor: Executors, workers: int, plan: Plan, fixtures: Iterator[Fixture]) -> Generator[list[Game]]:
    """Yield the games as they end, in any order. The caller may stop at any time.

    A player could kill its process rather than lose. So after a death, the games of the batch are played again, and
    from then on each batch is a single game. If its process dies, that game is forfeited.

    :param workers: the number of batches played at a time.
    :raises EntrantError: if a class of players does not exist.
    :raises ProgramError: if a command cannot be started.
    :raises WorkersDied: if the processes keep dying, and no entrant is to blame.
    """
    again: list[Fixture] = []
    deaths = 0
    is_careful = False
    size = 1
    executor = open_executor()
    running: dict[Future[tuple[list[Game], float]], tuple[tuple[Fixture, ...], bool]] = {}
    try:
        while True:
            while len(running) < _AHEAD * workers and (
                batch := (again.pop(),) if again else tuple(islice(fixtures, size))
            ):
                with _undisturbed():
                    running[executor.submit(_timed, plan, batch, is_careful)] = batch, is_careful
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                batch, is_alone = running.pop(future)
                try:
                    games, seconds = future.result()
                except BrokenExecutor:
                    if is_alone and (game := forfeited(plan, batch[0])):
                        yield [game]
                        continue
                    deaths += 1
                    if deaths == _DEATHS * workers:
                        raise WorkersDied from None
                    again.extend(batch)
                    if any(entrant.kind != "house" for entrant in plan.entrants):
                        is_careful, size = True, 1
                    continue
                deaths = 0
                if seconds < BATCH_SECONDS / 2 and len(games) >= size and not is_careful:
                    size = min(2 * size, _LARGEST_BATCH)
                yield games
    finally:
        for future in running:
            future.cancel()
        if running and isinstance(executor, _Processes):
            executor.abandon()  # these games do not count, and a slow program can make them last for hours
        executor.shutdown()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Block the signals that end an arena while a process may be starting.

    Otherwise a signal could arrive when the process is half started, or end it with a traceback before it can ignore
    the signal. The process inherits the mask from the thread that starts it, and that thread inherits it from this one.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _timed(plan: Plan, batch: tuple[Fixture, ...], is_careful: bool) -> tuple[list[Game], float]:
    begun = time.monotonic()
    games = play_games(plan, batch)
    if is_careful:
        close_programs()  # a program that kills this process after its game must not spoil the next game
    return games, time.monotonic() - begun


def local(jobs: int, home: Path | None = None) -> Executors:
    """Return a function that starts worker processes on this machine.

    They are spawned, not forked, so that they behave alike on every system. They end when this process does.

    :param home: the home whose log receives the standard error of programs; None for no log.
    """
    return lambda: _Processes(jobs, home)


class _Processes(ThreadPoolExecutor):
    """Worker processes that can be killed in the middle of a game.

    Each has its own pool and its own thread, so the death of one breaks only its own work.
    """

    def __init__(self, jobs: int, home: Path | None) -> None:
        super().__init__(jobs)
        if sys.platform != "win32":
            # Starting the tracker unblocks signals, which must stay blocked in a thread that starts a process.
            resource_tracker.ensure_running()
        self._context = get_context("spawn")
        self._ended, self._end = self._context.Pipe(duplex=False)
        self._home = home
        self._here = threading.local()
        self._all: list[Executor] = []

    def submit(self, work: Callable[..., T], /, *args: Any, **options: Any) -> Future[T]:
        return super().submit(lambda: self._process().submit(work, *args, **options).result())

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        for process in self._all:
            process.shutdown(wait)

    def abandon(self) -> None:
        """Kill all processes and the programs that they run, even in the middle of a game."""
        self._end.close()

    def _process(self) -> Executor:
        """Return this thread's process, replaced if it has died, so that the next work is not blamed for its death."""
        for _ in range(_DEATHS):
            process: Executor | None = getattr(self._here, "process", None)
            if process is None:
                process = self._here.process = ProcessPoolExecutor(
                    1, self._context, initializer=_begin_worker, initargs=(self._ended, self._home)
                )
                self._all.append(process)
            try:
                process.submit(os.getpid).result()
            except BrokenExecutor:
                if self._end.closed:
                    raise
                self._all.remove(process)
                self._here.process = None
            else:
                return process
        raise WorkersDied


def _begin_worker(ended: Connection, home: Path | None) -> None:
    import atexit

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends its workers
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)  # they were blocked while this process started
    if home is not None:
        open_log(home)
    sys.stdout = sys.stderr  # output of a player's class must not mix with the standings
    atexit.register(close_programs)
    threading.Thread(target=_end_with_parent, args=(ended,), daemon=True).start()


def _end_with_parent(ended: Connection) -> None:
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel, ended])
    kill_programs()
    os._exit(ExitCode.FAILURE)


@contextmanager
def cluster(address: str) -> Iterator[tuple[Executors, int]]:
    """Connect to a Dask scheduler, or start one on this machine for the address ``local``.

    Yield a function that returns its executor, and the number of batches that it plays at a time. Dask itself repeats
    the games of a lost worker.

    :raises Failure: if ``dask.distributed`` is not installed, no scheduler answers, it has no workers, or it is lost.
    """
    try:
        from distributed import Client, LocalCluster
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError
    except ImportError:
        raise Failure(
            "A cluster needs dask.distributed.",
            hint="Install it with: pip install '.[cluster]' (in the folder of the repository)",
        ) from None
    with ExitStack() as stack:
        here = None
        if address == "local":
            here = stack.enter_context(LocalCluster(threads_per_worker=1, dashboard_address=None))
        try:
            client = stack.enter_context(Client(here or address, timeout="10s", set_as_default=False))
        except (OSError, ValueError) as error:
            raise Failure(f"No Dask scheduler answers at {address}.", str(error), code=ExitCode.UNREACHABLE) from None
        threads = sum(client.nthreads().values())
        if not threads:
            raise Failure(f"The cluster at {address} has no workers.", hint=f"Start one with: dask worker {address}")
        try:
            yield lambda: _Cluster(client), threads
        except (FutureCancelledError, CommClosedError):
            raise Failure(
                f"The cluster at {address} is gone.",
                "The connection to its scheduler was lost.",
                hint="The same command with --resume plays the games that are missing.",
                code=ExitCode.UNREACHABLE,
            ) from None
        finally:
            with suppress(Exception):  # a worker that does not answer ends its programs when it ends
                client.run(close_all_programs, on_error="ignore")


class _Cluster(Executor):
    """The workers of a cluster.

    Dask's own executor mistakes a result for an error if the worker is lost as the result arrives.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tasks: dict[Future[Any], Task] = {}
        """Only unfinished tasks, because the cluster keeps the result of every task that is referenced here."""

    def submit(self, work: Callable[..., T], /, *args: Any, **options: Any) -> Future[T]:
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        task = self._client.submit(work, *args, pure=False, **options)
        self._tasks[future] = task
        future.add_done_callback(self._tasks.pop)
        task.add_done_callback(lambda task: _pass_on(task, future))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel all tasks that are not finished."""
        self._client.cancel(list(self._tasks.values()))


def _pass_on(task: Task, future: Future[T]) -> None:
    """Pass the result of a task to a future. If its worker was lost, this waits until another worker has the result."""
    from distributed import KilledWorker

    try:
        future.set_result(task.result())
    except KilledWorker as error:  # several workers have died while running it
        future.set_exception(BrokenExecutor(str(error)))
    except Exception as error:  # noqa: BLE001 - the work may raise anything
        future.set_exception(error)
