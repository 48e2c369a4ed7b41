"""Worlds of a few whole nodes that test how a match is formed (SPEC.md §9, *Proposals*).

Each seed is a world. In odd ones the host is honest, and some guests try to prevent the match. In even ones the host
lies to honest guests. Players leave and come back, and links break. :class:`ViolationError` tells which promise is
broken.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from p2pdice.rulesets import PRESETS
from protocol import limits
from protocol.consensus.history import History
from protocol.consensus.kinds import parse_signed
from protocol.consensus.rule import MisconductError, RejectedMessageError
from protocol.crypto.keys import MatchKey
from protocol.errors import ErrorCode, NodeError
from protocol.events import TableClosed
from protocol.match.effects import Broadcast, Linked, Received
from protocol.match.lobby import Attendance, TableSettings
from protocol.match.match import Match
from protocol.node.host import Host
from protocol.node.playing import PlayerSession, Proposals
from protocol.wire.frames import Carried, Frame, JoinTable, Leave, Propose, Seat, Table, TableAim
from protocol.wire.genesis import (
    Genesis,
    Join,
    JoinRecord,
    Patience,
    make_join_record,
    parse_genesis,
    parse_join_record,
)
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.network import views
from tests.protocol.histories import add
from tests.simulation.room import PORT, Person, Room, RoomPeer, in_a_room

RULES: Final = PRESETS["classic"]
TABLE: Final = bytes(16)
MODES: Final = ("silent", "returns", "leaves", "late", "no commit")


class ViolationError(AssertionError):
    """A promise does not hold."""


def line(room: Room, host: bytes, fingerprint: str) -> str:
    """Return the join line of a host."""
    return f"{room.host(host)}:{PORT}/{fingerprint}"


def sign_on(who: RoomPeer, table: bytes, seed: bytes, addresses: tuple[tuple[str, int], ...] = ()) -> JoinRecord:
    """Return a stranger's join record for a table."""
    key = MatchKey(seed)
    name = f"s{seed[:6].hex()}"
    return make_join_record(
        Join(table, who.key, key.public, name, addresses, seed, "redeemed", None), who.identity, key
    )


class Liar:
    """A guest who tries to prevent a match.

    :param mode: how: one of :data:`MODES`, or ``fickle`` for a newcomer, who may leave for good at any proposal.
    """

    def __init__(self, room: Room, number: int, mode: str, host: Person) -> None:
        self.room, self.mode, self.host = room, mode, host
        self.who = RoomPeer(room, number, self.hear)
        self.seed = b""
        self.match: Match | None = None
        self._seen = 0
        self._is_gone = False

    async def sit(self) -> None:
        """Connect to the host, again and again, until the match is played or this guest has left for good."""
        while not self._is_gone and not self.host.plays:
            if not self.who.mesh.is_linked(self.host.key):
                with suppress(Exception):
                    await self.who.mesh.connect([(self.room.host(self.host.key), PORT)], TableAim(b"", ""))
            await asyncio.sleep(3)

    def _join(self) -> None:
        self.seed = self.room.random.randbytes(32)
        table = self.host.node.table_id
        self.who.say(self.host.key, JoinTable(sign_on(self.who, table, self.seed).wire))

    def _leave(self) -> None:
        self.who.say(self.host.key, Leave("bored"))

    def hear(self, identity: bytes, frame: Frame) -> None:
        """React to a frame from the host."""
        later, chance = self.room.loop.call_later, self.room.random
        match frame:
            case Table() if all(key != self.who.key for _, key in frame.players):
                self._join()
            case Propose():
                self._seen += 1
                if self.mode == "returns":
                    later(chance.uniform(0, 1), self._join)
                elif self.mode == "leaves" or (self.mode == "fickle" and chance.random() < 0.3):
                    self._is_gone = self.mode == "fickle"
                    self._leave()
                elif self.mode == "late" and self._seen == 1:
                    later(12, self._join)
                elif self.mode == "late":
                    later(12, self._sign, frame.genesis)
                elif self.mode in ("no commit", "fickle"):
                    self._sign(frame.genesis)
            case Carried() if self.match is not None and self.mode != "silent":
                signed = parse_signed(frame.data, frame.signature)
                if signed.message.match == self.match.id:
                    self._say(self.match.handle(Received(self._host, signed), self.room.now))

    def _sign(self, genesis: bytes) -> None:
        roster = [each.join for each in parse_genesis(genesis).roster]
        me = next((index for index, join in enumerate(roster) if join.match_key == MatchKey(self.seed).public), None)
        if me is not None:
            self._host = next(index for index, join in enumerate(roster) if join.identity == self.host.key)
            self.match = Match(genesis, me, self.seed, host=self._host)
            self._say(self.match.handle(Linked(self._host), self.room.now))

    def _say(self, effects: Iterable[object]) -> None:
        for effect in effects:
            match effect:
                case Broadcast(Carried() as said):
                    kind = parse_signed(said.data, said.signature).message.kind
                    if self.mode not in ("no commit", "late") or kind is not Kind.COMMIT:
                        self.who.say(self.host.key, said)


