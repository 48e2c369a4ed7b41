"""LOCK: the message by which a player signs the history so far."""

from __future__ import annotations

from p2pdice.state import State, plain
from protocol.consensus.closing import Closing
from protocol.consensus.errors import OtherStateError
from protocol.consensus.kinds.rule import Countersigned, Rule, Secrets, is_hash, short
from protocol.consensus.position import Lock as Closed
from protocol.consensus.position import Position, Purpose, Stage
from protocol.crypto.hashing import tagged_hash
from protocol.wire.canonical import encode
from protocol.wire.messages import Kind, Signed


def state_hash(state: State | None) -> bytes:
    """Return the state hash in a LOCK's body: of the engine's public state, or of nothing before the seats are drawn.

    :func:`p2pdice.plain` has all of that state, item by item: options, round, bids, hands that were shown, exits and
    the rest. No cup that is still covered is in it.
    """
    return tagged_hash("state", encode(() if state is None else plain(state)))


class Lock(Rule[bytes]):
    """The hash of the engine's state: its author has the same history, and has come to the same state."""

    kind = Kind.LOCK
    shape = "byte string of 32 bytes"
    purposes = (
        Purpose.FORMING,
        Purpose.SEATING,
        Purpose.DEAL,
        Purpose.PUBLIC_DIE,
        Purpose.STAKES,
        Purpose.SHOWDOWN,
        Purpose.ENDING,
    )
    stage = Stage.LOCK
    task = "confirm the history"

    def fits(self, body: object) -> bool:
        return is_hash(body)

    def statement(self, body: bytes) -> str:
        return f"locked the state {short(body)}"

    def owed(self, state: State | None, seats: tuple[int, ...], players: tuple[int, ...]) -> tuple[int, ...]:
        """Return all who owe a LOCK: also those who went out since the previous LOCK."""
        return players

    def judge(self, history: Countersigned, position: Position, signed: Signed, body: bytes) -> None:
        if body != position.lock:
            raise OtherStateError

    def fold(self, closing: Closing[bytes]) -> None:
        """Begin a segment, with the authors who may vote in it and those who owe the next LOCK."""
        position = closing.position
        base = {*position.players, *position.carried}.union(*position.signers)
        closing.base = tuple(sorted(base.difference(position.left)))
        closing.signers, closing.carried = (position.players, *position.signers[:1]), ()
        closing.locks = (*position.locks[-1:], Closed(position.step, position.tip, position.lock))
        if position.purpose is not Purpose.ENDING:
            closing.players = tuple(author for author in position.live if author not in closing.left)

    def produce(self, position: Position, secrets: Secrets) -> bytes:
        return position.lock
