"""Events: everything that a node tells its owner, be it a person's screen or a program.

Names and reasons may contain a peer's text: it was checked, and still must be escaped before it is printed.
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
    """One player as the others see them."""

    name: str
    """Nickname, 1–20 characters, already checked (NFC, no control characters)."""
    fingerprint: str
    """Fingerprint of the identity key, for people to compare."""
    is_me: bool = False


class NamesakeError(NodeError):
    """Somebody at the table has a name of somebody trusted, and another key. Nothing was asked of the host.

    To sit down all the same, say ``Node.seat`` for each of the :attr:`players`, and join again.
    """

    def __init__(self, reason: str, players: tuple[PlayerInfo, ...]) -> None:
        super().__init__(ErrorCode.REFUSED, reason)
        self.players = players


@dataclass(frozen=True, slots=True)
class TableOpened:
    """This node hosts a table and can be joined."""

    name: str
    join_line: str
    """The argument of ``p2pdice join`` on another laptop."""
    addresses: tuple[str, ...]
    """HOST:PORT forms under which this node listens."""
    advertised: bool
    """Plain ``join`` lists it: it is not private, and multicast works."""
    problem: str = ""
    """Why the table is not advertised."""
    is_reachable: bool = True
    """This machine has an address on a network, so others can reach it."""
    seats: int = field(kw_only=True)
    """All seats, the host's included."""
    ruleset: Ruleset = field(kw_only=True)
    """The rules of this table."""
    rules_name: str = field(default="", kw_only=True)
    """The owner's name for house rules, or empty."""
    code: str = field(default="", kw_only=True)
    """The short code for ``p2pdice join``; empty where multicast does not work."""
    odds: int = field(default=2, kw_only=True)
    """As in :class:`TableJoined`."""
    talk: int = field(default=0, kw_only=True)


@dataclass(frozen=True, slots=True)
class CodeMade:
    """The open table of this node has a new short code."""

    code: str


@dataclass(frozen=True, slots=True)
class CodeTried:
    """Somebody has typed or guessed a wrong short code for this node's table."""

    tries_left: int
    """Further wrong tries before the code is closed; 0 if this one has closed it."""


@dataclass(frozen=True, slots=True)
class TableMoved:
    """This node's open table has another address now."""

    name: str
    join_line: str
    """The argument of ``p2pdice join`` on another laptop from now on."""


@dataclass(frozen=True, slots=True)
class TableJoined:
    """This node was admitted to a table and waits for the start."""

    name: str
    host: PlayerInfo
    ruleset: Ruleset
    seats: int
    rules_name: str = ""
    """A name for house rules: the owner's own, else the last one of a host; or empty."""
    odds: int = 2
    """Whether programs may show the odds of bids at this table: 0 no, 1 yes, 2 each decides."""
    talk: int = 0
    """Those who may speak: 0 players only, 1 spectators as well."""


@dataclass(frozen=True, slots=True)
class TableWatched:
    """This node watches a table and waits for the start with it."""

    name: str
    host: PlayerInfo
    ruleset: Ruleset
    seats: int
    rules_name: str = ""
    """As in :class:`TableJoined`."""
    odds: int = 2
    talk: int = 0


