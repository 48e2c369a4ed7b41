"""Virtual time, independent streams of random numbers, and the trace of a world."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from hashlib import sha256

Call = Callable[[], None]


class Timer:
    """A scheduled call, which can be cancelled."""

    __slots__ = ("call", "time")

    def __init__(self, time: float, call: Call) -> None:
        self.time = time
        self.call: Call | None = call

    def cancel(self) -> None:
        self.call = None


class Scheduler:
    """The clock of a world. It stands still during an event, then jumps to the next one."""

    def __init__(self) -> None:
        self.now = 0.0
        """Seconds."""
        self.events = 0
        """The number of events so far."""
        self._heap: list[tuple[float, int, Timer]] = []
        self._sequence = 0

    def at(self, time: float, call: Call) -> Timer:
        """Schedule a call; at once if the time is past. Calls for the same time happen in the order of scheduling."""
        timer = Timer(max(time, self.now), call)
        self._sequence += 1
        heapq.heappush(self._heap, (timer.time, self._sequence, timer))
        return timer

    def after(self, seconds: float, call: Call) -> Timer:
        """Schedule a call some seconds from now."""
        return self.at(self.now + seconds, call)

    def step(self) -> bool:
        """Run the next event. Return False if there is none."""
        while self._heap:
            time, _, timer = heapq.heappop(self._heap)
            if timer.call is not None:
                self.now = time
                self.events += 1
                timer.call()
                return True
        return False


class Streams:
    """Independent streams of random numbers, so that removing one kind of trouble does not change all the others."""

    def __init__(self, seed: int) -> None:
        def stream(name: str) -> random.Random:
            return random.Random(f"{seed}/{name}")

        self.network = stream("network")
        self.disk = stream("disk")
        self.bots = stream("bots")
        self.misbehaviour = stream("misbehaviour")


class Trace:
    """A hash of everything that happened in a world.

    :param keep: called with one line for each of many events.
    """

    def __init__(self, keep: Callable[[str], None] | None = None) -> None:
        self._hash = sha256()
        self._keep = keep

    def note(self, time: float, what: str, *details: object) -> None:
        """Add an event."""
        self._hash.update(f"{time:.6f} {what}".encode())
        for detail in details:
            self._hash.update(detail if isinstance(detail, bytes) else f" {detail}".encode())
        if self._keep is not None:
            words = (detail.hex() if isinstance(detail, bytes) else str(detail) for detail in details)
            self._keep(f"{time:.6f} {what} {' '.join(words)}")

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()
