"""A report as one HTML file. It fetches nothing, and its content security policy forbids every fetch.

The template engine escapes all texts from players, such as names. Scripts and styles run only if their hashes are in
the policy, so text from a player can never run as a script. Charts are coordinates from which the template writes SVG.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from cli.history import ENOUGH_DICE, chi_square, no_figures, p_value
from cli.render import FACE_SIGNS, columns, listing, numbered, percent
from cli.table.board import Board
from cli.table.moment import tell
from cli.text.rounds import RecapRow, Weighed, recap, weigh
from cli.text.seating import Seating
from p2pdice.events import MatchOver, RoundStarted, StakesPaid
from protocol.events import CupsSeen, Happened, MatchResult, MatchStarted

if TYPE_CHECKING:
    from cli.table.board import Told
    from cli.table.replay_table import Retelling
    from p2pdice.moves import Hand
    from protocol.events import PlayerInfo
    from protocol.match.replay import ClosedStep

STYLE: Final = "report.css"
TEMPLATE: Final = "report.html.j2"
ORDER: Final = "verifier/order.txt"
"""The file that names the verifier's scripts, in the order in which they have to run."""
UI: Final = "show_checks.js"


def page(replayed: Retelling, transcript: bytes, verdict: str) -> str:
    """Return the report on a match as HTML. It depends only on the transcript, not on the name of its file.

    The page of an unsigned game says so, and has no verifier and no signatures.

    :param transcript: the bytes of the file, which the page embeds; empty for an unsigned game.
    :param verdict: this program's verdict as a sentence, or a sentence that there is none.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    shown = contents(replayed)
    dice = _dice(shown, replayed)
    own = "base-uri 'none'; form-action 'none'"
    style, script = _text(STYLE), scripts() if replayed.verdict is not None else ""
    scripts_allowed = f"script-src {_hash(script)}; " if script else ""
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_text),
    )
    return environment.get_template(TEMPLATE).render(
        title=_title(shown, replayed.rules),
        rules=replayed.rules,
        played=sum(bool(each.dice) for each in shown.rounds),
        verdict=verdict,
        judged=replayed.verdict,
        shown=shown,
        chart=dice_over_time(shown.seating.names, dice),
        small=dice_over_time([""] * len(shown.seating.names), dice, SMALL),
        small_width=SMALL,
        dice=dice,
        ended=len(dice) > sum(bool(each.dice) for each in shown.rounds),
        width=WIDTH,
        height=HEIGHT,
        bars=bars,
        enough_dice=ENOUGH_DICE,
        style=style,
        script=script,
        policy=f"default-src 'none'; style-src {_hash(style)}; {scripts_allowed}{own}",
        transcript=b64encode(transcript).decode("ascii"),
    )


def _title(shown: Contents, rules: str) -> str:
    """Return a title with the winners or, for an unfinished match, the players."""
    if winners := shown.winners:
        return f"{listing(winners)} {'win' if len(winners) > 1 else 'wins'}: {rules}"
    return f"{listing(shown.seating.names)}: {rules}, not finished"


def scripts() -> str:
    """Return the verifier and the script that shows its checks, joined into one script."""
    names = _text(ORDER).split()
    return "\n".join([*(_text(f"verifier/{name}") for name in names), _text(UI)])


def _dice(shown: Contents, replayed: Retelling) -> list[tuple[int, ...]]:
    """Return the dice by seat at the start of each round and, if known, at the end."""
    counts = [each.dice for each in shown.rounds if each.dice]
    end = replayed.last_dice
    return [*counts, end] if counts and end else counts or [(0,) * len(replayed.players)]


def _text(name: str) -> str:
    return files("cli.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a round."""

    text: str
    percent: str = ""
    """The chance that a bid is true, or a call right, given its player's own dice; empty for other sentences."""
    share: float = 0.0
    """The same chance as a number from 0 to 1."""
    outcome: str = ""
    """``true`` or ``false`` for a bid, ``right`` or ``wrong`` for a call, or ``unknown``; empty for other sentences."""


