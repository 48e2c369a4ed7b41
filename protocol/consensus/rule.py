"""The rule of one kind of message: everything that the protocol knows about that kind.

:mod:`protocol.consensus.kinds` has the kinds and their scripts.
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
    """The message does not belong in this history. That proves nothing about its author."""


class OtherStateError(RejectedMessageError):
    """A LOCK, WITNESS or RESULT signs another state than the one that follows from this history, or an end where none
    is: one of the two programs has a bug. The author may sign another one later, and so contradict it."""

    def __init__(self, reason: str = "another state: one of the two programs has a bug") -> None:
        super().__init__(reason)


class MisconductError(PeerError):
    """A player signed a message that the rules of the game or of the protocol forbid. ``evidence`` proves it to
    anybody."""

    def __init__(self, author: int, step: int, reason: str, evidence: tuple[Signed, ...]) -> None:
        super().__init__(reason)
        self.author = author
        """Roster index of the culprit."""
        self.step = step
        self.reason = reason
        self.evidence = evidence

    @classmethod
    def of(cls, signed: Signed, reason: str) -> MisconductError:
        """Return the error for a message that proves misconduct by itself."""
        return cls(signed.message.author, signed.message.step, reason, (signed,))


class LostStakeError(LocalError):
    """The store lost a stake that the node has committed to, or its purse has changed: the node can only resign."""


class Countersigned(Protocol):
    """What a rule asks the history."""

    @property
    def genesis(self) -> Genesis:
        """Players, rules and purses."""

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


class Slot(Enum):
    """The slot that messages of a kind fill."""

    STEP = "step"
    """That of a step whose script takes the kind."""
    ANY_STEP = "any step"
    """Any step in which its author owes a message."""
    END = "end"
    """Outside the history: one after the last step."""
    WITNESS = "witness"
    """Outside the history: one beside each LOCK, for a player who does not owe it."""
    VOTE = "vote"
    """Outside the history: one of each kind in each round of votes on a root."""


class Closing(NamedTuple, Generic[Body]):
    """A step while it closes."""

    genesis: Genesis
    match: bytes
    before: Position
    """The position before the step."""
    bodies: dict[int, Body]
    """The bodies of the kind that the step takes, by author."""
    is_spoilt: bool
    """The roll under way is thrown away: an author left who may have known its outcome."""
    transition: Transition | None
    """The game after the move of the step; None if it was not judged just now."""

    @property
    def context(self) -> Context:
        """Where the commitments are made that come with this step."""
        return Context(self.match, self.before.step, self.before.tip)


def feed(position: Position, item: Input) -> Position:
    """Give the engine an input."""
    assert position.state is not None
    return follow(position, apply(position.state, item))


def follow(position: Position, transition: Transition) -> Position:
    """Go on with the game after an input."""
    state, events = transition
    return position._replace(state=state, happened=(*position.happened, *((event, state) for event in events)))


class Rule(ABC, Generic[Body]):
    """The rule of all messages of one kind.

    Kinds that no script takes, such as votes, need no ``stage``, ``task`` and ``fold``.
    """

    kind: ClassVar[int]
    """The number on the wire. :class:`~protocol.wire.messages.Kind` names those that other modules mention."""
    slot: ClassVar[Slot] = Slot.STEP
    shape: ClassVar[str]
    """The shape of the body in words."""
    stage: ClassVar[Stage]
    """The duty of each player in a step that takes this kind. Players may resign instead, unless it is an opening."""
    choices: ClassVar[Collection[Purpose]] = ()
    """The purposes for which a person has to choose first, whatever the stage."""
    task: ClassVar[str]
    """The duty of a player whose message is missing, in words: ``move``."""

    @property
    def name(self) -> str:
        """The name of the kind: that of the class, in capital letters."""
        return type(self).__name__.removesuffix("Rule").upper()

    @abstractmethod
    def fits(self, body: object) -> bool:
        """Tell whether a body has the shape. It is asked once, when a message is parsed."""

    @abstractmethod
    def deed(self, body: Body) -> str:
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

    def fold(self, closing: Closing[Body], position: Position) -> Position:
        """Apply the messages of a step that closes.

        :param position: the one before the step, after the players have left who owed a message and gave none.
        """
        return position

    def binds(self, position: Position, witnessed: Collection[int]) -> bool:
        """Tell whether a node could sign something else at a position, had it forgotten its message of this kind there:
        then the message must be on the disk before it leaves (SPEC.md, §11).

        It could not if the body follows from the match seed and from what is on the disk already.

        :param witnessed: the witnesses whose signatures under the last but one LOCK are on the disk.
        """
        return True

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


def short(value: object) -> str:
    """Return the start of a hash, key or share, enough to tell two of them apart."""
    return f"{value.hex()[:8]}…" if isinstance(value, bytes) and value else "nothing"


def listed(values: tuple[bytes, ...]) -> str:
    """Return the starts of several hashes."""
    return " and ".join(map(short, values))
