"""What a node keeps of the others' votes, in memory and on its disk: what may still matter, and that is bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from p2pdice import PRESETS, Bid, view
from protocol import limits
from protocol.consensus.ballot import Ballot
from protocol.consensus.history import History, Outcome
from protocol.consensus.news import Replace
from protocol.consensus.position import Purpose
from protocol.consensus.replica import Replica
from protocol.crypto.keys import MatchKey, PublicKey
from protocol.match.effects import Received
from protocol.wire.genesis import Patience
from protocol.wire.messages import VOTES, Kind, Message, Signed, sign
from tests.simulation.replacing import replaced
from tests.simulation.world import UNHURRIED, Machine, World
from tests.tiers import thoroughly

LIAR = 3
A_SECOND = 50
"""Messages that a node reads of a peer in the long run."""
ROOM = 64 * limits.KIB


def in_a_round(patience: Patience = UNHURRIED) -> World:
    """Return a world in which bids were made since the last LOCK."""
    world = World(PRESETS["classic"], 4, seed=2, patience=patience)
    while True:
        assert world.step()
        positions = [machine.match.history.position for machine in world.machines]
        tips = {position.tip for position in positions}
        if len(tips) == 1 and positions[0].purpose is Purpose.TURN and positions[0].step > positions[0].locked + 4:
            return world


def vote(world: World, number: int, step: int, kind: Kind = Kind.ABSENT) -> Signed:
    """Return a vote of the liar's: that a step stands as it was closed, or that nothing has come for the open one."""
    history = world.machines[0].match.history
    entries = history.closed(step) or (b"",) * len(history.position.owed)
    body = (number, entries, -1) if kind is Kind.ABSENT else (number, entries)
    message = Message(history.match, step, history.chain[step].tip, LIAR, kind, body)
    return sign(message, MatchKey(world.seeds[LIAR]))


