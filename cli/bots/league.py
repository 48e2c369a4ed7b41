"""A league night: one match after another at a table that nobody attends, between bots and guests.

The protocol has no host without a seat: guests refuse a match in which the host does not play. So one of the host's
bots sits in the host's seat, and signs with the host's key.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from cli.bots.bot import Bot, PlayerBot
from cli.bots.bot_seat import follow
from cli.bots.crew import Recruit, hired
from cli.bots.league_report import Ending, LeagueReport
from cli.bots.lull import Lull, TooLongError
from cli.bots.program_reporter import reported
from cli.render import sentence
from p2pdice.players import house_player
from protocol.errors import NodeError
from protocol.events import LobbyChanged, MatchFormed
from protocol.node.node import Node

if TYPE_CHECKING:
    from cli.text.seating import Seating
    from protocol.events import NodeEvent
    from protocol.match.lobby import TableSettings

WAIT: Final = 30
"""Seconds that an unattended table waits for more players than it needs, unless told otherwise."""


class Terms(NamedTuple):
    """The terms of a night."""

    matches: int
    least: int
    """Players without whom no match begins."""
    wait: float
    """Seconds with enough players, after which a match begins although seats are free."""
    give_up: float
    """Seconds with too few players, after which the night is over."""


class League:
    """The matches of one night.

    :param recruits: the host's bots; the last one sits in the host's seat.
    :param report: is told all that happens.
    """

    def __init__(self, table: TableSettings, recruits: Sequence[Recruit], terms: Terms, report: LeagueReport) -> None:
        *self._crew, self._own = recruits
        self._table = table
        self._terms = terms
        self._report = report
        self._node: Node
        self._bot: Bot
        self._lull: Lull
        self._has_enough = False
        self._beginning: asyncio.TimerHandle | None = None
        """The end of the time in which more players can come."""
        self._is_due = False
        """Whether that time is over, and a match begins as soon as enough are there."""
        self._forgetting: asyncio.TimerHandle | None = None
        """The end of the time in which a player who has left can come back to the same wait."""
        self._is_last = False

    async def run(self, home: Path, port: int, interface: str | None, pledge: str) -> Ending:
        """Open a node, play a night, and tell how it ended when everything is closed.

        The first Ctrl-C lets the current match come to its end, the next one does not.

        :raises NodeError: if the home cannot be used, or the table cannot be opened.
        :raises Failure: if the program in the host's seat cannot be started, or the node stops.
        """
        ending = Ending.FAILED
        self._node = node = await Node.open(home, self._own.name, port=port, interface=interface)
        try:
            node.pledge = pledge
            if node.loss:
                self._report.notice(sentence(node.loss))
            async with self._own_bot() as self._bot:
                with _interrupts(self._end_soon):
                    ending = await self._play()
        except asyncio.CancelledError:
            ending = Ending.INTERRUPTED
            raise
        finally:
            match = node.match
            await node.close()
            self._report.close(ending, match.id if match is not None and match.is_formed else b"")
        return ending

    @asynccontextmanager
    async def _own_bot(self) -> AsyncIterator[Bot]:
        """Return the bot in the host's seat, and close it with the block."""
        own = self._own
        if not own.command:
            yield PlayerBot(own.name, house_player(own.level, Random()))  # noqa: S311 - whims, no secrets
            return
        async with reported(own.name, own.command, self._report.as_json) as (program, _):
            try:
                yield program
            finally:
                await program.close()

    async def _play(self) -> Ending:
        for _ in range(self._terms.matches):
            if self._is_last:
                return Ending.INTERRUPTED
            try:
                await self._play_one()
            except TooLongError:
                return Ending.TOO_FEW
        return Ending.DONE

    async def _play_one(self) -> None:
        await self._node.host(replace(self._table, asks="never"))  # nobody would answer
        async with hired(self._node, self._crew, self._report.pass_on):
            try:
                async with Lull(self._terms.give_up) as self._lull:
                    await follow(self._node, self._bot, self._take)
            finally:
                self._wait_no_longer()

    def _take(self, event: NodeEvent, seating: Seating) -> None:
        self._report.show(event, seating)
        self._lull.take(event)
        match event:
            case LobbyChanged():
                self._has_enough = len(event.players) >= self._terms.least
                self._lull.note(is_lull=not self._has_enough)
                self._wait()
            case MatchFormed():
                self._wait_no_longer()

    def _wait(self) -> None:
        """Wait for more players if there are enough. A guest who keeps coming and going holds nobody up."""
        call_later = asyncio.get_running_loop().call_later
        if self._has_enough:
            if self._forgetting is not None:
                self._forgetting.cancel()
                self._forgetting = None
            if self._is_due:
                self._begin()
            elif self._beginning is None:
                self._beginning = call_later(self._terms.wait, self._begin)
        elif self._forgetting is None:
            self._forgetting = call_later(self._terms.wait, self._wait_no_longer)

    def _begin(self) -> None:
        self._beginning = None
        self._is_due = True
        if self._has_enough:
            with suppress(NodeError):  # it has begun by itself, or somebody has just left
                self._node.start_match()

    def _wait_no_longer(self) -> None:
        for timer in (self._beginning, self._forgetting):
            if timer is not None:
                timer.cancel()
        self._beginning = self._forgetting = None
        self._is_due = False

    def _end_soon(self) -> bool:
        """Make this match the last one; tell whether to leave at once: if none is played, or this was asked before."""
        match = self._node.match
        if self._is_last or match is None or not match.is_formed or match.is_ended:
            return True
        self._is_last = True
        self._report.notice("This match is the last one. Press Ctrl-C again to leave it now.")
        return False


@contextmanager
def _interrupts(is_enough: Callable[[], bool]) -> Iterator[None]:
    """Ask at each Ctrl-C inside the block whether this task is to be cancelled.

    That works also in the background of a script, where programs are told to ignore Ctrl-C.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def interrupt() -> None:
        if is_enough():
            task.cancel()

    before = signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(interrupt))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
