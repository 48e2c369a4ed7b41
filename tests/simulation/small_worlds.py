"""Small worlds, all of them: the absence rule explored exhaustively on the class that runs in production."""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from protocol import absence
from protocol.absence import Absence, Ballot, ContradictionError, Entries, Place, Vote

FIRST = b"k"


class Message(NamedTuple):
    """What an author signed for a step, LOCKs included; votes are :class:`Vote`."""

    tip: bytes
    author: int
    id: bytes


class Evidence(NamedTuple):
    """Two messages by ``culprit`` of which an honest player signs only one, as shown by ``author``."""

    author: int
    culprit: int


class Violation(AssertionError):
    pass


class Table:
    """What is fixed in a world: who plays, what is owed, which messages exist."""

    def __init__(self, players=3, owed=None, liar=None, rounds=2, rule=Absence, witness=None, liar_locks=1):
        everyone = tuple(range(players))
        self.players = everyone
        self.liar = liar
        self.rounds = rounds
        self.rule = rule
        self.owed = everyone if owed is None else owed
        self.honest = tuple(p for p in everyone if p != liar)
        self.places = {FIRST: Place(0, FIRST, self.owed, everyone, everyone)}
        self.before = {}
        self.messages = []
        self.index = {}
        self.liar_mask = 0
        self.by = [0] * players
        self.plain = 0  # messages that are no votes
        self.twin = {}
        self.liar_locks = liar_locks
        self.liar_start = 0
        if liar is not None and liar in self.owed:
            for each in (b"x", b"y"):
                self.liar_start |= 1 << self.number(Message(FIRST, liar, each))

    def number(self, message):
        found = self.index.get(message)
        if found is None:
            found = self.index[message] = len(self.messages)
            self.messages.append(message)
            self.by[message.author] |= 1 << found
            if not isinstance(message, Vote):
                self.plain |= 1 << found
            if message.author == self.liar:
                self.liar_mask |= 1 << found
            elif self.liar is not None:
                twins = 0
                if isinstance(message, Vote):
                    twins |= 1 << self.number(message._replace(author=self.liar))
                elif isinstance(message, Message) and message.tip != FIRST and self.liar in self.place(message.tip).owed:
                    for suffix in (b"l", b"m")[: self.liar_locks]:
                        twins |= 1 << self.number(Message(message.tip, self.liar, suffix))
                self.twin[found] = twins
        return found

    def after(self, entries):
        tip = FIRST + b"|" + b",".join(entry or b"-" for entry in entries)
        if tip not in self.places:
            first = self.places[FIRST]
            gone = {a for a, e in zip(first.owed, entries, strict=True) if not e}
            staying = tuple(a for a in first.staying if a not in gone)
            self.places[tip] = Place(1, tip, staying, first.base, staying)
            self.before[tip] = entries
        return tip

    def place(self, tip):
        return self.places[tip]


