"""The costs of misbehaviour for honest players in time, disk space and CPU time."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Final

WITHOUT: Final = "nothing"
"""Stands for worlds without misbehaviour."""


@dataclass
class Cost:
    """The costs for honest players in all worlds with the same misbehaviour."""

    worlds: int = 0
    out: list[float] = field(default_factory=list)
    """For each world, virtual seconds from the first bad act until an honest player has put the culprit out."""
    halts: list[float] = field(default_factory=list)
    """For each world, the longest time after the first bad act in which no honest player closed a step."""
    stored: list[int] = field(default_factory=list)
    """For each world, the most bytes on an honest player's disk that are not part of the history: during the match only
    votes are counted, at its end all messages."""
    computing: float = 0.0
    """CPU seconds spent in :meth:`protocol.match.match.Match.handle`."""
    inputs: int = 0
    """The number of inputs, such as messages, that were handled in this time."""

    def add(self, other: Cost) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    @property
    def each(self) -> float:
        """Microseconds of CPU time per input."""
        return 1e6 * self.computing / self.inputs if self.inputs else 0.0


def as_rows(costs: dict[str, Cost]) -> list[str]:
    """Return the lines of a Markdown table."""
    usual = costs.get(WITHOUT, Cost()).each
    lines = [
        "| misbehaviour | worlds | out | seconds until out | at most | longest halt, s | at most | KiB | at most | µs |"
        " without: 1 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, cost in sorted(costs.items()):
        out = f"{median(cost.out):.1f} | {max(cost.out):.1f}" if cost.out else "– | –"
        halts = f"{median(cost.halts):.1f} | {max(cost.halts):.1f}" if cost.halts else "– | –"
        stored = f"{median(cost.stored) / 1024:.1f} | {max(cost.stored) / 1024:.1f}" if cost.stored else "– | –"
        ratio = f"{cost.each / usual:.2f}" if usual else "–"
        lines.append(
            f"| {name} | {cost.worlds:,} | {len(cost.out):,} | {out} | {halts} | {stored} | {cost.each:.0f} | {ratio} |"
        )
    return lines


class Bill:
    """Records the costs of one world while it runs.

    :param name: the misbehaviour; empty for none.
    :param culprit: its author; −1 for none.
    """

    def __init__(self, name: str, culprit: int) -> None:
        self.name = name or WITHOUT
        self.cost = Cost(worlds=1)
        self._culprit = culprit
        self._since: float | None = None
        self._moved = 0.0
        self._halt = 0.0
        self._stored = 0

    def acted(self, now: float) -> None:
        """Record a bad act; only the first one matters."""
        if self._since is None:
            self._since = self._moved = now

    def goes_on(self, now: float, left: tuple[int, ...]) -> None:
        """Record that an honest player has closed a step.

        :param left: the authors who are out of the match.
        """
        if self._since is not None:
            self._halt = max(self._halt, now - self._moved)
            if self._culprit in left and not self.cost.out:
                self.cost.out.append(now - self._since)
        self._moved = now

    def holds(self, size: int) -> None:
        """Record how many bytes an honest player's disk holds that are not part of the history."""
        self._stored = max(self._stored, size)

    def computed(self, seconds: float) -> None:
        """Record the CPU seconds that an honest node spent on one input."""
        self.cost.computing += seconds
        self.cost.inputs += 1

    def closed(self) -> Cost:
        """Return the costs at the end of the world."""
        if self._since is not None:
            self.cost.halts.append(self._halt)
        self.cost.stored.append(self._stored)
        return self.cost
