"""What honest programs sign, written down without running them: for files that are made message by message."""

from __future__ import annotations

from collections.abc import Callable

from p2pdice import Bid, view
from protocol.consensus.history import History
from protocol.consensus.kinds.commit import COMMITMENTS
from protocol.crypto.joint_randomness import Context, derive_secret, hand_commitment, share_commitment
from protocol.crypto.keys import MatchKey
from protocol.wire.canonical import Value
from protocol.wire.messages import Kind, Message, Signed, sign


def signed_by(history: History, author: int, seed: bytes, kind: int, body: Value) -> Signed:
    """Return a message of an author's for the open step, whether it is right or not."""
    position = history.position
    return sign(Message(history.match, position.step, position.tip, author, kind, body), MatchKey(seed))


def call(history: History) -> str:
    """Return a move of the player on turn: if possible, one that ends the round."""
    position = history.position
    assert position.state is not None
    legal = view(position.state, position.seats.index(position.owed[0]), ()).legal
    return str(min(legal, key=lambda move: isinstance(move, Bid)))


def due(history: History, author: int, seed: bytes, move: Callable[[History], str] = call) -> Signed:
    """Return the message that an author owes the open step. Stakes are none that this knows of.

    :param move: tells what is said where a move is awaited.
    """
    position = history.position
    context = Context(history.match, position.step, position.tip)
    commitments = (
        hand_commitment(context, author, derive_secret(seed, context, "hand")),
        share_commitment(context, author, derive_secret(seed, context, "share")),
    )
    body: Value
    match position.kind:
        case Kind.COMMIT:
            body = commitments[-COMMITMENTS[position.purpose] :]
        case Kind.LOCK:
            body = position.lock + history.countersignatures()
        case Kind.REVEAL:
            assert position.standing is not None
            body = derive_secret(seed, position.standing.context, "share")
        case Kind.OPEN:
            assert position.deal is not None
            body = derive_secret(seed, position.deal.context, "hand"), *commitments
        case _:
            body = move(history)
    assert position.kind is not None
    return signed_by(history, author, seed, position.kind, body)
