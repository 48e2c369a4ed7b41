"""The rule of one kind of message: everything that the protocol knows about that kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from enum import Enum
from typing import ClassVar, Generic, Protocol, TypeGuard

from p2pdice.moves import Stake
from p2pdice.state import State
from protocol.consensus.closing import Body, Closing
from protocol.consensus.position import Position, Purpose, Stage, Transition
from protocol.crypto.hashing import HASH_BYTES, Context
from protocol.errors import LocalError
from protocol.limits import PLAYERS
from protocol.wire.genesis import Genesis
from protocol.wire.messages import Signed


class Countersigned(Protocol):
    """The history, as far as a rule asks about it."""

    @property
    def genesis(self) -> Genesis:
        """Players, rules and purses."""

    @property
    def match(self) -> bytes:
        """The match id."""

    def is_countersigned(self, position: Position, witness: int, signature: bytes) -> bool:
        """Tell whether an author is a witness, and this is their signature under the last but one LOCK before a
        position."""


class Secrets(Protocol):
    """The secrets and choices from which a node makes the bodies of its own messages."""

    @property
    def author(self) -> int:
        """The node's roster index."""

    def context(self, position: Position) -> Context:
        """Return the context of commitments made at a position."""

    def secret(self, context: Context, purpose: str) -> bytes:
        """Return the node's secret for a purpose: ``share``, ``hand`` or ``stake``."""

    def move(self, position: Position) -> str | None:
        """Return the owner's move; None if there is none yet, and then the owner is asked."""

    def stake(self, position: Position) -> Stake | None:
        """Return the owner's stake to commit to; None if there is none yet, and then the owner is asked."""

    def sealed(self, context: Context) -> Stake | None:
        """Return the stake that the node committed to; None if the store lost it."""

    def open_stake(self, stake: Stake) -> None:
        """Keep that the node's purse stakes this, before the message can be seen.

        :raises LostStakeError: if the purse is not as it was brought, or has another stake.
        """

    def countersignatures(self) -> bytes:
        """Return the witnesses' signatures under the last but one LOCK, as this node's next message carries them."""


class LostStakeError(LocalError):
    """The store lost a stake that the node has committed to, or its purse has changed: the node can only resign."""


class Slot(Enum):
    """The slot that messages of a kind fill."""

    STEP = "step"
    """That of a step whose script takes the kind."""
    ANY_STEP = "any step"
    """Any step in which its author owes a message."""
    END = "end"
    """Outside the history: one after the last step."""
    LOCK = "lock"
    """Outside the history: one beside each LOCK, for a player who does not owe it."""
    VOTE = "vote"
    """Outside the history: one of each kind in each round of votes on a root."""


class Rule(ABC, Generic[Body]):
    """The rule of all messages of one kind.

    Kinds that no script takes, such as votes, need no ``purposes``, ``stage``, ``task`` and ``fold``.
    """

    kind: ClassVar[int]
    """The number on the wire. :class:`~protocol.wire.messages.Kind` names those that other modules mention."""
    slot: ClassVar[Slot] = Slot.STEP
    shape: ClassVar[str]
    """The shape of the body in words."""
    purposes: ClassVar[Collection[Purpose]] = ()
    """The purposes whose scripts take this kind. A script has its kinds in the order of their stages, then of their
    numbers."""
    stage: ClassVar[Stage]
    """The duty of each player in a step that takes this kind. Players may resign instead, unless it is an opening."""
    choices: ClassVar[Collection[Purpose]] = ()
    """The purposes for which a person has to choose first, whatever the stage."""
    task: ClassVar[str]
    """The duty of a player whose message is missing, in words: ``move``."""

    @property
    def name(self) -> str:
        """The name of the kind: that of the class, in capital letters."""
        return type(self).__name__.upper()

    @abstractmethod
    def fits(self, body: object) -> bool:
        """Tell whether a body has the shape. It is asked once, when a message is parsed."""

    @abstractmethod
    def statement(self, body: Body) -> str:
        """Return what an author did by signing the body, to follow the author's name in a sentence."""

    def owed(self, state: State | None, seats: tuple[int, ...], players: tuple[int, ...]) -> tuple[int, ...]:
        """Return the authors who each owe a step a message of this kind, ascending: those who are in the game.

        :param seats: author by seat.
        :param players: those who owe the next LOCK.
        """
        return players if state is None else tuple(sorted([seats[seat] for seat in state.live]))

    def judge(self, history: Countersigned, position: Position, signed: Signed, body: Body) -> Transition | None:
        """Judge a message of an author who owes one of this kind, by the position before its step.

        Return the transition that a move causes in the game; None for other kinds.

        :raises RejectedMessageError: if it does not belong there.
        :raises MisconductError: if it breaks a rule.
        """
        return None

    def fold(self, closing: Closing[Body]) -> None:
        """Apply the messages of a step that closes."""

    def produce(self, position: Position, secrets: Secrets) -> Body | None:
        """Return the body of the message that a node owes; None if its owner has to choose first. No vote is owed.

        :raises LostStakeError: if a stake cannot be opened.
        """
        return None

    def hand_key(self, body: Body) -> bytes | None:
        """Return the key of its author's hand that a body shows; None for kinds that show none."""
        return None


def is_hash(value: object) -> TypeGuard[bytes]:
    """Tell whether a value is a byte string as long as a hash, a key or a share."""
    return type(value) is bytes and len(value) == HASH_BYTES


def are_hashes(value: object, counts: tuple[int, ...]) -> bool:
    """Tell whether a value is an array of hashes, with one of ``counts`` for its length."""
    return type(value) is tuple and len(value) in counts and all(map(is_hash, value))


def is_round(value: object) -> bool:
    """Tell whether a value can number a round of votes, or a step."""
    return type(value) is int and 0 <= value < 2**32


def is_value(value: object) -> bool:
    """Tell whether a value can be that of a vote: a step, its tip, and what closes it."""
    if type(value) is not tuple or len(value) != 3 or not is_round(value[0]) or not is_hash(value[1]):
        return False
    entries = value[2]
    if type(entries) is not tuple:
        return is_hash(entries)
    return 0 < len(entries) <= PLAYERS and all(type(each) is bytes and len(each) in (0, HASH_BYTES) for each in entries)


def told(value: tuple[int, bytes, object]) -> str:
    """Return what a vote would go on with, in words."""
    entries = value[2]
    return f"step {value[0]} holds {listed(entries) if isinstance(entries, tuple) else f'the state {short(entries)}'}"


def short(value: object) -> str:
    """Return the start of a hash, key or share, enough to tell two of them apart."""
    return f"{value.hex()[:8]}…" if isinstance(value, bytes) and value else "nothing"


def listed(values: tuple[bytes, ...]) -> str:
    """Return the starts of several hashes."""
    return " and ".join(map(short, values))
