"""An account of one match, from its transcript: the dice dealt, each bid and call with its outcome, and the places."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cli.table.board import Board
from cli.text.hindsight import Weighed, weigh
from p2pdice.events import BidMade, ChallengeCalled
from protocol.events import CupsSeen, Happened, MatchResult

if TYPE_CHECKING:
    from protocol.events import NodeEvent, PlayerInfo
    from protocol.match.replay import Replay


@dataclass(frozen=True, slots=True)
class Claim:
    """A bid or a call, with its chance and its outcome."""

    seat: int
    weighed: Weighed

    @property
    def is_bluff(self) -> bool:
        """Whether it is a bid that the bidder's own dice made less than half likely."""
        return not self.weighed.is_call and self.weighed.chance < 1 / 2


@dataclass(slots=True)
class Account:
    """The facts about one match from which statistics are made."""

    match: str
    """Its id."""
    players: tuple[PlayerInfo, ...]
    """By seat."""
    places: tuple[tuple[int, ...], ...] = ()
    """Seats by place, winners first; empty for a match that was not finished."""
    dice: list[list[int]] = field(default_factory=list)
    """By seat: how often each face was dealt, ones first. Cups that were never opened are left out."""
    claims: list[Claim] = field(default_factory=list)

    def take(self, event: NodeEvent, board: Board) -> None:
        """Note an event of a replay that the board has just taken."""
        match event:
            case CupsSeen():
                for seat, hand in enumerate(event.hands):
                    for face in hand or ():
                        self.dice[seat][face - 1] += 1
            case MatchResult():
                self.places = event.places
            case Happened(event=BidMade() | ChallengeCalled() as claim):
                weighed = weigh(claim, event.state, board.hands, None)
                assert weighed is not None
                self.claims.append(Claim(claim.seat, weighed))


def empty_account(replayed: Replay) -> Account:
    """Return the account of a match before anything is told of it."""
    return Account(replayed.verdict.match or "", replayed.players, dice=[[0] * 6 for _ in replayed.players])


def account(replayed: Replay) -> Account:
    """Return the account of a match."""
    found = empty_account(replayed)
    board = Board()
    for _, event in replayed.tell():
        board.take(event)
        found.take(event, board)
    return found
