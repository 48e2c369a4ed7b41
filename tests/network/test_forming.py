"""Forming a match although a node lies, is silent or leaves: the other players still start a match."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from p2pdice.moves import Stake
from p2pdice.rulesets import PRESETS, Ruleset
from protocol import limits
from protocol.consensus.history import History
from protocol.consensus.kinds import parse_signed
from protocol.consensus.position import FORMED
from protocol.consensus.transcript import write_transcript
from protocol.consensus.verifier import verify
from protocol.crypto.keys import MatchKey
from protocol.errors import NodeError
from protocol.events import LobbyChanged, MatchFormed, MatchStarted, Misbehaved, Stopped, TableClosed, YourTurn
from protocol.match.lobby import TableSettings
from protocol.node.locator import LEFT
from protocol.node.playing import PlayerSession
from protocol.rate_limit import Bucket
from protocol.wire.frames import (
    Carried,
    Frame,
    JoinTable,
    Leave,
    Page,
    Propose,
    Refuse,
    Seat,
    Table,
    TableAim,
)
from protocol.wire.genesis import Genesis, JoinRecord, Patience, parse_join_record
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.disks import disk_is_full
from tests.network import views
from tests.network.company import bend
from tests.protocol.histories import add
from tests.simulation.room import PORT, Person, Room, RoomPeer, in_a_room
from tests.simulation.small_forming import TABLE, line, sign_on
from tests.waiting import until

RULES = PRESETS["classic"]
STAKES = RULES.with_options({"dice": "1", "stakes": "yes"})
_AIM = TableAim(TABLE, "")
Scene = Callable[[Room], Awaitable[None]]


def in_room(scene: Scene) -> Callable[[Path], None]:
    """Turn a coroutine that takes a room into a test."""

    def test(tmp_path: Path) -> None:
        in_a_room(tmp_path, 1, scene)

    test.__name__, test.__doc__ = scene.__name__, scene.__doc__
    return test


async def open_table(room: Room, seats: int, *names: str, rules: Ruleset = RULES) -> tuple[Person, list[Person], str]:
    """Return a host, the guests at its table, and the join line."""
    host = await room.sit("Host")
    await host.node.host(TableSettings("Friday", rules, seats))
    target = line(room, host.key, host.node.identity.fingerprint)
    guests = [await room.sit(name) for name in names]
    for guest in guests:
        await guest.node.join(target)
    return host, guests, target


def kind(frame: Frame) -> int | None:
    return parse_signed(frame.data, frame.signature).message.kind if isinstance(frame, Carried) else None


def withholds(what: Kind) -> Callable[[bytes, Frame], bool]:
    return lambda _, frame: kind(frame) is not what and not isinstance(frame, Page)


def session(person: Person) -> PlayerSession:
    playing = person.node._active.proposals.session
    assert playing is not None
    return playing


def is_bound(person: Person) -> bool:
    return views.proposals(person).is_bound


async def all_play(*people: Person) -> None:
    """Wait until all these players play the same match, and check that no other node plays it."""
    await until(lambda: all(person.plays for person in people))
    assert len({match for person in people for match in person.plays}) == 1
    assert set(session(people[0]).authors) | {people[0].key} == {person.key for person in people}


async def held_up(room: Room, what: Kind) -> tuple[Person, Person, Person]:
    """Return a host who has proposed a match, and two guests: Ada, and Eve, who withholds messages of one kind."""
    host, (ada, eve), _ = await open_table(room, 4, "Ada", "Eve")
    bend(eve, withholds(what))
    host.node.start_match()
    return host, ada, eve


# An honest host


@in_room
async def test_a_full_table_starts_one_match_for_all(room: Room) -> None:
    host, guests, _ = await open_table(room, 3, "Ada", "Ben")
    await all_play(host, *guests)
    await until(lambda: all(person.told(MatchStarted) for person in (host, *guests)))


@in_room
async def test_a_guest_who_takes_the_last_seat_and_leaves_is_not_in_the_match(room: Room) -> None:
    host, (ada, eve), target = await open_table(room, 4, "Ada", "Eve")
    bend(eve, withholds(Kind.LOCK))
    late = await room.sit("Late")
    await late.node.join(target)
    await until(lambda: host.node.match is not None)
    await eve.node.close()
    eve.is_running = False
    await until(lambda: "Eve" not in [player.name for player in host.told(LobbyChanged)[-1].players])
    assert not host.plays
    ben = await room.sit("Ben")
    await ben.node.join(target)
    await all_play(host, ada, late, ben)


def silent(what: Kind) -> Scene:
    async def scene(room: Room) -> None:
        begun = room.now
        host, ada, eve = await held_up(room, what)
        await all_play(host, ada)
        assert limits.UNSIGNED <= room.now - begun < limits.UNSIGNED + 3
        assert [event.code for event in eve.told(TableClosed)] == ["closed"]
        assert not is_bound(ada)

    return scene


@pytest.mark.parametrize("what", [Kind.LOCK, Kind.COMMIT])
def test_a_silent_guest_delays_a_match_fifteen_seconds_and_is_barred(tmp_path: Path, what: Kind) -> None:
    in_a_room(tmp_path, 1, silent(what))


@in_room
async def test_a_barred_guest_is_let_in_again_once_the_table_is_empty(room: Room) -> None:
    host, (ada, eve), target = await open_table(room, 3, "Ada", "Eve")
    bend(eve, withholds(Kind.LOCK))
    await until(lambda: eve.told(TableClosed))
    with pytest.raises(NodeError, match="kept it from forming"):
        await eve.node.join(target)
    await ada.node.close()
    ada.is_running = False
    await until(lambda: len(host.told(LobbyChanged)[-1].players) == 1)
    await eve.node.join(target)


@in_room
async def test_no_newcomer_gets_a_seat_after_start(room: Room) -> None:
    host, (ada, eve), target = await open_table(room, 4, "Ada", "Eve")
    bend(eve, withholds(Kind.LOCK))
    host.node.start_match()
    late = await room.sit("Late")
    with pytest.raises(NodeError, match="about to begin") as caught:
        await late.node.join(target)
    assert caught.value.code == "full"
    await all_play(host, ada)


async def holder_up(room: Room, target: str, name: str) -> Person:
    """Seat and return a guest who withholds its LOCK from every proposal."""
    eve = await room.sit(name)
    bend(eve, withholds(Kind.LOCK))
    await eve.node.join(target)
    return eve


@in_room
async def test_after_three_failures_a_match_begins_with_the_remaining_players(room: Room) -> None:
    host, (ada,), target = await open_table(room, 3, "Ada")
    for number in range(limits.FAILURES):
        assert not host.plays
        eve = await holder_up(room, target, f"Eve{number}")
        await until(lambda eve=eve: eve.told(TableClosed))  # type: ignore[misc]
    await all_play(host, ada)


@in_room
async def test_a_guest_whose_link_breaks_briefly_is_in_the_match(room: Room) -> None:
    host, (ada, ben), _ = await open_table(room, 4, "Ada", "Ben")
    is_slow = True
    bend(ben, lambda _, frame: not is_slow or not isinstance(frame, Carried | Page))
    host.node.start_match()
    await until(lambda: ada.node.match is not None)
    room.cut(host.key, ada.key)
    await asyncio.sleep(1)
    room.mend(host.key, ada.key)
    is_slow = False
    await all_play(host, ada, ben)


@in_room
async def test_a_guest_whose_link_broke_is_shown_the_purses_it_missed(room: Room) -> None:
    host, (ada, eve), _ = await open_table(room, 4, "Ada", "Eve", rules=STAKES)
    is_slow = True
    bend(eve, lambda _, frame: not is_slow or not isinstance(frame, Carried | Page))
    host.node.start_match()
    await until(lambda: ada.node.match is not None)
    room.cut(host.key, ada.key)
    is_slow = False
    views.joining(eve)._sit_again()
    await asyncio.sleep(1)
    room.mend(host.key, ada.key)
    await all_play(host, ada, eve)
    assert not ada.told(TableClosed)


@in_room
async def test_a_guest_without_a_link_loses_its_seat_after_two_seconds(room: Room) -> None:
    host, (ada, ben), _ = await open_table(room, 4, "Ada", "Ben")
    bend(ben, withholds(Kind.LOCK))
    host.node.start_match()
    await until(lambda: host.node.match is not None)
    room.cut(host.key, ben.key)
    begun = room.now
    await all_play(host, ada)
    assert limits.LINK_LOST <= room.now - begun < limits.LINK_LOST + 2


@in_room
async def test_a_guest_may_sit_down_again_only_once_during_proposals(room: Room) -> None:
    host, (ada, eve), _ = await open_table(room, 4, "Ada", "Eve")
    bend(eve, lambda _, frame: not isinstance(frame, Carried))
    views.hear_only(eve, lambda *_: False)
    host.node.start_match()

    def sit_down() -> None:
        eve.node._runtime.post(host.key, JoinTable(views.proposals(eve).sign_on(host.node.table_id).wire))

    first = session(host).match.id
    sit_down()
    await until(lambda: session(host).match.id != first)
    assert "Eve" in [player.name for player in host.told(LobbyChanged)[-1].players]
    sit_down()
    await all_play(host, ada)


@in_room
async def test_a_refused_join_during_a_proposal_counts_as_a_failure(room: Room) -> None:
    """Each stranger sends a second JOIN with another nickname, which makes the host withdraw its proposal."""
    host, (ada,), target = await open_table(room, 3, "Ada")
    for number in range(limits.FAILURES):
        assert not host.plays
        eve = await holder_up(room, target, f"Eve{number}")
        await until(lambda eve=eve: eve.node.match is not None)  # type: ignore[misc]
        eve.node.name = f"Zoe{number}"
        eve.node._runtime.post(host.key, JoinTable(views.proposals(eve).sign_on(host.node.table_id).wire))
        await until(lambda eve=eve: eve.told(TableClosed))  # type: ignore[misc]
        assert "cannot change names" in eve.told(TableClosed)[0].reason
    await all_play(host, ada)


@in_room
async def test_two_guests_who_fail_at_once_are_both_barred(room: Room) -> None:
    """The proposal is withdrawn because of the first; the second must be barred as well."""
    _, _, target = await open_table(room, 4, "Ada")
    silent = [await room.sit(name) for name in ("Eve", "Ian")]
    for each in silent:
        bend(each, withholds(Kind.LOCK))
        await each.node.join(target)
    await until(lambda: all(each.told(TableClosed) for each in silent))
    for each in silent:
        with pytest.raises(NodeError, match="kept it from forming"):
            await each.node.join(target)


@in_room
async def test_guests_freed_from_a_withdrawn_match_sign_the_next(room: Room) -> None:
    """The RESIGN that frees their purses arrives together with the next PROPOSE."""
    host, (ada, ben, eve), _ = await open_table(room, 5, "Ada", "Ben", "Eve", rules=STAKES)
    for guest in (ada, ben):
        views.hear_only(guest, lambda _, frame: kind(frame) is not Kind.RESIGN)
    bend(eve, withholds(Kind.COMMIT))
    host.node.start_match()
    await until(lambda: is_bound(ada) and is_bound(ben))
    await eve.node.close()
    eve.is_running = False
    await all_play(host, ada, ben)
    assert not ada.told(TableClosed) + ben.told(TableClosed)


@in_room
async def test_only_the_host_resigns_before_the_match_is_formed(room: Room) -> None:
    host, ada, eve = await held_up(room, Kind.COMMIT)
    await until(lambda: is_bound(eve))
    match = session(eve).match
    step = match.history.position
    assert match.me is not None
    resign = sign(Message(match.id, step.step, step.tip, match.me, Kind.RESIGN, ()), match.signer.key)
    views.send(eve, host.key, Carried(*resign.wire))
    begun = room.now
    await all_play(host, ada)
    assert room.now - begun < 3


@in_room
async def test_a_host_who_leaves_while_the_match_forms_frees_its_guests(room: Room) -> None:
    host, ada, _ = await held_up(room, Kind.COMMIT)
    await until(lambda: is_bound(ada))
    await host.node.close()
    host.is_running = False
    await until(lambda: ada.told(TableClosed), 5)
    assert not is_bound(ada)


@in_room
async def test_a_host_that_crashes_holds_its_guests_for_thirty_seconds(room: Room) -> None:
    host, ada, _ = await held_up(room, Kind.COMMIT)
    await until(lambda: is_bound(ada))
    begun = room.now
    await host.die()
    await until(lambda: ada.told(TableClosed))
    assert limits.BOUND - 1 < room.now - begun < limits.BOUND + 1
    assert not is_bound(ada)


@in_room
async def test_a_host_that_crashes_after_its_commit_has_formed_the_match(room: Room) -> None:
    host, guests, _ = await open_table(room, 4, "Ada", "Ben")
    bend(host, withholds(Kind.COMMIT))
    host.node.start_match()
    await until(lambda: host.plays)
    await host.die()
    await asyncio.sleep(1)
    await host.begin()
    await host.node.resume()
    await all_play(host, *guests)


@in_room
async def test_a_bound_guest_that_crashes_returns_to_the_formed_match(room: Room) -> None:
    host, (ada, ben), _ = await open_table(room, 4, "Ada", "Ben")
    bend(host, lambda identity, frame: identity != ada.key or withholds(Kind.COMMIT)(identity, frame))
    host.node.start_match()
    await until(lambda: is_bound(ada) and host.plays)
    await ada.die()
    await ada.begin()
    await ada.node.resume()
    await all_play(host, ada, ben)


@in_room
async def test_a_match_is_not_stored_before_the_guest_commits(room: Room) -> None:
    host, ada, _ = await held_up(room, Kind.LOCK)
    await until(lambda: ada.node.match is not None)
    await asyncio.sleep(3)
    assert ada.node._store.matches() == host.node._store.matches() == ()
    await all_play(host, ada)
    assert len(ada.node._store.matches()) == 1


@in_room
async def test_a_request_for_a_seat_after_the_match_has_begun_is_refused(room: Room) -> None:
    host, _, target = await open_table(room, 2, "Ada")
    await until(lambda: host.plays)
    late = await room.sit("Late")
    with pytest.raises(NodeError, match="being played"):
        await late.node.join(target)


@in_room
async def test_a_guest_who_repeats_join_endlessly_does_not_delay_a_newcomer(room: Room) -> None:
    host, (eve,), target = await open_table(room, 4, "Eve")
    hosting = host.node._active.hosting
    assert hosting is not None
    hosting._pace = Bucket(rate=1e-6, burst=0, now=0)
    views.hear_only(eve, lambda *_: False)

    async def ask_without_end() -> None:
        for _ in range(50):
            record = views.proposals(eve).sign_on(host.node.table_id)
            views.send(eve, host.key, JoinTable(record.wire))
        await asyncio.sleep(1)

    await ask_without_end()
    assert list(hosting._asking) == [eve.key]
    ben = await room.sit("Ben")
    joining = asyncio.ensure_future(ben.node.join(target))
    await until(lambda: len(hosting._asking) == 2)
    await ask_without_end()
    hosting._pace = Bucket(rate=1e-6, burst=2, now=room.now)
    hosting._admit_next()
    await joining
    assert [player.name for player in host.told(LobbyChanged)[-1].players] == ["Host", "Eve", "Ben"]


# A host that lies


class Liar:
    """A host that sends proposals and messages as a test directs."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.who = RoomPeer(room, 1, self.hear)
        self.who.aim = _AIM
        self.who.peer_up = lambda identity, *_: self.who.say(identity, self.table())  # type: ignore[method-assign]
        self.guests: dict[bytes, JoinRecord] = {}
        self.said: list[Signed] = []
        self.left: list[bytes] = []

    def table(self, *records: JoinRecord) -> Table:
        players = [(each.join.nickname, each.join.identity) for each in records] or [("liar", self.who.key)]
        return Table("Friday", RULES.options(), 10, tuple(Patience()), tuple(players))

    def hear(self, identity: bytes, frame: Frame) -> None:
        match frame:
            case JoinTable():
                self.guests[identity] = parse_join_record(frame.record)
                self.who.say(identity, self.table(), Seat(1))
            case Carried():
                self.said.append(parse_signed(frame.data, frame.signature))
            case Leave():
                self.left.append(identity)

    async def seat(self, *names: str) -> list[Person]:
        """Seat guests."""
        people = [await self.room.sit(name) for name in names]
        for each in people:
            await each.node.join(line(self.room, self.who.key, self.who.identity.fingerprint))
        return people

    def propose(self, *people: Person, number: int = 0, ghosts: int = 0, former: Proposal | None = None) -> Proposal:
        """Propose a match to guests. Its roster also contains ``ghosts`` invented players with addresses."""
        proposal = Proposal(self, people, number, ghosts)
        resign = former.resign().wire if former is not None else ()
        for person in people:
            self.who.say(person.key, self.table(*proposal.roster), Propose(proposal.data, resign))
        return proposal


