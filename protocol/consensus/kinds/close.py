"""CLOSE: the second vote on closing a step without somebody."""

from __future__ import annotations

from protocol.consensus.electorate import Entries
from protocol.consensus.kinds.rule import Rule, Slot, are_entries, is_round, listed
from protocol.wire.messages import Kind

Body = tuple[int, Entries]


class Close(Rule[Body]):
    """(round, ids): closes the step with the messages that a majority of ABSENTs of this round has named."""

    kind = Kind.CLOSE
    slot = Slot.VOTE
    shape = "array of a round and an array of byte strings of 32 or 0 bytes"

    def fits(self, body: object) -> bool:
        return type(body) is tuple and len(body) == 2 and is_round(body[0]) and are_entries(body[1])

    def statement(self, body: Body) -> str:
        return f"voted in round {body[0]} to close a step with {listed(body[1])}"
