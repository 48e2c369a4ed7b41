"""The names of motes and of the dice that bear them. Their powers are in :mod:`p2pdice.powers`.

Source: the rule text of Motes of Mischief.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Mote = str
"""A key of :data:`p2pdice.powers.POWERS`."""
Group = Literal["redeemed", "cursed"]

GROUPS: Final[tuple[Group, ...]] = ("redeemed", "cursed")


class Die(NamedTuple):
    """One die, named for the whole match by its mote and the seat that it was dealt to.

    >>> str(Die("grey", 2))
    'grey@2'
    """

    mote: Mote
    seat: int

    def __str__(self) -> str:
        return f"{self.mote}@{self.seat}"
