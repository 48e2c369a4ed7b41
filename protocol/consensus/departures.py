"""How players left a match before its end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from protocol.consensus.position import Position


class Departure(NamedTuple):
    """How one player left."""

    step: int
    kind: int
    """The kind of message that the player owed there."""
    voters: tuple[int, ...]
    """The players who voted that nothing came and were not voted absent themselves. Empty if the player resigned.
    Otherwise at least one, as those who vote and those who stay are each more than half of the base."""


def departure(chain: Sequence[Position], author: int) -> Departure | None:
    """Return how ``author`` left the history with these positions; None if they did not."""
    for before, after in pairwise(chain):
        if author in after.left:
            assert before.kind is not None
            return Departure(before.step, before.kind, () if author in after.entries else voters(before, after))
    return None


def voters(before: Position, after: Position) -> tuple[int, ...]:
    """Return the authors of the votes that closed a step, without those who were voted absent in it themselves."""
    voters = (vote.message.author for vote in after.certificate)
    return tuple(voter for voter in voters if voter not in before.owed or voter in after.entries)
