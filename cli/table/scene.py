"""A scene: all that a picture shows besides the board. Pure data; the screen makes a new one for each frame.

Times are milliseconds. A picture is a function of the board, the scene and the size, so it never looks at a clock.
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

ROLL: Final = (70,) * 6
"""One's own roll: six faces that are not the dice, then the dice."""
BID: Final = (60, 60)
"""A bid: its number runs in two steps, then it stands."""
TURN: Final = (150, 150)
"""One's own turn: the band is inverted in stage 0, plain in stage 1 and afterwards."""
OWN: Final = (250,)
"""Before one's own dice are counted."""
LIFT: Final = (90, 260)
"""A cup: half up, then up with its dice, none of them counted."""
HIT: Final = 110
"""Each die that counts turns gold, one after the other."""
LAST_HIT: Final = 600
"""The same under the last cup."""


def spans(beat: Told) -> tuple[float, ...]:
    """Return how long each stage of an event's motion lasts; nothing if it stands still.

    The stages of a cup are :data:`LIFT` (:data:`OWN` for one's own dice) and then one for each die that counts, so in
    stage ``len(LIFT) + n`` its first ``n`` dice that count are gold, and afterwards all of them.
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
    """What moves in a picture, and how far it has come."""

    since: Mapping[type, tuple[Told, float]] = field(default_factory=dict)
    """The last event of each kind (the kind of a game's event for :class:`Happened`), and its age."""
    factor: float = 1.0
    """The pace: all spans are multiplied by it. 0 shows end states."""
    kind: str = "full"
    """``full``, ``calm`` (whole stages at the same pace) or ``none``."""

    def stage(self, kind: type) -> int:
        """Return the stage that the last event of a kind is in: the number of its spans that are over.

        It is a large number if there was no such event, or nothing moves.
        """
        beat, age = self.since.get(kind, (None, inf))
        if beat is None or self.kind != "full" or not self.factor:
            return 1000
        for over, span in enumerate(spans(beat)):
            age -= span * self.factor
            if age < 0:
                return over
        return 1000

    @property
    def moves(self) -> bool:
        """Whether a later picture looks different without another event."""
        return any(self.stage(kind) < 1000 for kind in self.since)


REPLY_ROWS: Final = 2
"""An answer of more rows gets a page."""


@dataclass(frozen=True, slots=True)
class Talk:
    """One thing that was said, or that happened beside the game."""

    seat: int | None
    """The speaker's seat; in the lobby the place at the table. None for an event, which is quiet and begins with ·."""
    name: str
    """Safe to print; empty for an event."""
    text: str
    """Safe to print. It can have several lines."""


@dataclass(frozen=True, slots=True)
class Band:
    """The row that says what now."""

    text: str = ""
    tone: str = "quiet"
    """``seat0`` … ``seat9`` (the player on turn), ``right``, ``wrong``, ``waiting`` or ``quiet``."""
    right: str = ""
    """At the right end, before the clock."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """The progress of a step: signatures given, and signatures needed."""

    label: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Choice:
    """An entry of a dialog."""

    key: str
    """The letter that chooses it at once."""
    text: str
    note: str = ""
    """A consequence, on a line of its own."""
    line: str | None = None
    """What choosing it types; None if it only closes the dialog."""


@dataclass(frozen=True, slots=True)
class Dialog:
    """A question in a box on the table."""

    title: str
    lines: Sequence[str]
    choices: Sequence[Choice]
    picked: int = 0
    tone: str = "text"
    """The role of its frame."""


@dataclass(frozen=True, slots=True)
class TextPage:
    """A text that covers the table, but for the band, the keys and the line."""

    title: str
    lines: Sequence[str]
    """Not yet wrapped."""
    at: int = 0
    """Lines, once wrapped, that are scrolled past."""


@dataclass(frozen=True, slots=True)
class ReplayStrip:
    """A replay's place."""

    round: int
    """0 before the first roll."""
    lost: Sequence[int | None]
    """The seat that lost dice in each round; None for nobody, or several."""
    step: int
    """In this round, from 1."""
    steps: int
    """Of this round; 0 if it is not known."""
    eyes: str
    """Whose dice are seen: ``all dice``, ``Ada's dice``."""


@dataclass(frozen=True, slots=True)
class WatchStrip:
    """What a spectator's program has checked."""

    steps: int
    signatures: int
    """0 if they are not counted."""
    fact: str = ""
    """What is going on, in a demo; empty for what a spectator sees."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One moment of a table for one person, besides the board."""

    typed: Move | None = None
    """The move that the line means, legal or not."""
    with_odds: bool = True
    """Chances are shown. If not, the ladder has ○ and there is no gauge of odds."""
    steps: int = 0
    """Steps of the match that are signed."""
    seconds: int | None = None
    """Left to the awaited player; None if no clock is shown."""
    is_pressing: bool = False
    """When no time is left, the others go on without them."""
    gauge: Gauge | None = None
    talk: Sequence[Talk] = ()
    """The last one at the end."""
    reply: Sequence[str] = ()
    """One or two rows that take the place of the keys, as wide as the screen; no longer text gets here."""
    band: Band = field(default_factory=Band)
    keys: Sequence[tuple[str, str]] = ()
    """At most eight: the key or the word to type, and what it does (empty for a word that says it)."""
    motion: Motion = field(default_factory=Motion)
    dialog: Dialog | None = None
    page: TextPage | None = None
    away: Mapping[str, int] = field(default_factory=dict)
    """Fingerprints of players who do not answer, and for how many seconds."""
    given: frozenset[str] = frozenset()
    """Fingerprints of players whose message in the open step is here."""
    coach: str = ""
    """In a lesson: Coach's words, which are shown in full."""
    lesson: str = ""
    """In a lesson: how far it is, for the title."""
    watchers: Sequence[str] = ()
    """Names of spectators, safe to print."""
    picked: int | None = None
    """The player in the lobby, or the entry of a list of moves, that arrows have reached."""
    moves: Sequence[str] = ()
    """The legal moves as they are typed, if no bid is among them: a list to pick from."""
    score: str = ""
    """The score of the evening; empty before its second match."""
    minutes: int = 0
    """That the match took, once it is over; 0 if that is not known."""
    verdict: str = ""
    """Of the judgement on the file of a replay: ``fair``, ``misconduct`` …; empty elsewhere. No text of the file."""
    strip: ReplayStrip | WatchStrip | None = None
    """None for a player."""
