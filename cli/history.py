"""The figures of ``p2pdice history stats``: each player's record over many matches, with intervals and a test of dice.

The lines that ``p2pdice history`` lists are in :mod:`cli.text.match_list`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import erfc, exp, pi, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

from cli.render import columns, counted, escape, listing
from cli.table.board import Board
from cli.text.rounds import Weighed, weigh
from p2pdice.events import BidMade, ChallengeCalled
from p2pdice.moves import FACES
from protocol.events import CupsSeen, Happened, MatchResult

if TYPE_CHECKING:
    from protocol.events import NodeEvent, PlayerInfo
    from protocol.match.replay import Replay


CONFIDENCE: Final = 0.95
"""Of all intervals."""
WIDTH: Final = 18
"""Columns for a name."""
UNUSUAL: Final = 0.05
"""Corrected p-values below this are marked: of homes with only fair dice, one in twenty sees a mark."""
LEGEND: Final = (
    "In brackets is the range that holds the true share with 95% confidence: it narrows with more matches. "
    "x luck: 2.00 is twice the wins that luck alone gives. "
    "A bluff is a bid that the bidder's own dice made less than half likely."
)
WARNING: Final = (
    "By luck: how often fair dice come out at least this uneven, multiplied by the number of players, or a little "
    "less (Holm's correction; at most 100%), because of many players one nearly always looks uneven. "
    "Nobody can choose dice here: they are derived from secrets that all players commit to before any is opened, and "
    "verify checks each of them. So this test only looks for a fault of the program. Of twenty homes with fair dice, "
    "one is expected to be marked."
)
ENOUGH_DICE: Final = 5 * len(FACES)
"""With fewer, each face is expected less than five times, and the statistic does not follow chi-square."""


@dataclass(frozen=True, slots=True)
class WeighedMove:
    """A bid or a call, with its chance and its outcome."""

    seat: int
    weighed: Weighed

    @property
    def is_bluff(self) -> bool:
        """Whether it is a bid that the bidder's own dice made less than half likely."""
        return not self.weighed.is_call and self.weighed.chance < 1 / 2


@dataclass(slots=True)
class MatchFigures:
    """The facts about one match from which statistics are made."""

    match: str
    """Its id."""
    players: tuple[PlayerInfo, ...]
    """By seat."""
    places: tuple[tuple[int, ...], ...] = ()
    """Seats by place, winners first; empty for a match that was not finished."""
    dice: list[list[int]] = field(default_factory=list)
    """By seat: how often each face was dealt, ones first. Cups that were never opened are left out."""
    moves: list[WeighedMove] = field(default_factory=list)

    def take(self, event: NodeEvent, board: Board) -> None:
        """Note an event of a replay that the board has just taken."""
        match event:
            case CupsSeen():
                for seat, hand in enumerate(event.hands):
                    for face in hand or ():
                        self.dice[seat][face - 1] += 1
            case MatchResult():
                self.places = event.places
            case Happened(event=BidMade() | ChallengeCalled() as move):
                weighed = weigh(move, event.state, board.hands, None)
                assert weighed is not None
                self.moves.append(WeighedMove(move.seat, weighed))


def no_figures(replayed: Replay) -> MatchFigures:
    """Return the figures of a match before any of its events."""
    return MatchFigures(replayed.verdict.match or "", replayed.players, dice=[[0] * 6 for _ in replayed.players])


def figures(replayed: Replay) -> MatchFigures:
    """Return the figures of a match."""
    found = no_figures(replayed)
    board = Board()
    for _, event in replayed.tell():
        board.take(event)
        found.take(event, board)
    return found


@dataclass(slots=True)
class Proportion:
    """A number of hits out of a number of trials."""

    hits: float = 0
    trials: int = 0

    def count(self, is_hit: float) -> None:
        """Note one more."""
        self.hits += is_hit
        self.trials += 1

    @property
    def percent(self) -> str:
        """The share and its interval; a dash without trials.

        >>> Proportion(5, 10).percent, Proportion().percent
        ('50% (24-76)', '-')
        """
        if not self.trials:
            return "-"
        low, high = wilson(self.hits, self.trials, CONFIDENCE)
        return f"{self.hits / self.trials:.0%} ({100 * low:.0f}-{100 * high:.0f})"

    def to_json(self) -> dict[str, Any]:
        """Return the share as JSON-able data."""
        low, high = wilson(self.hits, self.trials, CONFIDENCE)
        return {"hits": self.hits, "trials": self.trials, "low": round(low, 4), "high": round(high, 4)}


@dataclass(slots=True)
class PlayerRecord:
    """One player's matches."""

    fingerprint: str
    names: dict[str, None] = field(default_factory=dict)
    """In the order of their first use."""
    won: Proportion = field(default_factory=Proportion)
    """Out of finished matches; a win that several share counts as a part."""
    fair: float = 0
    """The wins that chance alone would give: an equal part of each finished match."""
    bluffs: Proportion = field(default_factory=Proportion)
    """Bids that the bidder's own dice made less than half likely, out of all bids."""
    true: Proportion = field(default_factory=Proportion)
    """True bids, out of those whose dice are known."""
    calls: Proportion = field(default_factory=Proportion)
    """Right calls, out of those whose dice are known."""
    dice: list[int] = field(default_factory=lambda: [0] * 6)
    """How often each face was dealt, ones first."""

    @property
    def dice_p(self) -> float:
        """The p-value of the dice: how likely fair dice are to be at least as uneven."""
        return p_value(chi_square(self.dice))