class Proposal:
    """A match that the liar has proposed."""

    def __init__(self, liar: Liar, people: Iterable[Person], number: int, ghosts: int) -> None:
        self.liar = liar
        own = liar.who
        seed = number.to_bytes(32, "big")
        self.seeds = {own.key: seed}
        records = [sign_on(own, TABLE, seed)] + [liar.guests[person.key] for person in people]
        for ghost in range(ghosts):
            stranger = RoomPeer(liar.room, 1000 * (number + 1) + ghost)
            del liar.room.listening[stranger.address]
            places = tuple((f"10.9.{number}.{8 * ghost + place}", PORT) for place in range(8))
            self.seeds[stranger.key] = seed = (1000 * (number + 1) + ghost).to_bytes(32, "big")
            records.append(sign_on(stranger, TABLE, seed, places))
        self.roster = tuple(sorted(records, key=lambda each: each.join.identity))
        self.data = Genesis(TABLE, RULES, Patience(), self.roster).encoded()
        self.history = History(self.data)

    def _author(self, key: bytes) -> int:
        return next(index for index, each in enumerate(self.roster) if each.join.identity == key)

    def _sign(self, key: bytes, what: Kind, body: Any, step: int) -> Signed:
        place = self.history.chain[step]
        message = Message(self.history.match, step, place.tip, self._author(key), what, body)
        return sign(message, MatchKey(self.seeds[key]))

    def resign(self) -> Signed:
        """Return the host's RESIGN for the latest step."""
        return self._sign(self.liar.who.key, Kind.RESIGN, (), self.history.position.step)

    async def step(self, what: Kind) -> list[Signed]:
        """Wait until the guests have sent their messages for a step; return all messages of the step."""
        number, body = (0, self.history.chain[0].signed_hash) if what is Kind.LOCK else (1, (bytes(32),))
        own = [self._sign(key, what, body, number) for key in self.seeds]

        def others() -> list[Signed]:
            here = {
                each.message.author: each
                for each in self.liar.said
                if (each.message.match, each.message.step, each.message.kind) == (self.history.match, number, what)
            }
            return list(here.values())

        await until(lambda: len(others()) + len(own) == len(self.roster))
        messages = sorted(own + others(), key=lambda each: each.message.author)
        if what is Kind.LOCK:
            for each in messages:
                add(self.history, each)
        return messages

    def show(self, person: Person, *messages: Signed) -> None:
        self.liar.who.say(person.key, *(Carried(*each.wire) for each in messages))

    async def bind(self, *people: Person) -> None:
        """Show guests the LOCKs, and wait until they have signed COMMIT."""
        locks = await self.step(Kind.LOCK)
        for person in people:
            self.show(person, *locks)
        await until(lambda: all(is_bound(person) for person in people))

    def known_to(self, person: Person) -> PlayerSession:
        found = views.proposals(person).find(self.history.match)
        assert found is not None
        return found


