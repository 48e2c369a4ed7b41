"""The plan of a world, as drawn from a seed: players, rules, machines, network, faults and misbehaviour."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from p2pdice.rulesets import PRESETS, Ruleset
from protocol.wire.genesis import Patience
from tests.simulation.cores import CORES
from tests.simulation.faults import DISK, NETWORK, Fault, plan_faults
from tests.simulation.misbehaviour import MISBEHAVIOURS

MODES: Final = ("calm", "faults", "misbehaviour", "both", "faulty core")
_WEIGHTS: Final = (4, 32, 32, 20, 12)


@dataclass(frozen=True)
class Plan:
    """The settings of one world."""

    seed: int
    preset: str
    """The name of the preset from which the ruleset was made."""
    mode: str
    """One of :data:`MODES`."""
    players: int
    ruleset: Ruleset
    patience: Patience
    think: float
    """How long an owner thinks about a move: the mean, in seconds."""
    quits: float
    """The probability that an owner concedes instead of moving."""
    is_random: bool
    """Whether owners move at random instead of by odds."""
    is_on_loopback: bool
    """Whether all nodes run on one machine, where message rates are not limited."""
    usual_latency: float
    """Mean seconds that a frame takes."""
    faults: tuple[Fault, ...] = ()
    core: str = ""
    """In the mode ``faulty core``, a key of :data:`CORES`."""
    misbehaviour: str = ""
    """A key of :data:`MISBEHAVIOURS`; empty for none."""
    culprit: int = -1
    """The author of the misbehaviour; −1 for none."""

    @property
    def is_calm(self) -> bool:
        """Whether there are no faults, and frames are fast."""
        return not self.faults and not self.core and self.usual_latency < 0.1

    def __str__(self) -> str:
        rules = f"{self.preset}, {self.ruleset.dice} dice" + (", stakes" if self.ruleset.stakes else "")
        who = f", {self.misbehaviour} by {self.culprit}" if self.misbehaviour else ""
        core = f", for ever a {self.core}" if self.core else ""
        return f"seed {self.seed}: {self.mode}, {self.players} players, {rules}{who}{core}, {len(self.faults)} faults"


def draw(seed: int) -> Plan:
    """Draw the plan of a seed."""
    stream = Random(f"{seed}/scenario")
    mode = stream.choices(MODES, _WEIGHTS)[0]
    players = stream.choices((2, 3, 4, 5, 6, 10), (20, 40, 22, 10, 6, 2))[0]
    name = stream.choices(tuple(PRESETS), [1 if preset.motes else 3 for preset in PRESETS.values()])[0]
    ruleset = PRESETS[name]
    if ruleset.motes:
        players = min(players, 3)  # these matches have hundreds of steps
    else:
        ruleset = ruleset.with_options({"dice": stream.choices(("1", "2", "3"), (55, 37, 8))[0]})
        if stream.random() < 0.2:
            ruleset = ruleset.with_options({"stakes": "yes"})
    misbehaviour, culprit = "", -1
    if mode in ("misbehaviour", "both"):
        fitting = [kind for kind, made in MISBEHAVIOURS.items() if made.least <= players and made.suits(ruleset)]
        misbehaviour, culprit = stream.choice(fitting), stream.randrange(players)
    faults: tuple[Fault, ...] = ()
    if mode in ("faults", "both"):
        # Beside a liar, nothing is promised to a player who restores a backup: only the liar may hold lost messages.
        disk = tuple(kind for kind in DISK if kind != "restored backup" or not misbehaviour)
        # Faults of several kinds, or of one: in a mix, one fault may end a standstill that another has caused.
        kinds = stream.choice((tuple(NETWORK), disk, (*NETWORK, *disk), (stream.choice((*NETWORK, *disk)),)))
        count = stream.choice((1, 2, 4, 8, 16))
        # About the number of events in a short match, so that most faults strike before the end.
        faults = plan_faults(stream, kinds, count, players, stream.choice((30, 100, 400)) * players * players)
    return Plan(
        seed=seed,
        preset=name,
        mode=mode,
        players=players,
        ruleset=ruleset,
        patience=Patience(*stream.choice(((120, 15), (30, 5), (5, 5)))),
        think=stream.choice((0.0, 0.05, 0.5, 3.0)),
        quits=stream.choice((0.0, 0.0, 0.0, 0.02, 0.2)),
        is_random=stream.random() < 0.4,
        is_on_loopback=stream.random() < 0.7,
        usual_latency=stream.choice((0.0, 0.002, 0.02, 0.3)),
        faults=faults,
        core=stream.choice(tuple(CORES)) if mode == "faulty core" else "",
        misbehaviour=misbehaviour,
        culprit=culprit,
    )
