"""How a match is formed, in small worlds, all of them: what a host or guest who lies can do with two proposals.

A world is a table of three or four players, one a liar, and two proposals of it. Its state is what every honest
node knows and has done, and what is under way between them; a liar has no state, and may show everything that they can
sign to anybody at any time. Honest nodes are the real :class:`protocol.match.match.Match` and
:class:`protocol.node.proposals.Proposals`. They are deterministic, so what an event makes of one state of one node is
worked out once and looked up in every world where it happens again.

Messages between two honest nodes arrive in order and, as long as their link is up, all of them. A node that knows of a
RESIGN calls a match off no sooner than what it said then has reached everybody who is linked, and what they had said by
then has come back: that is what :data:`~protocol.limits.WITHDRAWAL` gives time for. It may be any time later. Over a
link that comes up each shows what it holds.

Followed until a node *goes on* in a match: it has closed the COMMIT of the first roll, or votes on it. What comes then
is for :mod:`tests.simulation.small_worlds`.

"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from p2pdice import PRESETS
from protocol import limits
from protocol.consensus import history as history_module
from protocol.consensus.history import History
from protocol.consensus.kinds import RULES, parse_signed
from protocol.consensus.position import FORMED
from protocol.crypto.keys import MatchKey
from protocol.match.effects import (
    Broadcast,
    CalledOff,
    Formed,
    Linked,
    MatchInput,
    PassOn,
    Received,
    Send,
    Ticked,
    Unlinked,
    Withdrawn,
)
from protocol.match.match import Match
from protocol.node.proposals import Proposals
from protocol.wire.frames import Carried
from protocol.wire.genesis import Genesis, parse_genesis
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.simulation.replacing import replaced
from tests.simulation.world import TABLE, UNHURRIED, join_record, match_seed


def seed(number: int) -> bytes:
    """Return what all keys of a proposal follow from."""
    return b"forming %d" % number


class ViolationError(AssertionError):
    """A claim does not hold; ``trace`` is how the world came there."""

    def __init__(self, claim: str, trace: Sequence[object] = ()) -> None:
        super().__init__("\n".join([claim, *map(str, trace)]))


_GENESES: Final[dict[bytes, Genesis]] = {}


def _parsed(data: bytes) -> Genesis:
    """Return a genesis, each parsed once: that takes longer than all that a node does."""
    if data not in _GENESES:
        _GENESES[data] = parse_genesis(data)
    return _GENESES[data]


class Proposal:
    """One match that is proposed, at one node; in the place of a ``PlayerSession``."""

    has_purse = True
    """There are no stakes."""

    def __init__(self, node: Node, number: int) -> None:
        world, me = node.world, node.me
        self.node, self.number, self.now = node, number, 0.0
        roster = world.rosters[number]
        secret = match_seed(seed(number), me)
        self.match = Match(world.genesis[number], roster.index(me), secret, is_host=me == world.host)

    def feed(self, item: MatchInput) -> None:
        world, number = self.node.world, self.number
        for effect in self.match.handle(item, self.now):
            match effect:
                case Broadcast(Carried(data, signature)):
                    for person in world.rosters[number]:
                        self.node.said.append((person, world.number(parse_signed(data, signature))))
                case Send(author, Carried(data, signature)):
                    person = world.rosters[number][author]
                    self.node.said.append((person, world.number(parse_signed(data, signature))))
                case PassOn():
                    for author in effect.authors:
                        self.node.said.append((world.rosters[number][author], world.number(effect.signed)))
                case Formed():
                    self.node.proposals.withdraw(but=self)  # type: ignore[arg-type]
                case CalledOff():
                    self.node.called_off(self)

    def close(self) -> None:
        """Nothing is to be stopped here."""

    @property
    def goes_on(self) -> bool:
        """Whether this node takes the match for formed, or votes on the step that forms it."""
        return self.match.replica.may_vote

    @property
    def state(self) -> object:
        """All that what comes next can depend on."""
        match, replica, history = self.match, self.match.replica, self.match.history
        return (
            history.position.tip,
            frozenset(signed.id for signed in history.held.values()),
            replica.is_called_off,
            match._timers.declined_at is not None,
            match.signer.is_withdrawn,
            frozenset(match._links.linked),
            frozenset(signed.id for kept in replica._later.values() for signed in kept.values()),
            frozenset(signed.id for kept in replica._aside.values() for signed in kept.values()),
            frozenset(signed.id for signed in replica._second.values()),
            tuple(sorted((author, *(each.id for each in e.evidence)) for author, e in replica.proven.items())),
            frozenset(vote.source.id for ballot in replica.absence.ballots.values() for vote in ballot.votes()),
        )


class Node:
    """An honest player's node, brought to a state by the events since the beginning."""

    def __init__(self, world: World, me: int) -> None:
        self.world, self.me = world, me
        self.proposals = Proposals()
        self.known: dict[int, Proposal] = {}
        self.said: list[tuple[int, int | str]] = []
        """What it has sent since that was fetched: to whom, and the number of a message, or a proposal."""
        self.early: list[tuple[int, int]] = []
        """Messages for a proposal that has not come: sender and number."""
        self.linked = {person for person in world.people if person != me} - world.cut(me)

    def take(self, event: Event) -> None:
        """Live through one event."""
        match event:
            case "offer", int(number), int():
                if number not in self.known:
                    self._begin(number)
            case "hear", int(message), int(sender):
                self._hear(message, sender)
            case "wait", int(number), int():
                proposal = self.known[number]
                proposal.now += limits.WITHDRAWAL
                proposal.feed(Ticked())
            case "link", int(person), int():
                self.linked.add(person)
                for proposal in self.known.values():
                    if person in self.world.rosters[proposal.number]:
                        proposal.feed(Linked(self.world.rosters[proposal.number].index(person)))
            case "cut", int(person), int():
                self.linked.discard(person)
                for proposal in self.known.values():
                    if person in self.world.rosters[proposal.number]:
                        proposal.feed(Unlinked(self.world.rosters[proposal.number].index(person)))
            case "withdraw", int(number), int():
                self._withdraw(number)
            case _:
                raise AssertionError(event)

    def _begin(self, number: int) -> None:
        proposal = self.known[number] = Proposal(self, number)
        self.proposals.add(proposal)  # type: ignore[arg-type]
        proposal.feed(Ticked())
        roster = self.world.rosters[number]
        for person in sorted(self.linked & {*roster}):
            proposal.feed(Linked(roster.index(person)))
        early, self.early = self.early, []
        for sender, message in early:
            self._hear(message, sender)

    def _hear(self, message: int, sender: int) -> None:
        signed, number = self.world.messages[message]
        proposal = self.known.get(number)
        if proposal is None:
            self.early.append((sender, message))
        elif not proposal.goes_on or (signed.message.step < FORMED and signed.message.kind in _FORMING):
            proposal.feed(Received(self.world.rosters[number].index(sender), signed))

    def called_off(self, proposal: Proposal) -> None:
        self.proposals.called_off(proposal)  # type: ignore[arg-type]
        if self.me == self.world.host:
            self._withdraw(proposal.number)

    def _withdraw(self, number: int) -> None:
        """As the host does: withdraw what was proposed, and propose the match anew."""
        self.known[number].feed(Withdrawn())
        for anew in range(number + 1, len(self.world.rosters)):
            if anew not in self.known:
                self._begin(anew)
                self.said += [(person, "offer") for person in self.world.rosters[anew]]

    @property
    def state(self) -> object:
        return (
            tuple(sorted((number, each.state) for number, each in self.known.items())),
            tuple(sorted(self.early)),
            frozenset(self.linked),
        )


