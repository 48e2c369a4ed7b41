"""Events: everything that a node reports to its owner, which is a person's screen or a program.

Names and reasons may contain text from a peer. That text has been checked, but must be escaped before it is printed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from p2pdice.events import Event as GameEvent
    from p2pdice.moves import Hand
    from p2pdice.rulesets import Ruleset
    from p2pdice.state import State
    from p2pdice.views import View
from protocol.errors import ErrorCode, NodeError, RefuseCode


@dataclass(frozen=True, slots=True)
class PlayerInfo:
    """One player as other players see them."""

    name: str
    """Nickname of 1–20 characters, already checked (NFC, no control characters)."""
    fingerprint: str
    """Fingerprint of the identity key, for people to compare."""
    is_me: bool = False


class NamesakeError(NodeError):
    """A player at the table has the name of a trusted player but another key. The host has not been asked for a seat.

    To sit down all the same, call ``Node.seat`` for each of :attr:`players`, and join again.
    """

    def __init__(self, reason: str, players: tuple[PlayerInfo, ...]) -> None:
        super().__init__(ErrorCode.REFUSED, reason)
        self.players = players


@dataclass(frozen=True, slots=True)
class TableOpened:
    """This node hosts a table and can be joined."""

    name: str
    join_line: str
    """The argument for ``p2pdice join`` on another laptop."""
    addresses: tuple[str, ...]
    """The addresses on which this node listens, as HOST:PORT."""
    advertised: bool
    """Whether a plain ``join`` lists the table: it is not private, and multicast works."""
    problem: str = ""
    """Why the table is not advertised; otherwise empty."""
    is_reachable: bool = True
    """Whether this machine has a network address at which others can reach it."""
    seats: int = field(kw_only=True)
    """Total seats, including the host's."""
    ruleset: Ruleset = field(kw_only=True)
    """The rules of the table."""
    rules_name: str = field(default="", kw_only=True)
    """The owner's name for house rules; otherwise empty."""
    code: str = field(default="", kw_only=True)
    """The short code for ``p2pdice join``; empty if multicast does not work."""
    odds: int = field(default=2, kw_only=True)
    """See :class:`TableJoined`."""
    talk: int = field(default=0, kw_only=True)


@dataclass(frozen=True, slots=True)
class CodeMade:
    """The open table of this node has a new short code."""

    code: str


@dataclass(frozen=True, slots=True)
class CodeTried:
    """A peer used a wrong short code for this node's table."""

    tries_left: int
    """Wrong tries left before the code is closed; 0 if this try closed it."""


@dataclass(frozen=True, slots=True)
class TableMoved:
    """The address of this node's open table has changed."""

    name: str
    join_line: str
    """The new argument for ``p2pdice join`` on another laptop."""


@dataclass(frozen=True, slots=True)
class TableJoined:
    """This node was admitted to a table and waits for the match to start."""

    name: str
    host: PlayerInfo
    ruleset: Ruleset
    seats: int
    rules_name: str = ""
    """A name for house rules: the owner's, or else the last one given by a host; empty if there is none."""
    odds: int = 2
    """Whether programs may show the odds of bids at this table: 0 no, 1 yes, 2 each program decides."""
    talk: int = 0
    """Participants who may chat: 0 players only, 1 spectators too."""


@dataclass(frozen=True, slots=True)
class TableWatched:
    """This node watches a table and waits for the match to start."""

    name: str
    host: PlayerInfo
    ruleset: Ruleset
    seats: int
    rules_name: str = ""
    """See :class:`TableJoined`."""
    odds: int = 2
    talk: int = 0


@dataclass(frozen=True, slots=True)
class LobbyChanged:
    """The players at the table changed before the start."""

    players: tuple[PlayerInfo, ...]
    seats: int
    joined: tuple[PlayerInfo, ...] = ()
    left: tuple[PlayerInfo, ...] = ()


Asks = Literal["never", "strangers", "always"]
"""Which newcomers need the host's consent for a seat. ``never``: none. ``strangers``: a newcomer with the nickname of a
trusted player but another key. ``always``: every newcomer except the players of the last match."""


@dataclass(frozen=True, slots=True)
class SeatAsked:
    """The owner must decide about a player: a host about a newcomer without a seat, a guest about a player who sat
    down, before signing a match with them. Answer with ``Node.seat``; a host may also use ``Node.refuse`` or
    ``Node.let_watch``. Emitted once per question; ``Node.asked`` lists the open ones."""

    player: PlayerInfo
    namesake: bool
    """Whether a player whom the owner trusts has the same or a confusable name, but another key."""
    came_by: str = ""
    """How a newcomer found the table: ``code``, ``line`` (a private table's join line) or ``network``. Empty for a
    guest's question."""