async def bound(room: Room, *names: str) -> tuple[Liar, Proposal, list[Person]]:
    """Return a liar, a match that it has proposed, and guests who have signed COMMIT in that match."""
    liar = Liar(room)
    people = await liar.seat(*names)
    proposal = liar.propose(*people)
    await proposal.bind(*people)
    return liar, proposal, people


@in_room
async def test_a_bound_guest_leaves_a_host_who_proposes_another_match_without_withdrawing(room: Room) -> None:
    liar, _, (ada,) = await bound(room, "Ada")
    second = liar.propose(ada, number=1)
    await until(lambda: ada.told(TableClosed))
    assert views.proposals(ada).find(second.history.match) is None
    assert is_bound(ada)  # Ada has left the table, but the first match may still form
    await asyncio.sleep(limits.BOUND)
    assert not is_bound(ada)
    assert len(ada.told(TableClosed)) == 1


@pytest.mark.parametrize("how", ["refuses", "proposes", "leaves"])
def test_a_guest_plays_a_formed_match_whatever_arrives_at_the_same_moment(tmp_path: Path, how: str) -> None:
    async def scene(room: Room) -> None:
        liar, proposal, (ada,) = await bound(room, "Ada")
        commits = [Carried(*each.wire) for each in await proposal.step(Kind.COMMIT)]
        host = liar.who.key
        also: dict[str, Frame] = {
            "refuses": Refuse("full", "all seats are taken"),
            "proposes": Propose(proposal.data[:-1]),
        }
        views.take_at_once(ada, host, *commits, *(frame for which, frame in also.items() if which == how))
        if how == "leaves":
            (link,) = (each for each in room.ends if each.is_connected and each.owner == ada.key)
            ada.node._mesh.link_down(link, LEFT)  # type: ignore[arg-type]
        await until(lambda: ada.plays and ada.told(MatchFormed))
        await asyncio.sleep(5)
        assert not ada.told(TableClosed)

    in_a_room(tmp_path, 1, scene)


