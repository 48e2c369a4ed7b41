"""Measure the harm that liars do by sending useless messages through other players, without a link to the victim.

    python -m benchmarks.relays [--repeat 3]

Each line covers several matches between laptops (network namespaces), which require root on Linux. The liars have the
last seats. Ten moves are made before the attack. "later" is how much longer the slowest message between honest players
took during the attack than before it: the median and the maximum over all matches, or "inf" if a message never arrived.
A match that has not ended after two minutes counts under "no end" only.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import median

from tests.network.namespaces import lan
from tests.network.relays import AT_THE_LIMIT, FULL_SPEED, NEW_LINKS, Attack, Outcome, StandstillError, attacked

ATTACKS = {
    "48 a second": AT_THE_LIMIT,
    "14 bursts of 190, each over a new link": NEW_LINKS,
    "2,000 a second": FULL_SPEED,
}
COLUMNS = ("players", "liars", "what", "how", "matches", "later s", "worst s", "honest put out", "ends told", "no end")


def repeatedly(seats: int, liars: int, attack: Attack, times: int) -> list[Outcome]:
    """Play matches under an attack, and return the outcomes of those that ended."""
    outcomes = []
    for _ in range(times):
        with (
            tempfile.TemporaryDirectory(prefix="p2pdice-relays-") as folder,
            lan(seats) as wire,
            suppress(StandstillError),
        ):
            outcomes.append(asyncio.run(attacked(Path(folder), wire, seats, attack, liars)))
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--liars", type=int, help="measure only tables with this number of liars")
    options = parser.parse_args()
    print("| " + " | ".join(COLUMNS) + " |")
    print("| ---: | ---: | --- | --- |" + " ---: |" * (len(COLUMNS) - 4))
    for seats, liars in ((3, 1), (5, 1), (5, 2)):
        if options.liars not in (None, liars):
            continue
        for kind in ("votes", "mixed"):
            for how, attack in ATTACKS.items():
                outcomes = repeatedly(seats, liars, replace(attack, kind=kind), options.repeat)
                later = [outcome.later for outcome in outcomes] or [math.inf]
                figures = (
                    options.repeat,
                    f"{median(later):.2f}",
                    f"{max(later):.2f}",
                    sum(len(outcome.put_out) for outcome in outcomes),
                    max((len(outcome.winners) for outcome in outcomes), default=0),
                    options.repeat - len(outcomes),
                )
                print(f"| {seats} | {liars} | {kind} | {how} | " + " | ".join(map(str, figures)) + " |", flush=True)


if __name__ == "__main__":
    main()
