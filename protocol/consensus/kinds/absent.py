"""ABSENT: the first vote on going on without somebody."""

from __future__ import annotations

from protocol.consensus.kinds.rule import Rule, Slot, is_round, is_value, told
from protocol.wire.messages import Kind

Body = tuple[int, tuple[int, bytes, tuple[bytes, ...] | bytes], int]


class Absent(Rule[Body]):
    """(round, value, newest): what its author would go on with; ``newest`` is the round of the majority that makes it,
    or -1. See :mod:`protocol.consensus.ballot`."""

    kind = Kind.ABSENT
    slot = Slot.VOTE
    shape = "array of a round, a value (step, tip, entries or state hash), and an earlier round or -1"

    def fits(self, body: object) -> bool:
        if type(body) is not tuple or len(body) != 3 or not is_round(body[0]) or not is_value(body[1]):
            return False
        return type(body[2]) is int and -1 <= body[2] < body[0]

    def statement(self, body: Body) -> str:
        return f"voted in round {body[0]} that {told(body[1])}"
