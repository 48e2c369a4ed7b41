"""Votes on steps that are closed, or not due yet, hold up nobody: whoever is silent is out when patience with them
ends, whatever one liar has signed beside. Times are those of the simulated clock."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from p2pdice import PRESETS
from protocol.absence import Vote
from protocol.genesis import Patience
from protocol.keys import MatchKey
from protocol.limits import RELAY
from protocol.match import Match
from protocol.messages import Kind, Message, sign
from protocol.votes import spell_vote
from protocol.wire import Carried
from tests.protocol.test_departures import evictions, seats
from tests.simulation.world import World

PATIENCE = Patience(60, 10)
ROUND = 10.0
CLASSIC = PRESETS["classic"].with_options({"dice": "3"})
TURNS = 4
"""How many turns have been taken when the next player falls silent."""


class Liar(Match):
    """Votes only as the test has it vote."""

    is_lying = False

    def _vote(self) -> bool:
        return not self.is_lying and super()._vote()


class SilentTurn:
    """A round of which some turns were taken, and then somebody takes none. They, or another one, lie."""

    def __init__(self, players: int, *, is_other: bool = False) -> None:
        self.world = World(CLASSIC, players, 3, patience=PATIENCE, kinds=dict.fromkeys(range(players), Liar))
        self.silent = -1
        while self.silent < 0:
            assert self.world.step()
            for me, machine in enumerate(self.world.machines):
                position = machine.match.record.position
                taken = sum(place.kind is Kind.MOVE for place in machine.match.record.chain[position.locked : -1])
                if machine.turn is not None and taken == TURNS:
                    self.silent = me
        self.liar = (self.silent + 1) % players if is_other else self.silent
        self.others = [me for me in range(players) if me not in (self.silent, self.liar)]
        match = self.world.machines[self.liar].match
        assert isinstance(match, Liar)
        match.is_lying = True
        self.record = self.world.machines[self.silent].match.record
        self.closed = range(max(1, self.record.position.locked), self.record.position.step)
        self.began = self.world.now

    def vote(self, step: int, number: int, listeners: Collection[int], *, truthfully: bool) -> None:
        """Have the liar vote on a step; untruthfully: that nothing came from the others who owed something."""
        place = self.record.place(step)
        entries = self.record.closed(step) or tuple(b"" for _ in place.owed)
        if not truthfully:
            entries = tuple(e if a == self.liar else b"" for a, e in zip(place.owed, entries, strict=True))
        vote = Vote(place.tip, self.liar, False, number, entries)
        message = Message(self.record.match, step, place.tip, self.liar, *spell_vote(vote))
        signed = sign(message, MatchKey(self.world.seeds[self.liar]))
        for listener in listeners:
            self.world.send(self.liar, listener, Carried(*signed.wire))

    def until_out(self, lie: Callable[[float], None] = lambda now: None) -> float:
        """Let time pass until the silent player is out everywhere; return the seconds.

        :param lie: called with the seconds passed before anything happens.
        """
        world = self.world
        while not all(evictions(world, me) for me in self.others):
            lie(world.now - self.began)
            world.machines[self.silent].turn = None
            assert world.step(), "nothing is left, and nobody is out"
        out = {seats(world)[seat] for me in self.others for seat, _ in evictions(world, me)}
        assert self.silent in out <= {self.silent, self.liar}
        return world.now - self.began


@pytest.mark.parametrize("players", [4, 6])
@pytest.mark.parametrize("truthfully", [True, False])
def test_votes_on_every_closed_step_win_a_silent_player_no_time(players: int, truthfully: bool) -> None:
    turn = SilentTurn(players)
    for number, step in enumerate(turn.closed):
        turn.vote(step, number, turn.others, truthfully=truthfully)
    assert turn.until_out() <= PATIENCE.human + 2.0


def test_a_vote_before_patience_ends_takes_no_time_from_whoever_is_on_turn() -> None:
    turn = SilentTurn(4, is_other=True)
    turn.vote(turn.record.position.step, 0, range(4), truthfully=True)
    assert turn.until_out() == PATIENCE.human + RELAY


@pytest.mark.parametrize("is_other", [False, True])
def test_votes_that_part_the_others_when_a_round_begins_cost_two_rounds_at_most(is_other: bool) -> None:
    """At the very moment in which each round begins the liar tells one of the others alone that it objects to a step,
    each time to another step."""
    turn = SilentTurn(4, is_other=is_other)
    world, steps, told = turn.world, list(turn.closed)[::-1], 0

    def object_when_a_round_begins(now: float) -> None:
        nonlocal told
        wake = min(machine.wake for machine in world.machines if machine.wake is not None)
        is_begun = wake >= turn.began + PATIENCE.human + told * ROUND
        if is_begun and told < len(steps) and not any(world.links.values()):
            world.now = wake
            turn.vote(steps[told], told, turn.others[:1], truthfully=False)
            world.deliver(turn.liar, turn.others[0])
            told += 1

    assert turn.until_out(object_when_a_round_begins) <= PATIENCE.human + 2 * ROUND + 2.0
    assert told
