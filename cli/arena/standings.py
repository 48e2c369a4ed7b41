"""The standings of an arena: how far entrants exceed their fair share of victories, with confidence bounds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import inf, isfinite, log
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple

from cli.arena.bounds import ConfidenceSequence, Interval, interval, quantile_at_any_time, quantile_of
from cli.arena.fixtures import ArenaTable, Entrant, Fixture, name_key, seated
from cli.arena.game import Plan
from cli.arena.game_file import Game
from cli.arena.ratings import ELO, HEADS, Deal, Deals, Rating, rate, share
from cli.render import columns, counted, listing

CONFIDENCE: Final = 0.99
"""The confidence level of each interval, if the number of games was fixed in advance."""


Verdict = Literal["better", "worse", "alike", "not worse", "not better", "open"]
"""An entrant's result at a table, compared with its fair share; ``open`` if the bounds decide nothing."""


def verdict(bounds: Interval, fair: float, margin: float) -> Verdict:
    """Return the verdict on an entrant, given the bounds of its share.

    :param margin: a share counts as not worse down to this much below the fair share, and as not better up to this much
        above it.

    >>> [verdict(Interval(*bounds), 0.5, 0.03) for bounds in ((0.51, 0.6), (0.4, 0.49), (0.48, 0.52))]
    ['better', 'worse', 'alike']
    >>> [verdict(Interval(*bounds), 0.5, 0.03) for bounds in ((0.48, 0.6), (0.4, 0.52), (0.4, 0.6))]
    ['not worse', 'not better', 'open']
    """
    if bounds.low > fair:
        return "better"
    if bounds.high < fair:
        return "worse"
    is_not_worse, is_not_better = bounds.low > fair - margin, bounds.high < fair + margin
    if is_not_worse and is_not_better:
        return "alike"
    return "not worse" if is_not_worse else "not better" if is_not_better else "open"


def _elo(share: float, fair: float) -> float:
    if not 0 < share < 1:
        return inf if share > fair else -inf
    return ELO * (log(share / (1 - share)) - log(fair / (1 - fair)))


class Share(NamedTuple):
    """An entrant's share of victories at one table."""

    table: int
    entrant: int
    games: int
    won: float
    """The share of games that it won, from 0 to 1."""
    fair: float
    """The share that it would win if all were equally strong: its part of the seats at the table."""
    bounds: Interval
    """Bounds of its long-run share, with the confidence level :attr:`Summary.confidence`."""

    verdict: Verdict

    @property
    def elo(self) -> tuple[float, float, float]:
        """Its share in Elo points, with bounds: 0 is the fair share, 400 means ten times its odds of a victory."""
        low, high = self.bounds
        return _elo(self.won, self.fair), _elo(low, self.fair), _elo(high, self.fair)


class EntrantResult(NamedTuple):
    """The results of an entrant in all games."""

    entrant: int
    rating: Rating
    faults: dict[str, int]
    move_ms: float
    """The mean duration of a move in milliseconds."""
    slow_ms: float
    """The 99th percentile of the durations of its moves, in milliseconds."""


def _fair(seats: Sequence[int], entrant: int) -> float:
    return seats.count(entrant) / len(seats)


_ANSWERS: Final[set[Verdict]] = {"better", "worse", "alike", "not worse"}


class Decision:
    """Decides when the games suffice to compare every entrant at every table with its fair share.

    :param error: maximum probability that any of these verdicts is wrong, no matter when the games are stopped.
    :param margin: the games also suffice for an entrant whose share is at most this much below its fair share. At a
        table of two entrants, this applies only to the first one.
    """

    def __init__(self, tables: Sequence[ArenaTable], error: float, margin: float = 0.0) -> None:
        self.error = error
        self._margin = margin
        self._tables = tables
        self._deals = Deals()
        # With two entrants, each game that one does not win is won by the other, so one verdict is enough.
        pairs = [
            (index, entrant)
            for index, table in enumerate(tables)
            for entrant in dict.fromkeys(table.seats[:1] if len(set(table.seats)) == 2 else table.seats)
        ]
        self._sequences = {}
        for table, entrant in pairs:
            fair = _fair(tables[table].seats, entrant)
            watched = {fair - margin, fair, fair + margin}
            self._sequences[table, entrant] = ConfidenceSequence(error / len(pairs), sorted(watched))
        self._undecided = set(pairs)

    def add(self, fixture: Fixture, game: Game) -> None:
        """Add the next game, in the order of the fixtures."""
        seats = seated(self._tables[fixture.table], fixture.rotation)
        deal = self._deals.add((fixture.table, fixture.deal), seats, game)
        if deal is None:
            return
        for entrant in set(seats):
            pair = fixture.table, entrant
            if sequence := self._sequences.get(pair):
                sequence.add(share(deal, entrant))
                if verdict(sequence.known, _fair(seats, entrant), self._margin) in _ANSWERS:
                    self._undecided.discard(pair)

    @property
    def is_made(self) -> bool:
        """Whether all verdicts are certain."""
        return not self._undecided

    def bounds(self, table: int, entrant: int) -> Interval:
        """Return the bounds of an entrant's share. All bounds hold together with probability 1 - ``error`` or more."""
        if sequence := self._sequences.get((table, entrant)):
            return sequence.interval
        low, high = self._sequences[table, self._tables[table].seats[0]].interval
        return Interval(1 - high, 1 - low)


