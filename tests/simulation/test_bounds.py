"""A liar can make a node drop messages, but not any that matter. Tests find nodes that keep too few messages."""

from __future__ import annotations

import random

import pytest

from protocol.consensus.ballot import Ballot
from protocol.consensus.branches import Outcome
from protocol.consensus.kinds import Vote
from tests.simulation.bounds import World
from tests.simulation.small_worlds import ViolationError
from tests.tiers import thoroughly


class Forgets(Ballot):
    """Drops votes of past rounds, although an own CLOSE or a late decision may depend on them."""

    def _forget(self) -> None:
        super()._forget()
        for slot in [slot for slot in self._votes if slot[0] < self.round - 1]:
            del self._votes[slot]


class TakesNoThirdVote(Ballot):
    """Keeps two votes of each slot, even if other players have voted for the value of a third."""

    def _take_vote(self, vote: Vote, *, is_kept: bool) -> Outcome:
        known = self._votes.get((vote.round, vote.author, vote.is_close), ())
        return Outcome.SURPLUS if len(known) >= 2 and not is_kept else super()._take_vote(vote, is_kept=is_kept)


PLANTED = {
    "past rounds are forgotten": (Forgets, 2),
    "no third vote": (TakesNoThirdVote, 26),
}


@pytest.mark.parametrize("seed", [*range(8), *thoroughly(range(8, 400))])
def test_messages_that_a_liar_displaces_do_not_matter(seed: int) -> None:
    World(random.Random(seed), Ballot).run(60)


@pytest.mark.parametrize("bug", PLANTED)
def test_a_node_that_keeps_too_few_messages_is_found(bug: str) -> None:
    rule, seed = PLANTED[bug]
    with pytest.raises(ViolationError):
        World(random.Random(seed), rule).run(60)
