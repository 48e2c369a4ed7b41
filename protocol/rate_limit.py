"""How often something may happen: so many at once, so many a second in the long run."""

from __future__ import annotations


class Bucket:
    """A token bucket: filled at a rate up to a burst, emptied by what happens.

    :param rate: units a second.
    :param burst: units that it holds, and begins with.
    :param now: monotonic time in seconds, of the clock by which :meth:`wait` will be asked.
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
        self._level = min(self._burst, self._level + (now - self._since) * self._rate)
        self._since = now
        return max(0.0, (1 - self._level) / self._rate)

    def take(self, units: float = 1) -> None:
        """Count what happened. More than is left is a debt, which delays what comes next."""
        self._level -= units


class Buckets:
    """A bucket for each of those who come: one that comes too often is held up alone.

    :param rate: units a second, for each.
    :param burst: units that each bucket holds, and begins with.
    :param most: of buckets; whoever has not come for longest is forgotten first.
    """

    def __init__(self, rate: float, burst: float, most: int) -> None:
        self._rate = rate
        self._burst = burst
        self._most = most
        self._buckets: dict[str, Bucket] = {}

    def admits(self, who: str, now: float) -> bool:
        """Tell whether something of theirs may happen now, and count it if so.

        >>> buckets = Buckets(rate=1, burst=1, most=10)
        >>> buckets.admits("Ada", 0), buckets.admits("Ada", 0), buckets.admits("Ben", 0), buckets.admits("Ada", 1)
        (True, False, True, True)
        """
        bucket = self.bucket(who, now)
        if bucket.wait(now):
            return False
        bucket.take()
        return True

    def bucket(self, who: str, now: float) -> Bucket:
        """Return the bucket of one of them."""
        bucket = self._buckets.pop(who, None) or Bucket(self._rate, self._burst, now)
        self._buckets[who] = bucket
        if len(self._buckets) > self._most:
            del self._buckets[next(iter(self._buckets))]
        return bucket
