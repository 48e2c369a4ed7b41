"""What a record of a mote holds, and the parts that several of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import TYPE_CHECKING, Final

from p2pdice.motes import Die, Group, Mote

if TYPE_CHECKING:
    from random import Random

    from p2pdice.events import Event, PowerPlayed
    from p2pdice.mischief import Effect, Mischief
    from p2pdice.moves import Power
    from p2pdice.state import State
    from p2pdice.views import View

Target = Die | int | None
RESTRAINT: Final = 0.4
"""How often the house keeps a die that only hurts somebody else for later."""


def has_target(state: State, motes: Mischief, effect: Effect) -> bool:
    """Whether the seat is still live, or the die still in the graveyard."""
    return effect.target in state.live if isinstance(effect.target, int) else motes.is_buried(effect.target)


def leave_game(motes: Mischief, played: PowerPlayed) -> Mischief:
    """Take the die that was played out of the graveyard and of the game."""
    return motes.remove(played.die)


def never(_view: View, _move: Power, _worth: int, _rng: Random) -> float:
    """Return the appeal of a power that the house never plays of its own accord."""
    return 0


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class MotePower:
    """All that sets one mote apart from the others.

    Redeemed dice take effect when they are played, at sunset or sunrise. Cursed dice are played at night and in the
    bidding: their effect waits on the stack, and resolves when everybody has passed.
    """

    mote: Mote
    group: Group

    # Rules
    targets: Callable[[State, Mischief, int, Die], Iterable[Target]]
    """From the state, the table, a seat and its die: what that seat may play the die on now, in the order of a menu."""
    take_effect: Callable[[Mischief, Effect, int], tuple[Event, ...]]
    """From the table, the effect and the face of the public die (0 without a roll): what happens.

    What the events change is in :mod:`p2pdice.changes`. A Redeemed effect without a target is on the seat that played
    it. That of a Cursed die is still on top of the stack, and its event takes it off.
    """
    play: Callable[[Mischief, PowerPlayed], Mischief] = leave_game
    """What becomes of the die itself when it is played."""
    is_answer: bool = False
    """Whether it is played as an answer to the top of the stack, and only so; that die is then its target."""
    needs_roll: bool = False
    """Whether a public die is rolled when it resolves; for Cursed dice only."""
    has_target: Callable[[State, Mischief, Effect], bool] = has_target
    """Whether an effect of the night still has what it was played on; without it, it does nothing."""

    # Notation
    verb: str = ""
    """The word before the target in a move; empty if a move has no target."""
    target: type = NoneType
    """What a move's target is: a :class:`Die`, a seat (``int``), or nothing."""
    example: str
    """A move, as it is typed."""
    aliases: tuple[str, ...] = ()
    """Other names of the mote that are read."""

    # Words
    hint: str
    """Ends the refusal of a wrong use, after "a die of light"; ``{example}`` stands for the example."""
    rule: str
    """Its paragraph of the rules page."""
    brief: str
    """What it does for its player, in at most 50 columns."""
    purpose: str
    """Ends "Ada plays light@0"; ``{target}`` stands for the target."""
    souls: Mapping[Mote, str] = field(default_factory=dict)
    """Names of Twin Souls by the other mote. One of the two motes has the name of each pair."""

    # The house bots
    worth: int
    """How much this die is worth in one's graveyard."""
    appeal: Callable[[View, Power, int, Random], float] = never
    """How much the house wants this move in a window, 0 for not at all: from its view, the move, the worth of the
    target die (0 if it is none) and its whim."""


def others_buried(_state: State, motes: Mischief, _seat: int, die: Die) -> Iterable[Target]:
    """Yield every other die of the graveyard."""
    return (other for other, _ in motes.graveyard if other != die)
