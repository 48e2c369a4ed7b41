"""The inputs and effects of a match: the vocabulary between :mod:`protocol.match.match` and its owner.

Players, spectators and the simulator all use it. The owner carries out effects in their order: everything is stored
before the first frame is sent that binds.
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
    """A signed message came over the link of a roster member."""

    sender: int
    signed: Signed


class FrameReceived(NamedTuple):
    """A roster member, or a spectator, asks or tells about messages."""

    sender: int
    """A roster index, or for a spectator a number above all of them. An answer goes to that number."""
    frame: Need | Page | Have | Cut
    """From a spectator only a NEED."""


class Linked(NamedTuple):
    """The link to a roster member is up."""

    author: int


class Unlinked(NamedTuple):
    """The link to a roster member is down."""

    author: int
    on_purpose: bool = False
    """They sent LEAVE."""


class Played(NamedTuple):
    """The owner chose a move in answer to the YourTurn with this token."""

    move: Move
    token: int


class Conceded(NamedTuple):
    """The owner wants to give up, also after a restart."""


class Extended(NamedTuple):
    """The owner gives everybody who is missing in the open step more time."""

    seconds: float


class Withdrawn(NamedTuple):
    """The owner will not play this match, also after a restart. If it is formed all the same, they resign at once."""


class Ticked(NamedTuple):
    """The time of :class:`WakeAt` has come."""


MatchInput = Received | FrameReceived | Linked | Unlinked | Played | Conceded | Extended | Withdrawn | Ticked

# Effects


class StoreChoice(NamedTuple):
    """Store a choice of the owner that cannot be derived again, before anything that depends on it is sent."""

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
    """It leaves only after everything was stored. False for a message that this node would sign again with the same
    bytes."""


class PassOn(NamedTuple):
    """Relay a message to all spectators, and to these roster members, who cannot hear its author. It leaves after what
    this node itself signs in the same pass, and does not wait for the store."""

    signed: Signed
    authors: tuple[int, ...]
    """Linked or not."""


class Announce(NamedTuple):
    """Tell every linked roster member and spectator what this node holds. It does not wait for the store."""

    have: Have


class Show(NamedTuple):
    """Tell the owner. What the match does not know, such as where the transcript lies, its node adds."""

    event: NodeEvent


class Accuse(NamedTuple):
    """A player broke the rules: write the proof to a file, and tell the owner."""

    author: int
    step: int
    reason: str
    proof: bytes


class CalledOff(NamedTuple):
    """This node will not play the match that was proposed: its host, or the owner, has withdrawn."""


class WriteTranscript(NamedTuple):
    """The last step is closed: write the transcript, which is complete."""


class WakeAt(NamedTuple):
    """Feed :class:`Ticked` at this time, instead of an earlier one."""

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
