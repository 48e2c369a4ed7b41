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
from p2pdice.moves import Concede, Move
from protocol.errors import ErrorCode, NodeError
from protocol.events import Diverged, Happened, MatchResult, MatchStarted, NodeEvent, Stopped, TableClosed, YourTurn
from protocol.node.node import Node

Show = Callable[[NodeEvent, Seating], None]
"""Gets every event of the node, with the seating at that time."""
Attend = Callable[[Node, Bot, Show], Awaitable[object]]
"""Lets a bot play at the table of a node."""

BUSY: Final = 0.1
"""Seconds between two attempts to open a home that is in use."""


async def seat(
    home: Path,
    name: str,
    interface: str | None,
    enter: Callable[[Node], Awaitable[object]],
    bot: Bot,
    show: Show,
    grace: float = 0,
    attend: Attend | None = None,
) -> None:
    """Sit down at a table, and let a bot play there to the end.

    :param enter: hosts, joins or resumes.
    :param grace: seconds that another process may take to leave the home.
    :param attend: lets the bot play; one match, unless told otherwise.
    :raises NodeError: if the home cannot be used, or the table cannot be entered.
    :raises Failure: if the table is closed or the node stops.
    """
    node: Node | None = None
    try:
        node = await _opened(home, name, interface, grace)
        await enter(node)
        await (attend or follow)(node, bot, show)
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


async def follow(node: Node, bot: Bot, show: Show) -> MatchResult:
    """Let a bot play the next match at its table to the end. Matches that it watches meanwhile are only shown.

    :raises Failure: if the table is closed, the node stops, or the match cannot go on.
    """
    seating = Seating()
    is_playing = False
    async for event in node.events():
        if isinstance(event, MatchStarted):
            seating = Seating.of(event.players, me=None)
            is_playing = event.my_seat is not None
        show(event, seating)
        match event:
            case MatchStarted(my_seat=int() as seat):
                await bot.started(event.ruleset, seat, [player.name for player in event.players])
            case Happened() if is_playing:
                bot.happened(event.event)
            case YourTurn():
                _play(node, await bot.choose(event.view), event.token)
            case MatchResult() if is_playing:
                bot.over(event.places)
                return event
            case TableClosed():
                raise Failure(narrate(event, seating), code=closing_code(event))
            case Stopped() | Diverged():
                raise Failure(narrate(event, seating))
    raise Failure("The node was closed before the match was over.")


def _play(node: Node, move: Move, token: int) -> None:
    if isinstance(move, Concede):
        node.concede()
        return
    with suppress(NodeError):  # the turn has passed while the bot was thinking
        node.play(move, token)
