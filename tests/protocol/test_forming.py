"""What forms a match, at single nodes: who signs when, and what a resignation before the end of it does."""

from __future__ import annotations

from typing import Any

import pytest

from p2pdice import PRESETS
from protocol import limits
from protocol.consensus.position import FORMED
from protocol.crypto.keys import MatchKey
from protocol.match.effects import Linked, Received, Ticked, Withdrawn
from protocol.match.match import Match
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, Message, sign
from tests.protocol.scribe import due
from tests.simulation.world import World

CLASSIC = PRESETS["classic"].with_options({"dice": "1"})
HOST, LIAR, OTHER = range(3)


class HostsMatch(Match):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments, host=HOST)


def table() -> World:
    return World(CLASSIC, 3, seed=1, patience=Patience(5, 5), kinds={HOST: HostsMatch})


def until_bound(world: World, me: int) -> None:
    while not world.machines[me].match.is_bound:
        assert world.step()


def test_the_host_signs_last() -> None:
    world = table()
    while not world.machines[HOST].match.is_formed:
        held = world.machines[HOST].match.history.held
        assert HOST not in held
        assert world.step()
    world.run()
    assert {machine.transcript for machine in world.machines} == {world.machines[HOST].transcript} != {b""}


def test_a_withdrawn_proposal_is_called_off_by_everybody_who_signed_it() -> None:
    world = table()
    until_bound(world, OTHER)
    world.feed(HOST, Withdrawn())
    world.run()
    for machine in world.machines:
        assert machine.match.replica.is_called_off
        assert not machine.match.is_formed
        assert not machine.match.is_bound
        assert machine.proofs == []


def test_withdrawing_does_not_take_a_signature_back() -> None:
    world = table()
    until_bound(world, OTHER)
    world.feed(OTHER, Withdrawn())
    world.run()
    assert {machine.transcript for machine in world.machines} == {world.machines[HOST].transcript} != {b""}


def resignation(world: World) -> Received:
    history = next(machine.match.history for machine in world.machines if machine.match.history.position.step == 1)
    message = Message(history.match, 1, history.position.tip, LIAR, Kind.RESIGN, ())
    return Received(LIAR, sign(message, MatchKey(world.seeds[LIAR])))


def until_formed(world: World, me: int) -> None:
    while not world.machines[me].match.is_formed:
        assert world.step()


def test_a_node_that_hears_a_resignation_still_joins_a_formed_match() -> None:
    world = table()
    until_bound(world, LIAR)
    withdrawn = resignation(world)
    world.links[LIAR, OTHER].clear()  # its commitment comes to this one from others
    until_formed(world, HOST)
    assert not world.machines[OTHER].match.is_formed
    world.feed(OTHER, withdrawn)
    world.run()
    honest = [world.machines[HOST], world.machines[OTHER]]
    assert all(machine.match.history.position.step > FORMED for machine in honest)
    assert all(set(machine.match.replica.proven) == {LIAR} for machine in honest)


def test_a_node_that_called_a_match_off_returns_to_it_unless_bound_elsewhere() -> None:
    world = table()
    other = world.machines[OTHER].match
    until_bound(world, LIAR)
    withdrawn = resignation(world)
    world.links[LIAR, OTHER].clear()
    until_formed(world, HOST)
    world.cut(HOST, OTHER)  # what the host said is lost on its way
    is_free = False
    other.may_commit = lambda: is_free
    world.feed(OTHER, withdrawn)
    world.now += limits.WITHDRAWAL
    world.feed(OTHER, Ticked())
    assert other.replica.is_called_off
    world.link(HOST, OTHER)
    while HOST not in other.replica._later:
        assert world.step()
    assert other.replica.is_called_off
    is_free = True
    world.feed(OTHER, Ticked())
    assert not other.replica.is_called_off
    world.run()
    assert other.history.position.step > FORMED
    assert OTHER not in world.machines[HOST].match.history.position.left


