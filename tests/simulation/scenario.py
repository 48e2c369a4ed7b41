"""What a seed stands for: who plays what, on which machines, and which trouble there will be."""

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
    """One world, before it begins."""

    seed: int
    preset: str
    """What the ruleset was made of."""
    mode: str
    players: int
    ruleset: Ruleset
    patience: Patience
    think: float
    """Mean seconds that an owner thinks about a move."""
    quits: float
    """Chance that an owner concedes instead of moving."""
    is_random: bool
    """Owners move at random instead of by odds."""
    is_on_loopback: bool
    usual_latency: float
    faults: tuple[Fault, ...] = ()
    core: str = ""
    """What one node, link or disk does for ever, in the mode ``faulty core``."""
    misbehaviour: str = ""
    culprit: int = -1
    """Author of the misbehaviour; −1 for nobody."""

    @property
    def is_calm(self) -> bool:
        """Nothing is wrong with network and disks, and links take no time to speak of."""
        return not self.faults and not self.core and self.usual_latency < 0.1

    def __str__(self) -> str:
        rules = f"{self.preset}, {self.ruleset.dice} dice" + (", stakes" if self.ruleset.stakes else "")
        who = f", {self.misbehaviour} by {self.culprit}" if self.misbehaviour else ""
        core = f", for ever a {self.core}" if self.core else ""
        return f"seed {self.seed}: {self.mode}, {self.players} players, {rules}{who}{core}, {len(self.faults)} faults"


def draw(seed: int) -> Plan:
    """Return the plan that a seed stands for."""
    stream = Random(f"{seed}/scenario")
    mode = stream.choices(MODES, _WEIGHTS)[0]
    players = stream.choices((2, 3, 4, 5, 6, 10), (20, 40, 22, 10, 6, 2))[0]
    name = stream.choices(tuple(PRESETS), [1 if preset.motes else 3 for preset in PRESETS.values()])[0]
    ruleset = PRESETS[name]
    if ruleset.motes:
        players = min(players, 3)  # such matches have hundreds of steps
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
        # A backup brought back while somebody lies is promised nothing: the liar may be the only one who knows better.
        disk = tuple(kind for kind in DISK if kind != "restored backup" or not misbehaviour)
        # All of a group, or one kind alone: what heals one trouble may hide another.
        kinds = stream.choice((tuple(NETWORK), disk, (*NETWORK, *disk), (stream.choice((*NETWORK, *disk)),)))
        count = stream.choice((1, 2, 4, 8, 16))
        # Counted by the events of a short match, so that most of them strike before the end.
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