class Node:
    """One honest player."""

    __slots__ = ("absence", "chain", "culprits_", "final", "fork", "held_", "known", "me", "proofs", "said", "table")

    def __init__(self, table, me):
        self.table = table
        self.me = me
        self.absence = table.rule(me)
        self.chain = [None, None]
        self.final = None
        self.fork = False
        self.held_ = {}
        self.culprits_ = frozenset()
        self.proofs = frozenset()
        self.known = 0
        self.said = ()

    def copy(self):
        twin = Node.__new__(Node)
        twin.table = self.table
        twin.me = self.me
        twin.absence = self.absence.copy()
        twin.chain = self.chain.copy()
        twin.final = self.final
        twin.fork = self.fork
        twin.held_ = self.held_.copy()
        twin.culprits_ = self.culprits_
        twin.proofs = self.proofs
        twin.known = self.known
        twin.said = self.said
        return twin

    def key(self):
        return (
            self.me,
            self.known,
            *self.chain,
            self.final,
            self.fork,
            self.culprits_,
            self.said,
            tuple(sorted(self.held_.items())),
            tuple((tip, ballot.key()) for tip, ballot in sorted(self.absence.ballots.items())),
        )

    # History
    def tail(self):
        if self.final is not None:
            return (self.table.places[self.final],)
        if self.chain[0] is None:
            return (self.table.places[FIRST],)
        return (self.table.places[FIRST], self.table.places[self.table.after(self.chain[0])])

    def closed(self, step):
        return self.chain[step]

    def held(self, step):
        tip = FIRST if step == 0 else (self.final or self.table.after(self.chain[0]))
        return {author: ids[0] for (t, author), ids in self.held_.items() if t == tip}

    def culprits(self):
        return self.culprits_

    # Behaviour
    def learn(self, number):
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
                if message.author not in self.culprits_:
                    self.blame(message.author)
                    self.say(Evidence(self.me, message.author))
        elif isinstance(message, Evidence):
            self.blame(message.culprit)
        else:
            slot = (message.tip, message.author)
            ids = self.held_.get(slot, ())
            if len(ids) < 2:
                self.held_[slot] = (*ids, message.id)
            if ids:
                self.blame(message.author)
                self.proofs |= {message.tip}

    def blame(self, author):
        self.culprits_ |= {author}

    def say(self, message):
        number = self.table.number(message)
        self.said += (number,)
        self.learn(number)

    def react(self, expired=frozenset(), joining=frozenset()):
        table = self.table
        while True:
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
                and (opened.tip, self.me) not in self.held_
                and not self.absence.is_reopened(self)
            ):
                self.say(Message(opened.tip, self.me, b"%d" % self.me))
                continue
            expired = set(expired)
            for place in tail:
                if not self.absence.has_voted(place.tip) and (
                    place.tip in self.proofs or (place is opened and self.culprits_ & set(place.owed))
                ):
                    expired.add(place.tip)
            settling = {place.tip for place in tail} - set(joining)
            votes = self.absence.due(self, expired, settling)
            expired = joining = ()
            if not votes:
                return
            for vote in votes:
                self.say(vote)

    def close(self, place):
        if self.chain[place.step] is not None or self.absence.has_voted(place.tip):
            return False
        if any((place.tip, a) not in self.held_ or a in self.culprits_ for a in place.owed):
            return False
        self.chain[place.step] = tuple(self.held_[place.tip, a][0] for a in place.owed)
        return True

    def adopt(self):
        tips = {tip for tip, _ in self.held_} | set(self.absence.ballots)
        for tip in sorted(tips):
            if tip == FIRST or tip == self.final:
                continue
            ballot = self.absence.ballots.get(tip)
            if (ballot is not None and ballot.decided) or all(
                (tip, a) in self.held_ for a in self.table.places[tip].owed
            ):
                if self.final is not None:
                    self.fork = True
                    continue
                self.final = tip
                self.absence.forget({tip})
                if self.chain[0] != self.table.before[tip]:
                    self.chain = [self.table.before[tip], None]

        leader = self.absence.leader()
        if self.final is None and leader is not None and leader.step == 1:
            if self.chain[0] != self.table.before[leader.tip]:
                self.chain = [self.table.before[leader.tip], None]

    def clocks(self):
        """Tips whose timer runs here."""
        place = self.absence._contested(self, ())
        if place is not None:
            ballot = self.absence.ballots.get(place.tip)
            if self.chain[place.step] is None or self.absence.round >= 0:
                yield place.tip, self.absence.round


