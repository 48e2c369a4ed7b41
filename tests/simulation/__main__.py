"""``python -m tests.simulation``: replay one seed, run many seeds, add up the output of runs, or play evenings of
matches with purses. Figures are printed as Markdown."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from tests.simulation.adding import NotAddableError, Sum
from tests.simulation.campaign import as_markdown, replay_command, run_plan, run_seeds, shrink
from tests.simulation.evening import run_evenings
from tests.simulation.scenario import draw
from tests.simulation.simulation import Figures


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="replay this seed")
    parser.add_argument("--trace", action="store_true", help="with --seed: print every event")
    parser.add_argument("--shrink", action="store_true", help="with --seed: remove faults while it still fails")
    parser.add_argument("--seeds", type=int, help="run this many seeds")
    parser.add_argument("--evenings", type=int, help="play this many evenings of matches with purses")
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="S", help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="the number of parallel processes")
    parser.add_argument("--add", type=Path, nargs="+", metavar="FILE", help="add up the output of such runs")
    options = parser.parse_args()
    if options.add:
        return add(options.add)
    if options.seed is not None:
        return replay(options.seed, options.trace, options.shrink)
    if options.evenings is not None:
        return evenings(options.first, options.evenings, options.jobs)
    if options.seeds is None:
        parser.error("give --seed, --seeds, --evenings or --add")
    return campaign(options.first, options.seeds, options.jobs)


def replay(seed: int, traces: bool, shrinks: bool) -> int:
    """Run one seed; return the exit code."""
    plan = draw(seed)
    if shrinks:
        plan = shrink(plan)
    result = run_plan(plan, print if traces else None)
    print(plan)
    for fault in plan.faults:
        print(f"  {fault}")
    print(f"trace {result.digest}")
    if result.failure:
        print(result.details)
        return 1
    print(as_markdown(result.figures))
    return 0


def campaign(first: int, count: int, jobs: int) -> int:
    """Run many seeds; return the exit code."""
    total, failures = Figures(), 0
    began = shown = time.monotonic()
    for done, result in enumerate(run_seeds(range(first, first + count), jobs), 1):
        total.add(result.figures)
        if result.failure:
            failures += 1
            print(f"{result}\n", file=sys.stderr)
        if time.monotonic() - shown > 10:
            shown = time.monotonic()
            print(f"{done:,} of {count:,} seeds, {failures} failures", file=sys.stderr)
    print(f"`python -m tests.simulation --seeds {count} --from {first}`: {failures} failures,")
    print(f"{time.monotonic() - began:,.0f} s in {jobs} process{'es' if jobs > 1 else ''}\n")
    print(as_markdown(total))
    if failures:
        print(f"\nreplay a failure with: {replay_command(0).replace(' 0 ', ' SEED ')}", file=sys.stderr)
    return 1 if failures else 0


def evenings(first: int, count: int, jobs: int) -> int:
    """Play many evenings; return the exit code."""
    total: Counter[str] = Counter()
    failures = 0
    began = shown = time.monotonic()
    for result in run_evenings(range(first, first + count), jobs):
        total.update(result.figures)
        if time.monotonic() - shown > 10:
            shown = time.monotonic()
            print(f"{total['evenings']:,} of {count:,} evenings, {failures} failures", file=sys.stderr)
        if result.failure:
            failures += 1
            print(f"evening {result.seed}:\n{result.failure}", file=sys.stderr)
    seconds = time.monotonic() - began
    print(f"`python -m tests.simulation --evenings {count} --from {first}`: {failures} failures, {seconds:,.0f} s\n")
    print("| what | how many |\n| --- | ---: |")
    for name, number in total.items():
        print(f"| {name} | {number:,} |")
    return 1 if failures else 0


def add(files: list[Path]) -> int:
    """Print the sum of runs; return the exit code."""
    total = Sum()
    for file in files:
        try:
            total.add(file.read_text(encoding="utf-8"))
        except NotAddableError as error:
            print(f"{file}: {error}", file=sys.stderr)
            return 2
    print(total.as_markdown())
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
