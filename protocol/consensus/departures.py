"""Players who left a match before its end: when, and by whose votes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from protocol.consensus.position import Position
from protocol.wire.messages import Kind


class Departure(NamedTuple):
    """How one player left."""

    step: int
    kind: Kind | None
    """The kind of message that the player owed there."""
    witnesses: tuple[int, ...]
    """Players who voted that nothing came, leaving out those accused of silence themselves. Empty if the player
    resigned; otherwise at least one, because those who vote and those who stay are each more than half of the base."""


def departure(chain: Sequence[Position], author: int) -> Departure | None:
    """Return how ``author`` left the history that these positions are of; None if they did not."""
    for before, after in pairwise(chain):
        if author in after.left:
            return Departure(before.step, before.kind, () if author in after.entries else witnesses(before, after))
    return None


def witnesses(before: Position, after: Position) -> tuple[int, ...]:
    """Return who voted to close a step without others, leaving out those who were accused in it themselves."""
    voters = (vote.message.author for vote in after.certificate)
    return tuple(voter for voter in voters if voter not in before.owed or voter in after.entries)
