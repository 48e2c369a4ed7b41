"""Small worlds, all of them: the absence rule explored exhaustively, on the class that runs in production.

A world is a step or a few and their LOCK at a small table. Its state is what every honest node knows and has done;
messages in flight follow from that, because whatever was signed may be delivered to anyone who lacks it, at any time or
never, and any timer may end at any time. A liar has no state: everything they may sign is there for everyone.

What keeps the worlds small, and why nothing is lost by it:

- A node is deterministic and hears of others by messages only. So what an event makes of one state of one node is
  computed once, by the real :class:`protocol.consensus.absence.Absence`, and looked up in every world where it happens
  again.
- A liar's vote matters by agreeing with an honest one (no majority is without), by drawing others into a round or to a
  step, and by contradicting each other. So the liar may repeat every honest vote and LOCK, to anybody, and sign two
  messages for a step; one who ``is_denying`` votes against each step as it was closed, too. Other votes that nobody
  honest ever casts are left to the unit tests.
- Each author's messages arrive in order, as on the links (``in_order=False`` drops that).

A CLOSE is an event of its own. At a connected node it waits until every connected node has seen the votes that it rests
on, and what they prove together with others has come back: no more than :data:`~protocol.limits.RELAY` seconds give,
as all else may still be under way. A node that is not connected closes at any time. Connected nodes also hear what the
others would pass on, a liar's messages among it when a LOCK or a vote rests on them, before a round of theirs ends.

That nothing is stuck means: from this state on, every majority of honest nodes, at least half of those in the game
among them, that hears each other and nobody else, with all their timers ending together, comes to one complete LOCK or
finds no majority left. A liar who goes on lying is only in the states that this is asked of.

``python -m tests.simulation.small_worlds --help`` explores others than the tests do.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import NamedTuple

from protocol import limits
from protocol.consensus.absence import Absence
from protocol.consensus.ballot import Ballot
from protocol.consensus.electorate import Entries, Place, elect
from protocol.consensus.votes import ContradictionError, Vote

FIRST = b"k"
"""The tip of the first step."""


class Message(NamedTuple):
    """What an author signed for a step: its message, or its LOCK."""

    tip: bytes
    author: int
    id: bytes


class Evidence(NamedTuple):
    """Two messages by ``culprit``, as ``author`` shows them; an honest player signs only one of them."""

    author: int
    culprit: int
    first: int
    second: int
    """The one that came last."""


Event = int | tuple[str, bytes] | tuple[str, int]
"""The number of a message that arrives, a timer that ends: ("expire" | "join" | "close", tip), or that a node shows all
votes that it keeps: ("shown", number of its state)."""
State = tuple[int, ...]
"""The number of the state of each honest node; last, as bits, whose messages came early enough to be counted."""


class ViolationError(AssertionError):
    """A claim does not hold; ``trace`` is how the world came there."""

    def __init__(self, claim: str, problem: str, trace: Sequence[object] = ()) -> None:
        super().__init__("\n".join([f"{claim}: {problem}", *map(str, trace)]))
        self.claim = claim


class Table:
    """What is fixed in a world, and all messages that were ever signed in any of its states.

    :param steps: who owes a message in each step before the LOCK; everybody in the game in one step if not given.
        If all of them have left it is the first of those in the game.
    :param out: who is out of the game from the start, and votes.
    :param falls: who is out of it once the last of these steps is closed and nobody has left.
    :param resigning: who resigns when they owe a message, by the number of the step.
    :param liar: who signs what they like; None for nobody.
    :param is_denying: True if the liar votes against closed steps: that one of the authors was absent.
    :param rounds: how many rounds of votes honest players begin by themselves.
    :param rule: the class to explore.
    :param is_base_fixed: False for the mistake of counting majorities of those who are left.
    :param is_hasty: True for the mistake of voting at once on a cheat's step while others may only be slow.
    """

    def __init__(
        self,
        players: int = 3,
        *,
        steps: Sequence[Sequence[int]] = (),
        out: Collection[int] = (),
        falls: Collection[int] = (),
        resigning: Mapping[int, int] = MappingProxyType({}),
        liar: int | None = None,
        is_denying: bool = False,
        rounds: int = 2,
        rule: type[Absence] = Absence,
        is_base_fixed: bool = True,
        is_hasty: bool = False,
    ) -> None:
        everyone = tuple(range(players))
        live = tuple(player for player in everyone if player not in out)
        self.liar, self.is_denying, self.rounds, self.rule = liar, is_denying, rounds, rule
        self.is_base_fixed, self.is_hasty = is_base_fixed, is_hasty
        self.falls, self.resigning = falls, resigning
        self.steps = steps or (live,)
        self.honest = tuple(player for player in everyone if player != liar)
        self.places: dict[bytes, Place] = {}
        self.before: dict[bytes, tuple[Entries, ...]] = {}
        """By the tip of a step: what the steps before it were closed with."""
        self.messages: list[Message | Vote | Evidence] = []
        self.index: dict[Message | Vote | Evidence, int] = {}
        self.by = [0] * players
        """Sets of messages, as bits: by author."""
        self.up_to_round: list[int] = [0] * 64
        """What a node in this round has heard of everyone it is connected with: votes up to it, and all else."""
        self.offers: dict[int, int] = {}
        """What the liar may sign once an honest player has signed this."""
        self.messages_of_liar: dict[bytes, int] = {}
        """What the liar may sign in a step before the LOCK, by its tip."""
        self.answers: dict[int, int] = {}
        """By message: the evidence that it completed, as bits."""
        self.tips: dict[bytes, int] = {}
        """The places of the steps in sets of slots."""
        self._open(Place(0, FIRST, tuple(self.steps[0]), everyone, everyone, live, live), ())

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
        if isinstance(message, Evidence):
            self.answers[message.second] = self.answers.get(message.second, 0) | 1 << found
        if message.author != self.liar and self.liar is not None:
            offers = 0
            if isinstance(message, Vote):
                offers = 1 << self.number(message._replace(author=self.liar))
            elif (
                isinstance(message, Message)
                and self.liar in self.places[message.tip].owed
                and self.is_lock(message.tip)
            ):
                offers = 1 << self.number(Message(message.tip, self.liar, b"l"))
            self.offers[found] = offers
        return found

    def slot(self, tip: bytes, author: int) -> int:
        """Return the bit that stands for what an author does in a step."""
        return 1 << self.tips.setdefault(tip, len(self.tips)) * len(self.by) + author

    def is_lock(self, tip: bytes) -> bool:
        """Tell whether a step is the LOCK."""
        return len(self.before[tip]) == len(self.steps)

    def after(self, tip: bytes, entries: Entries) -> bytes:
        """Return the tip of the step that follows when one is closed with these entries."""
        following = tip + b"|" + b",".join(entry or b"-" for entry in entries)
        if following not in self.places:
            last, before = self.places[tip], (*self.before[tip], entries)
            staying = tuple(author for author in last.staying if author not in last.leavers(entries))
            owed = live = players = tuple(author for author in last.live if author in staying)
            if len(before) < len(self.steps):
                owed = tuple(author for author in self.steps[len(before)] if author in live) or live[:1]
            elif len(staying) == len(self.by):
                live = tuple(author for author in live if author not in self.falls)
            base = last.base if self.is_base_fixed else staying
            self._open(Place(len(before), following, owed, base, staying, live, players), before)
        return following

    def _open(self, place: Place, before: tuple[Entries, ...]) -> None:
        tip = place.tip
        self.places[tip] = place._replace(resignations=tuple(b"r%d" % player for player in place.owed))
        self.before[tip] = before
        if self.liar in place.owed and not self.is_lock(tip):
            for each in (b"x", b"y"):
                bit = 1 << self.number(Message(tip, self.liar, each))
                self.messages_of_liar[tip] = self.messages_of_liar.get(tip, 0) | bit

    def lies(self, place: Place, closed: Entries | None, number: int) -> int:
        """Return what the liar may sign for a step that an honest player, in a round, has open or closed."""
        found = self.messages_of_liar.get(place.tip, 0)
        if self.is_denying and self.liar is not None and closed is not None:
            for index, each in itertools.product(range(len(closed)), {0, max(number, 0)}):
                entries = (*closed[:index], b"", *closed[index + 1 :])
                if closed[index]:
                    found |= 1 << self.number(Vote(place.tip, self.liar, False, each, entries))
        return found

    def own(self, tip: bytes, author: int) -> Message:
        """Return what an honest player signs in a step."""
        place = self.places[tip]
        is_resigning = self.resigning.get(author) == place.step and author in place.owed
        return Message(tip, author, b"r%d" % author if is_resigning else b"%d" % author)


class Node:
    """One honest player: the caller of the rule, as small as can be."""

    __slots__ = (
        "absence",
        "blamed",
        "chain",
        "closing",
        "final",
        "known",
        "me",
        "messages",
        "others",
        "proofs",
        "said",
        "table",
    )

    def __init__(self, table: Table, me: int) -> None:
        self.table, self.me = table, me
        self.absence = table.rule(me)
        self.chain: tuple[Entries, ...] = ()
        """What the steps were closed with."""
        self.final: bytes | None = None
        """The tip of the LOCK that is known to be complete."""
        self.others: frozenset[bytes] = frozenset()
        """The tips of other LOCKs that are known to be complete."""
        self.messages: dict[tuple[bytes, int], tuple[bytes, ...]] = {}
        """By slot (tip, author): one id, or two of an equivocator."""
        self.blamed: frozenset[int] = frozenset()
        self.proofs: frozenset[bytes] = frozenset()
        """The tips of steps for which somebody signed two messages."""
        self.known = 0
        self.said: tuple[int, ...] = ()
        self.closing: tuple[bytes, tuple[int, ...]] | None = None
        """The step that shall be closed when a majority's votes had time to reach everybody, and these votes."""

    def copy(self) -> Node:
        twin = Node.__new__(Node)
        twin.table = self.table
        twin.me = self.me
        twin.absence = self.absence.copy()
        twin.chain = self.chain
        twin.final = self.final
        twin.others = self.others
        twin.messages = self.messages.copy()
        twin.blamed = self.blamed
        twin.proofs = self.proofs
        twin.known = self.known
        twin.said = self.said
        twin.closing = self.closing
        return twin

    def key(self) -> object:
        return (
            self.me,
            self.known,
            self.chain,
            self.final,
            self.others,
            self.blamed,
            self.said,
            self.closing,
            tuple(sorted(self.messages.items())),
            tuple((tip, ballot.key()) for tip, ballot in sorted(self.absence.ballots.items())),
        )

    def path(self) -> Sequence[Place]:
        """Return all steps, up to the open one or the LOCK."""
        tips = [FIRST]
        for entries in self.chain[: len(self.table.steps)]:
            tips.append(self.table.after(tips[-1], entries))
        return [self.table.places[tip] for tip in tips]

    def tail(self) -> Sequence[Place]:
        return self.path() if self.final is None else self.path()[-1:]

    def closed(self, step: int) -> Entries | None:
        return self.chain[step] if step < len(self.chain) else None

    def held(self, step: int) -> Mapping[int, bytes]:
        tip = self.path()[step].tip
        return {author: ids[0] for (t, author), ids in self.messages.items() if t == tip}

    def culprits(self) -> Set[int]:
        return self.blamed

    def learn(self, number: int, *, is_shown: bool = False) -> None:
        """Take note of a message; as part of somebody's evidence, if it ``is_shown``."""
        if self.known >> number & 1:
            return
        self.known |= 1 << number
        message = self.table.messages[number]
        if isinstance(message, Vote):
            if self.final is not None and not self.table.is_lock(message.tip):
                return
            try:
                if not self.absence.take(message, self.table.places[message.tip]):
                    ballot = self.absence.ballots[message.tip]
                    if ballot.may_be_news(message):
                        self.known &= ~(1 << number)  # not kept, as one of too many in its slot: it will be shown again
            except ContradictionError as error:
                is_first = message.author not in self.blamed
                self.blamed |= {message.author}
                if is_first and not is_shown:
                    other = error.first if error.second == message else error.second
                    self.say(Evidence(self.me, message.author, self.table.number(other), number))
        elif isinstance(message, Evidence):
            self.learn(message.first, is_shown=True)
            self.learn(message.second, is_shown=True)
            self.blamed |= {message.culprit}
        else:
            slot = (message.tip, message.author)
            ids = self.messages.get(slot, ())
            if len(ids) < 2:
                self.messages[slot] = (*ids, message.id)
            if ids:
                self.blamed |= {message.author}
                self.proofs |= {message.tip}
                if not is_shown:
                    other_number = self.table.number(message._replace(id=ids[0]))
                    self.say(Evidence(self.me, message.author, other_number, number))

    def catch_up(self, other: Node) -> None:
        """Take note of all votes that another node keeps, also of such as this node dropped, in the order shown."""
        for ballot in other.absence.ballots.values():
            if self.final is None or ballot.place.tip == self.final:
                for vote in ballot.votes():
                    number = self.table.number(vote)
                    self.known &= ~(1 << number)
                    self.learn(number)

    def say(self, message: Message | Vote | Evidence) -> None:
        """Sign a message."""
        number = self.table.number(message)
        self.said += (number,)
        self.learn(number)

    def show(self, messages: Iterable[Message | Vote]) -> None:
        """Pass on what the liar signed. (What others signed comes from them.)"""
        for message in messages:
            number = self.table.number(message)
            if message.author == self.table.liar and number not in self.said:
                self.said += (number,)

    def show_grounds(self) -> None:
        """Pass on what a message rests on, as whoever sees one on a history that they do not know asks for it."""
        for place, entries in zip(self.path(), self.chain, strict=False):
            self.show(Message(place.tip, *each) for each in zip(place.owed, entries, strict=True) if each[1])

    def react(
        self, expired: Collection[bytes] = (), joining: Collection[bytes] = (), closing: Collection[bytes] = ()
    ) -> None:
        """Do all that is due."""
        self.closing = None
        for _ in range(100):
            self.adopt()
            if (found := self.absence.decision(self)) is not None:
                place, votes = found
                self.chain = (*self.chain[: place.step], votes[0].entries)
                continue
            tail = self.tail()
            if self.close(tail[-1]):
                continue
            last = tail[-1]
            if (
                self.closed(last.step) is None
                and self.me in last.owed
                and (last.tip, self.me) not in self.messages
                and not self.absence.is_reopened(self)
            ):
                self.say(self.table.own(last.tip, self.me))
                self.show_grounds()
                continue
            expired = {*expired, *(place.tip for place in tail if self._is_new(place) and self._is_tainted(place))}
            settling = {place.tip for place in tail} - set(joining)
            due = self.absence.due(self, expired, settling)
            expired = joining = ()
            if not due:
                return
            for vote in due:
                ballot = self.absence.ballots.get(vote.tip)
                if vote.is_close and vote.tip not in closing:
                    assert ballot is not None
                    certificate = ballot.majorities[vote.round]
                    self.show(certificate)
                    self.closing = vote.tip, tuple(self.table.number(each) for each in certificate)
                    return
                if vote.newest >= 0 and ballot is not None and vote.newest in ballot.majorities:
                    self.show(ballot.majorities[vote.newest])
                self.say(vote)
                closing = ()
        raise ViolationError("every node makes up its mind", "one changes it without end")

    def _is_tainted(self, place: Place) -> bool:
        """Tell whether a cheat's message calls for a vote at once. Whoever is only slow is waited for first."""
        is_open = self.closed(place.step) is None
        is_missing = any((place.tip, a) not in self.messages for a in place.owed if a not in self.blamed)
        if is_open and is_missing and not self.table.is_hasty:
            return False
        return place.tip in self.proofs or (is_open and not self.blamed.isdisjoint(place.owed))

    def _is_new(self, place: Place) -> bool:
        ballot = self.absence.ballots.get(place.tip)
        return ballot is None or ballot.round < 0

    def is_complete(self, place: Place) -> bool:
        """Tell whether a step needs no votes."""
        return all((place.tip, author) in self.messages for author in place.owed)

    def close(self, place: Place) -> bool:
        """Close the open step without votes, if that may be."""
        if self.closed(place.step) is not None or not self.is_complete(place):
            return False
        is_doubtful = self.absence.has_voted(place.tip) or self.blamed.intersection(place.owed)
        if is_doubtful and not self.table.is_lock(place.tip):  # a complete LOCK is final, whatever was voted
            return False
        self.chain += (tuple(self.messages[place.tip, a][0] for a in place.owed),)
        return True

    def adopt(self) -> None:
        """Switch to the history behind a completed LOCK, or behind the latest majority."""
        tips = {tip for tip, _ in self.messages} | set(self.absence.ballots)
        for tip in sorted(tips):
            if not self.table.is_lock(tip) or tip == self.final:
                continue
            ballot = self.absence.ballots.get(tip)
            if (ballot is not None and ballot.decided) or self.is_complete(self.table.places[tip]):
                if self.final is not None:
                    self.others |= {tip}
                    continue
                self.final = tip
                self.absence.keep_only({tip})
                self._switch_to(tip)
        led: tuple[Entries, ...] = ()
        for ballot in self.absence.leaders() if self.final is None else ():
            before = self.table.before[ballot.place.tip]
            if before[: len(led)] == led:
                self._switch_to(ballot.place.tip)
                led = (*before, ballot.best()[0].entries)

    def _switch_to(self, tip: bytes) -> None:
        before = self.table.before[tip]
        if self.chain[: len(before)] != before:
            self.chain = before

    def elsewhere(self) -> Iterable[tuple[int, int]]:
        """Return nothing: votes on whichever step are counted as they come here."""
        return ()

    def clocks(self) -> Iterator[tuple[str, bytes]]:
        """Yield the timers that run here: patience with the open step or the latest round, and the time before this
        node follows others into a later round."""
        place, current = self.absence.contested(self), self.absence.current(self)
        if current is not None:
            yield "expire", current.tip
        if place is not None and place != current and self.closed(place.step) is None:
            yield "expire", place.tip
        number = self.absence.round
        if place is not None and 0 <= number < self.absence.target(self, number, place.majority)[0]:
            yield "join", place.tip


