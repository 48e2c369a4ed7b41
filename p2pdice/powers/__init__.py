"""The six motes: each has a module with one :class:`MotePower`, its rules, notation and sentences.

A power is a module like those imported here and its place in :data:`POWERS`; a table gives its mote a colour.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from p2pdice.motes import Group, Mote
from p2pdice.powers.blue import BLUE
from p2pdice.powers.dark import DARK
from p2pdice.powers.grey import GREY
from p2pdice.powers.light import LIGHT
from p2pdice.powers.neutral import NEUTRAL
from p2pdice.powers.power import MotePower
from p2pdice.powers.red import RED

POWERS: Final[Mapping[Mote, MotePower]] = MappingProxyType(
    {power.mote: power for power in (LIGHT, GREY, NEUTRAL, BLUE, RED, DARK)}
)
"""By mote, in the order of the faces of the roll for the prize, from 1. Cups are sorted in this order, too."""

MOTES: Final[tuple[Mote, ...]] = tuple(POWERS)
GROUP_OF: Final[Mapping[Mote, Group]] = MappingProxyType({mote: power.group for mote, power in POWERS.items()})
ALIASES: Final[Mapping[str, Mote]] = MappingProxyType(
    {alias: mote for mote, power in POWERS.items() for alias in power.aliases}
)
"""Other names that are read."""
