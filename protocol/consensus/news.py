"""News: the changes in a replica that its owner has to act on. Sans-I/O."""

from __future__ import annotations

from typing import NamedTuple

from protocol.consensus.errors import MisconductError
from protocol.wire.messages import Signed


class Learned(NamedTuple):
    """A message is new to this node: pass it on to peers that cannot hear its author, and to spectators."""

    signed: Signed
    must_store: bool = True
    """Store it, together with all others of the same pass of the event loop, before anything is sent. False for another
    player's vote: it is stored once something rests on it here. If the node stops before, the vote is lost like a frame
    on its way."""


class Replace(NamedTuple):
    """Store these messages instead of all that was stored of the match so far."""

    messages: tuple[Signed, ...]


class Rewound(NamedTuple):
    """The history has changed: this step, which was closed, is closed otherwise or open again. All behind it is
    void."""

    since: int


class Proven(NamedTuple):
    """The first proof that somebody broke the rules."""

    misconduct: MisconductError
    proof: bytes
    """A file that proves it to anybody."""


News = Learned | Replace | Rewound | Proven