@pytest.mark.parametrize("is_first", [False, True])
def test_a_commitment_beside_a_resignation_forms_nothing_for_a_node_that_knows_both(is_first: bool) -> None:
    """Some called the match off before others were shown the commitment, and formed it: they voted the first out."""
    world = table()
    until_bound(world, LIAR)
    commitment = world.machines[LIAR].match.history.held[LIAR]
    for me in (HOST, OTHER):
        world.cut(LIAR, me)
        for item in (Received(LIAR, commitment), resignation(world))[:: 1 if is_first else -1]:
            world.feed(me, item)
    world.run()
    for me in (HOST, OTHER):
        match = world.machines[me].match
        assert match.replica.is_called_off
        assert not match.is_formed
        assert set(match.replica.proven) == {LIAR}


def test_a_resignation_before_a_step_opens_counts_beside_a_message_for_it() -> None:
    world = table()
    match = world.machines[OTHER].match
    early = table()
    until_bound(early, LIAR)
    commitment = early.machines[LIAR].match.history.held[LIAR]
    assert match.history.position.step == 0
    world.feed(OTHER, Received(LIAR, commitment))
    world.feed(OTHER, resignation(early))
    world.run()
    assert match.replica.is_called_off


def test_a_match_is_not_called_off_before_half_of_its_players_could_hear_of_it() -> None:
    world = World(CLASSIC, 5, seed=1, patience=Patience(5, 5), kinds={HOST: HostsMatch})
    until_bound(world, OTHER)
    match = world.machines[OTHER].match
    for other in range(5):
        if other not in (OTHER, LIAR):
            world.cut(OTHER, other)
    world.feed(OTHER, resignation(world))
    world.now += limits.WITHDRAWAL
    world.feed(OTHER, Ticked())
    assert not match.replica.is_called_off
    world.link(OTHER, 4)
    world.feed(OTHER, Ticked())
    assert not match.replica.is_called_off
    world.now += limits.WITHDRAWAL
    world.feed(OTHER, Ticked())
    assert match.replica.is_called_off


def test_a_node_that_is_bound_elsewhere_signs_nothing_that_binds_it() -> None:
    world = table()
    is_free = False
    world.machines[OTHER].match.may_commit = lambda: is_free
    world.run()
    assert all(machine.match.history.position.step == 1 for machine in world.machines)
    assert not world.machines[OTHER].match.is_bound
    is_free = True
    world.now += limits.RELAY
    world.feed(OTHER, Ticked())
    world.run()
    assert all(machine.match.is_ended for machine in world.machines)


def test_a_spectator_does_not_count_among_the_half_that_heard_a_resignation() -> None:
    world = World(CLASSIC, 5, seed=1, patience=Patience(5, 5), kinds={HOST: HostsMatch})
    until_bound(world, OTHER)
    watching = Match(world.data, None, b"")
    watching.handle(Linked(OTHER), 0.0)
    for signed in world.machines[OTHER].match.history.chain[1].entries.values():
        watching.handle(Received(OTHER, signed), 0.0)
    watching.handle(resignation(world), 0.0)
    watching.handle(Ticked(), limits.WITHDRAWAL)
    assert not watching.replica.is_called_off
    watching.handle(Linked(HOST), limits.WITHDRAWAL)
    watching.handle(Ticked(), 2 * limits.WITHDRAWAL)
    assert watching.replica.is_called_off


def test_a_restarted_node_forms_no_match_before_it_may_show_it() -> None:
    """Else a liar could have the others call it off meanwhile, and be bound by another match."""
    world = World(CLASSIC, 4, seed=1, patience=Patience(5, 5), kinds={HOST: HostsMatch})
    machine = world.machines[OTHER]
    while machine.match.history.position.step == 0 or len(machine.match.history.held) < 3:
        assert world.step()
    commitment = due(machine.match.history, HOST, world.seeds[HOST])
    assert commitment.message.kind is Kind.COMMIT
    world.crash(OTHER)
    world.crash(3)
    world.restart(OTHER, [*machine.disk, *machine.unwritten])
    match = machine.match
    world.feed(OTHER, Received(HOST, commitment))
    assert match.unheard
    assert not match.is_formed
    assert match.history.is_complete
    world.restart(3)
    world.run()
    assert {machine.transcript for machine in world.machines} == {world.machines[HOST].transcript} != {b""}
