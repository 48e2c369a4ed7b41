"""Runs seeds, shrinks failures, and prints figures."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from tests.simulation.costs import as_rows
from tests.simulation.invariants import Check, Violation
from tests.simulation.scenario import Plan, draw
from tests.simulation.signatures import cached_checks
from tests.simulation.simulation import Figures, Simulation

TWICE: Final = 100
"""One in this many seeds is run twice, and both traces must be equal."""


@dataclass(frozen=True)
class Result:
    plan: Plan
    figures: Figures
    digest: str
    """The hash of the trace."""
    violated: Check | None = None
    """None if all checks held, or if an exception ended the run."""
    failure: str = ""
    """A description of the violation or exception; empty if there was none."""
    details: str = ""
    """The traceback of the failure."""

    def __str__(self) -> str:
        return f"{self.plan}\n  {self.failure}\n  replay with: {replay_command(self.plan.seed)}"


def replay_command(seed: int) -> str:
    """Return the command that replays a seed."""
    return f"python -m tests.simulation --seed {seed} --trace"


def run_plan(plan: Plan, keep: Callable[[str], None] | None = None) -> Result:
    """Run one world. A failure is returned, not raised.

    :param keep: called with each line of the trace.
    """
    world = Simulation(plan, keep)
    violated, failure, details = None, "", ""
    with cached_checks():
        try:
            world.run()
        except Violation as violation:
            violated, failure, details = violation.check, str(violation), traceback.format_exc()
        except Exception as error:  # noqa: BLE001 - any exception of a node is a finding
            failure, details = f"{type(error).__name__}: {error}", traceback.format_exc()
    return Result(plan, world.figures, world.trace.digest, violated, failure, details)


def run_seed(seed: int) -> Result:
    """Run the world of a seed; of one in :data:`TWICE` seeds twice, to compare the traces."""
    result = run_plan(draw(seed))
    if seed % TWICE == 0 and not result.failure:
        if run_plan(draw(seed)).digest != result.digest:
            return replace(result, violated=Check.EQUAL_SEEDS_GIVE_EQUAL_RUNS, failure="the traces differ")
        result.figures.checks[Check.EQUAL_SEEDS_GIVE_EQUAL_RUNS] += 1
    return result


def run_seeds(seeds: Iterable[int], jobs: int = 1) -> Iterator[Result]:
    """Yield the result of every seed, in order."""
    if jobs == 1:
        yield from map(run_seed, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(run_seed, seeds, chunksize=8)


def smallest(plan: Plan, is_wanted: Callable[[Plan], bool]) -> Plan:
    """Remove faults one at a time, as long as ``is_wanted`` holds for the smaller plan."""
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for index in reversed(range(len(plan.faults))):
            smaller = replace(plan, faults=plan.faults[:index] + plan.faults[index + 1 :])
            if is_wanted(smaller):
                plan, is_smaller = smaller, True
    return plan


def shrink(plan: Plan) -> Plan:
    """Return a plan that fails the same check with as few faults as possible; ``plan`` itself if it does not fail."""

    def kind(plan: Plan) -> str:
        result = run_plan(plan)
        return result.violated or result.failure.split(":")[0]

    wanted = kind(plan)
    return smallest(plan, lambda smaller: kind(smaller) == wanted) if wanted else plan


def as_markdown(total: Figures) -> str:
    """Return the figures as tables."""
    lines = [
        "| what | how many |",
        "| --- | ---: |",
        f"| matches begun | {total.matches - total.refused:,} |",
        f"| of these finished by all honest players | {total.finished:,} |",
        f"| of these suspended, as a player misbehaved or was gone for good | {total.suspended:,} |",
        f"| of these never formed, as a player did not sign the genesis | {total.unformed:,} |",
        f"| of these stopped, as only absent players held what an old backup had lost | {total.exempt:,} |",
        f"| false proposals that no guest signed | {total.refused:,} |",
        f"| players | {total.players:,} |",
        f"| steps agreed on | {total.steps:,} |",
        f"| frames delivered | {total.frames:,} |",
        f"| virtual hours | {total.seconds / 3600:,.1f} |",
    ]
    tables: tuple[tuple[str, Counter[str]], ...] = (
        ("fault", total.faults),
        ("process died", total.crashes),
        ("faulty for ever, all else perfect", total.cores),
        ("misbehaviour", total.misbehaviours),
        ("ruleset", total.rulesets),
        ("check", total.checks),
    )
    for title, counter in tables:
        lines += ["", f"| {title} | times |", "| --- | ---: |"]
        lines += [f"| {name} | {count:,} |" for name, count in sorted(counter.items())]
    lines += ["", *as_rows(total.costs)]
    return "\n".join(lines)
