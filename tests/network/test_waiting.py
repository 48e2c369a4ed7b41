"""Waiting for a silent player: the length of the wait, clocks, notices, and claiming the match."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from unittest.mock import patch

import pytest

from p2pdice.events import PlayerOut
from p2pdice.moves import Bid, Stake
from p2pdice.rulesets import Ruleset
from protocol import limits
from protocol.consensus.verifier import verify
from protocol.errors import NodeError
from protocol.events import (
    Claimed,
    Continued,
    Happened,
    MatchResult,
    MatchStarted,
    Notice,
    PeerBack,
    PeerLost,
    Suspended,
    YourTurn,
)
from protocol.match.lobby import TableSettings
from protocol.wire.frames import Cut
from protocol.wire.genesis import Patience
from tests.network import views
from tests.network.test_forming import RULES, all_play, in_room
from tests.simulation.room import Person, Room, in_a_room
from tests.simulation.small_forming import line as join_line
from tests.waiting import until

HUMAN, AUTOMATIC = 60, 10


async def in_turn(room: Room, players: int, ruleset: Ruleset = RULES) -> list[Person]:
    """Begin a match in which no player moves by itself; return the players, the first bidder first."""
    host = await room.sit("Host")
    await host.node.host(TableSettings("Friday", ruleset, players, Patience(HUMAN, AUTOMATIC)))
    people = [host, *[await room.sit(name) for name in ("Ada", "Ben", "Cleo", "Dan")[: players - 1]]]
    for guest in people[1:]:
        await guest.node.join(join_line(room, host.key, host.node.identity.fingerprint))
    await all_play(*people)
    if ruleset.stakes:
        await until(lambda: all(person.told(YourTurn) for person in people))
        for person in people:
            person.node.play(Stake(10), person.told(YourTurn)[0].token)
            person.events.clear()
    await until(lambda: any(person.told(YourTurn) for person in people))
    await until(lambda: all(seconds(person) > AUTOMATIC for person in people))
    return sorted(people, key=lambda person: not person.told(YourTurn))


def seconds(person: Person) -> float:
    """Return the seconds that a node's clock shows."""
    clock = person.node.clock()
    return clock.seconds if clock is not None else math.nan


def is_out(person: Person) -> bool:
    return any(isinstance(event.event, PlayerOut) for event in person.told(Happened))


# Waiting longer


@in_room
async def test_waiting_longer_delays_an_eviction_that_needs_this_players_vote(room: Room) -> None:
    ada, ben, cleo = await in_turn(room, 3)
    await ada.die()  # otherwise Ada's own program would vote for her eviction
    begun = room.now
    ben.node.wait_longer(100)
    assert seconds(ben) == pytest.approx(seconds(cleo) + 100, abs=1)
    await asyncio.sleep(HUMAN + 95)
    assert not is_out(ben)
    await until(lambda: is_out(ben) and is_out(cleo), 60)
    assert room.now - begun >= HUMAN + 100


@in_room
async def test_a_player_can_wait_longer_after_time_is_up(room: Room) -> None:
    _, ben = await in_turn(room, 2)
    await asyncio.sleep(HUMAN + 30)
    assert seconds(ben) == 0
    ben.node.wait_longer(50)
    assert seconds(ben) == pytest.approx(50, abs=0.1)
    assert ben.told(Suspended)
    assert not ben.told(Continued), "the match must still wait"


@in_room
async def test_a_quorum_evicts_although_one_player_waits_longer(room: Room) -> None:
    _, ben, *others = await in_turn(room, 5)
    ben.node.wait_longer(1000)
    await until(lambda: all(is_out(person) for person in (ben, *others)), HUMAN + 60)


@in_room
async def test_waiting_longer_is_refused_when_no_player_is_awaited(room: Room) -> None:
    host = await room.sit("Host")
    with pytest.raises(NodeError, match="waits for nobody"):
        host.node.wait_longer(10)


# Clocks


@in_room
async def test_a_restarted_player_sees_no_more_time_than_the_others(room: Room) -> None:
    ada, *others = await in_turn(room, 3)
    await asyncio.sleep(HUMAN / 2)
    await ada.die()
    await asyncio.sleep(HUMAN / 4)
    await ada.begin()
    await ada.node.resume()
    await until(lambda: len(ada.told(YourTurn)) == 2)
    assert seconds(ada) <= min(map(seconds, others)) + 0.5
    await until(lambda: seconds(ada) == 0)
    assert not is_out(others[0])


@in_room
async def test_a_player_who_was_cut_off_sees_no_more_time_than_the_others(room: Room) -> None:
    ada, *others = await in_turn(room, 3)
    await asyncio.sleep(HUMAN / 2)
    for other in others:
        room.cut(ada.key, other.key)
    await asyncio.sleep(HUMAN / 4)
    for other in others:
        room.mend(ada.key, other.key)
    await until(lambda: all(ada.node._mesh.is_linked(other.key) for other in others))
    assert seconds(ada) <= min(map(seconds, others)) + 0.5