class Facts(NamedTuple):
    """What the explorer must know of one state of one node."""

    known: int
    shown: int
    """What this node has sent, passed on, or would pass on to who cannot hear its author."""
    offers: int
    """What the liar may sign since this node signed what it did."""
    timers: tuple[tuple[str, bytes], ...]
    closing: tuple[bytes, int, int] | None
    """The step that this node would vote to close, the votes that it rests on, and what others may say to them."""
    final: bytes | None
    said: tuple[int, ...]
    round: int
    holds: int
    """The slots whose message, by an honest player, this node holds."""
    voted: int
    """The slots of the steps in which this node has voted."""
    evicted: int
    """The slots that stand empty in what is final here."""
    is_minority: bool
    """Those who are left after what is final here are no majority of the base."""


class Explorer:
    """All states of a world.

    :param connected: players whose messages to each other arrive before a round ends at any of them, and within
        :data:`~protocol.limits.RELAY` seconds.
    :param lies: how many messages the liar signs at most.
    :param has_relay: False for the mistake of closing without waiting for what others say.
    """

    def __init__(
        self,
        table: Table,
        connected: Collection[int] = (),
        lies: int = 1000,
        *,
        in_order: bool = True,
        has_relay: bool = True,
    ) -> None:
        self.table, self.connected, self.lies = table, connected, lies
        self.in_order, self.has_relay = in_order, has_relay
        self.together = tuple(index for index, player in enumerate(table.honest) if player in connected)
        self.nodes: list[Node] = []
        self.facts: list[Facts] = []
        self._numbers: dict[object, int] = {}
        self._moves: dict[tuple[int, Event], int] = {}
        self._endings: dict[tuple[State, tuple[int, ...]], str] = {}
        start = []
        for me in table.honest:
            node = Node(table, me)
            node.react()
            start.append(self._intern(node))
        self.start: State = (*start, 0)

    def _intern(self, node: Node) -> int:
        key = node.key()
        found = self._numbers.get(key)
        if found is not None:
            return found
        if wronged := node.blamed - {self.table.liar}:
            raise ViolationError("nobody honest is blamed", f"{sorted(wronged)} are")
        found = self._numbers[key] = len(self.nodes)
        self.nodes.append(node)
        self.facts.append(self._facts(node))
        return found

    def _facts(self, node: Node) -> Facts:
        table = self.table
        is_last = node.absence.round + 1 >= table.rounds
        timers = [timer for timer in node.clocks() if timer[0] == "join" or not is_last]
        offers = said = 0
        for place in node.path():
            offers |= table.lies(place, node.closed(place.step), node.absence.round)
        for number in node.said:
            offers |= table.offers.get(number, 0)
            said |= 1 << number
        by_liar = 0 if table.liar is None else table.by[table.liar]
        closing = None
        if node.closing is not None:
            rests_on = answers = 0
            for number in node.closing[1]:
                rests_on |= 1 << number
                answers |= table.answers.get(number, 0)
            closing = node.closing[0], rests_on, answers
        holds = voted = evicted = 0
        for tip, author in node.messages:
            if author not in (node.me, table.liar):
                holds |= table.slot(tip, author)
        for number in node.said:
            message = table.messages[number]
            if isinstance(message, Vote) and message.author == node.me:
                voted |= table.slot(message.tip, node.me)
        is_minority = False
        if node.final is not None:
            for place, entries in zip(node.path(), node.chain, strict=False):
                absent = [author for author, entry in zip(place.owed, entries, strict=True) if not entry]
                for author in absent:
                    evicted |= table.slot(place.tip, author)
                if absent and 2 * len(set(place.staying) - place.leavers(entries)) <= len(table.by):
                    is_minority = True
        shown = said | node.known & ~by_liar
        return Facts(
            node.known,
            shown,
            offers,
            tuple(timers),
            closing,
            node.final,
            node.said,
            node.absence.round,
            holds,
            voted,
            evicted,
            is_minority,
        )

    def move(self, number: int, event: Event) -> int:
        """Return what an event makes of a state of a node."""
        found = self._moves.get((number, event))
        if found is None:
            node = self.nodes[number].copy()
            if isinstance(event, int):
                node.learn(event)
                node.react()
            elif isinstance(event[1], int):
                node.catch_up(self.nodes[event[1]])
                node.react()
            elif event[0] == "expire":
                current = node.absence.current(node)  # its round has lasted long enough, too
                node.react(expired={event[1], event[1] if current is None else current.tip})
            elif event[0] == "join":
                node.react(joining=(event[1],))
            else:
                node.react(closing=(event[1],))
            found = self._moves[number, event] = self._intern(node)
        return found

    def after(self, state: State, index: int, number: int) -> State:
        """Return the state in which one node's has changed."""
        following = (*state[:index], number, *state[index + 1 :])
        return following if not self.together else self._note_who_is_in_time(following)

    def _note_who_is_in_time(self, state: State) -> State:
        facts, table = self.facts, self.table
        in_time = state[-1]
        held = voted = 0
        for index in self.together:
            held |= facts[state[index]].holds
            voted |= facts[state[index]].voted
        held &= ~in_time
        if not held:
            return state
        players = len(table.by)
        everyone = (1 << players) - 1
        others = everyone
        for player in self.connected:
            others ^= 1 << player
        for tip, place in table.tips.items():
            slots = held >> place * players & everyone
            if slots and 2 * (voted >> place * players & everyone | others).bit_count() <= len(table.places[tip].base):
                in_time |= slots << place * players
        return state if in_time == state[-1] else (*state[:-1], in_time)

    def events(self, state: State) -> Iterator[tuple[int, Event]]:
        """Yield what may happen next, and to which of the honest nodes."""
        table, facts = self.table, self.facts
        lies = known = shown = 0
        numbers = state[:-1]
        for number in numbers:
            lies |= facts[number].offers
            known |= facts[number].known
        for index in self.together:
            shown |= facts[state[index]].shown
        if table.liar is not None:
            told = known & table.by[table.liar]
            lies = told if told.bit_count() >= self.lies else lies | told
        for index, number in enumerate(numbers):
            own = facts[number]
            pending = lies & ~own.known
            for other in numbers:
                for each in facts[other].said:
                    if not own.known >> each & 1:
                        pending |= 1 << each
                        if self.in_order:
                            break
            while pending:
                low = pending & -pending
                pending ^= low
                yield index, low.bit_length() - 1
            is_together = index in self.together
            if own.timers and not (is_together and shown & ~own.known & table.up_to_round[max(own.round, 0)]):
                for timer in own.timers:
                    yield index, timer
            if own.closing is not None:
                tip, rests_on, answers = own.closing
                if not (self.has_relay and is_together) or self._has_been_answered(state, index, rests_on, answers):
                    yield index, ("close", tip)

    def _has_been_answered(self, state: State, index: int, rests_on: int, answers: int) -> bool:
        """Tell whether every connected node has seen votes, and this one has seen the evidence that they completed."""
        own = self.facts[state[index]].known
        for other in self.together:
            facts = self.facts[state[other]]
            if rests_on & ~facts.known or answers & facts.known & ~own:
                return False
        return True

    def take(self, state: State, player: int, told: str) -> State:
        """Return the state after what may happen to a player, by its description.

        :raises LookupError: if it may not happen now.
        """
        for index, event in self.events(state):
            if self.table.honest[index] == player and self._short(event) == told:
                return self.after(state, index, self.move(state[index], event))
        raise LookupError(f"not now: {told} at {player}")

    def _short(self, event: Event) -> str:
        if isinstance(event, int):
            return _short(self.table.messages[event])
        return f"{event[0]} {bytes(event[1]).decode()}"

    def explore(self, claims: Collection[str], limit: int = 10**9) -> tuple[int, int]:
        """Visit every state; return how many there are, and how many transitions.

        :param claims: of :meth:`violates`.
        :param limit: stop after so many states.
        :raises ViolationError: if a claim does not hold.
        """
        parents: dict[State, tuple[State, int, Event] | None] = {self.start: None}
        queue = [self.start]
        transitions = 0
        for state in queue:
            for claim in claims:
                if problem := self.violates(claim, state):
                    raise ViolationError(claim, problem, self._trace(parents, state))
            for index, event in self.events(state):
                before = state[index]
                after = self._moves.get((before, event))
                if after is None:
                    after = self.move(before, event)
                if after != before:
                    transitions += 1
                    following = self.after(state, index, after)
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
        said = [_short(self.table.messages[number]) for number in node.said[len(self.nodes[before].said) :]]
        return (
            f"{node.me} gets {self._short(event)}; says {said}; {node.chain} {node.final!r} blames {set(node.blamed)}"
        )

    def violates(self, claim: str, state: State) -> str:
        """Return in which way a state violates a claim; empty if it does not.

        :param claim: "one history", "nobody evicted in time", "nothing stuck"; "forks are proven": where both
                sides put somebody out, by what all nodes together have seen of the liar's messages and votes; "forks
                are proven by CLOSEs": without the ABSENTs; "all forks are proven": also the others, which is not so.
        """
        if claim == "nothing stuck":
            for group in groups(self.table):
                if not self.ending(state, group):
                    return f"stuck: {[self.table.honest[index] for index in group]}"
            return ""
        facts = [self.facts[number] for number in state[:-1]]
        if claim == "nobody evicted in time":
            for each in facts:
                if each.evicted & state[-1]:
                    return f"evicted although a connected player held their message in time: {each.final!r}"
            return ""
        if claim == "one history":
            for each in facts:
                if each.is_minority:
                    return f"those who go on are no majority of those who locked last: {each.final!r}"
        fork = self._fork(state)
        if not fork or claim == "one history":
            return f"two histories: {fork}" if fork else ""
        if claim != "all forks are proven" and any(all(map(all, self.table.before[final])) for final in fork):
            return ""  # one side put nobody out before the LOCK, so perhaps nobody voted there
        lies = 0
        for each in facts:
            lies |= each.known & self.table.by[self.table.liar or 0]
        if self._contradicts(lies, closes_only=claim == "forks are proven by CLOSEs"):
            return ""
        return f"nobody is proven to have lied, and yet there are two histories: {fork}"

    # What becomes of those who hear each other

    def ending(self, state: State, group: tuple[int, ...]) -> str:
        """Return how a group of nodes ends that hears each other from now on, and nobody else; empty if it never does.

        Rounds end everywhere at once, the worst case for finding into one round.
        """
        known = self._endings.get((tuple(state[index] for index in group), group))
        if known is not None:
            return known
        now = self._exchange(state[:-1], group)
        end = self._end(now, group)
        for _ in range(10):
            if end:
                break
            nodes = list(now)
            for kind in ("expire", "join"):
                for index in group:
                    for timer in tuple(self.nodes[nodes[index]].clocks()):
                        if timer[0] == kind:
                            nodes[index] = self.move(nodes[index], timer)
                nodes = list(self._exchange(tuple(nodes), group))
            now = tuple(nodes)
            end = self._end(now, group)
        self._endings[tuple(state[index] for index in group), group] = end
        return end

    def _exchange(self, numbers: tuple[int, ...], group: tuple[int, ...]) -> tuple[int, ...]:
        """Return what becomes of the nodes when a group of them hear all from each other, and close what they would."""
        nodes = list(numbers)
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
                for index, other in itertools.permutations(group, 2):
                    if self.nodes[nodes[index]].absence.round >= limits.VOTE_ROUNDS:  # it has dropped some
                        nodes[index] = self.move(nodes[index], ("shown", nodes[other]))
            if tuple(nodes) == before:
                for index in group:
                    if (closing := self.facts[nodes[index]].closing) is not None:
                        nodes[index] = self.move(nodes[index], ("close", closing[0]))
            if tuple(nodes) == before:
                return before

    def _end(self, numbers: tuple[int, ...], group: tuple[int, ...]) -> str:
        nodes = [self.nodes[numbers[index]] for index in group]
        finals = {node.final for node in nodes}
        if len(finals - {None}) > 1 or any(node.others for node in nodes):
            return "forked"
        if len(finals) > 1:
            return ""
        if len({node.chain for node in nodes}) == 1 and len(nodes[0].chain) > len(self.table.steps):
            return "completed"
        return "" if any(self._can_go_on(node, {each.me for each in nodes}) for node in nodes) else "suspended"

    def _can_go_on(self, node: Node, group: Collection[int]) -> bool:
        """Tell whether a group of nodes is enough to close the step that one of them has open."""
        place = node.tail()[-1]
        ballot = node.absence.ballots.get(place.tip) or Ballot(place)
        best = ballot.best()
        entries = best[0].entries if best else node.absence._own_entries(ballot, node)
        return bool(elect(place, entries, group, ballot.backers(entries), node.blamed))

    # Walks, where there are too many states

    def walk(
        self, chance: random.Random, length: int, claims: Collection[str] = ("one history", "nobody evicted in time")
    ) -> bool:
        """Take one way through the world and check it in every state; tell whether it came to two histories.

        How likely timers are, which links are slow and what the liar shows to whom is drawn anew for each walk: orders
        in which a rule breaks are rare among those where everything is equally likely.

        :raises ViolationError: if a claim does not hold on it.
        """
        table, nodes = self.table, range(len(self.table.honest))
        timers_first = chance.choice((0.02, 0.1, 0.3, 0.6))
        slowness = chance.choice((0.0, 0.2, 0.5))
        slow = {(index, author) for index in nodes for author in table.honest if chance.random() < slowness}
        camps = {player: chance.random() < 0.5 for player in table.honest}
        if has_camps := chance.random() < 0.4:
            slow = {(i, other) for i in nodes for other in table.honest if camps[table.honest[i]] != camps[other]}
        withholding = chance.choice((0.0, 0.5))
        withheld: dict[tuple[int, int], bool] = {}
        state = self.start
        told: list[tuple[int, int, Event]] = []
        for _ in range(length):
            timers: list[tuple[int, Event]] = []
            quick: list[tuple[int, Event]] = []
            late: list[tuple[int, Event]] = []
            for index, event in self.events(state):
                if not isinstance(event, int):
                    if self.move(state[index], event) != state[index]:
                        timers.append((index, event))
                    continue
                message = table.messages[event]
                author = message.author
                if author == table.liar:
                    if (index, event) not in withheld:
                        is_theirs = True
                        if has_camps and isinstance(message, Vote):  # to each camp what it says itself
                            mine = camps[table.honest[index]]
                            models = (p for p in table.honest if message._replace(author=p) in table.index)
                            is_theirs = any(camps[player] == mine for player in models)
                        withheld[index, event] = not is_theirs or chance.random() < withholding
                    if withheld[index, event]:
                        continue
                (late if (index, author) in slow else quick).append((index, event))
            if timers and chance.random() < timers_first:
                events = timers
            else:
                events = quick if quick and chance.random() < 0.95 else [*timers, *quick, *late]
            if not events:
                break
            index, event = chance.choice(events)
            after = self.move(state[index], event)
            told.append((state[index], after, event))
            state = self.after(state, index, after)
            for claim in claims:
                if problem := self.violates(claim, state):
                    raise ViolationError(claim, problem, [self._tell(*each) for each in told])
        if "one history" in claims:
            for group in groups(self.table):
                is_meant = len(group) == len(nodes) or set(group) == set(self.together)
                if is_meant and self.ending(state, group) not in ("completed", "suspended"):
                    raise ViolationError(
                        "nothing stuck", f"stuck or forked: {group}", [self._tell(*each) for each in told]
                    )
        return bool(self._fork(state))

    def _fork(self, state: State) -> set[bytes]:
        """Return the tips of the complete LOCKs, if there are two."""
        finals: set[bytes] = set()
        for number in state[:-1]:
            final = self.facts[number].final
            finals |= self.nodes[number].others | (set() if final is None else {final})
        return finals if len(finals) > 1 else set()

    def _contradicts(self, lies: int, *, closes_only: bool = False) -> bool:
        """Tell whether some of these messages of the liar's for one step before the LOCK contradict each other."""
        ballots: dict[bytes, Ballot] = {}
        slots = set()
        while lies:
            low = lies & -lies
            lies ^= low
            message = self.table.messages[low.bit_length() - 1]
            if isinstance(message, Evidence) or self.table.is_lock(message.tip):
                continue
            if isinstance(message, Message):
                if message.tip in slots:
                    return True
                slots.add(message.tip)
            elif message.is_close or not closes_only:
                try:
                    ballots.setdefault(message.tip, Ballot(self.table.places[message.tip])).take(message)
                except ContradictionError:
                    return True
        return False


