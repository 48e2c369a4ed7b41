"""The inputs and effects of a match: the interface between :mod:`protocol.match.match` and its owner.

Players, spectators and the simulator all use them. The owner carries out effects in their order, and stores everything
before it sends the first frame that binds.
"""

from __future__ import annotations

from typing import NamedTuple

from p2pdice.moves import Move
from protocol.consensus.replica import Learned, Replace
from protocol.events import NodeEvent
from protocol.wire.frames import Cut, Frame, Have, Need, Page
from protocol.wire.messages import Signed

# Inputs


class Received(NamedTuple):
    """A signed message arrived over the link of a roster member."""

    sender: int
    signed: Signed


class FrameReceived(NamedTuple):
    """A roster member or spectator sent a frame about which messages it holds or lacks."""

    sender: int
    """A roster index, or for a spectator a number above all roster indices. Answers go to that number."""
    frame: Need | Page | Have | Cut
    """A spectator sends only NEEDs."""


class Linked(NamedTuple):
    """The link to a roster member is up."""

    author: int


class Unlinked(NamedTuple):
    """The link to a roster member is down."""

    author: int
    on_purpose: bool = False
    """Whether the member sent LEAVE."""


class Played(NamedTuple):
    """The owner chose a move in answer to the YourTurn with this token."""

    move: Move
    token: int


class Conceded(NamedTuple):
    """The owner wants to resign. This outlasts a restart."""


class Extended(NamedTuple):
    """The owner gives all players missing in the open step more time."""

    seconds: float


class Withdrawn(NamedTuple):
    """The owner will not play this match, even after a restart. If it is formed nevertheless, their node resigns."""


class Ticked(NamedTuple):
    """The time requested by :class:`WakeAt` has come."""


MatchInput = Received | FrameReceived | Linked | Unlinked | Played | Conceded | Extended | Withdrawn | Ticked

# Effects


class StoreChoice(NamedTuple):
    """Store a choice by the owner, which cannot be derived again, before sending anything that depends on it."""

    step: int
    text: str


class Send(NamedTuple):
    """Send a frame to a roster member, or to the spectator with this number, if linked."""

    author: int
    frame: Frame


class Broadcast(NamedTuple):
    """Send a frame to every linked roster member."""

    frame: Frame
    binds: bool = True
    """Whether to send it only once everything is stored; False if this node would sign the same bytes again."""


class PassOn(NamedTuple):
    """Relay a message to all spectators, and to these roster members, who have no link to its author. It is sent after
    the messages that this node signs in the same pass, without waiting for the store."""

    signed: Signed
    authors: tuple[int, ...]
    """May include players who are not linked."""


class Announce(NamedTuple):
    """Send this HAVE to every linked roster member and spectator, without waiting for the store."""

    have: Have


class Show(NamedTuple):
    """Show the owner an event. The node adds what the match does not know, such as the path of the transcript."""

    event: NodeEvent


class Accuse(NamedTuple):
    """A player broke the rules: write the proof to a file and notify the owner."""

    author: int
    step: int
    reason: str
    proof: bytes


class CalledOff(NamedTuple):
    """This node will not play the proposed match: the host or the owner has withdrawn."""


class WriteTranscript(NamedTuple):
    """Write the transcript: the last step has closed, so the transcript is complete."""


class WakeAt(NamedTuple):
    """Feed :class:`Ticked` at this time; it replaces any earlier request."""

    time: float


Effect = (
    StoreChoice
    | Learned
    | Replace
    | Send
    | Broadcast
    | PassOn
    | Announce
    | Show
    | Accuse
    | CalledOff
    | WriteTranscript
    | WakeAt
)
