"""A scene: what a picture shows besides the board. Pure data; the screen makes a new scene for each frame.

Animations are timed in milliseconds. A picture depends only on the board, the scene and the size, never on a clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final

from cli.table.board import CupOpened, Told
from p2pdice import events as game
from protocol.events import DiceRolled, Happened, YourTurn

if TYPE_CHECKING:
    from p2pdice.moves import Move

STILL: Final = 1000
"""The stage of an animation that is over."""
ROLL: Final = (70,) * 6
"""The reader's roll: six stages with other faces, then the dice."""
BID: Final = (60, 60)
"""A bid: its number counts up in two stages."""
TURN: Final = (150, 150)
"""The reader's turn: the band is inverted only in stage 0."""
OWN: Final = (250,)
"""The pause before the dice in the reader's cup are counted."""
LIFT: Final = (90, 260)
"""A cup: first half lifted, then open with no dice counted yet."""
HIT: Final = 110
"""Duration of each stage of counting. After it, one more die that counts turns gold."""
LAST_HIT: Final = 600
""":data:`HIT` for the last cup."""


def spans(beat: Told) -> tuple[float, ...]:
    """Return the duration of each stage of an event's animation; empty for an event that is not animated.

    The stages of a cup are :data:`LIFT` (:data:`OWN` for the reader's cup), then one for each die that counts. In stage
    ``len(LIFT) + n`` the first ``n`` of these dice are gold. A cup that cannot change the verdict is twice as fast.
    """
    told = beat.event if isinstance(beat, Happened) else beat
    match told:
        case DiceRolled():
            return ROLL
        case game.BidMade():
            return BID
        case YourTurn():
            return TURN
        case CupOpened():
            hits = (LAST_HIT if told.is_last else HIT,) * told.hits
            speed = 2 if told.is_decided else 1
            return tuple(span / speed for span in (*(OWN if told.is_own else LIFT), *hits))
    return ()


@dataclass(frozen=True, slots=True)
class Motion:
    """The animations of a picture, and the progress of each."""

    since: Mapping[type, tuple[Told, float]] = field(default_factory=dict)
    """The last event of each type, and its age. For :class:`Happened`, the key is the type of the game's event."""
    factor: float = 1.0
    """The pace, by which all durations are multiplied; 0 shows only final states."""
    kind: str = "full"
    """``full``, ``calm`` (the same pace without animations) or ``none``."""

    def stage(self, kind: type) -> int:
        """Return the current stage of the last event of a type: how many of its stages are over.

        It is :data:`STILL` if there was no such event, its animation is over, or nothing is animated.
        """
        beat, age = self.since.get(kind, (None, inf))
        if beat is None or self.kind != "full" or not self.factor:
            return STILL
        for over, span in enumerate(spans(beat)):
            age -= span * self.factor
            if age < 0:
                return over
        return STILL

    @property
    def moves(self) -> bool:
        """Whether an animation is still running."""
        return any(self.stage(kind) < STILL for kind in self.since)


MARGIN: Final = 2
"""Columns beside the text of a page or reply, on both sides together."""
REPLY_ROWS: Final = 2
"""Maximum rows of a reply in place of the key bar. A longer reply gets a page."""


@dataclass(frozen=True, slots=True)
class Talk:
    """One chat message, or one event outside the game."""

    seat: int | None
    """The speaker's seat, or place at the table in the lobby; None for a spectator and for an event."""
    name: str
    """The speaker's name, safe to print; empty for an event."""
    text: str
    """Safe to print; it may have several lines."""

    @property
    def role(self) -> str:
        """The role in which the speaker's name is drawn."""
        if self.seat is not None:
            return f"seat{self.seat % 10}"
        return "text" if self.name else "quiet"


@dataclass(frozen=True, slots=True)
class Band:
    """The row that says whose move is awaited, and what the reader can do."""

    text: str = ""
    tone: str = "quiet"
    """``seat0`` … ``seat9`` (whose turn it is), ``right``, ``wrong``, ``waiting`` or ``quiet``."""
    right: str = ""
    """The text at the right end, left of the clock."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice in a dialog."""

    key: str
    """The letter that chooses it directly."""
    text: str
    note: str = ""
    """What the choice leads to, in a separate row."""
    line: str | None = None
    """The line that this choice types; None if it only closes the dialog."""


@dataclass(frozen=True, slots=True)
class Dialog:
    """A question in a box on the table."""

    title: str
    lines: Sequence[str]
    choices: Sequence[Choice]
    picked: int = 0
    tone: str = "text"
    """The role of its frame and title."""


@dataclass(frozen=True, slots=True)
class TextPage:
    """A text that covers the table, except the band, the keys and the line."""

    title: str
    lines: Sequence[str]
    """Unwrapped."""
    at: int = 0
    """The number of wrapped lines above the visible ones."""


@dataclass(frozen=True, slots=True)
class ReplayStrip:
    """The current place in a replay."""

    round: int
    """0 before the first roll."""
    lost: Sequence[int | None]
    """The seat that lost dice in each round; None if nobody did, or several seats."""
    step: int
    """The number of the scene in this round, from 1."""
    steps: int
    """The number of scenes in this round; 0 if unknown."""
    eyes: str
    """Whose dice are visible: ``all dice``, ``Ada's dice``."""


@dataclass(frozen=True, slots=True)
class WatchStrip:
    """What a spectator's program has verified."""

    steps: int
    signatures: int
    """0 if they are not counted."""
    fact: str = ""
    """A fact about a demo's match; if empty, the strip has a note on what spectators see."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What a picture shows besides the board, at one moment for one person."""

    typed: Move | None = None
    """The typed move, legal or not."""
    with_odds: bool = True
    """Whether chances are shown. If not, the ladder has ○ in their place."""
    steps: int = 0
    """The number of signed steps in the match."""
    seconds: int | None = None
    """Seconds left to the awaited player; None if no clock is shown."""
    is_pressing: bool = False
    """Whether the others can go on without the awaited player once the time is up."""
    talk: Sequence[Talk] = ()
    """Oldest first."""
    reply: Sequence[str] = ()
    """One or two rows, cut to fit, that replace the key bar."""
    band: Band = field(default_factory=Band)
    keys: Sequence[tuple[str, str]] = ()
    """At most eight keys or typed words, each with its effect, which is empty if the word is clear without one."""
    motion: Motion = field(default_factory=Motion)
    dialog: Dialog | None = None
    page: TextPage | None = None
    away: Mapping[str, int] = field(default_factory=dict)
    """Seconds since each missing player was lost or began to hold up the match, by fingerprint."""
    given: frozenset[str] = frozenset()
    """Fingerprints of players who have sent their message for the open step."""
    coach: str = ""
    """Coach's words in a lesson, which must never be cut."""
    lesson: str = ""
    """The progress of a lesson, drawn in the top row."""
    picked: int | None = None
    """The index of the selected player in the lobby, or of the selected move in :attr:`moves`."""
    moves: Sequence[str] = ()
    """The legal moves as they are typed, if none of them is a bid. They are drawn as a list."""
    score: str = ""
    """The score of the evening; empty until its second match is over."""
    minutes: int = 0
    """Duration of the match in minutes, once it is over; 0 if unknown."""
    verdict: str = ""
    """The verdict on a replay's file: ``fair``, ``misconduct`` …; empty elsewhere. Never text from the file."""
    strip: ReplayStrip | WatchStrip | None = None
    """None for a player."""
