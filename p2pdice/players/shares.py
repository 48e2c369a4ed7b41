"""How likely a player is to win with the dice that are left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from p2pdice.rulesets import Ruleset

STEEP: Final = 2.0
"""A player's strength is the number of dice to this power: twice the dice are worth more than twice as much."""


def share(ruleset: Ruleset, dice: Sequence[float], live: Sequence[int], me: int) -> float:
    """Return roughly how likely ``me`` is to win with these dice left."""
    if ruleset.goal == "first-out":
        done = [seat for seat in live if dice[seat] <= 0]
        if done:
            return 1 / len(done) if me in done else 0.0
        strengths = {seat: 1 / dice[seat] ** STEEP for seat in live}
    else:
        strengths = {seat: dice[seat] ** STEEP if dice[seat] > 0 else 0.0 for seat in live}
    total = sum(strengths.values())
    return strengths.get(me, 0.0) / total if total else 0.0