@dataclass(frozen=True, slots=True)
class SeatPending:
    """The table's host, a person, is being asked whether this node gets a seat."""


@dataclass(frozen=True, slots=True)
class Watching:
    """The spectators linked with this node changed. Others may watch through other players."""

    names: tuple[str, ...]
    """This home's names for the spectators in order of arrival; ``a spectator`` if it has none. Spectators send no
    names."""


@dataclass(frozen=True, slots=True)
class TableClosed:
    """The table is gone before a match started: its host left, or refused this node."""

    code: RefuseCode
    """Any code except ``playing`` and ``no-match``."""
    reason: str


HostIs = Literal["asked", "silent", "there", "full", "playing"]


@dataclass(frozen=True, slots=True)
class AwaitingHost:
    """This node wants to sit down again with the host of the last match. Emitted at once and at each change."""

    host: PlayerInfo | None
    """None if this node restarted during that match, and does not know which player hosts."""
    host_is: HostIs
    """``asked``: no answer yet. ``silent``: the host does not answer. ``there``: the host answers, but the table is not
    open yet. ``full``: all seats are taken, or reserved for players of the last match. ``playing``: the host plays a
    match with others; this node watches it if it may, and asks again afterwards."""
    seconds: float
    """How long this node keeps asking without an answer."""


@dataclass(frozen=True, slots=True)
class SeatWanted:
    """A player or spectator of the last match, or a spectator of this table, wants a seat and cannot have one yet: the
    table is closed, or it is full. Emitted to its host, once for each person and table."""

    player: PlayerInfo
    watched: bool = False
    """Whether it is a spectator. Then the name may be unknown, and is ``a spectator``."""


@dataclass(frozen=True, slots=True)
class Unfamiliar:
    """A known key uses a new name, or a known name has a new key, compared with this home's other matches. Emitted once
    per key and name, when the player sits down or the match starts."""

    player: PlayerInfo
    known_as: tuple[str, ...]
    """Names that the key has used here before, if the current one is new."""
    namesakes: tuple[PlayerInfo, ...]
    """Other players with the same or a confusable name, trusted ones first; a few at most."""
    trusted: tuple[str, ...] = ()
    """Fingerprints of those namesakes whose keys the owner trusts."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """How well this home knows another player. Emitted once per key and name, when the player sits down or the match
    starts, before :class:`Unfamiliar`; and again when the key becomes trusted. Not emitted for bots marked as bots."""

    player: PlayerInfo
    is_trusted: bool
    """Whether the owner trusts the key."""
    matches: int
    """The number of other matches in which this home has met the key."""


@dataclass(frozen=True, slots=True)
class AwaitingPlayers:
    """This node returned to a proposed match that it has not seen start. Emitted again when :attr:`awaited` changes."""

    match_id: str
    """64 hexadecimal digits."""
    table: str
    """The table's name as chosen by its host, which may be any text. Empty if unknown."""
    players: tuple[PlayerInfo, ...]
    awaited: tuple[PlayerInfo, ...]
    """Players who are not linked; empty once all are."""


@dataclass(frozen=True, slots=True)
class MatchFormed:
    """All players have signed roster and rules. The seats are being drawn."""

    match_id: str
    """64 hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class MatchStarted:
    """The seats are drawn. Also the first event after a resume, and for a spectator who arrives later."""

    match_id: str
    ruleset: Ruleset
    players: tuple[PlayerInfo, ...]
    """By seat."""
    my_seat: int | None
    """None for a spectator."""
    state: State
    resumed: bool = False
    table: str = ""
    """The table's name as chosen by its host, which may be any text. Empty if unknown."""
    rules_name: str = ""
    """See :class:`TableJoined`."""


@dataclass(frozen=True, slots=True)
class DiceRolled:
    """The owner's hand in a new round."""

    hand: tuple[int, ...]
    """Faces, ascending."""


@dataclass(frozen=True, slots=True)
class CupsSeen:
    """All hands of a new round. Only a replay emits this, because the transcript reveals the hands later."""

    hands: tuple[Hand | None, ...]
    """By seat: faces in ascending order, or None for a cup that was never opened."""
    state: State


@dataclass(frozen=True, slots=True)
class Eviction:
    """Why a player was evicted; part of :class:`Happened`."""

    step: int
    """The step in which the player sent nothing or broke the rules."""
    was_on_turn: bool
    """Whether the step awaited a move."""
    voters: tuple[int, ...]
    """Seats of the players whose signed votes confirm that no message came."""
    misconduct: str = ""
    """The rule that the player broke, if this node holds a proof; otherwise empty."""