class LyingHost:
    """A host who proposes matches to some guests, sends different messages to each, and withdraws formed matches."""

    def __init__(self, room: Room, number: int) -> None:
        self.room = room
        self.who = RoomPeer(room, number, self.hear)
        self.who.aim = TableAim(TABLE, "")
        self.guests: dict[bytes, JoinRecord] = {}
        self.proposals: list[dict[Any, Any]] = []
        self._numbers = count(1_000_000 * number)

    def greet(self, identity: bytes) -> None:
        """Show an empty table."""
        self.who.say(identity, self.table([]))

    def table(self, players: Iterable[JoinRecord]) -> Table:
        sitting = [(each.join.nickname, each.join.identity) for each in players]
        return Table("Friday", RULES.options(), 10, tuple(Patience()), tuple(sitting) or (("host", self.who.key),))

    def hear(self, identity: bytes, frame: Frame) -> None:
        """React to a frame from a guest."""
        match frame:
            case JoinTable():
                self.guests[identity] = parse_join_record(frame.record)
                self.who.say(identity, self.table([]), Seat(1))
            case Leave():
                self.guests.pop(identity, None)
            case Carried():
                signed = parse_signed(frame.data, frame.signature)
                for each in self.proposals:
                    if each["history"].match == signed.message.match and signed.message.step < 2:
                        each[signed.message.step][signed.message.author] = signed

    def propose(self) -> None:
        """Propose a match to some guests, perhaps with invented players."""
        chance = self.room.random
        some = chance.sample(sorted(self.guests), chance.randint(1, len(self.guests)))
        seed = chance.randbytes(32)
        keys = {self.who.key: seed}
        records = [sign_on(self.who, TABLE, seed)] + [self.guests[each] for each in some]
        for _ in range(chance.choice((0, 0, 0, 2, 3))):
            number = next(self._numbers)
            ghost = RoomPeer(self.room, number)
            del self.room.listening[ghost.address]
            seed = chance.randbytes(32)
            keys[ghost.key] = seed
            places = tuple((f"10.9.{number % 250}.{place}", PORT) for place in range(1, 9))
            records.append(sign_on(ghost, TABLE, seed, places))
        records.sort(key=lambda each: each.join.identity)
        data = Genesis(TABLE, RULES, Patience(), tuple(records)).encoded()
        self.proposals.append({"history": History(data), "some": some, "keys": keys, 0: {}, 1: {}})
        for each in some:
            former = chance.choice(self.proposals[-4:-1]) if len(self.proposals) > 1 else None
            shown = self._sign(former, Kind.RESIGN, chance.choice((0, 1))) if former and chance.random() < 0.8 else None
            self.who.say(each, self.table(records), Propose(data, shown.wire if shown is not None else ()))

    def _sign(self, proposal: dict[Any, Any], kind: Kind, step: int, author: int | None = None) -> Signed | None:
        history: History = proposal["history"]
        if step >= len(history.chain):
            return None
        roster = [each.join.identity for each in history.genesis.roster]
        me = roster.index(self.who.key) if author is None else author
        body: Any = {Kind.RESIGN: (), Kind.LOCK: history.chain[0].signed_hash, Kind.COMMIT: (bytes(32),)}[kind]
        return sign(
            Message(history.match, step, history.chain[step].tip, me, kind, body),
            MatchKey(proposal["keys"][roster[me]]),
        )

    def _complete(self, proposal: dict[Any, Any], step: int) -> list[Signed]:
        """Return the known messages of a step, with those of this host and the invented players."""
        history: History = proposal["history"]
        known = dict(proposal[step])
        for author, record in enumerate(history.genesis.roster):
            own = record.join.identity in proposal["keys"]
            if own and (signed := self._sign(proposal, (Kind.LOCK, Kind.COMMIT)[step], step, author)) is not None:
                known[author] = signed
        if step == 0 and len(history.chain) == 1:
            for signed in known.values():
                with suppress(RejectedMessageError, MisconductError):
                    add(history, signed)
        return [known[author] for author in sorted(known)]

    def act(self) -> None:
        """Propose a match, or send some messages of an earlier proposal."""
        chance = self.room.random
        if not self.guests:
            return
        if not self.proposals or chance.random() < 0.35:
            self.propose()
            return
        proposal = chance.choice(self.proposals[-3:])
        to = [each for each in proposal["some"] if chance.random() < 0.6]
        what = chance.random()
        for each in to:
            if what < 0.5:
                self.show(each, self._complete(proposal, 0))
            elif what < 0.75:
                self.show(each, self._complete(proposal, 1))
            else:
                self.show(each, [self._sign(proposal, Kind.RESIGN, chance.choice((0, 1)))])

    def show(self, identity: bytes, messages: Iterable[Signed | None]) -> None:
        """Show messages to a guest."""
        self.who.say(identity, *(Carried(*signed.wire) for signed in messages if signed is not None))


