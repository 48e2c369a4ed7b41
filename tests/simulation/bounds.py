"""Small worlds that test the memory bounds of :class:`protocol.consensus.ballot.Ballot`.

A ballot keeps a limited number of messages, so a liar can make it drop some by sending many. Dropped messages must not
matter. Each honest player therefore runs two ballots: the real one, and one with unlimited memory (:class:`Whole`). The
liar signs several messages for one step, and votes in past and future rounds for all kinds of values and polkas. Links
are slow, and players show each other the messages that they keep. Three things are checked: both ballots reach the same
conclusions; every honest vote convinces a node whose memory is full of the liar's messages; and in the end all honest
players continue the match together.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from protocol.consensus.ballot import Ballot
from protocol.consensus.branches import Outcome
from protocol.consensus.kinds import Vote
from protocol.consensus.kinds import VoteValue as Aim
from protocol.consensus.position import Position
from protocol.wire.messages import VOTES, Kind, Signed
from tests.simulation.small_worlds import Node, Table, ViolationError, is_settled, leads_to

SCRIPTS = ("t{},L", "t{},t{},L", "j,L,j,L", "t{},j,L", "L,j,L", "t{},t{},t{},L,t{},L", "t{},j,o,L,o,L")


class Whole(Ballot):
    """A ballot with unlimited memory."""

    def take(self, signed: Signed, *, is_kept: bool = False) -> Outcome:
        return super().take(signed, is_kept=True)


def give(ballot: Ballot, signed: Signed, *, is_kept: bool = False) -> Outcome:
    outcome = ballot.take(signed, is_kept=is_kept)
    while grown := ballot.grow():
        for each in grown:
            ballot.take(each)
    return outcome


def shown(ballot: Ballot) -> list[Signed]:
    """Return the messages that a node would show a peer at the same root, in the order of a real answer."""
    slots = ballot.branches.messages.values()
    known = [signed for slot in slots for author in sorted(slot) for signed in slot[author]]
    later = [signed for _, kept in sorted(ballot.branches.later.items()) for signed in kept.values()]
    return [*known, *(vote.signed for vote in ballot.votes()), *later]


def concluded(ballot: Ballot) -> object:
    if (closed := ballot.closed) is not None:
        return closed.position.tip, sorted(closed.entries)
    votes = ballot.absent_vote(ballot.missing), ballot.close_vote, ballot.nil_vote
    return ballot.round, ballot.leading and ballot.leading[:2], ballot.line[-1].tip, votes


class Player(Node):
    """An honest player with two ballots, one of them with unlimited memory."""

    def __init__(self, table: Table, me: int) -> None:
        super().__init__(table, me)
        self._begin(table.start)

    def _begin(self, root: Position) -> None:
        """Start new ballots at a root, with the messages that were kept for it."""
        later = [signed for kept in self.ballot.branches.later.values() for signed in kept.values()]
        self.ballot = self.table.rule(self.me, root, self.table, self.convicted)
        self.whole = Whole(self.me, root, self.table, self.convicted)
        self.heard: dict[bytes, Signed] = {}
        for signed in later:
            self.hear(signed)

    def learn(self, number: int) -> None:
        self.hear(self.table.messages[number])

    def hear(self, signed: Signed) -> Outcome:
        """Take a message. Like a replica, first check whether it contradicts a kept message of its author."""
        message, number, ballot = signed.message, self.table.number(signed), self.ballot
        self.known |= 1 << number
        if message.step < ballot.root.step or (message.author == self.me and signed.id in self.heard):
            return Outcome.FOREIGN
        is_vote, author = message.kind in VOTES, message.author
        said = ballot.by(author) if is_vote else ballot.branches.said(message.tip, author)
        if any(self.table.contradict(self.table.number(each), number) for each in said):
            self.convict({author})
        self.heard[signed.id] = signed
        give(self.whole, signed)
        return give(ballot, signed, is_kept=author == self.me)

    def convict(self, authors: Collection[int]) -> None:
        if not {*authors} <= {self.table.liar}:
            raise ViolationError("nobody honest is convicted", f"{authors} are, by {self.me}")
        self.convicted |= {*authors}
        for author in authors:
            self.ballot.convict(author)
            self.whole.convict(author)

    def say(self, signed: Signed, grounds: Sequence[Signed] = ()) -> None:
        self._justify(self.table.votes[self.table.number(signed)], [*grounds, signed])
        super().say(signed, grounds)
        self.heard[signed.id] = signed
        give(self.whole, signed)

    def _justify(self, vote: Vote | None, told: list[Signed]) -> None:
        """Check that a vote and its grounds convince a node whose memory is full of the liar's messages."""
        if vote is None or vote.value is None:
            return
        table, me = self.table, next(each for each in self.table.honest if each != self.me)
        other = table.rule(me, self.ballot.root, table)
        lies = [each for each in table.messages if each.message.author == table.liar]
        random.Random(len(lies)).shuffle(lies)
        for each in (*lies, *(3 * told)):
            if each.message.step >= self.ballot.root.step:
                give(other, each)
        polka = vote.round if vote.is_close else vote.polka_round
        is_led = polka < 0 or (other.leading is not None and other.leading.round >= polka)
        if not (is_led if other.round >= vote.round else vote.is_close):
            raise ViolationError("a vote convinces", f"{told[-1].id.decode()}: {other.round}, {other.leading}")

    def see(self, other: Node) -> None:
        """Take all messages that another node keeps, each twice: one that was of no use at first may be later."""
        self.convict(other.convicted - self.convicted)
        closings = [self.table.messages[each] for root, told in other.closings if root == self.root for each in told]
        for signed in 2 * (shown(other.ballot) if other.ballot.root.tip == self.root else closings):
            self.hear(signed)
        self.react()

    @property
    def root(self) -> bytes:
        return self.ballot.root.tip

    def compare(self) -> None:
        """Repeat all messages, then check that this player concludes the same as with unlimited memory."""
        for signed in 3 * [*self.heard.values()]:
            self.hear(signed)
        if (mine := concluded(self.ballot)) != (whole := concluded(self.whole)):
            raise ViolationError("dropped messages do not matter", f"{self.me}: {mine} instead of {whole}")
        self.react()


