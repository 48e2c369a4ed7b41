"""What one liar among three can do to two who cannot hear each other."""

from __future__ import annotations

import itertools

from p2pdice.rulesets import PRESETS
from protocol.consensus.kinds import contradiction
from protocol.consensus.position import Purpose
from protocol.consensus.verifier import Judgement, verify
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, Signed
from tests.simulation.world import Machine, World

HURRIED = Patience(5, 5)


def side(gone: int) -> World:
    """Return a world in which all come to one and the same move, and then one player hears and is heard no more.

    Up to then it takes the same course whoever that is; from then on a liar is on either side, and plays by the rules.
    """
    world = World(PRESETS["classic"], 3, seed=3, patience=HURRIED)
    while not all(machine.match.history.position.kind is Kind.MOVE for machine in world.machines):
        assert world.step()
    assert len({machine.match.history.position.tip for machine in world.machines}) == 1
    world.crash(gone)
    world.run()
    return world


def known(machine: Machine) -> list[Signed]:
    return [*machine.disk, *machine.unwritten]


def test_a_liar_between_two_cut_off_players_can_end_a_match_with_each_and_their_votes_prove_it() -> None:
    """Both sides vote on one root, so the liar has voted for two things in one round."""
    one, other = side(1), side(0)
    assert one.machines[0].match.history.chain[5].tip == other.machines[1].match.history.chain[5].tip
    ends = [one.machines[0], other.machines[1]]
    assert [machine.match.history.position.purpose for machine in ends] == [Purpose.END, Purpose.END]
    assert [machine.match.history.position.left for machine in ends] == [(1,), (0,)]
    assert [verify(machine.transcript).verdict for machine in ends] == [Judgement.UNPROVEN] * 2
    said = [signed for split in (one, other) for machine in split.machines for signed in known(machine)]
    pairs = itertools.combinations({signed.id: signed for signed in said}.values(), 2)
    proofs = [(first, reason) for first, second in pairs if (reason := contradiction(first, second))]
    assert {signed.message.author for signed, _ in proofs} == {2}
    assert any(reason.startswith("voted twice in one round") for _, reason in proofs)
