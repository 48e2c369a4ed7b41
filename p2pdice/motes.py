"""The notation of motes, the dice that carry them, and Twin Souls. :mod:`p2pdice.powers` has the rules of motes.

Source: the rule text of Motes of Mischief. The names of Twin Souls are this package's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from types import MappingProxyType, NoneType
from typing import Final, Literal, NamedTuple

Mote = str
"""A key of :data:`NOTATION`."""
Group = Literal["redeemed", "cursed"]

GROUPS: Final[tuple[Group, ...]] = ("redeemed", "cursed")


class Die(NamedTuple):
    """One die, identified for the whole match by its mote and the seat to which it was dealt.

    >>> str(Die("grey", 2))
    'grey@2'
    """

    mote: Mote
    seat: int

    def __str__(self) -> str:
        return f"{self.mote}@{self.seat}"


PowerTarget = Die | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation:
    """How moves and states spell a mote."""

    mote: Mote
    group: Group
    aliases: tuple[str, ...] = ()
    """Other accepted names of the mote."""
    verb: str = ""
    """The word before the target in a move; empty if the move takes no target."""
    target: type = NoneType
    """The type of a move's target: :class:`Die`, ``int`` for a seat, or ``NoneType``."""
    example: str
    """A sample move as typed. ``{0}`` to ``{5}`` stand for the names in :data:`MOTES`."""
    lasting: str = ""
    """The key of its lasting effects in the public state's JSON; empty if it has none."""
    souls: Mapping[Mote, str] = field(default_factory=dict)
    """Twin Soul names by the other mote. Each pair is listed under only one of its motes."""


LIGHT: Final = Notation(
    mote="light", group="redeemed", verb="take", target=Die, example="play light@1 take {5}@2"
)  # fmt: skip
GREY: Final = Notation(
    mote="grey",
    group="redeemed",
    aliases=("gray",),
    example="play grey@1",
    lasting="immune",
    souls={"light": "Pale Herald"},
)
NEUTRAL: Final = Notation(
    mote="neutral",
    group="redeemed",
    aliases=("yellow",),
    verb="swap",
    target=Die,
    example="play neutral@0 swap {3}@0",
    souls={"light": "Gilded Dawn", "grey": "Quiet Harbour"},
)
BLUE: Final = Notation(
    mote="blue",
    group="cursed",
    example="play blue@1",
    souls={"light": "Clear Tide", "grey": "Rainwalker", "neutral": "Still Lagoon"},
)
RED: Final = Notation(
    mote="red",
    group="cursed",
    verb="on",
    target=int,
    example="play red@1 on 2",
    lasting="blocked",
    souls={"light": "Morning Ember", "grey": "Ash Warden", "neutral": "Amber Forge", "blue": "Violet Storm"},
)
DARK: Final = Notation(
    mote="dark",
    group="cursed",
    verb="destroy",
    target=Die,
    example="play dark@0 destroy {0}@1",
    souls={
        "light": "Eclipse",
        "grey": "Dusk Moth",
        "neutral": "Buried Lantern",
        "blue": "Drowned Star",
        "red": "Ember Wraith",
    },
)

_ORDER: Final = (LIGHT, GREY, NEUTRAL, BLUE, RED, DARK)
"""In the order of the faces of the roll for the prize, from 1. Cups are sorted in this order, too."""
MOTES: Final[tuple[Mote, ...]] = tuple(each.mote for each in _ORDER)
NOTATION: Final[Mapping[Mote, Notation]] = MappingProxyType(
    {each.mote: replace(each, example=each.example.format(*MOTES)) for each in _ORDER}
)
"""Notations by mote, in the order of :data:`MOTES`."""
GROUP_OF: Final[Mapping[Mote, Group]] = MappingProxyType({each.mote: each.group for each in _ORDER})
ALIASES: Final[Mapping[str, Mote]] = MappingProxyType({alias: each.mote for each in _ORDER for alias in each.aliases})
"""Motes by alternative name."""
LOSE_EXAMPLE: Final = f"lose {MOTES[4]}@1"
CROWN_EXAMPLE: Final = f"crown {MOTES[5]}@1"

TWIN_SOULS: Final[Mapping[tuple[Mote, Mote], str]] = MappingProxyType(
    {
        (one, other): NOTATION[one].souls.get(other) or NOTATION[other].souls[one]
        for one, other in combinations(MOTES, 2)
    }
)
"""Twin Soul names by pair of different motes, each pair in the order of :data:`MOTES`."""


class TwinSoul(NamedTuple):
    """The winning die's mote merged with the prize."""

    name: str
    motes: tuple[Mote, Mote]


def twin_soul(one: Mote, other: Mote) -> TwinSoul:
    """Return the Twin Soul of two different motes, in either order."""
    pair = (one, other) if MOTES.index(one) < MOTES.index(other) else (other, one)
    return TwinSoul(TWIN_SOULS[pair], pair)
