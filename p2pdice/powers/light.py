"""Light takes a die back from the graveyard."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from p2pdice.events import DieGained, Event
from p2pdice.motes import Die
from p2pdice.powers.power import MotePower, others_buried

if TYPE_CHECKING:
    from p2pdice.mischief import Effect, Mischief
    from p2pdice.moves import Power
    from p2pdice.views import View


def _take(motes: Mischief, effect: Effect, _face: int) -> tuple[Event, ...]:
    assert isinstance(effect.target, Die)
    return (DieGained(effect.by, len(motes.cups[effect.by]) + 1, effect.target),)


def _appeal(_view: View, _move: Power, worth: int, _rng: Random) -> float:
    # Nothing is worth more than a die in the cup, and it may keep its player alive.
    return 10 + worth / 10


LIGHT: Final = MotePower(
    mote="light",
    group="redeemed",
    targets=others_buried,
    take_effect=_take,
    verb="take",
    target=Die,
    example="play light@1 take {5}@2",
    letter="L",
    color="white",
    hint="takes another die of the graveyard, as in {example}",
    rule="Take any other die of the graveyard into your cup. So a player without dice is saved at sunrise.",
    brief="take a die of the graveyard",
    deed="take back",
    purpose=" to take back {target}",
    worth=6,  # the most, as it brings a die back
    in_dice=0.9,
    saves=True,
    appeal=_appeal,
)
