"""Red rolls a die that keeps a player from playing dice of one group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, ClassVar, Final

from p2pdice.events import Event, Names, PowerEvent
from p2pdice.motes import Die, Group, Mote
from p2pdice.powers.power import RESTRAINT, Lasting, MotePower, Target

if TYPE_CHECKING:
    from p2pdice.mischief import Effect, Mischief
    from p2pdice.moves import Power
    from p2pdice.state import State
    from p2pdice.views import View


@dataclass(frozen=True, slots=True)
class Block(Lasting):
    """The player may play no dice of a group, until just before the Sunset of the next turn that ``by`` leads."""

    mote: ClassVar[Mote] = "red"
    name: ClassVar[str] = "blocked"
    group: Group

    def forbids(self, group: Group) -> bool:
        """Whether it is this group."""
        return group == self.group

    def turn_begins(self, leader: int) -> PowerEvent | None:
        """End it when its player leads."""
        return BlockEnded(self.by, self.seat, self.group) if leader == self.by else None

    def to_json(self) -> dict[str, int | str]:
        """Return the seat, the group, and the seat of the player of the Red."""
        return {"seat": self.seat, "group": self.group, "by": self.by}

    @property
    def mark(self) -> str:
        """Two words beside the name of the player."""
        return f"no {self.group}"

    def note(self, who: str) -> str:
        """Return it as a line about the table."""
        return f"no {self.group.capitalize()} dice for {who}"


@dataclass(frozen=True, slots=True)
class PlayerBlocked(PowerEvent):
    """The die of a Red was rolled: ``target`` may play no dice of ``group`` for now."""

    type: ClassVar[str] = "blocked"
    resolves: ClassVar[bool] = True
    seat: int
    """The player of the Red; it lasts until they lead again."""
    target: int
    face: int
    group: Group

    def after(self, motes: Mischief) -> Mischief:
        """Block the player."""
        return motes.with_lasting(Block(self.target, self.seat, self.group))

    def sentence(self, names: Names) -> str:
        """Return the sentence that tells it."""
        parity = "odd" if self.face % 2 else "even"
        until = f"{names.who(self.seat)} {'lead' if self.seat == names.me else 'leads'}"
        what = f"{names.who(self.target)} may play no {self.group.capitalize()} dice until {until} again"
        return f"The die shows {self.face}, {parity}: {what}."


@dataclass(frozen=True, slots=True)
class BlockEnded(PowerEvent):
    """The player of a Red leads again, so it forbids nothing any more."""

    type: ClassVar[str] = "unblocked"
    seat: int
    target: int
    group: Group

    def after(self, motes: Mischief) -> Mischief:
        """End the block."""
        return motes.without_lasting(Block(self.target, self.seat, self.group))

    def sentence(self, names: Names) -> str:
        """Return the sentence that tells it."""
        target = names.who(self.target)
        return f"{names.whose(self.seat)} Red no longer keeps {target} from playing {self.group.capitalize()} dice."


def _targets(state: State, _motes: Mischief, seat: int, _die: Die) -> Iterable[Target]:
    return (other for other in state.live if other != seat)


def _block(_motes: Mischief, effect: Effect, face: int) -> tuple[Event, ...]:
    assert isinstance(effect.target, int)
    return (PlayerBlocked(effect.by, effect.target, face, "cursed" if face % 2 else "redeemed"),)


def _appeal(view: View, move: Power, _worth: int, rng: Random) -> float:
    motes, target = view.state.motes, move.target
    assert motes is not None
    if any(each.seat == target and isinstance(each, Block) for each in motes.lasting) or rng.random() < RESTRAINT:
        return 0
    return 1 + sum(buried.sent_by == target for buried in motes.graveyard)


RED: Final = MotePower(
    mote="red",
    group="cursed",
    targets=_targets,
    take_effect=_block,
    outcomes=(1, 2),
    lasting=Block,
    events=(PlayerBlocked(0, 1, 3, "cursed"), BlockEnded(0, 1, "cursed")),
    verb="on",
    target=int,
    example="play red@1 on 2",
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
    souls={"light": "Morning Ember", "grey": "Ash Warden", "neutral": "Amber Forge", "blue": "Violet Storm"},
    worth=2,
    in_dice=0.05,
    appeal=_appeal,
)
