"""Grey makes its player immune against one accusation."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import TYPE_CHECKING, Final

from p2pdice.events import Event, ImmunityGained
from p2pdice.motes import Die
from p2pdice.powers.power import MotePower, Target

if TYPE_CHECKING:
    from p2pdice.mischief import Effect, Mischief
    from p2pdice.moves import Power
    from p2pdice.state import State
    from p2pdice.views import View


def _targets(_state: State, motes: Mischief, seat: int, _die: Die) -> Iterable[Target]:
    return () if seat in motes.immune else (None,)


def _protect(_motes: Mischief, effect: Effect, _face: int) -> tuple[Event, ...]:
    return (ImmunityGained(effect.by),)


def _appeal(view: View, _move: Power, _worth: int, _rng: Random) -> float:
    state, seat = view.state, view.seat
    assert state.motes is not None
    leads_next = state.leader if state.phase == "sunset" else state.motes.successor
    return 5 if leads_next == seat and state.dice[seat] else 0


GREY: Final = MotePower(
    mote="grey",
    group="redeemed",
    targets=_targets,
    take_effect=_protect,
    example="play grey@1",
    aliases=("gray",),
    hint="needs no target, as in {example}, and nobody is made immune twice",
    rule=(
        "You are immune: the next accusation against you is void, true bid or not. No cup is opened, the accuser has to"
        " raise instead, and the immunity is spent. (If no raise is possible the accusation stands, and you stay"
        " immune.) It lasts until it is used or you are out, through as many rounds as that takes; while you are"
        " immune you cannot play another Grey."
    ),
    brief="the next call on you is void",
    purpose="",
    souls={"light": "Pale Herald"},
    worth=5,
    appeal=_appeal,
)