_FORMING: Final = (Kind.LOCK, Kind.COMMIT, Kind.RESIGN)

Event = tuple[str, int, int]
"""("offer", proposal, -), ("hear", message, sender), ("wait", proposal, -), ("link" | "cut", person, -) or ("withdraw",
proposal, -)."""


Question = tuple[int, int]
"""Whether all have heard of a RESIGN: in which proposal and step."""


Item = tuple[str, Any]
"""What is under way: ("message", number), ("offer", proposal), or ("asks" | "answers", question)."""


class Standing(NamedTuple):
    """One state of one node, and what is asked of it."""

    goes_on: tuple[int, ...]
    """Proposals in which it does."""
    bound: tuple[int, ...]
    """Those whose COMMIT it has signed and that it has not called off."""
    waiting: tuple[Question, ...]
    """Those in which it knows of a RESIGN, and that it has not called off."""
    declined: tuple[int, ...]
    """Those in which it knows of a RESIGN, called off or not."""
    begun: tuple[int, ...]
    """Those that have been shown to it."""
    holds: tuple[int, ...]
    """Messages that it shows to whoever asks, in order."""


class State(NamedTuple):
    """A state of the world."""

    nodes: tuple[int, ...]
    """The number of the state of each honest node."""
    ways: tuple[tuple[Item, ...], ...]
    """What is under way between each two of them, in order: messages, proposals, and questions whether all has come."""
    unanswered: tuple[tuple[tuple[Question, int, bool], ...], ...]
    """For each node: a proposal, and who has not answered whether all have heard, or is owed the answer."""
    changes: int
    """How often links may still come up or go down."""


