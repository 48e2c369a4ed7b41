"""Small worlds, all of them: the absence rule explored exhaustively, on the class that runs in production.

A world is one step ``k`` and its LOCK ``k+1`` at a small table. Its state is what every honest node knows and has done;
messages in flight follow from that, because whatever was signed may be delivered to anyone who lacks it, at any time or
never, and any timer may end at any time. A liar has no state: everything they may sign is there for everyone.

What keeps the worlds small, and why nothing is lost by it:

- A node is deterministic and hears of others by messages only. So what an event makes of one state of one node is
  computed once, by the real :class:`protocol.absence.Absence`, and looked up in every world where it happens again.
- A liar's vote matters by agreeing with an honest one (no majority is without), by drawing others into a round and by
  contradicting each other. So the liar may repeat every honest vote and LOCK, to anybody, and sign two messages for the
  step; votes that nobody honest ever casts are left to the unit tests.
- Each author's messages arrive in order, as on the links (``in_order=False`` drops that).

``python -m tests.simulation.small_worlds --help`` explores others than the tests do.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from protocol.absence import Absence, ContradictionError, Entries, Place, Vote

FIRST = b"k"
"""The tip of the first step."""


class Message(NamedTuple):
    """What an author signed for a step: its message, or its LOCK."""

    tip: bytes
    author: int
    id: bytes


class Evidence(NamedTuple):
    """Two messages by ``culprit`` of which an honest player signs only one, as shown by ``author``."""

    author: int
    culprit: int


Event = int | tuple[str, bytes]
"""The number of a message that arrives, or a timer that ends: ("expire" | "join", tip)."""
State = tuple[int, ...]
"""The number of the state of each honest node."""


class ViolationError(AssertionError):
    """A claim does not hold; ``trace`` is how the world came there."""

    def __init__(self, claim: str, trace: Sequence[object] = ()) -> None:
        super().__init__("\n".join([claim, *map(str, trace)]))
        self.claim = claim


class Table:
    """What is fixed in a world, and all messages that were ever signed in any of its states.

    :param owed: who owes a message in the first step; everybody if not given.
    :param liar: who signs what they like; None for nobody.
    :param rounds: how many rounds of votes honest players begin by themselves.
    :param rule: the class to explore.
    :param is_base_fixed: False for the mistake of counting majorities of those who are left.
    """

    def __init__(
        self,
        players: int = 3,
        *,
        owed: Iterable[int] | None = None,
        liar: int | None = None,
        rounds: int = 2,
        rule: type[Absence] = Absence,
        is_base_fixed: bool = True,
    ) -> None:
        everyone = tuple(range(players))
        self.liar, self.rounds, self.rule, self.is_base_fixed = liar, rounds, rule, is_base_fixed
        self.owed = everyone if owed is None else tuple(owed)
        self.honest = tuple(player for player in everyone if player != liar)
        self.places = {FIRST: Place(0, FIRST, self.owed, everyone, everyone)}
        self.before: dict[bytes, Entries] = {}
        """By the tip of a LOCK: what the first step was closed with."""
        self.messages: list[Message | Vote | Evidence] = []
        self.index: dict[Message | Vote | Evidence, int] = {}
        self.by = [0] * players
        """Sets of messages, as bits: by author."""
        self.up_to_round: list[int] = [0] * 64
        """What a node in this round has heard of everyone it is connected with: votes up to it, and all else."""
        self.offers: dict[int, int] = {}
        """What the liar may sign once an honest player has signed this."""
        self.liar_start = 0
        if liar in self.owed:
            assert liar is not None
            for each in (b"x", b"y"):
                self.liar_start |= 1 << self.number(Message(FIRST, liar, each))

    def number(self, message: Message | Vote | Evidence) -> int:
        """Return the number of a message, a new one for a new message."""
        found = self.index.get(message)
        if found is not None:
            return found
        found = self.index[message] = len(self.messages)
        self.messages.append(message)
        self.by[message.author] |= 1 << found
        first = message.round if isinstance(message, Vote) else 0
        for each in range(first, len(self.up_to_round)):
            self.up_to_round[each] |= 1 << found
        if message.author != self.liar and self.liar is not None:
            offers = 0
            if isinstance(message, Vote):
                offers = 1 << self.number(message._replace(author=self.liar))
            elif isinstance(message, Message) and self.liar in self.places[message.tip].owed and message.tip != FIRST:
                offers = 1 << self.number(Message(message.tip, self.liar, b"l"))
            self.offers[found] = offers
        return found

    def after(self, entries: Entries) -> bytes:
        """Return the tip of the LOCK that follows these entries."""
        tip = FIRST + b"|" + b",".join(entry or b"-" for entry in entries)
        if tip not in self.places:
            first = self.places[FIRST]
            gone = {author for author, entry in zip(first.owed, entries, strict=True) if not entry}
            staying = tuple(author for author in first.staying if author not in gone)
            self.places[tip] = Place(1, tip, staying, first.base if self.is_base_fixed else staying, staying)
            self.before[tip] = entries
        return tip


class Node:
    """One honest player: the caller of the rule, as small as can be."""

    __slots__ = (
        "absence",
        "blamed",
        "chain",
        "final",
        "has_seen_fork",
        "known",
        "me",
        "messages",
        "proofs",
        "said",
        "table",
    )

    def __init__(self, table: Table, me: int) -> None:
        self.table, self.me = table, me
        self.absence = table.rule(me)
        self.chain: list[Entries | None] = [None, None]
        """What the two steps were closed with."""
        self.final: bytes | None = None
        """The tip of the LOCK that is known to be complete."""
        self.has_seen_fork = False
        self.messages: dict[tuple[bytes, int], tuple[bytes, ...]] = {}
        """By slot (tip, author): one id, or two of an equivocator."""
        self.blamed: frozenset[int] = frozenset()
        self.proofs: frozenset[bytes] = frozenset()
        """The tips of steps for which somebody signed two messages."""
        self.known = 0
        self.said: tuple[int, ...] = ()

    def copy(self) -> Node:
        twin = Node.__new__(Node)
        twin.table = self.table
        twin.me = self.me
        twin.absence = self.absence.copy()
        twin.chain = self.chain.copy()
        twin.final = self.final
        twin.has_seen_fork = self.has_seen_fork
        twin.messages = self.messages.copy()
        twin.blamed = self.blamed
        twin.proofs = self.proofs
        twin.known = self.known
        twin.said = self.said
        return twin

    def key(self) -> object:
        return (
            self.me,
            self.known,
            *self.chain,
            self.final,
            self.has_seen_fork,
            self.blamed,
            self.said,
            tuple(sorted(self.messages.items())),
            tuple((tip, ballot.key()) for tip, ballot in sorted(self.absence.ballots.items())),
        )

    def tail(self) -> Sequence[Place]:
        if self.final is not None:
            return (self.table.places[self.final],)
        if self.chain[0] is None:
            return (self.table.places[FIRST],)
        return (self.table.places[FIRST], self.table.places[self.table.after(self.chain[0])])

    def closed(self, step: int) -> Entries | None:
        return self.chain[step]

    def held(self, step: int) -> Mapping[int, bytes]:
        tip = FIRST if step == 0 else (self.final or self.table.after(self.chain[0]))
        return {author: ids[0] for (t, author), ids in self.messages.items() if t == tip}

    def culprits(self) -> Collection[int]:
        return self.blamed

    def learn(self, number: int) -> None:
        """Take note of a message."""
        if self.known >> number & 1:
            return
        self.known |= 1 << number
        message = self.table.messages[number]
        if isinstance(message, Vote):
            if self.final is not None and message.tip == FIRST:
                return
            try:
                self.absence.take(message, self.table.places[message.tip])
            except ContradictionError:
                if message.author not in self.blamed:
                    self.blame(message.author)
                    self.say(Evidence(self.me, message.author))
        elif isinstance(message, Evidence):
            self.blame(message.culprit)
        else:
            slot = (message.tip, message.author)
            ids = self.messages.get(slot, ())
            if len(ids) < 2:
                self.messages[slot] = (*ids, message.id)
            if ids:
                self.blame(message.author)
                self.proofs |= {message.tip}

    def blame(self, author: int) -> None:
        self.blamed |= {author}

    def say(self, message: Message | Vote | Evidence) -> None:
        """Sign a message."""
        number = self.table.number(message)
        self.said += (number,)
        self.learn(number)

    def react(self, expired: Collection[bytes] = (), joining: Collection[bytes] = ()) -> None:
        """Do all that is due."""
        for _ in range(100):
            self.adopt()
            if (found := self.absence.decision(self)) is not None:
                place, votes = found
                self.chain[place.step] = votes[0].entries
                if place.step == 0:
                    self.chain[1] = None
                continue
            tail = self.tail()
            if self.close(tail[-1]):
                continue
            opened = tail[-1] if self.chain[tail[-1].step] is None else None
            if (
                opened is not None
                and opened.step == 1
                and self.me in opened.owed
                and (opened.tip, self.me) not in self.messages
                and not self.absence.is_reopened(self)
            ):
                self.say(Message(opened.tip, self.me, b"%d" % self.me))
                continue
            expired = set(expired)
            for place in tail:
                if self._is_new(place) and (
                    place.tip in self.proofs or (place is opened and self.blamed & set(place.owed))
                ):
                    expired.add(place.tip)
            settling = {place.tip for place in tail} - set(joining)
            votes = self.absence.due(self, expired, settling)
            expired = joining = ()
            if not votes:
                return
            for vote in votes:
                self.say(vote)
        raise ViolationError("a node changes its mind without end")

    def _is_new(self, place: Place) -> bool:
        ballot = self.absence.ballots.get(place.tip)
        return ballot is None or ballot.round < 0

    def close(self, place: Place) -> bool:
        """Close the open step without votes, if that may be."""
        if self.chain[place.step] is not None or self.absence.has_voted(place.tip):
            return False
        if any((place.tip, a) not in self.messages or a in self.blamed for a in place.owed):
            return False
        self.chain[place.step] = tuple(self.messages[place.tip, a][0] for a in place.owed)
        return True

    def adopt(self) -> None:
        """Go over to the history behind a completed LOCK, or behind the latest majority."""
        tips = {tip for tip, _ in self.messages} | set(self.absence.ballots)
        for tip in sorted(tips):
            if tip == FIRST or tip == self.final:
                continue
            ballot = self.absence.ballots.get(tip)
            if (ballot is not None and ballot.decided) or all(
                (tip, a) in self.messages for a in self.table.places[tip].owed
            ):
                if self.final is not None:
                    self.has_seen_fork = True
                    continue
                self.final = tip
                self.absence.forget({tip})
                if self.chain[0] != self.table.before[tip]:
                    self.chain = [self.table.before[tip], None]

        leader = self.absence.leader()
        if self.final is None and leader is not None and leader.step == 1:
            before = self.table.before[leader.tip]
            if self.chain[0] != before:
                self.chain = [before, None]

    def clocks(self) -> Iterator[tuple[bytes, int]]:
        """Yield the step whose timer runs here, and the round."""
        place = self.absence.contested(self)
        if place is not None and (self.chain[place.step] is None or self.absence.round >= 0):
            yield place.tip, self.absence.round


class Facts(NamedTuple):
    """What the explorer must know of one state of one node."""

    known: int
    offers: int
    """What the liar may sign since this node signed what it did."""
    timers: tuple[tuple[str, bytes], ...]
    final: bytes | None
    said: tuple[int, ...]
    round: int


class Explorer:
    """All states of a world.

    :param connected: players whose messages to each other arrive before a round ends at any of them.
    :param lies: how many messages the liar signs at most.
    """

    def __init__(
        self, table: Table, connected: Collection[int] = (), lies: int = 1000, *, in_order: bool = True
    ) -> None:
        self.table, self.connected, self.lies, self.in_order = table, connected, lies, in_order
        self.nodes: list[Node] = []
        self.facts: list[Facts] = []
        self._numbers: dict[object, int] = {}
        self._moves: dict[tuple[int, Event], int] = {}
        self._endings: dict[tuple[State, tuple[int, ...]], str] = {}
        start = []
        for me in table.honest:
            node = Node(table, me)
            if me in table.owed:
                node.say(Message(FIRST, me, b"%d" % me))
            node.react()
            start.append(self._intern(node))
        self.start: State = tuple(start)

    def _intern(self, node: Node) -> int:
        key = node.key()
        found = self._numbers.get(key)
        if found is not None:
            return found
        if wronged := node.blamed - {self.table.liar}:
            raise ViolationError(f"honest players are blamed: {sorted(wronged)}")
        found = self._numbers[key] = len(self.nodes)
        self.nodes.append(node)
        timers: list[tuple[str, bytes]] = []
        for tip, number in node.clocks():
            if number + 1 < self.table.rounds:
                timers.append(("expire", tip))
            ballot = node.absence.ballots.get(tip)
            if ballot is not None and 0 <= number < node.absence.target(node.me, number, ballot.majority)[0]:
                timers.append(("join", tip))
        offers = 0
        for number in node.said:
            offers |= self.table.offers.get(number, 0)
        self.facts.append(Facts(node.known, offers, tuple(timers), node.final, node.said, node.absence.round))
        return found

    def move(self, number: int, event: Event) -> int:
        """Return what an event makes of a state of a node."""
        found = self._moves.get((number, event))
        if found is None:
            node = self.nodes[number].copy()
            if isinstance(event, int):
                node.learn(event)
                node.react()
            elif event[0] == "expire":
                node.react(expired=(event[1],))
            else:
                node.react(joining=(event[1],))
            found = self._moves[number, event] = self._intern(node)
        return found

    def events(self, state: State) -> Iterator[tuple[int, Event]]:
        """Yield what may happen next, and to which of the honest nodes."""
        table, facts = self.table, self.facts
        lies = table.liar_start
        known = together = 0
        for index, number in enumerate(state):
            lies |= facts[number].offers
            known |= facts[number].known
            if table.honest[index] in self.connected:
                together |= facts[number].known
        if table.liar is not None and (known & table.by[table.liar]).bit_count() >= self.lies:
            lies &= known
        for index, number in enumerate(state):
            own = facts[number]
            pending = lies & ~own.known
            for other in state:
                for each in facts[other].said:
                    if not own.known >> each & 1:
                        pending |= 1 << each
                        if self.in_order:
                            break
            while pending:
                low = pending & -pending
                pending ^= low
                yield index, low.bit_length() - 1
            if own.timers:
                is_connected = table.honest[index] in self.connected
                if not (is_connected and together & ~own.known & table.up_to_round[max(own.round, 0)]):
                    for timer in own.timers:
                        yield index, timer

    def explore(self, claims: Collection[str], limit: int = 10**9) -> tuple[int, int]:
        """Visit every state; return how many there are, and how many transitions.

        :param claims: "one history", "nothing stuck", or "forks are proven".
        :raises ViolationError: if a claim does not hold.
        """
        parents: dict[State, tuple[State, int, Event] | None] = {self.start: None}
        queue = [self.start]
        transitions = 0
        for state in queue:
            for claim in claims:
                if problem := self.violates(claim, state):
                    raise ViolationError(problem, self._trace(parents, state))
            for index, event in self.events(state):
                before = state[index]
                after = self._moves.get((before, event))
                if after is None:
                    after = self.move(before, event)
                if after != before:
                    transitions += 1
                    following = (*state[:index], after, *state[index + 1 :])
                    if following not in parents:
                        parents[following] = (state, index, event)
                        queue.append(following)
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
        node = self.nodes[after]
        what = self.table.messages[event] if isinstance(event, int) else event
        said = [self.table.messages[number] for number in node.said[len(self.nodes[before].said) :]]
        return f"{node.me} gets {what}; says {said}; {node.chain} {node.final} blames {set(node.blamed)}"

    def violates(self, claim: str, state: State) -> str:
        """Return in which way a state violates a claim; empty if it does not."""
        if claim == "nothing stuck":
            for group in groups(self.table):
                if not self.ending(state, group):
                    return f"stuck: {[self.table.honest[index] for index in group]}"
            return ""
        finals = {self.facts[number].final for number in state} - {None}
        if len(finals) < 2 and not any(self.nodes[number].has_seen_fork for number in state):
            return ""
        if claim == "one history":
            return f"two histories: {finals}"
        met = self._exchange(state, tuple(range(len(state))))
        if all(self.nodes[number].blamed for number in met):
            return ""
        return f"nobody is proven to have lied, and yet there are two histories: {finals}"

    # What becomes of those who hear each other

    def ending(self, state: State, group: tuple[int, ...]) -> str:
        """Return how a group of nodes ends that hears each other from now on, and nobody else; empty if it never does.

        Rounds end everywhere at once, the worst case for finding into one round.
        """
        known = self._endings.get((tuple(state[index] for index in group), group))
        if known is not None:
            return known
        now = self._exchange(state, group)
        end = self._end(now, group)
        for _ in range(10):
            if end:
                break
            nodes = list(now)
            for kind in ("expire", "join"):
                for index in group:
                    for tip, _ in tuple(self.nodes[nodes[index]].clocks()):
                        nodes[index] = self.move(nodes[index], (kind, tip))
                nodes = list(self._exchange(tuple(nodes), group))
            now = tuple(nodes)
            end = self._end(now, group)
        self._endings[tuple(state[index] for index in group), group] = end
        return end

    def _exchange(self, state: State, group: tuple[int, ...]) -> State:
        nodes = list(state)
        while True:
            together = 0
            for index in group:
                together |= self.facts[nodes[index]].known
            before = tuple(nodes)
            for index in group:
                pending = together & ~self.facts[nodes[index]].known
                while pending:
                    low = pending & -pending
                    pending ^= low
                    nodes[index] = self.move(nodes[index], low.bit_length() - 1)
            if tuple(nodes) == before:
                return before

    def _end(self, state: State, group: tuple[int, ...]) -> str:
        nodes = [self.nodes[state[index]] for index in group]
        finals = {node.final for node in nodes}
        if len(finals - {None}) > 1 or any(node.has_seen_fork for node in nodes):
            return "forked"
        if len(finals) > 1 or len({node.chain[0] for node in nodes}) > 1:
            return ""
        locks = {node.chain[1] for node in nodes}
        if finals != {None} and len(locks) == 1 and locks != {None}:
            return "completed"
        place = nodes[0].tail()[-1]
        is_majority = len({node.me for node in nodes} & {*place.staying}) > len(place.base) // 2
        return "" if is_majority else "suspended"

    # Walks, where there are too many states

    def walk(self, chance: random.Random, length: int, timers_first: float = 0.15) -> None:
        """Take one way through the world and check it.

        :raises ViolationError: if a claim does not hold on it.
        """
        state, told = self.start, []
        for _ in range(length):
            events = list(self.events(state))
            if not events:
                break
            timers = [each for each in events if not isinstance(each[1], int)]
            index, event = chance.choice(timers if timers and chance.random() < timers_first else events)
            after = self.move(state[index], event)
            told.append(self._tell(state[index], after, event))
            state = (*state[:index], after, *state[index + 1 :])
            if problem := self.violates("one history", state):
                raise ViolationError(problem, told)
        everyone = tuple(range(len(self.table.honest)))
        together = tuple(index for index in everyone if self.table.honest[index] in self.connected)
        for group in {everyone, together or everyone}:
            if self.ending(state, group) not in ("completed", "suspended"):
                raise ViolationError(f"stuck or forked: {group}", told)


def groups(table: Table) -> list[tuple[int, ...]]:
    """Return every set of honest nodes that are a majority of the table."""
    honest = range(len(table.honest))
    majority = len(table.places[FIRST].base) // 2 + 1
    return [group for size in range(majority, len(honest) + 1) for group in itertools.combinations(honest, size)]


def main() -> None:
    """Explore one world and print a row of the table in docs/reliability.md."""
    parser = argparse.ArgumentParser(description="Explore one small world of the absence rule exhaustively.")
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--turn", type=int, help="one player owes the first step instead of everybody")
    parser.add_argument("--liar", type=int)
    parser.add_argument("--lies", type=int, default=1000, help="how many messages the liar signs at most")
    parser.add_argument("--cut-off", action="store_true", help="with a liar: honest players need not hear each other")
    parser.add_argument("--any-order", action="store_true", help="messages of one author overtake each other")
    parser.add_argument("--limit", type=int, default=10**9, help="stop after so many states")
    given = parser.parse_args()
    owed = None if given.turn is None else (given.turn,)
    table = Table(given.players, owed=owed, liar=given.liar, rounds=given.rounds)
    is_connected = given.liar is not None and not given.cut_off
    explorer = Explorer(table, table.honest if is_connected else (), given.lies, in_order=not given.any_order)
    claims = ("forks are proven",) if given.cut_off else ("one history", "nothing stuck")
    start = time.process_time()
    states, transitions = explorer.explore(claims, given.limit)
    seconds = time.process_time() - start
    step = "joint" if owed is None else f"turn of {given.turn}"
    liar = "–" if given.liar is None else f"{given.liar}{', honest players cut off' if given.cut_off else ''}"
    print(f"| {given.players} | {given.rounds} | {step} | {liar} | {states:,} | {transitions:,} | {seconds:.0f} |")


if __name__ == "__main__":
    main()
