"""A simple world for tests: real :class:`protocol.match.match.Match` objects with links and disks, but without nodes.

The seed decides which link delivers its next frame, and which player moves next. A seed therefore reproduces a run
exactly. Each link keeps the order of its frames. A node writes to its disk before it sends a frame that binds; a crash
loses what it has learned since. A cut link loses its frames in flight.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from p2pdice.moves import Concede
from p2pdice.players import OddsPlayer, Player
from p2pdice.players.contest import answer
from p2pdice.rulesets import Ruleset
from protocol.consensus.kinds import parse_signed
from protocol.consensus.replica import Learned, Replace
from protocol.consensus.transcript import write_transcript
from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import Identity, MatchKey
from protocol.events import MatchResult, Misbehaved, NodeEvent, YourTurn
from protocol.match.effects import (
    Accuse,
    Announce,
    Broadcast,
    Conceded,
    FrameReceived,
    Linked,
    MatchInput,
    PassOn,
    Played,
    Received,
    Send,
    Show,
    StoreChoice,
    Ticked,
    Unlinked,
    WakeAt,
    WriteTranscript,
)
from protocol.match.match import Match
from protocol.wire.frames import Carried, Cut, Frame, Have, Need, Page
from protocol.wire.genesis import Genesis, Join, JoinRecord, Patience, make_join_record
from protocol.wire.messages import Kind, Message, Signed, sign
from protocol.wire.purses import Head

E = TypeVar("E")

TABLE = bytes(16)
UNHURRIED = Patience(3600, 3600)
"""For tests in which no player is voted out for being silent."""
IDENTITIES: Final[dict[bytes, Identity]] = {}
"""All identities made so far, by public key."""
STILL: Final = 60.0
"""A world ends when for this many seconds nodes have sent nothing but HAVEs, which announce what they hold."""


def identity_of(seed: bytes, number: int) -> Identity:
    """Return the identity of a player."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Identity(Ed25519PrivateKey.from_private_bytes(tagged_hash("test-identity", seed, number)))


def join_record(
    seed: bytes,
    number: int,
    *,
    nickname: str = "",
    table: bytes = TABLE,
    head: Head | None = None,
    identity: Identity | None = None,
) -> JoinRecord:
    """Return the join record of a player."""
    identity = identity or identity_of(seed, number)
    IDENTITIES[identity.public] = identity
    key = MatchKey(match_seed(seed, number))
    name = nickname or f"player {number}"
    nonce = tagged_hash("test-nonce", seed, number)
    join = Join(table, identity.public, key.public, name, (("192.0.2.1", 7000 + number),), nonce, "redeemed", head)
    return make_join_record(join, identity, key)


def match_seed(seed: bytes, number: int) -> bytes:
    """Return the match seed of a player."""
    return tagged_hash("test-match-seed", seed, number)


def genesis(
    ruleset: Ruleset,
    players: int,
    seed: bytes,
    patience: Patience = UNHURRIED,
    sitting: Sequence[tuple[Identity, Head | None]] = (),
) -> tuple[Genesis, tuple[bytes, ...]]:
    """Return a genesis, and the match seeds by roster index.

    :param sitting: the players and the heads of their purses; if empty, the players are drawn from ``seed``.
    """
    made = [join_record(seed, number, identity=who, head=head) for number, (who, head) in enumerate(sitting)]
    made = made or [join_record(seed, number) for number in range(players)]
    records = sorted(
        ((record, match_seed(seed, number)) for number, record in enumerate(made)),
        key=lambda pair: pair[0].join.identity,
    )
    roster = tuple(pair[0] for pair in records)
    return Genesis(TABLE, ruleset, patience, roster), tuple(pair[1] for pair in records)


@dataclass
class Machine:
    """One node of the world."""

    match: Match
    player: Player
    disk: list[Signed] = field(default_factory=list)
    unwritten: list[Signed] = field(default_factory=list)
    """Messages to be stored that a crash would lose."""
    choices: dict[int, str] = field(default_factory=dict)
    shown: list[NodeEvent] = field(default_factory=list)
    turn: YourTurn | None = None
    wake: float | None = None
    is_up: bool = True
    transcript: bytes = b""
    proofs: list[bytes] = field(default_factory=list)
    confirmed: bool | None = None

    @property
    def stored(self) -> list[Signed]:
        """The messages on the disk, and those on the way there."""
        return [*self.disk, *self.unwritten]