class Explorer:
    def __init__(self, table, connected=None, budget=99, fifo=True):
        self.fifo = fifo
        self.table = table
        self.nodes = []
        self.ids = {}
        self.memo = {}
        self.fair_memo = {}
        self.facts = []
        self.connected = connected  # prompt among these
        self.budget = budget
        self.transitions = 0
        start = []
        for me in table.honest:
            node = Node(table, me)
            if me in table.owed:
                node.say(Message(FIRST, me, b"%d" % me))
            node.react()
            start.append(self.intern(node))
        self.start = tuple(start)

    def intern(self, node):
        key = node.key()
        found = self.ids.get(key)
        if found is None:
            found = self.ids[key] = len(self.nodes)
            self.nodes.append(node)
            t = self.table
            events = []
            for tip, number in node.clocks():
                if number + 1 < t.rounds:
                    events.append(("expire", tip))
                ballot = node.absence.ballots.get(tip)
                if ballot is not None and number >= 0 and node.absence._target(node.me, number, ballot.majority)[0] > number:
                    events.append(("join", tip))
            offers = 0
            own = node.known & t.by[node.me]
            if t.liar is not None:
                m = own
                while m:
                    low = m & -m
                    offers |= t.twin[low.bit_length() - 1]
                    m ^= low
            self.facts.append((node.known, own, offers, tuple(events), node.final, node.said))
            if blamed := node.culprits_ - {t.liar}:
                raise Violation(f"honest {blamed} blamed by {node.me}")
        return found

    def local(self, me, event):
        key = (me, event)
        found = self.memo.get(key)
        if found is None:
            node = self.nodes[me].copy()
            if isinstance(event, int):
                node.learn(event)
                node.react()
            elif event[0] == "expire":
                node.react(expired={event[1]})
            else:
                node.react(joining={event[1]})
            found = self.memo[key] = self.intern(node)
        return found

    def successors(self, state):
        t = self.table
        facts = self.facts
        sent = t.liar_start
        known = 0
        for n in state:
            f = facts[n]
            sent |= f[1] | f[2]
            known |= f[0]
        if (known & t.liar_mask).bit_count() >= self.budget:
            sent &= known | ~t.liar_mask
        for i, n in enumerate(state):
            f = facts[n]
            pending = sent & ~f[0]
            if self.fifo:
                pending &= t.liar_mask
                for other in state:
                    if other != n:
                        for number in facts[other][5]:
                            if not f[0] >> number & 1:
                                pending |= 1 << number
                                break
            while pending:
                low = pending & -pending
                pending ^= low
                event = low.bit_length() - 1
                m = self.memo.get((n, event))
                if m is None:
                    m = self.local(n, event)
                if m != n:
                    yield (i, event), state[:i] + (m,) + state[i + 1 :]
            if f[3] and not (self.connected and t.honest[i] in self.connected and self.lacks(state, f[0])):
                for event in f[3]:
                    m = self.local(n, event)
                    if m != n:
                        yield (i, event), state[:i] + (m,) + state[i + 1 :]

    def lacks(self, state, known):
        there = 0
        for i, n in enumerate(state):
            if self.table.honest[i] in self.connected:
                there |= self.facts[n][0]
        return there & ~known & self.prompt_mask()

    def prompt_mask(self):
        return self.table.plain

    def explore(self, check, limit=10**9):
        parent = {self.start: None}
        queue = [self.start]
        transitions = 0
        for state in queue:
            problem = check(self, state)
            if problem:
                raise Violation(problem, self.trace(parent, state), state)
            for event, following in self.successors(state):
                transitions += 1
                if following not in parent:
                    parent[following] = (state, event)
                    queue.append(following)
            if len(queue) > limit:
                break
        return len(parent), transitions

    def trace(self, parent, state):
        steps = []
        while parent[state] is not None:
            before, (i, event) = parent[state]
            what = self.table.messages[event] if isinstance(event, int) else event
            steps.append((self.table.honest[i], what, self.describe(before[i], state[i])))
            state = before
        return steps[::-1]

    def describe(self, a, b):
        x, y = self.nodes[a], self.nodes[b]
        new = (y.known & ~x.known) & self.table.by[y.me]
        said = [self.table.messages[n] for n in range(len(self.table.messages)) if new >> n & 1]
        return f"chain {y.chain} final {y.final} culprits {set(y.culprits_)} says {said}"

    # liveness
    def exchange(self, state, group):
        state = list(state)
        while True:
            there = 0
            for i in group:
                there |= self.facts[state[i]][0]
            moved = False
            for i in group:
                pending = there & ~self.facts[state[i]][0]
                while pending:
                    low = pending & -pending
                    pending ^= low
                    state[i] = self.local(state[i], low.bit_length() - 1)
                    moved = True
            if not moved:
                return tuple(state)

    def fair(self, state, group, rounds=8):
        """Return how a group ends that hears each other from now on."""
        key = (tuple(state[i] for i in group), group)
        if key in self.fair_memo:
            return self.fair_memo[key]
        now = self.exchange(state, group)
        key2 = (tuple(now[i] for i in group), group)
        end = self.fair_memo.get(key2)
        if end is None:
            end = self.ending(now, group)
            for _ in range(rounds):
                if end:
                    break
                # All expire together, then hear each other.
                lst = list(now)
                for i in group:
                    for tip, _ in list(self.nodes[lst[i]].clocks()):
                        lst[i] = self.local(lst[i], ("expire", tip))
                now = self.exchange(lst, group)
                end = self.ending(now, group)
        self.fair_memo[key] = self.fair_memo[key2] = end
        return end

    def ending(self, state, group):
        nodes = [self.nodes[state[i]] for i in group]
        if any(n.fork for n in nodes):
            return "forked"
        if len({(n.final, n.chain[0]) for n in nodes}) != 1:
            return ""
        place = nodes[0].tail()[-1]
        mine = {n.me for n in nodes}
        if nodes[0].final is not None and nodes[0].chain[1] is not None and len({n.chain[1] for n in nodes}) == 1:
            return "completed"
        if len(mine & set(place.staying)) <= len(place.base) // 2:
            return "suspended"
        return ""


def safe(ex, state):
    finals = {ex.facts[n][4] for n in state} - {None}
    if len(finals) > 1:
        return f"fork {finals}"
    for n in state:
        if ex.nodes[n].fork:
            return "a node saw a fork"
    return None


def groups(table):
    n = len(table.honest)
    majority = len(table.players) // 2 + 1
    return [g for size in range(majority, n + 1) for g in itertools.combinations(range(n), size)]


def live(ex, state):
    for group in groups(ex.table):
        if not ex.fair(state, group):
            return f"stuck {group}"
    return None


def both(ex, state):
    return safe(ex, state) or live(ex, state)
