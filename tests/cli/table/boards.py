"""Boards in the middle of matches, for tests that draw or describe them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from cli.table.board import Board
from cli.table.pace import beats
from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.events import Event
from p2pdice.moves import Hand, Hands, Play, Pledges, Roll, Rolled, Stakes, parse_move
from p2pdice.rulesets import Ruleset
from p2pdice.state import Expect, State
from p2pdice.views import view
from protocol.events import (
    DiceRolled,
    Happened,
    LobbyChanged,
    MatchResult,
    MatchStarted,
    PlayerInfo,
    TableOpened,
    YourTurn,
)

JOIN_LINE = "192.168.1.7:40312/QZYM-KVHF-TQFB-G7RM-MHXD"
MINE: Hand = (1, 2, 3, 3, 6)


def people(names: Sequence[str], me: int | None = 0) -> tuple[PlayerInfo, ...]:
    """Return players with these names and different fingerprints."""
    return tuple(
        PlayerInfo(name, f"{seat}ZYM-KVHF-TQFB-G7RM-MHXD", is_me=seat == me) for seat, name in enumerate(names)
    )


def told(events: Sequence[Event], state: State) -> list[Happened]:
    """Return the events of one engine input in the form in which a node reports them."""
    return [Happened(event, state, is_last=event is events[-1]) for event in events]


class Sample:
    """A board, and a match on it that a test advances move by move.

    :param me: the reader's seat; None for a spectator.
    """

    def __init__(self, ruleset: Ruleset, names: Sequence[str] = ("Ada", "Ben", "Cleo"), me: int | None = 0) -> None:
        self.board = Board()
        self.players = people(names, me)
        self.me = me
        self.state: State = new_match(ruleset, len(names))
        self.board.take(TableOpened("Friday", JOIN_LINE, (), True, seats=2, ruleset=ruleset))
        self.board.take(LobbyChanged(self.players, len(names)))
        self.board.take(MatchStarted("ab" * 32, ruleset, self.players, me, self.state))

    def roll(self) -> None:
        """Roll the dice of a round."""
        self._apply(Rolled())
        if self.me is not None:
            self.board.take(DiceRolled(MINE[: self.state.dice[self.me]]))

    def play(self, *moves: str) -> None:
        """Make each move for the player on turn. If it is then the reader's turn, ask the reader."""
        for move in moves:
            self._apply(Play(self.state.turn, parse_move(move)))
        if self.state.turn == self.me and self.me is not None:
            self.board.take(YourTurn(view(self.state, self.me, self.board.hand), 1))

    def open(self, *hands: Hand | None, beats_shown: int | None = None) -> None:
        """Open the cups, one after the other.

        :param beats_shown: the number of beats to put on the board: single cups, then events. None for all.
        """
        state, events = apply(self.state, Hands(hands))
        shown = [beat for event in told(events, state) for beat in beats(event, self.board)]
        for beat in shown[:beats_shown]:
            self.board.take(beat)
        self.state = state

    def _apply(self, item: Rolled | Play | Pledges) -> None:
        self.state, events = apply(self.state, item)
        for event in told(events, self.state):
            self.board.take(event)


def match_of(ruleset: Ruleset, names: Sequence[str], me: int | None, rng: Random) -> Iterator[Board]:
    """Play a match to its end with random moves. Yield the same board after each change."""
    board, players = Board(), people(names, me)
    state = new_match(ruleset, len(names))
    board.take(MatchStarted("ab" * 32, ruleset, players, me, state, table="Friday"))
    hands: list[Hand] = []
    while state.awaits is not Expect.OVER:
        match state.awaits:
            case Expect.ROLLED:
                hands = [tuple(sorted(rng.randint(1, 6) for _ in range(dice))) for dice in state.dice]
                item: Play | Rolled | Hands | Pledges | Stakes | Roll = Rolled()
            case Expect.HANDS:
                item = Hands(tuple(hand[:dice] for hand, dice in zip(hands, state.dice, strict=True)))
            case Expect.PLEDGES:
                item = Pledges(tuple(rng.choice(["redeemed", "cursed"]) for _ in names))
            case Expect.STAKES:
                if me is not None:
                    board.take(YourTurn(view(state, me), 1))
                    yield board
                item = Stakes(tuple((rng.randint(0, 1000), 1000, 0, 0) for _ in names))
            case Expect.ROLL:
                item = Roll(rng.randint(1, 6))
            case _:
                if state.turn == me and me is not None:
                    own = (
                        hands[me] if hands and len(hands[me]) == state.dice[me] and state.awaits is Expect.MOVE else ()
                    )
                    board.take(YourTurn(view(state, me, own), 1))
                    yield board
                legal = legal_moves(state)
                item = Play(state.turn, rng.choice([*legal[:6], *legal[-2:]]))
        state, events = apply(state, item)
        for event in told(events, state):
            for beat in beats(event, board):
                board.take(beat)
                yield board
        if isinstance(item, Rolled) and me is not None and hands[me]:
            board.take(DiceRolled(hands[me]))
            yield board
    board.take(MatchResult("ab" * 32, state.places, players, Path("friday.msgpack"), confirmed=True))
    yield board
