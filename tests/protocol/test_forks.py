"""A liar plays with two honest players who are cut off from each other."""

from __future__ import annotations

import itertools

from p2pdice.rulesets import PRESETS
from protocol.consensus.kinds import contradiction
from protocol.consensus.position import Purpose
from protocol.consensus.verifier import Judgement, verify
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind
from tests.simulation.world import World

HURRIED = Patience(5, 5)


def side(gone: int) -> World:
    """Return a world in which one player crashes once all players wait for the same move.

    Up to the crash every world is the same. Player 2, the liar, plays by the rules in each of them.
    """
    world = World(PRESETS["classic"], 3, seed=3, patience=HURRIED)
    while not all(machine.match.history.position.kind is Kind.MOVE for machine in world.machines):
        assert world.step()
    assert len({machine.match.history.position.tip for machine in world.machines}) == 1
    world.crash(gone)
    world.run()
    return world


def test_a_liar_can_end_a_match_with_each_of_two_cut_off_players_but_its_votes_prove_that() -> None:
    """Both sides vote on the same root, so the liar has voted for two values in one round."""
    one, other = side(1), side(0)
    assert one.machines[0].match.history.chain[5].tip == other.machines[1].match.history.chain[5].tip
    ends = [one.machines[0], other.machines[1]]
    assert [machine.match.history.position.purpose for machine in ends] == [Purpose.END, Purpose.END]
    assert [machine.match.history.position.left for machine in ends] == [(1,), (0,)]
    assert [verify(machine.transcript).verdict for machine in ends] == [Judgement.UNPROVEN] * 2
    said = [signed for split in (one, other) for machine in split.machines for signed in machine.stored]
    pairs = itertools.combinations({signed.id: signed for signed in said}.values(), 2)
    proofs = [(first, reason) for first, second in pairs if (reason := contradiction(first, second))]
    assert {signed.message.author for signed, _ in proofs} == {2}
    assert any(reason.startswith("voted twice in one round") for _, reason in proofs)