@dataclass(slots=True)
class Chapter:
    """A part of the match under one heading."""

    title: str
    heading: str
    """The sentence under which the chapter is printed; before the first round, the title."""
    hands: list[tuple[str, str]] = field(default_factory=list)
    """The name and dice of each player."""
    lines: list[Sentence] = field(default_factory=list)
    dice: tuple[int, ...] = ()
    """The dice in play at the start, by seat; empty before the first round."""
    ending: str = ""
    """A clause about the call, the count and the consequences; empty if the round did not end."""


@dataclass(slots=True)
class Contents:
    """Everything that a page shows."""

    seating: Seating = field(default_factory=Seating)
    places: tuple[tuple[int, ...], ...] = ()
    """Seats by place; empty for an unfinished match."""
    rounds: list[Chapter] = field(default_factory=list)
    dealt: list[list[int]] = field(default_factory=list)
    """How often each face was dealt, from one to six, by seat."""
    payments: list[tuple[str, int, int]] = field(default_factory=list)
    """Each player's name, the coins received, and the coins won or lost."""
    steps: list[ClosedStep] = field(default_factory=list)
    recap: tuple[RecapRow, ...] = ()
    """At most three rows: best bluff, worst call, luckiest roll."""

    @property
    def winners(self) -> list[str]:
        """The names of the players in first place; empty for an unfinished match."""
        return [self.seating.names[seat] for seat in self.places[0]] if self.places else []

    @property
    def standings(self) -> list[int]:
        """All seats in the order of their places, or of the seats if the match is unfinished."""
        return [*chain(*self.places)] or [*range(len(self.seating.names))]

    def place(self, seat: int) -> int | None:
        """Return a player's place, from 1; None for an unfinished match."""
        return next((place for place, seats in numbered(self.places) if seat in seats), None)

    def name(self, player: PlayerInfo) -> str:
        """Return a player's name on the page, which is unique."""
        return self.seating.names[self.seating.players.index(player)]

    def evenness(self, seat: int) -> float:
        """Return the chance that fair dice are at least as uneven as a player's were."""
        return p_value(chi_square(self.dealt[seat]))


def contents(replayed: Retelling) -> Contents:
    """Return the contents of the report on a match."""
    found = Contents(Seating.of(replayed.players, None), steps=[*replayed.steps()])
    counted = no_figures(replayed)
    board = Board()
    part = Chapter(*2 * ("Before the first round",))
    found.rounds.append(part)
    for _, event in replayed.tell():
        if isinstance(event, Happened) and isinstance(event.event, RoundStarted | MatchOver) and board.rounds:
            keeps_wrong = event.state.ruleset.verdict == "right-side-discards"
            ended = board.rounds[-1].line(found.seating, keeps_wrong=keeps_wrong)
            part.ending = ended.removeprefix(f"{part.title}: ")
        board.take(event)
        counted.take(event, board)
        match event:
            case Happened(event=RoundStarted() as started):
                part = Chapter(f"Round {started.round}", "", dice=started.dice)
                found.rounds.append(part)
                (part.heading,) = tell(event, board)
                continue
            case CupsSeen():
                cups = zip(found.seating.names, event.hands, strict=True)
                part.hands = [(name, _cup(cup)) for name, cup in cups if cup != ()]
                continue
            case Happened(event=StakesPaid() as paid):
                found.payments = [*zip(found.seating.names, paid.payout, paid.delta, strict=True)]
            case MatchStarted():
                continue
        part.lines.extend(_lines(event, board))
    found.recap = recap(board.rounds, found.seating)
    found.places, found.dealt = counted.places, counted.dice
    found.rounds = [each for each in found.rounds if each.lines or each.hands]
    return found


def _cup(cup: Hand | None) -> str:
    return "stayed down" if cup is None else "  ".join(f"{FACE_SIGNS[face - 1]} {face}" for face in cup)


def _lines(event: Told, board: Board) -> Iterator[Sentence]:
    if isinstance(event, MatchResult):
        return
    sentences = [*tell(event, board)]
    if not sentences:
        return
    *before, last = sentences
    yield from map(Sentence, before)
    weighed = weigh(event.event, event.state, board.hands, None) if isinstance(event, Happened) else None
    yield Sentence(last) if weighed is None else _weighed(last, weighed)


