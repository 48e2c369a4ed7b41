"""What a match is fed and what it wants done: the vocabulary between :mod:`protocol.match.match` and its owner.

A node under asyncio, the simulator and a spectator all speak it. Effects are carried out in their order: whatever is to
be stored is on the disk before the first frame is sent.
"""

from __future__ import annotations

from typing import NamedTuple

from p2pdice import Move
from protocol.events import NodeEvent
from protocol.wire.frames import Frame, Have, Need, Page
from protocol.wire.messages import Signed

# Inputs


class Received(NamedTuple):
    """A signed message came over the link of a roster member."""

    sender: int
    signed: Signed


class Needed(NamedTuple):
    """A roster member asks for messages, or a spectator."""

    sender: int
    """Of a spectator: any number behind the roster's that tells it from others. The answer is sent to that number."""
    need: Need


class Paged(NamedTuple):
    """A roster member answers."""

    sender: int
    page: Page


class Announced(NamedTuple):
    """A roster member says what it holds."""

    sender: int
    have: Have


class Linked(NamedTuple):
    """The link to a roster member is up."""

    author: int


class Severed(NamedTuple):
    """A roster member says which others it cannot reach, so that their messages are passed on to it."""

    sender: int
    authors: tuple[int, ...]


class Left(NamedTuple):
    """The link to a roster member is down."""

    author: int
    on_purpose: bool = False
    """They said that they go."""


class Played(NamedTuple):
    """The owner chose a move in answer to the YourTurn with this token."""

    move: Move
    token: int


class Conceded(NamedTuple):
    """The owner wants to give up, also after a restart."""


class Withdrawn(NamedTuple):
    """The owner will not play this match, unless it is formed already."""


class Ticked(NamedTuple):
    """The time that the match asked to be woken at has come."""


MatchInput = Received | Needed | Paged | Announced | Severed | Linked | Left | Played | Conceded | Withdrawn | Ticked


# Effects


class Choose(NamedTuple):
    """Store a choice of the owner that cannot be derived again, before anything that depends on it is sent."""

    step: int
    text: str


class Persist(NamedTuple):
    """Store this message, together with all others of the same turn of the owner, before anything is sent."""

    signed: Signed


class Overheard(NamedTuple):
    """This message is new here. It need not be stored, but spectators are to be shown it."""

    signed: Signed


class Replace(NamedTuple):
    """Store these messages instead of all that was stored of the match so far."""

    messages: tuple[Signed, ...]


class Send(NamedTuple):
    """Send a frame to a roster member or to the spectator who asked, if linked."""

    author: int
    frame: Frame


class Broadcast(NamedTuple):
    """Send a frame to every linked roster member."""

    frame: Frame


class Announce(NamedTuple):
    """Tell every linked roster member, and spectators, what this node holds. It may leave though nothing is stored."""

    have: Have


class Show(NamedTuple):
    """Tell the owner."""

    event: NodeEvent


class Accuse(NamedTuple):
    """A player broke the rules: write the proof down, where the owner keeps such, and tell."""

    author: int
    step: int
    reason: str
    proof: bytes


class Formed(NamedTuple):
    """Every roster member has signed the genesis, and COMMIT of the first roll."""


class CalledOff(NamedTuple):
    """The match is none, and will not be formed: these players have resigned before."""

    authors: tuple[int, ...]


class Ended(NamedTuple):
    """The last step is closed: the transcript is complete and can be written."""


class Over(NamedTuple):
    """Nothing more is to be awaited."""

    confirmed: bool
    """Everyone who was live in the last round has signed the same end."""


class WakeAt(NamedTuple):
    """Feed :class:`Ticked` at this time; replaces an earlier wish."""

    time: float


Effect = (
    Choose
    | Persist
    | Overheard
    | Replace
    | Send
    | Broadcast
    | Announce
    | Show
    | Accuse
    | Formed
    | CalledOff
    | Ended
    | Over
    | WakeAt
)
