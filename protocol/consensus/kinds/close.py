"""CLOSE: the second vote on going on without somebody."""

from __future__ import annotations

from protocol.consensus.kinds.rule import Rule, Slot, is_round, is_value, told
from protocol.wire.messages import Kind

Body = tuple[int, tuple[int, bytes, tuple[bytes, ...] | bytes] | tuple[()]]


class Close(Rule[Body]):
    """(round, value): goes on as a majority of ABSENTs of this round has named; without a value it ends the round."""

    kind = Kind.CLOSE
    slot = Slot.VOTE
    shape = "array of a round and a value (step, tip, entries or state hash), or an empty array"

    def fits(self, body: object) -> bool:
        if type(body) is not tuple or len(body) != 2 or not is_round(body[0]):
            return False
        return body[1] == () or is_value(body[1])

    def statement(self, body: Body) -> str:
        return f"closed round {body[0]} of votes: {told(body[1])}" if body[1] else f"ended round {body[0]} of votes"