@in_room
async def test_the_hosts_resign_releases_a_guest_for_the_next_proposal(room: Room) -> None:
    liar, first, (ada,) = await bound(room, "Ada")
    second = liar.propose(ada, number=1, former=first)
    await second.bind(ada)
    assert first.known_to(ada).is_given_up
    assert ada.told(TableClosed) == []


@in_room
async def test_a_host_who_withdraws_and_forms_the_same_match_is_proven_a_liar(room: Room) -> None:
    """The guest who got the RESIGN resigns. The others have proof that the host signed both RESIGN and COMMIT."""
    liar, proposal, (ada, ben, coy) = await bound(room, "Ada", "Ben", "Coy")
    commits = await proposal.step(Kind.COMMIT)
    proposal.show(ada, proposal.resign())
    await until(lambda: not is_bound(ada))
    proposal.show(ben, *commits)
    await until(lambda: proposal.known_to(ada).match.is_formed and ben.plays and coy.plays)
    assert ada.plays == []
    match = proposal.known_to(ada).match
    await until(lambda: match.replica.signed_at(match.history.chain[FORMED]) is not None)
    await until(lambda: ben.told(Misbehaved) and coy.told(Misbehaved))
    assert {event.player.fingerprint for event in ben.told(Misbehaved)} == {liar.who.identity.fingerprint}
    history, proven = proposal.known_to(ben).match.history, proposal.known_to(ben).match.replica.proven
    assert verify(write_transcript(history, proven.values())).verdict == "misconduct"


