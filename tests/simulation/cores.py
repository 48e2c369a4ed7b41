"""Worlds with one permanently faulty node, link or disk, in which everything else is perfect.

In other worlds several faults strike and heal, so that one fault may by chance end a standstill that another has
revealed. Here nothing else happens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.simulation.faults import STRIKES, Fault

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation


class Core(NamedTuple):
    """A kind of hardware that is permanently faulty."""

    begin: Callable[[Simulation, int], None]
    """Makes the hardware of a node faulty from now on."""
    may_stop: bool = False
    """Whether the match can only continue if the other players vote out this node, or relay its messages."""


def _again_and_again(
    kind: str, pause: tuple[float, float], lasts: tuple[float, float]
) -> Callable[[Simulation, int], None]:
    """Return a function that makes one kind of fault strike again and again.

    :param pause: shortest and longest pause between two strikes, in seconds.
    :param lasts: shortest and longest duration of a strike, in seconds.
    """

    def begin(world: Simulation, node: int) -> None:
        chance = world.streams.network if kind == "cut" else world.streams.disk
        other = (node + 1) % world.plan.players

        def strike() -> None:
            seconds = chance.uniform(*lasts)
            fault = Fault(kind, 0, node, other, seconds, chance.random(), "anywhere")
            world.note("core", *fault)
            STRIKES[kind](world, fault)
            world.figures.faults[f"{kind}, for ever"] += 1
            world.scheduler.after(seconds + chance.uniform(*pause), strike)

        world.scheduler.after(chance.uniform(*pause), strike)

    return begin


def _dead_link(world: Simulation, node: int) -> None:
    other = (node + 1) % world.plan.players
    world.network.forbid([(node, other)])


def _slow_node(world: Simulation, node: int) -> None:
    """Delay all frames to and from one node by 1.5 seconds on average."""
    for other in range(world.plan.players):
        if other != node:
            world.network.slow_down(node, other, 1.5)


def _dead_node(world: Simulation, node: int) -> None:
    """Kill a node at a random time and never restart it."""

    def die() -> None:
        process = world.network.processes[node]
        process.is_gone = True
        process.die(loses_power=world.streams.disk.random() < 0.5)

    world.scheduler.after(world.streams.disk.expovariate(0.2), die)


CORES: Final[Mapping[str, Core]] = {
    "flapping link": Core(_again_and_again("cut", (0.5, 6.0), (0.1, 2.0))),
    "failing disk": Core(_again_and_again("error on commit", (1.0, 6.0), (0.0, 1.0))),
    "restless process": Core(_again_and_again("crash", (2.0, 8.0), (0.1, 3.0))),
    "sleepy machine": Core(_again_and_again("sleep", (4.0, 20.0), (1.0, 30.0))),
    "slow node": Core(_slow_node),
    "dead link": Core(_dead_link, may_stop=True),
    "dead node": Core(_dead_node, may_stop=True),
}
"""By their names in reports."""
