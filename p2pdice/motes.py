"""Motes of Mischief as things: the six motes, the dice that bear them, Twin Souls, and what the table looks like.

Source: the rule text of Motes of Mischief. The names of the Twin Souls are this package's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

Mote = Literal["light", "grey", "neutral", "blue", "red", "dark"]
Group = Literal["redeemed", "cursed"]

MOTES: Final[tuple[Mote, ...]] = ("light", "grey", "neutral", "blue", "red", "dark")
"""In the order of the faces of the roll for the prize, from 1."""
GROUPS: Final[tuple[Group, ...]] = ("redeemed", "cursed")
GROUP_OF: Final[Mapping[Mote, Group]] = MappingProxyType(
    {mote: "redeemed" if index < 3 else "cursed" for index, mote in enumerate(MOTES)}
)


class Die(NamedTuple):
    """One die, named for the whole match by its mote and the seat that it was dealt to.

    >>> str(Die("grey", 2))
    'grey@2'
    """

    mote: Mote
    seat: int

    def __str__(self) -> str:
        return f"{self.mote}@{self.seat}"

    @property
    def rank(self) -> tuple[int, int]:
        """What a cup is sorted by: the mote, then the seat."""
        return MOTES.index(self.mote), self.seat


_NAMES: Final = (
    "Pale Herald",
    "Gilded Dawn",
    "Clear Tide",
    "Morning Ember",
    "Eclipse",
    "Quiet Harbour",
    "Rainwalker",
    "Ash Warden",
    "Dusk Moth",
    "Still Lagoon",
    "Amber Forge",
    "Buried Lantern",
    "Violet Storm",
    "Drowned Star",
    "Ember Wraith",
)

TWIN_SOULS: Final[Mapping[tuple[Mote, Mote], str]] = MappingProxyType(
    dict(zip(combinations(MOTES, 2), _NAMES, strict=True))
)
"""The name of each pair of different motes, the pair in the order of :data:`MOTES`."""


class TwinSoul(NamedTuple):
    """The winning die's mote and the prize, joined."""

    name: str
    motes: tuple[Mote, Mote]


def twin_soul(one: Mote, other: Mote) -> TwinSoul:
    """Join two different motes, in any order.

    >>> twin_soul("dark", "light")
    TwinSoul(name='Eclipse', motes=('light', 'dark'))
    """
    pair = (one, other) if MOTES.index(one) < MOTES.index(other) else (other, one)
    return TwinSoul(TWIN_SOULS[pair], pair)


class Buried(NamedTuple):
    """A die in the graveyard."""

    die: Die
    sent_by: int
    """The seat that put it there, and that alone may play it."""


class Effect(NamedTuple):
    """A power of the night that was played and has not resolved."""

    die: Die
    by: int
    target: Die | int
    """Blue: the die whose effect it answers. Red: a seat. Dark: a die in the graveyard."""


class Blocked(NamedTuple):
    """What a Red forbids, until just before the Sunset of the next turn that ``by`` leads."""

    seat: int
    group: Group
    by: int


class Mischief(NamedTuple):
    """What a state has besides, when dice have powers."""

    pledges: tuple[Group, ...] = ()
    """By seat; () until they are told."""
    prize: Mote | None = None
    """None until it is drawn."""
    cups: tuple[tuple[Die, ...], ...] = ()
    """By seat, each sorted by :attr:`Die.rank`; () until the prize is drawn."""
    graveyard: tuple[Buried, ...] = ()
    """In order of arrival."""
    removed: tuple[Die, ...] = ()
    """Out of the game, in order of leaving it."""
    stack: tuple[Effect, ...] = ()
    """The last one is on top, and resolves first."""
    actor: int = -1
    """Who played the effect at the bottom of the stack; -1 while it is empty."""
    waiting: tuple[int, ...] = ()
    """Who is still to be asked in this window, or for an answer to the top of the stack, after the seat on turn."""
    immune: tuple[int, ...] = ()
    """Seats whose next accuser has to raise instead, ascending."""
    blocked: tuple[Blocked, ...] = ()
    """In order of arising."""
    must_raise: bool = False
    """Whether the player whose bidding turn it is has accused in vain."""
    successor: int = -1
    """Who leads next, from the verdict to the end of the turn; -1 before."""
    crown: Die | None = None
    """The winning die, once named."""

    def remove(self, die: Die) -> Mischief:
        """Take a die out of the graveyard and of the game."""
        return self.unbury(die)._replace(removed=(*self.removed, die))

    def unbury(self, die: Die) -> Mischief:
        """Take a die out of the graveyard."""
        return self._replace(graveyard=tuple(buried for buried in self.graveyard if buried.die != die))

    def bury(self, die: Die, seat: int) -> Mischief:
        """Send a die from the cup of ``seat`` to the graveyard."""
        cup = tuple(other for other in self.cups[seat] if other != die)
        return self.with_cup(seat, cup)._replace(graveyard=(*self.graveyard, Buried(die, seat)))

    def with_cup(self, seat: int, dice: tuple[Die, ...]) -> Mischief:
        """Put exactly these dice under the cup of ``seat``."""
        cup = tuple(sorted(dice, key=lambda die: die.rank))
        return self._replace(cups=(*self.cups[:seat], cup, *self.cups[seat + 1 :]))

    def is_buried(self, die: Die) -> bool:
        """Whether the die is in the graveyard."""
        return any(buried.die == die for buried in self.graveyard)

    @property
    def soul(self) -> TwinSoul | None:
        """The Twin Soul, once the winning die is named."""
        return None if self.crown is None or self.prize is None else twin_soul(self.crown.mote, self.prize)
