"""The sentences for the events at a table. Cups that are opened one after the other take a line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cli.render import command_line, escape, hand
from cli.table.board import CupOpened
from cli.text.narrate import narrate, result, suspended, your_turn
from cli.text.narrate_game import cup_line, tally
from p2pdice import events as game
from protocol.events import CodeTried, DiceRolled, Happened, MatchResult, PeerLost, Suspended, TableOpened, YourTurn

if TYPE_CHECKING:
    from cli.table.board import Board, Told


def tell(event: Told, board: Board) -> Iterator[str]:
    """Yield the sentences for an event that the board has just taken."""
    match event:
        case CupOpened():
            if board.showdown is not None and len(board.showdown.opened) == 1:
                yield "The cups are opened:"
            yield cup_line(event.seat, event.shown.hands, board.seating)
        case Happened(event=game.HandsShown() as shown):
            yield tally(shown)
        case YourTurn() if board.is_back and board.me in board.hands:  # the line before tells the dice
            yield your_turn(event, board.seating, with_dice=False)
        case DiceRolled() if board.is_back:  # they were rolled, and told, before
            yield f"You have {hand(event.hand)}."
        case TableOpened() if not board.join_line:
            yield f'The table "{escape(event.name)}" is open, and your bots take all other seats.'
        case CodeTried(tries_left=0):
            yield f"{narrate(event, board.seating)}\n    {command_line('join', board.join_line)}"
        case Suspended():
            yield suspended(event, board.seating, plays=board.plays)
        case MatchResult():
            yield result(event, has_leavers=board.has_leavers)
        case PeerLost(left_on_purpose=True) if board.over is not None:
            yield f"{board.seating.named([event.player])} has left the table."
        case _:
            yield narrate(event, board.seating)
