"""Amber, an invented power that catches a player. :mod:`tests.test_new_power` puts it in place of another power."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, ClassVar, Final

from p2pdice.events import Event, Names, PowerEvent
from p2pdice.motes import Die, Group, Mote, PowerTarget
from p2pdice.state import Lasting, Mischief, StackedEffect, State

if TYPE_CHECKING:  # house players import the rules, which import this module
    from p2pdice.moves import Power
    from p2pdice.views import View


@dataclass(frozen=True, slots=True)
class Caught(Lasting):
    """The player can play no dice, and the next accusation against them is void, until they lead."""

    mote: ClassVar[Mote] = "amber"
    voids_accusations: ClassVar[bool] = True

    def forbids(self, _group: Group) -> bool:
        return True

    def to_json(self) -> dict[str, int | str]:
        return {"seat": self.seat, "by": self.by}


@dataclass(frozen=True, slots=True)
class PlayerCaught(PowerEvent):
    type: ClassVar[str] = "caught"
    resolves: ClassVar[bool] = True
    seat: int
    target: int
    face: int

    def after(self, motes: Mischief) -> Mischief:
        return motes.with_lasting(Caught(self.target, self.seat))

    def sentence(self, names: Names) -> str:
        return f"{names.does(self.target, 'is', 'are')} caught in {names.whose(self.seat)} amber."


@dataclass(frozen=True, slots=True)
class AmberMelted(PowerEvent):
    type: ClassVar[str] = "melted"
    resolves: ClassVar[bool] = True
    seat: int

    def after(self, motes: Mischief) -> Mischief:
        return motes

    def sentence(self, names: Names) -> str:
        return f"{names.whose(self.seat)} amber melts."


@dataclass(frozen=True, slots=True)
class PlayerFreed(PowerEvent):
    type: ClassVar[str] = "freed"
    seat: int
    target: int

    def after(self, motes: Mischief) -> Mischief:
        return motes.without_lasting(Caught(self.target, self.seat))

    def sentence(self, names: Names) -> str:
        return f"{names.does(self.target, 'is', 'are')} free of {names.whose(self.seat)} amber."


def targets(state: State, _motes: Mischief, seat: int, _die: Die) -> Iterable[PowerTarget]:
    return (other for other in state.live if other != seat)


def throw(_motes: Mischief, effect: StackedEffect, face: int) -> tuple[Event, ...]:
    assert isinstance(effect.target, int)
    return (AmberMelted(effect.by),) if face == 6 else (PlayerCaught(effect.by, effect.target, face),)


def appeal(_view: View, _move: Power, _worth: int, _rng: Random) -> float:
    return 20


def free(effect: Lasting, leader: int) -> PowerEvent | None:
    return PlayerFreed(effect.by, effect.seat) if leader == effect.seat else None


RULE: Final = "Catch another player, unless the die shows a six."
