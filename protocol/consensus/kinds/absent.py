"""ABSENT: the first vote on closing a step without somebody."""

from __future__ import annotations

from protocol.consensus.absence import Entries
from protocol.consensus.kinds.rule import Rule, are_entries, is_round, listed
from protocol.wire.messages import Kind

Body = tuple[int, Entries, int]


class Absent(Rule[Body]):
    """(round, ids, newest): names what to close the step with; an empty id stands for an absent author.

    ``newest`` is the latest round with a majority of identical votes that the voter knows, or -1. What becomes of the
    votes is said in :mod:`protocol.consensus.absence`.
    """

    kind = Kind.ABSENT
    shape = "array of a round, an array of byte strings of 32 or 0 bytes, and an earlier round or -1"

    def fits(self, body: object) -> bool:
        if type(body) is not tuple or len(body) != 3 or not is_round(body[0]) or not are_entries(body[1]):
            return False
        return type(body[2]) is int and -1 <= body[2] < body[0]

    def statement(self, body: Body) -> str:
        return f"voted in round {body[0]} that a step holds {listed(body[1])}"
