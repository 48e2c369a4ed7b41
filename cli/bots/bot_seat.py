"""A seat at a live table for a bot, whatever kind of bot it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from cli.bots.bot import Bot
from cli.exits import Failure, closing_code
from cli.text.narrate import narrate
from cli.text.seating import Seating
from p2pdice import Concede, Move
from protocol import ErrorCode, Node, NodeError
from protocol.events import Happened, MatchOver, MatchStarted, NodeEvent, Stopped, TableClosed, YourTurn

Show = Callable[[NodeEvent, Seating], None]
"""Told every event of the node, with the seating as it is then."""


BUSY: Final = 0.1
"""Seconds between two looks whether a home is free."""


async def seat(
    home: Path,
    name: str,
    interface: str | None,
    enter: Callable[[Node], Awaitable[object]],
    bot: Bot,
    show: Show,
    grace: float = 0,
) -> None:
    """Sit down at a table, and let a bot play there to the end.

    :param enter: hosts, joins or resumes.
    :param grace: seconds that another process may take to leave the home.
    :raises NodeError: if the home cannot be used, or the table not be entered.
    :raises Failure: if the table is closed or the node stops.
    """
    node: Node | None = None
    try:
        node = await _opened(home, name, interface, grace)
        await enter(node)
        await _follow(node, bot, show)
    finally:
        # Side by side: the process that started this one waits only for a moment.
        await asyncio.gather(bot.close(), *([node.close()] if node is not None else []))


async def _opened(home: Path, name: str, interface: str | None, grace: float) -> Node:
    deadline = asyncio.get_running_loop().time() + grace
    while True:
        try:
            return await Node.open(home, name, interface=interface)
        except NodeError as error:
            if error.code is not ErrorCode.HOME_IN_USE or asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(BUSY)


async def _follow(node: Node, bot: Bot, show: Show) -> None:
    seating = Seating()
    async for event in node.events():
        if isinstance(event, MatchStarted):
            seating = Seating.of(event.players, me=None)
        show(event, seating)
        match event:
            case MatchStarted():
                assert event.my_seat is not None
                await bot.started(event.ruleset, event.my_seat, [player.name for player in event.players])
            case Happened():
                bot.happened(event.event)
            case YourTurn():
                _play(node, await bot.choose(event.view), event.token)
            case MatchOver():
                bot.over(event.places)
                return
            case TableClosed():
                raise Failure(narrate(event, seating), code=closing_code(event))
            case Stopped():
                raise Failure(narrate(event, seating))


def _play(node: Node, move: Move, token: int) -> None:
    if isinstance(move, Concede):
        node.concede()
        return
    with suppress(NodeError):  # the turn has passed while the bot was thinking
        node.play(move, token)
