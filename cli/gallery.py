"""The gallery: a table in plain sentences for somebody who only looks on, and for programs as NDJSON."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cli.exits import Failure, closing_code
from cli.line import LineTable
from cli.narrate import dice_by_player, narrate
from cli.narrate_motes import graveyard
from cli.render import command_line
from cli.seating import Seating
from cli.stream import event_line
from protocol.events import MatchOver, MatchStarted, NodeEvent, Stopped, Suspended, TableClosed

if TYPE_CHECKING:
    from cli.settings import Settings
    from protocol.node import Node

PLAYERS_ONLY = ("start", "concede")


class Gallery(LineTable):
    """A table that is watched. Nothing that is typed reaches it.

    :param target: what was typed to come here.
    """

    def __init__(self, node: Node, settings: Settings, target: str) -> None:
        super().__init__(node, settings)
        self._target = target
        for word in PLAYERS_ONLY:
            del self._words[word]
        self._words["dice"] = ("how many dice everybody has", self._dice)
        self._words["quit"] = ("stop watching", self._quit)

    def way_back(self) -> str:
        """Return how to return, for whoever leaves now."""
        words = ["watch", self._match[:8] if self._match else self._target, *self._home_words()]
        return f"You have stopped watching. Watch again with:\n    {command_line(*words)}"

    def take(self, event: NodeEvent) -> None:
        if isinstance(event, Suspended):
            self._say(f"The match waits for {self._seating.named(event.awaited)}.")
        else:
            super().take(event)

    async def _end_of_input(self) -> None:
        if self.lines.is_interactive:
            await super()._end_of_input()
        else:
            await asyncio.Event().wait()  # nobody types, and there is still something to be seen

    def _no_turn(self) -> str:
        return "You only watch here. Type help for what you can type."

    def _help(self, _rest: str) -> None:
        self._say("You watch; the moves are made by others. You can type:")
        self._list_words()

    def _dice(self, _rest: str) -> None:
        if self._state is None:
            self._say("There are no dice yet: the match has not begun.")
            return
        self._say(dice_by_player(self._state.dice, self._seating))
        if motes := graveyard(self._state, self._seating):
            self._say(motes)


async def report(node: Node) -> None:
    """Print what is seen as NDJSON until the match is over.

    :raises Failure: if the table is closed or the node stops.
    """
    seating = Seating()
    async for event in node.events():
        if isinstance(event, MatchStarted):
            seating = Seating.of(event.players, me=None)
        print(event_line(event, seating), flush=True)
        match event:
            case MatchOver():
                return
            case TableClosed():
                raise Failure(narrate(event, seating), code=closing_code(event))
            case Stopped():
                raise Failure(narrate(event, seating))
