"""Positions: what is agreed before one step."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import NamedTuple

from p2pdice import Event, State
from protocol.consensus.absence import majority
from protocol.crypto.joint_randomness import Context, hand
from protocol.wire.messages import Kind, Signed

Transition = tuple[State, tuple[Event, ...]]
"""What a move makes of the game, and the events on the way."""


class Purpose(StrEnum):
    """What a step is for."""

    FORMING = "forming"
    SEATING = "seating"
    DEAL = "deal"
    TURN = "turn"
    PUBLIC_DIE = "public die"
    STAKES = "stakes"
    SHOWDOWN = "showdown"
    END = "end"


class Stage(Enum):
    """What a step takes from each player who owes it something."""

    COMMIT = "commit"
    """A commitment to a secret. Nobody knows anything yet."""
    LOCK = "lock"
    """A signature under all that went before."""
    OPEN = "open"
    """The secret itself: a share of a roll, the key of a cup, a stake."""
    CHOOSE = "choose"
    """What a person decides: a move, or how much to stake."""
    CONFIRM = "confirm"
    """A signature under the end of the match."""


class Standing(NamedTuple):
    """Commitments that have not been opened yet."""

    context: Context
    commitments: Mapping[int, tuple[bytes, ...]]
    """By author; the last one is to the share or the stake, the one before it (in a deal) to the hand key."""


class Deal(NamedTuple):
    """The dice in play: with a hand key, all that is needed to compute its hand."""

    context: Context
    joint: bytes
    """The beacon."""
    commitments: Mapping[int, bytes]
    """To the hand keys, by author."""


class Position(NamedTuple):
    """All that is agreed before one step, and what that step is. Never changed, only followed by another."""

    step: int
    tip: bytes
    purpose: Purpose
    stage: int
    """Index into the script of the purpose."""
    kind: Kind | None
    """The kind of message that the step takes; None at the end."""
    owed: tuple[int, ...]
    """Authors (roster indices, ascending) from whom the step wants a message each."""
    base: tuple[int, ...]
    """Authors who can vote since the last complete LOCK: more than half of them is a majority. They follow from the
    history before it, so that they are the same whatever closed it."""
    players: tuple[int, ...]
    """Authors who were in the game when the last complete LOCK was opened, and have not left: they owe the next one."""
    present: tuple[int, ...] = ()
    """Authors who are in the next base, too, unless they leave: the players who owed the last complete LOCK, and the
    witnesses whose signatures of the LOCK before it its messages carry."""
    witnessed: bytes = b""
    """The tip of the last complete LOCK, and the hash that it signs: what a witness of it has signed."""
    locked: int = 0
    """The step of that LOCK. Nothing before it can change any more."""
    state: State | None = None
    """The engine's, once the seats are drawn."""
    seats: tuple[int, ...] = ()
    """Author by seat."""
    left: tuple[int, ...] = ()
    """Authors who resigned or were found absent, ascending. Whoever is merely eliminated is not among them."""
    resigned: tuple[int, ...] = ()
    """Those of them who resigned, ascending."""
    standing: Standing | None = None
    """The commitments of the script under way."""
    riding: Standing | None = None
    """The commitments to the next deal that came with the last showdown."""
    deal: Deal | None = None
    lock: bytes = b""
    """The hash that a LOCK or RESULT of this step signs; empty where neither is possible."""
    entries: Mapping[int, Signed] = {}
    """The messages that closed the step before, by author."""
    certificate: tuple[Signed, ...] = ()
    """If somebody was missing when the step before was closed, the votes that say so: the ABSENTs that back them, then
    the CLOSEs, each by author."""
    happened: tuple[tuple[Event, State], ...] = ()
    """What closing the step before made of the game, event by event, with the state after each input."""
    is_thin: bool = False
    """State and events were dropped to save memory: :meth:`protocol.consensus.history.History.full` works them out
    again."""

    @property
    def majority(self) -> int:
        """How many of the base are more than half of it."""
        return majority(self.base)

    @property
    def live(self) -> tuple[int, ...]:
        """Authors who are in the game."""
        if self.state is None:
            return self.players
        return tuple(sorted(self.seats[seat] for seat in self.state.live))

    @property
    def witnesses(self) -> tuple[int, ...]:
        """Authors who are out of the game, of whom no more than a LOCK is wanted."""
        return () if self.state is None else tuple(self.seats[seat] for seat in self.state.out)

    @property
    def is_choice(self) -> bool:
        """The step waits for what a person chooses."""
        return self.kind is Kind.MOVE or (self.kind is Kind.COMMIT and self.purpose is Purpose.STAKES)

    def hand(self, author: int, hand_key: bytes) -> tuple[int, ...]:
        """Return the hand that ``hand_key`` opens in the deal in play: faces, ascending."""
        assert self.state is not None
        assert self.deal is not None
        dice = self.state.dice[self.seats.index(author)]
        return hand(self.deal.context, author, hand_key, self.deal.joint, dice)
