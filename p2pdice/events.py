"""Events report what one input of the engine caused. Each can be put into a sentence without the state.

``to_json`` returns the type and the fields. A hand that was never opened is null, and a die is text: ``grey@2``.

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
    __slots__ = ()
    type: ClassVar[str]

    def to_json(self) -> dict[str, object]:
        """Return the event as JSON-serializable data, ``type`` first."""
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
    """How a sentence names the players. It calls its reader *you*."""

    @property
    def me(self) -> int | None:
        """The seat of the reader, or None for a reader who does not play."""

    def who(self, seat: int) -> str:
        """Return ``you``, or a name such as ``Ada``."""

    def whose(self, seat: int) -> str:
        """Return ``your``, or a possessive such as ``Ada's``."""

    def does(self, seat: int, verb: str, mine: str) -> str:
        """Return the start of a sentence: ``Ada`` and ``verb`` (``bids``), or ``You`` and ``mine`` (``bid``)."""

    def die(self, die: Die, holder: int) -> str:
        """Return a name with the die's original owner: ``Ben's Dark``, or only ``Dark`` if that is ``holder``."""


class PowerEvent(_Event):
    """Base of the events that only one mote causes."""

    __slots__ = ()
    resolves: ClassVar[bool] = False
    """Whether the event removes the top of the stack, as the last event of each Cursed die's effect does."""

    @abstractmethod
    def after(self, motes: Mischief) -> Mischief:
        """Return ``motes`` after this event. If :attr:`resolves`, the caller has already removed the top."""

    @abstractmethod
    def sentence(self, names: Names) -> str:
        """Return a sentence for this event. Its first letter may be lowercase, as in ``you``."""


@dataclass(frozen=True, slots=True)
class RoundStarted(_Event):
    """All dice have been rolled, and the leader opens the bidding."""

    type: ClassVar[str] = "round"
    round: int
    leader: int
    dice: tuple[int, ...]
    """By seat."""
    palifico: bool


@dataclass(frozen=True, slots=True)
class BidMade(_Event):
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
    """A player other than the accuser and the accused took a side in a challenge."""

    type: ClassVar[str] = "side"
    seat: int
    side: str


@dataclass(frozen=True, slots=True)
class HandsShown(_Event):
    """The cups were opened, and the dice were counted for the bid."""

    type: ClassVar[str] = "hands"
    hands: tuple[Hand | None, ...]
    """By seat; None for a cup that was never opened."""
    quantity: int
    face: int
    counting: Counting
    """How dice counted; reduced to ``ones_wild`` in JSON."""
    count: int
    """Dice in the open cups that count for the bid."""
    unopened: int
    """Number of dice in cups that were never opened."""


@dataclass(frozen=True, slots=True)
class Judged(_Event):
    """The verdict on a call."""

    type: ClassVar[str] = "verdict"
    caller: int
    call: Call
    bidder: int
    bid_true: bool
    """Whether the bid is certainly true, whatever unopened cups hold."""
    call_right: bool
    right: tuple[int, ...]
    """The winner of the call and the players on their side, clockwise from the caller."""
    wrong: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RoundVoid(_Event):
    """The verdict depends on unopened cups: no player loses a die, and the same leader opens another round."""

    type: ClassVar[str] = "void"
    round: int
    unopened: tuple[int, ...]
    """Seats whose cups stayed shut."""


@dataclass(frozen=True, slots=True)
class DieLost(_Event):
    """A player lost a die as a penalty, or as a reward under ``goal=first-out``."""

    type: ClassVar[str] = "die-lost"
    seat: int
    left: int
    die: Die | None = None
    """With motes: the die, which is now in the graveyard."""


@dataclass(frozen=True, slots=True)
class DieGained(_Event):
    type: ClassVar[str] = "die-gained"
    seat: int
    left: int
    die: Die | None = None
    """With motes: the die, taken back from the graveyard."""


@dataclass(frozen=True, slots=True)
class PlayerOut(_Event):
    """A player is out: ``lost`` or ``finished`` by having no dice left, ``evicted``, or ``conceded``."""

    type: ClassVar[str] = "out"
    seat: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class LeadPassed(_Event):
    """The lead passed to another seat."""

    type: ClassVar[str] = "lead"
    seat: int
    previous: int


@dataclass(frozen=True, slots=True)
class PalificoBegins(_Event):
    """A player dropped to one die for the first time and leads the next round, a palifico."""

    type: ClassVar[str] = "palifico"
    seat: int


@dataclass(frozen=True, slots=True)
class Pledged(_Event):
    """All players have pledged to one of the two groups of motes."""

    type: ClassVar[str] = "pledges"
    pledges: tuple[Group, ...]
    """By seat."""


@dataclass(frozen=True, slots=True)
class StakesOpened(_Event):
    """All stakes are open."""

    type: ClassVar[str] = "stakes"
    stakes: tuple[Wager, ...]
    """By seat: the bet, the funds before it, the tickets staked, and the tickets owned before."""


@dataclass(frozen=True, slots=True)
class PrizeDrawn(_Event):
    """The prize has been rolled: a mote that no die in this match has."""

    type: ClassVar[str] = "prize"
    mote: Mote


@dataclass(frozen=True, slots=True)
class PhaseBegun(_Event):
    """Sunset, night or sunrise has begun, and at least one player has a die to play in it."""

    type: ClassVar[str] = "phase"
    phase: Phase
    leader: int


@dataclass(frozen=True, slots=True)
class PowerPlayed(_Event):
    """A player played a die from the graveyard. A Redeemed die takes effect at once; a Cursed one goes on the stack."""

    type: ClassVar[str] = "power"
    seat: int
    die: Die
    target: PowerTarget
    """A seat; the die taken, swapped in or destroyed; the die that an answer is meant to stop; or None."""


@dataclass(frozen=True, slots=True)
class Passed(_Event):
    """A player passed in a window or declined to answer."""

    type: ClassVar[str] = "pass"
    seat: int


@dataclass(frozen=True, slots=True)
class AccusationVoid(_Event):
    """An accusation was void because the bidder was immune: no cup opens, and the accuser must raise."""

    type: ClassVar[str] = "void-accusation"
    seat: int
    bidder: int


@dataclass(frozen=True, slots=True)
class PowerFailed(_Event):
    """An effect did nothing, because its target was gone when it resolved."""

    type: ClassVar[str] = "failed"
    seat: int
    die: Die


@dataclass(frozen=True, slots=True)
class TwinSoulJoined(_Event):
    """The winning die and the prize have merged into a Twin Soul."""

    type: ClassVar[str] = "twin-soul"
    seat: int
    die: Die
    prize: Mote
    name: str


@dataclass(frozen=True, slots=True)
class TicketsEarned(_Event):
    """The players who had pledged to the winning die's group each earned a run ticket."""

    type: ClassVar[str] = "tickets"
    group: Group
    seats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StakesPaid(_Event):
    """The end of the match changed the coins and run tickets of its players."""

    type: ClassVar[str] = "paid"
    payout: tuple[int, ...]
    """Coins received, by seat."""
    delta: tuple[int, ...]
    """Coins received minus the bet."""
    ticket_delta: tuple[int, ...]
    """Run tickets received and earned, minus those staked."""


@dataclass(frozen=True, slots=True)
class MatchOver(_Event):
    type: ClassVar[str] = "over"
    places: tuple[tuple[int, ...], ...]
    """Seats by place, best first."""
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
"""The state after an input, and the events that the input caused."""