async def play(person: Person, target: str) -> None:
    """Let a person sit down at a table until they play. When the table closes, they sit down again."""
    while person.is_running and not person.plays:
        seen = len(person.events)
        try:
            await person.node.join(target)
        except NodeError as error:
            if error.code not in (ErrorCode.FULL, ErrorCode.REFUSED, ErrorCode.UNREACHABLE):
                raise
        else:
            while person.is_running and not person.plays:
                if any(isinstance(event, TableClosed) for event in person.events[seen:]):
                    break
                await asyncio.sleep(0.25)
        await asyncio.sleep(3)


@contextmanager
def watched(figures: Counter[str]) -> Iterator[None]:
    """Check, whenever a node signs COMMIT, that it is not bound to two matches. Count proposals."""
    bound, propose, opened = Proposals.bound, Host._propose, Attendance.__init__

    def checked(self: Proposals, playing: PlayerSession) -> None:
        bound(self, playing)
        if sum(each.match.is_bound for each in self.sessions) > 1:
            raise ViolationError("a player is bound to two matches")
        figures["bound"] += 1

    def counted(self: Host) -> None:
        before = self._proposal
        propose(self)
        figures["proposals"] += self._proposal is not before

    def opened_again(self: Attendance) -> None:
        figures["tables"] += 1
        opened(self)

    with (
        patch.object(Proposals, "bound", checked),
        patch.object(Host, "_propose", counted),
        patch.object(Attendance, "__init__", opened_again),
    ):
        yield


def check_quiet(people: Iterable[Person], figures: Counter[str]) -> None:
    """Check that no person is bound any more, and that connected players know of each other's matches."""
    people = [each for each in people if each.is_running]
    for person in people:
        played = [each for each in person.node._active.sessions if each.match.is_formed and not each.is_given_up]
        if len(played) > 1:
            raise ViolationError(f"{person.name} plays two matches")
        figures["formed"] += len(played)
        if views.proposals(person).is_bound:
            raise ViolationError(f"{person.name} is bound for ever")
        for session in person.node._active.sessions:
            if not session.match.is_formed:
                continue
            figures["resigned at once"] += session.is_given_up
            for other in people:
                if other.key not in session.authors or not person.room.hears(person.key, other.key):
                    continue
                theirs = views.proposals(other).find(session.match.id) or other.node._active.proposals.session
                if theirs is None or theirs.match.id != session.match.id or not theirs.match.is_formed:
                    about = session.match.id.hex()[:4]
                    raise ViolationError(f"{other.name} does not know of a match of {person.name}: {about}")


