"""Confidence bounds of the mean of independent scores from 0 to 1, for a fixed or an open number of scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from math import exp, log, log1p, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Final, NamedTuple

_STAKES: Final = tuple(0.99 / 2**halving for halving in range(8))
"""Betting strategies: each bets this share of its capital every time. Large shares find large differences soon."""
_STEP: Final = 1e-9
"""The precision of a bound."""
_NARROWEST: Final = 200
"""The number of deals after which a typical decision is made: the intervals are narrowest there."""


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
    """Return :func:`quantile_of` for intervals that hold at all counts at once, except at tiny ones.

    Source: the asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central
    limit theory and asymptotic confidence sequences" (2024), theorem 2.2. It is narrowest near :data:`_NARROWEST`.

    :param error: maximum probability that the true value is ever outside the interval.
    :param count: the number of independent observations so far.

    >>> [round(quantile_at_any_time(0.01, count), 2) for count in (20, 200, 2_000, 20_000)]
    [4.32, 3.57, 3.75, 4.03]
    """
    twice = -2 * log(error)
    ahead = max(1, count) * (twice + log(twice + 1)) / _NARROWEST
    return sqrt(2 * (ahead + 1) / ahead * log(sqrt(ahead + 1) / error))


def interval(scores: list[float], confidence: float) -> Interval:
    """Return bounds of the mean for a number of deals that was fixed in advance, by the normal approximation.

    A lost deal and a won deal are added, as by Agresti and Coull (1998). Without them, a few deals with equal scores
    would have no variance, and would look certain.

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
    """Bounds that hold after every deal simultaneously, so games may stop as soon as the bounds are decisive.

    For each possible mean, a gambler bets that the true mean is higher, at odds that are fair if it is not. The
    gambler's capital then exceeds 2 / ``error`` with a probability of at most ``error`` / 2 (Ville 1939). If it does,
    the mean is rejected as too low. Another gambler finds the means that are too high.

    Source: the hedged capital process of Waudby-Smith and Ramdas, "Estimating means of bounded random variables by
    betting" (2023), with the initial capital divided between several constant bets (their diversified Kelly betting).
    The bounds hold for every distribution on [0, 1].

    :param error: maximum probability that the mean is ever outside the bounds.
    :param watched: means that are compared with the true one after each deal.
    """

    def __init__(self, error: float, watched: Collection[float]) -> None:
        self.known = Interval(0.0, 1.0)
        """Bounds computed only from the watched means. They never widen, because an excluded mean stays excluded."""
        self._enough = log(2 / error)
        self._watched = watched
        self._counts: Counter[float] = Counter()

    def add(self, score: float) -> None:
        """Add the score of the next deal."""
        self._counts[score] += 1
        low, high = self.known
        for mean in self._watched:
            # The bound is a step beyond the mean, so that it still excludes the mean after rounding.
            if low < mean + _STEP < 1 and self._is_too_low(mean + _STEP):
                low = mean + _STEP
            if 0 < mean - _STEP < high and self._is_too_high(mean - _STEP):
                high = mean - _STEP
        self.known = Interval(low, high)

    @property
    def interval(self) -> Interval:
        """The current bounds, at most as wide as :attr:`known`."""
        low, high = self.known
        if not self._counts:
            return self.known
        mean = sum(score * count for score, count in self._counts.items()) / self._counts.total()
        return Interval(_edge(self._is_too_low, low, max(low, mean)), _edge(self._is_too_high, high, min(high, mean)))

    def _is_too_low(self, mean: float) -> bool:
        return _log_capital(self._counts, mean) >= self._enough

    def _is_too_high(self, mean: float) -> bool:
        return _log_capital({1 - score: count for score, count in self._counts.items()}, 1 - mean) >= self._enough


def _log_capital(counts: Mapping[float, int], mean: float) -> float:
    """Return the logarithm of a gambler's capital, in units of the initial one, after bets that the mean is higher."""
    logs = [sum(count * log1p(stake * (score / mean - 1)) for score, count in counts.items()) for stake in _STAKES]
    largest = max(logs)
    return largest + log(sum(exp(each - largest) for each in logs) / len(logs))


def _edge(is_outside: Callable[[float], bool], outer: float, inner: float) -> float:
    """Return by bisection the outside value nearest to ``inner``, within :data:`_STEP`; ``outer`` if there is none."""
    while abs(inner - outer) > _STEP:
        middle = (outer + inner) / 2
        if is_outside(middle):
            outer = middle
        else:
            inner = middle
    return outer
