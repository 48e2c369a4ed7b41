"""Confidence intervals for a mean: one for a number of deals fixed in advance, and one that stays valid if the results
decide when to stop.

Both take numbers between 0 and 1, one for each deal: games of one deal share their dice, so they are not independent.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, log, log1p, sqrt
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple


class Interval(NamedTuple):
    """Bounds of an average."""

    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Tell whether the value is outside."""
        return not self.low <= value <= self.high


def interval(scores: list[float], confidence: float) -> Interval:
    """Return bounds of the mean for a number of deals that was fixed before, by the normal approximation.

    A deal that was lost and one that was won are added, in the manner of Agresti and Coull (1998): a few deals that are
    alike by chance would have no variance, and look certain.

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
    """Bounds that hold after all deals at once, so one may look after each, and stop as soon as they say enough.

    Source: the predictable plug-in empirical Bernstein confidence sequence of Waudby-Smith and Ramdas, "Estimating
    means of bounded random variables by betting" (2023), theorem 2. It holds for every distribution on [0, 1].

    :param error: the chance that the mean is ever outside is at most this.
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
        """The bounds now. They never widen: as all of them hold at once, so does what they have in common."""

    def add(self, scores: Iterable[float]) -> None:
        """Take the scores of further deals, in their order."""
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