async def honest_host(room: Room) -> Counter[str]:
    """Run a world with an honest host."""
    chance, figures = room.random, Counter[str]()
    host = await room.sit("host")
    seats = chance.randint(3, 6)
    good = [await room.sit(f"good{number}") for number in range(chance.randint(1, 2))]
    modes = [chance.choice(MODES) for _ in range(chance.randint(0, 4))]
    has_newcomers, is_shaky = chance.random() < 0.4, chance.random() < 0.3
    with watched(figures):
        await host.node.host(TableSettings("Friday", RULES, seats))
        target = line(room, host.key, host.node.identity.fingerprint)
        tasks = [asyncio.create_task(play(each, target)) for each in good]
        liars = [Liar(room, number, mode, host) for number, mode in enumerate(modes)]
        tasks += [asyncio.create_task(liar.sit()) for liar in liars]

        async def newcomers() -> None:
            for number in count(100):
                await asyncio.sleep(chance.uniform(0.5, 3))
                tasks.append(asyncio.create_task(Liar(room, number, "fickle", host).sit()))

        if has_newcomers:
            tasks.append(asyncio.create_task(newcomers()))
        if is_shaky:
            for _ in range(3):
                one, other = chance.sample([host.key, *(each.key for each in good)], 2)
                begins, lasts = chance.uniform(0, 30), chance.uniform(0.5, 6)
                room.loop.call_later(begins, room.cut, one, other)
                room.loop.call_later(begins + lasts, room.mend, one, other)
        started = 0
        await asyncio.sleep(6)
        while not host.plays and room.now < 400:
            with suppress(NodeError):
                host.node.start_match()
                started += 1
            await asyncio.sleep(3)
        for task in tasks:
            task.cancel()
        if not host.plays:
            raise ViolationError(f"no match after {room.now:.0f} s and {figures['proposals']} proposals: {modes}")
        figures["seconds"] = round(room.now)
        await asyncio.sleep(45)
        check_quiet([host, *good], figures)
        most = limits.UNSIGNED * len(modes) + 16 * has_newcomers * seats + 12
        is_simple = not is_shaky and figures["tables"] == 1
        if is_simple and figures["seconds"] > most:
            raise ViolationError(f"it took {figures['seconds']} s with {modes}")
        if is_simple and figures["proposals"] > limits.FAILURES + 2 * (seats - 1):
            raise ViolationError(f"{figures['proposals']} proposals for {seats} seats: {modes}")
    return figures


async def lying_host(room: Room) -> Counter[str]:
    """Run a world with a lying host."""
    chance, figures = room.random, Counter[str]()
    good = [await room.sit(f"good{number}") for number in range(chance.randint(2, 5))]
    host = LyingHost(room, 1)
    host.who.peer_up = lambda identity, *_: host.greet(identity)  # type: ignore[method-assign]
    with watched(figures):
        target = line(room, host.who.key, host.who.identity.fingerprint)
        tasks = [asyncio.create_task(play(each, target)) for each in good]
        for _ in range(chance.choice((0, 0, 2, 4))):
            one, other = chance.sample([host.who.key, *(each.key for each in good)], 2)
            begins, lasts = chance.uniform(0, 30), chance.uniform(0.5, 20)
            room.loop.call_later(begins, room.cut, one, other)
            room.loop.call_later(begins + lasts, room.mend, one, other)
        while room.now < 40:
            await asyncio.sleep(chance.uniform(0.02, 1.0))
            host.act()
        for task in tasks:
            task.cancel()
        del room.listening[host.who.address]
        for each in tuple(host.who.mesh.linked()):
            host.who.mesh.disconnect(each)
        await asyncio.sleep(45)
        check_quiet(good, figures)
        free = [each for each in good if not each.plays]
        if len(free) > 1:
            await free[0].node.host(TableSettings("Next", RULES, 6))
            target = line(room, free[0].key, free[0].node.identity.fingerprint)
            tasks = [asyncio.create_task(play(each, target)) for each in free[1:]]
            await asyncio.sleep(10)
            free[0].node.start_match()
            await asyncio.sleep(30)
            for task in tasks:
                task.cancel()
            for person in free:
                if not person.plays:
                    raise ViolationError(f"{person.name} cannot go on")
            check_quiet(good, figures)
        figures["went on elsewhere"] = len(free)
    return figures


def explore(folder: Path, seeds: Iterable[int]) -> Counter[str]:
    """Run the worlds of some seeds, and return their figures.

    :raises ViolationError: if a promise is broken in one.
    """
    figures: Counter[str] = Counter()
    for seed in seeds:
        home = folder / str(seed)
        home.mkdir()
        try:
            figures.update(in_a_room(home, seed, honest_host if seed % 2 else lying_host))
        except (ViolationError, TimeoutError) as error:
            raise ViolationError(f"seed {seed}: {error}") from error
    return figures
