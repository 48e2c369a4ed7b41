"""How two players with at most five dice each play classic, so that nobody wins much against them.

Tables have the solved policy of rounds with at most three dice in each cup. A net has learnt that of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from p2pdice.moves import Bid, Hand, Liar
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.solved import net, tables


@lru_cache(maxsize=16)
def is_classic(ruleset: Ruleset) -> bool:
    """Return whether rounds of two players follow the rules of classic; initial dice and stakes do not matter."""
    classic = PRESETS["classic"]
    return replace(ruleset, dice=classic.dice, stakes=classic.stakes) == classic


def likelihoods(
    ruleset: Ruleset, dice: Sequence[int], bids: Sequence[Bid], hand: Hand
) -> Mapping[Bid | Liar, float] | None:
    """Return the relative likelihoods of the policy's moves, or None if it does not cover this round.

    The policy maximises the probability of winning the round against the best opponent. The same holds for the match:
    the loser of a round loses one die and opens the next however the round ends, so only winning the round matters.

    :param dice: by player with dice, the opener of the round first.
    :param bids: the bids of the round.
    :param hand: that of the player on turn, ascending.
    """
    if len(dice) != 2 or max(dice) > net.MOST or not is_classic(ruleset):
        return None
    opener, responder = dice
    if max(dice) <= tables.MOST:
        return tables.table(opener, responder).weights(bids, hand)
    return net.net().likelihoods(hand, opener + responder - len(hand), bids)
