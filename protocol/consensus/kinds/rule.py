"""The rule of one kind of message: everything that the protocol knows about that kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, Protocol, TypeGuard

from p2pdice import Stake
from protocol.consensus.closing import Body, Closing
from protocol.consensus.position import Position, Stage, Transition
from protocol.crypto.hashing import HASH_BYTES
from protocol.crypto.joint_randomness import Context
from protocol.errors import LocalError
from protocol.limits import PLAYERS
from protocol.wire.messages import Kind, Signed


class Countersigned(Protocol):
    """What a rule asks of the history."""

    def is_countersigned(self, position: Position, witness: int, signature: bytes) -> bool:
        """Tell whether an author is a witness and has signed the last complete LOCK before ``position`` so."""


class Secrets(Protocol):
    """What the bodies of a node's own messages are made of."""

    @property
    def author(self) -> int:
        """The node's roster index."""

    def context(self, position: Position) -> Context:
        """Return the context of commitments made at a position."""

    def secret(self, context: Context, purpose: str) -> bytes:
        """Return the node's secret for a purpose: ``share``, ``hand`` or ``stake``."""

    def move(self, position: Position) -> str | None:
        """Return the owner's move; None while there is none: then the owner is asked."""

    def stake(self, position: Position) -> Stake | None:
        """Return the owner's stake to commit to; None while there is none: then the owner is asked."""

    def sealed(self, context: Context) -> Stake | None:
        """Return the stake that the node committed to; None if the store lost it."""

    def countersignatures(self) -> bytes:
        """Return the signatures of witnesses under the last complete LOCK, as the next LOCK carries them."""


class LostStakeError(LocalError):
    """The store lost the stake that was committed to, so it cannot be opened: its author can only resign."""


class Rule(ABC, Generic[Body]):
    """What is true of every message of one kind.

    Kinds that no step takes, such as votes, need no ``stage``, ``task`` and ``fold``.
    """

    kind: ClassVar[Kind]
    shape: ClassVar[str]
    """The shape of the body in words."""
    stage: ClassVar[Stage]
    """What a step that takes this kind wants of each player."""
    task: ClassVar[str]
    """What a player whose message is missing still has to do, in words."""

    @abstractmethod
    def fits(self, body: object) -> bool:
        """Tell whether a body has the shape. It is asked once, when a message is parsed."""

    @abstractmethod
    def statement(self, body: Body) -> str:
        """Return what an author did by signing the body. The sentence begins with the author's name."""

    def judge(self, history: Countersigned, position: Position, signed: Signed, body: Body) -> Transition | None:
        """Hold a message against the position before its step; return what a move makes of the game.

        It is by an author who owes a message of this kind.

        :raises RejectedMessageError: if it does not belong there.
        :raises MisconductError: if it breaks a rule.
        """
        return None

    def fold(self, closing: Closing[Body]) -> None:
        """Change what the messages of a step change when it closes."""

    def produce(self, position: Position, secrets: Secrets) -> Body | None:
        """Return the body of the message that a node owes; None as long as its owner has to decide. No vote is owed.

        :raises LostStakeError: if a stake cannot be opened.
        """
        return None


def is_hash(value: object) -> TypeGuard[bytes]:
    """Tell whether a value is a byte string as long as a hash, a key or a share."""
    return type(value) is bytes and len(value) == HASH_BYTES


def are_hashes(value: object, counts: tuple[int, ...]) -> bool:
    """Tell whether a value is an array of so many hashes."""
    return type(value) is tuple and len(value) in counts and all(map(is_hash, value))


def is_round(value: object) -> bool:
    """Tell whether a value can number a round of votes."""
    return type(value) is int and 0 <= value < 2**32


def are_entries(value: object) -> bool:
    """Tell whether a value can say what a step is closed with: the id of a message, or nothing, by owing author."""
    return (
        type(value) is tuple
        and 0 < len(value) <= PLAYERS
        and all(type(each) is bytes and len(each) in (0, HASH_BYTES) for each in value)
    )


def short(value: object) -> str:
    """Return the start of a hash, key or share, enough to tell two of them apart."""
    return f"{value.hex()[:8]}…" if isinstance(value, bytes) and value else "nobody"


def listed(values: tuple[bytes, ...]) -> str:
    """Return the starts of several hashes."""
    return " and ".join(map(short, values))
