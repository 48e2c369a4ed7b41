"""Plays many evenings, in parallel processes."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from typing import Final, NamedTuple

from tests.simulation.evening import Evening
from tests.simulation.signatures import cached_checks

MATCHES: Final = 30
"""Matches per evening."""


class Result(NamedTuple):
    seed: int
    figures: Counter[str]
    failure: str = ""
    """A traceback; empty if all checks held."""


def run_evening(seed: int) -> Result:
    """Play one evening. A failure is returned, not raised."""
    failure = ""
    with ExitStack() as resources, cached_checks():
        evening = Evening(seed, resources)
        try:
            for _ in range(MATCHES):
                evening.play()
        except Exception:  # noqa: BLE001 - any exception is a finding
            failure = traceback.format_exc()
        counted = Counter(
            {
                "evenings": 1,
                "matches": evening.figures.matches,
                "of these over": len(evening.ends),
                "records": evening.settled,
                "stakes given up": len(evening.given_up),
                "void matches": evening.voids,
                "processes that died": evening.figures.crashes.total(),
                "of these around a write of a purse": sum(
                    count for point, count in evening.figures.crashes.items() if point.endswith("purse")
                ),
            }
        )
    return Result(seed, counted, failure)


def run_evenings(seeds: Iterable[int], jobs: int) -> Iterator[Result]:
    """Yield the result of every evening, in order."""
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(run_evening, seeds)
