"""Twin Souls: the winning die's mote and the prize, joined. Their names are this package's own.

Source: the rule text of Motes of Mischief.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from types import MappingProxyType
from typing import Final, NamedTuple

from p2pdice.motes import Mote
from p2pdice.powers import MOTES, POWERS

TWIN_SOULS: Final[Mapping[tuple[Mote, Mote], str]] = MappingProxyType(
    {(one, other): POWERS[one].souls.get(other) or POWERS[other].souls[one] for one, other in combinations(MOTES, 2)}
)
"""The name of each pair of different motes, the pair in the order of :data:`MOTES`."""


class TwinSoul(NamedTuple):
    """The winning die's mote and the prize, joined."""

    name: str
    motes: tuple[Mote, Mote]


def twin_soul(one: Mote, other: Mote) -> TwinSoul:
    """Join two different motes, in any order."""
    pair = (one, other) if MOTES.index(one) < MOTES.index(other) else (other, one)
    return TwinSoul(TWIN_SOULS[pair], pair)
