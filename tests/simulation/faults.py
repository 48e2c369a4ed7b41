"""Faults of links, disks and processes. Each strikes once, and heals by itself after a while."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.simulation.disk import Trouble

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

CRASH_POINTS: Final = (
    "before store",
    "before commit of store",
    "after store",
    "before sending",
    "between two frames",
    "after sending",
    "before choice",
    "before commit of choice",
    "after choice",
    "before formed",
    "after formed",
    "before the transcript",
    "after the transcript",
    "before over",
    "after over",
    "anywhere",
)
"""The points at which a fault can kill a process: around every store, commit and send."""


class Fault(NamedTuple):
    """A fault that a plan contains."""

    kind: str
    """A key of :data:`STRIKES`."""
    after: int
    """It strikes once this many events have happened."""
    node: int
    other: int
    """The other end of the link, if the fault concerns a link."""
    seconds: float
    """The duration in virtual seconds."""
    share: float = 0.0
    """How bad it is, from 0 to 1: which share of the frames arrives, how slow a link gets, how old a backup is."""
    point: str = ""
    """For a crash, one of :data:`CRASH_POINTS`."""


Strike = Callable[["Simulation", Fault], bool]
"""Makes a fault strike. Returns False if there was nothing to strike, such as a link that is down already."""


def _cut(world: Simulation, fault: Fault) -> bool:
    """A link breaks. The last frames in flight are lost, and both ends notice at once."""
    pairs = [(fault.node, fault.other)]
    world.network.forbid(pairs)
    world.heal_after(fault.seconds, lambda: world.network.allow(pairs))
    return world.network.reset(fault.node, fault.other, fault.share)


def _half_open(world: Simulation, fault: Fault) -> bool:
    """A link breaks, and one end notices it only seconds later."""
    return world.network.reset(fault.node, fault.other, fault.share, (0.0, fault.seconds))


def _one_way(world: Simulation, fault: Fault) -> bool:
    """Nothing passes a link in one direction."""
    pairs = [(fault.node, fault.other)]
    world.network.block(pairs)
    world.heal_after(fault.seconds, lambda: world.network.unblock(pairs))
    return True


def _partition(world: Simulation, fault: Fault) -> bool:
    """The network falls into two parts, which cannot reach each other: nodes up to ``fault.node``, and the rest."""
    nodes = sorted(world.network.processes)
    inside = [node for node in nodes if node <= fault.node]
    outside = [node for node in nodes if node > fault.node]
    pairs = [pair for one in inside for other in outside for pair in ((one, other), (other, one))]
    world.network.block(pairs)
    world.heal_after(fault.seconds, lambda: world.network.unblock(pairs))
    return bool(pairs)


def _stall(world: Simulation, fault: Fault) -> bool:
    """A node stops reading from its links."""
    world.network.stall(fault.node)
    world.heal_after(fault.seconds, lambda: world.network.go_on_reading(fault.node))
    return True


def _sleep(world: Simulation, fault: Fault) -> bool:
    """A machine sleeps; when it wakes, its timers fire late."""
    process = world.network.processes[fault.node]
    struck = process.is_listening
    process.sleep(fault.seconds)
    return struck


def _slow(world: Simulation, fault: Fault) -> bool:
    """A link's latency grows from milliseconds to seconds."""
    world.network.slow_down(fault.node, fault.other, fault.share * 2.0)
    world.heal_after(fault.seconds, lambda: world.network.slow_down(fault.node, fault.other, None))
    return True


def _duplicate(world: Simulation, fault: Fault) -> bool:
    """A link breaks, and messages that were sent over it may be delivered again over the next link."""
    world.network.duplicates = True
    return world.network.reset(fault.node, fault.other, 1.0)


def _crash(world: Simulation, fault: Fault) -> bool:
    """A process dies when it next passes a certain point."""
    process = world.network.processes[fault.node]
    process.armed = (fault.point, fault.seconds)
    return process.is_running


def _power_cut(world: Simulation, fault: Fault) -> bool:
    """A machine loses power: even its frames in flight are lost, and its peers are not notified."""
    process = world.network.processes[fault.node]
    struck = process.is_running
    if struck:
        process.die_for(fault.seconds, loses_power=True)
    return struck


def _full_disk(world: Simulation, fault: Fault) -> bool:
    """All writes to a disk fail for a while."""
    disk = world.network.processes[fault.node].disk
    disk.is_full = True

    def heal() -> None:
        disk.is_full = False

    world.heal_after(fault.seconds, heal)
    return True


def _error_on_commit(world: Simulation, fault: Fault) -> bool:
    """The next commit reports an error, although it may have written the data."""
    disk = world.network.processes[fault.node].disk
    disk.trouble = Trouble.REFUSED if fault.share < 0.5 else Trouble.UNCONFIRMED
    return True


def _backup(world: Simulation, fault: Fault) -> bool:
    """A process dies, and its store is restored from an older backup."""
    process = world.network.processes[fault.node]
    struck = process.is_running
    if struck:
        process.die_for(fault.seconds)
        stored = set(process.disk.own)
        process.disk.lose(fault.share**3)  # mostly just the newest few messages: their loss is the most dangerous
        world.checks.restored(process, stored.difference(process.disk.own))
    return struck


NETWORK: Final[Mapping[str, Strike]] = {
    "cut": _cut,
    "half-open link": _half_open,
    "one-way partition": _one_way,
    "partition": _partition,
    "stalled reader": _stall,
    "sleep": _sleep,
    "slow link": _slow,
    "duplication": _duplicate,
}
DISK: Final[Mapping[str, Strike]] = {
    "crash": _crash,
    "power cut": _power_cut,
    "full disk": _full_disk,
    "error on commit": _error_on_commit,
    "restored backup": _backup,
}
STRIKES: Final[Mapping[str, Strike]] = {**NETWORK, **DISK}
"""The function of each kind of fault."""


def plan_faults(stream: Random, kinds: tuple[str, ...], count: int, players: int, events: int) -> tuple[Fault, ...]:
    """Draw ``count`` faults of these kinds. They strike during the first ``events`` events of the world."""
    faults = []
    for _ in range(count):
        kind = stream.choice(kinds)
        node, other = stream.sample(range(players), 2)
        # Some are shorter, some longer than patience and the time in which a node notices a dead link.
        seconds = round(stream.choice((0.05, 0.5, 3.0, 20.0)) * stream.uniform(0.5, 1.5), 3)
        share = round(stream.random(), 3)
        point = stream.choice(CRASH_POINTS) if kind == "crash" else ""
        faults.append(Fault(kind, stream.randrange(events), node, other, seconds, share, point))
    return tuple(sorted(faults, key=lambda fault: fault.after))
