"""Where the games of an arena are played if one machine is too small: on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from cli.arena.pool import Executors
from cli.arena.worker import close_all_programs
from cli.exits import ExitCode, Failure

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as Task

T = TypeVar("T")


@contextmanager
def cluster(address: str) -> Iterator[tuple[Executors, int]]:
    """Connect to a Dask scheduler, or start one on this machine for the address ``local``.

    Yield a function that returns its executor, and how many batches it plays at a time. Dask itself plays the games of
    a lost worker again.

    :raises Failure: if ``dask.distributed`` is not installed, or nobody answers, or the scheduler is lost.
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

    Dask has such an executor, too. That one takes a result for an error if its worker is lost as it arrives.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tasks: dict[Future[Any], Task] = {}
        """Those that are not played yet. A task that is kept here keeps its result on the cluster."""

    def submit(self, work: Callable[..., T], /, *args: Any, **options: Any) -> Future[T]:
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        task = self._client.submit(work, *args, pure=False, **options)
        self._tasks[future] = task
        future.add_done_callback(self._tasks.pop)
        task.add_done_callback(lambda task: _pass_on(task, future))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let nobody play what is not played yet."""
        self._client.cancel(list(self._tasks.values()))


def _pass_on(task: Task, future: Future[T]) -> None:
    """Give a future the result of a task. If that is lost again, wait until another worker has it."""
    from distributed import KilledWorker

    try:
        future.set_result(task.result())
    except KilledWorker as error:  # not its first worker, either
        future.set_exception(BrokenExecutor(str(error)))
    except Exception as error:  # noqa: BLE001  whatever the work raised
        future.set_exception(error)
