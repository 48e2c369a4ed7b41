"""Sitting at a table as a person: what hosting, joining and resuming have in common."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from cli.boundary import complain
from cli.crew import Crew
from cli.exits import ExitCode
from cli.render import sentence
from cli.settings import Settings
from cli.table.face import InterruptedByUserError

if TYPE_CHECKING:
    from cli.table.showing import Showing
    from protocol.node import Node

PortOption = Annotated[
    int, typer.Option("--port", min=0, max=65535, metavar="P", help="Listen on this port (0: any free one).")
]
InterfaceOption = Annotated[
    str | None,
    typer.Option("--interface", metavar="IF", show_default=False, help="Use this network interface (name or address)."),
]


class Pledge(StrEnum):
    """A group of motes."""

    REDEEMED = "redeemed"
    CURSED = "cursed"


PledgeOption = Annotated[
    Pledge, typer.Option("--pledge", help="With motes: the group of the winning die that earns you a run ticket.")
]

_Result = TypeVar("_Result")
Enter = Callable[["Node"], Awaitable[None]]
"""Hosts, joins or resumes."""


def _alone(_node: Node) -> AbstractAsyncContextManager[Crew]:
    return nullcontext(Crew())


def play(
    settings: Settings,
    name: str,
    enter: Enter,
    showing: Showing,
    *,
    port: int = 0,
    interface: str | None = None,
    company: Callable[[Node], AbstractAsyncContextManager[Crew]] = _alone,
) -> None:
    """Run a node for the person at this terminal until the match is over or they leave.

    :param company: bots that play for as long as this player is at the table.
    """

    from cli.log import open_log
    from cli.table.table import Table
    from protocol.node import Node

    async def sit() -> None:
        node = await Node.open(home, name, port=port, interface=interface)
        try:
            await enter(node)
            if node.loss:
                complain(sentence(node.loss))
            async with company(node) as crew:
                await Table(node, settings, showing, bots=crew.fingerprints).run()
        finally:
            await node.close()

    home = settings.private_home()
    open_log(home)
    run(sit())


def run(main: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine and return its result. Ctrl-C in it ends the command with its exit code, whichever way the
    terminal reported it.

    So do the other signals that ask a process to end: what it started must not outlive it.
    """
    try:
        return asyncio.run(_stoppable(main))
    except (InterruptedByUserError, KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit(ExitCode.INTERRUPTED) from None


async def _stoppable(main: Coroutine[Any, Any, _Result]) -> _Result:
    task = asyncio.current_task()
    assert task is not None
    for name in ("SIGTERM", "SIGHUP"):
        with suppress(NotImplementedError, AttributeError):  # Windows has neither of the two
            asyncio.get_running_loop().add_signal_handler(getattr(signal, name), task.cancel)
    return await main


async def first_of(*coroutines: Coroutine[Any, Any, None]) -> None:
    """Run coroutines side by side until one of them ends; the others are cancelled. Its exception is raised."""
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in done:
        task.result()
