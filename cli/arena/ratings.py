"""Scores of deals, and ratings that are fitted to all deals together, with their standard errors.

A deal consists of all games of a table that have the same dice. They are not independent, so a deal is one observation.

Only victories count in the model: an entrant of strength w wins a game with probability w divided by the sum of the
strengths at the table. With two seats this is the model of Bradley and Terry (1952). With more seats it is the choice
of the first place in the model of Luce (1959) and Plackett (1975). A shared victory counts as a fraction, which makes
the likelihood a quasi-likelihood. At the fitted strengths every entrant's expected victories equal its actual ones.
Hunter, "MM algorithms for generalized Bradley-Terry models" (2004), shows when the fit is unique. Here Newton's method
finds it, because its second derivatives are needed anyway.

Every entrant also wins one deal and loses one deal against a hypothetical entrant of strength 1, as in Turner, van
Etten, Firth and Kosmidis, "Modelling rankings in R: the PlackettLuce package" (2020). So ratings are finite and unique
even for an entrant that never wins, and for entrants that never met.

The model may be wrong, and games with the same dice are not independent. So the standard errors come from the sandwich
estimator of Huber (1967) and White (1982), with games with the same dice as one cluster (Liang and Zeger 1986). The
hypothetical deals are clusters, too: without them, a few deals that ended alike would look certain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import exp, lcm, log, sqrt
from typing import Final, NamedTuple

from cli.arena.game_file import Game

ELO: Final = 400 / log(10)
"""Rating points per unit of the logarithm of strength: a lead of 400 points means odds of ten to one (Elo 1978)."""
_HYPOTHETICAL: Final = 2
"""The number of games of a hypothetical deal."""
_ENOUGH: Final = 1e-16
"""The fit ends when a step improves the log-likelihood by less than this per game."""
_STEPS: Final = 200
"""Maximum number of steps. Newton's method takes about ten."""


POINTS: Final = lcm(*range(1, 11))
"""Points for a victory. Up to ten winners share them exactly, so sums do not depend on the order of the games."""


class DealScore(NamedTuple):
    """An entrant's result in one deal."""

    entrant: int
    seats: int
    """Its seats in each game."""
    points: int
    """Its points in all games of the deal."""


Deal = tuple[DealScore, ...]
"""The result of a deal, by entrant. A deal has as many games as its table has seats."""


def share(deal: Deal, entrant: int) -> float:
    """Return an entrant's share of the victories in a deal, from 0 to 1."""
    points = next(score.points for score in deal if score.entrant == entrant)
    return points / (POINTS * sum(score.seats for score in deal))


class Deals:
    """Groups games by deal. Games may be added in any order, but each only once."""

    def __init__(self) -> None:
        self._begun: dict[Hashable, list[tuple[int, ...]]] = {}
        """For each incomplete deal, the points of each of its games by entrant."""

    @property
    def left(self) -> int:
        """The number of games in incomplete deals."""
        return sum(map(len, self._begun.values()))

    def add(self, deal: Hashable, seats: Sequence[int], game: Game) -> Deal | None:
        """Add a game; return the result of its deal if this was the last game of the deal.

        :param deal: a key that all games of the deal share, and no other games have.
        :param seats: the entrants by seat, rotated from game to game of a deal.
        """
        entrants = sorted(set(seats))
        each = POINTS // len(game.winners)
        won = [seats[seat] for seat in game.winners]
        games = self._begun.setdefault(deal, [])
        games.append(tuple(each * won.count(entrant) for entrant in entrants))
        if len(games) < len(seats):
            return None
        del self._begun[deal]
        points = map(sum, zip(*games, strict=True))
        return tuple(
            DealScore(entrant, seats.count(entrant), own) for entrant, own in zip(entrants, points, strict=True)
        )


class Difference(NamedTuple):
    """How much stronger one entrant is than another, or than a mean, in Elo points."""

    elo: float
    uncertainty: float
    """Half the width of its confidence interval."""

    def __str__(self) -> str:
        return f"{self.elo:+.0f}±{self.uncertainty:.0f}"


