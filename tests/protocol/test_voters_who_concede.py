"""A player who has voted may not resign before the next root (SPEC.md §6, line 2). If they concede, their program goes
on for them until then."""

from __future__ import annotations

from p2pdice.moves import Stake
from p2pdice.rulesets import PRESETS
from p2pdice.state import Exit
from protocol.consensus.kinds import Vote, VoteValue
from protocol.consensus.position import Purpose
from protocol.consensus.verifier import verify
from protocol.events import ConcedeAccepted, YourTurn
from protocol.match.effects import Conceded, Played, Received, Ticked
from protocol.wire.messages import Kind
from protocol.wire.purses import Purse
from tests.protocol.voting import HURRIED, cast, deliver_except_to, signed_by
from tests.simulation.world import World, identity_of

CLASSIC = PRESETS["classic"].with_options({"dice": "2"})
STAKES = CLASSIC.with_options({"stakes": "yes"})


def hold_the_first_turn(world: World) -> tuple[int, int, YourTurn]:
    """Play until the first turn and leave it unanswered; return its player, the next player, and the turn."""
    late = world.first_turn()
    turn, world.machines[late].turn = world.machines[late].turn, None
    assert turn is not None
    while any(world.links.values()):
        assert world.step()
    seats = world.machines[late].match.history.position.seats
    return late, seats[(seats.index(late) + 1) % len(seats)], turn


def vote_alone(world: World, me: int) -> int:
    """Let only this node run out of patience and vote; return the step of the root that it voted on."""
    machine = world.machines[me]
    for _ in range(20):
        assert machine.wake is not None
        world.now = max(world.now, machine.wake)
        machine.wake = None
        world.feed(me, Ticked())
        if signed_by(world, me, Kind.ABSENT):
            return machine.match.history.position.root_step
    raise AssertionError("it does not vote")


def assert_conceded(world: World, me: int, root: int) -> None:
    """Assert that all nodes reached the same end, and that this player resigned exactly once, after a later root."""
    assert len({machine.match.history.position.tip for machine in world.machines}) == 1
    assert {verify(machine.transcript).verdict for machine in world.machines} == {"fair"}
    history = world.machines[me].match.history
    state = history.position.state
    assert state is not None
    assert Exit((history.position.seats.index(me),), "conceded") in state.exits
    steps = [
        position.step - 1
        for position in history.chain
        for signed in position.entries.values()
        if (signed.message.author, signed.message.kind) == (me, Kind.RESIGN)
    ]
    assert len(steps) == 1
    assert history.chain[steps[0]].root_step > root


def test_on_their_turn_the_program_of_a_conceding_voter_makes_the_lowest_bid() -> None:
    """The others are no majority here, so they would wait for ever for a player who neither moved nor resigned."""
    world = World(CLASSIC, 3, seed=1, patience=HURRIED)
    late, me, _ = hold_the_first_turn(world)
    seats = world.machines[me].match.history.position.seats
    root = vote_alone(world, me)
    world.feed(late, Conceded())
    while (turn := world.machines[me].turn) is None:
        assert world.step()
    assert not world.machines[me].match.goes_on_without({world.machines[me].match.info[me].fingerprint})
    world.machines[me].turn = None
    world.feed(me, Conceded())
    assert [signed.message.body for signed in signed_by(world, me, Kind.MOVE)] == [str(turn.view.legal[0])]
    other = world.machines[me].match.info[seats[(seats.index(me) + 1) % 3]]
    assert world.told(me, ConcedeAccepted) == [ConcedeAccepted((other,), next_round=True)]
    world.run()
    assert_conceded(world, me, root)


def test_before_the_match_the_program_of_a_conceding_voter_stakes_nothing() -> None:
    world = World(STAKES, 3, seed=1, patience=HURRIED)
    me = 1
    history = world.machines[me].match.history
    while history.position.kind is not Kind.REVEAL or len(history.missing()) != 1:
        assert world.step()
    root = vote_alone(world, me)
    while world.machines[me].turn is None:
        assert world.step()
    assert history.position.purpose is Purpose.STAKES
    world.machines[me].turn = None
    world.feed(me, Conceded())
    assert str(Stake(0)) in world.machines[me].choices.values()
    world.run()
    assert_conceded(world, me, root)
    state = history.position.state
    assert state is not None
    assert state.wagers[history.position.seats.index(me)].bet == 0


def test_a_voter_whose_stake_is_lost_does_not_resign_beside_its_vote() -> None:
    """The others have voted on the STAKEs before this node has their LOCKs, and then this node must vote, too.
    A RESIGN beside its vote could complete the step in a different way."""
    owners = [identity_of(b"a purse", number) for number in range(3)]
    purses = [(owner, Purse.new(owner.public).head) for owner in owners]
    world = World(STAKES, 3, seed=1, patience=HURRIED, owners=purses)
    me, others = 1, (0, 2)
    match = world.machines[me].match
    match.signer._bind_stake = lambda *_: False
    while not (match.history.position.purpose is Purpose.STAKES and match.history.position.kind is Kind.LOCK):
        assert world.step()
    deliver_except_to(world, me)
    assert match.history.missing(), "it lacks a LOCK"
    stakes = {other: signed_by(world, other, Kind.STAKE)[0] for other in others}
    place = world.machines[0].match.history.position
    value = VoteValue(place.step, place.tip, tuple(stakes[each].id if each in stakes else b"" for each in range(3)))
    said = [stakes[other] for other in others]
    for other in others:
        for is_close, named in ((False, value), (True, None)):
            said.append(cast(world, place, Vote(place.tip, other, is_close, 0, named)))
    said += [signed_by(world, other, Kind.LOCK)[-1] for other in others]
    for signed in said:
        world.feed(me, Received(signed.message.author, signed))
    assert signed_by(world, me, Kind.ABSENT)
    assert not signed_by(world, me, Kind.RESIGN)


def test_a_voter_does_not_resign_on_the_voted_root_in_later_rounds() -> None:
    world = World(CLASSIC, 5, seed=1, patience=HURRIED)
    late, me, turn = hold_the_first_turn(world)
    vote_alone(world, me)
    match = world.machines[me].match
    root = match.history.root
    others = [each for each in range(5) if each not in (me, late)]
    for each in others:
        world.cut(me, each)
    for number in range(3):
        for each in others:
            world.feed(me, Received(late, cast(world, root, Vote(root.tip, each, True, number, None))))
    world.feed(me, Conceded())
    world.feed(late, Played(turn.view.legal[0], turn.token))
    while world.links[late, me]:
        world.deliver(late, me)
    assert match.history.root is root
    assert not signed_by(world, me, Kind.RESIGN)
