"""One of three players does not move and votes as soon as each round begins. The other two go on without it."""

from __future__ import annotations

import pytest

from p2pdice.rulesets import PRESETS
from protocol.consensus.kinds import read_vote
from protocol.consensus.position import Purpose
from protocol.crypto.keys import MatchKey
from protocol.match.effects import Received
from protocol.wire.canonical import Value
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, Message, sign
from tests.simulation.world import World
from tests.tiers import slowly, thoroughly

PATIENCE = Patience(5, 5)


class Near:
    """A world of three players. One is a liar who sends a vote in each round that the others reach."""

    def __init__(self, seed: int, kinds: tuple[Kind, ...]) -> None:
        self.world = World(PRESETS["classic"], 3, seed, patience=PATIENCE)
        while not self._is_on_turn():
            assert self.world.step()
        (self.liar,) = self.world.machines[0].match.history.position.owed
        self.others = [me for me in range(3) if me != self.liar]
        self.kinds = kinds
        self.rounds = 0

    def _is_on_turn(self) -> bool:
        positions = [machine.match.history.position for machine in self.world.machines]
        is_late = positions[0].purpose is Purpose.TURN and positions[0].step > positions[0].root_step
        return is_late and len({position.tip for position in positions}) == 1

    def say(self) -> None:
        """Send the liar's vote for a closed step in the newest round, and end that round for the liar at once."""
        newest = max(
            (self.world.machines[me].match for me in self.others), key=lambda match: match.replica.ballot.round
        )
        root, number = newest.history.root, newest.replica.ballot.round
        if number < self.rounds or self.liar in newest.history.position.left:
            return
        self.rounds = number + 1
        value = (root.step, root.tip, (b"",) * len(root.owed))
        bodies: dict[Kind, Value] = {Kind.ABSENT: (number, value, -1), Kind.CLOSE: (number, ())}
        for kind in self.kinds:
            message = Message(newest.history.match, root.step, root.tip, self.liar, kind, bodies[kind])
            for me in self.others:
                self.world.feed(me, Received(self.liar, sign(message, MatchKey(self.world.seeds[self.liar]))))

    def play(self) -> None:
        while not all(self.liar in self.world.machines[me].match.history.position.left for me in self.others):
            self.world.machines[self.liar].turn = None
            self.say()
            assert self.world.step()


@pytest.mark.parametrize("kinds", [(Kind.ABSENT,), (Kind.CLOSE,), (Kind.ABSENT, Kind.CLOSE)], ids=str)
@pytest.mark.parametrize("seed", [*range(4), *thoroughly(range(4, 8)), *slowly(range(8, 40))])
def test_votes_in_every_round_do_not_block_the_other_players_for_ever(seed: int, kinds: tuple[Kind, ...]) -> None:
    near = Near(seed, kinds)
    began = near.world.now
    near.play()
    rounds = [
        read_vote(position.certificate[-1]).round
        for position in near.world.machines[near.others[0]].match.history.chain
        if position.certificate
    ]
    assert rounds[0] <= 12
    assert near.world.now - began < 3 * PATIENCE.human + 5
