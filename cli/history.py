"""The statistics of ``p2pdice history stats``: each player's record, with confidence intervals and a test of the dice.

:mod:`cli.text.match_list` has the lines that ``p2pdice history`` itself prints.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import erfc, exp, pi, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

from cli.render import columns, counted, escape, listing, shortened
from cli.table.board import Board
from cli.text.rounds import Weighed, weigh
from p2pdice.events import BidMade, ChallengeCalled
from p2pdice.moves import FACES
from protocol.events import CupsSeen, Happened, MatchResult

if TYPE_CHECKING:
    from cli.table.replay_table import Retelling
    from protocol.events import NodeEvent, PlayerInfo


CONFIDENCE: Final = 0.95
"""The confidence level of all intervals."""
WIDTH: Final = 18
"""Columns for a name."""
UNUSUAL: Final = 0.05
"""Corrected p-values below this are marked: one in twenty homes with only fair dice sees a mark."""
LEGEND: Final = (
    "The range in brackets contains the true share with 95% confidence. It narrows with more matches. "
    "x luck: 2.00 is twice the wins that luck alone gives. "
    "A bluff is a bid that is less than half likely, given the bidder's own dice."
)
WARNING: Final = (
    "By luck: how often fair dice come out at least this uneven, multiplied by the number of players, or by a little "
    "less (Holm's correction; at most 100%). Without that, one of many players would nearly always look uneven. "
    "Nobody can choose dice here: they are derived from secrets that all players commit to before any is opened, and "
    "verify checks each of them. So this test only looks for a fault of the program. Of twenty homes with fair dice, "
    "about one sees a mark."
)
ENOUGH_DICE: Final = 5 * len(FACES)
"""With fewer dice, each face is expected less than five times, and the statistic does not follow chi-square."""


@dataclass(frozen=True, slots=True)
class WeighedMove:
    """A bid or a call with its probability and its outcome."""

    seat: int
    weighed: Weighed

    @property
    def is_bluff(self) -> bool:
        """Whether the move is a bid with a probability below one half given the bidder's own dice."""
        return not self.weighed.is_call and self.weighed.chance < 1 / 2


@dataclass(slots=True)
class MatchFigures:
    """The facts about one match that the statistics use."""

    match: str
    players: tuple[PlayerInfo, ...]
    places: tuple[tuple[int, ...], ...] = ()
    """The seats that share each place, winners first; empty for an unfinished match."""
    dice: list[list[int]] = field(default_factory=list)
    """By seat, how often each face was dealt, ones first, without the cups that stayed closed."""
    moves: list[WeighedMove] = field(default_factory=list)

    def take(self, event: NodeEvent, board: Board) -> None:
        """Record an event of a replay, after the board has taken it."""
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


def no_figures(replayed: Retelling) -> MatchFigures:
    """Return empty figures, to be filled from the events of a match."""
    match = "" if replayed.verdict is None else replayed.verdict.match or ""
    return MatchFigures(match, tuple(replayed.players), dice=[[0] * 6 for _ in replayed.players])


def figures(replayed: Retelling) -> MatchFigures:
    """Replay a match and return its figures."""
    found = no_figures(replayed)
    board = Board()
    for _, event in replayed.tell():
        board.take(event)
        found.take(event, board)
    return found


@dataclass(slots=True)
class Proportion:
    """A share of hits among trials. A trial can be a fractional hit."""

    hits: float = 0
    trials: int = 0

    def count(self, is_hit: float) -> None:
        """Count one more trial, and its hit as 0, 1 or a fraction."""
        self.hits += is_hit
        self.trials += 1

    @property
    def percent(self) -> str:
        """The share and its interval in percent; a dash without trials.

        >>> Proportion(5, 10).percent, Proportion().percent
        ('50% (24-76)', '-')
        """
        if not self.trials:
            return "-"
        low, high = wilson(self.hits, self.trials, CONFIDENCE)
        return f"{self.hits / self.trials:.0%} ({100 * low:.0f}-{100 * high:.0f})"

    def to_json(self) -> dict[str, Any]:
        """Return hits, trials and the interval as JSON-serializable data."""
        low, high = wilson(self.hits, self.trials, CONFIDENCE)
        return {"hits": self.hits, "trials": self.trials, "low": round(low, 4), "high": round(high, 4)}


