"""Events: the engine's account of one input. Each can be told as a sentence without a look at the state.

``to_json`` gives ``{"type": …}`` and the fields; a hand that was never opened is null, and a die is its text.

Events that only one mote causes are in :mod:`p2pdice.powers`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, Protocol

from p2pdice.counting import Counting
from p2pdice.motes import Die, Group, Mote, PowerTarget
from p2pdice.moves import Hand, Wager
from p2pdice.state import Call, Mischief, Phase, Reason, State


class _Event:
    """The base of all events."""

    __slots__ = ()
    type: ClassVar[str]

    def to_json(self) -> dict[str, object]:
        """Return the event as JSON-able data, ``type`` first."""
        data: dict[str, object] = {"type": self.type}
        for field in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, field.name)
            if isinstance(value, Counting):
                data["ones_wild"] = value.ones_wild
            else:
                data[field.name] = _json(value)
        return data


def _json(value: object) -> object:
    if isinstance(value, Die):
        return str(value)
    return [_json(item) for item in value] if isinstance(value, tuple) else value


class Names(Protocol):
    """The players as a sentence speaks of them. One of them may be its reader, who is called *you*."""

    @property
    def me(self) -> int | None:
        """The seat of the reader."""

    def who(self, seat: int) -> str:
        """Return ``you`` or ``Ada``."""

    def whose(self, seat: int) -> str:
        """Return ``your`` or ``Ada's``."""

    def does(self, seat: int, verb: str, mine: str) -> str:
        """Return the start of a sentence: ``Ada bids`` from ``bids``, or ``You bid`` from ``bid``."""

    def die(self, die: Die, holder: int) -> str:
        """Return a die by the player it was dealt to: ``Ben's Dark``, or ``Dark`` if that is ``holder``."""


class PowerEvent(_Event):
    """The base of all events that only one mote causes."""

    __slots__ = ()
    resolves: ClassVar[bool] = False
    """Whether it takes the top off the stack. The last event of a Cursed die that takes effect does, and no other."""

    @abstractmethod
    def after(self, motes: Mischief) -> Mischief:
        """Return the table as this event leaves it; the stack is as :attr:`resolves` says already."""

    @abstractmethod
    def sentence(self, names: Names) -> str:
        """Return the sentence that tells it; names may begin it in small letters."""


@dataclass(frozen=True, slots=True)
class RoundStarted(_Event):
    """All dice were rolled; the leader opens."""

    type: ClassVar[str] = "round"
    round: int
    leader: int
    dice: tuple[int, ...]
    """By seat."""
    palifico: bool


@dataclass(frozen=True, slots=True)
class BidMade(_Event):
    """A player bid."""

    type: ClassVar[str] = "bid"
    seat: int
    quantity: int
    face: int


@dataclass(frozen=True, slots=True)
class ChallengeCalled(_Event):
    """A player called liar or exact on the standing bid."""

    type: ClassVar[str] = "challenge"
    seat: int
    call: Call
    bidder: int
    quantity: int
    face: int


@dataclass(frozen=True, slots=True)
class Sided(_Event):
    """A bystander took a side in a challenge."""

    type: ClassVar[str] = "side"
    seat: int
    side: str


@dataclass(frozen=True, slots=True)
class HandsShown(_Event):
    """The cups were opened and the dice counted against the bid."""

    type: ClassVar[str] = "hands"
    hands: tuple[Hand | None, ...]
    """By seat; None for a cup that was never opened."""
    quantity: int
    face: int
    counting: Counting
    """How dice counted; in JSON, ``ones_wild``."""
    count: int
    """Among the open cups."""
    unopened: int
    """Dice in cups that were never opened."""


@dataclass(frozen=True, slots=True)
class Judged(_Event):
    """The verdict on a call."""

    type: ClassVar[str] = "verdict"
    caller: int
    call: Call
    bidder: int
    bid_true: bool
    """Whether at least as many dice as bid were there."""
    call_right: bool
    right: tuple[int, ...]
    """The caller or the bidder, and those on their side; clockwise from the caller."""
    wrong: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RoundVoid(_Event):
    """The unopened cups hide the verdict: nobody loses, and the round is led again."""

    type: ClassVar[str] = "void"
    round: int
    unopened: tuple[int, ...]
    """Seats whose cups stayed shut."""


@dataclass(frozen=True, slots=True)
class DieLost(_Event):
    """A player put a die away: the penalty, or the reward where the aim is to have none."""

    type: ClassVar[str] = "die-lost"
    seat: int
    left: int
    die: Die | None = None
    """If dice bear motes: the die, now in the graveyard."""


