"""Every node that receives two contradicting messages proves the misconduct, whatever has happened in between.

A course is a sequence of moments in the life of one step at one node. At two of these moments the node receives a
message of the same author. The second message must convict the author, whatever became of the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Final

import pytest

from p2pdice.rulesets import PRESETS
from protocol.consensus.kinds import COMMITMENTS, RULES, contradiction
from protocol.consensus.position import Position, Purpose
from protocol.consensus.replica import Learned, Proven, Replica
from protocol.consensus.rule import RejectedMessageError
from protocol.consensus.transcript import write_proof, write_transcript
from protocol.consensus.verifier import Judgement, Verdict, verify
from protocol.crypto.hashing import derive_secret, tagged_hash
from protocol.crypto.keys import MatchKey
from protocol.wire.canonical import Value
from protocol.wire.messages import VOTES, Kind, Message, Signed, sign
from tests.simulation.signatures import cached_checks
from tests.simulation.world import World
from tests.tiers import thoroughly


@cache
def world() -> World:
    played = World(PRESETS["classic"], 4, seed=1)
    played.run()
    return played


class Node:
    """A node that follows the match of :func:`world` up to a step, and then the messages that a test gives it."""

    def __init__(self, until: int) -> None:
        self.replica = Replica(world().data, None)
        self.kept: list[Signed] = []
        for position in world().machines[0].match.history.chain[1 : until + 1]:
            for signed in position.entries.values():
                self.give(signed)

    @property
    def position(self) -> Position:
        return self.replica.history.position

    def give(self, signed: Signed) -> None:
        with suppress(RejectedMessageError):
            self.replica.take(signed._replace(checked=False))
        self.settle()

    def settle(self) -> None:
        self.replica.settle()
        self.kept += [news.signed for news in self.replica.news if isinstance(news, Learned) and news.must_store]
        self.replica.news = [news for news in self.replica.news if isinstance(news, Proven)]

    def fill(self, *, but: int | None = None, resigns: int | None = None) -> None:
        """Give the node the messages that the open step still awaits."""
        before = self.position
        for author in before.owed:
            if author not in (but, *self.replica.history.held):
                self.give(said(before, author, *((Kind.RESIGN, ()) if author == resigns else due(before, author))))


def said(position: Position, author: int, kind: int, body: Value) -> Signed:
    """Return a message for the step of a position, or a vote on its root."""
    match = world().machines[0].match.history.match
    step, tip = (position.root_step, position.root_tip) if kind in VOTES else (position.step, position.tip)
    return sign(Message(match, step, tip, author, kind, body), MatchKey(world().seeds[author]))


def due(position: Position, author: int, which: int = 0) -> tuple[int, Value]:
    """Return the kind and body of a message that an honest player may sign in a step; ``which`` selects one."""
    played = world().machines[0].match.history.chain[position.step : position.step + 2]
    if played[0].tip == position.tip and which == 0:
        return played[1].entries[author].message[4:]
    if position.kind is Kind.REVEAL:
        assert position.committed is not None
        return Kind.REVEAL, derive_secret(world().seeds[author], position.committed.context, "share")
    if position.kind is Kind.COMMIT:
        return Kind.COMMIT, tuple(bytes((which, each)) * 16 for each in range(COMMITMENTS[position.purpose]))
    if position.kind is Kind.MOVE:
        assert position.state is not None
        return Kind.MOVE, "liar" if position.state.bids else "10x3"
    assert position.kind is Kind.LOCK
    return Kind.LOCK, position.signed_hash


# Contradicting pairs

Pair = tuple[tuple[int, Value], tuple[int, Value]]
FALSE: Final = (bytes(32), b"\1" * 32)


def pairs(position: Position) -> Iterator[tuple[str, Pair]]:
    """Yield the contradicting pairs of messages for a step, each with a name."""
    own = due(position, position.owed[-1])
    yield "beside a resignation", (own, (Kind.RESIGN, ()))
    if position.kind is Kind.LOCK:
        yield "on another state", (own, (Kind.LOCK, FALSE[0]))
        yield "on other states", ((Kind.LOCK, FALSE[0]), (Kind.LOCK, FALSE[1]))
    else:
        yield "of one kind", (own, due(position, position.owed[-1], 1))
    one = (position.step, position.tip, position.signed_hash or tuple(b"" for _ in position.owed))
    other = (position.step, b"?" * 32, one[2])
    yield "ABSENTs", ((Kind.ABSENT, (3, one, -1)), (Kind.ABSENT, (3, other, -1)))
    yield "CLOSEs", ((Kind.CLOSE, (3, one)), (Kind.CLOSE, (3, other)))
    yield "a CLOSE and nil", ((Kind.CLOSE, (3, one)), (Kind.CLOSE, (3, ())))
    yield "a vote against its author's CLOSE", ((Kind.CLOSE, (3, one)), (Kind.ABSENT, (4, other, -1)))


# The transitions of a course, from one moment of the step to the next

Turn = Callable[[Node, Position, int], None]


def _stay(node: Node, step: Position, author: int) -> None:
    """Do nothing: the step before is still open."""


def _close(node: Node, step: Position, author: int) -> None:
    node.fill()


def _close_otherwise(node: Node, step: Position, author: int) -> None:
    node.fill(resigns=next(each for each in node.position.owed if each != author))


def _close_without(node: Node, step: Position, author: int) -> None:
    vote_out(node, step, author)
    node.fill(but=author)


def _lock(node: Node, step: Position, author: int) -> None:
    while (
        node.position.locks[-1][0] < step.step and author not in node.replica.proven
    ):  # a convicted author's step stays open
        node.fill()


def _take_back(node: Node, step: Position, author: int) -> None:
    """Receive the others' decision that the author was absent from the step, which this node had closed."""
    vote_out(node, step, author)