class Rating(NamedTuple):
    """An entrant's strength, and its results in complete deals."""

    over_mean: Difference
    """Compared with the mean of all entrants."""
    lead: Difference | None
    """Compared with the next entrant below; None for the last one. Equal ratings are ordered by entrant."""
    games: int
    """Seats taken: a game counts twice for an entrant with two seats."""
    points: int
    fair_points: int
    """The expected points if all entrants were equally strong."""

    def to_json(self) -> dict[str, float | None]:
        """Return the rating as data for JSON."""
        return {
            "rating": round(self.over_mean.elo, 3),
            "uncertainty": round(self.over_mean.uncertainty, 3),
            "lead": round(self.lead.elo, 3) if self.lead else None,
            "lead_uncertainty": round(self.lead.uncertainty, 3) if self.lead else None,
            "games": self.games,
            "wins": round(self.points / POINTS, 3),
            "fair_wins": round(self.fair_points / POINTS, 3),
        }

    def cells(self) -> list[str]:
        """Return the cells of a table's row under :data:`HEADS`."""
        won, fair = (
            f"{100 * points / (POINTS * self.games):.1f}" if self.games else "-"
            for points in (self.points, self.fair_points)
        )
        return [str(self.over_mean), str(self.lead or "-"), str(self.games), won, fair]


HEADS: Final = ("rating", "lead", "games", "won %", "fair")


def rate(lucks: Iterable[Sequence[Deal]], entrants: int, quantile: float) -> list[Rating]:
    """Return the ratings of all entrants.

    :param lucks: groups of deals with the same dice, in any order.
    :param quantile: how many standard errors an interval extends to each side.
    """
    counted = Counter(tuple(sorted(deals)) for deals in lucks)
    clusters = [(deals, counted[deals]) for deals in sorted(counted)]
    tables: Counter[_Seats] = Counter()
    points: Counter[int] = Counter()
    fair: Counter[int] = Counter()
    games: Counter[int] = Counter()
    for deals, count in clusters:
        for deal in deals:
            tables[_seats(deal)] += count
            size = sum(score.seats for score in deal)
            for score in deal:
                points[score.entrant] += count * score.points
                fair[score.entrant] += count * POINTS * score.seats  # a deal has a game for each seat
                games[score.entrant] += count * size * score.seats
    fit = _Fit(tables, [points[entrant] / POINTS for entrant in range(entrants)])
    errors = _Errors(fit, clusters)
    equal = [1 / entrants] * entrants
    own = [[float(one == other) for other in range(entrants)] for one in range(entrants)]
    order = sorted(range(entrants), key=lambda entrant: (-fit.logs[entrant], entrant))
    below = dict(pairwise(order))

    def difference(one: Sequence[float], other: Sequence[float]) -> Difference:
        weights = [each - another for each, another in zip(one, other, strict=True)]
        return Difference(ELO * _dot(weights, fit.logs), ELO * quantile * errors.of(weights))

    return [
        Rating(
            difference(own[entrant], equal),
            difference(own[entrant], own[below[entrant]]) if entrant in below else None,
            games[entrant],
            points[entrant],
            fair[entrant],
        )
        for entrant in range(entrants)
    ]


_Seats = tuple[tuple[int, int], ...]
"""Pairs of an entrant and the number of its seats."""
_Matrix = list[list[float]]


def _seats(deal: Deal) -> _Seats:
    return tuple((score.entrant, score.seats) for score in deal)


class _Fit:
    """The strengths that make the games most likely.

    :param tables: the number of deals for each allocation of seats.
    :param victories: by entrant.
    """

    def __init__(self, tables: Mapping[_Seats, int], victories: Sequence[float]) -> None:
        self._games = [(seats, count * sum(own for _, own in seats)) for seats, count in tables.items()]
        self._victories = victories
        self.logs = [0.0] * len(victories)
        """Logarithms of the strengths."""
        enough = _ENOUGH * (1 + sum(games for _, games in self._games))
        likelihood, slope, self.information = self._derivatives(self.logs)
        for _ in range(_STEPS):
            step = _solved(_cholesky(self.information), slope)
            gain = sum(map(float.__mul__, step, slope))
            if gain <= enough:
                break
            size = 1.0
            while True:  # the likelihood is concave, so a small enough step improves it
                logs = [each + size * change for each, change in zip(self.logs, step, strict=True)]
                better, slope_there, information = self._derivatives(logs)
                if better > likelihood or size < 1e-6:
                    break
                size /= 2
            if better <= likelihood:  # rounding errors are larger than the gain
                break
            self.logs, likelihood, slope, self.information = logs, better, slope_there, information

    def chances(self, seats: _Seats) -> dict[int, float]:
        """Return each entrant's probability of winning a game at a table."""
        return _chances(self.logs, seats)[1]

    def _derivatives(self, logs: Sequence[float]) -> tuple[float, list[float], _Matrix]:
        """Return the log-likelihood, its first derivatives, and its negated second derivatives."""
        slope = list(self._victories)
        information = [[0.0] * len(logs) for _ in logs]
        likelihood = sum(map(float.__mul__, slope, logs))
        for seats, games in self._games:
            total, chances = _chances(logs, seats)
            likelihood -= games * total
            for one, chance in chances.items():
                slope[one] -= games * chance
                information[one][one] += games * chance
                for other, another in chances.items():
                    information[one][other] -= games * chance * another
        for one, own in enumerate(logs):
            total, chance = _against_the_hypothetical(own)
            likelihood += _HYPOTHETICAL * (own - 2 * total)
            slope[one] += _HYPOTHETICAL * (1 - 2 * chance)
            information[one][one] += 2 * _HYPOTHETICAL * chance * (1 - chance)
        return likelihood, slope, information


