"""A scene: everything that a picture shows besides the board. Pure data; the screen makes a new one for each frame.

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
"""The stage in which no animation is left."""
ROLL: Final = (70,) * 6
"""The reader's own roll: six stages with other faces, then the dice."""
BID: Final = (60, 60)
"""A bid: its number counts up in two stages, then stands."""
TURN: Final = (150, 150)
"""The reader's turn: the band is inverted in stage 0, and plain from stage 1 on."""
OWN: Final = (250,)
"""The pause before the reader's own dice are counted."""
LIFT: Final = (90, 260)
"""A cup: half up, then up with its dice, but none of them counted."""
HIT: Final = 110
"""Duration of the stage after which one more die that counts turns gold."""
LAST_HIT: Final = 600
""":data:`HIT` for the last cup."""


def spans(beat: Told) -> tuple[float, ...]:
    """Return the duration of each stage of an event's animation; nothing for an event that is not animated.

    The stages of a cup are :data:`LIFT` (:data:`OWN` for the reader's cup) and then one for each die that counts. In
    stage ``len(LIFT) + n`` the first ``n`` of these are gold. A cup that cannot change the verdict is twice as fast.
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
    """The animations of a picture, and how far they have come."""

    since: Mapping[type, tuple[Told, float]] = field(default_factory=dict)
    """The last event of each type (for :class:`Happened`, of the game's event), and its age."""
    factor: float = 1.0
    """The pace, by which all durations are multiplied; 0 shows only final states."""
    kind: str = "full"
    """``full``, ``calm`` (no animations, but the same pace) or ``none``."""

    def stage(self, kind: type) -> int:
        """Return the current stage of the last event of a type: the number of its stages that are over.

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
        """Whether the picture will change without another event."""
        return any(self.stage(kind) < STILL for kind in self.since)


REPLY_ROWS: Final = 2
"""Maximum rows of a reply in place of the keys; a longer one gets a page."""


@dataclass(frozen=True, slots=True)
class Talk:
    """One chat message, or one event outside the game."""

    seat: int | None
    """The speaker's seat, or place at the table in the lobby; None for a spectator and for an event."""
    name: str
    """The speaker. Safe to print; empty for an event, which is drawn ``quiet`` after a ·."""
    text: str
    """Safe to print; it may have several lines."""

    @property
    def role(self) -> str:
        """The role in which the speaker is drawn: the seat's, if there is one."""
        if self.seat is not None:
            return f"seat{self.seat % 10}"
        return "text" if self.name else "quiet"


@dataclass(frozen=True, slots=True)
class Band:
    """The row that shows what has to be done now, and by whom."""

    text: str = ""
    tone: str = "quiet"
    """``seat0`` … ``seat9`` (whose turn it is), ``right``, ``wrong``, ``waiting`` or ``quiet``."""
    right: str = ""
    """A text at the right end, before the clock."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """The progress of a step: signatures received, and signatures needed."""

    label: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice in a dialog."""

    key: str
    """The letter that chooses it directly."""
    text: str
    note: str = ""
    """A consequence, shown on a line of its own."""
    line: str | None = None
    """The line that is typed by choosing it; None if it only closes the dialog."""


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
    """Not yet wrapped."""
    at: int = 0
    """The number of wrapped lines that are scrolled past."""


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
    """Whose dice are shown: ``all dice``, ``Ada's dice``."""


@dataclass(frozen=True, slots=True)
class WatchStrip:
    """What a spectator's program has verified."""

    steps: int
    signatures: int
    """0 if they are not counted."""
    fact: str = ""
    """A fact about the match, in a demo; if empty, a note on what spectators see is shown."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One moment of a table as one person sees it, without the board."""

    typed: Move | None = None
    """The move that the line means, whether or not it is legal."""
    with_odds: bool = True
    """Whether chances are shown. If not, the ladder shows ○, and there is no gauge of the odds."""
    steps: int = 0
    """The number of signed steps in the match."""
    seconds: int | None = None
    """Seconds left to the awaited player; None if no clock is shown."""
    is_pressing: bool = False
    """Whether the others can go on without the awaited player when no time is left."""
    gauge: Gauge | None = None
    talk: Sequence[Talk] = ()
    """The latest entry is the last."""
    reply: Sequence[str] = ()
    """One or two rows, cut to the width of the screen, that replace the keys."""
    band: Band = field(default_factory=Band)
    keys: Sequence[tuple[str, str]] = ()
    """At most eight keys or words to type, each with its effect (empty for a word that explains itself)."""
    motion: Motion = field(default_factory=Motion)
    dialog: Dialog | None = None
    page: TextPage | None = None
    away: Mapping[str, int] = field(default_factory=dict)
    """For how many seconds players have not answered, by fingerprint."""
    given: frozenset[str] = frozenset()
    """Fingerprints of players whose message for the open step has arrived."""
    coach: str = ""
    """Coach's words in a lesson, which are shown in full."""
    lesson: str = ""
    """The progress of a lesson, for the title."""
    picked: int | None = None
    """The index of the player in the lobby, or of the move in :attr:`moves`, selected with the arrow keys."""
    moves: Sequence[str] = ()
    """The legal moves as they are typed, if no bid is among them: a list to pick from."""
    score: str = ""
    """The score of the evening; empty until its second match is over."""
    minutes: int = 0
    """How long the match took, once it is over; 0 if unknown."""
    verdict: str = ""
    """The verdict on a replay's file: ``fair``, ``misconduct`` …; empty elsewhere. Never text from the file."""
    strip: ReplayStrip | WatchStrip | None = None
    """None for a player."""
