"""What honest programs sign, written down without running them: for files that are made message by message."""

from __future__ import annotations

from protocol.consensus.history import History
from protocol.consensus.kinds.commit import COMMITMENTS
from protocol.crypto.joint_randomness import Context, derive_secret, hand_commitment, share_commitment
from protocol.crypto.keys import MatchKey
from protocol.wire.canonical import Value
from protocol.wire.messages import Kind, Message, Signed, sign


def signed_by(record: History, author: int, seed: bytes, kind: Kind, body: Value) -> Signed:
    """Return a message of an author's for the open step, whether it is right or not."""
    position = record.position
    return sign(Message(record.match, position.step, position.tip, author, kind, body), MatchKey(seed))


def due(record: History, author: int, seed: bytes, move: str = "") -> Signed:
    """Return the message that an author owes the open step. Stakes are none that this knows of.

    :param move: what is said where a move is awaited.
    """
    position = record.position
    context = Context(record.match, position.step, position.tip)
    commitments = (
        hand_commitment(context, author, derive_secret(seed, context, "hand")),
        share_commitment(context, author, derive_secret(seed, context, "share")),
    )
    body: Value
    match position.kind:
        case Kind.COMMIT:
            body = commitments[-COMMITMENTS[position.purpose] :]
        case Kind.LOCK:
            body = position.lock + record.countersignatures()
        case Kind.REVEAL:
            assert position.standing is not None
            body = derive_secret(seed, position.standing.context, "share")
        case Kind.OPEN:
            assert position.deal is not None
            body = derive_secret(seed, position.deal.context, "hand"), *commitments
        case _:
            body = move
    assert position.kind is not None
    return signed_by(record, author, seed, position.kind, body)
