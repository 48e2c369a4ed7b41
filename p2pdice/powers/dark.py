"""Dark removes another die of the graveyard from the game."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, ClassVar, Final

from p2pdice.events import Event, Names, PowerEvent
from p2pdice.motes import Die
from p2pdice.powers.power import RESTRAINT, MotePower, others_buried

if TYPE_CHECKING:
    from p2pdice.mischief import Effect, Mischief
    from p2pdice.moves import Power
    from p2pdice.views import View


@dataclass(frozen=True, slots=True)
class DieDestroyed(PowerEvent):
    """A Dark took a die out of the game."""

    type: ClassVar[str] = "destroyed"
    resolves: ClassVar[bool] = True
    seat: int
    die: Die

    def after(self, motes: Mischief) -> Mischief:
        """Take the die out of the graveyard and of the game."""
        return motes.remove(self.die)

    def sentence(self, names: Names) -> str:
        """Return the sentence that tells it."""
        return f"{names.whose(self.seat)} Dark destroys {names.die(self.die, self.seat)}."


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
    events=(DieDestroyed(1, Die("dark", 0)),),
    verb="destroy",
    target=Die,
    example="play dark@0 destroy {0}@1",
    letter="D",
    color="black",
    hint="destroys another die of the graveyard, and is no answer, as in {example}",
    rule="Remove another die of the graveyard from the game.",
    brief="destroy another die of the graveyard",
    deed="destroy",
    purpose=" to destroy {target}",
    souls={
        "light": "Eclipse",
        "grey": "Dusk Moth",
        "neutral": "Buried Lantern",
        "blue": "Drowned Star",
        "red": "Ember Wraith",
    },
    worth=3,
    in_dice=0.1,
    appeal=_appeal,
)
