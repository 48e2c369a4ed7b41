"""The standings of an arena: by how much entrants win more than a fair share, how certain that is, and the output.

A victory is worth one point, which players who win together share. The games of a deal have the same dice, so they are
not independent: together they give one score, from 0 to 1. All confidence intervals here are for the mean of scores.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import inf, log, log1p, sqrt
from statistics import NormalDist, fmean, stdev
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cli.arena.fixtures import ArenaTable, Entrant, Fixture, seated
from cli.arena.game import Game, Plan
from cli.bots.bot import program_name
from cli.bots.programs import split_command
from cli.render import columns, escape, listing
from p2pdice.players import LEVELS

if TYPE_CHECKING:
    from openskill.models import PlackettLuceRating

CONFIDENCE: Final = 0.99
"""The confidence of each interval, if the number of games was fixed in advance."""


class Share(NamedTuple):
    """An entrant's share of victories at one table."""

    table: int
    entrant: int
    games: int
    won: float
    """The share of games that it won, from 0 to 1."""
    fair: float
    """The share that it would win if all were alike: its part of the seats at the table."""
    bounds: Interval
    """Bounds of its share in the long run. :attr:`Summary.confidence` is their confidence."""

    @property
    def is_better(self) -> bool:
        """Whether its bounds are above its fair share."""
        return self.bounds.low > self.fair

    @property
    def is_worse(self) -> bool:
        """Whether its bounds are below its fair share."""
        return self.bounds.high < self.fair


class EntrantResult(NamedTuple):
    """The results of an entrant in all games."""

    entrant: int
    games: int
    """Seats taken: a game counts twice for an entrant with two seats."""
    won: float
    """Victories; a shared one counts in part."""
    fair: float
    """Expected victories if all were alike."""
    rating: float
    """The rating in openskill's Plackett-Luce model, in which everybody begins with 25."""
    uncertainty: float
    """Half the width of the rating's confidence interval."""
    faults: dict[str, int]
    move_ms: float
    """The mean duration of a move in milliseconds."""
    slow_ms: float
    """The 99th percentile of the durations of its moves, in milliseconds."""


class DealScores:
    """The scores of deals, from games in the order of their fixtures."""

    def __init__(self, tables: Sequence[ArenaTable]) -> None:
        self.deals: dict[tuple[int, int], list[float]] = defaultdict(list)
        """The score from 0 to 1 of each complete deal, by table and entrant."""
        self._tables = tables
        self._points: dict[int, float] = defaultdict(float)
        """The points of each entrant in the deal that is not complete yet."""

    def add(self, fixture: Fixture, game: Game) -> bool:
        """Add the next game; return whether its deal is complete now."""
        seats = seated(self._tables[fixture.table], fixture.rotation)
        for seat in game.winners:
            self._points[seats[seat]] += 1 / len(game.winners)
        if fixture.rotation < len(seats) - 1:
            return False
        for entrant in set(seats):
            self.deals[fixture.table, entrant].append(self._points[entrant] / len(seats))
        self._points.clear()
        return True

    def shares(self, table: int, decision: Decision | None) -> list[Share]:
        """Return the share of each entrant at a table, in the order of the seats.

        :param decision: the decision that ended the games, if their number was not fixed in advance.
        """
        seats = self._tables[table].seats
        return [
            Share(
                table,
                entrant,
                len(deals) * len(seats),
                fmean(deals),
                _fair(seats, entrant),
                decision.bounds(table, entrant) if decision else interval(deals, CONFIDENCE),
            )
            for entrant in dict.fromkeys(seats)
            if (deals := self.deals[table, entrant])
        ]


def _fair(seats: Sequence[int], entrant: int) -> float:
    return seats.count(entrant) / len(seats)


class Decision:
    """Determines when it is known, for every entrant at every table, whether it wins more or less than its fair share.

    :param error: maximum probability that any of these answers is wrong, no matter when the games are stopped.
    """

    def __init__(self, tables: Sequence[ArenaTable], error: float) -> None:
        self.error = error
        self._tables = tables
        self._scores = DealScores(tables)
        # With two entrants, one of them wins each game that the other does not, so one answer is enough.
        pairs = [
            (index, entrant)
            for index, table in enumerate(tables)
            for entrant in dict.fromkeys(table.seats[:1] if len(set(table.seats)) == 2 else table.seats)
        ]
        self._sequences = {pair: ConfidenceSequence(error / len(pairs)) for pair in pairs}
        self._undecided = set(pairs)

    def add(self, fixture: Fixture, game: Game) -> None:
        """Add the next game, in the order of the fixtures."""
        if not self._scores.add(fixture, game):
            return
        seats = self._tables[fixture.table].seats
        for entrant in set(seats):
            pair = fixture.table, entrant
            if sequence := self._sequences.get(pair):
                sequence.add(self._scores.deals[pair][-1:])
                if sequence.interval.excludes(_fair(seats, entrant)):
                    self._undecided.discard(pair)

    @property
    def is_made(self) -> bool:
        """Whether all answers are known."""
        return not self._undecided

    def bounds(self, table: int, entrant: int) -> Interval:
        """Return the bounds of an entrant's share. All together hold with a probability of at least 1 - ``error``."""
        if sequence := self._sequences.get((table, entrant)):
            return sequence.interval
        low, high = self._sequences[table, self._tables[table].seats[0]].interval
        return Interval(1 - high, 1 - low)


