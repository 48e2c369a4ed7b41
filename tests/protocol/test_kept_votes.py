"""A node keeps only votes of others that may still matter, in memory and on disk, within limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from p2pdice.moves import Bid
from p2pdice.rulesets import PRESETS
from p2pdice.views import view
from protocol import limits
from protocol.consensus.branches import Outcome
from protocol.consensus.position import Purpose
from protocol.consensus.replica import Replica
from protocol.crypto.keys import MatchKey, PublicKey
from protocol.match.effects import Conceded, Received, Ticked
from protocol.wire.genesis import Patience
from protocol.wire.messages import VOTES, Kind, Message, Signed, sign
from tests.protocol.histories import add
from tests.simulation.replacing import replaced
from tests.simulation.world import UNHURRIED, World
from tests.tiers import thoroughly

LIAR = 3
A_SECOND = 50
"""Messages per second that a node reads from one peer in the long run."""
ROOM = 64 * limits.KIB


def in_a_round(patience: Patience = UNHURRIED) -> World:
    """Return a world in which several steps have closed since the last LOCK."""
    world = World(PRESETS["classic"], 4, seed=2, patience=patience)
    while True:
        assert world.step()
        positions = [machine.match.history.position for machine in world.machines]
        tips = {position.tip for position in positions}
        if len(tips) == 1 and positions[0].purpose is Purpose.TURN and positions[0].step > positions[0].root_step + 4:
            return world


def without_one() -> tuple[World, int, list[int]]:
    """Return a world in which the player on turn has crashed, that player, and the other players."""
    world = in_a_round(Patience(5, 5))
    silent = world.machines[0].match.history.position.owed[0]
    world.crash(silent)
    return world, silent, [me for me in range(4) if me != silent]


def vote(world: World, number: int, step: int, kind: Kind = Kind.ABSENT, author: int = LIAR) -> Signed:
    """Return a vote for a step after the root that counts all its players as absent."""
    history = world.machines[0].match.history
    place, root = history.chain[step], history.root
    value = (step, place.tip, (b"",) * len(place.owed))
    body = (number, value, -1) if kind is Kind.ABSENT else (number, value)
    return sign(Message(history.match, root.step, root.tip, author, kind, body), MatchKey(world.seeds[author]))


def flood(world: World, count: int) -> Iterator[Signed]:
    """Yield votes of ever later rounds for each step after the root in turn; later every second one is a repetition."""
    position = world.machines[0].match.history.position
    said: list[Signed] = []
    for number in range(count):
        step = position.root_step + number % (position.step + 1 - position.root_step)
        if number % 2 and len(said) > 40:
            yield said[number * 7919 % len(said)]
        else:
            said.append(vote(world, number, step, (Kind.ABSENT, Kind.CLOSE)[number // 2 % 2]))
            yield said[-1]


def size(messages: list[Signed]) -> int:
    return sum(len(signed.data) + len(signed.signature) for signed in messages)


@pytest.mark.parametrize("seconds", [30, *thoroughly([600])])
def test_the_votes_of_a_liar_do_not_make_the_store_grow(seconds: int) -> None:
    world = in_a_round()
    before = size(world.machines[0].stored)
    for signed in flood(world, seconds * A_SECOND):
        world.feed(0, Received(LIAR, signed))
    assert size(world.machines[0].stored) - before <= ROOM


def test_a_third_vote_in_a_round_is_surplus_and_a_known_vote_is_not_verified_again() -> None:
    world = in_a_round()
    replica: Replica = world.machines[0].match.replica
    root = replica.history.position.root_step
    votes = [vote(world, 0, root + each)._replace(checked=False) for each in range(4)]
    assert [replica.take(signed) for signed in votes[:2]] == [Outcome.ADDED] * 2
    assert replica.proven.keys() == {LIAR}
    replica.news.clear()
    assert {replica.take(signed) for signed in votes[2:]} == {Outcome.SURPLUS}

    def check(key: PublicKey, signature: bytes, data: bytes) -> bool:
        raise AssertionError("a known vote was verified again")

    with replaced(PublicKey, PublicKey.verifies, check):
        assert {replica.take(signed) for signed in votes[:2] * 2} == {Outcome.DUPLICATE}
    assert replica.news == []


def test_of_too_many_votes_on_later_roots_those_on_the_nearest_are_kept() -> None:
    world = in_a_round()
    replica = world.machines[0].match.replica
    match, root = replica.history.match, replica.history.root
    votes = []
    for step in range(root.step + 1, root.step + 2 * limits.FUTURE_PER_AUTHOR):
        tip = step.to_bytes(32)
        message = Message(match, step, tip, LIAR, Kind.ABSENT, (0, (step, tip, (b"",)), -1))
        votes.append(sign(message, MatchKey(world.seeds[LIAR])))
    assert {replica.take(signed) for signed in reversed(votes)} == {Outcome.FUTURE}
    kept = [signed for signed in replica.shown(0) if signed.message.kind in VOTES]
    assert [signed.id for signed in kept] == [signed.id for signed in votes[: limits.FUTURE_PER_AUTHOR]]


def test_a_vote_costs_at_most_one_check_of_its_signature() -> None:
    """docs/reliability.md states this cost in percent of a core."""
    world = in_a_round()
    votes = [signed._replace(checked=False) for signed in flood(world, 400)]
    work: Counter[str] = Counter()
    verifies = PublicKey.verifies

    def verified(key: PublicKey, signature: bytes, data: bytes) -> bool:
        work["checks"] += 1
        return verifies(key, signature, data)

    with replaced(PublicKey, verifies, verified):
        for signed in votes:
            world.feed(0, Received(LIAR, signed))
    assert 0 < work["checks"] <= len(votes)


def test_stored_votes_are_deleted_at_the_next_root_except_certificates() -> None:
    """A silent player is put out. The CLOSEs of that decision stay, as the history needs them."""
    world, silent, players = without_one()
    others = [world.machines[me] for me in players]
    has_stored = False
    while not all(silent in machine.match.history.position.left for machine in others):
        assert world.step()
        has_stored = has_stored or any(each.message.kind is Kind.ABSENT for each in others[0].stored)
    assert has_stored
    for machine in others:
        chain = machine.match.history.chain
        grounds = {signed.id for position in chain for signed in position.certificate}
        assert {signed.id for signed in machine.stored if signed.message.kind in VOTES} == grounds


def test_a_node_knows_its_last_vote_after_a_crash_of_all_nodes() -> None:
    """It also knows the votes that its own vote rests on, without help from the other nodes."""
    world, silent, others = without_one()
    while not any(each.message.kind is Kind.CLOSE for me in others for each in world.machines[me].disk):
        assert world.step()
    closer = next(me for me in others if any(each.message.kind is Kind.CLOSE for each in world.machines[me].disk))
    for me in others:
        world.crash(me)
    world.restart(closer)
    replica = world.machines[closer].match.replica
    assert any(vote.author == closer and vote.is_close for vote in replica.ballot.votes())
    assert replica.ballot.leading is not None
    for me in others:
        if me != closer:
            world.restart(me)
    world.run()
    assert all(world.machines[me].match.history.position.left == (silent,) for me in others)


def test_a_node_that_voted_before_a_restart_still_ends_its_round_later() -> None:
    world, _, others = without_one()
    while not any(each.message.kind is Kind.ABSENT for each in world.machines[others[0]].disk):
        assert world.step()
    world.crash(others[0])
    world.restart(others[0])
    match = world.machines[others[0]].match
    assert match.replica.ballot.has_voted
    assert match.waiting.voter.vote(match._now, has_quorum=lambda: True) is None
    assert match._now < match.waiting.voter.wake < match._now + 60


def test_a_voting_round_ends_without_a_decision_only_while_a_majority_is_linked() -> None:
    world, _, others = without_one()
    me = others[0]
    while not world.machines[me].match.replica.ballot.has_voted:
        assert world.step()
    for other in others[1:]:
        world.cut(me, other)
    voter, later = world.machines[me].match.waiting.voter, world.now + 60
    assert world.machines[me].match.replica.ballot.nil_vote is not None
    assert voter.vote(later, has_quorum=lambda: False) is None
    assert voter.vote(later, has_quorum=lambda: True) == world.machines[me].match.replica.ballot.nil_vote


def test_a_node_without_any_link_votes_nobody_out() -> None:
    """Otherwise a restart of the router would cost the player on turn the match."""
    world = World(PRESETS["classic"].with_options({"dice": "2"}), 4, seed=3, patience=Patience(30, 5))
    world.first_turn()
    for one in range(4):
        for other in range(one):
            world.cut(one, other)
    for _ in range(200):
        world.now += 0.5
        for author in range(4):
            world.feed(author, Ticked())
    assert [[*machine.match.replica.ballot.votes()] for machine in world.machines] == [[]] * 4


def test_a_nodes_own_messages_on_an_abandoned_branch_stay_in_the_store() -> None:
    """Otherwise the node could contradict them after a restart if it follows that branch again."""
    world = in_a_round()
    history = world.machines[0].match.history
    bid = history.position.step - 2
    place, me = history.full(bid), history.chain[-2].owed[0]
    (bidder,) = place.owed
    replica = world.machines[me].match.replica
    own = history.chain[-1].entries[me]
    assert place.state is not None
    known = history.chain[bid + 1].entries[bidder].message
    others = (str(move) for move in view(place.state, place.seats.index(bidder), ()).legal if isinstance(move, Bid))
    key = MatchKey(world.seeds[bidder])
    other = sign(known._replace(body=next(text for text in others if text != known.body)), key)
    elsewhere = history.along([place])
    add(elsewhere, other)
    votes = []
    for author in range(4):
        if author not in (bidder, me):
            step, tip, owed = elsewhere.position.step, elsewhere.position.tip, elsewhere.position.owed
            body = (0, (step, tip, (b"",) * len(owed)), -1)
            root = history.root
            message = Message(history.match, root.step, root.tip, author, Kind.ABSENT, body)
            votes.append(sign(message, MatchKey(world.seeds[author])))
    for signed in (other, *votes):
        world.feed(me, Received(signed.message.author, signed))
    assert history.match == replica.history.match
    assert replica.history.position.tip == elsewhere.position.tip, (
        "two players voted on the other branch, one signed on this one"
    )
    restarted = Replica(world.data, me)
    restarted.take_stored(world.machines[me].stored)
    assert own.id in {signed.id for signed in restarted.ballot.branches.own(me)}


def test_a_voter_who_concedes_resigns_only_after_the_decision() -> None:
    """Before the decision, its RESIGN could contradict a decision that includes its earlier message."""
    world, silent, (me, *_) = without_one()
    disk = world.machines[me].disk
    while not any((each.message.kind, each.message.author) == (Kind.ABSENT, me) for each in disk):
        assert world.step()
    root = world.machines[me].match.history.position.root_step
    world.feed(me, Conceded())
    world.run()
    resigned = [signed for signed in world.machines[me].stored if signed.message.kind is Kind.RESIGN]
    assert [signed.message.author for signed in resigned] == [me]
    history = world.machines[me].match.history
    assert history.position.left == tuple(sorted((silent, me)))
    assert history.chain[resigned[0].message.step].root_step > root
    assert all(not machine.match.replica.proven for machine in world.machines)


def test_after_votes_close_a_lock_the_next_step_waits_only_briefly_for_players_who_did_not_sign() -> None:
    world = World(PRESETS["classic"], 4, seed=2, patience=Patience(20, 10))
    while world.machines[0].match.history.position.purpose is not Purpose.SHOWDOWN:
        assert world.step()
    silent = 3
    world.crash(silent)
    others = [machine.match for machine in world.machines[:silent]]
    while not all(match.history.position.certificate for match in others):
        assert world.step()
    assert {match.history.chain[-2].kind for match in others} == {Kind.LOCK}
    assert all(match.replica.hurried == {silent} and not match.replica.is_calm for match in others)
    began = world.now
    while not all(silent in match.history.position.left for match in others):
        assert world.step()
    assert world.now - began < 3
