"""What is said of what happens at a table. Cups that are opened one after the other take a line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cli.render import escape, hand
from cli.table.board import CupOpened
from cli.text.narrate import cup_line, narrate, tally
from p2pdice import events as game
from protocol.events import DiceRolled, Happened, PeerLost, TableOpened

if TYPE_CHECKING:
    from cli.table.board import Board, Told


def tell(event: Told, board: Board) -> Iterator[str]:
    """Yield the sentences for what the board has just taken in."""
    match event:
        case CupOpened():
            if board.showdown is not None and len(board.showdown.opened) == 1:
                yield "The cups are opened:"
            yield cup_line(event.seat, event.shown.hands, board.seating)
        case Happened(event=game.HandsShown() as shown):
            yield tally(shown)
        case DiceRolled() if board.is_back:  # they were rolled, and told, before
            yield f"You have {hand(event.hand)}."
        case TableOpened() if not board.join_line:
            yield f'The table "{escape(event.name)}" is open, and your bots take all other seats.'
        case PeerLost(left_on_purpose=True) if board.over is not None:
            yield f"{board.seating.named([event.player])} has left the table."
        case _:
            yield narrate(event, board.seating)