def records(matches: Iterable[MatchFigures]) -> tuple[PlayerRecord, ...]:
    """Return the records of all players, the one with most matches first.

    :param matches: the oldest first.
    """
    found: dict[str, PlayerRecord] = {}
    for each in matches:
        by_seat = [found.setdefault(player.fingerprint, PlayerRecord(player.fingerprint)) for player in each.players]
        winners = each.places[0] if each.places else ()
        for seat, (player, record) in enumerate(zip(each.players, by_seat, strict=True)):
            record.names.setdefault(player.name)
            record.dice = [had + got for had, got in zip(record.dice, each.dice[seat], strict=True)]
            if winners:
                record.won.count((seat in winners) / len(winners))
                record.fair += 1 / len(each.players)
        for move in each.moves:
            _count(by_seat[move.seat], move)
    return tuple(sorted(found.values(), key=lambda record: (-record.won.trials, record.fingerprint)))


def _count(record: PlayerRecord, move: WeighedMove) -> None:
    if not move.weighed.is_call:
        record.bluffs.count(move.is_bluff)
    if move.weighed.is_right is not None:
        (record.calls if move.weighed.is_call else record.true).count(move.weighed.is_right)


def table(found: Sequence[PlayerRecord]) -> Iterator[str]:
    """Yield the records as lines for a terminal of 80 columns."""
    names = [_shown(record, found) for record in found]
    width = max(map(columns, names), default=0)
    head = ("matches", "wins", "x luck", "bluffs", "calls right")
    yield f"{'':{width}}  {head[0]:>7} {head[1]:>13}  {head[2]:>7} {head[3]:>13} {head[4]:>13}"
    for name, each in zip(names, found, strict=True):
        share = f"{each.won.hits / each.fair:.2f}" if each.fair else "-"
        cells = f"{each.won.percent:>13}  {share:>7} {each.bluffs.percent:>13} {each.calls.percent:>13}"
        yield f"{_padded(name, width)}  {each.won.trials:>7} {cells}"


def _shown(record: PlayerRecord, found: Sequence[PlayerRecord]) -> str:
    """Return the name used last, and the beginning of the key if others use it, too, in at most :data:`WIDTH` columns.

    What is cut off is the end of the name: the key is what tells namesakes apart.
    """
    name = next(reversed(record.names))
    others = [each for each in found if each is not record and name in each.names]
    key = f" ({record.fingerprint[:4]})" if others else ""
    shown = escape(name)
    if columns(shown + key) > WIDTH:
        while columns(shown + key) >= WIDTH:
            shown = shown[:-1]
        shown += "…"
    return shown + key


def _padded(name: str, width: int) -> str:
    return name + " " * (width - columns(name))


def dice_lines(found: Sequence[PlayerRecord]) -> Iterator[str]:
    """Yield how often each player was dealt each face, and the corrected p-value, under a heading."""
    yield f"{'dice dealt':{WIDTH}}  {' '.join(f'{face:>5}' for face in FACES)}  by luck"
    corrected = holm([record.dice_p for record in found])
    for record, p in zip(found, corrected, strict=True):
        mark = "  UNUSUAL" if p < UNUSUAL else ""
        counts = " ".join(f"{count:>5}" for count in record.dice)
        yield f"{_padded(_shown(record, found), WIDTH)}  {counts}  {p:>7.1%}{mark}"


def data(found: Sequence[PlayerRecord]) -> list[dict[str, Any]]:
    """Return the records as JSON-able data."""
    corrected = holm([record.dice_p for record in found])
    return [
        {
            "fingerprint": each.fingerprint,
            "names": list(each.names),
            "matches": each.won.trials,
            "won": each.won.to_json(),
            "fair_wins": round(each.fair, 4),
            "bluffs": each.bluffs.to_json(),
            "true_bids": each.true.to_json(),
            "calls_right": each.calls.to_json(),
            "dice": each.dice,
            "dice_p": round(each.dice_p, 6),
            "dice_p_holm": round(p, 6),
        }
        for each, p in zip(found, corrected, strict=True)
    ]


def heading(matches: int, found: Sequence[PlayerRecord], left_out: Sequence[str]) -> str:
    """Return a sentence on the matches and players that were counted."""
    said = f"{counted(matches, 'match', 'matches').capitalize()}, {counted(len(found), 'player')}."
    return said + (
        f" Left out, because they cannot be read, are unfinished or not fair: {listing(left_out)}." if left_out else ""
    )


def wilson(hits: float, trials: int, confidence: float) -> tuple[float, float]:
    """Return the bounds of a share, by Wilson's score interval; (0, 1) without trials.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference" (1927).

    >>> [round(bound, 3) for bound in wilson(5, 10, 0.95)]
    [0.237, 0.763]
    """
    if not trials:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = hits / trials
    middle = share + z * z / (2 * trials)
    reach = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)


def chi_square(counts: Sequence[int]) -> float:
    """Return Pearson's statistic of six counts of faces against fair dice; 0 without dice.

    >>> chi_square((10, 10, 10, 10, 10, 10)), chi_square((15, 5, 10, 10, 10, 10))
    (0.0, 5.0)
    """
    expected = sum(counts) / len(FACES)
    return sum((count - expected) ** 2 / expected for count in counts) if expected else 0.0


def p_value(statistic: float) -> float:
    """Return the chance that fair dice are at least as uneven: the tail of chi-square with five degrees of freedom.

    For an odd number of degrees the incomplete gamma function has this closed form (Abramowitz and Stegun, 26.4.4).

    >>> round(p_value(11.0705), 4), p_value(0.0)
    (0.05, 1.0)
    """
    half = statistic / 2
    return erfc(sqrt(half)) + 2 * sqrt(half / pi) * exp(-half) * (1 + 2 * half / 3)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values corrected for their number: each may be compared with a level as if it were the only one.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure" (1979).

    >>> holm((0.01, 0.04, 0.03))
    (0.03, 0.06, 0.06)
    """
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda each: (p_values[each], each))):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = highest
    return tuple(corrected)
