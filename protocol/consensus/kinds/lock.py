"""LOCK: the message by which a player signs the history so far."""

from __future__ import annotations

from typing import Final

from p2pdice import State, plain
from protocol.consensus.closing import Closing
from protocol.consensus.errors import MisconductError, OtherStateError
from protocol.consensus.kinds.rule import Countersigned, Rule, Secrets, short
from protocol.consensus.position import Position, Purpose, Stage
from protocol.crypto.hashing import HASH_BYTES, tagged_hash
from protocol.crypto.keys import SIGNATURE_BYTES
from protocol.wire.canonical import encode
from protocol.wire.messages import Kind, Signed

CARRIED: Final = 1 + SIGNATURE_BYTES
"""Bytes of a roster index and a signature in a LOCK."""


def state_hash(state: State | None) -> bytes:
    """Return the state hash in a LOCK's body: of the engine's public state, or of nothing before the seats are drawn.

    :func:`p2pdice.plain` has all of that state, item by item: options, round, bids, hands that were shown, exits and
    the rest. No cup that is still covered is in it.
    """
    return tagged_hash("state", encode(() if state is None else plain(state)))


def carried(body: bytes) -> dict[int, bytes]:
    """Return the signatures in the body of a LOCK, by roster index."""
    pairs = range(HASH_BYTES, len(body), CARRIED)
    return {body[index]: body[index + 1 : index + CARRIED] for index in pairs}


def _witnesses(body: bytes) -> bytes:
    """Return the roster indices in the body of a LOCK."""
    return body[HASH_BYTES::CARRIED]


class Lock(Rule[bytes]):
    """The hash of the engine's state: its author has the same history, and has come to the same state.

    After the hash come the witnesses' signatures under the previous LOCK, as far as the author has them.
    """

    kind = Kind.LOCK
    shape = "byte string of 32 bytes, and 65 for each signature, ascending by roster index"
    purposes = (
        Purpose.FORMING,
        Purpose.SEATING,
        Purpose.DEAL,
        Purpose.PUBLIC_DIE,
        Purpose.STAKES,
        Purpose.SHOWDOWN,
    )
    stage = Stage.LOCK
    task = "confirm the history"

    def fits(self, body: object) -> bool:
        if type(body) is not bytes or len(body) < HASH_BYTES or (len(body) - HASH_BYTES) % CARRIED:
            return False
        witnesses = _witnesses(body)
        return witnesses == bytes(sorted({*witnesses}))

    def statement(self, body: bytes) -> str:
        return f"locked the state {short(body)}"

    def owed(self, state: State | None, seats: tuple[int, ...], players: tuple[int, ...]) -> tuple[int, ...]:
        """Return all who owe a LOCK: also those who went out since the previous LOCK."""
        return players

    def judge(self, history: Countersigned, position: Position, signed: Signed, body: bytes) -> None:
        if body[:HASH_BYTES] != position.lock:
            raise OtherStateError
        for witness, signature in carried(body).items():
            if not history.is_countersigned(position, witness, signature):
                raise MisconductError.of(signed, "carried a signature that is not a witness's")

    def fold(self, closing: Closing[bytes]) -> None:
        """Begin a segment, with the authors who may vote in it and those who stay in the base after it."""
        position = closing.position
        closing.base = tuple(sorted({*position.players, *position.present}.difference(position.left)))
        witnesses = b"".join([_witnesses(body) for body in closing.bodies.values()])
        closing.present = tuple(sorted({*position.players, *witnesses}))
        closing.players = tuple(author for author in position.live if author not in closing.left)
        closing.locked = position.step
        closing.witnessed = position.tip + position.lock

    def produce(self, position: Position, secrets: Secrets) -> bytes:
        return position.lock + secrets.countersignatures()
