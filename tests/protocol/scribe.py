"""Builds the messages that honest nodes would sign, without running nodes, to write files message by message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from p2pdice.moves import Bid
from p2pdice.views import view
from protocol.consensus.history import History
from protocol.consensus.kinds import COMMITMENTS
from protocol.consensus.position import Purpose
from protocol.crypto.hashing import (
    Context,
    derive_secret,
    hand_commitment,
    share_commitment,
    stake_commitment,
)
from protocol.crypto.keys import MatchKey
from protocol.wire.canonical import Value
from protocol.wire.messages import Kind, Message, Signed, sign

STAKE: Final = (100, 0)
"""The coins and run tickets that every player stakes."""


def signed_by(history: History, author: int, seed: bytes, kind: int, body: Value) -> Signed:
    """Return a signed message for the open step, without checking that it is valid there."""
    position = history.position
    return sign(Message(history.match, position.step, position.tip, author, kind, body), MatchKey(seed))


def votes_to_close(
    history: History, author: int, key: MatchKey, entries: tuple[bytes, ...] | bytes = (), kind: Kind = Kind.CLOSE
) -> Signed:
    """Return a vote of round 0 that closes the open step with the messages held, or with ``entries``."""
    position, root = history.position, history.root
    held = tuple(history.held[each].id if each in history.held else b"" for each in position.owed)
    value = (position.step, position.tip, entries or (position.signed_hash if position.kind is Kind.LOCK else held))
    body = (0, value, -1) if kind is Kind.ABSENT else (0, value)
    return sign(Message(history.match, root.step, root.tip, author, kind, body), key)


def call(history: History) -> str:
    """Return a move of the player on turn: one that is not a bid, if there is one."""
    position = history.position
    assert position.state is not None
    legal = view(position.state, position.seats.index(position.owed[0]), ()).legal
    return str(min(legal, key=lambda move: isinstance(move, Bid)))


def due(history: History, author: int, seed: bytes, move: Callable[[History], str] = call) -> Signed:
    """Return the message that an author owes the open step.

    :param move: chooses the move if one is due. All players stake :data:`STAKE`.
    """
    position = history.position
    context = Context(history.match, position.step, position.tip)
    commitments = (
        hand_commitment(context, author, derive_secret(seed, context, "hand")),
        share_commitment(context, author, derive_secret(seed, context, "share")),
    )
    body: Value
    match position.kind:
        case Kind.COMMIT if position.purpose is Purpose.STAKES:
            body = (stake_commitment(context, author, *STAKE, derive_secret(seed, context, "stake")),)
        case Kind.STAKE:
            assert position.committed is not None
            body = (*STAKE, derive_secret(seed, position.committed.context, "stake"))
        case Kind.COMMIT:
            body = commitments[-COMMITMENTS[position.purpose] :]
        case Kind.LOCK:
            body = position.signed_hash
        case Kind.REVEAL:
            assert position.committed is not None
            body = derive_secret(seed, position.committed.context, "share") + history.countersignatures()
        case Kind.OPEN:
            assert position.deal is not None
            body = derive_secret(seed, position.deal.context, "hand"), *commitments, history.countersignatures()
        case _:
            body = move(history)
    assert position.kind is not None
    return signed_by(history, author, seed, position.kind, body)
