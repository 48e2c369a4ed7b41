"""Rate limits: how often something may happen, at once and in the long run."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Bucket:
    """A token bucket. Time fills it at a constant rate up to a maximum, and events empty it.

    :param rate: units per second.
    :param burst: the maximum, which is also the initial number of units.
    :param now: the current time in seconds, on the same monotonic clock as in calls of :meth:`wait`.
    """

    __slots__ = ("_burst", "_level", "_rate", "_since")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._level = float(burst)
        self._since = now

    def wait(self, now: float) -> float:
        """Return the seconds until an event may happen; 0 if one may happen now.

        >>> bucket = Bucket(rate=2, burst=1, now=0)
        >>> bucket.take()
        >>> bucket.wait(0), bucket.wait(0.5)
        (0.5, 0.0)
        """
        self._fill(now)
        return max(0.0, (1 - self._level) / self._rate)

    def is_full(self, now: float) -> bool:
        """Return whether the bucket is full, so that no past event matters any more."""
        self._fill(now)
        return self._level >= self._burst

    def _fill(self, now: float) -> None:
        # Ignore a first reading below the initial time: on some machines the clock starts below 0.
        self._level = min(self._burst, self._level + max(0.0, now - self._since) * self._rate)
        self._since = now

    def take(self, units: float = 1) -> None:
        """Count an event. A cost above the units left becomes a debt that delays the next event."""
        self._level -= units

    def put_back(self, units: float = 1) -> None:
        """Cancel the count of an event."""
        self._level += units

    def admits(self, now: float) -> bool:
        """Return whether an event may happen now, and count it if so.

        >>> bucket = Bucket(rate=1, burst=1, now=0)
        >>> bucket.admits(0), bucket.admits(0), bucket.admits(1)
        (True, False, True)
        >>> Bucket(rate=1, burst=1, now=0).admits(-1000)
        True
        """
        if self.wait(now):
            return False
        self.take()
        return True


class Buckets(Generic[Key]):
    """One bucket per peer, so that a peer with too many events holds up only itself.

    :param rate: units per second and bucket.
    :param burst: maximum and initial units of each bucket.
    :param most: the number of buckets kept. Only a full bucket is discarded, since a new one would equal it. If none is
        full, newcomers share one bucket.
    """

    def __init__(self, rate: float, burst: float, most: int) -> None:
        self._rate = rate
        self._burst = burst
        self._most = most
        self._buckets: dict[Key, Bucket] = {}
        self._shared = Bucket(rate, burst, 0)

    def __len__(self) -> int:
        return len(self._buckets)

    def bucket(self, key: Key, now: float) -> Bucket:
        """Return the bucket of the peer ``key``.

        >>> buckets = Buckets(rate=1, burst=1, most=10)
        >>> [buckets.bucket(name, now).admits(now) for name, now in (("Ada", 0), ("Ada", 0), ("Ben", 0), ("Ada", 1))]
        [True, False, True, True]
        """
        if (bucket := self._buckets.pop(key, None)) is None:
            if len(self._buckets) >= self._most:
                full = next((each for each, old in self._buckets.items() if old.is_full(now)), None)
                if full is None:
                    return self._shared
                del self._buckets[full]
            bucket = Bucket(self._rate, self._burst, now)
        self._buckets[key] = bucket  # moved to the end, so the search above starts with the longest unused
        return bucket
