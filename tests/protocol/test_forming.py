"""What forms a match, at single nodes: who signs when, and what a resignation before the end of it does."""

from __future__ import annotations

from typing import Any

from p2pdice import PRESETS
from protocol import limits
from protocol.effects import Ticked, Withdrawn
from protocol.genesis import Patience
from protocol.keys import MatchKey
from protocol.match import Match
from protocol.messages import Kind, Message, sign
from protocol.position import FORMED
from protocol.wire import Carried
from tests.simulation.world import World

CLASSIC = PRESETS["classic"].with_options({"dice": "1"})
HOST, LIAR, OTHER = range(3)


class Convenor(Match):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments, convenes=True)


def table() -> World:
    return World(CLASSIC, 3, seed=1, patience=Patience(5, 5), kinds={HOST: Convenor})


def until_bound(world: World, me: int) -> None:
    while not world.machines[me].match.is_bound:
        assert world.step()


def test_the_convenor_signs_last_what_forms_the_match() -> None:
    world = table()
    while not world.machines[HOST].match.is_formed:
        held = world.machines[HOST].match.record.held
        assert HOST not in held
        assert world.step()
    world.run()
    assert {machine.transcript for machine in world.machines} == {world.machines[HOST].transcript} != {b""}


def test_what_the_convenor_withdraws_is_called_off_by_all_who_have_signed_it() -> None:
    world = table()
    until_bound(world, OTHER)
    world.feed(HOST, Withdrawn())
    world.run()
    for machine in world.machines:
        assert machine.match.agreement.is_called_off
        assert not machine.match.is_formed
        assert not machine.match.is_bound
        assert machine.proofs == []


def test_who_has_signed_and_withdraws_takes_nothing_back() -> None:
    world = table()
    until_bound(world, OTHER)
    world.feed(OTHER, Withdrawn())
    world.run()
    assert {machine.transcript for machine in world.machines} == {world.machines[HOST].transcript} != {b""}


def test_who_resigns_to_one_and_commits_to_the_others_calls_nothing_off_and_is_named() -> None:
    world = table()
    until_bound(world, LIAR)
    record = world.machines[LIAR].match.record
    message = Message(record.match, 1, record.position.tip, LIAR, Kind.RESIGN, ())
    world.links[LIAR, OTHER].clear()  # its commitment comes to this one from others
    world.send(LIAR, OTHER, Carried(*sign(message, MatchKey(world.seeds[LIAR])).wire))
    world.run()
    honest = [world.machines[HOST], world.machines[OTHER]]
    assert all(machine.match.record.position.step > FORMED for machine in honest)
    assert all(set(machine.match.agreement.proven) == {LIAR} for machine in honest)


def test_a_node_that_is_bound_elsewhere_signs_nothing_that_binds_it() -> None:
    world = table()
    is_free = False
    world.machines[OTHER].match.may_commit = lambda: is_free
    world.run()
    assert all(machine.match.record.position.step == 1 for machine in world.machines)
    assert not world.machines[OTHER].match.is_bound
    is_free = True
    world.now += limits.RELAY
    world.feed(OTHER, Ticked())
    world.run()
    assert all(machine.match.is_ended for machine in world.machines)
