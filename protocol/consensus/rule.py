"""The rules of one kind of message: everything that the protocol defines for that kind.

:mod:`protocol.consensus.kinds` has the kinds and the scripts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from enum import Enum
from typing import ClassVar, Generic, NamedTuple, Protocol, TypeGuard, TypeVar

from p2pdice.engine import apply
from p2pdice.events import Transition
from p2pdice.moves import Input, Stake
from p2pdice.state import State
from protocol.consensus.position import Position, Purpose, Stage
from protocol.crypto.hashing import HASH_BYTES, Context
from protocol.errors import LocalError, PeerError
from protocol.wire.canonical import Value
from protocol.wire.genesis import Genesis
from protocol.wire.messages import Signed

Body = TypeVar("Body", bound=Value)


class RejectedMessageError(PeerError, ValueError):
    """The message does not belong in this history. This proves nothing about its author."""


class OtherStateError(RejectedMessageError):
    """A LOCK, WITNESS or RESULT signs a state other than the one that follows from this history, or a RESULT comes
    before the end or from a player who resigned. One of the two programs has a bug. The author may later sign a second
    one that contradicts it."""

    def __init__(self, reason: str = "another state: one of the two programs has a bug") -> None:
        super().__init__(reason)


class MisconductError(PeerError):
    """A player signed a message that the rules of the game or of the protocol forbid. ``evidence`` proves this to
    anybody."""

    def __init__(self, author: int, step: int, reason: str, evidence: tuple[Signed, ...]) -> None:
        super().__init__(reason)
        self.author = author
        """The roster index of the culprit."""
        self.step = step
        self.reason = reason
        self.evidence = evidence

    @classmethod
    def of(cls, signed: Signed, reason: str) -> MisconductError:
        """Return the error for a message that by itself proves misconduct."""
        return cls(signed.message.author, signed.message.step, reason, (signed,))


class LostStakeError(LocalError):
    """The store lost a stake that the node committed to, or the node's purse has changed: the node can only resign."""


class HistoryView(Protocol):
    """The part of the history that rules use."""

    @property
    def genesis(self) -> Genesis:
        """The genesis: players, rules and purses."""

    def is_countersigned(self, position: Position, witness: int, signature: bytes) -> bool:
        """Return whether this is a witness's signature under the last but one LOCK before a position."""


class Secrets(Protocol):
    """The secrets and choices from which a node produces the bodies of its own messages."""

    @property
    def author(self) -> int:
        """The node's roster index."""

    def context(self, position: Position) -> Context:
        """Return the context of the commitments made at a position."""

    def secret(self, context: Context, purpose: str) -> bytes:
        """Return the node's secret for a purpose: ``share``, ``hand`` or ``stake``."""

    def move(self, position: Position) -> str | None:
        """Return the owner's move. If there is none yet, ask the owner and return None."""

    def stake(self, position: Position) -> Stake | None:
        """Return the stake that the owner wants to commit to. If there is none yet, ask the owner and return None."""

    def sealed(self, context: Context) -> Stake | None:
        """Return the stake that the node committed to; None if the store has lost it."""

    def open_stake(self, stake: Stake) -> None:
        """Store the stake as bound in the node's purse, before anybody can see the STAKE.

        :raises LostStakeError: if the purse is not in the state named by the join record, or is bound to another stake.
        """

    def countersignatures(self) -> bytes:
        """Return the witnesses' signatures under the last but one LOCK, for this node's next message to carry."""


class Slot(Enum):
    """The slot that a message of some kind fills."""

    STEP = "step"
    """A step whose script takes the kind."""
    ANY_STEP = "any step"
    """Any step, other than a LOCK, in which the author owes a message."""
    END = "end"
    """Outside the history: one slot after the last step."""
    WITNESS = "witness"
    """Outside the history: one slot beside each LOCK, for a player who does not owe that LOCK and has not left."""
    VOTE = "vote"
    """Outside the history: one slot per kind in each voting round on a root."""


