"""Statistics of counts: intervals for shares, and a test of dice."""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, exp, pi, sqrt
from statistics import NormalDist
from typing import Final

FACES: Final = 6
ENOUGH_DICE: Final = 5 * FACES
"""With fewer, each face is expected less than five times, and the statistic does not follow chi-square."""


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
    expected = sum(counts) / FACES
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
