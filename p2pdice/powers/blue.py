"""Blue stops the power on top of the stack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from p2pdice.events import Event, PowerStopped
from p2pdice.motes import Die
from p2pdice.powers.power import MotePower, Target

if TYPE_CHECKING:
    from p2pdice.mischief import Effect, Mischief
    from p2pdice.state import State


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
    example="play blue@1",
    hint="answers what another player put on top of the stack, as in {example}",
    rule="Answers the power on top of the stack, also another Blue: that one has no effect.",
    brief="stop the power on top of the stack",
    purpose=" against {target}",
    souls={"light": "Clear Tide", "grey": "Rainwalker", "neutral": "Still Lagoon"},
    worth=4,
)