@dataclass(slots=True)
class PlayerRecord:
    """One player's results over all counted matches."""

    fingerprint: str
    names: dict[str, None] = field(default_factory=dict)
    """The player's nicknames in the order of their first use."""
    won: Proportion = field(default_factory=Proportion)
    """Wins out of finished matches; n players who share a win count 1/n each."""
    fair: float = 0
    """The wins expected by chance alone: 1/n for each finished match of n players."""
    bluffs: Proportion = field(default_factory=Proportion)
    """Bids with a probability below one half given the bidder's own dice, out of all bids."""
    true: Proportion = field(default_factory=Proportion)
    """True bids, out of the bids whose dice are known."""
    calls: Proportion = field(default_factory=Proportion)
    """Right calls, out of the calls whose dice are known."""
    dice: list[int] = field(default_factory=lambda: [0] * 6)
    """How often each face was dealt, ones first."""

    @property
    def dice_p(self) -> float:
        """The probability that fair dice would be at least as uneven, before correction."""
        return p_value(chi_square(self.dice))


def records(matches: Iterable[MatchFigures]) -> tuple[PlayerRecord, ...]:
    """Return the records of all players, sorted by their number of finished matches, most first.

    :param matches: the matches, oldest first.
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


def table(found: Sequence[PlayerRecord], own: Collection[str]) -> Iterator[str]:
    """Yield a heading and one line per record, for a terminal of 80 columns.

    :param own: the reader's fingerprints.
    """
    names = [_shown(record, found, own) for record in found]
    width = max(map(columns, names), default=0)
    head = ("matches", "wins", "x luck", "bluffs", "calls right")
    yield f"{'':{width}}  {head[0]:>7} {head[1]:>13}  {head[2]:>7} {head[3]:>13} {head[4]:>13}"
    for name, each in zip(names, found, strict=True):
        share = f"{each.won.hits / each.fair:.2f}" if each.fair else "-"
        cells = f"{each.won.percent:>13}  {share:>7} {each.bluffs.percent:>13} {each.calls.percent:>13}"
        yield f"{_padded(name, width)}  {each.won.trials:>7} {cells}"


def _shown(record: PlayerRecord, found: Sequence[PlayerRecord], own: Collection[str]) -> str:
    """Return the player's latest name in at most :data:`WIDTH` columns.

    The reader's name is followed by ``(you)``. If another player has used the same name, the start of the fingerprint
    follows, too. Only the name is truncated.
    """
    name = next(reversed(record.names))
    others = [each for each in found if each is not record and name in each.names]
    marks = ["you"] if record.fingerprint in own else []
    if others:
        marks.append(record.fingerprint[:4])
    return shortened(escape(name), WIDTH, f" ({', '.join(marks)})" if marks else "")


def _padded(name: str, width: int) -> str:
    return name + " " * (width - columns(name))


def dice_lines(found: Sequence[PlayerRecord], own: Collection[str]) -> Iterator[str]:
    """Yield a heading, and for each player how often each face was dealt and the corrected p-value.

    :param own: the reader's fingerprints.
    """
    yield f"{'dice dealt':{WIDTH}}  {' '.join(f'{face:>5}' for face in FACES)}  by luck"
    corrected = holm([record.dice_p for record in found])
    for record, p in zip(found, corrected, strict=True):
        mark = "  UNUSUAL" if p < UNUSUAL else ""
        counts = " ".join(f"{count:>5}" for count in record.dice)
        yield f"{_padded(_shown(record, found, own), WIDTH)}  {counts}  {p:>7.1%}{mark}"


def data(found: Sequence[PlayerRecord]) -> list[dict[str, Any]]:
    """Return the records as JSON-serializable data."""
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
    """Return how many matches and players were counted, and the matches that were left out, in sentences."""
    said = f"{counted(matches, 'match', 'matches').capitalize()}, {counted(len(found), 'player')}."
    return said + (
        f" Left out, because they cannot be read, are unfinished or not fair: {listing(left_out)}." if left_out else ""
    )


def wilson(hits: float, trials: int, confidence: float) -> tuple[float, float]:
    """Return Wilson's score interval for a share; (0, 1) without trials.

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
    """Return Pearson's chi-square statistic of the counts of six faces against fair dice; 0 without dice.

    >>> chi_square((10, 10, 10, 10, 10, 10)), chi_square((15, 5, 10, 10, 10, 10))
    (0.0, 5.0)
    """
    expected = sum(counts) / len(FACES)
    return sum((count - expected) ** 2 / expected for count in counts) if expected else 0.0


def p_value(statistic: float) -> float:
    """Return the probability of a chi-square statistic at least this large with five degrees of freedom.

    For an odd number of degrees of freedom the tail has this closed form (Abramowitz and Stegun, 26.4.4).

    >>> round(p_value(11.0705), 4), p_value(0.0)
    (0.05, 1.0)
    """
    half = statistic / 2
    return erfc(sqrt(half)) + 2 * sqrt(half / pi) * exp(-half) * (1 + 2 * half / 3)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values adjusted for multiple comparisons, in the same order, by Holm's step-down method.

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