def _switch_to(node: Node, step: Position, author: int) -> None:
    """Receive a history that includes the step and a completed LOCK after it."""
    other = Node(step.step)
    other.fill()
    _lock(other, step, author)
    show(node, other)


def _go_elsewhere(node: Node, step: Position, author: int) -> None:
    """Receive a history with a completed LOCK that never included the step."""
    other = Node(step.step - 1)
    _close_otherwise(other, step, author)
    _lock(other, step, author)
    show(node, other)


def vote_out(node: Node, step: Position, author: int) -> None:
    """Give the node the other players' decision that one player was absent."""
    entries = tuple(b"" if each == author else said(step, each, *due(step, each)).id for each in step.owed)
    value = (step.step, step.tip, step.signed_hash or entries)
    for each in range(4):
        if each != author:
            node.give(said(step, each, Kind.CLOSE, (0, value)))


def show(node: Node, other: Node) -> None:
    """Give a node the messages of another."""
    for signed in other.replica.messages():
        node.give(signed)


COURSES: Final[Mapping[str, Mapping[str, Turn]]] = {
    "closed with all": {"later": _stay, "open": _close, "closed": _close, "final": _lock},
    "closed without the author": {"later": _stay, "open": _close, "closed": _close_without, "final": _lock},
    "taken back": {"later": _stay, "open": _close, "closed": _close, "taken back": _take_back, "final": _lock},
    "not on this history": {"later": _stay, "foreign": _close_otherwise, "closed": _close, "final": _lock},
    "left for another history": {"later": _stay, "open": _close, "closed": _close, "left": _go_elsewhere},
    "come to from another history": {"later": _stay, "foreign": _close_otherwise, "come to": _switch_to},
}
STEPS: Final = {
    "COMMIT": (Purpose.DEAL, Kind.COMMIT),
    "LOCK": (Purpose.DEAL, Kind.LOCK),
    "MOVE": (Purpose.TURN, Kind.MOVE),
}


@cache
def target(name: str) -> Position:
    """Return the first position of a kind of step."""
    chain = world().machines[0].match.history.chain
    return next(each for each in chain if (each.purpose, each.kind) == STEPS[name] and each.owed != (0,))


def cases() -> Iterator[tuple[str, str]]:
    for course, step in itertools.product(COURSES, STEPS):
        if not (step == "LOCK" and course in ("taken back", "left for another history")):  # a closed LOCK is final
            yield course, step


CASES: Final = list(cases())


@pytest.mark.parametrize("case", [*CASES[::6], *thoroughly(sorted({*CASES} - {*CASES[::6]}))], ids=" of ".join)
@pytest.mark.parametrize("turned", [0, *thoroughly([1])])
@cached_checks()
def test_two_messages_are_a_proof_in_any_order_and_place(case: tuple[str, str], turned: int) -> None:
    """Every second pair is given in reverse order; ``turned`` says whether the odd or the even ones."""
    course, step = case
    missed = []
    place = target(step)
    moments = list(COURSES[course])
    author = place.owed[-1]
    ways = itertools.product(pairs(place), itertools.combinations_with_replacement(moments, 2))
    for number, ((name, pair), (early, late)) in enumerate(ways, turned):
        first, second = pair[::-1] if number % 2 else pair
        node = Node(place.step - 1)
        for moment, turn in COURSES[course].items():
            turn(node, place, author)
            if moment == early:
                node.give(said(place, author, *first))
            if moment == late:
                node.give(said(place, author, *second))
                break
        names = [RULES[kind].name for kind, _ in (first, second)]
        told = f"{name}: {names[0]} when it is {early}, {names[1]} when it is {late}"
        found = convinced(node, author)
        if not all(found.values()):
            missed.append(f"{told}: {[each for each, is_convinced in found.items() if not is_convinced]}")
    assert not missed, "\n".join(missed)


