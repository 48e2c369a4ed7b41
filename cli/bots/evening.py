"""A bot's evening as a guest: one match after another, for as long as the host opens the table again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from cli.bots.bot import Bot
from cli.bots.bot_seat import Show, follow
from cli.bots.lull import Lull, TooLongError
from cli.exits import ExitCode, Failure
from cli.text.seating import Seating
from protocol.errors import LOOK_ON, ErrorCode, NodeError
from protocol.events import AwaitingHost, NodeEvent, Notice, PeerLost, PlayerInfo, TableClosed
from protocol.node.node import Node

Enter = Callable[[Node], Awaitable[object]]


class _HostGoneError(Exception):
    """The host has left after a match."""


class Evening:
    """Several matches at one table, one after the other.

    :param join: sits down at the table.
    :param look_on: watches the table, if no seat is free or a match is being played.
    :param give_up: seconds in which nothing is played, after which the bot leaves.
    """

    def __init__(self, join: Enter, look_on: Enter, matches: int, give_up: float) -> None:
        self._join = join
        self._look_on = look_on
        self._matches = matches
        self._give_up = give_up
        self._is_late = False
        self._played = 0
        self._gone: set[str] = set()
        self._lull: Lull

    async def enter(self, node: Node) -> None:
        """Sit down, or watch until there is a seat.

        :raises NodeError: if the table cannot be entered.
        """
        try:
            await self._join(node)
        except NodeError as error:
            if error.code is not ErrorCode.FULL and error.choices != LOOK_ON:
                raise
            await self._look_on(node)
            self._is_late = True

    async def attend(self, node: Node, bot: Bot, show: Show) -> None:
        """Let the bot play until the evening is over.

        :raises NodeError: if there is no way back to the table, and nothing was played.
        :raises Failure: if nothing was played for too long, or as :func:`cli.bots.bot_seat.follow` does.
        """

        def take(event: NodeEvent, seating: Seating) -> None:
            self._lull.take(event)
            is_end = self._is_end(event)
            if not is_end or isinstance(event, TableClosed):  # what the others would say of waiting is not true
                show(event, seating)
            if is_end:
                raise _HostGoneError

        while self._played < self._matches:
            try:
                async with Lull(self._give_up) as self._lull:
                    if self._played or self._is_late:
                        await _beside(node.rejoin(), follow(node, bot, take))
                    else:
                        await follow(node, bot, take)
            except TooLongError:
                what = f"Nothing was played for {self._give_up:.0f} seconds."
                raise Failure(what, code=ExitCode.TOO_FEW) from None
            except _HostGoneError:
                break
            except NodeError as error:
                if not self._played or error.code is not ErrorCode.UNREACHABLE:
                    raise
                break
            self._played += 1
        else:
            return
        show(Notice("The host is not opening the table again"), Seating())

    def _is_end(self, event: NodeEvent) -> bool:
        """Tell whether this event after a match means that the host is not opening the table again."""
        match event:
            case PeerLost(left_on_purpose=True):
                self._gone.add(event.player.fingerprint)
            case AwaitingHost(host=PlayerInfo() as host, host_is="silent"):
                return host.fingerprint in self._gone
            case AwaitingHost(host=PlayerInfo() as host):
                self._gone.discard(host.fingerprint)
            case TableClosed():
                return self._played > 0
        return False


async def _beside(returning: Awaitable[object], playing: Awaitable[object]) -> None:
    """Go back to the table and play there, side by side: a match that is played meanwhile is shown."""
    tasks = [asyncio.ensure_future(returning), asyncio.ensure_future(playing)]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in done:
        task.result()
