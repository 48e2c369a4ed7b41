"""What happened: the engine's account of one input, a sentence's worth in each event without a look at any state.

``to_json`` gives ``{"type": …}`` and the fields; a hand that was never opened is null.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from p2pdice.inputs import Hand
from p2pdice.state import Call, Reason


class _Event:
    """What events have in common."""

    __slots__ = ()
    type: ClassVar[str]

    def to_json(self) -> dict[str, object]:
        """Return the event as JSON-able data, ``type`` first."""
        data: dict[str, object] = {"type": self.type}
        for field in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            data[field.name] = _json(getattr(self, field.name))
        return data


def _json(value: object) -> object:
    return [_json(item) for item in value] if isinstance(value, tuple) else value


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
    ones_wild: bool
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
    """The caller or the bidder, and who sided with them; clockwise from the caller."""
    wrong: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RoundVoid(_Event):
    """No verdict holds whatever the unopened cups hide: nobody loses, and the round is led again."""

    type: ClassVar[str] = "void"
    round: int
    unopened: tuple[int, ...]
    """Seats whose cups stayed shut."""


@dataclass(frozen=True, slots=True)
class DieLost(_Event):
    """A player put a die away: the penalty, or where to be rid of dice is the aim, the reward."""

    type: ClassVar[str] = "die-lost"
    seat: int
    left: int


@dataclass(frozen=True, slots=True)
class DieGained(_Event):
    """A player got a die more."""

    type: ClassVar[str] = "die-gained"
    seat: int
    left: int


@dataclass(frozen=True, slots=True)
class PlayerOut(_Event):
    """A player is out: ``lost`` or ``finished`` for want of dice, ``evicted`` or ``conceded`` with any."""

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
    | MatchOver
)
