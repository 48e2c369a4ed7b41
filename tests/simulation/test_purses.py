"""Sequences of matches in the simulator, with every fault: no coin comes or goes but as it should."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from protocol.consensus.purse_proofs import read_proof
from protocol.consensus.settlements import gather, read_evidence
from protocol.wire.genesis import match_id
from tests.protocol.test_purses import Owner
from tests.simulation.scenario import Plan, draw
from tests.simulation.simulation import Simulation

PEOPLE = 6


class Evening:
    """People with purses, who play one match after the other, and what their coins should be together."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.owners = [Owner(f"{seed} {number}") for number in range(PEOPLE)]
        self.due = 1000 * PEOPLE
        """Grants, and the winners' bonuses, less what was given up."""
        self.settled = 0

    def plan(self) -> Plan:
        """Return a match of some of them for stakes, with whatever trouble its seed has."""
        while True:
            drawn = draw(self.random.randrange(2**32))
            if drawn.players <= PEOPLE and not drawn.misbehaviour:
                changes = {"stakes": "yes"} if drawn.preset == "motes" else {"stakes": "yes", "dice": "1"}
                return replace(drawn, ruleset=drawn.ruleset.with_options(changes), is_on_real_store=False)

    def play(self) -> None:
        """Play a match, and settle it as far as it can be settled."""
        plan = self.plan()
        chosen = self.random.sample(self.owners, plan.players)
        world = Simulation(plan, owners=[owner.seat for owner in chosen])
        world.run()
        histories = [machine.match.history for machine in world.network.machines.values() if machine.match is not None]
        found = [evidence for history in histories if (evidence := gather(history)) is not None]
        assert len({evidence.account for evidence in found}) <= 1
        given_up = self._give_up(world, chosen)
        if not found:
            self.due -= sum(given_up.values())
            return
        ended = read_evidence(found[0].encoded())
        changes = {}
        for author, record in enumerate(ended.genesis.roster):
            owner = next(each for each in chosen if each.identity.public == record.join.identity)
            change = ended.account.changes(ended.genesis, author)[0]
            changes[author] = change
            if owner in given_up:
                self.due -= given_up[owner] + change
            elif owner.purse.frozen_for(ended.match) is not None:
                assert owner.own.settle(found[0].encoded()) is not None
                self.settled += 1
            else:
                assert ended.account.bets[author] == (0, 0)
                self.due -= change
        bonuses = 0
        for author in ended.account.winners:
            bet, funds = ended.account.bets[author][0], ended.genesis.holdings(author)[0]
            bonuses += bet * bet // funds if funds else 0
        assert sum(changes.values()) == bonuses
        self.due += bonuses

    def _give_up(self, world: Simulation, chosen: list[Owner]) -> dict[Owner, int]:
        """Let some give up what is frozen for a match; return how much."""
        given_up = {}
        for owner in chosen:
            frozen = owner.purse.frozen_for(match_id(world.data))
            if frozen is not None and self.random.random() < 0.1:
                owner.own.forfeit(frozen.match)
                given_up[owner] = frozen.bet
        return given_up

    def check(self) -> None:
        """Hold the sum of all coins to what it should be, and each purse to its proof."""
        assert sum(owner.purse.balance for owner in self.owners) == self.due
        for owner in self.owners:
            assert read_proof(owner.own.proof()).purse == owner.purse
            assert owner.purse.funds >= 0


@pytest.mark.parametrize("seed", [2, 3])
def test_the_sum_of_coins_changes_only_by_grants_bonuses_and_forfeits(seed: int) -> None:
    evening = Evening(seed)
    for _ in range(2):
        evening.play()
        evening.check()
    assert evening.settled


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(10, 20))
def test_the_sum_of_coins_holds_over_many_matches(seed: int) -> None:
    evening = Evening(seed)
    for _ in range(30):
        evening.play()
        evening.check()
    assert evening.settled > 30