def convinced(node: Node, author: int) -> dict[str, bool]:
    """Tell who finds that an author broke the rules: the node, and each reader of its messages or files."""
    replica = node.replica
    if author not in replica.proven:
        return {"the node": False}
    restarted = Replica(world().data, None)
    restarted.take_stored(node.kept)
    other = Node(0)
    for signed in replica.messages():
        other.give(signed)
    culprit = replica.history.genesis.roster[author].join.nickname
    files = {
        "a reader of the proof": write_proof(replica.history, replica.proven[author]),
        "a reader of the transcript": write_transcript(replica.history, replica.proven.values()),
    }
    return {
        "the node after a restart": author in restarted.proven,
        "a node that receives its messages": author in other.replica.proven,
        **{reader: blames(verify(file), culprit) for reader, file in files.items()},
    }


def blames(verdict: Verdict, nickname: str) -> bool:
    """Tell whether a verdict blames this player."""
    return verdict.verdict is Judgement.MISCONDUCT and f"{nickname} " in verdict.reason


def test_contradictions_on_a_branch_that_is_not_followed_are_found() -> None:
    """A cheat signs two bids. The node follows one of them; after the other, a second player contradicts themselves."""
    step = target("MOVE")
    (cheat,) = step.owed
    node, other = Node(step.step), Node(step.step)
    first = due(step, cheat)
    quantity, face = str(first[1]).split("x")
    second = Kind.MOVE, f"{int(quantity) + 5}x{face}"
    node.give(said(step, cheat, *first))
    other.give(said(step, cheat, *second))
    node.fill()
    (liar,) = other.position.owed
    node.give(said(step, cheat, *second))
    assert node.replica.proven.keys() == {cheat}
    for kind in (Kind.RESIGN, Kind.MOVE):
        node.give(said(other.position, liar, kind, () if kind is Kind.RESIGN else "liar"))
    assert node.replica.proven.keys() == {cheat, liar}
    assert not node.replica.history.goes_through(other.position)


@pytest.mark.parametrize("order", itertools.permutations(range(3)))
def test_a_branch_with_one_signature_after_it_is_followed_in_any_order_of_arrival(
    order: tuple[int, ...],
) -> None:
    """In one order of arrival, two players once stayed on two branches, each the only signer after its own."""
    step = target("MOVE")
    (cheat,) = step.owed
    node, other = Node(step.step), Node(step.step)
    quantity, face = str(due(step, cheat)[1]).split("x")
    first, second = (said(step, cheat, Kind.MOVE, f"{int(quantity) + more}x{face}") for more in (0, 5))
    other.give(second)
    (author,) = other.position.owed
    after = said(other.position, author, Kind.MOVE, "liar")
    for each in order:
        node.give((first, second, after)[each])
    other.give(after)
    assert node.position.tip == other.position.tip


def test_votes_of_an_author_outside_the_base_contradict_each_other() -> None:
    step = target("COMMIT")
    node = Node(step.step)
    author = step.owed[0]
    node.fill(resigns=author)
    while author in node.position.base:
        node.fill()
    place = node.position
    first, second = (said(place, author, Kind.ABSENT, (0, (place.step, tip * 32, (b"",)), -1)) for tip in (b"1", b"2"))
    with pytest.raises(RejectedMessageError, match="may not vote"):
        node.replica.take(first)
    node.give(second)
    assert author in node.replica.proven


def test_a_third_message_closes_a_step_that_other_players_closed_with_it() -> None:
    """A player who holds the first two messages can follow players who received only the third."""
    step = target("COMMIT")
    author = step.owed[-1]
    node, other = Node(step.step), Node(step.step)
    first, second = (said(step, author, Kind.COMMIT, (bytes((each,)) * 32,) * 2) for each in (1, 2))
    third = said(step, author, Kind.RESIGN, ())
    for each in (node, other):
        each.fill(but=author)
    for signed in (first, second, third):
        node.give(signed)
    assert author in node.replica.proven
    other.give(third)
    other.fill()
    other.fill()
    for signed in (*other.replica.messages(), *other.replica.messages()):
        node.give(signed)
    assert node.position.tip == other.position.tip