def _chances(logs: Sequence[float], seats: _Seats) -> tuple[float, dict[int, float]]:
    """Return the logarithm of the sum of strengths at a table, and each entrant's probability of winning there."""
    largest = max(logs[entrant] for entrant, _ in seats)
    strengths = {entrant: own * exp(logs[entrant] - largest) for entrant, own in seats}
    total = sum(strengths.values())
    return largest + log(total), {entrant: strength / total for entrant, strength in strengths.items()}


def _against_the_hypothetical(own: float) -> tuple[float, float]:
    total, chances = _chances((own, 0.0), ((0, 1), (1, 1)))
    return total, chances[0]


class _Errors:
    """The standard errors of weighted sums of the logarithms of strengths."""

    def __init__(self, fit: _Fit, clusters: Sequence[tuple[tuple[Deal, ...], int]]) -> None:
        self._root = _cholesky(fit.information)
        self._spread = _spread(fit, clusters)

    def of(self, weights: Sequence[float]) -> float:
        influence = _solved(self._root, weights)
        return sqrt(sum(own * _dot(row, influence) for own, row in zip(influence, self._spread, strict=True)))


def _spread(fit: _Fit, clusters: Sequence[tuple[tuple[Deal, ...], int]]) -> _Matrix:
    """Return the sums over all clusters of the products of two entrants' victories above expectation."""
    entrants = range(len(fit.logs))
    chances = {seats: fit.chances(seats) for seats in {_seats(deal) for deals, _ in clusters for deal in deals}}
    spread = [[0.0] * len(entrants) for _ in entrants]
    for one in entrants:
        _, chance = _against_the_hypothetical(fit.logs[one])
        spread[one][one] += _HYPOTHETICAL**2 * (chance**2 + (1 - chance) ** 2)
    for deals, count in clusters:
        surplus: dict[int, float] = {}
        for deal in deals:
            expected = chances[_seats(deal)]
            games = sum(score.seats for score in deal)
            for score in deal:
                own = score.points / POINTS - games * expected[score.entrant]
                surplus[score.entrant] = surplus.get(score.entrant, 0.0) + own
        for one, own in surplus.items():
            for other, another in surplus.items():
                spread[one][other] += count * own * another
    return spread


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(map(float.__mul__, one, other))


def _cholesky(matrix: _Matrix) -> _Matrix:
    """Return the Cholesky factor of a positive definite matrix, a lower triangle."""
    root: _Matrix = []
    for index, row in enumerate(matrix):
        new: list[float] = []
        for column in range(index):
            new.append((row[column] - _dot(root[column][:column], new)) / root[column][column])
        new.append(sqrt(row[index] - _dot(new, new)))
        root.append(new)
    return root


def _solved(root: _Matrix, right: Sequence[float]) -> list[float]:
    """Return the solution of a system of linear equations.

    :param root: the result of :func:`_cholesky` for its matrix.
    """
    middle: list[float] = []
    for row, value in zip(root, right, strict=True):
        middle.append((value - _dot(row[:-1], middle)) / row[-1])
    solution = [0.0] * len(middle)
    for index in reversed(range(len(middle))):
        below = sum(root[later][index] * solution[later] for later in range(index + 1, len(middle)))
        solution[index] = (middle[index] - below) / root[index][index]
    return solution
