"""Tests of the simulator itself: seeds are reproducible, faults heal, and every cheat does what its name says."""

from dataclasses import replace
from itertools import islice

import pytest

from p2pdice.rulesets import PRESETS
from protocol.wire.genesis import Patience
from tests.simulation.campaign import as_markdown, replay_command, run_plan, shrink
from tests.simulation.cores import CORES
from tests.simulation.faults import CRASH_POINTS, STRIKES, Fault
from tests.simulation.misbehaviour import (
    MISBEHAVIOURS,
    BadHistory,
    BadVote,
    FloodOfVotes,
    OneKeyTwoMachines,
    OutOfTurn,
    Proposal,
    TwoResults,
    VotesBeforeWhatIsMissing,
)
from tests.simulation.plant import Plant
from tests.simulation.planted import own_messages_are_not_stored
from tests.simulation.scenario import Plan, draw
from tests.simulation.signatures import cached_checks
from tests.simulation.simulation import Simulation

CALM = Plan(
    seed=1,
    preset="classic",
    mode="calm",
    players=3,
    ruleset=PRESETS["classic"].with_options({"dice": "1", "stakes": "yes"}),
    patience=Patience(30, 5),
    think=0.5,
    quits=0.0,
    is_random=False,
    is_on_loopback=True,
    usual_latency=0.005,
)

SOME_WITHOUT_PROOF = (
    "out of turn", "forged author", "forged history", "flood of future steps", "false HAVE", "withheld reveal",
    "stalling", "different votes", "breaks its CLOSE", "one key on two machines",
)  # fmt: skip
"""Examples of misbehaviours that cannot be proven. A thorough run tries all of them."""


def run(plan: Plan) -> Simulation:
    world = Simulation(plan)
    with cached_checks():
        world.run()
    return world


@pytest.mark.parametrize("seed", [8, 9, 21])
def test_a_seed_reproduces_its_trace(seed: int) -> None:
    assert run_plan(draw(seed)).digest == run_plan(draw(seed)).digest


def test_another_seed_has_another_trace() -> None:
    assert run_plan(CALM).digest != run_plan(replace(CALM, seed=2)).digest


def test_a_calm_world_ends_with_one_transcript() -> None:
    world = run(CALM)
    assert all(machine.confirmed for machine in world.honest())
    assert len({machine.transcript for machine in world.honest()}) == 1


@pytest.mark.parametrize(
    ("kind", "often"),
    [
        *((kind, 1) for kind, made in MISBEHAVIOURS.items() if made.is_proven or issubclass(made, Proposal)),
        *((kind, 1) for kind in SOME_WITHOUT_PROOF),
        *(pytest.param(kind, 2, marks=pytest.mark.thorough) for kind in MISBEHAVIOURS),
    ],
)
def test_a_cheat_acts_and_is_named_where_a_proof_is_possible(kind: str, often: int) -> None:
    made = MISBEHAVIOURS[kind]
    # Cheats who lie about the history need a node that catches up.
    faults = (Fault("crash", 60, 0, 1, 1.0, 0.0, "anywhere"),) if issubclass(made, BadHistory) else ()
    players = max(CALM.players, made.least)
    plan = replace(CALM, misbehaviour=kind, culprit=2, players=players, faults=faults, is_random=True, think=5.0)
    if issubclass(made, BadVote):  # an absent player causes votes
        plan = replace(plan, players=5, faults=(Fault("power cut", 150, 0, 1, 60.0),))
    worlds = (run(replace(plan, seed=seed)) for seed in range(12))
    acted = list(islice((world for world in worlds if world.figures.misbehaviours[kind]), often))
    assert acted
    for world in acted:
        if made is TwoResults:  # a player whose match has ended never receives the second RESULT
            assert world.checks.blamed <= {2}
        elif made.is_proven or made is OutOfTurn:
            assert world.checks.blamed == {2}
        else:
            may_contradict = made in (OneKeyTwoMachines, FloodOfVotes, VotesBeforeWhatIsMissing)
            may_contradict = may_contradict or issubclass(made, BadVote)
            assert world.checks.blamed <= ({2} if may_contradict else set())
        if issubclass(made, Proposal):
            assert world.figures.refused == 1
            assert world.figures.steps == 0
    if made in (OneKeyTwoMachines, TwoResults):
        assert any(world.checks.blamed for world in (*acted, *worlds))