class Closing(NamedTuple, Generic[Body]):
    """A step that is being closed."""

    genesis: Genesis
    match: bytes
    before: Position
    """The position before the step."""
    bodies: dict[int, Body]
    """The bodies of those messages that are of the step's kind, by author."""
    is_spoilt: bool
    """Whether the current roll is discarded, because an author left who may have known its outcome."""
    transition: Transition | None
    """The transition that the step's move causes; None if the move was not judged just before."""

    @property
    def context(self) -> Context:
        """The context of commitments made in this step."""
        return Context(self.match, self.before.step, self.before.tip)


def feed(position: Position, item: Input) -> Position:
    """Return the position after the engine has taken an input."""
    assert position.state is not None
    return follow(position, apply(position.state, item))


def follow(position: Position, transition: Transition) -> Position:
    """Return the position after a transition of the game."""
    state, events = transition
    return position._replace(state=state, happened=(*position.happened, *((event, state) for event in events)))


class Rule(ABC, Generic[Body]):
    """The rules for all messages of one kind.

    Kinds that no script takes, such as votes, need no ``stage``, ``task`` or ``fold``.
    """

    kind: ClassVar[int]
    """The kind's number on the wire. :class:`~protocol.wire.messages.Kind` names those that other modules mention."""
    slot: ClassVar[Slot] = Slot.STEP
    shape: ClassVar[str]
    """The shape of a body, in words."""
    stage: ClassVar[Stage]
    """The duty of each player in a step that takes this kind."""
    choices: ClassVar[Collection[Purpose]] = ()
    """The purposes for which a person has to choose first, no matter what the stage is."""
    task: ClassVar[str]
    """The duty of a player whose message is missing, as a verb phrase such as ``move``."""

    @property
    def name(self) -> str:
        """The name of the kind in capital letters, derived from the name of the class."""
        return type(self).__name__.removesuffix("Rule").upper()

    @abstractmethod
    def fits(self, body: object) -> bool:
        """Return whether a body has the right shape. Checked once, when a message is parsed."""

    @abstractmethod
    def deed(self, body: Body) -> str:
        """Return a phrase for what an author did by signing this body, to follow the author's name in a sentence."""

    def owed(self, state: State | None, seats: tuple[int, ...], players: tuple[int, ...]) -> tuple[int, ...]:
        """Return the authors who each owe a step a message of this kind, ascending. By default all who are in the game.

        :param seats: the author in each seat.
        :param players: the authors who owe the next LOCK.
        """
        return players if state is None else tuple(sorted([seats[seat] for seat in state.live]))

    def judge(self, history: HistoryView, position: Position, signed: Signed, body: Body) -> Transition | None:
        """Judge a message of an author who owes one of this kind, by the position before its step.

        Return the transition that a move causes in the game; None for other kinds.

        :raises RejectedMessageError: if the message does not belong there.
        :raises MisconductError: if the message breaks a rule.
        """
        return None

    def fold(self, closing: Closing[Body], position: Position) -> Position:
        """Apply the messages of a step that closes, and return the position that results.

        :param position: the position before the step, without the players who left because they sent no message or a
            RESIGN.
        """
        return position

    def binds(self, position: Position, witnessed: Collection[int]) -> bool:
        """Return whether a message of this kind binds: it must be on the disk before it is sent (SPEC.md, §11).

        A message binds if a node that had lost it could sign another one in its place. That is impossible if the body
        follows from the match seed and from data already on the disk.

        :param witnessed: the witnesses whose signatures under the last but one LOCK are on the disk.
        """
        return True

    def produce(self, position: Position, secrets: Secrets) -> Body | None:
        """Return the body of the message that a node owes; None if its owner has to choose first. Also None for votes,
        which nobody owes.

        :raises LostStakeError: if a stake cannot be opened.
        """
        return None

    def hand_key(self, body: Body) -> bytes | None:
        """Return the author's hand key in a body; None for kinds that contain none."""
        return None


def is_hash(value: object) -> TypeGuard[bytes]:
    """Return whether a value is a byte string with the length of a hash, which keys and shares have too."""
    return type(value) is bytes and len(value) == HASH_BYTES


def short(value: object) -> str:
    """Return the start of a hash, key or share: long enough to tell two of them apart."""
    return f"{value.hex()[:8]}…" if isinstance(value, bytes) and value else "nothing"


def listed(values: tuple[bytes, ...]) -> str:
    """Return the starts of several hashes, for display."""
    return " and ".join(map(short, values))
