"""A model checker for the voting rule (SPEC.md, §6). It explores every order of events in small worlds.

A world has few players and a history of a few steps and LOCKs. The rule itself is not modelled: each honest node runs
the real :class:`protocol.consensus.ballot.Ballot`. The state of a world consists of the states of its honest nodes.
Messages in flight are not part of it, because any message that was signed may arrive at any node at any time, or never.
Timers may fire at any time. The liar has no state either: any message that the liar may sign can arrive anywhere.

Three things keep the number of states small without hiding errors:

- Nodes are deterministic and interact only by messages. So the effect of an event on a state of a node is computed
  once, and then looked up.
- A liar's vote matters only if it equals an honest vote, or contradicts another vote of the liar. So the liar may
  repeat every honest vote and LOCK, and sign two messages for a step. A liar who ``is_inventing`` also votes, for each
  author of a step, that this author was absent.
- The messages of each author arrive in order.

*Connected* nodes receive each other's messages within half a second. So a connected node loses patience only when it
has all messages of the others, and they have its history. It sends a CLOSE for a value only when three things are true:
the others have the votes that justify it; the node has any proof of cheating that these votes complete elsewhere; and
no other node left the round before it received them. All other messages may still be in flight.

:meth:`Explorer.violated` defines the claims that are checked in every state: *agree*, *live*, *in time*, *stands*. Two
more are always checked: no honest player contradicts themselves or is convicted, and readers accept the certificate of
every decision.

tests/simulation/test_small_worlds.py defines the worlds.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Final

from protocol.consensus.ballot import Ballot, Closed, elect, leavers
from protocol.consensus.branches import Branches
from protocol.consensus.kinds import Vote, VoteValue, read_vote, spell_vote, vote_contradiction
from protocol.consensus.position import FORMED, Position, Purpose
from protocol.wire.messages import VOTES, Kind, Message, Signed

STATE_HASH: Final = b"state"
SWEEPS: Final = 14
"""A group of nodes that hear each other counts as stuck if it is not at the end after all timers fired this often."""
KINDS: Final[Mapping[str, Kind | None]] = {"t": Kind.MOVE, "j": Kind.COMMIT, "o": Kind.OPEN, "L": Kind.LOCK, "": None}

Event = int | str
"""The number of a message that arrives; a timer that fires: ``vote``, ``close`` or ``nil``; ``crash``; or ``shown N``:
another node, whose state has the number N, shows all messages that it keeps."""
State = tuple[int, ...]
"""The number of each honest node's state. Then two sets of bits: messages that arrived in time, and tips that must
stand."""


class ViolationError(AssertionError):
    """A claim does not hold."""

    def __init__(self, claim: str, problem: str, trace: Sequence[str] = ()) -> None:
        super().__init__("\n".join([f"{claim}: {problem}", *trace]))
        self.claim = claim


def bits(number: int) -> Iterator[int]:
    """Yield the positions of the bits that are set."""
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def leads_to(one: bytes, other: bytes) -> bool:
    """Return whether one tip equals the other, or comes before it in its history."""
    return one == other or other.startswith(one + b"/")


@dataclass
class Table:
    """The parameters of a world, and all positions and messages that occur in it."""

    live: Sequence[int] = (0, 1, 2)
    """The players in the game."""
    witnesses: Sequence[int] = ()
    """The players who are out of the game, but may vote."""
    script: str = "t0,L"
    """The steps: ``t0`` is a turn of player 0, ``j`` a joint step, ``L`` a LOCK, and ``o`` a joint OPEN, which is
    followed by the last LOCK if all players open. Turns of players who are out of the game are skipped."""
    bases: Sequence[Sequence[int]] = ()
    """The base of each segment. The last one also holds for all later segments. All players by default."""
    falls: Mapping[int, Collection[int]] = field(default_factory=dict)
    """By step of the script, the authors who drop out of the game when it closes, unless an author leaves in it."""
    resigns: Mapping[int, int] = field(default_factory=dict)
    """By author, the step of the script from which on they resign as soon as they may."""
    liar: int | None = None
    connected: Collection[int] = ()
    lies: int = 1000
    """How many messages the liar signs at most."""
    is_inventing: bool = False
    """Whether the liar also votes for values of their own."""
    rounds: int = 2
    """How many rounds of votes honest players begin at most. There is no limit while :meth:`Explorer.settle` runs."""
    crashes: Mapping[int, int] = field(default_factory=dict)
    """By player, how often the process may crash."""
    rule: type[Ballot] = Ballot
    # Mistakes of nodes, or broken promises of the network, for tests that must find them
    is_lock_owed_by_live: bool = False
    are_locks_ordinary: bool = False
    """Whether players may resign, or be voted out, at a LOCK."""
    are_votes_forgotten: bool = False
    are_proofs_forgotten: bool = False
    """Whether a restarted node still knows who is convicted, but has lost the proofs."""
    is_hasty: bool = False
    """Whether nodes send a CLOSE without waiting for others."""
    is_impatient: bool = False
    """Whether nodes lose patience before they have all messages of the others."""
    joins_early: bool = False
    """Whether they do so once any player has voted."""
    has_no_time_for_cheats: bool = False
    """Whether they do so if only proven cheats are missing."""

    def __post_init__(self) -> None:
        self.steps = tuple(self.script.split(","))
        self.everyone = tuple(sorted({*self.live, *self.witnesses}))
        self.honest = tuple(player for player in self.everyone if player != self.liar)
        self.bases = self.bases or (self.everyone,)
        self.positions: dict[bytes, Position] = {}
        self.messages: list[Signed] = []
        self.votes: list[Vote | None] = []
        """For each message, its vote; None if it is not a vote."""
        self.numbers: dict[bytes, int] = {}
        self.by_liar = 0
        """The messages of the liar, as bits."""
        self.is_vote = 0
        """The messages that are votes, as bits."""
        self.start = self._open(b"", FORMED, 0, tuple(self.live), (), tuple(self.live), self.bases[0])

    # The history, as the real ballot sees it

    def _open(
        self,
        tip: bytes,
        step: int,
        place: int,
        live: tuple[int, ...],
        left: tuple[int, ...],
        players: tuple[int, ...],
        base: Sequence[int],
    ) -> Position:
        steps = self.steps
        while place < len(steps) and steps[place][0] == "t" and int(steps[place][1]) not in live:
            place += 1
        kind = KINDS[steps[place][0] if place < len(steps) else ""]
        owed = (int(steps[place][1]),) if kind is Kind.MOVE else live if kind is not None else ()
        if kind is Kind.LOCK and not self.is_lock_owed_by_live:
            owed = players
        everyone = tuple(range(max(self.everyone) + 1))
        state: Any = SimpleNamespace(live=live, out=tuple(sorted(set(everyone).difference(live, left))))
        return self.positions.setdefault(
            tip,
            Position(
                step=step,
                tip=tip,
                purpose=Purpose.TURN,
                place_in_script=place,
                kind=kind,
                owed=owed,
                base=tuple(base),
                players=players,
                state=state,
                seats=everyone,
                left=left,
                signed_hash=STATE_HASH if kind is Kind.LOCK else b"",
            ),
        )

    def judge(self, position: Position, signed: Signed) -> None:
        """Accept every message: no node of these worlds signs an invalid one."""

    def tip_after(self, position: Position, entries: Mapping[int, Signed]) -> bytes:
        """Return the tip after a step that is closed by these messages. It is a readable path."""
        named = "".join(entries[author].id[1:2].decode() if author in entries else "-" for author in position.owed)
        if position.kind is Kind.LOCK and not self._gone(position, entries):
            named = ""
        return position.tip + f"/{self.steps[position.place_in_script]}{named}".encode()

    def _gone(self, position: Position, entries: Mapping[int, Signed]) -> tuple[int, ...]:
        if position.kind is Kind.LOCK and not (self.are_locks_ordinary and entries):
            return ()
        return tuple(a for a in position.owed if a not in entries or entries[a].id[1:2] == b"r")

    def after(self, position: Position, entries: Mapping[int, Signed]) -> Position:
        """Return the position after a step that is closed by these messages."""
        tip = self.tip_after(position, entries)
        if tip in self.positions:
            return self.positions[tip]
        place, live, is_lock = position.place_in_script, position.live, position.kind is Kind.LOCK
        gone = self._gone(position, entries)
        live = tuple(player for player in live if player not in gone)
        players = live if is_lock else tuple(player for player in position.players if player not in gone)
        if not gone:
            live = tuple(player for player in live if player not in self.falls.get(place, ()))
        if position.kind is Kind.OPEN and (not gone or len(live) < 2):
            place = len(self.steps) - 2
        base: Sequence[int] = position.base
        if is_lock:
            base = self.bases[min(tip.count(b"/L"), len(self.bases) - 1)]
        return self._open(tip, position.step + 1, place + 1, live, (*position.left, *gone), players, base)

    # Messages

    def number(self, signed: Signed) -> int:
        """Return the number of a message. A new message gets a new one."""
        found = self.numbers.get(signed.id)
        if found is None:
            found = self.numbers[signed.id] = len(self.messages)
            self.messages.append(signed)
            self.votes.append(read_vote(signed) if signed.message.kind in VOTES else None)
            self.is_vote |= (self.votes[-1] is not None) << found
            self.by_liar |= (signed.message.author == self.liar) << found
        return found

    def _ordinary(self, position: Position, author: int, what: str) -> Signed:
        assert position.kind is not None
        kind = Kind.RESIGN if what == "r" else Kind(position.kind)
        body = STATE_HASH if kind is Kind.LOCK else what
        return _signed(f"{author}{what}@{position.tip.decode()}", position, author, kind, body)

    def own(self, position: Position, author: int, *, is_resigning: bool = False) -> Signed:
        """Return the message that an honest player signs in a step."""
        return self._ordinary(position, author, "r" if is_resigning else "o")

    def lie(self, position: Position, what: str) -> Signed:
        """Return a message that the liar may sign in a step.

        :param what: a letter that stands for its content.
        """
        assert self.liar is not None
        return self._ordinary(position, self.liar, what)

    def vote(self, vote: Vote) -> Signed:
        """Return the message of a vote."""
        kind, body = spell_vote(vote)
        return _signed(_tell_vote(vote), self.positions[vote.root_tip], vote.author, kind, body)

    def contradict(self, one: int, other: int) -> bool:
        """Return whether two messages of one author prove misconduct."""
        first, second = self.messages[one].message, self.messages[other].message
        if first.tip != second.tip:
            return False
        one_vote, other_vote = self.votes[one], self.votes[other]
        if one_vote is None or other_vote is None:
            return one_vote is other_vote and one != other
        return bool(vote_contradiction(one_vote, other_vote))

    def offers(self, said: Sequence[int], ballot: Ballot, known: int) -> int:
        """Return the messages that the liar may sign because of one node, as bits.

        :param said: the messages that the node has signed.
        :param known: the messages that it has, as bits.
        """
        liar, found = self.liar, 0
        if liar is None:
            return 0
        is_voter = any(liar in base for base in self.bases)
        for vote in (self.votes[number] for number in said):
            if vote is not None and is_voter:
                found |= 1 << self.number(self.vote(vote._replace(author=liar)))
        tip, root = ballot.line[-1].tip, ballot.root
        while True:
            position = self.positions[tip]
            if liar in position.owed:
                for what in "o" if position.kind is Kind.LOCK else "xy":
                    found |= 1 << self.number(self._ordinary(position, liar, what))
            if self.is_inventing and liar in root.base and position.kind is not None and leads_to(root.tip, tip):
                for value, each in itertools.product(self._inventions(position, known), range(self.rounds)):
                    found |= 1 << self.number(self.vote(Vote(root.tip, liar, False, each, value)))
            if not tip:
                return found
            tip = tip.rpartition(b"/")[0]

    def _inventions(self, position: Position, known: int) -> Iterator[VoteValue]:
        if position.kind is Kind.LOCK:
            yield VoteValue(position.step, position.tip, position.signed_hash)
            return
        here = (self.messages[each] for each in bits(known & ~self.is_vote))
        held = {signed.message.author: signed.id for signed in here if signed.message.tip == position.tip}
        for absent in position.owed:
            entries = tuple(b"" if author == absent else held.get(author, b"") for author in position.owed)
            yield VoteValue(position.step, position.tip, entries)


def _signed(text: str, position: Position, author: int, kind: Kind, body: Any) -> Signed:
    name = text.encode()
    return Signed(name, b"", Message(b"", position.step, position.tip, author, kind, body), name, checked=True)


def _tell_vote(vote: Vote) -> str:
    kind = "CLOSE" if vote.is_close else "ABSENT"
    value = "nil"
    if vote.value is not None:
        entries = vote.value.entries
        named = entries if isinstance(entries, bytes) else b",".join(entry[:2] or b"-" for entry in entries)
        value = f"{vote.value.tip.decode()} {named.decode()}"
    return f"{vote.author} {kind}({vote.round}, {value}, {vote.polka_round})@{vote.root_tip.decode()}"


class Node:
    """One honest player: a real ballot, with a minimal version of the code that surrounds it."""

    def __init__(self, table: Table, me: int) -> None:
        self.table, self.me = table, me
        self.ballot = table.rule(me, table.start, table)
        self.convicted: frozenset[int] = frozenset()
        self.known = 0
        """The messages that this node has received or signed, as bits. The ballot may have dropped some of them."""
        self.said: tuple[int, ...] = ()
        """The messages that this node has signed, in order."""
        self.stored = 0
        """The messages that survive a crash, as bits: those that this node has signed, and those that justify them."""
        self.crashes = 0
        self.closings: tuple[tuple[bytes, tuple[int, ...]], ...] = ()
        """(tip of a root, messages that closed the steps from there to the next root, with the certificate)."""

    def copy(self) -> Node:
        twin = Node(self.table, self.me)
        twin.ballot = _twin(self.ballot)
        twin.convicted, twin.known, twin.said, twin.stored = self.convicted, self.known, self.said, self.stored
        twin.crashes, twin.closings = self.crashes, self.closings
        return twin

    def key(self) -> object:
        return self.me, self.known, self.said, self.crashes, self.stored, self.convicted, _frozen(self.ballot)

    def is_through(self) -> bool:
        """Return whether this node signs nothing more, because it is at the end, or has left."""
        ballot = self.ballot
        return ballot.root.kind is None or self.me in ballot.line[-1].left or ballot.has_resigned

    # Cached properties. They are read only after the node is in its final state.

    @cached_property
    def root(self) -> bytes:
        return self.ballot.root.tip

    @cached_property
    def open(self) -> bytes:
        return self.ballot.line[-1].tip

    @cached_property
    def line(self) -> int:
        """The messages of its history since the root, as bits."""
        return sum(1 << self.table.number(signed) for signed in self._line())

    @cached_property
    def offers(self) -> int:
        return self.table.offers(self.said, self.ballot, self.known)

    @cached_property
    def round(self) -> int:
        return self.ballot.round

    @cached_property
    def is_out(self) -> bool:
        return self.is_through()

    @cached_property
    def can_vote(self) -> bool:
        return not self.is_out and self.ballot.absent_vote(self.ballot.missing) is not None

    @cached_property
    def needs_patience(self) -> bool:
        """Whether it could vote now, but only because it has lost patience."""
        return self.can_vote and self.ballot.leading is None and self.ballot.absent_vote(()) is None

    @cached_property
    def can_nil(self) -> bool:
        return not self.is_out and self.ballot.nil_vote is not None

    @cached_property
    def can_crash(self) -> bool:
        return self.crashes < self.table.crashes.get(self.me, 0) and self.known != self.stored

    @cached_property
    def grounds(self) -> int | None:
        """The ABSENTs that justify the CLOSE that it may send now, as bits; None if there is no such CLOSE."""
        close = None if self.is_out else self.ballot.close_vote
        if close is None:
            return None
        shown = (signed for signed in self.ballot.grounds(close) if signed.message.kind is Kind.ABSENT)
        return sum(1 << self.table.number(signed) for signed in shown)

    # Events

    def learn(self, number: int) -> None:
        """Receive a message."""
        table, signed = self.table, self.table.messages[number]
        author = signed.message.author
        if author not in self.convicted:
            for other in bits(self.known):
                if table.messages[other].message.author == author and table.contradict(other, number):
                    self.convicted |= {author}
                    self.ballot.convict(author)
                    break
        self.known |= 1 << number
        if signed.message.step >= self.ballot.root.step:
            self.ballot.take(signed)

    def say(self, signed: Signed, grounds: Sequence[Signed] = ()) -> None:
        """Sign a message, after storing it with the messages that justify it."""
        number, table = self.table.number(signed), self.table
        for other in self.said:
            if table.contradict(other, number):
                told = f"{table.messages[other].id.decode()} and {signed.id.decode()}"
                raise ViolationError("nobody honest contradicts themselves", told)
        for each in (*grounds, *self._line(), signed):
            self.stored |= 1 << table.number(each)
        if self.convicted and table.crashes and not table.are_proofs_forgotten:
            for proof in self._proofs().values():
                self.stored |= proof
        self.said += (number,)
        self.known |= 1 << number
        self.ballot.take(signed, is_kept=True)

    def _proofs(self) -> dict[int, int]:
        """Return, by proven cheat, two known messages that prove it, as bits."""
        table, found = self.table, dict[int, int]()
        for one, other in itertools.combinations(bits(self.known), 2):
            author, also = table.messages[one].message.author, table.messages[other].message.author
            if author == also and author not in found and table.contradict(one, other):
                found[author] = 1 << one | 1 << other
        return found

    def _line(self) -> list[Signed]:
        ballot = self.ballot
        return [signed for after in ballot.line[1:] for signed in ballot.branches.between(after)]

    def react(self, event: Event = "") -> None:
        """Sign everything that is due.

        :param event: a vote is signed only if this is its timer.
        """
        for _ in range(100):
            has_gone_on = self._follow()
            if self.is_through():
                return
            if has_gone_on:
                continue
            ballot, position = self.ballot, self.ballot.line[-1]
            signed = self._own_part(position)
            if signed is not None:
                self.say(signed)
                continue
            due = {"vote": ballot.absent_vote(ballot.missing), "close": ballot.close_vote, "nil": ballot.nil_vote}.get(
                str(event)
            )
            if due is None:
                return
            self.say(self.table.vote(due), ballot.grounds(due))
            event = ""
        raise ViolationError("every node comes to rest", "a node signs messages without end")

    def _own_part(self, position: Position) -> Signed | None:
        """Return the ordinary message that this node signs in the open step; None if it signs none now."""
        table, ballot = self.table, self.ballot
        mine = (table.messages[number].message for number in self.said)
        has_signed = any(message.tip == position.tip and message.kind not in VOTES for message in mine)
        if self.me not in position.owed or has_signed or (position.kind is Kind.LOCK and not ballot.may_lock):
            return None
        wish = table.resigns.get(self.me)
        is_resigning = wish is not None and wish <= position.place_in_script and ballot.may_resign
        is_ordinary = position.kind is not Kind.LOCK or table.are_locks_ordinary
        return table.own(position, self.me, is_resigning=is_resigning and is_ordinary)

    def _grow(self) -> None:
        """Close steps as far as messages allow."""
        while grown := self.ballot.grow():
            for signed in grown:
                self.ballot.take(signed)

    def _follow(self) -> bool:
        """Begin the ballot on the next root. Return False if there is none yet."""
        ballot, table = self.ballot, self.table
        self._grow()
        closed = ballot.closed
        if closed is None:
            return False
        ends = {self._after(position).tip for position in ballot.branches.boundaries()}
        following = table.after(closed.position, closed.entries)
        if ends - {following.tip}:
            raise ViolationError("agree", f"two ends known to {self.me}: {following.tip!r} and {ends}")
        if closed.certificate:
            convince(table, closed)
        path = ballot.branches.path(closed.position.tip)
        shown = [signed for after in path[1:] for signed in ballot.branches.between(after)]
        shown += [*closed.entries.values(), *closed.certificate]
        self.closings += ((ballot.root.tip, tuple(table.number(signed) for signed in shown)),)
        self._begin(following)
        return True

    def _after(self, lock: Position) -> Position:
        """Return the position after a LOCK that all owing players have signed."""
        slots = self.ballot.branches.messages[lock.tip]
        return self.table.after(lock, {author: slots[author][0] for author in lock.owed})

    def _begin(self, root: Position) -> None:
        table = self.table
        self.ballot = table.rule(self.me, root, table, self.convicted)
        votes = [(vote, number) for number in bits(self.known) if (vote := table.votes[number]) is not None]
        votes.sort(key=lambda each: (each[0].round, not each[0].is_close))
        for number in (*bits(self.known & ~table.is_vote), *(number for _, number in votes)):
            if table.messages[number].message.step >= root.step:
                self.ballot.take(table.messages[number], is_kept=bool(self.stored >> number & 1))
                self._grow()  # as from a store: of an unknown step, a ballot keeps one message of each author

    def crash(self) -> None:
        """Restart with the stored messages."""
        if self.table.are_votes_forgotten:
            self.said = tuple(number for number in self.said if not self.table.is_vote >> number & 1)
            self.stored &= ~self.table.is_vote
        self.known = self.stored
        if not self.table.are_proofs_forgotten:
            self.convicted = frozenset(self._proofs())
        self.crashes += 1
        self._begin(self.ballot.root)

    def see(self, other: Node) -> None:
        """Receive all messages that another node would show. This node may have dropped some of them."""
        for root, numbers in other.closings:
            if root == self.ballot.root.tip:
                for number in numbers:
                    self.learn(number)
                self.react()
        if other.ballot.root.tip == self.ballot.root.tip:
            for slots in other.ballot.branches.messages.values():
                for signed in itertools.chain(*slots.values()):
                    self.learn(self.table.number(signed))
            for vote in other.ballot.votes():
                self.learn(self.table.number(vote.signed))
            self.react()


def convince(table: Table, closed: Closed) -> None:
    """Check that a reader who has only its certificate accepts a decision."""
    votes = [read_vote(signed) for signed in closed.certificate]
    position, closes = closed.position, {vote.author: vote for vote in votes if vote.is_close}
    (value,) = {vote.value for vote in votes}
    assert value is not None
    leaving = set() if isinstance(value.entries, bytes) else leavers(position, closed.entries)
    backers = {vote.author for vote in votes if not vote.is_close}
    chosen = elect(position, leaving, closes, backers)
    is_one_round = len({vote.round for vote in closes.values()}) == 1
    if chosen != tuple(vote.author for vote in votes) or not is_one_round or value.tip != position.tip:
        raise ViolationError("a reader accepts a certificate", str([signed.id for signed in closed.certificate]))


def _twin(thing: Any) -> Any:
    """Return a copy of a ballot. The two share only immutable objects."""
    if isinstance(thing, Ballot | Branches):
        twin = object.__new__(type(thing))
        twin.__dict__.update({name: _twin(value) for name, value in vars(thing).items()})
        return twin
    if isinstance(thing, dict):
        return {name: _twin(value) for name, value in thing.items()}
    return thing.copy() if isinstance(thing, set | list) else thing


def _frozen(thing: Any) -> Any:
    """Return a hashable value, equal for equal ballots. It covers only collections; all other fields follow."""
    if isinstance(thing, Ballot | Branches):
        held = (value for value in vars(thing).values() if isinstance(value, dict | set | Branches))
        root = thing.root.tip
        return (root, *map(_frozen, held))
    if isinstance(thing, dict):
        return frozenset((name, _frozen(value)) for name, value in thing.items())
    if isinstance(thing, set):
        return frozenset(thing)
    if isinstance(thing, Signed):
        return thing.id
    if isinstance(thing, Vote):
        return thing.signed.id
    if isinstance(thing, Position):
        return thing.tip
    return tuple(map(_frozen, thing)) if isinstance(thing, list | tuple) else thing


def is_settled(table: Table, group: Sequence[Node]) -> bool:
    """Return whether a group of nodes has reached the end, or is no longer a quorum."""
    active = [node for node in group if not node.is_through() or node.ballot.root.kind is None]
    going = [node for node in active if not node.is_through()]
    if not going:
        return True
    if len({node.ballot.root.tip for node in active}) > 1:
        return False
    position, voters = going[0].ballot.line[-1], {node.me for node in active}
    missing = () if position.kind is Kind.LOCK else set(position.owed) - voters
    base = set(position.base).difference(position.left)
    stay = set(position.live).difference(missing)
    return (
        2 * len(base & voters) <= len(position.base)
        or 2 * len(base.difference(missing)) <= len(position.base)
        or 2 * len(voters.intersection(position.live)) < len(position.live)
        or 2 * len(stay & voters) < len(stay)
        or not stay
    )


class Explorer:
    """Explores the states of a world. It numbers the states of nodes, and caches the effects of events on them."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.together = tuple(index for index, player in enumerate(table.honest) if player in table.connected)
        """The connected nodes."""
        self.sweeps = 0
        """The largest result of :meth:`settle` so far. docs/reliability.md reports it."""
        self.nodes: list[Node] = []
        """Nodes in every state that has occurred. The number of a state is its index here."""
        self._numbers: dict[object, int] = {}
        self._moves: dict[tuple[int, Event], int] = {}
        self._settled: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        self._tip_bits: dict[bytes, int] = {}
        start = []
        for me in table.honest:
            node = Node(table, me)
            node.react()
            start.append(self._intern(node))
        self.start: State = (*start, 0, 0)

    def _intern(self, node: Node) -> int:
        key = node.key()
        found = self._numbers.get(key)
        if found is None:
            if wronged := node.convicted - {self.table.liar}:
                raise ViolationError("nobody honest is convicted", f"{sorted(wronged)} are")
            found = self._numbers[key] = len(self.nodes)
            self.nodes.append(node)
        return found

    def move(self, number: int, event: Event) -> int:
        """Return the number of the state that a node gets into by an event."""
        found = self._moves.get((number, event))
        if found is None:
            node = self.nodes[number].copy()
            if isinstance(event, int):
                node.learn(event)
            elif event == "crash":
                node.crash()
            elif event.startswith("shown"):
                node.see(self.nodes[int(event.split()[1])])
            node.react(event)
            found = self._moves[number, event] = self._intern(node)
        return found

    # Possible events

    def events(self, state: State) -> Iterator[tuple[int, Event]]:
        """Yield (node, event) of everything that may happen next."""
        table, nodes_now = self.table, [self.nodes[number] for number in state[:-2]]
        lies = told = 0
        for each in nodes_now:
            lies |= each.offers
            told |= each.known & table.by_liar
        lies = told if told.bit_count() >= table.lies else lies | told
        for index, own in enumerate(nodes_now):
            if own.is_out:
                continue
            pending = lies & ~own.known
            for other in nodes_now:
                for number in other.said:
                    if not own.known >> number & 1 and leads_to(own.root, table.messages[number].message.tip):
                        pending |= 1 << number
                        break
            for number in bits(pending):
                yield index, number
            is_together = index in self.together
            if own.can_vote and own.round < table.rounds and not (is_together and self._may_learn_more(nodes_now, own)):
                yield index, "vote"
            if own.can_nil and own.round + 1 < table.rounds:
                yield index, "nil"
            if own.grounds is not None and not (is_together and self._may_be_answered(nodes_now, own, own.grounds)):
                yield index, "close"
            if own.can_crash:
                yield index, "crash"

    def _others(self, nodes_now: Sequence[Node], own: Node) -> Iterator[Node | None]:
        """Yield the other connected nodes at the root of one, and None for each that has a later root."""
        for other in (nodes_now[index] for index in self.together):
            if other is own:
                continue
            if other.root != own.root:
                if leads_to(own.root, other.root):
                    yield None
            elif not other.is_out:
                yield other

    def _may_learn_more(self, nodes_now: Sequence[Node], own: Node) -> bool:
        """Return whether connected nodes have messages that must arrive before this node loses patience."""
        table = self.table
        if table.is_impatient:
            return False
        is_patient = own.needs_patience
        if table.joins_early and any(
            vote and vote.root_tip == own.root for vote in map(table.votes.__getitem__, bits(own.known))
        ):
            is_patient = False
        if table.has_no_time_for_cheats and is_patient:
            missing = set(table.positions[own.open].owed) - own.convicted
            held = {table.messages[number].message for number in bits(own.known & ~table.is_vote)}
            is_patient = not missing <= {message.author for message in held if message.tip == own.open}
        for other in self._others(nodes_now, own):
            if other is None:
                return True
            lacking = other.known & ~own.known & ~table.is_vote & ~(table.by_liar & ~other.line)
            if is_patient and (own.line & ~other.known or any(map(self._matters(own.root), bits(lacking)))):
                return True
        return False

    def _matters(self, root: bytes) -> Callable[[int], bool]:
        table = self.table
        return lambda number: bool(table.by_liar >> number & 1) or leads_to(root, table.messages[number].message.tip)

    def _may_be_answered(self, nodes_now: Sequence[Node], own: Node, grounds: int) -> bool:
        """Return whether a node must wait with its CLOSE: a connected node lacks the votes that justify it, or has an
        answer to them."""
        table = self.table
        if table.is_hasty:
            return False
        voters = {table.messages[number].message.author for number in bits(grounds)}
        for other in self._others(nodes_now, own):
            if other is None or grounds & ~other.known or (other.convicted - own.convicted) & voters:
                return True
            for vote in (table.votes[number] for number in other.said):
                if (
                    vote
                    and not vote.is_close
                    and vote.root_tip == own.root
                    and vote.polka_round < own.round < vote.round
                ):
                    return True  # it left the round before it received the polka
        return False

    def take(self, state: State, player: int, told: str) -> State:
        """Return the state after an event of a player.

        :param told: the text of the message that arrives, or the name of another event.
        :raises LookupError: if it cannot happen now.
        """
        for index, event in self.events(state):
            if self.table.honest[index] == player and self._order((index, event))[1] == told:
                return self.after(state, index, self.move(state[index], event))
        raise LookupError(f"not now: {told} at {player}")

    def after(self, state: State, index: int, number: int) -> State:
        """Return the state of the world after the state of one node has changed."""
        nodes = (*state[:index], number, *state[index + 1 : -2])
        if not self.together:
            return (*nodes, 0, 0)
        nodes_now = [self.nodes[each] for each in nodes]
        return (*nodes, self._in_time(nodes_now, state[-2]), self._standing(nodes_now, state[-1]))

    def _in_time(self, nodes_now: Sequence[Node], known: int) -> int:
        """Return the messages, as bits, that a connected node had before most of the base could vote against them."""
        table = self.table
        for index in self.together:
            for number in bits(nodes_now[index].known & ~table.is_vote & ~table.by_liar & ~known):
                message = table.messages[number].message
                position = table.positions[message.tip]
                if position.kind is Kind.LOCK or message.author == table.honest[index]:
                    continue
                against = 0
                for player in position.base:
                    where = table.honest.index(player) if player in table.honest else -1
                    if where not in self.together:
                        against += player != message.author
                        continue
                    votes = (table.votes[each] for each in nodes_now[where].said)
                    against += any(
                        vote and not vote.is_close and vote.value is not None and vote.value.tip == message.tip
                        for vote in votes
                    )
                if 2 * against <= len(position.base):
                    known |= 1 << number
        return known

    def _standing(self, nodes_now: Sequence[Node], known: int) -> int:
        """Return the tips that must stand, as bits: all connected nodes have the liar's message before the tip, one of
        them has signed after it, and none has signed on another branch."""
        table = self.table
        here = [nodes_now[index] for index in self.together]
        signed = [self._signed_after(node) for node in here]
        for tip in {tip for node in here for tip in self._signed(node)}:
            while tip:
                before = table.positions[tip.rpartition(b"/")[0]]
                bit = self._tip_bits.setdefault(tip, 1 << len(self._tip_bits))
                if table.liar in before.owed and before.kind is not Kind.LOCK and not known & bit:
                    what = tip[-len(before.owed) :][before.owed.index(table.liar) :][:1].decode()
                    number = table.numbers.get(f"{table.liar}{what}@{before.tip.decode()}".encode())
                    is_held = number is not None and all(node.known >> number & 1 for node in here)
                    if is_held and all(leads_to(tip, each) or leads_to(each, tip) for tips in signed for each in tips):
                        known |= bit
                tip = before.tip
        return known

    def _signed(self, node: Node) -> set[bytes]:
        """Return the tips after which a node has signed. A vote counts as signed after the steps before its value."""
        votes = (self.table.votes[number] for number in node.said)
        named = {vote.value.tip for vote in votes if vote is not None and vote.value is not None}
        return named.union(self.table.messages[number].message.tip for number in node.said)

    def _signed_after(self, node: Node) -> set[bytes]:
        """Return the tips that a node supports: those at which it has signed, and those to which its votes lead."""
        table, found = self.table, set()
        for number in node.said:
            vote = table.votes[number]
            if vote is None:
                found.add(table.messages[number].message.tip)
            elif vote.value is not None:
                position = table.positions[vote.value.tip]
                entries = vote.value.entries
                by_id = (
                    {each: table.messages[table.numbers[each]] for each in entries if each}
                    if isinstance(entries, tuple)
                    else {}
                )
                found.add(table.tip_after(position, {signed.message.author: signed for signed in by_id.values()}))
        return found

    # Claims

    def violated(self, claim: str, state: State) -> str:
        """Return how a state violates a claim; empty if it does not.

        agree     The roots of all nodes are on one history.
        live      Take any group of honest players that is a majority of every base and at least half of the players
                  in the game. If they receive messages only from each other from now on, they reach the end of the
                  script, or stop being a quorum.
        in time   A player is not put out if a connected player had their message while at most half of the base could
                  have voted against it.
        stands    A step that all connected players have is not undone once one of them has signed after it, if none
                  of them has signed anything on another branch.
        """
        table = self.table
        if claim == "live":
            stuck = (group for group in groups(table) if self.settle(state, group) < 0)
            return next((f"stuck: {[table.honest[index] for index in group]}" for group in stuck), "")
        roots = {self.nodes[number].root for number in state[:-2]}
        if claim == "agree":
            pairs = (pair for pair in itertools.combinations(sorted(roots), 2) if not leads_to(*pair))
            return next((f"two histories: {one!r} and {other!r}" for one, other in pairs), "")
        if claim == "stands":
            tips = (tip for tip, bit in self._tip_bits.items() if state[-1] & bit)
            undone = (
                (tip, root) for tip in tips for root in roots if not leads_to(tip, root) and not leads_to(root, tip)
            )
            return next((f"undone although it was signed after: {tip!r}, now {root!r}" for tip, root in undone), "")
        connected = {table.honest[index] for index in self.together}
        for root in roots:
            tip = root
            while tip:
                before = table.positions[tip.rpartition(b"/")[0]]
                if before.kind is not Kind.LOCK:
                    for author, entry in zip(before.owed, tip[-len(before.owed) :].decode(), strict=True):
                        number = table.numbers.get(f"{author}o@{before.tip.decode()}".encode(), -1)
                        if entry == "-" and author in connected and number >= 0 and state[-2] >> number & 1:
                            return f"{author} was put out although in time: {root!r}"
                tip = before.tip
        return ""

    def settle(self, state: State, group: tuple[int, ...], chance: random.Random | None = None, lies: int = 0) -> int:
        """Let a group of nodes hear only each other until they reach the end.

        Return how often all their timers must fire for that; -1 if the group is stuck.

        :param lies: how many more messages the liar sends meanwhile, each to one node of the group.
        """
        key = tuple(state[index] for index in group), group
        known = self._settled.get(key)
        if known is not None and not lies:
            return known
        nodes, found = self._exchange(list(state[:-2]), group), -1
        for sweep in range(SWEEPS + 3 * lies):
            if is_settled(self.table, [self.nodes[nodes[index]] for index in group]):
                found = sweep
                break
            if chance is not None and lies:
                lies -= 1
                self._lie(nodes, group, chance)
            votes = [index for index in group if self.nodes[nodes[index]].can_vote]
            for index in votes or [index for index in group if self.nodes[nodes[index]].can_nil]:
                nodes[index] = self.move(nodes[index], "vote" if votes else "nil")
            nodes = self._exchange(nodes, group)

        self.sweeps = max(self.sweeps, found)
        if chance is None:
            self._settled[key] = found
        return found

    def _order(self, event: tuple[int, Event]) -> tuple[int, str]:
        """Return a sort key that does not depend on numbers of messages, which differ between explorers."""
        index, what = event
        return index, what if isinstance(what, str) else self.table.messages[what].id.decode()

    def _lie(self, nodes: list[int], group: Sequence[int], chance: random.Random) -> None:
        offers = 0
        for index in group:
            offers |= self.nodes[nodes[index]].offers
        if offers:
            number = chance.choice(sorted(bits(offers), key=lambda number: self.table.messages[number].id))
            hearers = [index for index in group if not self.nodes[nodes[index]].is_out]
            if hearers:
                index = chance.choice(hearers)
                nodes[index] = self.move(nodes[index], number)

    def _exchange(self, nodes: list[int], group: Sequence[int]) -> list[int]:
        """Return the nodes after a group of them have received all messages of each other, and sent all due CLOSEs."""
        while True:
            before, together = nodes.copy(), 0
            for index in group:
                together |= self.nodes[nodes[index]].known
            for index in group:
                for number in bits(together & ~self.nodes[nodes[index]].known):
                    node = self.nodes[nodes[index]]
                    if not node.is_out and self._matters(node.root)(number):
                        nodes[index] = self.move(nodes[index], number)
            if nodes == before:
                for index, other in itertools.permutations(group, 2):
                    if not self.nodes[nodes[index]].is_out:
                        nodes[index] = self.move(nodes[index], f"shown {nodes[other]}")
            if nodes == before:
                for index in group:
                    if self.nodes[nodes[index]].grounds is not None:
                        nodes[index] = self.move(nodes[index], "close")
            if nodes == before:
                return nodes

    # Exploration

    def explore(self, claims: Collection[str], limit: int = 10**9) -> tuple[int, int]:
        """Visit every state. Return the numbers of states and transitions.

        :param claims: the names of claims, see :meth:`violated`.
        :param limit: stop after this many states.
        :raises ViolationError: if a claim does not hold.
        """
        parents: dict[State, tuple[State, int, Event] | None] = {self.start: None}
        queue, transitions = [self.start], 0
        for state in queue:
            try:
                for claim in claims:
                    if problem := self.violated(claim, state):
                        raise ViolationError(claim, problem)
                for index, event in self.events(state):
                    after = self.move(state[index], event)
                    if after == state[index]:
                        continue
                    transitions += 1
                    following = self.after(state, index, after)
                    if following not in parents:
                        parents[following] = (state, index, event)
                        queue.append(following)
            except ViolationError as error:
                raise ViolationError(error.claim, str(error), self._trace(parents, state)) from error
            if len(queue) > limit:
                break
        return len(parents), transitions

    def _trace(self, parents: Mapping[State, tuple[State, int, Event] | None], state: State) -> list[str]:
        steps = []
        while (parent := parents[state]) is not None:
            before, index, event = parent
            steps.append(self._tell(before[index], state[index], event))
            state = before
        return steps[::-1]

    def _tell(self, before: int, after: int, event: Event) -> str:
        table, node = self.table, self.nodes[after]
        said = [table.messages[number].id.decode() for number in node.said[len(self.nodes[before].said) :]]
        got = table.messages[event].id.decode() if isinstance(event, int) else event
        place = f"root {node.root.decode()!r}, open {node.open.decode()!r}, c {node.round}"
        return f"{node.me} <- {got}; says {said}; {place}"

    def walk(self, chance: random.Random, length: int, claims: Collection[str], lies: int = 0) -> None:
        """Take a random walk through the world. Check every state, and at the end that nothing is stuck.

        The probability of timers, the slow links, and the messages that the liar withholds are drawn for each walk,
        because a wrong rule rarely breaks if all events are equally likely.

        :param lies: how many more messages the liar sends at the end, while the other players continue.
        :raises ViolationError: if a claim does not hold.
        """
        table, state, told = self.table, self.start, []
        nodes = range(len(table.honest))
        timers_first, slowness = chance.choice((0.02, 0.1, 0.3, 0.6)), chance.choice((0.0, 0.2, 0.5))
        withholding = chance.choice((0.3, 0.6, 0.9))
        slow = {(index, author) for index in nodes for author in table.everyone if chance.random() < slowness}
        if not self.together and chance.random() < 0.5:
            camps = {player: chance.random() < 0.5 for player in table.everyone}
            slow = {(i, other) for i in nodes for other in table.everyone if camps[table.honest[i]] != camps[other]}
        withheld: dict[tuple[int, Event], bool] = {}
        checked = [claim for claim in claims if claim != "live"]
        try:
            for _ in range(length):
                timers: list[tuple[int, Event]] = []
                quick: list[tuple[int, Event]] = []
                late: list[tuple[int, Event]] = []
                for index, event in sorted(self.events(state), key=self._order):
                    if isinstance(event, str):
                        if event != "crash" or chance.random() < 0.12:
                            timers.append((index, event))
                        continue
                    author = table.messages[event].message.author
                    if author == table.liar and withheld.setdefault((index, event), chance.random() < withholding):
                        continue
                    (late if (index, author) in slow else quick).append((index, event))
                events = timers if timers and chance.random() < timers_first else quick
                if not events or chance.random() >= 0.95:
                    events = [*timers, *quick, *late]
                if not events:
                    break
                index, event = chance.choice(events)
                told.append((state[index], event, index))
                state = self.after(state, index, self.move(state[index], event))
                for claim in checked:
                    if problem := self.violated(claim, state):
                        raise ViolationError(claim, problem)
            if "live" in claims:
                if problem := self.violated("live", state):
                    raise ViolationError("live", problem)
                for group in groups(table) if lies else ():
                    if self.settle(state, group, chance, lies) < 0:
                        raise ViolationError("live", f"stuck while the liar sends messages: {group}")
        except ViolationError as error:
            trace = [self._tell(before, self._moves.get((before, event), before), event) for before, event, _ in told]
            raise ViolationError(error.claim, str(error), trace) from error


def groups(table: Table) -> list[tuple[int, ...]]:
    """Return every set of honest nodes that can continue by itself. Each contains all connected nodes."""
    honest = range(len(table.honest))
    found = []
    for group in itertools.chain.from_iterable(
        itertools.combinations(honest, size) for size in range(1, len(honest) + 1)
    ):
        players = {table.honest[index] for index in group}
        is_majority = all(2 * len(players.intersection(base)) > len(base) for base in table.bases)
        if (
            is_majority
            and 2 * len(players.intersection(table.live)) >= len(table.live)
            and players >= {*table.connected}
        ):
            found.append(group)
    return found