@dataclass
class World:
    """What is fixed in a world; all states of its nodes that came up so far.

    :param rosters: who plays in each of the two proposals.
    :param liar: who lies.
    :param host: who proposes.
    :param cuts: pairs of honest players who are not linked at first.
    :param changes: how often the link of the first of these pairs comes up or goes down.
    :param steps: in which steps the liar signs what they like; they lock the others as they should.
    :param commits: how many different COMMITs they sign.
    """

    rosters: tuple[tuple[int, ...], ...] = ((0, 1, 2), (0, 1))
    liar: int = 0
    host: int = 0
    cuts: tuple[tuple[int, int], ...] = ()
    changes: int = 0
    steps: tuple[int, ...] = (1,)
    commits: int = 1

    def __post_init__(self) -> None:
        self.people = tuple(sorted({person for roster in self.rosters for person in roster}))
        self.honest = tuple(person for person in self.people if person != self.liar)
        self.messages: list[tuple[Signed, int]] = []
        self._numbers: dict[bytes, int] = {}
        self.genesis: list[bytes] = []
        sorted_rosters = []
        for number, people in enumerate(self.rosters):
            records = {person: join_record(seed(number), person) for person in people}
            roster = tuple(sorted(people, key=lambda person: records[person].join.identity))
            sorted_rosters.append(roster)
            genesis = Genesis(TABLE, PRESETS["classic"], UNHURRIED, tuple(records[person] for person in roster))
            self.genesis.append(genesis.encoded())
        self.rosters = tuple(sorted_rosters)
        self._matches = {History(data).match: number for number, data in enumerate(self.genesis)}
        self._nodes: list[tuple[int, tuple[Event, ...]]] = []
        self._standing: list[Standing] = []
        self._known: dict[object, int] = {}
        self._after: dict[tuple[int, Event], tuple[int, tuple[tuple[int, int | str], ...]]] = {}
        self.lies = [message for number in range(len(self.rosters)) for message in self._lies(number)]

    def cut(self, me: int) -> set[int]:
        return {other for pair in self.cuts for other in pair if me in pair and other != me}

    def number(self, signed: Signed) -> int:
        """Return the number of a message."""
        if signed.id not in self._numbers:
            self._numbers[signed.id] = len(self.messages)
            self.messages.append((signed._replace(checked=True), self._matches[signed.message.match]))
        return self._numbers[signed.id]

    def _lies(self, number: int) -> Iterator[int]:
        """Yield what the liar can show in a proposal."""
        roster = self.rosters[number]
        if self.liar not in roster:
            return
        history = History(self.genesis[number])
        secrets = [match_seed(seed(number), person) for person in roster]
        nodes = [Match(self.genesis[number], author, secrets[author]) for author in range(len(roster))]
        author = roster.index(self.liar)

        def by_liar(kind: Kind, body: Any) -> int:
            place = history.position
            message = Message(history.match, place.step, place.tip, author, kind, body)
            return self.number(sign(message, MatchKey(secrets[author])))

        yield by_liar(Kind.LOCK, history.position.lock)
        if 0 in self.steps:
            yield by_liar(Kind.RESIGN, ())
        for node in nodes:
            for effect in node.handle(Ticked(), 0.0):
                if isinstance(effect, Broadcast) and isinstance(effect.frame, Carried):
                    history.add(parse_signed(effect.frame.data, effect.frame.signature))
        if 1 in self.steps:
            yield by_liar(Kind.RESIGN, ())
        for commit in range(self.commits):
            yield by_liar(Kind.COMMIT, (bytes([commit]) * 32,))

    # One node

    def node(self, me: int) -> int:
        """Return the number of the state of a node that has lived through nothing yet."""
        return self._enter(Node(self, me), ())

    def _enter(self, node: Node, trace: tuple[Event, ...]) -> int:
        key = node.me, node.state
        if key not in self._known:
            self._known[key] = len(self._nodes)
            self._nodes.append((node.me, trace))
            matches = {number: each.match for number, each in node.known.items()}
            declined = tuple(number for number, match in matches.items() if match.history.declined)
            self._standing.append(
                Standing(
                    goes_on=tuple(number for number, each in node.known.items() if each.goes_on),
                    bound=tuple(number for number, match in matches.items() if match.is_bound or match.is_formed),
                    waiting=tuple(
                        (number, matches[number].history.position.step)
                        for number in declined
                        if not matches[number].replica.is_called_off
                    ),
                    declined=declined,
                    begun=tuple(matches),
                    holds=tuple(
                        dict.fromkeys(
                            [number for _, number in node.early]
                            + [self.number(signed) for match in matches.values() for signed in match.replica.shown(0)]
                        )
                    ),
                )
            )
        return self._known[key]

    def after(self, node: int, event: Event) -> tuple[int, tuple[tuple[int, int | str], ...]]:
        """Return what an event makes of the state of a node, and what the node sends."""
        if (node, event) not in self._after:
            me, trace = self._nodes[node]
            with replaced(history_module, parse_genesis, _parsed):
                again = Node(self, me)
                for each in trace:
                    again.take(each)
                again.said.clear()
                again.take(event)
            self._after[node, event] = self._enter(again, (*trace, event)), tuple(again.said)
        return self._after[node, event]

    # All of them

    def explore(self) -> int:
        """Return how many states there are.

        :raises ViolationError: in the first in which a claim does not hold.
        """
        first = self._first()
        came: dict[State, tuple[State, object] | None] = {first: None}
        stack = [first]
        while stack:
            state = stack.pop()
            try:
                self._check(state)
                is_still = True
                for what, following, is_lie in self._following(state):
                    is_still = is_still and is_lie
                    if following not in came:
                        came[following] = state, what
                        stack.append(following)
                if is_still:
                    following = self._catch_up(state)
                    if following == state:
                        self._check_still(state)
                    elif following not in came:
                        came[following] = state, "all show what they hold"
                        stack.append(following)
            except ViolationError as error:
                trace: list[object] = []
                step = came[state]
                while step is not None:
                    trace.append(step[1])
                    step = came[step[0]]
                raise ViolationError(str(error), trace[::-1]) from None
        return len(came)

    def _first(self) -> State:
        """Return the state in which the first proposal was shown to all; if no lies are told before, they have locked
        it."""
        count = len(self.honest)
        pairs = len(self.honest) ** 2
        nodes = tuple(self.node(person) for person in self.honest)
        state = State(nodes, ((),) * pairs, ((),) * count, self.changes)
        for person in self.honest:
            state = self._happens(state, person, ("offer", 0, 0))
        if 0 not in self.steps:
            for person in self.honest:
                state = self._happens(state, person, ("hear", self.lies[0], self.liar))
            while ways := [number for number, way in enumerate(state.ways) if way]:
                state = self._arrives(state, ways[0])
        return state

    def _following(self, state: State) -> Iterator[tuple[object, State, bool]]:
        """Yield what can happen, what that makes of the world, and whether it may as well never happen."""
        for number, way in enumerate(state.ways):
            if way:
                sender, receiver = divmod(number, len(self.honest))
                what = self.honest[sender], self.honest[receiver], self._describe(way[0])
                yield what, self._arrives(state, number), False
        for place, person in enumerate(self.honest):
            standing = self._standing[state.nodes[place]]
            for question in standing.waiting:
                if not any(asked == question and is_mine for asked, _, is_mine in state.unanswered[place]):
                    event = ("wait", question[0], 0)
                    yield (person, event), self._happens(state, person, event), False
            if person == self.host:
                for proposal in {*standing.begun[-1:]} - {*standing.goes_on, len(self.rosters) - 1}:
                    event = ("withdraw", proposal, 0)
                    yield (person, event), self._happens(state, person, event), True
            for message in self.lies:
                event = ("hear", message, self.liar)
                if person in self.rosters[self.messages[message][1]] and message not in standing.holds:
                    lie = person, "hears", self._describe(("message", message))
                    yield lie, self._happens(state, person, event), True
            if self.host == self.liar:
                for proposal in range(len(self.rosters)):
                    if proposal not in standing.begun and person in self.rosters[proposal]:
                        event = ("offer", proposal, 0)
                        yield (person, event), self._happens(state, person, event), True
        if state.changes:
            is_up = (self.changes - state.changes) % 2 == 1
            one, other = self.cuts[0]
            following = state._replace(changes=state.changes - 1)
            for me, peer in ((one, other), (other, one)):
                following = self._happens(following, me, ("cut" if is_up else "link", peer, 0))
            if is_up:
                following = self._lose(following, one, other)
            yield "cut" if is_up else "link", following, is_up

    def _lose(self, state: State, one: int, other: int) -> State:
        """Drop what is under way between two players, and wait for no answer that was to come over their link."""
        ways, unanswered = list(state.ways), list(state.unanswered)
        for me, peer in ((one, other), (other, one)):
            ways[self._way(me, peer)] = ()
            place = self.honest.index(me)
            unanswered[place] = tuple(each for each in unanswered[place] if each[1] != peer)
        return state._replace(ways=tuple(ways), unanswered=tuple(unanswered))

    def _way(self, sender: int, receiver: int) -> int:
        return self.honest.index(sender) * len(self.honest) + self.honest.index(receiver)

    def _describe(self, item: Item) -> object:
        if item[0] != "message":
            return item
        signed, number = self.messages[item[1]]
        author = self._author(item[1])
        return f"{RULES[signed.message.kind].name} of {author} for step {signed.message.step} of proposal {number}"

    def _arrives(self, state: State, number: int) -> State:
        """Let the next thing on a way arrive."""
        sender, receiver = (self.honest[place] for place in divmod(number, len(self.honest)))
        (kind, what), *rest = state.ways[number]
        state = state._replace(ways=(*state.ways[:number], tuple(rest), *state.ways[number + 1 :]))
        if kind == "message":
            return self._happens(state, receiver, ("hear", what, sender))
        if kind == "offer":
            return self._happens(state, receiver, ("offer", what, 0))
        place = self.honest.index(receiver)
        known = {*state.unanswered[place]}
        if kind == "asks":
            known.add((what, sender, False))
        else:
            known.discard((what, sender, True))
        return self._answer(state, receiver, known)

    def _answer(self, state: State, person: int, known: set[tuple[Question, int, bool]]) -> State:
        """Answer whoever asks whether all have heard, when the others behind have answered."""
        place, ways = self.honest.index(person), list(state.ways)
        for what in sorted(known):
            question, peer, is_mine = what
            behind = {who for asked, who, mine in known if mine and asked == question}
            if not is_mine and behind <= {peer, *self._linked(state, peer)}:
                known.discard(what)
                ways[self._way(person, peer)] += (("answers", question),)
        unanswered = (*state.unanswered[:place], tuple(sorted(known)), *state.unanswered[place + 1 :])
        return state._replace(ways=tuple(ways), unanswered=unanswered)

    def _happens(self, state: State, person: int, event: Event) -> State:
        """Let something happen to a node, and send what it says."""
        place = self.honest.index(person)
        before = state.nodes[place]
        node, said = self.after(before, event)
        ways, known = list(state.ways), {*state.unanswered[place]}
        linked = self._linked(state, person)
        for peer, what in said:
            if peer in linked:
                item: Item = ("offer", len(self.rosters) - 1) if isinstance(what, str) else ("message", what)
                way = self._way(person, peer)
                if item not in ways[way] and not self._holds(state, peer, what):
                    ways[way] += (item,)
        old, new = {*self._standing[before].waiting}, {*self._standing[node].waiting}
        known = {each for each in known if not each[2] or each[0] not in old - new}
        for question in sorted(new - old):
            for peer in sorted(linked & {*self.rosters[question[0]]}):
                ways[self._way(person, peer)] += (("asks", question),)
                known.add((question, peer, True))
        nodes = (*state.nodes[:place], node, *state.nodes[place + 1 :])
        return self._answer(state._replace(nodes=nodes, ways=tuple(ways)), person, known)

    def _linked(self, state: State, person: int) -> set[int]:
        """Return which honest players somebody is linked with."""
        is_cut = (self.changes - state.changes) % 2 == 0
        return {*self.honest} - {person} - (self.cut(person) if is_cut else set())

    def _catch_up(self, state: State) -> State:
        """Let all show each other what they hold, as they do now and then."""
        ways = list(state.ways)
        for person, node in zip(self.honest, state.nodes, strict=True):
            for peer in sorted(self._linked(state, person)):
                for number in self._standing[node].holds:
                    is_lacking = not self._holds(state, peer, number)
                    if is_lacking and self._happens(state, peer, ("hear", number, person)) != state:
                        ways[self._way(person, peer)] += (("message", number),)
        return state._replace(ways=tuple(ways))

    def _holds(self, state: State, person: int, what: int | str) -> bool:
        """Tell whether somebody holds a message, or it is of their own or none for them."""
        if isinstance(what, str):
            return False
        node = state.nodes[self.honest.index(person)]
        is_for_them = person in self.rosters[self.messages[what][1]] and person != self._author(what)
        return not is_for_them or what in self._standing[node].holds

    def _author(self, number: int) -> int:
        signed, proposal = self.messages[number]
        return self.rosters[proposal][signed.message.author]

    # What must hold

    def _check(self, state: State) -> None:
        """Nobody is bound by two matches, or left out of one with which others go on as long as all are linked."""
        standings = [self._standing[node] for node in state.nodes]
        if any(len({*each.goes_on, *each.bound}) > 1 for each in standings):
            raise ViolationError("a player is bound by two matches")
        if not self.cuts:
            for number, _ in enumerate(self.rosters):
                if any(number in each.goes_on for each in standings):
                    for place, each in enumerate(standings):
                        elsewhere = {*each.goes_on, *each.bound} - {number}
                        if self.honest[place] in self.rosters[number] and elsewhere:
                            raise ViolationError("a player is bound elsewhere while others go on")

    def _check_still(self, state: State) -> None:
        """When all has arrived, whoever goes on in a match does so with all who are not bound elsewhere, and nobody is
        bound in one that was declined."""
        if self.changes and (self.changes - state.changes) % 2 == 0:
            return  # they are not linked
        standings = {person: self._standing[node] for person, node in zip(self.honest, state.nodes, strict=True)}
        for number, roster in enumerate(self.rosters):
            players = {person: standing for person, standing in standings.items() if person in roster}
            if any(number in each.goes_on for each in players.values()):
                for each in players.values():
                    if number not in each.goes_on and not {*each.bound} - {number}:
                        raise ViolationError("a player who is free does not go on with the others")
            elif any(number in each.declined for each in players.values()) and any(
                number in each.bound for each in players.values()
            ):
                raise ViolationError("a player is bound in a match that will not be formed")