@dataclass(frozen=True, slots=True)
class DieGained(_Event):
    """A player gained a die."""

    type: ClassVar[str] = "die-gained"
    seat: int
    left: int
    die: Die | None = None
    """If dice bear motes: the die, back from the graveyard."""


@dataclass(frozen=True, slots=True)
class PlayerOut(_Event):
    """A player is out: ``lost`` or ``finished`` without dice, ``evicted`` or ``conceded`` with or without."""

    type: ClassVar[str] = "out"
    seat: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class LeadPassed(_Event):
    """The lead went to another seat."""

    type: ClassVar[str] = "lead"
    seat: int
    previous: int


@dataclass(frozen=True, slots=True)
class PalificoBegins(_Event):
    """A player dropped to one die for the first time; the next round is theirs."""

    type: ClassVar[str] = "palifico"
    seat: int


@dataclass(frozen=True, slots=True)
class Pledged(_Event):
    """Everybody has pledged to one of the two groups of motes."""

    type: ClassVar[str] = "pledges"
    pledges: tuple[Group, ...]
    """By seat."""


@dataclass(frozen=True, slots=True)
class StakesOpened(_Event):
    """Everybody's stake on their own victory is open."""

    type: ClassVar[str] = "stakes"
    stakes: tuple[Wager, ...]
    """By seat: bet, funds before it, tickets staked, tickets owned before."""


@dataclass(frozen=True, slots=True)
class PrizeDrawn(_Event):
    """The prize is rolled: a mote that nobody's dice bear."""

    type: ClassVar[str] = "prize"
    mote: Mote


@dataclass(frozen=True, slots=True)
class PhaseBegun(_Event):
    """Sunset, night or sunrise has come, and somebody has a die to play in it."""

    type: ClassVar[str] = "phase"
    phase: Phase
    leader: int


@dataclass(frozen=True, slots=True)
class PowerPlayed(_Event):
    """A player played a die of the graveyard: a Redeemed one takes effect at once, a Cursed one goes on the stack."""

    type: ClassVar[str] = "power"
    seat: int
    die: Die
    target: PowerTarget
    """A seat, the die that is taken, swapped in or destroyed, or the one that an answer is to stop."""


@dataclass(frozen=True, slots=True)
class Passed(_Event):
    """A player passed instead of playing a die."""

    type: ClassVar[str] = "pass"
    seat: int


@dataclass(frozen=True, slots=True)
class AccusationVoid(_Event):
    """The accusation does not count, as the bidder was immune: no cup opens, and the accuser must raise."""

    type: ClassVar[str] = "void-accusation"
    seat: int
    bidder: int


@dataclass(frozen=True, slots=True)
class PowerFailed(_Event):
    """A die did nothing: its target was gone when it was to take effect."""

    type: ClassVar[str] = "failed"
    seat: int
    die: Die


@dataclass(frozen=True, slots=True)
class TwinSoulJoined(_Event):
    """The winner's die and the prize have become one."""

    type: ClassVar[str] = "twin-soul"
    seat: int
    die: Die
    prize: Mote
    name: str


@dataclass(frozen=True, slots=True)
class TicketsEarned(_Event):
    """Everybody who pledged to the group of the winning die earns a run ticket."""

    type: ClassVar[str] = "tickets"
    group: Group
    seats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StakesPaid(_Event):
    """How the match changed everybody's coins and run tickets."""

    type: ClassVar[str] = "paid"
    payout: tuple[int, ...]
    """Coins received, by seat."""
    delta: tuple[int, ...]
    """Coins received less the bet."""
    ticket_delta: tuple[int, ...]
    """Run tickets received and earned less those staked."""


@dataclass(frozen=True, slots=True)
class MatchOver(_Event):
    """The match has ended."""

    type: ClassVar[str] = "over"
    places: tuple[tuple[int, ...], ...]
    """Seats by place, the best first."""
    winners: tuple[int, ...]


Event = (
    RoundStarted
    | BidMade
    | ChallengeCalled
    | Sided
    | HandsShown
    | Judged
    | RoundVoid
    | DieLost
    | DieGained
    | PlayerOut
    | LeadPassed
    | PalificoBegins
    | Pledged
    | StakesOpened
    | PrizeDrawn
    | PhaseBegun
    | PowerPlayed
    | Passed
    | AccusationVoid
    | PowerFailed
    | PowerEvent
    | TwinSoulJoined
    | TicketsEarned
    | StakesPaid
    | MatchOver
)

Transition = tuple[State, tuple[Event, ...]]
"""The state after an input, and what happened."""
