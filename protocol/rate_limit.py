"""Rate limits: how often something may happen, at once and in the long run."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Bucket:
    """A token bucket: time fills it at a rate up to a burst, and each event empties it.

    :param rate: units a second.
    :param burst: units that it holds, and begins with.
    :param now: monotonic time in seconds, of the clock that :meth:`wait` is called with.
    """

    __slots__ = ("_burst", "_level", "_rate", "_since")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._level = float(burst)
        self._since = now

    def wait(self, now: float) -> float:
        """Return the seconds until something may happen: 0 if it may now.

        >>> bucket = Bucket(rate=2, burst=1, now=0)
        >>> bucket.take()
        >>> bucket.wait(0), bucket.wait(0.5)
        (0.5, 0.0)
        """
        self._fill(now)
        return max(0.0, (1 - self._level) / self._rate)

    def is_full(self, now: float) -> bool:
        """Tell whether nothing is left of all that was counted."""
        self._fill(now)
        return self._level >= self._burst

    def _fill(self, now: float) -> None:
        # Only time that passes counts: the clock of some machines begins below 0.
        self._level = min(self._burst, self._level + max(0.0, now - self._since) * self._rate)
        self._since = now

    def take(self, units: float = 1) -> None:
        """Count an event. A cost above the units left becomes a debt, which delays the next event."""
        self._level -= units

    def put_back(self, units: float = 1) -> None:
        """Count an event no longer."""
        self._level += units

    def admits(self, now: float) -> bool:
        """Tell whether something may happen now, and count it if so.

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
    """One bucket for each peer, so that a peer that comes too often holds up only itself.

    :param rate: units a second, for each.
    :param burst: units that each bucket holds, and begins with.
    :param most: how many buckets are kept. Only a full one is forgotten, as a new one would be the same. If none is
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
        """Return the bucket of one of them.

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
        self._buckets[key] = bucket  # the last: the search for a full one begins with those that rested longest
        return bucket