def _weighed(text: str, weighed: Weighed) -> Sentence:
    right, wrong = ("right", "wrong") if weighed.is_call else ("true", "false")
    outcome = "unknown" if weighed.is_right is None else right if weighed.is_right else wrong
    return Sentence(text, percent(weighed.chance), float(weighed.chance), outcome)


WIDTH: Final = 640
SMALL: Final = 320
"""Width of a chart for a phone, which shows no names."""
HEIGHT: Final = 220
LEFT, TOP, BOTTOM = 32, 12, 28
"""Margins for the labels around a chart, in the units of its view box. The right margin depends on the names."""
COLUMN: Final = 6.5
"""Approximate width of a letter."""
ROW: Final = 13
"""Height of a label."""


class Track(NamedTuple):
    """The line of one player, with a point for each round."""

    name: str
    number: int
    """The index of its line style, which is one of ten combinations of colour and dashes."""
    points: str
    label_at: tuple[float, float]


class Tick(NamedTuple):
    """A mark on an axis."""

    text: str
    at: float


class Chart(NamedTuple):
    """A chart of the dice left in each round."""

    right: float
    """The coordinate where the lines end and the labels begin."""
    tracks: tuple[Track, ...]
    rounds: tuple[Tick, ...]
    dice: tuple[Tick, ...]


def dice_over_time(names: Sequence[str], rounds: Sequence[Sequence[int]], width: int = WIDTH) -> Chart:
    """Return a chart of the dice left.

    :param rounds: dice by seat, at the start of each round and at the end of the match.
    """
    right = width - min(16 + COLUMN * max(map(columns, names), default=0), width / 2)
    most = max((count for each in rounds for count in each), default=1) or 1
    across = (right - LEFT) / max(len(rounds) - 1, 1)

    def x(number: int) -> float:
        return round(LEFT + number * across, 1)

    def y(count: float) -> float:
        return round(HEIGHT - BOTTOM - count * (HEIGHT - TOP - BOTTOM) / most, 1)

    tracks = []
    for seat, name in enumerate(names):
        # Shift the lines, so that those of players with equally many dice do not cover each other.
        aside = (seat - (len(names) - 1) / 2) * 2.5
        points = " ".join(f"{x(number)},{y(each[seat]) + aside}" for number, each in enumerate(rounds))
        tracks.append(Track(name, seat, points, (x(len(rounds) - 1) + 6, y(rounds[-1][seat]) + aside)))
    every = max(1, -(-len(rounds) * WIDTH // (12 * width)))
    ticks = tuple(Tick(str(number + 1), x(number)) for number in range(0, max(len(rounds) - 1, 1), every))
    dice = tuple(Tick(str(count), y(count)) for count in range(0, most + 1, -(-most // 6)))
    return Chart(round(right, 1), _apart(tracks), ticks, dice)


def _apart(tracks: list[Track]) -> tuple[Track, ...]:
    """Move labels up until none covers another. Most lines end at the bottom, so there is room above."""
    placed: dict[int, float] = {}
    at = float(HEIGHT)
    for track in sorted(tracks, key=lambda each: (-each.label_at[1], -each.number)):
        at = min(track.label_at[1], at - ROW)
        placed[track.number] = at
    return tuple(each._replace(label_at=(each.label_at[0], round(placed[each.number], 1))) for each in tracks)


class Bar(NamedTuple):
    """How often one face was dealt to one player."""

    face: int
    x: float
    height: float


def bars(counts: Sequence[int]) -> tuple[tuple[Bar, ...], float]:
    """Return six bars in a box of 120 by 60, and the height of each if all faces were equally frequent."""
    even = sum(counts) / 6
    most = max(*counts, even, 1)
    found = (Bar(face, 4 + (face - 1) * 19, round(48 * count / most, 1)) for face, count in enumerate(counts, 1))
    return tuple(found), round(48 * even / most, 1)
