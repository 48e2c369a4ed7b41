"""The rules and texts of the six motes: a :class:`MotePower` for each, and the events that only one mote causes.

:mod:`p2pdice.motes` has their notation, and :mod:`p2pdice.players.tactics` their value to house players.
``docs/architecture.md`` lists the places to change for a new power.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final, Literal

from p2pdice.events import DieGained, Event, Names, PowerEvent, PowerPlayed
from p2pdice.motes import NOTATION, Die, Group, Mote, PowerTarget
from p2pdice.state import Lasting, Mischief, StackedEffect, State

Color = Literal["white", "grey", "yellow", "blue", "red", "black"]


def has_target(state: State, motes: Mischief, effect: StackedEffect) -> bool:
    """Return whether the target seat is still live, or the target die is still in the graveyard."""
    return effect.target in state.live if isinstance(effect.target, int) else motes.is_buried(effect.target)


def leave_game(motes: Mischief, played: PowerPlayed) -> Mischief:
    """Remove the played die from the graveyard and from the game."""
    return motes.remove(played.die)


def goes_on(_effect: Lasting, _leader: int) -> PowerEvent | None:
    """Return None, so that the effect never ends when a turn begins."""
    return None


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class MotePower:
    """The rules of one mote, and the texts, letter and colour that present it.

    Redeemed dice are played at sunset or sunrise and take effect at once. Cursed dice are played at night or during the
    bidding. Their effect waits on the stack and resolves when all other players have passed.
    """

    mote: Mote

    # Rules
    targets: Callable[[State, Mischief, int, Die], Iterable[PowerTarget]]
    """Takes the state, its motes, a seat and its die; returns the current targets of the die, in menu order."""
    take_effect: Callable[[Mischief, StackedEffect, int], tuple[Event, ...]]
    """Takes the motes, the effect and the face of the public die (0 if none was rolled); returns the resulting events.

    A Redeemed effect without a target acts on the seat that played it. A Cursed effect is still on top of the stack,
    and its last event removes it: see :attr:`PowerEvent.resolves`.
    """
    play: Callable[[Mischief, PowerPlayed], Mischief] = leave_game
    """Moves the die when it is played, by default from the graveyard out of the game."""
    is_answer: bool = False
    """Whether the die can only be played as an answer. Its target is then the die on top of the stack."""
    outcomes: tuple[int, ...] = ()
    """One face of the public die for each equally likely outcome of the effect; empty if the effect needs no roll. For
    Cursed dice only."""
    has_target: Callable[[State, Mischief, StackedEffect], bool] = has_target
    """Whether a Cursed effect still has its target when it resolves. Without one, it does nothing."""
    lasting: type[Lasting] | None = None
    """The type of its lasting effects, if any; their name is in its :class:`~p2pdice.motes.Notation`."""
    turn_begins: Callable[[Lasting, int], PowerEvent | None] = goes_on
    """Takes a lasting effect and the seat whose turn begins; returns the event that ends the effect, or None."""
    events: tuple[PowerEvent, ...] = ()
    """A sample of each event that only this mote causes. Seats in the samples are below 3."""

    # Texts and colours
    letter: str
    """Represents the die on a screen; unique among the motes."""
    color: Color
    """The available colour nearest to the mote's name."""
    hint: str
    """The end of the error message for a wrong use, after "a die of light". ``{example}`` stands for a sample move."""
    rule: str
    """The mote's paragraph on the rules page."""
    warning: str = ""
    """A surprising consequence of the rule, as a paragraph at the end of the rules page."""
    brief: str
    """The benefit to the player, in at most 50 columns."""
    deed: str
    """The verb for playing it, used at the move prompt: ``destroy Ben's Light``."""
    purpose: str
    """The end of a sentence that starts like "Ada plays Dark". ``{target}`` stands for the target."""

    @property
    def one(self) -> str:
        """The mote with an indefinite article, such as ``a Blue``."""
        return f"{'an' if self.mote[0] in 'aeiou' else 'a'} {self.mote.capitalize()}"


def others_buried(_state: State, motes: Mischief, _seat: int, die: Die) -> Iterable[PowerTarget]:
    """Yield every other die in the graveyard."""
    return (other for other, _ in motes.graveyard if other != die)


# Light takes a die back from the graveyard.


def _take(motes: Mischief, effect: StackedEffect, _face: int) -> tuple[Event, ...]:
    assert isinstance(effect.target, Die)
    return (DieGained(effect.by, len(motes.cups[effect.by]) + 1, effect.target),)


LIGHT: Final = MotePower(
    mote="light",
    targets=others_buried,
    take_effect=_take,
    letter="L",
    color="white",
    hint="takes another die of the graveyard, as in {example}",
    rule="Take any other die of the graveyard into your cup. So a player without dice is saved at sunrise.",
    brief="take a die of the graveyard",
    deed="take back",
    purpose=" to take back {target}",
)


# Grey makes its player immune to one accusation.


