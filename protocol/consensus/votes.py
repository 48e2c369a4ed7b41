"""Votes: what an ABSENT or CLOSE says, how it is written as a signed message, and which two contradict each other."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from protocol.consensus.electorate import Entries
from protocol.errors import PeerError
from protocol.wire.canonical import Value
from protocol.wire.messages import Kind, Signed


class Vote(NamedTuple):
    """One ABSENT or CLOSE."""

    tip: bytes
    author: int
    is_close: bool
    round: int
    entries: Entries
    newest: int = -1
    """In an ABSENT, the latest earlier round in which its author knew a majority of identical ABSENTs; -1 for none."""
    source: Any = None
    """The signed message that carries the vote."""

    def says_the_same_as(self, other: Vote) -> bool:
        """Tell whether two votes of one slot say the same."""
        return self.entries == other.entries and self.newest == other.newest


def vote_contradiction(one: Vote, other: Vote) -> str:
    """Return how two votes of one author on one step contradict each other, in words; empty if they do not."""
    if one.is_close is other.is_close:
        return "" if one.round != other.round or one.says_the_same_as(other) else "voted twice in one round"
    close, absent = (one, other) if one.is_close else (other, one)
    if absent.newest < close.round < absent.round and absent.entries != close.entries:
        return "voted against their own vote to close the step"
    return ""


class ContradictionError(PeerError):
    """A voter signed two votes that contradict each other."""

    def __init__(self, first: Vote, second: Vote, reason: str) -> None:
        super().__init__(reason)
        self.first = first
        self.second = second


def read_vote(signed: Signed) -> Vote:
    """Return what a message of one of the kinds :data:`~protocol.wire.messages.VOTES` says; its shape was checked."""
    message = signed.message
    number, entries, *newest = cast("tuple[int, Entries, *tuple[int, ...]]", message.body)
    is_close = message.kind is Kind.CLOSE
    return Vote(message.tip, message.author, is_close, number, entries, -1 if is_close else newest[0], signed)


def spell_vote(vote: Vote) -> tuple[Kind, Value]:
    """Return kind and body of the message that says a vote."""
    if vote.is_close:
        return Kind.CLOSE, (vote.round, vote.entries)
    return Kind.ABSENT, (vote.round, vote.entries, vote.newest)
