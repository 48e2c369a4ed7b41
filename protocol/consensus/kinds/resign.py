"""RESIGN: its author leaves the match."""

from __future__ import annotations

from protocol.consensus.kinds.rule import Rule, Secrets, Slot
from protocol.consensus.position import Position
from protocol.wire.messages import Kind


class Resign(Rule[tuple[()]]):
    """(): fills any slot that its author owes; the author is out when the step closes."""

    kind = Kind.RESIGN
    slot = Slot.ANY_STEP
    shape = "empty array"

    def fits(self, body: object) -> bool:
        return body == ()

    def statement(self, body: tuple[()]) -> str:
        return "gave up"

    def produce(self, position: Position, secrets: Secrets) -> tuple[()]:
        return ()
