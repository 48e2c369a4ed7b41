"""RESULT: its author has seen the end of the match."""

from __future__ import annotations

from protocol.consensus.errors import OtherStateError
from protocol.consensus.kinds.rule import Countersigned, Rule, Secrets, Slot, is_hash, short
from protocol.consensus.position import Position, Purpose
from protocol.wire.messages import Kind, Signed


class Result(Rule[bytes]):
    """The hash of the last state, with purses also of the account. It is outside the history; a wrong hash shows that a
    program has a bug."""

    kind = Kind.RESULT
    slot = Slot.END
    shape = "byte string of 32 bytes"

    def fits(self, body: object) -> bool:
        return is_hash(body)

    def statement(self, body: bytes) -> str:
        return f"confirmed the end {short(body)}"

    def judge(self, history: Countersigned, position: Position, signed: Signed, body: bytes) -> None:
        if position.purpose is not Purpose.END:
            raise OtherStateError("a RESULT before the end of the match")
        if signed.message.author in position.resigned:
            raise OtherStateError("a RESULT of a player who has resigned")
        if body != position.lock:
            raise OtherStateError

    def produce(self, position: Position, secrets: Secrets) -> bytes:
        return position.lock