@in_room
async def test_a_guest_never_plays_a_match_that_formed_after_it_was_released(room: Room) -> None:
    """Meanwhile the guest plays another match, and must not play two."""
    _, proposal, (ada, ben) = await bound(room, "Ada", "Ben")
    commits = await proposal.step(Kind.COMMIT)
    proposal.show(ada, proposal.resign())
    await until(lambda: not is_bound(ada))
    await ada.node.host(TableSettings("Next", RULES, 2))
    zoe = await room.sit("Zoe")
    await zoe.node.join(line(room, ada.key, ada.node.identity.fingerprint))
    await all_play(ada, zoe)
    proposal.show(ben, *commits)
    await until(lambda: ben.plays and proposal.known_to(ada).match.is_formed)
    await asyncio.sleep(5)
    assert ada.plays == zoe.plays
    assert proposal.known_to(ada).is_given_up
    assert [event.match_id for event in ada.told(MatchStarted)] == [ada.plays[0].hex()]


@in_room
async def test_a_player_shows_a_formed_match_to_a_guest_who_gave_it_up(room: Room) -> None:
    _, proposal, (ada, ben) = await bound(room, "Ada", "Ben")
    room.cut(ada.key, ben.key)
    proposal.show(ben, *await proposal.step(Kind.COMMIT))
    await until(lambda: ben.plays)
    await until(lambda: ada.told(TableClosed))
    assert not proposal.known_to(ada).match.is_formed
    room.listening.pop((room.host(ben.key), PORT))  # Ada cannot dial Ben, so Ben must dial her
    room.mend(ada.key, ben.key)
    await until(lambda: proposal.known_to(ada).match.is_formed)
    assert ada.plays == []


