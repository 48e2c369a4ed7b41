"""The gallery: the table of a spectator, and what programs that watch get instead: NDJSON."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cli.exits import Failure, closing_code
from cli.render import command_line
from cli.settings import home_words
from cli.table.board import Told
from cli.table.table import Table
from cli.text.event_json import event_line
from cli.text.narrate import narrate
from cli.text.seating import Seating
from protocol.events import MatchOver, MatchStarted, Stopped, Suspended, TableClosed

if TYPE_CHECKING:
    from cli.settings import Settings
    from cli.table.showing import Showing
    from protocol import Node

PLAYERS_ONLY = ("start", "concede", "say")


class SpectatorTable(Table):
    """A table that is watched. Nothing that is typed reaches it.

    :param target: what was typed to come here.
    """

    def __init__(self, node: Node, settings: Settings, showing: Showing, target: str) -> None:
        super().__init__(node, settings, showing, again=self._nobody)
        self.wants_seat = False
        """The next match is to be played, not watched."""
        self._target = target
        for word in PLAYERS_ONLY:
            del self.words[word]
        self.words["dice"] = ("how many dice everybody has", self._dice)
        self.words["again"] = ("sit down for the next match at this table", self._go_again)
        self.words["quit"] = ("stop watching", self._quit)

    def way_back(self) -> str:
        """Return how to come back after leaving now."""
        words = ["watch", self.board.match[:8] if self.board.match else self._target, *home_words(self._settings.home)]
        return f"You have stopped watching. Watch again with:\n    {command_line(*words)}"

    def take(self, event: Told) -> None:
        if isinstance(event, Suspended):
            self.board.take(event)
            self._say(f"The match waits for {self.board.seating.named(event.awaited)}.")
        else:
            super().take(event)

    def _go_again(self, rest: str) -> None:
        if self.board.match or not self._had_match:
            super()._go_again(rest)
        else:
            self.wants_seat = self._has_left = True

    async def _nobody(self, _wish: str) -> None:
        """A watched table is left for the next match: its player sits at another one, of the same node."""

    async def _end_of_input(self) -> None:
        if self.face.is_interactive:
            await super()._end_of_input()
        else:
            await asyncio.Event().wait()  # nobody types, and there is still something to be seen

    def _no_turn(self) -> str:
        return "You only watch here. Type help for what you can type."

    def _help(self, _rest: str) -> None:
        self._say("You watch; the moves are made by others. You can type:")
        self._list_words()


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
