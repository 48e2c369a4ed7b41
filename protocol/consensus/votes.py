"""Votes as signed messages: the one place that knows how an ABSENT or CLOSE is spelled."""

from __future__ import annotations

from typing import cast

from protocol.consensus.absence import Entries, Vote
from protocol.wire.canonical import Value
from protocol.wire.messages import Kind, Signed


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