@dataclass(frozen=True, slots=True)
class Immunity(Lasting):
    """The next accusation against the player will be void."""

    mote: ClassVar[Mote] = "grey"
    voids_accusations: ClassVar[bool] = True
    is_good: ClassVar[bool] = True

    @property
    def rank(self) -> int:
        return self.seat

    def to_json(self) -> int:
        return self.seat

    @property
    def mark(self) -> str:
        return "shielded"


@dataclass(frozen=True, slots=True)
class ImmunityGained(PowerEvent):
    """The next accusation against this player will be void."""

    type: ClassVar[str] = "immune"
    seat: int

    def after(self, motes: Mischief) -> Mischief:
        return motes.with_lasting(Immunity(self.seat, self.seat))

    def sentence(self, names: Names) -> str:
        return f"{names.does(self.seat, 'is', 'are')} shielded: the next call on {names.who(self.seat)} doesn't count."


def _if_not_immune(_state: State, motes: Mischief, seat: int, _die: Die) -> Iterable[PowerTarget]:
    return () if seat in motes.immune else (None,)


def _protect(_motes: Mischief, effect: StackedEffect, _face: int) -> tuple[Event, ...]:
    return (ImmunityGained(effect.by),)


GREY: Final = MotePower(
    mote="grey",
    targets=_if_not_immune,
    take_effect=_protect,
    lasting=Immunity,
    events=(ImmunityGained(0),),
    letter="G",
    color="grey",
    hint="needs no target, as in {example}, and is not for players who are already immune",
    rule=(
        "It shields you: the next call on you doesn't count, true bid or not. No cup goes up, the caller has to raise"
        " instead, and the shield is spent. (If no raise is possible the call counts, and you stay shielded.) It lasts"
        " until it is used or you are out, through as many rounds as that takes; while you are shielded you cannot play"
        " another Grey."
    ),
    warning=(
        "A shielded player who starts may bid as many sixes as there are dice. The next player cannot call that with"
        " success: the call doesn't count, and they have to bid even more, which the one after them calls. A shield of"
        " one's own helps."
    ),
    brief="the next call on you is void",
    deed="shield",
    purpose=" as a shield",
)


# Neutral returns to the cup, and another die goes to the graveyard in its place.


def _others_in_cup(_state: State, motes: Mischief, seat: int, _die: Die) -> Iterable[PowerTarget]:
    return (other for other in motes.cups[seat] if other.mote != "neutral")


def _swap(motes: Mischief, played: PowerPlayed) -> Mischief:
    assert isinstance(played.target, Die)
    swapped = motes.unbury(played.die).bury(played.target, played.seat)
    return swapped.with_cup(played.seat, (*swapped.cups[played.seat], played.die))


def _nothing_more(_motes: Mischief, _effect: StackedEffect, _face: int) -> tuple[Event, ...]:
    return ()


NEUTRAL: Final = MotePower(
    mote="neutral",
    targets=_others_in_cup,
    take_effect=_nothing_more,
    play=_swap,
    letter="N",
    color="yellow",
    hint="is swapped with a die of your cup that is not a Neutral, as in {example}",
    rule=(
        "Swap it with a die of your cup: it comes back, and the other one goes to the graveyard as sent by you. (Not"
        " with another Neutral. It is also called Yellow.)"
    ),
    brief="swap with a die of yours",
    deed="swap",
    purpose=" to swap it for {target}",
)


# Blue stops the power on top of the stack.


@dataclass(frozen=True, slots=True)
class PowerStopped(PowerEvent):
    """A Blue cancelled the effect of another die."""

    type: ClassVar[str] = "stopped"
    resolves: ClassVar[bool] = True
    seat: int
    """The player who played the Blue."""
    die: Die
    """The die whose effect was cancelled."""

    def after(self, motes: Mischief) -> Mischief:
        return motes._replace(stack=tuple(effect for effect in motes.stack if effect.die != self.die))

    def sentence(self, names: Names) -> str:
        return f"{names.does(self.seat, 'stops', 'stop')} {names.die(self.die, self.seat)} with a Blue. Both are spent."


def _no_target(_state: State, _motes: Mischief, _seat: int, _die: Die) -> Iterable[PowerTarget]:
    return (None,)


def _is_on_stack(_state: State, motes: Mischief, effect: StackedEffect) -> bool:
    return any(other.die == effect.target for other in motes.stack)


def _stop(_motes: Mischief, effect: StackedEffect, _face: int) -> tuple[Event, ...]:
    assert isinstance(effect.target, Die)
    return (PowerStopped(effect.by, effect.target),)


BLUE: Final = MotePower(
    mote="blue",
    targets=_no_target,
    take_effect=_stop,
    is_answer=True,
    has_target=_is_on_stack,
    events=(PowerStopped(2, Die("blue", 1)),),
    letter="B",
    color="blue",
    hint="answers the power that another player put on top of the stack, as in {example}",
    rule="Answers the power on top of the stack, also another Blue: that one has no effect.",
    brief="stop the power on top of the stack",
    deed="stop",
    purpose=" to stop {target}",
)