@dataclass(frozen=True, slots=True)
class Happened:
    """One event of the game, and the public state after all events of the same input."""

    event: GameEvent
    state: State
    eviction: Eviction | None = None
    """The reason, if the event is an eviction."""
    is_last: bool = True
    """Whether this is the last event of its input."""


@dataclass(frozen=True, slots=True)
class YourTurn:
    """It is the owner's turn. Answer with ``Node.play``."""

    view: View
    token: int
    """Identifies the step. Answers with an older token are refused as out of date."""


@dataclass(frozen=True, slots=True)
class ConcedeAccepted:
    """The concession is stored, and takes effect with the next message that this node owes. If the node has voted to
    continue without a player, that is after the next LOCK, and until then it plays by itself. Emitted again after a
    restart until the concession has taken effect."""

    awaited: tuple[PlayerInfo, ...] = ()
    """Players who have to send messages for the open step; empty if the concession has taken effect."""
    next_round: bool = False
    """Whether it takes effect only in the next round, because this node has voted in this one."""


@dataclass(frozen=True, slots=True)
class PeerLost:
    """The link to a player is down."""

    player: PlayerInfo
    left_on_purpose: bool = False
    """Whether the player quit, so that the network is not at fault. They may come back."""


@dataclass(frozen=True, slots=True)
class PeerBack:
    """The link to a player is up again."""

    player: PlayerInfo


@dataclass(frozen=True, slots=True)
class Suspended:
    """The match waits for these players without a time limit, because the others cannot continue without them. Emitted
    when the patience with linked players is over, about 1 s after players lose their links, and about 3 s after a
    restart while too few have shown what they hold; again when :attr:`awaited` changes. Can be resumed at any time."""

    awaited: tuple[PlayerInfo, ...]


@dataclass(frozen=True, slots=True)
class Overdue:
    """The match waits for these players. When the time is up, the other players continue without them."""

    awaited: tuple[PlayerInfo, ...]
    seconds: int
    """Remaining time."""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """The history was rolled back to an earlier step, and the latest events no longer count."""

    state: State


@dataclass(frozen=True, slots=True)
class Continued:
    """The match is no longer suspended."""


@dataclass(frozen=True, slots=True)
class Misbehaved:
    """A player signed something that the rules of the game or the protocol forbid."""

    player: PlayerInfo
    step: int
    reason: str
    proof: Path | None = None
    """A file with the proof, which is all that ``p2pdice verify`` needs."""


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The match is decided, and its transcript is on disk."""

    match_id: str
    places: tuple[tuple[int, ...], ...]
    """Seats by place, winners first."""
    players: tuple[PlayerInfo, ...]
    """By seat."""
    transcript: Path = Path()
    confirmed: bool | None = None
    """Whether all players of the last round signed the same end. The transcript is valid in either case: nobody can
    withhold a result. None in a replay, because transcripts do not contain these signatures."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """The owner left a match while its other player was away. Nobody has signed the end, so it counts as claimed, never
    as won, and can be resumed. :class:`PeerBack` follows once if a player without a link tries to continue it."""

    match_id: str
    players: tuple[PlayerInfo, ...]
    """By seat, or in roster order if seats were not drawn."""
    away: tuple[PlayerInfo, ...]
    since_seconds: int
    """How long they had been away by this machine's clock."""
    transcript: Path
    """The transcript of the match so far, with the verdict *incomplete*."""


@dataclass(frozen=True, slots=True)
class Said:
    """A player, or this node's owner (``player.is_me``), sent a chat message to everybody at the table."""

    player: PlayerInfo
    text: str
    """1–200 characters, already checked (NFC, no control or invisible characters), in any script and direction."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """This node cannot continue, for example because its disk is full. The match can be resumed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Diverged:
    """The players' programs disagree on the state of the game. One has a bug, and no player is to blame. The match
    cannot continue. Keep this program's files to find the bug."""

    step: int
    state: str
    """This node's state of the game in canonical form, as text."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A noteworthy fact without an event of its own, such as a failed discovery or a changed address."""

    text: str


NodeEvent = (
    TableOpened
    | CodeMade
    | CodeTried
    | TableMoved
    | TableJoined
    | TableWatched
    | LobbyChanged
    | SeatAsked
    | SeatPending
    | Watching
    | TableClosed
    | AwaitingHost
    | SeatWanted
    | Recognised
    | Unfamiliar
    | AwaitingPlayers
    | MatchFormed
    | MatchStarted
    | DiceRolled
    | CupsSeen
    | Happened
    | YourTurn
    | ConcedeAccepted
    | PeerLost
    | PeerBack
    | Suspended
    | Overdue
    | TakenBack
    | Continued
    | Misbehaved
    | MatchResult
    | Claimed
    | Said
    | Stopped
    | Diverged
    | Notice
)
