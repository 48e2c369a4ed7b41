"""Votes on steps that are closed, or not due yet, hold up nobody: whoever is silent is out when patience with them
ends, whatever one liar has signed beside. Times are those of the simulated clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

import pytest

from p2pdice import PRESETS
from protocol.consensus.electorate import Entries, Place
from protocol.consensus.history import History
from protocol.consensus.votes import Vote, spell_vote
from protocol.crypto.keys import MatchKey
from protocol.limits import RELAY
from protocol.match.effects import Received
from protocol.match.match import ROUNDS_AT_THE_END, Match
from protocol.wire.frames import Carried
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, Message, sign
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

    def _vote(self, rounds: list[tuple[bytes, float]]) -> bool:
        return not self.is_lying and super()._vote(rounds)


def silence(world: World, liar: int) -> None:
    """Let a player vote only as the test has it vote from now on."""
    match = world.machines[liar].match
    assert isinstance(match, Liar)
    match.is_lying = True


def cast(world: World, liar: int, place: Place, number: int, entries: Entries, listeners: Collection[int]) -> None:
    """Have a player send an ABSENT."""
    vote = Vote(place.tip, liar, False, number, entries)
    message = Message(world.machines[liar].match.history.match, place.step, place.tip, liar, *spell_vote(vote))
    signed = sign(message, MatchKey(world.seeds[liar]))
    for listener in listeners:
        world.send(liar, listener, Carried(*signed.wire))


def deny(world: World, liar: int, history: History, step: int) -> None:
    """Have a player tell all others that nothing came in a step."""
    place = history.place(step)
    cast(world, liar, place, 0, tuple(b"" for _ in place.owed), range(len(world.machines)))


class SilentTurn:
    """A round with some turns taken; then somebody takes none. They, or another one, lie."""

    def __init__(self, players: int, *, is_other: bool = False) -> None:
        self.world = World(CLASSIC, players, 3, patience=PATIENCE, kinds=dict.fromkeys(range(players), Liar))
        self.silent = -1
        while self.silent < 0:
            assert self.world.step()
            for me, machine in enumerate(self.world.machines):
                position = machine.match.history.position
                taken = sum(place.kind is Kind.MOVE for place in machine.match.history.chain[position.locked : -1])
                if machine.turn is not None and taken == TURNS:
                    self.silent = me
        self.liar = (self.silent + 1) % players if is_other else self.silent
        self.others = [me for me in range(players) if me not in (self.silent, self.liar)]
        silence(self.world, self.liar)
        self.history = self.world.machines[self.silent].match.history
        self.closed = range(max(1, self.history.position.locked), self.history.position.step)
        self.began = self.world.now

    def vote(self, step: int, number: int, listeners: Collection[int], *, truthfully: bool) -> None:
        """Have the liar vote on a step; untruthfully: that nothing came from the others who owed something."""
        place = self.history.place(step)
        entries = self.history.closed(step) or tuple(b"" for _ in place.owed)
        if not truthfully:
            entries = tuple(e if a == self.liar else b"" for a, e in zip(place.owed, entries, strict=True))
        cast(self.world, self.liar, place, number, entries, listeners)

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


@pytest.mark.parametrize("is_other", [False, True])
def test_a_vote_of_a_round_far_ahead_wins_a_silent_player_no_time(is_other: bool) -> None:
    """Nobody comes to that round, so nobody would ever be done with the objection."""
    turn = SilentTurn(4, is_other=is_other)
    turn.vote(turn.closed[-1], 1000, turn.others, truthfully=False)
    assert turn.until_out() <= PATIENCE.human + 2.0


def test_an_early_vote_takes_no_time_from_the_player_on_turn() -> None:
    turn = SilentTurn(4, is_other=True)
    turn.vote(turn.history.position.step, 0, range(4), truthfully=True)
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


@pytest.mark.parametrize("players", [3, 4])
def test_an_objection_that_cannot_be_decided_without_its_author_holds_a_final_of_two_up_for_nobody(
    players: int,
) -> None:
    """Where two stay both must vote, so the liar alone keeps the step before from being decided again."""
    rules = PRESETS["classic"].with_options({"dice": "2"})
    world = World(rules, players, 3, patience=PATIENCE, kinds=dict.fromkeys(range(players), Liar))
    liar = -1
    while liar < 0:
        assert world.step()
        for me, machine in enumerate(world.machines):
            position = machine.match.history.position
            is_final = len(position.live) == 2 and len(position.base) == players
            if machine.turn is not None and is_final and position.step - position.locked >= 3:
                liar = me
    silence(world, liar)
    began = world.now
    history = world.machines[liar].match.history
    deny(world, liar, history, history.position.step - 1)
    while not all(evictions(world, me) for me in range(players) if me != liar):
        world.machines[liar].turn = None
        assert world.step()
    assert world.now - began <= PATIENCE.human + ROUND + 2.0


@pytest.mark.parametrize("players", [3, 4])
def test_an_objection_to_the_last_step_keeps_no_match_from_being_over(players: int) -> None:
    rules = PRESETS["classic"].with_options({"dice": "1"})
    world = World(rules, players, 3, patience=PATIENCE, kinds=dict.fromkeys(range(players), Liar))
    finalists: tuple[int, ...] = ()
    while not any(machine.match.is_ended for machine in world.machines):
        finalists = world.machines[0].match.history.position.live
        assert world.step()
    began, liar = world.now, finalists[0]
    silence(world, liar)
    history = next(machine.match.history for machine in world.machines if machine.match.is_ended)
    deny(world, liar, history, history.position.step - 1)
    while any(world.machines[me].confirmed is None for me in range(players) if me != liar):
        assert world.step()
    assert world.now - began <= 3 * ROUND


def test_nobody_calls_the_end_while_a_majority_votes_against_the_last_step() -> None:
    """Though all have confirmed it; but no longer than some rounds, as liars could keep votes going without end."""
    world = World(PRESETS["classic"].with_options({"dice": "1"}), 4, 3, patience=PATIENCE)
    while not any(machine.match.is_ended for machine in world.machines):
        assert world.step()
    me, match = next((me, machine.match) for me, machine in enumerate(world.machines) if machine.match.is_ended)
    history, position = match.history, match.history.position
    last, entries = history.place(position.step - 1), history.closed(position.step - 1)
    assert entries is not None
    without_me = tuple(b"" if author == me else entry for author, entry in zip(last.owed, entries, strict=True))
    assert without_me != entries
    for place, kind, body in ((last, Kind.ABSENT, (0, without_me, -1)), (position, Kind.RESULT, position.lock)):
        for author in set(range(4)) - {me}:
            message = Message(history.match, place.step, place.tip, author, kind, body)
            world.feed(me, Received(author, sign(message, MatchKey(world.seeds[author]))))
    assert {*history.results} >= {*position.players}
    world.links.clear()  # nothing else reaches anybody
    began = world.now
    while world.machines[me].confirmed is None:
        assert match.replica.is_deciding
        assert world.step()
    assert world.now == began + ROUNDS_AT_THE_END * ROUND


def test_a_node_that_stands_still_for_a_vote_is_not_woken_to_warn() -> None:
    """The end of patience moves on with the time meanwhile: as near as it is, as often would they be woken."""
    turn = SilentTurn(4)
    match = turn.world.machines[turn.others[0]].match
    now = match._timeouts.earliest
    assert match._stall_notices.look(now, match._links.linked, True, False, ()) < math.inf
    assert match._stall_notices.look(now, match._links.linked, True, True, ()) == math.inf


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_a_liar_in_later_rounds_does_not_choose_which_objections_others_heed(stride: int) -> None:
    """With each round it is one step further, and ``stride`` rounds: else all would stay in rounds of one parity."""
    turn = SilentTurn(4)
    fresh, number = list(turn.closed), 0

    def object_to_the_next(now: float) -> None:
        nonlocal number
        rounds = [turn.world.machines[me].match.replica.absence.round for me in turn.others]
        if fresh and min(rounds) >= number and not any(turn.world.links.values()):
            number = max(rounds) + stride
            turn.vote(fresh.pop(0), number, turn.others, truthfully=False)

    turn.vote(fresh.pop(0), 0, turn.others, truthfully=False)
    assert turn.until_out(object_to_the_next) <= PATIENCE.human + ROUND + 2.0