@in_room
async def test_a_new_match_shows_the_full_time(room: Room) -> None:
    for person in await in_turn(room, 4):
        assert seconds(person) == pytest.approx(HUMAN, abs=1)


# Reports of lost links


@in_room
async def test_a_link_that_returns_within_a_second_is_not_reported(room: Room) -> None:
    ada, ben, cleo = await in_turn(room, 3)
    for _ in range(3):
        room.cut(ada.key, ben.key)
        await asyncio.sleep(0.1)
        room.mend(ada.key, ben.key)
        await until(lambda: ada.node._mesh.is_linked(ben.key))
        await asyncio.sleep(limits.REPLACEMENT)
    assert not [event for each in (ada, ben, cleo) for event in (*each.told(PeerLost), *each.told(PeerBack))]
    room.cut(ada.key, ben.key)
    begun = room.now
    await until(lambda: ada.told(PeerLost))
    assert 1 <= room.now - begun < 1.2
    room.mend(ada.key, ben.key)
    await until(lambda: ada.told(PeerBack) and ben.told(PeerBack))


@in_room
async def test_leaving_on_purpose_is_reported_at_once(room: Room) -> None:
    ada, ben = await in_turn(room, 2)
    begun = room.now
    await ben.node.close()
    ben.is_running = False
    await until(lambda: ada.told(PeerLost))
    assert room.now - begun < 0.5
    assert ada.told(PeerLost)[0].left_on_purpose


@pytest.mark.parametrize("comes", ["before", "after"])
def test_a_spectator_of_five_players_is_told_who_is_away_and_who_is_back(tmp_path: Path, comes: str) -> None:
    async def scene(room: Room) -> None:
        people = await in_turn(room, 5)
        host, eve = next(person for person in people if person.name == "Host"), await room.sit("Eve")
        gone = next(person for person in people[1:] if person is not host)
        if comes == "before":
            await eve.node.watch(join_line(room, host.key, host.node.identity.fingerprint))
            await asyncio.sleep(3)
        await gone.die()
        if comes == "after":
            await asyncio.sleep(3)
            await eve.node.watch(join_line(room, host.key, host.node.identity.fingerprint))
        await until(lambda: eve.told(PeerLost), 20)
        assert [event.player.name for event in eve.told(PeerLost)] == [gone.name]
        await gone.begin()
        await gone.node.resume()
        await until(lambda: eve.told(PeerBack), 20)
        assert [event.player.name for event in eve.told(PeerBack)] == [gone.name]

    in_a_room(tmp_path, 1, scene)


@in_room
async def test_one_lying_source_cannot_report_players_away_to_a_spectator(room: Room) -> None:
    ada, *_ = await in_turn(room, 5)
    eve = await room.sit("Eve")
    await eve.node.watch(join_line(room, ada.key, ada.node.identity.fingerprint))
    await asyncio.sleep(3)
    match = views.match_of(ada)
    for _ in range(100):
        for authors in ((0, 1, 2, 3, 4), ()):
            ada.node._runtime.post(eve.key, Cut(match.id, authors))
            await asyncio.sleep(0.01)
    await asyncio.sleep(3)
    assert not [*eve.told(PeerLost), *eve.told(PeerBack)]


@in_room
async def test_a_spectator_of_a_suspended_match_sees_no_clock(room: Room) -> None:
    ada, ben = await in_turn(room, 2)
    eve = await room.sit("Eve")
    await eve.node.watch(join_line(room, ben.key, ben.node.identity.fingerprint))
    await until(lambda: eve.told(MatchStarted))
    ada.node.play(Bid(1, 2), ada.told(YourTurn)[0].token)
    await until(lambda: ben.told(YourTurn))
    await until(lambda: seconds(eve) > 0)
    await ben.die()
    await until(lambda: eve.told(Suspended))
    assert eve.node.clock() is None
    await asyncio.sleep(AUTOMATIC)
    ada.node.claim()
    await asyncio.sleep(AUTOMATIC)
    assert eve.node.clock() is None


@in_room
async def test_what_a_dead_link_has_lost_is_shown_at_once_over_the_link_that_replaces_it(room: Room) -> None:
    ada, ben = await in_turn(room, 2)
    with patch.object(room, "hears", return_value=False):
        ada.node.play(Bid(1, 2), ada.told(YourTurn)[0].token)
        await asyncio.sleep(5)
    assert not ben.told(YourTurn)
    ben.node._mesh.dial_anew()
    await until(lambda: ben.told(YourTurn), 1)
    assert not ben.told(PeerLost)


# Claims


