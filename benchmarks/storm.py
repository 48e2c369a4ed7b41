"""Measure the cost of a flood of forged multicast DNS to a match of three, compared with the match without a flood.

    python -m benchmarks.storm [--seconds 60] [--repeat 1] [--only KIND] [--rate N]

Each line is a match between processes in separate network namespaces (Linux, root), with the forger in another one.
Measurements with and without the flood alternate, because the load of a machine changes over time. Figures are medians
of the repetitions, except that waits and memory are maxima.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median

from tests.network.forger import FORGERIES
from tests.network.storm import Damage, Storm, endure

COLUMNS = (
    "flood",
    "packets/s",
    "KB/s",
    "moves/s",
    "without",
    "longest wait ms",
    "without",
    "memory MiB",
    "without",
    "CPU % of a core, a node",
    "without",
)
RATES = (0.0, 20.0)
"""Packets per second: as many as possible (0), and a rate that normal traffic hides."""
NODES = 3


def measure(storm: Storm, times: int) -> tuple[list[Damage], list[Damage]]:
    """Return the costs of ``times`` matches in a storm and as many without one, measured alternately."""
    stormy: list[Damage] = []
    calm: list[Damage] = []
    for _ in range(times):
        for each, costs in ((storm, stormy), (replace(storm, kind=""), calm)):
            with tempfile.TemporaryDirectory(prefix="p2pdice-storm-") as folder:
                costs.append(asyncio.run(endure(Path(folder), each)))
    return stormy, calm


def figures(costs: list[Damage]) -> tuple[float, float, float, float]:
    """Return the pace, the longest wait in milliseconds, the growth in MiB, and the CPU per node in % of a core."""
    return (
        median(each.pace for each in costs),
        max(each.longest_wait for each in costs) * 1000,
        max(each.growth for each in costs) / 2**20,
        median(each.cpu / each.seconds for each in costs) * 100 / NODES,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--only", choices=FORGERIES)
    parser.add_argument("--rate", type=float, help="packets per second, 0 for as many as possible")
    options = parser.parse_args()
    print("| " + " | ".join(COLUMNS) + " |")
    print("| --- |" + " ---: |" * (len(COLUMNS) - 1))
    for kind in [options.only] if options.only else FORGERIES:
        for rate in RATES if options.rate is None else (options.rate,):
            stormy, calm = measure(Storm(kind, rate, options.seconds), options.repeat)
            sent = median(each.packets / each.seconds for each in stormy)
            size = median(each.bytes / each.seconds for each in stormy) / 1000
            pairs = (figure for pair in zip(figures(stormy), figures(calm), strict=True) for figure in pair)
            cells = (kind, f"{sent:,.0f}", f"{size:,.0f}", *(f"{figure:,.1f}" for figure in pairs))
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
