"""ABSENT: the first vote on closing a step without somebody."""

from __future__ import annotations

from protocol.consensus.electorate import Entries
from protocol.consensus.kinds.rule import Rule, Slot, are_entries, is_round, listed
from protocol.wire.messages import Kind

Body = tuple[int, Entries, int]


class Absent(Rule[Body]):
    """(round, ids, newest): the ids of the messages to close the step with, empty for an absent author.

    ``newest`` is the latest round in which the voter knows a majority of identical votes, or -1. See
    :mod:`protocol.consensus.absence`.
    """

    kind = Kind.ABSENT
    slot = Slot.VOTE
    shape = "array of a round, an array of byte strings of 32 or 0 bytes, and an earlier round or -1"

    def fits(self, body: object) -> bool:
        if type(body) is not tuple or len(body) != 3 or not is_round(body[0]) or not are_entries(body[1]):
            return False
        return type(body[2]) is int and -1 <= body[2] < body[0]

    def statement(self, body: Body) -> str:
        return f"voted in round {body[0]} that a step holds {listed(body[1])}"
