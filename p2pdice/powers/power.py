"""The record of a mote, and the parts that several records share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from p2pdice.motes import Die, Group, Mote

if TYPE_CHECKING:
    from random import Random

    from p2pdice.events import Event, PowerEvent, PowerPlayed
    from p2pdice.mischief import Effect, Mischief
    from p2pdice.moves import Power
    from p2pdice.state import Plain, State
    from p2pdice.views import View

Color = Literal["white", "grey", "yellow", "blue", "red", "black"]
Target = Die | int | None
RESTRAINT: Final = 0.4
"""How often the house bots save a die that only hurts somebody else."""


def has_target(state: State, motes: Mischief, effect: Effect) -> bool:
    """Whether the seat is still live, or the die still in the graveyard."""
    return effect.target in state.live if isinstance(effect.target, int) else motes.is_buried(effect.target)


def leave_game(motes: Mischief, played: PowerPlayed) -> Mischief:
    """Take the die that was played out of the graveyard and of the game."""
    return motes.remove(played.die)


def needs_shield(view: View) -> bool:
    """Whether the player is to lead the bidding next, and an accusation would not be void yet."""
    state, seat = view.state, view.seat
    assert state.motes is not None
    leads_next = state.leader if state.phase == "sunset" else state.motes.successor
    return leads_next == seat and state.dice[seat] > 0 and seat not in state.motes.immune


def never(_view: View, _move: Power, _worth: int, _rng: Random) -> float:
    """Return the appeal of a power that the house bots never play of their own accord."""
    return 0


@dataclass(frozen=True, slots=True)
class Lasting:
    """An effect on a player that lasts: at the longest until one of the two players is out, or the match is over."""

    mote: ClassVar[Mote]
    """The mote that causes it."""
    name: ClassVar[str]
    """Of the list of such effects in the public state, as JSON."""
    voids_accusations: ClassVar[bool] = False
    """Whether it saves the player from the next accusation, and ends with that."""
    is_good: ClassVar[bool] = False
    """Whether it is good for the player."""
    seat: int
    """The player on whom it acts."""
    by: int
    """The player who caused it."""

    @property
    def rank(self) -> int:
        """Its place among the effects of the mote; equals stay in the order in which they arose."""
        return 0

    def forbids(self, _group: Group) -> bool:
        """Whether the player may play no dice of this group."""
        return False

    def turn_begins(self, _leader: int) -> PowerEvent | None:
        """Return the event that ends it when the turn of ``leader`` begins; None if it goes on."""
        return None

    @abstractmethod
    def to_json(self) -> int | dict[str, int | str]:
        """Return its item in :func:`p2pdice.state_json`."""

    def plain(self) -> Plain:
        """Return its item in :func:`p2pdice.plain`: as in JSON, without the keys."""
        data = self.to_json()
        return tuple(data.values()) if isinstance(data, dict) else data

    @property
    def mark(self) -> str:
        """A word or two beside the name of the player."""
        return self.name

    def note(self, who: str) -> str:
        """Return it as a line about the table; ``who`` is the player."""
        return f"{self.mark}: {who}"


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
    """From the state, the table, a seat and its die: the targets of the die now, in the order of a menu."""
    take_effect: Callable[[Mischief, Effect, int], tuple[Event, ...]]
    """From the table, the effect and the face of the public die (0 without a roll): the events.

    A Redeemed effect without a target is on the seat that played it. That of a Cursed die is still on top of the
    stack, and the last of its events takes it off: see :attr:`PowerEvent.resolves`.
    """
    play: Callable[[Mischief, PowerPlayed], Mischief] = leave_game
    """Moves the die itself when it is played: as a rule out of the game."""
    is_answer: bool = False
    """Whether it is played as an answer to the top of the stack, and only so; that die is then its target."""
    outcomes: tuple[int, ...] = ()
    """A face of the public die that is rolled when it resolves for each result, all equally likely; () without a roll.
    For Cursed dice only."""
    has_target: Callable[[State, Mischief, Effect], bool] = has_target
    """Whether an effect of the night still has its target; without it, it does nothing."""
    lasting: type[Lasting] | None = None
    """Its effects that last, if any do."""
    events: tuple[PowerEvent, ...] = ()
    """One of each event that only this mote causes, as a sample. The seats in it are below 3."""

    # Notation
    verb: str = ""
    """The word before the target in a move; empty if a move has no target."""
    target: type = NoneType
    """The type of a move's target: a :class:`Die`, a seat (``int``), or nothing."""
    example: str
    """A move, as it is typed; written with ``{0}`` to ``{5}`` for the other motes, by their place in the registry."""
    aliases: tuple[str, ...] = ()
    """Other names of the mote that are read."""
    letter: str
    """The die on a screen. No two motes have the same."""
    color: Color
    """The nearest colour of the mote's name."""

    # Words
    hint: str
    """Ends the refusal of a wrong use, after "a die of light"; ``{example}`` stands for the example."""
    rule: str
    """Its paragraph of the rules page."""
    warning: str = ""
    """A paragraph for the end of that page: a consequence that surprises."""
    brief: str
    """What it does for its player, in at most 50 columns."""
    deed: str
    """What one does with it, as a word of the line in which people type a move: ``destroy Ben's Light``."""
    purpose: str
    """Ends "Ada plays Dark"; ``{target}`` stands for the target."""
    souls: Mapping[Mote, str] = field(default_factory=dict)
    """Names of Twin Souls by the other mote. One of the two motes has the name of each pair."""

    # The house bots
    worth: int
    """How much this die is worth in one's graveyard, beside the other motes."""
    in_dice: float = 0.0
    """The same for :mod:`p2pdice.players.foresight`: counted in dice of a cup."""
    copies: float = 0.0
    """The part of the worth of the best die in the cup that it adds."""
    saves: bool = False
    """Whether it is worth something to a player without a die in the cup."""
    appeal: Callable[[View, Power, int, Random], float] = never
    """How much a house bot wants this move in a window, 0 for not at all: from its view, the move, the worth of the
    target die (0 without one) and its generator."""

    @property
    def one(self) -> str:
        """A die of it inside a sentence, such as ``a Blue``."""
        return f"{'an' if self.mote[0] in 'aeiou' else 'a'} {self.mote.capitalize()}"


def others_buried(_state: State, motes: Mischief, _seat: int, die: Die) -> Iterable[Target]:
    """Yield every other die of the graveyard."""
    return (other for other, _ in motes.graveyard if other != die)
