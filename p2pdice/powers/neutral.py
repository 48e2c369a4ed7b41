"""Neutral comes back into the cup, and another die goes to the graveyard in its place."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import TYPE_CHECKING, Final

from p2pdice.motes import Die
from p2pdice.powers.power import MotePower, Target, needs_shield

if TYPE_CHECKING:
    from p2pdice.events import Event, PowerPlayed
    from p2pdice.mischief import Effect, Mischief
    from p2pdice.moves import Power
    from p2pdice.state import State
    from p2pdice.views import View


def _targets(_state: State, motes: Mischief, seat: int, _die: Die) -> Iterable[Target]:
    return (other for other in motes.cups[seat] if other.mote != "neutral")


def _swap(motes: Mischief, played: PowerPlayed) -> Mischief:
    assert isinstance(played.target, Die)
    swapped = motes.unbury(played.die).bury(played.target, played.seat)
    return swapped.with_cup(played.seat, (*swapped.cups[played.seat], played.die))


def _nothing_more(_motes: Mischief, _effect: Effect, _face: int) -> tuple[Event, ...]:
    return ()


def _appeal(view: View, move: Power, _worth: int, _rng: Random) -> float:
    from p2pdice.powers import POWERS

    motes, target = view.state.motes, move.target
    assert motes is not None
    assert isinstance(target, Die)
    other = POWERS[target.mote]
    if other.lasting is not None and other.lasting.voids_accusations:
        return 4 if needs_shield(view) else 0
    # It then brings another die back.
    others = any(buried.die != move.die for buried in motes.graveyard)
    return 8 if other.saves and others else 0


NEUTRAL: Final = MotePower(
    mote="neutral",
    group="redeemed",
    targets=_targets,
    take_effect=_nothing_more,
    play=_swap,
    verb="swap",
    target=Die,
    example="play neutral@0 swap {3}@0",
    letter="N",
    color="yellow",
    aliases=("yellow",),
    hint="is swapped with a die of your cup that is no Neutral, as in {example}",
    rule=(
        "Swap it with a die of your cup: it comes back, and the other one goes to the graveyard as sent by you. (Not"
        " with another Neutral. It is also called Yellow.)"
    ),
    brief="swap with a die of yours",
    deed="swap",
    purpose=" to swap it for {target}",
    souls={"light": "Gilded Dawn", "grey": "Quiet Harbour"},
    worth=3,
    copies=0.9,
    appeal=_appeal,
)
