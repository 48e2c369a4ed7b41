"""Worlds that once went wrong, as data: what was wrong, the mend, and the check that fails where it is undone.

A plan holds all that :func:`~tests.simulation.scenario.draw` once drew from a seed, so it does not change with what
seeds stand for. The course of a world changes with the program all the same, and then it may not come into its
situation any more. A test says so, and ``python -m tests.simulation.once NAME`` looks for other worlds that do, and
prints their plans.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Final, NamedTuple

from p2pdice import PRESETS, Ruleset
from protocol.wire.genesis import Patience
from tests.simulation import mends
from tests.simulation.campaign import Result, run_plan, smallest
from tests.simulation.faults import Fault
from tests.simulation.invariants import Check
from tests.simulation.mends import Mend
from tests.simulation.plant import Plant
from tests.simulation.scenario import Plan, draw

SMALL: Final = 5
"""Players of a world that is looked for: larger ones take long."""


class Once(NamedTuple):
    """One thing that went wrong."""

    mend: Mend
    check: Check | None
    """The one that fails where the mend is undone; None where a later mend keeps that from doing harm."""
    plan: Plan


def _rules(preset: str, dice: int, *, stakes: bool = False) -> Ruleset:
    return PRESETS[preset].with_options({"dice": str(dice)} | ({"stakes": "yes"} if stakes else {}))


def situation(once: Once, *, is_undone: bool = False) -> tuple[int, Result]:
    """Run a world; return how often the mend made a difference, and what became of it."""
    plant = Plant()
    with once.mend(plant, is_undone):
        result = run_plan(once.plan)
    return plant.ran, result


ONCE: Final[Mapping[str, Once]] = {
    "a step that waits only for a vote about a cheat, which the others have left behind": Once(
        mends.lost_steps_are_looked_for,
        None,
        Plan(
            seed=644,
            preset="plain",
            mode="misbehaviour",
            players=4,
            ruleset=_rules("plain", 2),
            patience=Patience(5, 5),
            think=3.0,
            quits=0.0,
            is_random=False,
            is_on_loopback=True,
            usual_latency=0.3,
            misbehaviour="different commitments",
            culprit=1,
        ),
    ),
    "a proof by two votes on a step that is final for whoever is shown it": Once(
        mends.votes_behind_a_lock_are_compared,
        None,
        Plan(
            seed=1,
            preset="plain",
            mode="both",
            players=3,
            ruleset=_rules("plain", 3),
            patience=Patience(30, 5),
            think=0.5,
            quits=0.0,
            is_random=False,
            is_on_loopback=False,
            usual_latency=0.002,
            misbehaviour="votes against one",
            culprit=1,
        ),
    ),
    "votes thousands of rounds ahead hold up the next step": Once(
        mends.nobody_waits_for_far_rounds,
        None,
        Plan(
            seed=1251,
            preset="classic",
            mode="both",
            players=4,
            ruleset=_rules("classic", 1, stakes=True),
            patience=Patience(120, 15),
            think=3.0,
            quits=0.0,
            is_random=False,
            is_on_loopback=True,
            usual_latency=0.3,
            faults=(
                Fault("half-open link", 29, 1, 3, 12.007, 0.298),
                Fault("half-open link", 37, 0, 1, 0.062, 0.263),
            ),
            misbehaviour="votes about everybody",
            culprit=0,
        ),
    ),
    "a proof by two messages, and neither is part of the history": Once(
        mends.two_messages_prove_what_neither_shows_alone,
        Check.THE_VERIFIER_ACCEPTS,
        Plan(
            seed=2168,
            preset="spot-on",
            mode="both",
            players=4,
            ruleset=_rules("spot-on", 1),
            patience=Patience(120, 15),
            think=0.05,
            quits=0.0,
            is_random=False,
            is_on_loopback=True,
            usual_latency=0.02,
            faults=(Fault("stalled reader", 7, 1, 0, 21.835, 0.948),),
            misbehaviour="different commitments",
            culprit=0,
        ),
    ),
    "a node that stands still for a vote, and is woken by its own warning without end": Once(
        mends.a_node_that_stands_still_is_not_woken,
        None,
        Plan(
            seed=734,
            preset="spot-on",
            mode="misbehaviour",
            players=3,
            ruleset=_rules("spot-on", 1),
            patience=Patience(120, 15),
            think=0.5,
            quits=0.0,
            is_random=False,
            is_on_loopback=False,
            usual_latency=0.0,
            misbehaviour="stalling",
            culprit=2,
        ),
    ),
    "a node that had voted is restarted, and begins no further round": Once(
        mends.rounds_begin_after_a_restart,
        None,
        Plan(
            seed=44,
            preset="wildcard",
            mode="both",
            players=3,
            ruleset=_rules("wildcard", 1),
            patience=Patience(120, 15),
            think=0.05,
            quits=0.0,
            is_random=False,
            is_on_loopback=False,
            usual_latency=0.3,
            faults=(
                Fault("power cut", 258, 0, 2, 4.057, 0.518),
                Fault("error on commit", 280, 1, 0, 25.271, 0.111),
            ),
            misbehaviour="two moves",
            culprit=0,
        ),
    ),
    "a slow node calls the end while the others vote about the last step": Once(
        mends.the_end_waits_for_a_vote_on_the_last_step,
        None,
        Plan(
            seed=569,
            preset="classic",
            mode="faulty core",
            players=3,
            ruleset=_rules("classic", 3),
            patience=Patience(120, 15),
            think=0.5,
            quits=0.0,
            is_random=False,
            is_on_loopback=True,
            usual_latency=0.002,
            core="slow node",
        ),
    ),
    "a proof on a history that was taken back spoils the transcript": Once(
        mends.proofs_of_dropped_histories_are_left_out,
        Check.THE_VERIFIER_ACCEPTS,
        Plan(
            seed=36,
            preset="perudo",
            mode="misbehaviour",
            players=5,
            ruleset=_rules("perudo", 1),
            patience=Patience(5, 5),
            think=3.0,
            quits=0.0,
            is_random=False,
            is_on_loopback=True,
            usual_latency=0.3,
            misbehaviour="out of turn",
            culprit=4,
        ),
    ),
    "the simulator took a vote for stored that a backup, put back while its owner was off, had lost": Once(
        mends.backups_are_forgotten_at_once,
        None,
        Plan(
            seed=63,
            preset="spot-on",
            mode="faults",
            players=3,
            ruleset=_rules("spot-on", 1, stakes=True),
            patience=Patience(5, 5),
            think=0.0,
            quits=0.2,
            is_random=False,
            is_on_loopback=True,
            usual_latency=0.3,
            faults=(
                Fault("error on commit", 23, 1, 0, 0.029, 0.266),
                Fault("power cut", 125, 1, 2, 16.27, 0.576),
                Fault("full disk", 204, 0, 1, 15.111, 0.638),
                Fault("restored backup", 243, 2, 0, 11.036, 0.747),
                Fault("power cut", 260, 1, 0, 14.633, 0.475),
                Fault("error on commit", 269, 2, 1, 3.222, 0.161),
                Fault("restored backup", 312, 0, 1, 24.214, 0.754),
            ),
        ),
    ),
    "voters who follow each other for ever and never meet": Once(
        mends.voters_who_follow_stay_one_behind,
        Check.EVERY_MATCH_ENDS,
        Plan(
            seed=31,
            preset="motes",
            mode="both",
            players=3,
            ruleset=_rules("motes", 5, stakes=True),
            patience=Patience(5, 5),
            think=0.05,
            quits=0.02,
            is_random=True,
            is_on_loopback=False,
            usual_latency=0.002,
            faults=(
                Fault("duplication", 33, 2, 0, 14.957, 0.594, ""),
                Fault("partition", 51, 0, 1, 0.048, 0.165, ""),
                Fault("full disk", 70, 1, 0, 0.653, 0.424, ""),
                Fault("partition", 117, 0, 2, 23.595, 0.169, ""),
                Fault("partition", 167, 0, 2, 0.037, 0.947, ""),
                Fault("full disk", 190, 1, 0, 14.597, 0.866, ""),
                Fault("error on commit", 202, 0, 1, 0.047, 0.978, ""),
            ),
            misbehaviour="stake above funds",
            culprit=0,
        ),
    ),
    "voters who came round to the others' vote behind the end of a match, and were left behind": Once(
        mends.the_end_is_no_reason_to_stay_behind,
        Check.EVERY_MATCH_ENDS,
        Plan(
            seed=34965,
            preset="joker",
            mode="faulty core",
            players=4,
            ruleset=_rules("joker", 1, stakes=True),
            patience=Patience(30, 5),
            think=0.5,
            quits=0.0,
            is_random=False,
            is_on_loopback=True,
            usual_latency=0.02,
            core="slow node",
        ),
    ),
}
"""By what went wrong."""


def others(name: str, first: int) -> Iterator[Plan]:
    """Yield plans of small worlds that come into a situation, and fail without the mend as the one that is kept."""

    def is_wanted(plan: Plan) -> bool:
        once = ONCE[name]._replace(plan=plan)
        often, result = situation(once)
        if not often or result.failure:
            return False
        return once.check is None or situation(once, is_undone=True)[1].violated is once.check

    seed = first
    while True:
        plan = draw(seed)
        if plan.players <= SMALL and not plan.ruleset.motes and is_wanted(plan):
            yield smallest(plan, is_wanted)
        seed += 1


def as_code(plan: Plan) -> str:
    """Return a plan as it stands in this file."""
    rules = f"_rules({plan.preset!r}, {plan.ruleset.dice}{', stakes=True' if plan.ruleset.stakes else ''})"
    given = {field.name: repr(getattr(plan, field.name)) for field in fields(plan)}
    given |= {"ruleset": rules, "patience": f"Patience({plan.patience.human}, {plan.patience.automatic})"}
    left = {field.name for field in fields(plan) if getattr(plan, field.name) == field.default}
    given["faults"] = f"({''.join(f'Fault({str([*fault])[1:-1]}), ' for fault in plan.faults)})"
    return f"Plan({', '.join(f'{name}={value}' for name, value in given.items() if name not in left)})"


def main() -> int:
    """Print plans until it is interrupted."""
    name, first = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for plan in others(name, first):
        print(as_code(plan).replace("'", '"'), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
