"""Dark removes another die of the graveyard from the game."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from p2pdice.events import DieDestroyed, Event
from p2pdice.motes import Die
from p2pdice.powers.power import RESTRAINT, MotePower, others_buried

if TYPE_CHECKING:
    from p2pdice.mischief import Effect, Mischief
    from p2pdice.moves import Power
    from p2pdice.views import View


def _destroy(_motes: Mischief, effect: Effect, _face: int) -> tuple[Event, ...]:
    assert isinstance(effect.target, Die)
    return (DieDestroyed(effect.by, effect.target),)


def _appeal(view: View, move: Power, worth: int, rng: Random) -> float:
    state, target = view.state, move.target
    assert state.motes is not None
    assert isinstance(target, Die)
    sender = state.motes.sender(target)
    if sender == view.seat or sender not in state.live or rng.random() < RESTRAINT:
        return 0
    return worth


DARK: Final = MotePower(
    mote="dark",
    group="cursed",
    targets=others_buried,
    take_effect=_destroy,
    verb="destroy",
    target=Die,
    example="play dark@0 destroy light@1",
    hint="destroys another die of the graveyard, and is no answer, as in {example}",
    rule="Remove another die of the graveyard from the game.",
    brief="destroy another die of the graveyard",
    purpose=" to destroy {target}",
    souls={
        "light": "Eclipse",
        "grey": "Dusk Moth",
        "neutral": "Buried Lantern",
        "blue": "Drowned Star",
        "red": "Ember Wraith",
    },
    worth=3,
    appeal=_appeal,
)
