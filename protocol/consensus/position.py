"""Positions: all that is agreed before one step; and how players left on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, StrEnum
from itertools import pairwise
from typing import Final, NamedTuple

from p2pdice.events import Event
from p2pdice.state import State
from protocol.crypto.hashing import Context, hand
from protocol.wire.messages import Kind, Signed

FORMED: Final = 2
"""The first step of a formed match. In the steps before it everybody signs the genesis and COMMIT of the first roll."""


class Purpose(StrEnum):
    """What a step is for."""

    FORMING = "forming"
    SEATING = "seating"
    DEAL = "deal"
    TURN = "turn"
    PUBLIC_DIE = "public die"
    STAKES = "stakes"
    SHOWDOWN = "showdown"
    ENDING = "ending"
    END = "end"


ROLLS: Final = (Purpose.SEATING, Purpose.DEAL, Purpose.PUBLIC_DIE)
"""The purposes that make joint dice. If a player leaves who has committed to them, they are made again."""


class Stage(Enum):
    """What each player who owes a step a message gives in it."""

    COMMIT = "commit"
    """A commitment to a secret. Nobody knows anything yet."""
    LOCK = "lock"
    """A signature under the history so far."""
    OPEN = "open"
    """The secret itself: a share of a roll, the key of a cup, a stake."""
    CHOOSE = "choose"
    """A choice by a person: a move or a stake."""
    CONFIRM = "confirm"
    """A signature under the end of the match."""


class Commitments(NamedTuple):
    """Commitments that have not been opened yet."""

    context: Context
    given: Mapping[int, tuple[bytes, ...]]
    """By author; the last one is to the share or the stake, the one before it (in a deal) to the hand key."""


class Deal(NamedTuple):
    """The dice in play. With the hand key of a player they give the player's hand."""

    context: Context
    joint: bytes
    """The beacon."""
    commitments: Mapping[int, bytes]
    """To the hand keys, by author."""


class Lock(NamedTuple):
    """A LOCK that was closed."""

    step: int
    tip: bytes
    state: bytes
    """The hash that it signs."""


class Position(NamedTuple):
    """All that is agreed before one step, and the kind of that step. It never changes; another position follows it."""

    step: int
    tip: bytes
    purpose: Purpose
    place_in_script: int
    """Index into the script of the purpose."""
    kind: int | None
    """The kind of message that the step takes; None at the end."""
    owed: tuple[int, ...]
    """Authors (roster indices, ascending) who each owe the step a message."""
    base: tuple[int, ...]
    """Authors who may vote on the steps since the last closed LOCK, unless they have left. They follow from the history
    before that LOCK, however it was closed."""
    players: tuple[int, ...]
    """Authors who were in the game when the last LOCK was closed, and have not left: they owe the next LOCK."""
    signers: tuple[tuple[int, ...], ...] = ()
    """Authors who owed the last closed LOCK, and those who owed the one before: they stay in the base for that long."""
    carried: tuple[int, ...] = ()
    """Witnesses whose signatures were carried since the last closed LOCK: they will be in the next base."""
    locks: tuple[Lock, ...] = ()
    """The last but one closed LOCK and the last. What follows the last one carries the signatures of witnesses under
    the other."""
    root: int = 0
    """The first step that is not final: that behind the last closed LOCK or decision."""
    root_tip: bytes = b""
    """Its tip: votes are about it."""
    state: State | None = None
    """The state of the game; None until the seats are drawn."""
    seats: tuple[int, ...] = ()
    """Author by seat."""
    left: tuple[int, ...] = ()
    """Authors who resigned or were voted absent, ascending. Players who went out by the rules are not among them."""
    resigned: tuple[int, ...] = ()
    """Authors who resigned, ascending."""
    committed: Commitments | None = None
    """The commitments of the script under way."""
    committed_ahead: Commitments | None = None
    """The commitments to the next deal that came with the last showdown."""
    deal: Deal | None = None
    lock: bytes = b""
    """The state hash in the body of a LOCK, WITNESS or RESULT of this step; empty in other steps. With purses a RESULT
    also stands for the account."""
    entries: Mapping[int, Signed] = {}
    """The messages that closed the step before, by author; none of a LOCK that votes have closed."""
    certificate: tuple[Signed, ...] = ()
    """The votes that closed the step before: first the ABSENTs that back them, then the CLOSEs, each by author. Empty
    if no message was missing."""
    happened: tuple[tuple[Event, State], ...] = ()
    """The events of the game when the step before closed, each with the state after its input."""
    is_without_state: bool = False
    """State and events were dropped to save memory. :meth:`protocol.consensus.history.History.full` computes them
    again."""

    @property
    def majority(self) -> int:
        """The smallest number that is more than half of the base."""
        return len(self.base) // 2 + 1

    @property
    def is_boundary(self) -> bool:
        """Whether a new root follows when all who owe the step have signed. Nothing follows the end."""
        return self.kind in (Kind.LOCK, None)

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

    def hand(self, author: int, hand_key: bytes) -> tuple[int, ...]:
        """Return the hand that ``hand_key`` opens in the deal in play: faces, ascending."""
        assert self.state is not None
        assert self.deal is not None
        dice = self.state.dice[self.seats.index(author)]
        return hand(self.deal.context, author, hand_key, self.deal.joint, dice)


class Departure(NamedTuple):
    """How one player left a match before its end."""

    step: int
    kind: int
    """The kind of message that the player owed there."""
    voters: tuple[int, ...]
    """The players who voted that nothing came and were not voted absent themselves. Empty if the player resigned.
    Otherwise at least one, as those who vote and those who stay are each more than half of the base."""


def departure(chain: Sequence[Position], author: int) -> Departure | None:
    """Return how ``author`` left the history with these positions; None if they did not."""
    for before, after in pairwise(chain):
        if author in after.left:
            assert before.kind is not None
            return Departure(before.step, before.kind, () if author in after.entries else voters(before, after))
    return None


def voters(before: Position, after: Position) -> tuple[int, ...]:
    """Return the authors of the votes that closed a step, without those who were voted absent in it themselves."""
    voters = (vote.message.author for vote in after.certificate)
    return tuple(voter for voter in voters if voter not in before.owed or voter in after.entries)
