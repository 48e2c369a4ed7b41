"""Solve the tables, write their policies beside this module, and print how good they are.

    python -m p2pdice.solved [--tables 1-1 1-2 …] [--iterations 500] [--check]

A table is named by the opener's number of dice, then the responder's. Solving requires numpy (the extra ``vector``)
and takes about ten minutes for all nine tables. With ``--check`` nothing is solved: the existing files are checked, and
the exit status is 1 if one of them gives away more than it should.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Final

from p2pdice.solved.exploitability import bounds
from p2pdice.solved.policy import MOST, beginning, file_name, pack, policy, sequences

WORST: Final = 0.0025
"""The largest acceptable exploitability: the share of rounds that a policy gives away to a best response."""
TABLES: Final = [f"{opener}-{responder}" for opener, responder in product(range(1, MOST + 1), repeat=2)]


def solve(opener: int, responder: int, iterations: int) -> None:
    from p2pdice.solved.solve import Solver  # requires numpy, which --check does not need

    solver = Solver(beginning(opener, responder))
    for _ in range(iterations):
        solver.iterate()
    path = Path(__file__).with_name(file_name(opener, responder))
    path.write_bytes(pack(opener, responder, solver.policy()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES)
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    print("| opens with | against | bid sequences | opener wins % | exploitability % | KiB |")
    print("| ---: | ---: | ---: | --- | ---: | ---: |")
    worst = 0.0
    for table in options.tables:
        opener, responder = map(int, table.split("-"))
        if not options.check:
            solve(opener, responder, options.iterations)
        low, high = bounds(beginning(opener, responder), policy(opener, responder).weights)
        worst = max(worst, (high - low) / 2)
        size = Path(__file__).with_name(file_name(opener, responder)).stat().st_size / 1024
        number = sum(1 for _ in sequences(beginning(opener, responder)))
        print(
            f"| {opener} | {responder} | {number:,} | {100 * low:.2f}–{100 * high:.2f}"
            f" | {50 * (high - low):.3f} | {size:.0f} |",
            flush=True,
        )
    if worst > WORST:
        raise SystemExit(f"{worst:.3%} is too much to give away.")


if __name__ == "__main__":
    main()
