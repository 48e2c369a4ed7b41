"""WITNESS: keeps the vote of a player who is out of the game."""

from __future__ import annotations

from protocol.consensus.kinds.rule import Rule, Secrets, Slot, is_hash, short
from protocol.consensus.position import Position
from protocol.wire.messages import Kind


class Witness(Rule[bytes]):
    """The hash that a LOCK signs, outside the history. Its author is out of the game, but still there to vote."""

    kind = Kind.WITNESS
    slot = Slot.LOCK
    shape = "byte string of 32 bytes"

    def fits(self, body: object) -> bool:
        return is_hash(body)

    def statement(self, body: bytes) -> str:
        return f"witnessed the state {short(body)}"

    def produce(self, position: Position, secrets: Secrets) -> bytes:
        return position.lock