# Red rolls a die and bars a player from one group of dice.


@dataclass(frozen=True, slots=True)
class Block(Lasting):
    """The player may play no dice of a group until just before the Sunset of the next turn that ``by`` leads."""

    mote: ClassVar[Mote] = "red"
    group: Group

    def forbids(self, group: Group) -> bool:
        return group == self.group

    def to_json(self) -> dict[str, int | str]:
        return {"seat": self.seat, "group": self.group, "by": self.by}

    @property
    def mark(self) -> str:
        return f"no {self.group}"

    def note(self, who: str) -> str:
        return f"no {self.group.capitalize()} dice for {who}"


@dataclass(frozen=True, slots=True)
class PlayerBlocked(PowerEvent):
    """The die of a Red was rolled: ``target`` may play no dice of ``group`` until ``seat`` leads again."""

    type: ClassVar[str] = "blocked"
    resolves: ClassVar[bool] = True
    seat: int
    """The player who played the Red."""
    target: int
    face: int
    group: Group

    def after(self, motes: Mischief) -> Mischief:
        return motes.with_lasting(Block(self.target, self.seat, self.group))

    def sentence(self, names: Names) -> str:
        parity = "odd" if self.face % 2 else "even"
        until = f"{names.who(self.seat)} {'lead' if self.seat == names.me else 'leads'}"
        what = f"{names.who(self.target)} may play no {self.group.capitalize()} dice until {until} again"
        return f"The die shows {self.face}, {parity}: {what}."


@dataclass(frozen=True, slots=True)
class BlockEnded(PowerEvent):
    """The player who played a Red leads again, which ends its block."""

    type: ClassVar[str] = "unblocked"
    seat: int
    target: int
    group: Group

    def after(self, motes: Mischief) -> Mischief:
        return motes.without_lasting(Block(self.target, self.seat, self.group))

    def sentence(self, names: Names) -> str:
        target = names.who(self.target)
        keeps = names.does(self.seat, "no longer keeps", "no longer keep")
        return f"{keeps} {target} from playing {self.group.capitalize()} dice."


def _other_players(state: State, _motes: Mischief, seat: int, _die: Die) -> Iterable[PowerTarget]:
    return (other for other in state.live if other != seat)


def _unblock(effect: Lasting, leader: int) -> PowerEvent | None:
    assert isinstance(effect, Block)
    return BlockEnded(effect.by, effect.seat, effect.group) if leader == effect.by else None


def _block(_motes: Mischief, effect: StackedEffect, face: int) -> tuple[Event, ...]:
    assert isinstance(effect.target, int)
    return (PlayerBlocked(effect.by, effect.target, face, "cursed" if face % 2 else "redeemed"),)


RED: Final = MotePower(
    mote="red",
    targets=_other_players,
    take_effect=_block,
    outcomes=(1, 2),
    lasting=Block,
    turn_begins=_unblock,
    events=(PlayerBlocked(0, 1, 3, "cursed"), BlockEnded(0, 1, "cursed")),
    letter="R",
    color="red",
    hint="is played on another live player, and not as an answer, as in {example}",
    rule=(
        "Name another player; a die is rolled that all can see. If it is odd, they can play no Cursed dice, if it is"
        " even no Redeemed ones, until you lead again or are out."
    ),
    brief="roll to bar a player from a group",
    deed="block",
    purpose=" to block {target}",
)


# Dark removes another die of the graveyard from the game.


@dataclass(frozen=True, slots=True)
class DieDestroyed(PowerEvent):
    """A Dark removed a die from the game."""

    type: ClassVar[str] = "destroyed"
    resolves: ClassVar[bool] = True
    seat: int
    die: Die

    def after(self, motes: Mischief) -> Mischief:
        return motes.remove(self.die)

    def sentence(self, names: Names) -> str:
        return f"{names.does(self.seat, 'destroys', 'destroy')} {names.die(self.die, self.seat)} with a Dark."


def _destroy(_motes: Mischief, effect: StackedEffect, _face: int) -> tuple[Event, ...]:
    assert isinstance(effect.target, Die)
    return (DieDestroyed(effect.by, effect.target),)


DARK: Final = MotePower(
    mote="dark",
    targets=others_buried,
    take_effect=_destroy,
    events=(DieDestroyed(1, Die("dark", 0)),),
    letter="D",
    color="black",
    hint="destroys another die of the graveyard, and is no answer, as in {example}",
    rule="Remove another die of the graveyard from the game.",
    brief="destroy another die of the graveyard",
    deed="destroy",
    purpose=" to destroy {target}",
)


_BY_MOTE: Final = {power.mote: power for power in (LIGHT, GREY, NEUTRAL, BLUE, RED, DARK)}
POWERS: Final[Mapping[Mote, MotePower]] = MappingProxyType({mote: _BY_MOTE[mote] for mote in NOTATION})
"""The powers by mote, in the order of the faces of the roll for the prize."""