@in_room
async def test_a_restarted_guest_resigns_from_a_match_that_formed_without_it(room: Room) -> None:
    _, proposal, (ada, ben) = await bound(room, "Ada", "Ben")
    commits = await proposal.step(Kind.COMMIT)
    await ada.die()
    proposal.show(ben, *commits)
    await until(lambda: ben.plays)
    await ada.begin()
    await ada.node.host(TableSettings("Next", RULES, 2))  # its owner has moved to another table
    await until(lambda: proposal.known_to(ada).match.is_formed)
    assert ada.plays == []


@in_room
async def test_after_a_crash_a_guest_resumes_one_match_and_gives_up_another(room: Room) -> None:
    """The resumed match once got two sessions: one playing, one given up, and each signed for the player."""
    _, _, (ada,) = await bound(room, "Ada")
    await until(lambda: ada.told(TableClosed))
    host = await room.sit("Host")
    await host.node.host(TableSettings("Next", RULES, 2))

    ada.node._store.write = disk_is_full  # type: ignore[assignment, method-assign]
    await ada.node.join(line(room, host.key, host.node.identity.fingerprint))
    await until(lambda: ada.told(Stopped))
    await ada.die()
    await ada.begin()
    match = bytes.fromhex(await ada.node.resume())
    assert views.proposals(ada).find(match) is session(ada)
    await asyncio.sleep(1)
    assert [each.is_given_up for each in views.proposals(ada).sessions] == [True, False]