async def claimed(room: Room, ruleset: Ruleset = RULES) -> tuple[Person, Person]:
    """Return a player who has claimed a match, and the other player, whose program was killed."""
    ada, ben = await in_turn(room, 2, ruleset)
    assert not ben.node.can_claim
    await ada.die()
    await asyncio.sleep(AUTOMATIC - 2)
    assert not ben.node.can_claim
    with pytest.raises(NodeError, match="away for a while"):
        ben.node.claim()
    await asyncio.sleep(4)
    assert ben.node.can_claim
    ben.node.claim()
    await until(lambda: ben.told(Claimed))
    return ben, ada


@in_room
async def test_a_player_who_claims_a_match_is_free_for_another(room: Room) -> None:
    ben, ada = await claimed(room)
    (told,) = ben.told(Claimed)
    assert {player.name for player in told.away} == {ada.name}
    assert AUTOMATIC <= told.since_seconds <= AUTOMATIC + 4
    assert verify(told.transcript.read_bytes()).verdict == "incomplete"
    assert not ben.told(MatchResult)
    assert not ben.plays
    (kept,) = ben.node._store.matches()
    assert (kept.over, kept.winners, kept.claim.away if kept.claim else 0) == (False, (), told.since_seconds)
    assert ben.node.unfinished() == ()
    with pytest.raises(NodeError, match="no unfinished match"):
        ben.node.find()
    dan = await room.sit("Dan")
    await ben.node.host(TableSettings("Saturday", RULES, 2))
    await dan.node.join(join_line(room, ben.key, ben.node.identity.fingerprint))
    await all_play(ben, dan)


@in_room
async def test_a_claimed_match_can_be_resumed_by_both_players(room: Room) -> None:
    ben, ada = await claimed(room)
    before = ben.node._store.messages(ben.node.find(ben.told(Claimed)[0].match_id).match)
    await ada.begin()
    await ada.node.resume()
    ben.node.concede()
    await asyncio.sleep(2 * HUMAN)
    assert not ada.node._mesh.is_linked(ben.key)
    assert ben.node._store.choices(ben.node.find(ben.told(Claimed)[0].match_id).match) == {}
    assert ben.node._store.messages(ben.node.find(ben.told(Claimed)[0].match_id).match) == before
    assert not any(person.told(PlayerOut) for person in (ada, ben))
    await ben.node.resume(ben.told(Claimed)[0].match_id)
    await until(lambda: len([*ada.told(YourTurn), *ben.told(YourTurn)]) == 2)  # the turn is announced again
    assert ben.node._store.matches()[0].claim is None
    ada.node.concede()
    await until(lambda: ada.told(MatchResult) and ben.told(MatchResult))
    (end,) = ben.told(MatchResult)
    assert [end.players[seat].name for seat in end.places[0]] == [ben.name]


@in_room
async def test_a_player_who_claimed_a_match_is_told_once_that_the_other_is_back(room: Room) -> None:
    ben, ada = await claimed(room)
    ben.events.clear()
    for _ in range(2):
        await ada.begin()
        await ada.node.resume()
        await asyncio.sleep(HUMAN)
        assert [event.player.name for event in ben.told(PeerBack)] == [ada.name]
        await ada.die()


@in_room
async def test_claiming_a_match_for_stakes_leaves_the_purse_busy(room: Room) -> None:
    ben, _ = await claimed(room, RULES.with_options({"stakes": "yes"}))
    (notice,) = ben.told(Notice)
    assert "p2pdice purse" in notice.text
    with pytest.raises(NodeError, match="purse") as caught:
        await ben.node.host(TableSettings("Saturday", RULES.with_options({"stakes": "yes"}), 2))
    assert caught.value.choices == (("p2pdice purse", "What you can do"),)


@in_room
async def test_a_match_can_be_claimed_although_the_slow_player_is_linked(room: Room) -> None:
    ada, ben = await in_turn(room, 2)
    await asyncio.sleep(HUMAN - 1)
    assert not ben.node.can_claim
    await asyncio.sleep(2)
    assert ben.node.can_claim
    assert not ada.node.can_claim
    ben.node.claim()
    await until(lambda: ada.told(PeerLost))
    assert ada.told(PeerLost)[0].left_on_purpose
    assert ben.told(Claimed)[0].since_seconds in range(HUMAN, HUMAN + 3)
    await asyncio.sleep(HUMAN)
    assert not ben.told(PeerBack), "a player whose link never broke is not reported back"


@in_room
async def test_a_match_of_three_cannot_be_claimed(room: Room) -> None:
    ada, ben, cleo = await in_turn(room, 3)
    await ada.die()
    await cleo.die()
    await asyncio.sleep(10 * HUMAN)
    with pytest.raises(NodeError, match="match of two"):
        ben.node.claim()
