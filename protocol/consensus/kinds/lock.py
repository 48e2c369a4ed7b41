"""LOCK: the message by which a player signs the history so far."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from protocol.consensus.closing import Closing
from protocol.consensus.errors import MisconductError, OtherStateError
from protocol.consensus.kinds.rule import Countersigned, Rule, Secrets, short
from protocol.consensus.position import Position, Stage
from protocol.crypto.hashing import HASH_BYTES
from protocol.crypto.keys import SIGNATURE_BYTES
from protocol.wire.messages import Kind, Signed

CARRIED: Final = 1 + SIGNATURE_BYTES
"""Bytes of a roster index and a signature in a LOCK."""


def carried(body: bytes) -> dict[int, bytes]:
    """Return the signatures in the body of a LOCK, by roster index."""
    pairs = range(HASH_BYTES, len(body), CARRIED)
    return {body[place]: body[place + 1 : place + CARRIED] for place in pairs}


def _witnesses(body: bytes) -> bytes:
    """Return the roster indices in the body of a LOCK."""
    return body[HASH_BYTES::CARRIED]


class Lock(Rule[bytes]):
    """The hash of the engine's state: its author has the same history and draws the same conclusion.

    Behind it stand the signatures that the author has of witnesses under the LOCK before.
    """

    kind = Kind.LOCK
    shape = "byte string of 32 bytes, and 65 for each signature, ascending by roster index"
    stage = Stage.LOCK
    task = "confirm the history"

    def fits(self, body: object) -> bool:
        if type(body) is not bytes or len(body) < HASH_BYTES or (len(body) - HASH_BYTES) % CARRIED:
            return False
        return all(one < other for one, other in pairwise(_witnesses(body)))

    def statement(self, body: bytes) -> str:
        return f"locked the state {short(body)}"

    def judge(self, history: Countersigned, position: Position, signed: Signed, body: bytes) -> None:
        if body[:HASH_BYTES] != position.lock:
            raise OtherStateError
        for witness, signature in carried(body).items():
            if not history.is_countersigned(position, witness, signature):
                raise MisconductError.of(signed, "carried a signature of a witness that is none")

    def fold(self, closing: Closing[bytes]) -> None:
        """Begin a segment: who votes in it, and whose vote the next LOCK can keep."""
        position = closing.position
        closing.base = tuple(sorted({*position.players, *position.present}.difference(position.left)))
        witnesses = b"".join([_witnesses(body) for body in closing.bodies.values()])
        closing.present = tuple(sorted({*position.players, *witnesses}))
        closing.players = position.live
        closing.locked = position.step
        closing.witnessed = position.tip + position.lock

    def produce(self, position: Position, secrets: Secrets) -> bytes:
        return position.lock + secrets.countersignatures()