def rejects_commits(person: Person) -> None:
    """Drop all frames from which a node could learn that a match has formed."""
    views.hear_only(person, lambda _, frame: kind(frame) is not Kind.COMMIT and not isinstance(frame, Page))


@in_room
async def test_a_guest_who_gave_a_match_up_keeps_the_others_stakes_in_it(room: Room) -> None:
    """Otherwise they could later show this guest purses from before that match. Withdrawn proposals are not kept."""
    host, (ada, ben, eve), _ = await open_table(room, 5, "Ada", "Ben", "Eve", rules=STAKES)
    bend(eve, withholds(Kind.COMMIT))
    rejects_commits(ada)
    host.node.start_match()
    await until(lambda: host.plays and ben.plays and ada.told(TableClosed))
    assert not views.purses(ada).own.busy
    await ada.die()
    await ada.begin()
    await ada.node.host(TableSettings("Next", RULES, 2))  # its owner has moved to another table
    for player in (host, ben):
        await until(lambda player=player: player.told(YourTurn))  # type: ignore[misc]
        player.node.play(Stake(10), player.told(YourTurn)[-1].token)
    met = ada.node._store.purses.met
    await until(lambda: all(known.stake and known.shown for player in (host, ben) for known in met(player.key)[-1:]))
    assert [len(met(player.key)) for player in (host, ben)] == [1, 1]
    assert not views.purses(ada).own.busy


