"""Positions, which hold everything agreed before one step, and how players left a match."""

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
"""The first step of a formed match. Before it, every player signs the genesis and a COMMIT for the first roll."""


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
"""The purposes that produce joint dice. If a player leaves before the reveals are complete, the roll is repeated."""


class Stage(Enum):
    """What a step requires of each player who owes it a message."""

    COMMIT = "commit"
    """A commitment to a secret, given before any secret is revealed."""
    LOCK = "lock"
    """A signature under the history so far."""
    OPEN = "open"
    """The committed secret: a share of a roll, the key of a hand, or a stake."""
    CHOOSE = "choose"
    """A person's choice: a move or a stake."""
    CONFIRM = "confirm"
    """A signature under the end of the match."""


class Commitments(NamedTuple):
    """Commitments that have not been opened yet."""

    context: Context
    given: Mapping[int, tuple[bytes, ...]]
    """By author. The last one is to the share or the stake; in a deal, the first one is to the hand key."""


class Deal(NamedTuple):
    """The dice in play. Together with a player's hand key they determine that player's hand."""

    context: Context
    joint: bytes
    """The beacon."""
    commitments: Mapping[int, bytes]
    """The commitments to the hand keys, by author."""


class Lock(NamedTuple):
    """A closed LOCK."""

    step: int
    tip: bytes
    state_hash: bytes
    """The state hash that the LOCK signs."""


class Position(NamedTuple):
    """Everything agreed before one step, and the kind of that step. Positions are immutable."""

    step: int
    tip: bytes
    purpose: Purpose
    place_in_script: int
    """The index of the step in the script of its purpose."""
    kind: int | None
    """The kind of message that the step takes; None after the end."""
    owed: tuple[int, ...]
    """The authors (roster indices, ascending) who each owe the step a message."""
    base: tuple[int, ...]
    """The authors who may vote on the steps after the last closed LOCK, unless they have left. The history before that
    LOCK determines them, however that LOCK closed."""
    players: tuple[int, ...]
    """The authors who were in the game when the last LOCK closed and have not left. They owe the next LOCK."""
    owed_locks: tuple[tuple[int, ...], ...] = ()
    """The authors who owed the last closed LOCK, then the authors who owed the one before it. Both groups are in the
    base, even if votes closed the LOCK."""
    carried: tuple[int, ...] = ()
    """The witnesses whose signatures were carried by messages since the last closed LOCK. They will be in the next
    base."""
    locks: tuple[Lock, ...] = ()
    """The last two closed LOCKs, oldest first. Later messages carry witnesses' signatures under the older."""
    root_step: int = 0
    """The first step that is not final: the one after the last closed LOCK or decision."""
    root_tip: bytes = b""
    """The tip before that step, which votes name as their root."""
    state: State | None = None
    """The state of the game; None until the seats are drawn."""
    seats: tuple[int, ...] = ()
    """The author in each seat."""
    left: tuple[int, ...] = ()
    """The authors who resigned or were voted absent, ascending. Players who went out by the rules are not included."""
    resigned: tuple[int, ...] = ()
    """The authors who resigned, ascending."""
    committed: Commitments | None = None
    """The commitments of the current script."""
    committed_ahead: Commitments | None = None
    """The commitments to the next deal, which came with the last showdown."""
    deal: Deal | None = None
    signed_hash: bytes = b""
    """The hash in the body of a LOCK, WITNESS or RESULT of this step; empty in other steps. It is the state hash, but a
    RESULT in a match with purses hashes the account too."""
    entries: Mapping[int, Signed] = {}
    """The messages that closed the previous step, by author; empty if votes closed a LOCK."""
    certificate: tuple[Signed, ...] = ()
    """The votes that closed the previous step: ABSENTs, then CLOSEs, each by author. Empty if none was needed."""
    happened: tuple[tuple[Event, State], ...] = ()
    """The events caused when the previous step closed, each with the state after the input that caused it."""
    is_without_state: bool = False
    """Whether state and events were dropped; :meth:`protocol.consensus.history.History.full` recomputes them."""

    @property
    def majority(self) -> int:
        """The smallest number of players that is more than half of the base."""
        return len(self.base) // 2 + 1

    @property
    def is_boundary(self) -> bool:
        """Whether a new root follows once every author who owes the step has signed. Also true after the last step."""
        return self.kind in (Kind.LOCK, None)

    @property
    def live(self) -> tuple[int, ...]:
        """The authors who are still in the game, ascending."""
        if self.state is None:
            return self.players
        return tuple(sorted(self.seats[seat] for seat in self.state.live))

    @property
    def out(self) -> tuple[int, ...]:
        """The authors who are out of the game: players who have left, players who still owe the next LOCK, and
        witnesses."""
        return () if self.state is None else tuple(self.seats[seat] for seat in self.state.out)

    def hand(self, author: int, hand_key: bytes) -> tuple[int, ...]:
        """Return the hand, in ascending order of faces, that ``hand_key`` opens in the current deal."""
        assert self.state is not None
        assert self.deal is not None
        dice = self.state.dice[self.seats.index(author)]
        return hand(self.deal.context, author, hand_key, self.deal.joint, dice)


class Departure(NamedTuple):
    """How one player left a match before its end."""

    step: int
    kind: int
    """The kind of message that the player owed in that step."""
    voters: tuple[int, ...]
    """The players who voted that no message came, without those who were voted absent themselves. Empty if the player
    resigned. Otherwise there is at least one, as voters and remaining players are each more than half of the base."""


def departure(chain: Sequence[Position], author: int) -> Departure | None:
    """Return how ``author`` left, as this chain of positions records it; None if they have not left."""
    for before, after in pairwise(chain):
        if author in after.left:
            assert before.kind is not None
            return Departure(before.step, before.kind, () if author in after.entries else voters(before, after))
    return None


def voters(before: Position, after: Position) -> tuple[int, ...]:
    """Return the authors of the votes that closed a step, without those voted absent in that step themselves."""
    voters = (vote.message.author for vote in after.certificate)
    return tuple(voter for voter in voters if voter not in before.owed or voter in after.entries)
