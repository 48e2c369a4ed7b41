"""Ratings from all games at once, and how certain they are.

A victory is what a game is played for, so the model is about victories only: an entrant of strength w wins a game with
probability w divided by the sum of the strengths at the table. With two seats this is the model of Bradley and Terry
(1952), with more it is the choice of the first place in the model of Luce (1959) and Plackett (1975). Shared victories
count in part, and the games are then a quasi-likelihood. At the fitted strengths every entrant's expected victories
equal its victories. Hunter, "MM algorithms for generalized Bradley-Terry models" (2004), shows when the fit is unique;
here Newton's method finds it, because its second derivatives are needed anyway.

Every entrant also wins one deal and loses one deal against a hypothetical entrant of strength 1, as in Turner, van
Etten, Firth and Kosmidis, "Modelling rankings in R: the PlackettLuce package" (2020). So ratings are finite and unique
even for an entrant that never wins, and for entrants that never met.

The model need not be true, and games with the same dice are not independent. So the standard errors are those of the
sandwich estimator of Huber (1967) and White (1982), and games with the same dice are one cluster (Liang and Zeger
1986). The hypothetical deals are clusters, too: without them, a few deals that ended alike would look certain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import exp, log, sqrt
from typing import Final, NamedTuple

from cli.arena.scores import POINTS, Deal

ELO: Final = 400 / log(10)
"""Rating points for a strength of e times another: 400 points are odds of ten to one between two (Elo 1978)."""
_HYPOTHETICAL: Final = 2
"""Games of a hypothetical deal."""
_ENOUGH: Final = 1e-16
"""Gain of a step in the logarithm of the likelihood, per game, at which the fit ends."""
_STEPS: Final = 200
"""Maximum number of steps. Newton's method takes about ten."""


class Difference(NamedTuple):
    """How much stronger an entrant is than something else, in Elo points."""

    elo: float
    uncertainty: float
    """Half the width of its confidence interval."""

    def __str__(self) -> str:
        return f"{self.elo:+.0f} ± {self.uncertainty:.0f}"


class Rating(NamedTuple):
    """An entrant's strength."""

    over_mean: Difference
    """Compared with the mean of all entrants."""
    lead: Difference | None
    """Compared with the entrant rated next below; None for the last one. Entrants with equal ratings are in order."""

    def to_json(self) -> dict[str, float | None]:
        """Return the rating as data for JSON."""
        return {
            "rating": round(self.over_mean.elo, 3),
            "uncertainty": round(self.over_mean.uncertainty, 3),
            "lead": round(self.lead.elo, 3) if self.lead else None,
            "lead_uncertainty": round(self.lead.uncertainty, 3) if self.lead else None,
        }


def rate(lucks: Iterable[Sequence[Deal]], entrants: int, quantile: float) -> list[Rating]:
    """Return the ratings of all entrants.

    :param lucks: deals, in any order. Those with the same dice come together.
    :param quantile: how many standard errors an interval extends to each side.
    """
    counted = Counter(tuple(sorted(deals)) for deals in lucks)
    clusters = [(deals, counted[deals]) for deals in sorted(counted)]
    tables: Counter[_Seats] = Counter()
    points: Counter[int] = Counter()
    for deals, count in clusters:
        for deal in deals:
            tables[_seats(deal)] += count
            for score in deal:
                points[score.entrant] += count * score.points
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
        )
        for entrant in range(entrants)
    ]


_Seats = tuple[tuple[int, int], ...]
"""Seats by entrant."""
_Matrix = list[list[float]]


def _seats(deal: Deal) -> _Seats:
    return tuple((score.entrant, score.seats) for score in deal)


class _Fit:
    """The strengths that make the games most likely.

    :param tables: the number of deals by the seats of their table.
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
        """Return the probability of each entrant to win a game at a table."""
        return _chances(self.logs, seats)[1]

    def _derivatives(self, logs: Sequence[float]) -> tuple[float, list[float], _Matrix]:
        """Return the log-likelihood, its first derivatives, and its second ones with the opposite sign."""
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
    """Return the logarithm of all strengths at a table, and the probability of each entrant to win there."""
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
    """Return the sums of products of what two entrants have won above their expectation in a cluster."""
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
    """Return the lower triangle whose square is a positive definite matrix."""
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