class Summary:
    """The results of an arena.

    :param played: games with their fixtures, in the order of the fixtures.
    :param decision: the decision that ended the games, if their number was not fixed in advance.
    """

    def __init__(self, plan: Plan, played: Sequence[tuple[Fixture, Game]], decision: Decision | None = None) -> None:
        self.plan = plan
        self.confidence = 1 - decision.error if decision else CONFIDENCE
        """With a decision, the probability that all bounds hold together; otherwise, the probability for each."""
        scores = DealScores(plan.tables)
        for fixture, game in played:
            scores.add(fixture, game)
        self.shares = [share for table in range(len(plan.tables)) for share in scores.shares(table, decision)]
        self.standings = sorted(_standings(plan, played), key=lambda standing: (-standing.rating, standing.entrant))


def _standings(plan: Plan, played: Sequence[tuple[Fixture, Game]]) -> list[EntrantResult]:
    seats_taken: Counter[int] = Counter()
    won: dict[int, float] = defaultdict(float)
    fair: dict[int, float] = defaultdict(float)
    faults: dict[int, Counter[str]] = defaultdict(Counter)
    ms: dict[int, list[float]] = defaultdict(list)
    for fixture, game in played:
        seats = seated(plan.tables[fixture.table], fixture.rotation)
        for seat, entrant in enumerate(seats):
            seats_taken[entrant] += 1
            fair[entrant] += 1 / len(seats)
            won[entrant] += (seat in game.winners) / len(game.winners)
            faults[entrant].update(game.faults[seat])
            ms[entrant].extend(game.ms[seat])
    ratings = _ratings(plan, played)
    return [
        EntrantResult(
            entrant,
            seats_taken[entrant],
            won[entrant],
            fair[entrant],
            ratings[entrant].mu,
            NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * ratings[entrant].sigma,
            dict(sorted(faults[entrant].items())),
            fmean(ms[entrant]) if ms[entrant] else 0.0,
            sorted(ms[entrant])[len(ms[entrant]) * 99 // 100] if ms[entrant] else 0.0,
        )
        for entrant in range(len(plan.entrants))
    ]


def _ratings(plan: Plan, played: Sequence[tuple[Fixture, Game]]) -> list[PlackettLuceRating]:
    """Return a rating for each entrant. Average the ratings of its copies at one table, which are rated apart."""
    from openskill.models import PlackettLuce

    model = PlackettLuce()
    ratings = [model.rating() for _ in plan.entrants]
    for fixture, game in played:
        seats = seated(plan.tables[fixture.table], fixture.rotation)
        places = {seat: place for place, shared in enumerate(game.places) for seat in shared}
        ranks = [float(places[seat]) for seat in range(len(seats))]
        teams = [[ratings[entrant]] for entrant in seats]
        rated = model.rate(teams, ranks=ranks, tau=0.0)  # bots do not learn between games
        for entrant in set(seats):
            own = [rated[seat][0] for seat, each in enumerate(seats) if each == entrant]
            ratings[entrant] = model.rating(fmean(each.mu for each in own), fmean(each.sigma for each in own))
    return ratings


class Interval(NamedTuple):
    """Bounds of a mean."""

    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Return whether a value is outside the bounds."""
        return not self.low <= value <= self.high


def interval(scores: list[float], confidence: float) -> Interval:
    """Return bounds of the mean for a number of deals that was fixed in advance, by the normal approximation.

    A lost deal and a won deal are added, in the manner of Agresti and Coull (1998). A few deals with the same score by
    chance would otherwise have no variance, and look certain.

    >>> interval([0.0, 1.0] * 49, 0.95)
    Interval(low=0.4015..., high=0.5984...)
    >>> interval([0.0, 0.0], 0.99).excludes(0.5)
    False
    """
    deals = [*scores, 0.0, 1.0]
    radius = NormalDist().inv_cdf((1 + confidence) / 2) * stdev(deals) / sqrt(len(deals))
    mean = fmean(deals)
    return Interval(max(0.0, mean - radius), min(1.0, mean + radius))


class ConfidenceSequence:
    """Bounds that hold after all deals at once, so games may stop after any deal, as soon as the bounds are decisive.

    Source: the predictable plug-in empirical Bernstein confidence sequence of Waudby-Smith and Ramdas, "Estimating
    means of bounded random variables by betting" (2023), theorem 2. It holds for every distribution on [0, 1].

    :param error: maximum probability that the mean is ever outside the bounds.
    """

    def __init__(self, error: float) -> None:
        self._log = log(2 / error)
        self._count = 0
        self._sum = 0.0
        self._squares = 0.0
        self._weights = 0.0
        self._weighted = 0.0
        self._spread = 0.0
        self.interval = Interval(-inf, inf)
        """The current bounds. They never widen: all bounds hold at once, so their intersection does, too."""

    def add(self, scores: Iterable[float]) -> None:
        """Add the scores of further deals, in their order."""
        for score in scores:
            count = self._count + 1
            variance = (0.25 + self._squares) / count
            weight = min(0.5, sqrt(2 * self._log / (variance * count * log1p(count))))
            before = (0.5 + self._sum) / count
            self._spread += (score - before) ** 2 * (-log1p(-weight) - weight)
            self._weighted += weight * score
            self._weights += weight
            self._sum += score
            self._squares += (score - (0.5 + self._sum) / (count + 1)) ** 2
            self._count = count
            centre, radius = self._weighted / self._weights, (self._log + self._spread) / self._weights
            low, high = self.interval
            self.interval = Interval(max(low, 0.0, centre - radius), min(high, 1.0, centre + radius))


def summary_text(summary: Summary) -> str:
    """Return the standings and the shares as Markdown tables, and the faults as sentences."""
    names = short_names(summary.plan.entrants)
    standings = [
        [
            names[each.entrant],
            f"{each.rating:.1f} ± {each.uncertainty:.1f}",
            f"{each.games}",
            _percent(each.won / each.games) if each.games else "-",
            _percent(each.fair / each.games) if each.games else "-",
            f"{each.move_ms:.1f}",
            f"{each.slow_ms:.1f}",
        ]
        for each in summary.standings
    ]
    shares = [
        [
            summary.plan.tables[share.table].rules,
            names[share.entrant],
            _others(names, summary.plan.tables[share.table].seats, share.entrant),
            f"{share.games}",
            _percent(share.won),
            f"{100 * share.bounds.low:.1f} to {100 * share.bounds.high:.1f}",
            _percent(share.fair),
            _result(share),
        ]
        for share in summary.shares
    ]
    faults = [
        f"{names[each.entrant]} made {sum(each.faults.values())} faults: "
        + listing([f"{count} {kind}" for kind, count in each.faults.items()])
        + "."
        for each in summary.standings
        if each.faults
    ]
    return "\n".join(
        [
            *_markdown(("bot", "rating", "games", "won %", "fair %", "ms/move", "99th pct. ms"), standings, left=1),
            "",
            *_markdown(
                (
                    "rules",
                    "bot",
                    "against",
                    "games",
                    "won %",
                    f"{100 * summary.confidence:g} % bounds",
                    "fair %",
                    "result",
                ),
                shares,
                left=3,
            ),
            *(["", *faults] if faults else []),
        ]
    )


def short_names(entrants: Sequence[Entrant]) -> list[str]:
    """Return names that fit beside the figures. A program is named after its file, if that name is unique."""
    files = [
        escape(program_name(split_command(entrant.text))) if entrant.kind == "program" else entrant.name
        for entrant in entrants
    ]
    return [
        entrant.name if file in LEVELS or files.count(file) > 1 else file
        for entrant, file in zip(entrants, files, strict=True)
    ]


def _others(names: Sequence[str], seats: Sequence[int], entrant: int) -> str:
    """Return an entrant's opponents at a table: ``3 odds``."""
    others = {each: count for each, count in Counter(seats).items() if each != entrant}
    return ", ".join(names[each] if count == 1 else f"{count} {names[each]}" for each, count in others.items())


def summary_json(summary: Summary) -> dict[str, Any]:
    """Return the standings as data for JSON."""
    names = [entrant.name for entrant in summary.plan.entrants]
    return {
        "bots": [
            {
                "bot": names[each.entrant],
                "rating": round(each.rating, 3),
                "uncertainty": round(each.uncertainty, 3),
                "games": each.games,
                "wins": round(each.won, 3),
                "fair_wins": round(each.fair, 3),
                "faults": each.faults,
                "move_ms": round(each.move_ms, 3),
                "move_ms_99": round(each.slow_ms, 3),
            }
            for each in summary.standings
        ],
        "tables": [
            {
                "rules": summary.plan.tables[share.table].rules,
                "seats": [names[entrant] for entrant in summary.plan.tables[share.table].seats],
                "bot": names[share.entrant],
                "games": share.games,
                "won": round(share.won, 5),
                "low": round(share.bounds.low, 5),
                "high": round(share.bounds.high, 5),
                "fair": round(share.fair, 5),
                "result": _result(share),
            }
            for share in summary.shares
        ],
        "confidence": summary.confidence,
    }


def _result(share: Share) -> str:
    return "better" if share.is_better else "worse" if share.is_worse else "open"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return a Markdown table. Its first ``left`` columns are aligned to the left, the others to the right."""
    widths = [max(3, columns(head), *(columns(row[index]) for row in rows)) for index, head in enumerate(heads)]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell + " " * (width - columns(cell)) if index < left else " " * (width - columns(cell)) + cell
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(cell.replace('|', '/') for cell in padded)} |"

    rule = ["-" * width if index < left else "-" * (width - 1) + ":" for index, width in enumerate(widths)]
    return [line(heads), line(rule), *map(line, rows)]