def test_withholding_a_share_is_never_proven() -> None:
    world = run(replace(CALM, misbehaviour="withheld reveal", culprit=0))
    assert not world.checks.blamed
    assert world.checks.evicted == {0}
    assert world.figures.finished == 1


@pytest.mark.parametrize("kind", STRIKES)
def test_every_fault_heals(kind: str) -> None:
    faults = tuple(
        Fault(kind, after, after % 3, (after + 1) % 3, 2.0, 0.5, "anywhere" if kind == "crash" else "")
        for after in (20, 45, 70, 95)
    )
    world = run(replace(CALM, mode="faults", faults=faults))
    assert world.figures.finished == 1
    assert world.figures.faults[kind]


@pytest.mark.parametrize("point", [point for point in CRASH_POINTS if point != "anywhere"])
def test_a_process_can_die_at_every_point_and_come_back(point: str) -> None:
    faults = tuple(Fault("crash", 0, node, (node + 1) % 3, 1.0, 0.0, point) for node in range(3))
    world = run(replace(CALM, mode="faults", faults=faults))
    assert world.figures.crashes[point] == 3
    assert world.figures.finished == 1


@pytest.mark.parametrize("core", CORES)
def test_permanently_faulty_hardware_does_not_stop_the_match(core: str) -> None:
    world = run(replace(CALM, mode="faulty core", core=core))
    assert world.figures.finished == 1


def test_a_match_without_players_in_the_game_stands_still_in_ever_longer_rounds() -> None:
    """The player left for good before signing the last LOCK, and the two others are out of the game."""
    world = run(draw(11_499))
    assert world.figures.suspended == 1
    rounds = [machine.match.replica.ballot.round for machine in world.honest() if machine.match is not None]
    assert rounds == [30, 30]  # in 380 seconds: eight of 5 seconds, eight of 10, eight of 15, then of 20


@pytest.mark.parametrize(("seed", "after"), [(1, 280), (2, 300), (0, 250)])
def test_a_world_stops_when_only_players_who_are_away_hold_what_backups_lost(seed: int, after: int) -> None:
    """If the worlds continued, a node of the first one would sign two MOVEs, and players of the others would end with
    two histories, or without the third player."""
    away = Fault("power cut", after, 1, 0, 60.0)
    backups = (Fault("restored backup", after + 1, node, 1, 1.0, 0.5) for node in (0, 2))
    plan = replace(CALM, seed=seed, mode="faults", faults=(away, *backups), is_random=True)
    assert run(plan).figures.exempt == 1
    assert run(replace(plan, faults=plan.faults[1:])).figures.finished == 1


def test_shrinking_removes_faults_that_a_failure_does_not_need() -> None:
    plan = next(plan for plan in map(draw, range(1_000)) if len(plan.faults) == 4 and not plan.misbehaviour)
    with own_messages_are_not_stored(Plant()):
        assert shrink(plan).faults == ()
    assert shrink(plan) == plan, "a plan that does not fail was shrunk"


def test_a_failure_says_how_to_replay_it() -> None:
    with own_messages_are_not_stored(Plant()):
        result = run_plan(CALM)
    assert "messages are stored before sending" in result.failure
    assert replay_command(CALM.seed) in str(result)


def test_the_figures_are_markdown() -> None:
    table = as_markdown(run(CALM).figures).splitlines()
    assert table[0] == "| what | how many |"
    assert "| every match ends | 1 |" in table
