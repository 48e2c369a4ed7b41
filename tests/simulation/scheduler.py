"""Virtual time: events in the order of (time, sequence), streams of chance that do not disturb each other, a trace."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from hashlib import sha256

Call = Callable[[], None]


class Timer:
    """Something that will happen, unless it is cancelled."""

    __slots__ = ("call", "time")

    def __init__(self, time: float, call: Call) -> None:
        self.time = time
        self.call: Call | None = call

    def cancel(self) -> None:
        """Let it not happen."""
        self.call = None


class Scheduler:
    """The clock of a world. Time stands still while an event happens and jumps to the next one after it."""

    def __init__(self) -> None:
        self.now = 0.0
        """Seconds."""
        self.events = 0
        """How many have happened."""
        self._heap: list[tuple[float, int, Timer]] = []
        self._sequence = 0

    def at(self, time: float, call: Call) -> Timer:
        """Let ``call`` happen at a time; now if that is past. Of two at one time the first planned comes first."""
        timer = Timer(max(time, self.now), call)
        self._sequence += 1
        heapq.heappush(self._heap, (timer.time, self._sequence, timer))
        return timer

    def after(self, seconds: float, call: Call) -> Timer:
        """Let ``call`` happen so many seconds from now."""
        return self.at(self.now + seconds, call)

    def step(self) -> bool:
        """Let the next event happen; tell whether there was one."""
        while self._heap:
            time, _, timer = heapq.heappop(self._heap)
            if timer.call is not None:
                self.now = time
                self.events += 1
                timer.call()
                return True
        return False


class Streams:
    """Independent sources of chance, so that leaving one kind of trouble out does not change all the others."""

    def __init__(self, seed: int) -> None:
        def stream(name: str) -> random.Random:
            return random.Random(f"{seed}/{name}")

        self.scenario = stream("scenario")
        """The players, their rules, and the troubles that are planned."""
        self.network = stream("network")
        self.disk = stream("disk")
        self.bots = stream("bots")
        self.misbehaviour = stream("misbehaviour")


class Trace:
    """The hash of everything that happened, and on request a line for each.

    :param keep: keep the lines; they are many.
    """

    def __init__(self, keep: Callable[[str], None] | None = None) -> None:
        self._hash = sha256()
        self._keep = keep

    def note(self, time: float, what: str, *details: object) -> None:
        """Something happened."""
        self._hash.update(f"{time:.6f} {what}".encode())
        for detail in details:
            self._hash.update(detail if isinstance(detail, bytes) else f" {detail}".encode())
        if self._keep is not None:
            words = (detail.hex() if isinstance(detail, bytes) else str(detail) for detail in details)
            self._keep(f"{time:.6f} {what} {' '.join(words)}")

    @property
    def digest(self) -> str:
        """Of all that was noted so far."""
        return self._hash.hexdigest()