class Summary:
    """The results of an arena.

    :param played: games with their fixtures, in the order of the fixtures.
    :param decision: the decision that ended the games, if their number was not fixed in advance.
    :param margin: an entrant within this much of its fair share still counts as not worse.
    """

    def __init__(
        self,
        plan: Plan,
        played: Sequence[tuple[Fixture, Game]],
        decision: Decision | None = None,
        margin: float = 0.0,
    ) -> None:
        self.plan = plan
        self.margin = margin
        self.confidence = 1 - decision.error if decision else CONFIDENCE
        """The probability that all bounds hold together or, without a decision, that a single one holds."""
        every = Deals()
        deals: dict[int, list[Deal]] = defaultdict(list)
        for fixture, game in played:
            seats = seated(plan.tables[fixture.table], fixture.rotation)
            if deal := every.add((fixture.table, fixture.deal), seats, game):
                deals[fixture.table].append(deal)
        self.shares = [
            _share(plan.tables, table, entrant, deals[table], decision, margin)
            for table in sorted(deals)
            for entrant in dict.fromkeys(plan.tables[table].seats)
        ]
        lucks = [[deal] for each in deals.values() for deal in each]
        quantile = quantile_at_any_time(decision.error, len(lucks)) if decision else quantile_of(CONFIDENCE)
        ratings = rate(lucks, len(plan.entrants), quantile)
        self.standings = sorted(
            _results(plan, played, ratings), key=lambda result: (-result.rating.over_mean.elo, result.entrant)
        )


def _share(
    tables: Sequence[ArenaTable],
    table: int,
    entrant: int,
    deals: Sequence[Deal],
    decision: Decision | None,
    margin: float,
) -> Share:
    seats = tables[table].seats
    scores = [share(deal, entrant) for deal in deals]
    fair = _fair(seats, entrant)
    bounds = decision.bounds(table, entrant) if decision else interval(scores, CONFIDENCE)
    games = len(deals) * len(seats)
    return Share(table, entrant, games, fmean(scores), fair, bounds, verdict(bounds, fair, margin))


def _results(plan: Plan, played: Sequence[tuple[Fixture, Game]], ratings: Sequence[Rating]) -> list[EntrantResult]:
    faults: dict[int, Counter[str]] = defaultdict(Counter)
    ms: dict[int, list[float]] = defaultdict(list)
    for fixture, game in played:
        seats = seated(plan.tables[fixture.table], fixture.rotation)
        for seat, entrant in enumerate(seats):
            faults[entrant].update(game.faults[seat])
            ms[entrant].extend(game.ms[seat])
    return [
        EntrantResult(
            entrant,
            ratings[entrant],
            dict(sorted(faults[entrant].items())),
            fmean(ms[entrant]) if ms[entrant] else 0.0,
            sorted(ms[entrant])[len(ms[entrant]) * 99 // 100] if ms[entrant] else 0.0,
        )
        for entrant in range(len(plan.entrants))
    ]


def summary_text(summary: Summary) -> str:
    """Return the standings and the shares as Markdown tables of at most 80 columns, and the faults as sentences."""
    entrants = summary.plan.entrants
    standings = [
        [entrants[each.entrant].name, *each.rating.cells(), f"{_ms(each.move_ms)} ({_ms(each.slow_ms)})"]
        for each in summary.standings
    ]
    blocks = [markdown(("bot", *HEADS, "ms (99 %)"), standings, left=1)]
    rows: dict[str, list[list[str]]] = defaultdict(list)
    for each in summary.shares:
        table = summary.plan.tables[each.table]
        if len(set(table.seats)) == 2 and each.entrant != table.seats[0]:
            continue  # its share is one minus the share of the first
        heading = (
            f"{table.rules}, {counted(len(table.seats), 'player')}: {each.games:,} games in each row, fair share"
            f" {_percent(each.fair)} %, {100 * summary.confidence:g} % bounds"
        )
        rows[heading].append(
            [
                entrants[each.entrant].name,
                _others(entrants, table.seats, each.entrant),
                _percent(each.won),
                f"{_percent(each.bounds.low)}–{_percent(each.bounds.high)}",
                f"{each.elo[0]:+.0f}",
                each.verdict,
            ]
        )
    heads = "bot", "against", "won %", "bounds", "Elo", "result"
    blocks += [[heading, "", *markdown(heads, shares, left=2)] for heading, shares in rows.items()]
    blocks += [
        [*name_key([each.text for each in entrants], [each.name for each in entrants])],
        [
            f"{entrants[each.entrant].name} made {counted(sum(each.faults.values()), 'fault')}: "
            + listing([f"{count} {kind}" for kind, count in each.faults.items()])
            + "."
            for each in summary.standings
            if each.faults
        ],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _ms(ms: float) -> str:
    return f"{ms:.1f}" if ms < 100 else f"{ms:.0f}"


def _others(entrants: Sequence[Entrant], seats: Sequence[int], entrant: int) -> str:
    """Return an entrant's opponents at a table: ``3 odds``."""
    others = {each: count for each, count in Counter(seats).items() if each != entrant}
    if len(others) > 1 and len(others) == len(entrants) - 1:
        return "all others"
    return ", ".join(
        f"{count} {entrants[each].name}" if count > 1 else entrants[each].name for each, count in others.items()
    )


def summary_json(summary: Summary) -> dict[str, Any]:
    """Return the standings as data for JSON."""
    names = [entrant.name for entrant in summary.plan.entrants]
    return {
        "bots": [
            {
                "bot": names[each.entrant],
                "typed": summary.plan.entrants[each.entrant].text,
                **each.rating.to_json(),
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
                **{
                    key: round(each, 1) if isfinite(each) else None
                    for key, each in zip(("elo", "elo_low", "elo_high"), share.elo, strict=True)
                },
                "result": share.verdict,
            }
            for share in summary.shares
        ],
        "confidence": summary.confidence,
        "margin": summary.margin,
    }


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
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
