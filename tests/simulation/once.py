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
from protocol.genesis import Patience
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
            seed=557,
            preset="joker",
            mode="misbehaviour",
            players=4,
            ruleset=_rules("joker", 2, stakes=True),
            patience=Patience(5, 5),
            think=3.0,
            quits=0.0,
            is_random=True,
            is_on_loopback=True,
            usual_latency=0.3,
            misbehaviour="votes about everybody",
            culprit=1,
        ),
    ),
    "a proof by two votes on a step that is final for whoever is shown it": Once(
        mends.votes_behind_a_lock_are_compared,
        None,
        Plan(
            seed=216,
            preset="classic",
            mode="misbehaviour",
            players=4,
            ruleset=_rules("classic", 2),
            patience=Patience(30, 5),
            think=0.05,
            quits=0.0,
            is_random=True,
            is_on_loopback=False,
            usual_latency=0.02,
            misbehaviour="votes about everybody",
            culprit=3,
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
    "a proof by two messages of which neither is part of the history": Once(
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
            seed=6028,
            preset="plain",
            mode="faults",
            players=4,
            ruleset=_rules("plain", 1),
            patience=Patience(120, 15),
            think=3.0,
            quits=0.0,
            is_random=False,
            is_on_loopback=True,
            usual_latency=0.0,
            faults=(
                Fault("restored backup", 8, 0, 2, 0.568, 0.275),
                Fault("restored backup", 18, 3, 2, 18.55, 0.565),
                Fault("restored backup", 62, 0, 2, 2.318, 0.288),
                Fault("restored backup", 123, 2, 1, 0.064, 0.286),
                Fault("restored backup", 417, 1, 0, 0.051, 0.809),
                Fault("restored backup", 431, 3, 0, 11.64, 0.881),
                Fault("restored backup", 690, 1, 0, 14.855, 0.559),
                Fault("restored backup", 990, 2, 1, 4.315, 0.108),
                Fault("restored backup", 1168, 3, 0, 0.037, 0.888),
                Fault("restored backup", 1498, 1, 0, 0.656, 0.787),
                Fault("restored backup", 1547, 0, 1, 17.255, 0.426),
            ),
        ),
    ),
    "a slow node calls the end while the others vote about the last step": Once(
        mends.the_end_waits_for_a_vote_on_the_last_step,
        Check.ONE_HISTORY,
        Plan(
            seed=1333,
            preset="joker",
            mode="faults",
            players=3,
            ruleset=_rules("joker", 1),
            patience=Patience(30, 5),
            think=0.05,
            quits=0.0,
            is_random=True,
            is_on_loopback=True,
            usual_latency=0.002,
            faults=(
                Fault("half-open link", 29, 2, 0, 0.065, 0.62),
                Fault("power cut", 58, 2, 0, 3.183, 0.333),
                Fault("cut", 119, 1, 0, 4.208, 0.704),
                Fault("one-way partition", 141, 2, 0, 23.422, 0.745),
                Fault("error on commit", 222, 1, 2, 2.255, 0.407),
                Fault("error on commit", 245, 1, 2, 0.52, 0.615),
                Fault("sleep", 263, 2, 1, 0.048, 0.587),
                Fault("slow link", 274, 1, 0, 15.594, 0.609),
            ),
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
    "who was dragged far ahead by a liar is not followed": Once(
        mends.who_is_dragged_ahead_is_followed,
        None,
        Plan(
            seed=1261,
            preset="plain",
            mode="misbehaviour",
            players=3,
            ruleset=_rules("plain", 1, stakes=True),
            patience=Patience(120, 15),
            think=0.0,
            quits=0.2,
            is_random=False,
            is_on_loopback=True,
            usual_latency=0.02,
            misbehaviour="votes about everybody",
            culprit=0,
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
