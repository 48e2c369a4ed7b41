"""Red rolls a die that keeps a player from playing dice of one group."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import TYPE_CHECKING, Final

from p2pdice.events import Event, PlayerBlocked
from p2pdice.motes import Die
from p2pdice.powers.power import RESTRAINT, MotePower, Target

if TYPE_CHECKING:
    from p2pdice.mischief import Effect, Mischief
    from p2pdice.moves import Power
    from p2pdice.state import State
    from p2pdice.views import View


def _targets(state: State, _motes: Mischief, seat: int, _die: Die) -> Iterable[Target]:
    return (other for other in state.live if other != seat)


def _block(_motes: Mischief, effect: Effect, face: int) -> tuple[Event, ...]:
    assert isinstance(effect.target, int)
    return (PlayerBlocked(effect.by, effect.target, face, "cursed" if face % 2 else "redeemed"),)


def _appeal(view: View, move: Power, _worth: int, rng: Random) -> float:
    motes, target = view.state.motes, move.target
    assert motes is not None
    if any(blocked.seat == target for blocked in motes.blocked) or rng.random() < RESTRAINT:
        return 0
    return 1 + sum(buried.sent_by == target for buried in motes.graveyard)


RED: Final = MotePower(
    mote="red",
    group="cursed",
    targets=_targets,
    take_effect=_block,
    needs_roll=True,
    verb="on",
    target=int,
    example="play red@1 on 2",
    hint="is played on another live player, and not as an answer, as in {example}",
    rule=(
        "Name another player; a die is rolled that all can see. If it is odd, they can play no Cursed dice, if it is"
        " even no Redeemed ones, until you lead again or are out."
    ),
    brief="roll to bar a player from a group",
    purpose=" on {target}",
    souls={"light": "Morning Ember", "grey": "Ash Warden", "neutral": "Amber Forge", "blue": "Violet Storm"},
    worth=2,
    appeal=_appeal,
)