def flood(world: World, count: int) -> Iterator[Signed]:
    """Yield votes of ever later rounds, each step of the segment in turn, and every second one of those again."""
    position = world.machines[0].match.history.position
    said: list[Signed] = []
    for number in range(count):
        step = position.locked + 1 + number % (position.step - position.locked)
        if number % 2 and len(said) > 40:
            yield said[number * 7919 % len(said)]
        else:
            said.append(vote(world, number, step, (Kind.ABSENT, Kind.CLOSE)[number // 2 % 2]))
            yield said[-1]


def stored(machine: Machine) -> list[Signed]:
    return [*machine.disk, *machine.unwritten]


def size(messages: list[Signed]) -> int:
    return sum(len(signed.data) + len(signed.signature) for signed in messages)


@pytest.mark.parametrize("seconds", [30, *thoroughly([600])])
def test_the_store_grows_with_the_match_and_not_with_the_votes_of_a_liar(seconds: int) -> None:
    world = in_a_round()
    before = size(stored(world.machines[0]))
    for signed in flood(world, seconds * A_SECOND):
        world.feed(0, Received(LIAR, signed))
    assert size(stored(world.machines[0])) - before <= ROOM


def test_a_vote_below_the_latest_rounds_is_no_news_and_a_known_one_is_not_even_checked() -> None:
    world = in_a_round()
    replica: Replica = world.machines[0].match.replica
    step = replica.history.position.step
    votes = [vote(world, number, step)._replace(checked=False) for number in range(10)]
    late, latest = votes[: -limits.VOTE_ROUNDS], votes[-limits.VOTE_ROUNDS :]
    assert {replica.take(signed) for signed in latest} == {Outcome.ADDED}
    replica.news.clear()
    assert Outcome.ADDED not in {replica.take(signed) for signed in late * 2}

    def check(history: History, signed: Signed) -> Signed:
        raise AssertionError("nobody needs to know")

    with replaced(History, History.check_signature, check):
        assert {replica.take(signed) for signed in latest * 2} == {Outcome.DUPLICATE}
    assert replica.news == []


def test_a_vote_costs_one_check_of_its_signature_and_one_count_whatever_else_is_kept() -> None:
    """docs/reliability.md has what that is in percent of a core."""
    world = in_a_round()
    votes = [signed._replace(checked=False) for signed in flood(world, 400)]
    work: Counter[str] = Counter()
    count, verifies = Ballot._count, PublicKey.verifies

    def counted(ballot: Ballot) -> None:
        work["counts"] += 1
        count(ballot)

    def verified(key: PublicKey, signature: bytes, data: bytes) -> bool:
        work["checks"] += 1
        return verifies(key, signature, data)

    with replaced(Ballot, count, counted), replaced(PublicKey, verifies, verified):
        for signed in votes:
            world.feed(0, Received(LIAR, signed))
    assert 0 < work["counts"] <= len(votes)
    assert 0 < work["checks"] <= len(votes)


def test_votes_are_stored_by_nodes_that_act_on_them_until_the_next_lock() -> None:
    """A silent player is put out: the CLOSEs that say so stay, as the history rests on them; all else goes."""
    world = in_a_round(patience=Patience(5, 5))
    silent = world.machines[0].match.history.position.owed[0]
    world.crash(silent)
    others = [machine for me, machine in enumerate(world.machines) if me != silent]
    has_stored = False
    while not all(silent in machine.match.history.position.left for machine in others):
        assert world.step()
        has_stored = has_stored or any(each.message.kind is Kind.ABSENT for each in stored(others[0]))
    assert has_stored
    end = others[0].match.history.position.step
    while not all(machine.match.history.position.locked >= end for machine in others):
        assert world.step()
    for machine in others:
        chain = machine.match.history.chain
        grounds = {signed.id for position in chain for signed in position.certificate}
        assert {signed.id for signed in stored(machine) if signed.message.kind in VOTES} == grounds


def test_a_node_knows_its_last_vote_on_a_step_after_all_nodes_were_killed() -> None:
    """So is what it rests on: nobody has to hear that from the others, who were killed, too."""
    world = in_a_round(patience=Patience(5, 5))
    silent = world.machines[0].match.history.position.owed[0]
    world.crash(silent)
    others = [me for me in range(4) if me != silent]
    while not any(each.message.kind is Kind.CLOSE for me in others for each in world.machines[me].disk):
        assert world.step()
    closer = next(me for me in others if any(each.message.kind is Kind.CLOSE for each in world.machines[me].disk))
    for me in others:
        world.crash(me)
    world.restart(closer)
    replica = world.machines[closer].match.replica
    (ballot,) = replica.absence.ballots.values()
    assert ballot.own_close(closer) is not None
    assert ballot.majorities
    for me in others:
        if me != closer:
            world.restart(me)
    world.run()
    assert all(world.machines[me].match.history.position.left == (silent,) for me in others)


def test_a_node_that_voted_and_was_restarted_begins_a_further_round() -> None:
    world = in_a_round(patience=Patience(5, 5))
    silent = world.machines[0].match.history.position.owed[0]
    world.crash(silent)
    others = [me for me in range(4) if me != silent]
    while not any(each.message.kind is Kind.ABSENT for each in world.machines[others[0]].disk):
        assert world.step()
    world.crash(others[0])
    world.restart(others[0])
    match = world.machines[others[0]].match
    now = match._now
    (place,) = [place for place in match.replica.tail() if match.replica.absence.has_voted(place.tip)]
    due = dict(match._voter.rounds_due(now, has_quorum=True, is_deciding=False))
    assert now < due[place.tip] < now + 60


def with_another_bid(world: World) -> tuple[int, History, list[Signed]]:
    """Return who has made another bid, too, the history with that, and what of it the others lack or may lack."""
    history = world.machines[0].match.history
    bid = history.position.step - 2
    place = history.full(bid)
    (bidder,) = place.owed
    assert place.state is not None
    known = history.chain[bid + 1].entries[bidder].message
    others = (str(move) for move in view(place.state, place.seats.index(bidder), ()).legal if isinstance(move, Bid))
    other = sign(
        known._replace(body=next(text for text in others if text != known.body)), MatchKey(world.seeds[bidder])
    )
    elsewhere = history.fork(bid)
    elsewhere.add(other)
    before = [
        signed for step in range(history.position.locked, bid) for signed in history.chain[step + 1].entries.values()
    ]
    return bidder, elsewhere, [*before, other]


def absents(world: World, history: History, number: int) -> list[Signed]:
    """Return what all but the player on turn vote about the open step: that nothing has come."""
    step, tip, owed = history.position.step, history.position.tip, history.position.owed
    body = (number, (b"",) * len(owed), -1)
    messages = (Message(history.match, step, tip, author, Kind.ABSENT, body) for author in range(4))
    return [sign(message, MatchKey(world.seeds[message.author])) for message in messages if message.author not in owed]


def test_an_older_majority_on_a_shorter_history_is_not_followed() -> None:
    world = in_a_round()
    history, replica = world.machines[0].match.history, world.machines[0].match.replica
    bidder, elsewhere, shown = with_another_bid(world)
    for signed in absents(world, history, 1):
        replica.take(signed)
    before = history.position
    replica.follow(bidder, [*shown, *absents(world, elsewhere, 0)])
    assert history.position is before
    assert replica.absence.leaders()[0].place == history.place(before.step)


def test_a_majority_that_is_shown_on_two_pages_is_followed_like_one_on_one_page() -> None:
    world = in_a_round()
    history, replica = world.machines[0].match.history, world.machines[0].match.replica
    bidder, elsewhere, shown = with_another_bid(world)
    votes = absents(world, elsewhere, 1)
    assert len(votes) == history.position.majority
    replica.follow(bidder, [*shown, *votes[:1]])
    assert history.position.tip != elsewhere.position.tip
    replica.follow(bidder, votes[1:])
    assert history.position.tip == elsewhere.position.tip
    assert replica.absence.ballots[elsewhere.position.tip].majorities.keys() == {1}


def test_messages_on_a_history_that_a_node_left_stay_in_its_store() -> None:
    """Else it could contradict that after a restart, if the history comes back."""
    world = in_a_round()
    history, replica = world.machines[0].match.history, world.machines[0].match.replica
    bidder, elsewhere, shown = with_another_bid(world)
    (own,) = (signed for signed in absents(world, history, 0) if signed.message.author == 0)
    replica.take(own)
    replica.news.clear()
    replica.follow(bidder, [*shown, *absents(world, elsewhere, 1)])
    assert history.position.tip == elsewhere.position.tip
    (kept,) = (news.messages for news in replica.news if isinstance(news, Replace))
    assert own.id in {signed.id for signed in kept}


def test_messages_on_a_history_that_a_node_left_bind_it_after_a_restart() -> None:
    world = in_a_round()
    me = world.machines[0].match.history.chain[-2].owed[0]
    history, replica = world.machines[me].match.history, world.machines[me].match.replica
    left = history.fork(history.position.step)
    bidder, elsewhere, shown = with_another_bid(world)
    (vote_there,) = (signed for signed in absents(world, history, 0) if signed.message.author == me)
    (bid_there,) = (signed for signed in _history_of(left)[-1:] if signed.message.author == me)
    replica.take(vote_there)
    replica.follow(bidder, [*shown, *absents(world, elsewhere, 1)])
    (kept,) = (news.messages for news in replica.news if isinstance(news, Replace))

    restarted = Replica(world.data, me)
    restarted.take_stored(kept)
    assert restarted.absence.round == 0
    assert restarted.own[bid_there.message.tip, bid_there.message.step] == bid_there
    restarted.follow(bidder, [*_history_of(left), *absents(world, left, 2)])
    assert restarted.history.position.tip == left.position.tip
    assert restarted.absence.has_voted(vote_there.message.tip)
    (again,) = (news.messages for news in restarted.news if isinstance(news, Replace))
    assert {vote_there.id, bid_there.id} <= {signed.id for signed in again}


def _history_of(history: History) -> list[Signed]:
    """Return what has closed the steps since the last complete LOCK."""
    chain = history.chain[history.position.locked + 1 :]
    return [signed for position in chain for signed in position.entries.values()]


def test_a_node_with_a_complete_lock_votes_on_no_earlier_step() -> None:
    """So a vote that was under way then, and left without being stored, is contradicted by no later one."""
    world = in_a_round()
    machine = world.machines[0]
    before = machine.match.history.position.step
    while machine.match.history.position.locked <= before:
        assert world.step()
    replica = Replica(world.data, 0)
    replica.take_stored(stored(machine))
    history = replica.history
    for number in range(3):
        for author in (1, 2, 3):
            place = history.chain[before]
            entries = (b"",) * len(place.owed)
            for kind, body in ((Kind.ABSENT, (number, entries, -1)), (Kind.CLOSE, (number, entries))):
                message = Message(history.match, before, place.tip, author, kind, body)
                replica.take(sign(message, MatchKey(world.seeds[author])))
                replica.close_steps()
    tips = {position.tip for position in history.chain}
    votes = replica.absence.due(replica, tips, ())
    assert {vote.tip for vote in votes} <= {position.tip for position in history.chain[history.position.locked :]}
    assert history.position.step > before
