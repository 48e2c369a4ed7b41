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
    """All that is agreed before one step, and the kind of that step. It never changes; another position follows it."""

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
    """Authors who can vote on the steps since the last complete LOCK: more than half of them are a majority. They
    follow from the history before that LOCK, so the base does not depend on how the LOCK was closed."""
    players: tuple[int, ...]
    """Authors who were in the game when the last complete LOCK opened, and have not left: they owe the next LOCK."""
    present: tuple[int, ...] = ()
    """Authors who will be in the next base, too, unless they leave: the players who owed the last complete LOCK, and
    the witnesses whose signatures it carries."""
    witnessed: bytes = b""
    """The tip of the last complete LOCK and the hash that it signs. Its witnesses sign the same."""
    locked: int = 0
    """The step of the last complete LOCK. Nothing before it can change any more."""
    state: State | None = None
    """The state of the game; None until the seats are drawn."""
    seats: tuple[int, ...] = ()
    """Author by seat."""
    left: tuple[int, ...] = ()
    """Authors who resigned or were voted absent, ascending. Players who only lost all their dice are not among them."""
    resigned: tuple[int, ...] = ()
    """Authors who resigned, ascending."""
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
    """The votes that closed the step before without somebody: first the ABSENTs that back them, then the CLOSEs, each
    by author. Empty if nobody was missing."""
    happened: tuple[tuple[Event, State], ...] = ()
    """The events of the game when the step before closed, each with the state after its input."""
    is_thin: bool = False
    """State and events were dropped to save memory; :meth:`protocol.consensus.history.History.full` computes them
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
        """Authors who are out of the game. They may sign beside a LOCK, and owe nothing."""
        return () if self.state is None else tuple(self.seats[seat] for seat in self.state.out)

    @property
    def is_choice(self) -> bool:
        """The step waits for the choice of a person."""
        return self.kind is Kind.MOVE or (self.kind is Kind.COMMIT and self.purpose is Purpose.STAKES)

    def hand(self, author: int, hand_key: bytes) -> tuple[int, ...]:
        """Return the hand that ``hand_key`` opens in the deal in play: faces, ascending."""
        assert self.state is not None
        assert self.deal is not None
        dice = self.state.dice[self.seats.index(author)]
        return hand(self.deal.context, author, hand_key, self.deal.joint, dice)
