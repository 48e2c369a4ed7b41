"""A message for the open step may also complete a voted decision or count for nothing (SPEC.md §6)."""

from __future__ import annotations

from p2pdice.rulesets import PRESETS
from protocol.consensus.kinds import Vote, VoteValue
from protocol.consensus.position import Purpose
from protocol.match.effects import Received
from protocol.wire.messages import Kind, Signed
from tests.protocol.voting import cast, deliver_except_to, forge, signed_by
from tests.simulation.world import World

ME = 0
OTHERS = (1, 2, 3)


def before_the_reveals() -> tuple[World, dict[int, Signed]]:
    """Return a world in which ME has every LOCK of a deal but no REVEAL from the others, and the REVEALs by author."""
    world = World(PRESETS["classic"], 4, seed=1)
    history = world.machines[ME].match.history
    while not (history.position.purpose is Purpose.DEAL and history.position.kind is Kind.LOCK):
        assert world.step()
    deliver_except_to(world, ME)
    for other in OTHERS:
        world.feed(ME, Received(other, signed_by(world, other, Kind.LOCK)[-1]))
    assert history.missing() == OTHERS
    return world, {other: signed_by(world, other, Kind.REVEAL)[-1] for other in OTHERS}


def test_a_decision_waits_only_for_the_messages_that_it_names() -> None:
    world, reveals = before_the_reveals()
    history, silent, late = world.machines[ME].match.history, 1, 2
    place, held = history.position, reveals | history.held
    named = tuple(b"" if author == silent else held[author].id for author in place.owed)
    for author in OTHERS:
        vote = Vote(place.tip, author, True, 0, VoteValue(place.step, place.tip, named))
        world.feed(ME, Received(author, cast(world, place, vote)))
    world.feed(ME, Received(3, reveals[3]))
    assert not history.position.left
    world.feed(ME, Received(late, reveals[late]))
    assert history.position.left == (silent,)


def test_a_convicted_player_counts_as_missing_whatever_they_send() -> None:
    world, reveals = before_the_reveals()
    history, cheat = world.machines[ME].match.history, 1
    world.feed(ME, Received(cheat, forge(world, history.position, cheat, Kind.MOVE, "liar")))
    world.feed(ME, Received(cheat, reveals[cheat]))
    assert cheat in world.machines[ME].match.replica.proven
    assert history.missing() == OTHERS
