"""The sentences for the events at a table. Cups that are opened one after the other take a line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cli.render import command_line, hand, initial
from cli.table.board import CupOpened
from cli.text.narrate import moved, narrate, result, seat_asked, suspended
from cli.text.narrate_game import counted_cup, tally, verdict
from p2pdice import events as game
from protocol.events import (
    CodeTried,
    DiceRolled,
    Happened,
    MatchResult,
    PeerLost,
    Recognised,
    SeatAsked,
    Suspended,
    TableMoved,
    TableOpened,
)

if TYPE_CHECKING:
    from cli.table.board import Board, Told


def tell(event: Told, board: Board) -> Iterator[str]:
    """Yield the sentences for an event that the board has just taken."""
    match event:
        case CupOpened():
            yield counted_cup(event.seat, event.shown, board.seating)
        case Happened(event=game.HandsShown() as shown):
            if shown.unopened:  # else the verdict has the count
                yield initial(tally(shown))
        case Happened(event=game.Judged() as judged):
            yield verdict(judged, board.showdown.shown if board.showdown is not None else None, board.seating)
        case Happened(event=game.LeadPassed()):
            return  # the next round says who starts it
        case DiceRolled() if board.is_back:  # they were rolled, and told, before
            yield f"You have {hand(event.hand)}."
        case TableMoved():
            yield moved(event, has_code=bool(board.code))
        case TableOpened() if not board.join_line:
            yield "Your bots take all other seats."
        case Recognised():
            pass  # a badge shows it
        case SeatAsked():
            yield seat_asked(event, board.players)
        case CodeTried(tries_left=0):
            line = command_line("join", board.join_line)
            yield f"{narrate(event, board.seating)} The long line still works:\n    {line}"
        case Suspended():
            yield suspended(event, board.seating, plays=board.plays)
        case MatchResult():
            yield result(event, has_leavers=board.has_leavers)
        case PeerLost(left_on_purpose=True) if board.over is not None:
            yield f"{board.seating.named([event.player])} left."
        case _:
            yield narrate(event, board.seating)
