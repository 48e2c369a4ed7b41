"""Bounds of the mean of independent scores from 0 to 1: for a number fixed in advance, and for any number at once."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, log, log1p, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Final, NamedTuple

_NARROWEST: Final = 200
"""Number of deals of a typical decision."""


class Interval(NamedTuple):
    """Bounds of a mean."""

    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Return whether a value is outside the bounds."""
        return not self.low <= value <= self.high


def quantile_of(confidence: float) -> float:
    """Return how many standard errors an interval extends to each side of a normally distributed estimate."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def quantile_at_any_time(error: float, count: int) -> float:
    """Return the same for an interval that holds after every count at once, if the first counts are not tiny.

    Source: the asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central
    limit theory and asymptotic confidence sequences" (2024), theorem 2.2. It is narrowest near :data:`_NARROWEST`.

    :param error: maximum probability that the true value is ever outside the interval.
    :param count: independent observations so far.

    >>> [round(quantile_at_any_time(0.01, count), 2) for count in (20, 200, 2_000, 20_000)]
    [4.32, 3.57, 3.75, 4.03]
    """
    twice = -2 * log(error)
    ahead = max(1, count) * (twice + log(twice + 1)) / _NARROWEST
    return sqrt(2 * (ahead + 1) / ahead * log(sqrt(ahead + 1) / error))


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
    radius = quantile_of(confidence) * stdev(deals) / sqrt(len(deals))
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