@dataclass(frozen=True, slots=True)
class LobbyChanged:
    """The players at the table have changed, before the start."""

    players: tuple[PlayerInfo, ...]
    seats: int
    joined: tuple[PlayerInfo, ...] = ()
    left: tuple[PlayerInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class SeatAsked:
    """The owner is asked about a player: a host about a newcomer, who has no seat yet; a guest about somebody who has
    sat down beside them, before they sign a match with that player. ``Node.seat`` says yes; a host may also say
    ``Node.refuse`` or ``Node.let_watch``. Told once for each question; ``Node.asked`` has those that are open."""

    player: PlayerInfo
    namesake: bool
    """Somebody whom the owner trusts has such a name, and another key."""
    came_by: str = ""
    """How a newcomer found the table: ``code``, ``line`` (that of a private table) or ``network``. Empty for a
    guest."""


@dataclass(frozen=True, slots=True)
class SeatPending:
    """The person who hosts the table is being asked whether this node gets a seat."""


@dataclass(frozen=True, slots=True)
class Watching:
    """The spectators who are linked with this node have changed; others may watch through other players."""

    names: tuple[str, ...]
    """The name under which this home knows each of them, ``a spectator`` if none: spectators give no names. In the
    order in which they came."""


@dataclass(frozen=True, slots=True)
class TableClosed:
    """The table is gone before a match began (its host left, or refused us)."""

    code: RefuseCode
    """Any but ``playing`` and ``no-match``."""
    reason: str


HostIs = Literal["asked", "silent", "there", "full", "playing"]


@dataclass(frozen=True, slots=True)
class AwaitingHost:
    """This node wants to sit down again with the host of the last match. Told at once, and at each change."""

    host: PlayerInfo | None
    """None if this node was restarted in that match, and does not know which of its players hosts."""
    host_is: HostIs
    """``asked``: nobody has answered yet. ``silent``: nobody answers. ``there``: the host answers, but the table is not
    open yet. ``full``: all seats are taken, or kept for those who have just played. ``playing``: the host plays a match
    with others; this node watches it, if it may, and asks again when it is over."""
    seconds: float
    """How long this node keeps asking without an answer."""


@dataclass(frozen=True, slots=True)
class AgainAsked:
    """A guest of the last match wants to sit down again, and the table is not open. Told once for each guest and
    match."""

    player: PlayerInfo


@dataclass(frozen=True, slots=True)
class Unfamiliar:
    """A known key plays under a new name, or a known name under a new key, by the other matches of this home. Told once
    for each key and name, when they sit down or the match begins."""

    player: PlayerInfo
    known_as: tuple[str, ...]
    """Names under which the key has played here before, if this one is new."""
    namesakes: tuple[PlayerInfo, ...]
    """Others with such a name, trusted ones first; a few at most."""
    trusted: tuple[str, ...] = ()
    """Fingerprints of those among them whose keys the owner trusts."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """How well this home knows somebody else at the table. Told once for each key and name, when they sit down or the
    match begins, before :class:`Unfamiliar`; and again when their key is trusted. Not told of bots with the mark of
    bots."""

    player: PlayerInfo
    is_trusted: bool
    """The owner trusts the key."""
    matches: int
    """Other matches in which this home has met the key."""


@dataclass(frozen=True, slots=True)
class AwaitingPlayers:
    """This node has returned to a proposed match, and has not seen it begin. Told again when others are awaited."""

    match_id: str
    """64 hexadecimal digits."""
    table: str
    """Name of the table, as its host chose it: any text. Empty if it is not known."""
    players: tuple[PlayerInfo, ...]
    awaited: tuple[PlayerInfo, ...]
    """Those who are not linked; none as soon as all are here."""


@dataclass(frozen=True, slots=True)
class MatchFormed:
    """Every player has signed roster and rules; the seats are being drawn."""

    match_id: str
    """64 hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class MatchStarted:
    """The seats are drawn. Also the first event after a resume, or where a spectator comes in later."""

    match_id: str
    ruleset: Ruleset
    players: tuple[PlayerInfo, ...]
    """By seat."""
    my_seat: int | None
    """None for a spectator."""
    state: State
    resumed: bool = False
    table: str = ""
    """Name of the table, as its host chose it: any text. Empty if it is not known."""
    rules_name: str = ""
    """As in :class:`TableJoined`."""


@dataclass(frozen=True, slots=True)
class DiceRolled:
    """My own hand of the new round."""

    hand: tuple[int, ...]
    """Faces, ascending."""


@dataclass(frozen=True, slots=True)
class CupsSeen:
    """Everybody's hand of the new round, which only a replay can tell: the transcript shows it later on."""

    hands: tuple[Hand | None, ...]
    """By seat: faces, ascending. None for a cup that was never opened."""
    state: State


@dataclass(frozen=True, slots=True)
class Eviction:
    """Why a player was evicted: a part of :class:`Happened`."""

    step: int
    """The step in which the player sent nothing, or broke the rules."""
    was_on_turn: bool
    """The step was waiting for a move."""
    voters: tuple[int, ...]
    """Seats of the others, whose signed votes say that nothing came."""
    misconduct: str = ""
    """The rule that the player broke, if this node holds the proof."""


@dataclass(frozen=True, slots=True)
class Happened:
    """One event of the game, and the public state after all events of the same input."""

    event: GameEvent
    state: State
    eviction: Eviction | None = None
    """For an evicted player: the reason."""
    is_last: bool = True
    """No other event of the same input follows."""


@dataclass(frozen=True, slots=True)
class YourTurn:
    """It is the owner's move; answer with ``Node.play``."""

    view: View
    token: int
    """Names the step. An answer that carries an older token is refused as out of date."""


@dataclass(frozen=True, slots=True)
class ConcedeAccepted:
    """The wish to concede is stored, and takes effect with the next message that this node owes. If it has voted to go
    on without somebody, that is behind the next LOCK, and until then it plays on by itself. Told again after a restart
    before that."""

    awaited: tuple[PlayerInfo, ...] = ()
    """Players who have to go on first; none if it has taken effect."""


@dataclass(frozen=True, slots=True)
class PeerLost:
    """The link to a player is down."""

    player: PlayerInfo
    left_on_purpose: bool = False
    """They have quit, so nothing is wrong with the network. They may come back."""


@dataclass(frozen=True, slots=True)
class PeerBack:
    """The link to a player is up again."""

    player: PlayerInfo


@dataclass(frozen=True, slots=True)
class Suspended:
    """The time of these players is up, and the others are no quorum. The match waits without end, and can be resumed at
    any time. Told again when it waits for others."""

    awaited: tuple[PlayerInfo, ...]


@dataclass(frozen=True, slots=True)
class Overdue:
    """The match waits for these players; if nothing comes, the others go on without them."""

    awaited: tuple[PlayerInfo, ...]
    seconds: int
    """The remaining time."""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """The history was rolled back to an earlier step: the last events no longer count."""

    state: State


@dataclass(frozen=True, slots=True)
class Continued:
    """The match is no longer suspended."""


@dataclass(frozen=True, slots=True)
class Misbehaved:
    """A player signed something that the rules of the game or of the protocol forbid."""

    player: PlayerInfo
    step: int
    reason: str
    proof: Path | None = None
    """A file that proves it: ``p2pdice verify`` needs nothing else."""


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The match is decided and its transcript is on disk."""

    match_id: str
    places: tuple[tuple[int, ...], ...]
    """Seats by place, winners first."""
    players: tuple[PlayerInfo, ...]
    """By seat."""
    transcript: Path = Path()
    confirmed: bool | None = None
    """Every player in the last round has signed the same end. If not, the transcript is as good: nobody can withhold a
    result. None in a replay, as a transcript does not hold these signatures."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """The owner has left a match whose other player is away. Nobody has signed its end: it counts as claimed, never as
    won, and can be resumed. :class:`PeerBack` tells, once, that a player who had no link tries to go on with it."""

    match_id: str
    players: tuple[PlayerInfo, ...]
    """By seat, or in the order of the roster before seats are drawn."""
    away: tuple[PlayerInfo, ...]
    since_seconds: int
    """How long they had been away, by this machine's clock."""
    transcript: Path
    """Of the match so far: its verdict is incomplete."""


@dataclass(frozen=True, slots=True)
class Said:
    """A player said something to all at the table, or this node's owner did (``player.is_me``)."""

    player: PlayerInfo
    text: str
    """1–200 characters, already checked (NFC, no control characters, nothing unseen), in any script and direction."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """This node cannot go on, as when its disk is full. The match can be resumed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Diverged:
    """The players' programs disagree on the state of the game: one has a bug, and nobody is to blame. The match cannot
    go on. The files of this program should be kept for finding the bug."""

    step: int
    state: str
    """This node's state of the game, in canonical form, as text."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something worth a line that has no event of its own (discovery failed, an address changed)."""

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
    | AgainAsked
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
