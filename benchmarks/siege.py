"""Measure the cost to a player under attack by floods and slow peers, compared with an undisturbed match.

    python -m benchmarks.siege [--repeat 3] [--only WORD]

Each line is a match between processes on loopback, which must end fairly with the same transcript everywhere. The
attackers are separate processes and continue until the end. Lines with "this machine" or "another machine" differ in
where the attackers seem to be: peers on this machine have no rate limit. On another machine, a flooding player sends at
half the permitted rate, because a flood above the limit would also delay that player's own messages. Figures are for
the process under attack: peaks of memory and descriptors, and medians otherwise.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from protocol.limits import RATE
from tests.network.siege import SIEGES, Cost, Siege, measure

COLUMNS = (
    "siege",
    "attackers are taken for",
    "thrown",
    "ended by the besieged",
    "moves/s",
    "longest wait ms",
    "peak MiB",
    "descriptors",
    "CPU % of a core",
)


def lines(only: str) -> Iterator[tuple[str, str, Siege]]:
    """Yield what to measure: a name, where the attackers seem to be, and the siege."""
    yield "none, 2 players", "–", next(replace(siege, attacks=(), discovery=False) for siege in SIEGES.values())
    yield "none, 3 players", "–", Siege(flood="keepalives", frames=0)
    for name, siege in SIEGES.items():
        if only not in name:
            continue
        yield name, "this machine", siege
        if siege.flood:
            yield name, "another machine", replace(siege, frames=RATE / 2, lan=True)
        elif not siege.discovery:
            yield name, "another machine", replace(siege, lan=True)


def repeatedly(siege: Siege, times: int) -> list[Cost]:
    """Measure a siege ``times`` times."""
    costs = []
    for _ in range(times):
        with tempfile.TemporaryDirectory(prefix="p2pdice-siege-") as folder:
            costs.append(asyncio.run(measure(Path(folder), siege)))
    return costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--only", default="", metavar="WORD", help="only sieges with this word in their name")
    options = parser.parse_args()
    print("| " + " | ".join(COLUMNS) + " |")
    print("| --- | --- |" + " ---: |" * (len(COLUMNS) - 2))
    for name, machine, siege in lines(options.only):
        costs = repeatedly(siege, options.repeat)
        figures = (
            median(cost.thrown for cost in costs),
            median(cost.refused for cost in costs),
            median(cost.moves_per_second for cost in costs),
            median(cost.longest_wait for cost in costs) * 1000,
            max(cost.memory for cost in costs) / 2**20,
            max(cost.descriptors for cost in costs),
            median(cost.cpu / cost.seconds for cost in costs) * 100,
        )
        print(f"| {name} | {machine} | " + " | ".join(_shown(figure) for figure in figures) + " |", flush=True)


def _shown(figure: float) -> str:
    return f"{figure:,.0f}" if figure == int(figure) or figure >= 100 else f"{figure:.1f}"


if __name__ == "__main__":
    main()
