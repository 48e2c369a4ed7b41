"""Adds up tables that ``python -m tests.simulation`` printed for different seeds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from tests.simulation.costs import WITHOUT

_SUMMARY: Final = re.compile(
    r"^`python -m tests\.simulation --seeds (\d+) --from (\d+)`: (\d+) failures,\n([\d,]+) s in (\d+) process",
    re.MULTILINE,
)
_NONE: Final = "–"
_RULE: Final = "---"


class NotAddableError(ValueError):
    """A file is not the output of one finished run, or two runs have a seed in common."""


@dataclass
class _Cost:
    """One row of the table of costs.

    Medians are left out, because medians of runs do not give the median of all worlds. Of two maxima the larger is
    kept. Microseconds per input are averaged over worlds, because a run does not print its number of inputs.
    """

    worlds: int = 0
    out: int = 0
    longest: list[Decimal | None] = field(default_factory=lambda: [None, None, None])
    """The maxima of seconds until eviction, of halts in seconds, and of KiB; None if no run has a value."""
    computing: Decimal = Decimal(0)
    """The sum over worlds of microseconds per input."""

    def add(self, cells: list[str]) -> None:
        """Add the row of one run."""
        worlds, out, _, until_out, _, halt, _, stored, each, _ = cells
        self.worlds += int(_number(worlds))
        self.out += int(_number(out))
        for place, cell in enumerate((until_out, halt, stored)):
            if cell != _NONE:
                self.longest[place] = max(_number(cell), self.longest[place] or Decimal(0))
        self.computing += _number(each) * _number(worlds)

    @property
    def each(self) -> Decimal:
        """Microseconds of CPU time per input."""
        return self.computing / self.worlds if self.worlds else Decimal(0)


@dataclass
class Sum:
    """The sum of the output of several runs."""

    runs: int = 0
    failures: int = 0
    seconds: int = 0
    """Seconds of all processes together."""
    seeds: list[range] = field(default_factory=list)
    counts: dict[str, dict[str, Decimal]] = field(default_factory=dict)
    """The counts of each table by its heading, then by the name of the row."""
    costs: dict[str, _Cost] = field(default_factory=dict)
    """By the name of the misbehaviour."""

    def add(self, output: str) -> None:
        """Add the output of a finished run.

        :raises NotAddableError: if it is not the output of exactly one finished run, or contains a seed added before.
        """
        summaries = _SUMMARY.findall(output)
        if len(summaries) != 1:
            raise NotAddableError(f"expected the output of one finished run, found {len(summaries)}")
        count, first, failures, seconds, jobs = (int(number.replace(",", "")) for number in summaries[0])
        seeds = range(first, first + count)
        for others in self.seeds:
            if seeds.start < others.stop and others.start < seeds.stop:
                raise NotAddableError(f"seeds {_span(seeds)} overlap seeds {_span(others)}")
        self.runs += 1
        self.failures += failures
        self.seconds += seconds * jobs
        self.seeds.append(seeds)
        for title, name, cells in _rows(output):
            if len(cells) == 1:
                table = self.counts.setdefault(title, {})
                if name != _RULE:
                    table[name] = table.get(name, Decimal(0)) + _number(cells[0])
            elif name != _RULE:
                self.costs.setdefault(name, _Cost()).add(cells)

    def as_markdown(self) -> str:
        """Return the sums as tables like those of one run."""
        seeds = ", ".join(map(_span, _joined(self.seeds)))
        lines = [
            f"{sum(map(len, self.seeds)):,} seeds ({seeds}) in {self.runs} runs of `python -m tests.simulation`:",
            f"{self.failures} failures, {self.seconds:,} s of one process",
        ]
        for title, table in self.counts.items():
            unit = "how many" if title == "what" else "times"
            names = table if title == "what" else sorted(table)
            lines += ["", f"| {title} | {unit} |", "| --- | ---: |"]
            lines += [f"| {name} | {table[name]:,} |" for name in names]
        usual = self.costs[WITHOUT].each if WITHOUT in self.costs else Decimal(0)
        lines += [
            "",
            "| misbehaviour | worlds | out | seconds until out, at most | longest halt, s | KiB, at most | µs |"
            " without: 1 |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        for name, cost in sorted(self.costs.items()):
            longest = " | ".join(_NONE if number is None else f"{number:,}" for number in cost.longest)
            ratio = f"{cost.each / usual:.2f}" if usual else _NONE
            lines.append(f"| {name} | {cost.worlds:,} | {cost.out:,} | {longest} | {cost.each:.0f} | {ratio} |")
        return "\n".join(lines)


def _rows(output: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (heading of the table, name, numbers) of every row. The ``---`` line below a heading counts as a row."""
    title = ""
    for line in output.splitlines():
        if not line.startswith("| "):
            title = ""
            continue
        name, *cells = line.strip("| ").split(" | ")
        if not title:
            title = name
        else:
            yield title, name, cells


def _number(cell: str) -> Decimal:
    return Decimal(cell.replace(",", ""))


def _joined(spans: Iterable[range]) -> list[range]:
    """Return the ranges in order, with adjacent ones merged."""
    joined: list[range] = []
    for span in sorted(spans, key=lambda span: span.start):
        if joined and joined[-1].stop == span.start:
            joined[-1] = range(joined[-1].start, span.stop)
        else:
            joined.append(span)
    return joined


def _span(seeds: range) -> str:
    return f"{seeds.start} to {seeds.stop - 1}"
