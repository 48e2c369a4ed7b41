"""The part of a state for dice with powers: cups, graveyard, stack, and the effects that last.

Source: the rule text of Motes of Mischief.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from p2pdice.motes import Die, Group, Mote
from p2pdice.powers import MOTES, POWERS
from p2pdice.powers.power import Lasting
from p2pdice.souls import TwinSoul, twin_soul


class Buried(NamedTuple):
    """A die in the graveyard."""

    die: Die
    sent_by: int
    """The seat that put it there. No other may play it."""


class Effect(NamedTuple):
    """A power of the night that was played and has not resolved."""

    die: Die
    by: int
    target: Die | int
    """A seat, a die in the graveyard, or the die whose effect an answer is to stop."""


class Mischief(NamedTuple):
    """The part of a state for dice with powers."""

    pledges: tuple[Group, ...] = ()
    """By seat; () until they are told."""
    prize: Mote | None = None
    """None until it is drawn."""
    cups: tuple[tuple[Die, ...], ...] = ()
    """By seat, each sorted by mote, then by seat; () until the prize is drawn."""
    graveyard: tuple[Buried, ...] = ()
    """In order of arrival."""
    removed: tuple[Die, ...] = ()
    """Out of the game, in order of leaving it."""
    stack: tuple[Effect, ...] = ()
    """The last one is on top, and resolves first."""
    actor: int = -1
    """The seat that played the effect at the bottom of the stack; -1 while it is empty."""
    waiting: tuple[int, ...] = ()
    """Seats to be asked after the one on turn: in this window, or for an answer to the top of the stack."""
    lasting: tuple[Lasting, ...] = ()
    """In the order of :data:`MOTES`, then of :attr:`Lasting.rank`, then of arising."""
    must_raise: bool = False
    """Whether the player to bid has accused in vain, and so has to raise."""
    successor: int = -1
    """The seat that leads next, from the verdict to the end of the turn; -1 before."""
    crown: Die | None = None
    """The winning die, once named."""

    def remove(self, die: Die) -> Mischief:
        """Take a die out of the graveyard and of the game."""
        graveyard = tuple(buried for buried in self.graveyard if buried.die != die)
        return self._replace(graveyard=graveyard, removed=(*self.removed, die))

    def unbury(self, die: Die) -> Mischief:
        """Take a die out of the graveyard."""
        return self._replace(graveyard=tuple(buried for buried in self.graveyard if buried.die != die))

    def bury(self, die: Die, seat: int) -> Mischief:
        """Send a die from the cup of ``seat`` to the graveyard."""
        cup = tuple(other for other in self.cups[seat] if other != die)
        return self.with_cup(seat, cup)._replace(graveyard=(*self.graveyard, Buried(die, seat)))

    def with_cup(self, seat: int, dice: tuple[Die, ...]) -> Mischief:
        """Put exactly these dice under the cup of ``seat``."""
        cup = tuple(sorted(dice, key=lambda die: (MOTES.index(die.mote), die.seat)))
        return self._replace(cups=(*self.cups[:seat], cup, *self.cups[seat + 1 :]))

    def is_buried(self, die: Die) -> bool:
        """Whether the die is in the graveyard."""
        return any(buried.die == die for buried in self.graveyard)

    def sender(self, die: Die) -> int | None:
        """Return the seat that sent a die to the graveyard; None if it is not there."""
        return next((buried.sent_by for buried in self.graveyard if buried.die == die), None)

    def popped(self) -> Mischief:
        """Take the top off the stack."""
        return self._replace(stack=self.stack[:-1])

    def with_lasting(self, effect: Lasting) -> Mischief:
        """Add an effect that lasts."""
        lasting = sorted((*self.lasting, effect), key=lambda each: (MOTES.index(each.mote), each.rank))
        return self._replace(lasting=tuple(lasting))

    def without_lasting(self, effect: Lasting) -> Mischief:
        """End an effect, and those that are equal to it."""
        return self._replace(lasting=tuple(each for each in self.lasting if each != effect))

    def lasting_by_name(self) -> Iterator[tuple[str, list[Lasting]]]:
        """Yield for each power with lasting effects their name in the public state, and the effects there are."""
        for power in POWERS.values():
            if power.lasting is not None:
                yield power.lasting.name, [each for each in self.lasting if each.mote == power.mote]

    @property
    def immune(self) -> tuple[int, ...]:
        """Seats whose next accuser has to raise instead, ascending."""
        return tuple(sorted({each.seat for each in self.lasting if each.voids_accusations}))

    def obstacle(self, seat: int, group: Group) -> Lasting | None:
        """Return the first effect for which a seat may play no dice of a group; None without one."""
        return next((each for each in self.lasting if each.seat == seat and each.forbids(group)), None)

    @property
    def soul(self) -> TwinSoul | None:
        """The Twin Soul, once the winning die is named."""
        return None if self.crown is None or self.prize is None else twin_soul(self.crown.mote, self.prize)