def _short(message: Message | Vote | Evidence) -> str:
    if isinstance(message, Vote):
        kind = "CLOSE" if message.is_close else "ABSENT"
        entries = ",".join(entry.decode() or "-" for entry in message.entries)
        newest = "" if message.newest < 0 else f" newest {message.newest}"
        return f"{kind}({message.tip.decode()}: {message.round}, {entries}{newest}) by {message.author}"
    if isinstance(message, Evidence):
        return f"evidence against {message.culprit} by {message.author}"
    return f"{message.tip.decode()}: {message.id.decode()} by {message.author}"


def groups(table: Table) -> list[tuple[int, ...]]:
    """Return every set of honest nodes that are a majority of the table, and at least half of those in the game."""
    honest, place = range(len(table.honest)), table.places[FIRST]
    majorities = (
        group for size in range(place.majority, len(honest) + 1) for group in itertools.combinations(honest, size)
    )
    live = set(place.live)
    return [
        group for group in majorities if 2 * len(live.intersection(table.honest[index] for index in group)) >= len(live)
    ]


def main() -> None:
    """Explore one world and print a row of the table in docs/reliability.md."""
    parser = argparse.ArgumentParser(description="Explore one small world of the absence rule exhaustively.")
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--steps", nargs="*", default=(), help="who owes each step before the LOCK: 0 12 for two steps")
    parser.add_argument("--out", type=int, nargs="*", default=(), help="who is out of the game from the start")
    parser.add_argument("--falls", type=int, nargs="*", default=(), help="who goes out of it before the LOCK")
    parser.add_argument("--resigns", nargs="*", default=(), metavar="PLAYER:STEP", help="who resigns, in which step")
    parser.add_argument("--liar", type=int)
    parser.add_argument("--lies", type=int, default=1000, help="how many messages the liar signs at most")
    parser.add_argument("--denies", action="store_true", help="the liar votes against closed steps, too")
    parser.add_argument("--cut-off", action="store_true", help="with a liar: honest players need not hear each other")
    parser.add_argument("--any-order", action="store_true", help="messages of one author overtake each other")
    parser.add_argument("--limit", type=int, default=10**9, help="stop after so many states")
    given = parser.parse_args()
    resigning = {int(player): int(step) for player, step in (each.split(":") for each in given.resigns)}
    table = Table(
        given.players,
        steps=[tuple(map(int, players)) for players in given.steps],
        out=given.out,
        falls=given.falls,
        resigning=resigning,
        liar=given.liar,
        is_denying=given.denies,
        rounds=given.rounds,
    )
    is_connected = given.liar is not None and not given.cut_off
    explorer = Explorer(table, table.honest if is_connected else (), given.lies, in_order=not given.any_order)
    claims = ("forks are proven",) if given.cut_off else ("one history", "nobody evicted in time", "nothing stuck")
    start = time.process_time()
    states, transitions = explorer.explore(claims, given.limit)
    seconds = time.process_time() - start
    step = ", ".join(given.steps) or "joint"
    liar = (
        "–" if given.liar is None else f"{given.liar}{', denying' * given.denies}{', others cut off' * given.cut_off}"
    )
    count = f"{states:,}" + (" (the first)" if states >= given.limit else "")
    print(f"| {given.players} | {given.rounds} | {step} | {liar} | {count} | {transitions:,} | {seconds:.0f} |")


if __name__ == "__main__":
    main()
