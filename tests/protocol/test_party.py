"""A person who plays only against their own bots has no time limit."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pdice.rulesets import PRESETS
from protocol.events import ConcedeAccepted, Continued, Overdue, Suspended
from protocol.match.effects import Conceded, Ticked
from protocol.match.match import Match
from protocol.match.waiting import Party
from protocol.wire.genesis import Patience
from tests.simulation.world import World, genesis
from tests.tiers import thoroughly

PERSON = 0
HALF_AN_HOUR = 1800
CLASSIC = PRESETS["classic"].with_options({"dice": "2"})
ROSTER = genesis(CLASSIC, 4, b"")[0].roster
IDENTITIES = [record.join.identity for record in ROSTER]


class Table(World):
    """One person and otherwise bots. The genesis allows five seconds for each message."""

    def __init__(self, players: int, seed: int) -> None:
        self.is_thinking = False
        """Whether the person withholds their moves."""
        super().__init__(CLASSIC, players, seed, patience=Patience(5, 5))

    def move(self, me: int) -> None:
        if me == PERSON and self.is_thinking:
            self.machines[me].turn = None
        else:
            super().move(me)

    def wait(self, seconds: float) -> None:
        """Let this time pass and wake every node whenever it has asked for it."""
        until = self.now + seconds
        while True:
            self.run()
            due = [machine.wake for machine in self.machines if machine.is_up and machine.wake is not None]
            self.now = min([*due, until])
            if self.now == until:
                return
            for me, machine in enumerate(self.machines):
                if machine.is_up and machine.wake is not None and machine.wake <= self.now:
                    machine.wake = None
                    self.feed(me, Ticked())

    def has_put_out(self, player: int) -> bool:
        """Return whether any other node has gone on without this player."""
        others = (machine for me, machine in enumerate(self.machines) if me != player and machine.is_up)
        return any(player in machine.match.history.position.left for machine in others)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every node of a world wait for the person."""
    monkeypatch.setattr(Party, "waited_for", lambda *_: frozenset({PERSON}))
    monkeypatch.setattr("tests.simulation.world.Match", partial(Match, party=Party(b"")))


@pytest.mark.parametrize("players", [2, 3, 5])
def test_a_person_may_think_for_half_an_hour(patient: None, players: int) -> None:
    world = Table(players, seed=players)
    world.is_thinking = True
    world.run()
    world.wait(HALF_AN_HOUR)
    assert not world.has_put_out(PERSON)
    assert [world.told(me, Overdue) for me in range(players)] == [[]] * players
    world.is_thinking = False
    world.feed(PERSON, Conceded())
    world.run()
    assert {machine.transcript for machine in world.machines} == {world.machines[PERSON].transcript} != {b""}


@pytest.mark.parametrize("days", [0.1, pytest.param(14, marks=pytest.mark.slow)])
def test_a_match_may_wait_for_weeks(patient: None, days: float) -> None:
    """Nodes report their state every five seconds. In an earlier version a doubling pause overflowed a float."""
    world = Table(2, seed=2)
    world.is_thinking = True
    world.wait(days * 24 * 3600)
    assert not world.has_put_out(PERSON)


def test_a_slow_person_at_a_table_of_people_is_warned_and_evicted() -> None:
    world = Table(3, seed=3)
    world.is_thinking = True
    world.run()
    world.wait(60)
    assert world.told(1, Overdue)
    assert world.has_put_out(PERSON)


@pytest.mark.parametrize("delivered", [*range(60, 420, 120), *thoroughly((100, 140, 220, 260, 340, 380))])
def test_bots_wait_for_their_person_whose_node_was_killed(patient: None, delivered: int) -> None:
    world = Table(4, seed=delivered)
    while world.delivered < delivered:
        assert world.step()
    assert world.machines[PERSON].match.is_formed
    world.crash(PERSON)
    world.run()
    world.wait(60)
    assert not world.has_put_out(PERSON)
    world.restart(PERSON)
    world.run()
    assert {machine.transcript for machine in world.machines} == {world.machines[PERSON].transcript} != {b""}
    assert PERSON not in world.machines[1].match.history.position.left


def test_a_person_at_a_table_of_people_is_evicted_once_their_node_is_killed() -> None:
    world = Table(4, seed=100)
    while world.delivered < 100:
        assert world.step()
    world.crash(PERSON)
    world.run()
    world.wait(60)
    assert world.has_put_out(PERSON)


def test_the_match_goes_on_without_a_crashed_bot(patient: None) -> None:
    world = Table(4, seed=7)
    while world.delivered < 200:
        assert world.step()
    world.crash(3)
    world.run()
    world.wait(30)
    assert world.has_put_out(3)
    assert world.machines[PERSON].transcript


@given(st.sets(st.integers(1, 3)), st.integers(0, 3))
def test_the_clock_is_off_only_if_all_other_players_are_the_persons_bots(programs: set[int], person: int) -> None:
    party = Party(IDENTITIES[person], frozenset(IDENTITIES[each] for each in programs))
    is_alone = {person, *programs} == {0, 1, 2, 3}
    assert party.waited_for(ROSTER) == ({person} if is_alone else set())


def test_a_party_whose_person_is_not_at_the_table_waits_for_no_player() -> None:
    party = Party(bytes(32), frozenset(IDENTITIES))
    assert party.waited_for(ROSTER) == set()


# A player who returns alone


@pytest.mark.parametrize("players", [2, 3])
def test_a_player_who_returns_alone_is_told_which_players_are_missing(patient: None, players: int) -> None:
    world = Table(players, seed=players)
    world.is_thinking = True
    world.run()
    others = world.machines[PERSON].match.info[1:]
    for me in range(players):
        world.crash(me)
    world.restart(PERSON)
    while not world.told(PERSON, Suspended):
        assert world.step()
    assert world.told(PERSON, Suspended)[0] == Suspended(others)
    assert world.machines[PERSON].turn is None
    world.feed(PERSON, Conceded())
    (conceded,) = world.told(PERSON, ConcedeAccepted)
    assert conceded == ConcedeAccepted(others)
    for me in range(1, players):
        world.restart(me)
    world.run()
    assert world.told(PERSON, Continued)
    assert PERSON in world.machines[1].match.history.position.left


def test_a_player_who_concedes_on_anothers_turn_is_told_whose_move_is_awaited(patient: None) -> None:
    world = Table(3, seed=1)
    world.is_thinking = True
    world.run()
    world.feed(1, Conceded())
    assert world.told(1, ConcedeAccepted) == [ConcedeAccepted((world.machines[1].match.info[PERSON],))]
    world.feed(PERSON, Conceded())
    assert world.told(PERSON, ConcedeAccepted) == [ConcedeAccepted()]
