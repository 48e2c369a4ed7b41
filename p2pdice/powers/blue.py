"""Blue stops the power on top of the stack."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from p2pdice.events import Event, Names, PowerEvent
from p2pdice.motes import Die
from p2pdice.powers.power import MotePower, Target

if TYPE_CHECKING:
    from p2pdice.mischief import Effect, Mischief
    from p2pdice.state import State


@dataclass(frozen=True, slots=True)
class PowerStopped(PowerEvent):
    """A Blue took away the effect of another die."""

    type: ClassVar[str] = "stopped"
    resolves: ClassVar[bool] = True
    seat: int
    """The player of the Blue."""
    die: Die
    """The die that has no effect now."""

    def after(self, motes: Mischief) -> Mischief:
        """Take the other effect off the stack."""
        return motes._replace(stack=tuple(effect for effect in motes.stack if effect.die != self.die))

    def sentence(self, names: Names) -> str:
        """Return the sentence that tells it."""
        return f"{names.whose(self.seat)} Blue stops {names.die(self.die, self.seat)}. Both are spent."


def _targets(_state: State, _motes: Mischief, _seat: int, _die: Die) -> Iterable[Target]:
    return (None,)


def _has_target(_state: State, motes: Mischief, effect: Effect) -> bool:
    return any(other.die == effect.target for other in motes.stack)


def _stop(_motes: Mischief, effect: Effect, _face: int) -> tuple[Event, ...]:
    assert isinstance(effect.target, Die)
    return (PowerStopped(effect.by, effect.target),)


BLUE: Final = MotePower(
    mote="blue",
    group="cursed",
    targets=_targets,
    take_effect=_stop,
    is_answer=True,
    has_target=_has_target,
    events=(PowerStopped(2, Die("blue", 1)),),
    example="play blue@1",
    letter="B",
    color="blue",
    hint="answers the power that another player put on top of the stack, as in {example}",
    rule="Answers the power on top of the stack, also another Blue: that one has no effect.",
    brief="stop the power on top of the stack",
    deed="stop",
    purpose=" to stop {target}",
    souls={"light": "Clear Tide", "grey": "Rainwalker", "neutral": "Still Lagoon"},
    worth=4,
    in_dice=0.3,
)
