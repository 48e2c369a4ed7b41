"""The table of a spectator, and NDJSON for programs that watch."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cli.exits import Failure, closing_code
from cli.render import command_line
from cli.settings import home_words
from cli.table import answers
from cli.table.live_table import LiveTable
from cli.text.event_json import event_line
from cli.text.narrate import narrate
from cli.text.seating import Seating
from protocol.events import MatchResult, MatchStarted, Stopped, TableClosed

if TYPE_CHECKING:
    from cli.settings import Settings
    from cli.table.showing import Showing
    from protocol.node.node import Node


class SpectatorTable(LiveTable):
    """A table that is watched. No typed line reaches the players.

    :param target: what was typed to come here.
    """

    def __init__(self, node: Node, settings: Settings, showing: Showing, target: str) -> None:
        super().__init__(node, settings, showing, again=self._nobody)
        self.wants_seat = False
        """The reader wants to play the next match."""
        self._target = target
        self.words = {
            "help": ("this list", self._help),
            "table": ("what is on the table; Enter alone does the same", self._answer(answers.table)),
            "bids": ("the bids of this round", self._answer(answers.bids)),
            "dice": ("how many dice everybody has", self._answer(answers.dice)),
            "odds": ("how likely the bid is; odds 3x5 for another bid", self._odds),
            "players": ("who plays, and the fingerprints of their keys", self._answer(answers.players)),
            "rules": ("the rules of this table, with a round played out", self._rules),
            "say": ("say something, if the table lets spectators talk: say good luck", self._talk),
            "mute": ("hide what a player says, or show it again: mute Ada", self._mute),
            "trust": ("trust a player's key, if you have compared fingerprints: trust Ada", self._trust),
            "skip": ("show everything at once from now on", self._hurry),
            "again": ("sit down for the next match at this table", self._go_again),
            "quit": ("stop watching", self._quit),
        }

    def way_back(self) -> str:
        """Return the command to watch again."""
        words = ["watch", self.board.match[:8] if self.board.match else self._target, *home_words(self._settings.home)]
        return f"You left. Watch again with:\n    {command_line(*words)}"

    def _go_again(self, rest: str) -> None:
        if self._awaits_end(rest):
            return
        if self.board.match or not self._had_match:
            self._say("You can play again when the match is over.")
        else:
            self.wants_seat = self._has_left = True

    async def _nobody(self, _wish: str) -> None:
        """Do nothing: for the next match the reader sits at a new table of the same node."""

    async def _end_of_input(self) -> None:
        if self.face.is_interactive:
            await super()._end_of_input()
        else:
            await asyncio.Event().wait()  # nobody types, but the match goes on

    def _no_turn(self) -> str:
        return "You only watch here. ? shows what you can type."

    def _help(self, _rest: str) -> None:
        self._say("You watch, and the others play. You can type:")
        self._list_words()


async def report(node: Node) -> None:
    """Print the events as NDJSON until the match is over.

    :raises Failure: if the table is closed or the node stops.
    """
    seating = Seating()
    async for event in node.events():
        if isinstance(event, MatchStarted):
            seating = Seating.of(event.players, me=None)
        print(event_line(event, seating), flush=True)
        match event:
            case MatchResult():
                return
            case TableClosed():
                raise Failure(narrate(event, seating), code=closing_code(event))
            case Stopped():
                raise Failure(narrate(event, seating))
