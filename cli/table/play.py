"""Run a table for the person at this terminal: the node, the bots that accompany it, and a suitable face."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    redirect_stderr,
    redirect_stdout,
    suppress,
)
from dataclasses import replace
from io import StringIO
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar, cast

import typer

from cli.exits import ExitCode, Failure
from cli.front import gc_paused
from cli.home import unlocked
from cli.output import complain, is_interactive, say, unguarded
from cli.render import default_table_name, harmless, sentence
from cli.rulesets import chosen_ruleset, rules_name
from cli.settings import Settings
from cli.table.board import HOST
from cli.table.face import InterruptedByUserError, PipedLines, TerminalLines
from cli.table.suspending import leaving
from cli.table.terminal import Showing
from cli.table.writer import Writer, drained

if TYPE_CHECKING:
    from cli.bots.crew import Crew
    from cli.table.live_table import SpectatorTable
    from cli.table.table import Face, Table
    from protocol.crypto.keys import Identity
    from protocol.match.lobby import TableSettings
    from protocol.node.node import Node

_RAISE: Final = "\x1b[?1049h\x1b[2J\x1b[H"
_LOWER: Final = "\x1b[?1049l"
_Result = TypeVar("_Result")
Enter = Callable[["Node"], Awaitable[None]]
"""Makes a node host, join or resume."""


Company = Callable[["Node"], AbstractAsyncContextManager["Crew"]]
"""Returns a context manager that seats bots at the node's table and removes them on exit."""
Again = Callable[["Node", str], Awaitable[Company]]
"""Returns to the table after a match, given what was typed after *again*. Its result seats the bots again."""


def alone(_node: Node) -> AbstractAsyncContextManager[Crew]:
    """Seat no bots."""
    from cli.bots.crew import Crew

    return nullcontext(Crew())


async def rejoin(node: Node, wish: str) -> Company:
    """Return to the table of a match as a guest, or open it as its new host.

    :param wish: what was typed after *again*: nothing or ``host``.
    :raises Failure: if it was something else, or there was no match.
    :raises NodeError: if the table cannot be reached or opened.
    """
    if wish and wish.lower() != HOST:
        raise Failure(
            f'The host chooses what is played: type just "again", or "again {HOST}" to open a table yourself.'
        )
    if not wish:
        await node.rejoin()
    elif (table := node.table_again(default_table_name(node.name))) is None:
        raise Failure("There was no match here.")  # the node gave up the match while it waited for the host
    else:
        await node.host(table)
    return alone


async def open_again(node: Node, table: TableSettings, wish: str) -> None:
    """Open the table of a match again.

    :param wish: what the host typed after *again*: a number of seats, new rules, or both; empty for no change.
    :raises Failure: if there are no such rules, or the table cannot have that number of seats.
    :raises NodeError: if the table cannot be opened.
    """
    from protocol.limits import PLAYERS

    number, _, rest = wish.partition(" ")
    if not number.isdecimal():
        rest, _, number = wish.rpartition(" ")
    if number.isascii() and number.isdecimal():
        least = 2 if node.party is None else max(2, len(node.party.programs) + 1)
        if not (len(number) < 3 and least <= int(number) <= PLAYERS):
            raise Failure(f"This table can have {f'{least} to' if least < PLAYERS else 'only'} {PLAYERS} seats.")
        # A table with free seats must be listed, so that people can find it.
        is_unlisted = table.unlisted and int(number) == least
        table, wish = replace(table, seats=int(number), unlisted=is_unlisted), rest.strip()
    try:
        if wish:
            table = replace(table, ruleset=chosen_ruleset(wish, None), rules_name=rules_name(wish, None))
    except typer.BadParameter as error:
        raise Failure(sentence(error.message)) from None
    await node.host(table)


def play(
    settings: Settings,
    name: str,
    enter: Enter,
    showing: Showing,
    *,
    first: str,
    port: int = 0,
    interface: str | None = None,
    company: Company = alone,
    again: Again = rejoin,
    identity: Identity | None = None,
    curtained: ExitStack | None = None,
) -> None:
    """Run a node for the person at this terminal until they leave; through pipes, until the match is over.

    :param first: a line to show until the table is open; safe to print.
    :param company: seats this player's bots.
    :param again: returns to the table after a match.
    :param identity: the home's identity, if it is already unlocked.
    :param curtained: shows ``first``. It is closed once the table is open, or by ``enter`` before it prints.
    """

    me = identity or unlocked(settings.private_home())
    curtained = curtained if curtained is not None else ExitStack()
    curtained.enter_context(_curtain(first, showing))

    async def attend() -> None:
        node = await Node.open(home, name, port=port, interface=interface, identity=me)
        try:
            await enter(node)
            curtained.close()
            if node.loss:
                complain(sentence(node.loss))
            await sit(node, showing, company, again)
        finally:
            await node.close()

    with curtained:
        with gc_paused():
            from cli.home import open_log
            from protocol.node.node import Node

            if showing.ui == "screen":
                import cli.table.screen
            import cli.table.player_table  # noqa: F401

        home = settings.private_home()
        open_log(home)
        run(attend())


