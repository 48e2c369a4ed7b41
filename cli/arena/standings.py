"""The standings of an arena: who wins how much more than a fair share, and how sure that is.

A victory is one point, shared by all who win together. A deal is one score: its games have the same dice.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from cli.arena.confidence import ConfidenceSequence, Interval, interval
from cli.arena.fixtures import Fixture, Table, seated
from cli.arena.game import Game
from cli.arena.worker import Plan

if TYPE_CHECKING:
    from openskill.models import PlackettLuceRating

CONFIDENCE: Final = 0.99
"""Of each interval that is shown, where the number of games was fixed in advance."""


class Share(NamedTuple):
    """How often an entrant wins at one table."""

    table: int
    entrant: int
    games: int
    won: float
    """The share of games that it won, 0 to 1."""
    fair: float
    """The share that it would win if all were alike: its seats by those of the table."""
    bounds: Interval
    """Of its share in the long run: see :attr:`Summary.confidence`."""

    @property
    def is_better(self) -> bool:
        """Whether it wins more than its fair share for sure."""
        return self.bounds.low > self.fair

    @property
    def is_worse(self) -> bool:
        """Whether it wins less than its fair share for sure."""
        return self.bounds.high < self.fair


class Standing(NamedTuple):
    """How an entrant did in all games."""

    entrant: int
    games: int
    """Seats that it took: a game counts twice for an entrant that sits there twice."""
    won: float
    """Victories, shared ones in part."""
    fair: float
    """Victories that it would have if all were alike."""
    rating: float
    """By openskill's Plackett-Luce model; 25 is where everybody begins."""
    uncertainty: float
    """Half the width of the rating's interval."""
    faults: dict[str, int]
    move_ms: float
    """Milliseconds a move, on average."""
    slow_ms: float
    """Milliseconds: the 99th percentile of its moves."""


class Scores:
    """The scores of deals, from games in the order of their fixtures."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self.deals: dict[tuple[int, int], list[float]] = defaultdict(list)
        """For table and entrant the score of each whole deal, 0 to 1."""
        self._tables = tables
        self._points: dict[int, float] = defaultdict(float)
        """What each entrant has won in the deal that is not whole yet."""

    def add(self, fixture: Fixture, game: Game) -> bool:
        """Take the next game; tell whether its deal is whole now."""
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
        """Return how often each entrant of a table wins, in the order of the seats.

        :param decision: what ended the games, if their number was not fixed in advance: its bounds hold all the same.
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
    """Tells when it is known, for every entrant at every table, whether it wins more or less than its fair share.

    :param error: the chance that any of these answers is wrong is at most this, whenever one stops.
    """

    def __init__(self, tables: Sequence[Table], error: float) -> None:
        self.error = error
        self._tables = tables
        self._scores = Scores(tables)
        # With two entrants, each game that one does not win goes to the other, so one answer is enough.
        pairs = [
            (index, entrant)
            for index, table in enumerate(tables)
            for entrant in dict.fromkeys(table.seats[:1] if len(set(table.seats)) == 2 else table.seats)
        ]
        self._sequences = {pair: ConfidenceSequence(error / len(pairs)) for pair in pairs}
        self._undecided = set(pairs)

    def add(self, fixture: Fixture, game: Game) -> None:
        """Take the next game, in the order of the fixtures."""
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
        """Whether nothing is undecided."""
        return not self._undecided

    def bounds(self, table: int, entrant: int) -> Interval:
        """Return the bounds of an entrant's share. All bounds together hold with a chance of 1 - ``error``."""
        if sequence := self._sequences.get((table, entrant)):
            return sequence.interval
        low, high = self._sequences[table, self._tables[table].seats[0]].interval
        return Interval(1 - high, 1 - low)


class Summary:
    """The results of an arena.

    :param played: games with their fixtures, in the order of the fixtures.
    :param decision: what ended the games, if their number was not fixed in advance.
    """

    def __init__(self, plan: Plan, played: Sequence[tuple[Fixture, Game]], decision: Decision | None = None) -> None:
        self.plan = plan
        self.confidence = 1 - decision.error if decision else CONFIDENCE
        """With a decision the chance that all bounds hold, else that of each."""
        scores = Scores(plan.tables)
        for fixture, game in played:
            scores.add(fixture, game)
        self.shares = [share for table in range(len(plan.tables)) for share in scores.shares(table, decision)]
        self.standings = sorted(_standings(plan, played), key=lambda standing: (-standing.rating, standing.entrant))


def _standings(plan: Plan, played: Sequence[tuple[Fixture, Game]]) -> list[Standing]:
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
        Standing(
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
    """Return a rating for each entrant. Copies at one table are rated apart, and their new ratings are averaged."""
    from openskill.models import PlackettLuce

    model = PlackettLuce()
    ratings = [model.rating() for _ in plan.entrants]
    for fixture, game in played:
        seats = seated(plan.tables[fixture.table], fixture.rotation)
        places = {seat: place for place, shared in enumerate(game.places) for seat in shared}
        ranks = [float(places[seat]) for seat in range(len(seats))]
        teams = [[ratings[entrant]] for entrant in seats]
        rated = model.rate(teams, ranks=ranks, tau=0.0)  # no bot learns between games
        for entrant in set(seats):
            own = [rated[seat][0] for seat, each in enumerate(seats) if each == entrant]
            ratings[entrant] = model.rating(fmean(each.mu for each in own), fmean(each.sigma for each in own))
    return ratings
