"""Grey makes its player immune against one accusation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, ClassVar, Final

from p2pdice.events import Event, Names, PowerEvent
from p2pdice.motes import Die, Mote
from p2pdice.powers.power import Lasting, MotePower, Target, needs_shield

if TYPE_CHECKING:
    from p2pdice.mischief import Effect, Mischief
    from p2pdice.moves import Power
    from p2pdice.state import State
    from p2pdice.views import View


@dataclass(frozen=True, slots=True)
class Immunity(Lasting):
    """The next accusation against the player will be void."""

    mote: ClassVar[Mote] = "grey"
    name: ClassVar[str] = "immune"
    voids_accusations: ClassVar[bool] = True
    is_good: ClassVar[bool] = True

    @property
    def rank(self) -> int:
        """By seat."""
        return self.seat

    def to_json(self) -> int:
        """Return the seat."""
        return self.seat

    @property
    def mark(self) -> str:
        """A word beside the name of the player."""
        return "shielded"


@dataclass(frozen=True, slots=True)
class ImmunityGained(PowerEvent):
    """The next accusation against this player will be void."""

    type: ClassVar[str] = "immune"
    seat: int

    def after(self, motes: Mischief) -> Mischief:
        """Make the player immune."""
        return motes.with_lasting(Immunity(self.seat, self.seat))

    def sentence(self, names: Names) -> str:
        """Return the sentence that tells it."""
        return f"{names.does(self.seat, 'is', 'are')} shielded: the next call on {names.who(self.seat)} doesn't count."


def _targets(_state: State, motes: Mischief, seat: int, _die: Die) -> Iterable[Target]:
    return () if seat in motes.immune else (None,)


def _protect(_motes: Mischief, effect: Effect, _face: int) -> tuple[Event, ...]:
    return (ImmunityGained(effect.by),)


def _appeal(view: View, _move: Power, _worth: int, _rng: Random) -> float:
    return 5 if needs_shield(view) else 0


GREY: Final = MotePower(
    mote="grey",
    group="redeemed",
    targets=_targets,
    take_effect=_protect,
    lasting=Immunity,
    events=(ImmunityGained(0),),
    example="play grey@1",
    letter="G",
    color="grey",
    aliases=("gray",),
    hint="needs no target, as in {example}, and nobody is made immune twice",
    rule=(
        "It shields you: the next call on you doesn't count, true bid or not. No cup goes up, the caller has to raise"
        " instead, and the shield is spent. (If no raise is possible the call counts, and you stay shielded.) It lasts"
        " until it is used or you are out, through as many rounds as that takes; while you are shielded you cannot play"
        " another Grey."
    ),
    warning=(
        "A shielded player who starts may bid as many sixes as there are dice. The next player cannot call that with"
        " success: the call doesn't count, and they have to bid even more, which the one after them calls. A shield of"
        " one's own helps."
    ),
    brief="the next call on you is void",
    deed="shield",
    purpose=" as a shield",
    souls={"light": "Pale Herald"},
    worth=5,
    in_dice=0.5,
    appeal=_appeal,
)