async def sit(
    node: Node,
    showing: Showing,
    company: Company,
    again: Again,
    *,
    watched: SpectatorTable | None = None,
) -> None:
    """Play at a node's table until the evening is over.

    :param watched: the table where the person was a spectator; they sit down for its next match.
    """
    from cli.table.player_table import PlayerTable

    async with AsyncExitStack() as at_table:

        async def go_again(wish: str) -> None:
            back = await again(node, wish)
            await at_table.aclose()  # the old bots leave only now, because they stay if the return fails
            table.bots = (await at_table.enter_async_context(back(node))).fingerprints

        crew = await at_table.enter_async_context(company(node))
        table = PlayerTable(node, showing, bots=crew.fingerprints, again=go_again, watched=watched)
        await show(table)


async def show(table: Table) -> None:
    """Show a table until it is over or the person leaves.

    :raises Failure: if its host closes it, or the node stops.
    :raises InterruptedByUserError: on Ctrl-C at the prompt.
    """
    async with _face_of(table) as table.face:
        try:
            table.begin()
            await first_of(table.follow(), table.listen())
        except (InterruptedByUserError, asyncio.CancelledError):  # Ctrl-C, reported by the prompt or by a signal
            table.interrupt()
            raise
        finally:
            table.close()


async def first_of(*coroutines: Coroutine[Any, Any, None]) -> None:
    """Run coroutines concurrently until one of them ends, cancel the others, and raise the exception of the first."""
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in done:
        task.result()


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's factory of event loops if it is installed, because they are faster; None for asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def run(main: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine and return its result. Ctrl-C ends the command with its usual exit code.

    SIGTERM and SIGHUP do the same, so that the children of the process do not outlive it.
    """
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(_stoppable(main))
    except (InterruptedByUserError, KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit(ExitCode.INTERRUPTED) from None


async def _stoppable(main: Coroutine[Any, Any, _Result]) -> _Result:
    task = asyncio.current_task()
    assert task is not None
    for name in ("SIGTERM", "SIGHUP"):
        with suppress(NotImplementedError, AttributeError):  # Windows has neither signal
            number = getattr(signal, name)
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup makes the process ignore SIGHUP
                asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await main


@contextmanager
def _curtain(text: str, showing: Showing) -> Iterator[None]:
    """Show a line on the full screen while modules load and the network starts. Print error output when it closes.

    :param text: safe to print.
    """
    if showing.ui != "screen" or sys.platform == "win32":  # a Windows console may not understand escape sequences yet
        yield
        return
    width = get_terminal_size().columns - 2
    raised = f"{_RAISE} {harmless(text if len(text) < width else text[: width - 1] + '…')}"
    screen = unguarded(sys.stdout)
    screen.write(raised)
    screen.flush()
    complaints = StringIO()
    try:
        with redirect_stderr(complaints), leaving(screen, _LOWER, raised):
            yield
    finally:
        screen.write(_LOWER)
        screen.flush()
        if told := complaints.getvalue().rstrip("\n"):
            say(told, sys.stderr)


@asynccontextmanager
async def _face_of(table: Table) -> AsyncIterator[Face]:
    """Open a face: for a terminal if both input and output are terminals, otherwise for pipes.

    A thread writes the output of every face, so the table waits for output only at the end.
    """
    showing = table.showing
    if not is_interactive():
        pipe = Writer(sys.stdout, limit=None)
        with redirect_stdout(cast("TextIO", pipe)):
            async with drained(pipe, None):
                yield PipedLines(pipe)
    elif showing.ui == "screen":
        from cli.table.screen import Screen

        # On Windows the screen has no writer, because prompt_toolkit paints through the console's API.
        writer = Writer(sys.stdout) if sys.platform != "win32" else None
        async with Screen(table, writer, bell=showing.bell, color=showing.color) as screen:
            yield screen
    else:
        async with TerminalLines(table, Writer(sys.stdout), bell=showing.bell, color=showing.color) as lines:
            yield lines