class World:
    """The nodes of one match."""

    @property
    def seats(self) -> tuple[int, ...]:
        """The author of every seat."""
        return self.machines[0].match.history.position.seats

    def __init__(
        self,
        ruleset: Ruleset,
        players: int,
        seed: int,
        player: Callable[[random.Random], Player] = OddsPlayer,
        patience: Patience = UNHURRIED,
        kinds: Mapping[int, type[Match]] | None = None,
        owners: Sequence[tuple[Identity, Head]] = (),
    ) -> None:
        """Start a match.

        :param kinds: by roster index, the class of players that do not run the real one.
        :param owners: the players and the heads of their purses, if they bring purses. They may bet any stake.
        """
        self.random = random.Random(seed)
        self.now = 0.0
        self.genesis, self.seeds = genesis(ruleset, players, seed.to_bytes(8, "big"), patience, owners)
        self.data = self.genesis.encoded()
        self.links: dict[tuple[int, int], deque[Frame]] = {}
        self.still_since = 0.0
        """Since when nodes have sent nothing but HAVEs."""
        self.delivered = 0
        self.machines = [
            Machine(
                (kinds or {}).get(me, Match)(self.data, me, self.seeds[me], stake=lambda *_: True),
                player(random.Random(self.random.random())),
            )
            for me in range(players)
        ]
        for me in range(players):
            self.feed(me, Ticked())
        for one in range(players):
            for other in range(one):
                self.link(one, other)

    # Faults

    def link(self, one: int, other: int) -> None:
        """Bring the link between two nodes up."""
        if (one, other) in self.links or not (self.machines[one].is_up and self.machines[other].is_up):
            return
        self.links[one, other] = deque()
        self.links[other, one] = deque()
        self.feed(one, Linked(other))
        self.feed(other, Linked(one))

    def cut(self, one: int, other: int) -> None:
        """Take down the link between two nodes. Frames in flight are lost."""
        if (one, other) not in self.links:
            return
        del self.links[one, other], self.links[other, one]
        for me, peer in ((one, other), (other, one)):
            if self.machines[me].is_up:
                self.feed(me, Unlinked(peer))

    def crash(self, me: int) -> None:
        """Kill a node. Everything that is not on its disk is lost."""
        self.machines[me].is_up = False
        for other in range(len(self.machines)):
            if other != me:
                self.cut(me, other)

    def restart(self, me: int, disk: Iterable[Signed] | None = None) -> None:
        """Start a killed node from its disk, or from ``disk``, and link it again."""
        machine = self.machines[me]
        stored = [parse_signed(*signed.wire) for signed in (machine.disk if disk is None else disk)]
        machine.disk = stored
        machine.unwritten, machine.turn, machine.wake = [], None, None
        machine.match = Match(self.data, me, self.seeds[me], machine.disk, machine.choices, stake=lambda *_: True)
        machine.is_up = True
        self.feed(me, Ticked())
        for other in range(len(self.machines)):
            if other != me:
                self.link(me, other)

    # Running

    def feed(self, me: int, item: MatchInput) -> None:
        """Give an input to a node, and carry out the effects: store, then send and show."""
        machine = self.machines[me]
        effects = machine.match.handle(item, self.now)
        for effect in effects:
            if isinstance(effect, Learned) and effect.must_store:
                machine.unwritten.append(effect.signed)
            elif isinstance(effect, Replace):
                machine.disk, machine.unwritten = [], list(effect.messages)
        if any(isinstance(effect, Send) or (isinstance(effect, Broadcast) and effect.binds) for effect in effects):
            machine.disk += machine.unwritten
            machine.unwritten = []
        for effect in effects:
            match effect:
                case Send():
                    self.send(me, effect.author, effect.frame)
                case Announce():
                    for other in range(len(self.machines)):
                        self.send(me, other, effect.have)
                case Broadcast():
                    for other in range(len(self.machines)):
                        self.send(me, other, effect.frame)
                case PassOn():
                    for other in effect.authors:
                        self.send(me, other, Carried(*effect.signed.wire))
                case Accuse():
                    culprit = machine.match.info[effect.author]
                    machine.shown.append(Misbehaved(culprit, effect.step, effect.reason))
                    machine.proofs.append(effect.proof)
                case Show():
                    machine.shown.append(effect.event)
                    if isinstance(effect.event, YourTurn):
                        machine.turn = effect.event
                    elif isinstance(effect.event, MatchResult):
                        machine.confirmed = effect.event.confirmed
                case WakeAt():
                    machine.wake = effect.time
                case StoreChoice():
                    machine.choices[effect.step] = effect.text
                case WriteTranscript():
                    machine.transcript = write_transcript(machine.match.history, machine.match.replica.proven.values())

    def send(self, me: int, other: int, frame: Frame) -> None:
        """Send a frame over a link, if it is up."""
        if (me, other) in self.links:
            self.links[me, other].append(frame)
            if not isinstance(frame, Have):
                self.still_since = self.now

    def step(self) -> bool:
        """Deliver a frame, make a move, or fire a timer. Return False if nothing is left to do."""
        busy = sorted(link for link, frames in self.links.items() if frames)
        thinking = [me for me, machine in enumerate(self.machines) if machine.is_up and machine.turn]
        if busy and (not thinking or self.random.random() < 0.9):
            self.deliver(*self.random.choice(busy))
        elif thinking:
            self.move(self.random.choice(thinking))
        else:
            due = [machine.wake for machine in self.machines if machine.is_up and machine.wake is not None]
            if not due or min(due) > self.still_since + STILL:
                return False
            self.now = max(self.now, min(due))
            for me, machine in enumerate(self.machines):
                if machine.is_up and machine.wake is not None and machine.wake <= self.now:
                    machine.wake = None
                    self.feed(me, Ticked())
        return True

    def deliver(self, sender: int, receiver: int) -> None:
        """Deliver the next frame of a link."""
        frame = self.links[sender, receiver].popleft()
        self.delivered += 1
        match frame:
            case Carried():
                self.feed(receiver, Received(sender, parse_signed(frame.data, frame.signature)))
            case Need() | Page() | Have() | Cut():
                self.feed(receiver, FrameReceived(sender, frame))
            case _:
                raise AssertionError(frame)

    def move(self, me: int) -> None:
        """Let the player of a node move."""
        machine = self.machines[me]
        turn, machine.turn = machine.turn, None
        assert turn is not None
        move = answer(machine.player, turn.view)
        self.feed(me, Conceded() if isinstance(move, Concede) else Played(move, turn.token))

    def first_turn(self) -> int:
        """Run until a player is on turn, and return the roster index."""
        while not any(machine.turn for machine in self.machines):
            assert self.step()
        return next(me for me, machine in enumerate(self.machines) if machine.turn)

    def call_nothing(self, cheat: int) -> Signed:
        """Let the player on turn call a lie although there is no bid. Send the message to all others, and return it."""
        history = self.machines[cheat].match.history
        place = history.position
        message = Message(history.match, place.step, place.tip, cheat, Kind.MOVE, "liar")
        forged = sign(message, MatchKey(self.seeds[cheat]))
        self.machines[cheat].turn = None
        for other in range(len(self.machines)):
            self.send(cheat, other, Carried(*forged.wire))
        return forged

    def told(self, me: int, kind: type[E]) -> list[E]:
        """Return the events of one type that a node's owner was shown."""
        return [event for event in self.machines[me].shown if isinstance(event, kind)]

    def run(self, steps: int = 200_000) -> None:
        """Run until nothing is left to do. Fail after ``steps`` steps."""
        for _ in range(steps):
            if not self.step():
                return
        raise AssertionError(f"still busy after {steps} steps")


def played(ruleset: Ruleset, players: int, seed: int = 0) -> bytes:
    """Return the transcript of a match between house bots without faults."""
    world = World(ruleset, players, seed)
    world.run()
    return world.machines[0].transcript
