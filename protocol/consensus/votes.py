"""Votes on going on without somebody: what they say, which two contradict each other, and how many decide.

SPEC.md, §6 has the rule. A vote is about a *root*, the tip behind which nothing is final yet. It names a *value*: where
full steps lead from the root to, and how the step there is to be closed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple, cast

from protocol.consensus.position import Position
from protocol.wire.canonical import Value as Encodable
from protocol.wire.canonical import encode
from protocol.wire.messages import Kind, Signed

Entries = tuple[bytes, ...]
"""For each author who owes an ordinary step, in ascending order, the id of the message; empty for a hole."""


class Value(NamedTuple):
    """What a vote would go on with."""

    step: int
    tip: bytes
    """Of the step that is to be closed."""
    entries: Entries | bytes
    """At a LOCK the state hash: the LOCK is closed, and nobody is put out."""

    def order(self) -> bytes:
        """Return the bytes by which values are compared."""
        return encode(tuple(self))


class Vote(NamedTuple):
    """One ABSENT or CLOSE."""

    root: bytes
    """The tip of the root."""
    author: int
    is_close: bool
    round: int
    value: Value | None
    """None for a CLOSE that closes nothing but its round."""
    newest: int = -1
    """In an ABSENT, the round of the polka that makes its author vote so; -1 for none."""
    source: Signed | None = None
    """None in a vote that is not signed yet."""

    @property
    def signed(self) -> Signed:
        """The signed message that carries the vote."""
        assert self.source is not None
        return self.source


def read_vote(signed: Signed) -> Vote:
    """Return what a message of one of the kinds :data:`~protocol.wire.messages.VOTES` says; its shape was checked."""
    message = signed.message
    number, value, *newest = cast("tuple[Any, ...]", message.body)
    named = Value(*value) if value else None
    is_close = message.kind is Kind.CLOSE
    return Vote(message.tip, message.author, is_close, number, named, -1 if is_close else newest[0], signed)


def spell_vote(vote: Vote) -> tuple[Kind, Encodable]:
    """Return kind and body of the message that says a vote."""
    value = () if vote.value is None else tuple(vote.value)
    return (Kind.CLOSE, (vote.round, value)) if vote.is_close else (Kind.ABSENT, (vote.round, value, vote.newest))


def vote_contradiction(one: Vote, other: Vote) -> str:
    """Return how two votes of one author on one root contradict each other, in words; empty if they do not."""
    if one.is_close is other.is_close:
        is_same = one.round != other.round or (one.value, one.newest) == (other.value, other.newest)
        return "" if is_same else "voted twice in one round"
    close, absent = (one, other) if one.is_close else (other, one)
    if close.value is not None and absent.newest < close.round < absent.round and absent.value != close.value:
        return "voted against their own vote to go on"
    return ""


# Quorums


def leavers(position: Position, entries: Mapping[int, Signed]) -> set[int]:
    """Return the authors who leave when an ordinary step is closed with these messages: those of holes and RESIGNs."""
    staying = {author for author, signed in entries.items() if signed.message.kind is not Kind.RESIGN}
    return set(position.owed).difference(staying)


def is_possible(position: Position, leaving: Collection[int]) -> bool:
    """Tell whether the others can go on if these authors leave: more than half of the base, one of them in the game. At
    the end nobody need be in the game any more."""
    remaining, live = set(position.base).difference(position.left, leaving), set(position.live)
    is_anybody_left = not remaining.isdisjoint(live) or (position.kind is Kind.LOCK and not live)
    return len(remaining) >= position.majority and is_anybody_left


def elect(
    position: Position, leaving: Collection[int], voters: Iterable[int], backers: Iterable[int]
) -> tuple[int, ...]:
    """Return the authors whose votes are a quorum, no more than needed; empty if there is none.

    A quorum is more than half of the base in one round. And at least half of those who stay in the game have voted for
    the value: otherwise many players who are out of the game could put anybody out.

    :param leaving: the authors whom the value makes leave.
    :param voters: the authors who have voted for the value in the round.
    :param backers: the authors of ABSENTs for it in any round.
    :return: the backers needed in addition to the voters, then the voters, each in ascending order.
    """
    if not is_possible(position, leaving):
        return ()
    stay = set(position.live).difference(leaving)
    counted = set(voters).intersection(position.base).difference(position.left)
    size = position.majority
    chosen = sorted(sorted(counted, key=lambda voter: (voter not in stay, voter))[:size])
    lacking = max(0, -(-len(stay) // 2) - len(stay.intersection(chosen)))
    added = sorted(stay.intersection(backers).difference(chosen))[:lacking]
    return (*added, *chosen) if len(chosen) == size and len(added) == lacking else ()