@in_room
async def test_purses_are_kept_for_the_newest_given_up_matches_only(room: Room) -> None:
    ada = await room.sit("Ada")
    rejects_commits(ada)
    hosts = [await room.sit(name) for name in ("One", "Two", "Three")]
    with patch.object(limits, "PROPOSALS", 1):
        for host in hosts:
            await host.node.host(TableSettings(host.name, STAKES, 2))
            await ada.node.join(line(room, host.key, host.node.identity.fingerprint))
            await until(lambda host=host: host.plays and not is_bound(ada))  # type: ignore[misc]
    assert [len(ada.node._store.purses.met(host.key)) for host in hosts] == [0, 1, 1]


@in_room
async def test_a_guest_that_others_release_leaves_a_vanished_host(room: Room) -> None:
    liar, proposal, (ada, ben) = await bound(room, "Ada", "Ben")
    begun = room.now
    room.cut(liar.who.key, ada.key)
    proposal.show(ben, proposal.resign())
    await until(lambda: not is_bound(ada))
    assert not ada.told(TableClosed)
    await until(lambda: ada.told(TableClosed))
    assert "the host is gone" in ada.told(TableClosed)[0].reason
    assert room.now - begun < limits.BOUND / 2


@in_room
async def test_a_guest_dials_no_invented_players_before_it_is_bound(room: Room) -> None:
    """Sixteen proposals once made a guest dial a thousand addresses."""
    liar = Liar(room)
    (ada,) = await liar.seat("Ada")
    room.dialled.clear()
    former = None
    for number in range(16):
        former = liar.propose(ada, number=number, ghosts=8, former=former)
        await asyncio.sleep(0.3)
    assert room.dialled.get(ada.key, []) == []
    assert former is not None
    await former.bind(ada)
    await asyncio.sleep(limits.ASK_OTHERS - 0.5)
    assert room.dialled.get(ada.key, []) == []
    await asyncio.sleep(2)
    assert len(set(room.dialled[ada.key])) == 8 * 8
    assert len(ada.node._mesh._wanted) == 9
    await asyncio.sleep(limits.BOUND)
    assert not ada.node._mesh._wanted


@in_room
async def test_a_guest_leaves_a_host_who_proposes_matches_endlessly(room: Room) -> None:
    liar = Liar(room)
    (ada,) = await liar.seat("Ada")
    former = None
    for number in range(limits.PROPOSALS + 1):
        former = liar.propose(ada, number=number, former=former)
        if ada.told(TableClosed):
            break
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await former.bind(ada)
    await until(lambda: ada.told(TableClosed))
    assert number == limits.PROPOSALS
    assert "without end" in ada.told(TableClosed)[0].reason
    assert ada.told(Stopped) == []
    assert len(views.proposals(ada).sessions) <= limits.PROPOSALS + 1


@pytest.mark.parametrize("what", ["proposals", "tables"])
def test_a_guest_leaves_a_host_who_changes_the_table_endlessly(tmp_path: Path, what: str) -> None:
    async def scene(room: Room) -> None:
        liar = Liar(room)
        (ada,) = await liar.seat("Ada")
        for number in range(2 * limits.LOBBY_BURST):
            if what == "proposals":
                liar.propose(ada, number=number)
            else:
                liar.who.say(ada.key, liar.table()._replace(seats=2 + number % 2))
        await until(lambda: ada.told(TableClosed))
        assert "too often" in ada.told(TableClosed)[0].reason
        assert len(views.proposals(ada).sessions) == (what == "proposals")

    in_a_room(tmp_path, 1, scene)


@in_room
async def test_a_guest_leaves_a_host_who_changes_customs_or_patience(room: Room) -> None:
    liar = Liar(room)
    ada, ben = await liar.seat("Ada", "Ben")
    shown = liar.table()
    liar.who.say(ada.key, shown._replace(customs=shown.customs._replace(odds=0)))
    await until(lambda: ada.told(TableClosed))
    assert "customs" in ada.told(TableClosed)[0].reason
    proposal = Proposal(liar, [ben], 0, 0)
    liar.who.say(ben.key, liar.table(*proposal.roster)._replace(patience=(60, 15)), Propose(proposal.data))
    await until(lambda: ben.told(TableClosed))
    assert "other times" in ben.told(TableClosed)[0].reason