def test_a_restarted_node_still_follows_a_third_message_that_closed_a_step() -> None:
    """The message that justified keeping the third one is stored later, or not at all."""
    step = target("COMMIT")
    author = step.owed[-1]
    node, restarted = Node(step.step), Node(step.step)
    node.fill(but=author)
    for which in (0, 1, 2):
        other = Node(step.step)
        other.fill(but=author)
        other.give(said(step, author, *due(step, author, which)))
        if which == 2:
            node.give(said(other.position, step.owed[0], *due(other.position, step.owed[0])))
        node.give(said(step, author, *due(step, author, which)))
    assert node.position.tip == other.position.tip
    restarted.replica = Replica(world().data, None)
    restarted.replica.take_stored(node.kept)
    assert restarted.position.tip == other.position.tip


def test_only_one_message_and_one_vote_per_author_are_kept_outside_the_history() -> None:
    step = target("MOVE")
    author = step.owed[-1]
    node = Node(step.step)
    for each in range(100):
        place = step._replace(step=each % step.step, tip=bytes((each,)) * 32)
        node.give(said(place, author, Kind.RESIGN, ()))
        vote = (0, (step.step, step.tip, (b"",)), -1)
        node.give(said(place._replace(root_step=each % 3, root_tip=place.tip), author, Kind.ABSENT, vote))
    assert len(node.replica._aside) == 2
    assert not node.replica.proven


def test_a_restarted_node_that_forgot_half_of_a_proof_is_shown_both_messages() -> None:
    """The first message had no place in the history and nothing depended on it, so it was not stored."""
    step = target("LOCK")
    author = step.owed[-1]
    first, second = (said(step, author, Kind.LOCK, state) for state in FALSE)
    other, restarted = Node(step.step), Node(step.step)
    for node in (other, restarted):
        node.give(first)
    stored, restarted.replica = restarted.kept, Replica(world().data, None)
    restarted.replica.take_stored(stored)
    for node in (restarted, other):
        node.give(second)
    assert not restarted.replica.proven
    assert author in other.replica.proven
    show(restarted, other)
    assert author in restarted.replica.proven


def test_two_results_contradict_each_other_at_any_two_steps() -> None:
    key = MatchKey(bytes(32))
    ends = [sign(Message(bytes(32), step, bytes(32), 0, Kind.RESULT, bytes([step]) * 32), key) for step in (0, 9)]
    told = contradiction(*ends)
    assert told.startswith("signed two ends of one match: ")
    assert "in the same place" not in told


@pytest.mark.parametrize(("early", "late"), [(0, 0), (0, 1), (1, 1)], ids=["before", "before and after", "after"])
@cached_checks()
def test_two_results_are_a_proof_before_and_after_the_end(early: int, late: int) -> None:
    short = World(PRESETS["classic"].with_options({"dice": "1"}), 3, seed=1)
    short.run()
    chain = short.machines[0].match.history.chain
    here, start = chain[-1], chain[0]
    ends = {
        "right": (here.step, here.tip, here.signed_hash),
        "false": (here.step, here.tip, FALSE[0]),
        "elsewhere": (here.step, b"?" * 32, FALSE[1]),
        "too early": (chain[-9].step, chain[-9].tip, b"?" * 32),
        "void": (start.step, start.tip, tagged_hash("void", start.tip)),
    }
    missed = []
    for names in itertools.permutations(ends, 2):
        results = [Message(start.tip, *ends[name][:2], 1, Kind.RESULT, ends[name][2]) for name in names]
        replica = Replica(short.data, None)
        for moment, part in enumerate((chain[1:-3], chain[-3:])):
            given = [signed for position in part for signed in position.entries.values()]
            given += [
                sign(each, MatchKey(short.seeds[1]))
                for each, when in zip(results, (early, late), strict=True)
                if when == moment
            ]
            for signed in given:
                with suppress(RejectedMessageError):
                    replica.take(signed._replace(checked=False))
                replica.settle()
        assert replica.history.position.tip == here.tip
        if (
            replica.proven.keys() != {1}
            or verify(write_proof(replica.history, replica.proven[1])).verdict != "misconduct"
        ):
            missed.append(names)
    assert not missed
