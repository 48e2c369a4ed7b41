"""The six motes: each has a module with one :class:`MotePower`, its rules, notation and sentences.

``docs/architecture.md`` says what to touch for a new power.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from p2pdice.events import PowerEvent
from p2pdice.motes import Group, Mote
from p2pdice.powers.blue import BLUE
from p2pdice.powers.dark import DARK
from p2pdice.powers.grey import GREY
from p2pdice.powers.light import LIGHT
from p2pdice.powers.neutral import NEUTRAL
from p2pdice.powers.power import MotePower
from p2pdice.powers.red import RED

_ORDER: Final = (LIGHT, GREY, NEUTRAL, BLUE, RED, DARK)
"""That of the faces of the roll for the prize, from 1. Cups are sorted in this order, too."""
MOTES: Final[tuple[Mote, ...]] = tuple(power.mote for power in _ORDER)
POWERS: Final[Mapping[Mote, MotePower]] = MappingProxyType(
    {power.mote: replace(power, example=power.example.format(*MOTES)) for power in _ORDER}
)
"""By mote, in this order."""

GROUP_OF: Final[Mapping[Mote, Group]] = MappingProxyType({mote: power.group for mote, power in POWERS.items()})
ALIASES: Final[Mapping[str, Mote]] = MappingProxyType(
    {alias: mote for mote, power in POWERS.items() for alias in power.aliases}
)
"""Other names that are read."""
EVENTS: Final[Mapping[str, type[PowerEvent]]] = MappingProxyType(
    {type(event).__name__: type(event) for power in POWERS.values() for event in power.events}
)
"""The events that only one mote causes, by name."""

LOSE_EXAMPLE: Final = f"lose {MOTES[4]}@1"
CROWN_EXAMPLE: Final = f"crown {MOTES[5]}@1"