class World:
    """A random world."""

    def __init__(self, chance: random.Random, rule: type[Ballot]) -> None:
        self.chance, size = chance, chance.randint(4, 7)
        liar, live = chance.randrange(size), sorted(chance.sample(range(size), chance.randint(2, size)))
        turns = (chance.choice([*live, liar if liar in live else live[0]]) for _ in range(4))
        script = chance.choice(SCRIPTS).format(*turns)
        self.table = Table(live, [each for each in range(size) if each not in live], script, liar=liar, rule=rule)
        here = chance.sample(self.table.honest, len(self.table.honest))
        self.players = [Player(self.table, me) for me in here[: chance.randint(size // 2 + 1, len(here))]]
        self.is_connected, slowness = chance.random() < 0.4, chance.choice((0.0, 0.3, 0.6))
        self.slow = {(me, other) for me in here for other in here if chance.random() < slowness}
        self.timers, self.lies = chance.choice((0.05, 0.2, 0.5)), chance.choice((0.05, 0.15, 0.3))
        self.closing, self.farthest = chance.random(), chance.choice((1, 3, 9))
        self.variants = "xyzuvw"[: chance.randint(1, 6)]

    def going(self) -> list[Player]:
        return [player for player in self.players if not player.is_through()]

    def lie(self) -> Signed | None:
        chance, table, ballot = self.chance, self.table, self.chance.choice(self.players).ballot
        assert table.liar is not None
        position = chance.choice([*ballot.branches.positions.values()])
        if table.liar in position.owed and chance.random() < 0.5:
            return table.lie(position, "o" if position.kind is Kind.LOCK else chance.choice(self.variants))
        if table.liar not in ballot.root.base or table.liar in ballot.root.left:
            return None
        number = max(0, ballot.round + chance.choice((-2, -1, 0, 0, 0, 1, chance.randint(1, self.farthest))))
        aim, is_close = self.aim(ballot, position), chance.random() < 0.4
        polka = -1 if is_close or aim is None else chance.randrange(-1, max(0, number))
        return table.vote(Vote(ballot.root.tip, table.liar, is_close or aim is None, number, aim, polka))

    def aim(self, ballot: Ballot, position: Position) -> Aim | None:
        chance, draw = self.chance, self.chance.random()
        told = [vote.value for each in self.players for vote in each.whole.votes() if vote.author != self.table.liar]
        if told and draw < 0.6:
            return chance.choice(told)
        if draw < 0.7 or position.kind is None:
            return None
        if draw < 0.8:
            return Aim(position.step, b"/?%d" % chance.randrange(3), (b"",))
        if position.kind is Kind.LOCK:
            return Aim(position.step, position.tip, position.signed_hash)
        slots, absent = ballot.branches.messages[position.tip], chance.choice(position.owed)
        held = {each: b"" if each == absent else chance.choice(slots[each]).id for each in slots}
        return Aim(position.step, position.tip, tuple(held.get(each, b"") for each in position.owed))

    def exchange(self) -> None:
        """Let all players show each other the messages that they keep, until nothing changes."""
        before: object = None
        while before != (now := [({each.id for each in shown(player.ballot)}, player.said) for player in self.players]):
            before = now
            for player in self.going():
                for other in self.players:
                    if other is not player and not player.is_through():
                        player.see(other)

    def step(self) -> None:
        chance, player = self.chance, self.chance.choice(self.going())
        draw, others = chance.random(), [each for each in self.players if each is not player]
        if draw < self.timers:
            if self.is_connected:
                self.exchange()
            for each in chance.sample(self.players, chance.randint(1, len(self.players))):
                if not each.is_through():
                    each.react("vote" if each.ballot.nil_vote is None else chance.choice(("nil", "vote")))
                    each.react("close" if chance.random() < self.closing else "")
        elif draw < self.timers + self.lies:
            for lie in filter(None, (self.lie() for _ in range(chance.choice((1, 1, 4, 12))))):
                for each in (player, *chance.sample(others, chance.randrange(2))):
                    each.hear(lie)
                    each.react()
        elif draw < 0.95:
            quick = [each for each in others if (player.me, each.me) not in self.slow or chance.random() < 0.05]
            new = [number for each in quick for number in each.said if not player.known >> number & 1]
            if new:
                player.learn(chance.choice(new))
                player.react()
        elif draw < 0.97:
            player.see(chance.choice(others))
        elif not player.is_through():
            player.compare()

    def check(self) -> None:
        roots = {player.root for player in self.players}
        if any(not leads_to(one, other) and not leads_to(other, one) for one in roots for other in roots):
            raise ViolationError("agree", f"{roots}")
        gone = {each for player in self.players for each in player.ballot.root.left}
        if self.is_connected and gone.intersection(player.me for player in self.players):
            raise ViolationError("in time", f"{gone} are put out")

    def run(self, length: int) -> None:
        """Run ``length`` random events. Then silence the liar, and let all players exchange messages until the end."""
        for player in self.players:
            player.react()
        for _ in range(length):
            if self.going():
                self.step()
                self.check()
        for _ in range(20):
            self.exchange()
            for player in self.going():
                player.react("close")
            self.exchange()
            self.check()
            if is_settled(self.table, self.players):
                return
            votes = [player for player in self.going() if player.ballot.absent_vote(player.ballot.missing) is not None]
            for player in votes or self.going():
                player.react("vote" if votes else "nil")
        raise ViolationError("live", str([(each.me, each.root, concluded(each.ballot)) for each in self.players]))
