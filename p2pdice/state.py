"""The public state of a match: a value that every player can compute, and sign, alike.

It holds no face before the showdown. :class:`Mischief` is its part for dice with powers. Fields that most steps change
come first, so that frequent steps can make new states by position.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, Literal, NamedTuple

from p2pdice.counting import COUNTINGS, NOTHING_WILD, Counting
from p2pdice.motes import MOTES, NOTATION, Die, Group, Mote, TwinSoul, twin_soul
from p2pdice.moves import Hand, Wager
from p2pdice.rulesets import Ruleset

MIN_PLAYERS: Final = 2
MAX_PLAYERS: Final = 10
NOBODY: Final = -1
"""In place of a seat: the turn while no single one is awaited."""

Phase = Literal[
    "pledges",
    "stakes",
    "prize",
    "sunset",
    "night",
    "bidding",
    "siding",
    "showdown",
    "discard",
    "sunrise",
    "crown",
    "over",
]
Call = Literal["liar", "exact"]
Reason = Literal["lost", "finished", "evicted", "conceded"]
Plain = int | str | tuple["Plain", ...]


class Expect(StrEnum):
    """The inputs that a state can wait for; the values are the words of the referee."""

    MOVE = "move"
    ROLLED = "deal"
    HANDS = "hands"
    ROLL = "roll"
    PLEDGES = "pledges"
    STAKES = "stakes"
    OVER = "over"


class Expectation(NamedTuple):
    """The input that a state waits for, and the seats that owe it."""

    kind: Expect
    seats: tuple[int, ...]
    """Ascending. MOVE: the one seat. OVER: none. Else the live seats; at ROLLED and HANDS all of them have dice."""


class PlacedBid(NamedTuple):
    """A bid, and the seat that made it."""

    quantity: int
    face: int
    seat: int


class Challenge(NamedTuple):
    """A call on the standing bid, not judged yet."""

    seat: int
    """The accuser. The accused is the seat of the standing bid."""
    call: Call
    sides: tuple[tuple[int, str], ...]
    """(seat, "accuser" or "accused") in the order in which the others chose."""


class Exit(NamedTuple):
    """Seats that left the match at one time; they share a place."""

    seats: tuple[int, ...]
    """Clockwise from the caller, if a call put them out."""
    reason: Reason
    """``finished`` takes the best place that is open, everything else the worst."""


@dataclass(frozen=True, slots=True)
class Lasting(ABC):
    """An effect on a player that lasts: at the longest until one of the two players is out, or the match is over."""

    mote: ClassVar[Mote]
    """The mote that causes it."""
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

    @abstractmethod
    def to_json(self) -> int | dict[str, int | str]:
        """Return its item in :func:`p2pdice.views.state_json`."""

    def plain(self) -> Plain:
        """Return its item in :func:`plain`: as in JSON, without the keys."""
        data = self.to_json()
        return tuple(data.values()) if isinstance(data, dict) else data

    @property
    def mark(self) -> str:
        """A word or two beside the name of the player."""
        return NOTATION[self.mote].lasting

    def note(self, who: str) -> str:
        """Return it as a line about the table; ``who`` is the player."""
        return f"{self.mark}: {who}"


class Buried(NamedTuple):
    """A die in the graveyard."""

    die: Die
    sent_by: int
    """The seat that put it there. No other may play it."""


class StackedEffect(NamedTuple):
    """A power of the night that was played and has not resolved."""

    die: Die
    by: int
    target: Die | int
    """A seat, a die in the graveyard, or the die whose effect an answer is to stop."""


class Mischief(NamedTuple):
    """The part of a state for dice with powers."""

    pledges: tuple[Group, ...] = ()
    """By seat; () until they are told."""
    prize: Mote | None = None
    """None until it is drawn."""
    cups: tuple[tuple[Die, ...], ...] = ()
    """By seat, each sorted by mote, then by seat; () until the prize is drawn."""
    graveyard: tuple[Buried, ...] = ()
    """In order of arrival."""
    removed: tuple[Die, ...] = ()
    """Out of the game, in order of leaving it."""
    stack: tuple[StackedEffect, ...] = ()
    """The last one is on top, and resolves first."""
    actor: int = NOBODY
    """The seat that played the effect at the bottom of the stack; :data:`NOBODY` while it is empty."""
    waiting: tuple[int, ...] = ()
    """Seats to be asked after the one on turn: in this window, or for an answer to the top of the stack."""
    lasting: tuple[Lasting, ...] = ()
    """In the order of :data:`MOTES`, then of :attr:`Lasting.rank`, then of arising."""
    must_raise: bool = False
    """Whether the player to bid has to raise, as their accusation did not count."""
    successor: int = NOBODY
    """The seat that leads next, from the verdict to the end of the turn; :data:`NOBODY` before."""
    crown: Die | None = None
    """The winning die, once named."""

    def remove(self, die: Die) -> Mischief:
        """Take a die out of the graveyard and of the game."""
        return self.unbury(die)._replace(removed=(*self.removed, die))

    def unbury(self, die: Die) -> Mischief:
        return self._replace(graveyard=tuple(buried for buried in self.graveyard if buried.die != die))

    def bury(self, die: Die, seat: int) -> Mischief:
        """Send a die from the cup of ``seat`` to the graveyard."""
        cup = tuple(other for other in self.cups[seat] if other != die)
        return self.with_cup(seat, cup)._replace(graveyard=(*self.graveyard, Buried(die, seat)))

    def with_cup(self, seat: int, dice: tuple[Die, ...]) -> Mischief:
        """Put exactly these dice under the cup of ``seat``."""
        cup = tuple(sorted(dice, key=lambda die: (MOTES.index(die.mote), die.seat)))
        return self._replace(cups=(*self.cups[:seat], cup, *self.cups[seat + 1 :]))

    def is_buried(self, die: Die) -> bool:
        return any(buried.die == die for buried in self.graveyard)

    def sender(self, die: Die) -> int | None:
        """Return the seat that sent a die to the graveyard; None if it is not there."""
        return next((buried.sent_by for buried in self.graveyard if buried.die == die), None)

    def popped(self) -> Mischief:
        """Take the top off the stack."""
        return self._replace(stack=self.stack[:-1])

    def with_lasting(self, effect: Lasting) -> Mischief:
        lasting = sorted((*self.lasting, effect), key=lambda each: (MOTES.index(each.mote), each.rank))
        return self._replace(lasting=tuple(lasting))

    def without_lasting(self, effect: Lasting) -> Mischief:
        """End an effect, and those that are equal to it."""
        return self._replace(lasting=tuple(each for each in self.lasting if each != effect))

    def lasting_by_name(self) -> Iterator[tuple[str, list[Lasting]]]:
        """Yield for each mote with lasting effects their name in the public state, and the effects there are."""
        for notation in NOTATION.values():
            if notation.lasting:
                yield notation.lasting, [each for each in self.lasting if each.mote == notation.mote]

    @property
    def immune(self) -> tuple[int, ...]:
        """Seats whose next accuser has to raise instead, ascending."""
        return tuple(sorted({each.seat for each in self.lasting if each.voids_accusations}))

    def obstacle(self, seat: int, group: Group) -> Lasting | None:
        """Return the first effect for which a seat may play no dice of a group; None without one."""
        return next((each for each in self.lasting if each.seat == seat and each.forbids(group)), None)

    @property
    def soul(self) -> TwinSoul | None:
        """The Twin Soul, once the winning die is named."""
        return None if self.crown is None or self.prize is None else twin_soul(self.crown.mote, self.prize)


class State(NamedTuple):
    """A position. Immutable, hashable, public."""

    turn: int
    """The seat whose move is awaited, or :data:`NOBODY`."""
    bids: tuple[PlacedBid, ...]
    """This round's, in order; the last one stands."""
    phase: Phase
    awaits: Expect
    challenge: Challenge | None
    leader: int
    """The seat that opened this round, or will; if it left, the next live one clockwise."""
    dice: tuple[int, ...]
    """Dice in each cup by seat. The dice of players who left during a round stay in play until it is settled."""
    live: tuple[int, ...]
    """Seats that are not out, ascending."""
    round: int
    """From 1; a settled round is followed by the next number, also when it was void."""
    palifico: bool
    """Whether this is the special round after a first drop to one die: see :attr:`counting`."""
    dropped: tuple[int, ...]
    """Seats that have dropped to one die before, ascending; each has had its palifico. Kept if the ruleset has it."""
    hands: tuple[Hand | None, ...]
    """By seat, of the round just judged, until the next roll; then (). None: a cup that was never opened."""
    count: int | None  # type: ignore[assignment]  # a tuple's own method of this name is not missed
    """Dice in ``hands`` that counted for the bid judged."""
    exits: tuple[Exit, ...]
    """In order of leaving."""
    ruleset: Ruleset
    players: int
    """Seats at the start, 2 to 10."""
    motes: Mischief | None = None
    """The part for dice with powers; None without them."""
    wagers: tuple[Wager, ...] = ()
    """By seat, once the stakes are open."""

    @property
    def bid(self) -> PlacedBid | None:
        return self.bids[-1] if self.bids else None

    @property
    def expects(self) -> Expectation:
        """The input that the state waits for. A concession or an eviction is possible at any time."""
        if self.awaits is Expect.MOVE:
            return _MOVE_OF[self.turn]
        return Expectation(self.awaits, () if self.awaits is Expect.OVER else self.live)

    @property
    def out(self) -> tuple[int, ...]:
        """Seats in order of going out; clockwise from the caller those who left at once."""
        return tuple(seat for exit_ in self.exits for seat in exit_.seats)

    @property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """Once over: the seats on each place, the best first.

        The last player left takes the open place between those who finished and those who fell.
        """
        if self.awaits is not Expect.OVER:
            return ()
        finished = [exit_.seats for exit_ in self.exits if exit_.reason == "finished"]
        fallen = [exit_.seats for exit_ in self.exits if exit_.reason != "finished"]
        return (*finished, *([self.live] if self.live else []), *reversed(fallen))

    @property
    def winners(self) -> tuple[int, ...]:
        """The first place, once over."""
        return self.places[0] if self.awaits is Expect.OVER else ()

    @property
    def counting(self) -> Counting:
        """How dice count in this round, as far as its bids go; in palifico each face counts for itself alone."""
        if self.palifico:
            return NOTHING_WILD
        return COUNTINGS[self.ruleset.wild].opened(self.bids[0].face if self.bids else 0)


_MOVE_OF: Final = tuple(Expectation(Expect.MOVE, (seat,)) for seat in range(MAX_PLAYERS))


def position(
    state: State,
    turn: int,
    bids: tuple[PlacedBid, ...],
    phase: Phase,
    awaits: Expect,
    challenge: Challenge | None,
) -> State:
    """Return ``state`` with its first fields replaced: faster than by name."""
    following: State = tuple.__new__(State, (turn, bids, phase, awaits, challenge) + state[5:])  # noqa: RUF005 - faster
    return following


def next_live(live: tuple[int, ...], seat: int) -> int:
    """Return the next live seat clockwise from ``seat``, which need not be live; ``live`` is not empty."""
    for candidate in live:
        if candidate > seat:
            return candidate
    return live[0]


def live_from(state: State, seat: int) -> tuple[int, ...]:
    """Return the live seats clockwise, from ``seat`` on."""
    live = state.live
    return (*(other for other in live if other >= seat), *(other for other in live if other < seat))


def clockwise(state: State, first: int) -> tuple[int, ...]:
    """Return all seats, ``first`` in front."""
    return (*range(first, state.players), *range(first))


def plain(state: State) -> tuple[Plain, ...]:
    """Return the canonical public value: all of the state as nested tuples of integers and text, fit to be signed.

    Sixteen items, in this order, and up to two more:

    ====  =========  ==================================================================================================
    0     options    :meth:`Ruleset.options`: (name, value) sorted by name, numbers as integers, the rest as text
    1     players    integer
    2     round      integer, from 1
    3     phase      the text of :attr:`State.phase`
    4     awaits     the text of an :class:`Expect`
    5     leader     seat
    6     turn       seat, or -1 if no single seat is awaited
    7     dice       (number by seat)
    8     live       (seats ascending)
    9     bids       ((quantity, face, seat) in order)
    10    challenge  (), or (seat, ``liar`` or ``exact``, ((seat, ``accuser`` or ``accused``) in order))
    11    palifico   ``yes`` or ``no``
    12    dropped    (seats ascending)
    13    hands      (), or by seat: (faces ascending), or ``unknown`` for a cup that was never opened
    14    count      (), or (number,)
    15    exits      (((seats), ``lost``, ``finished``, ``evicted`` or ``conceded``) in order)
    ====  =========  ==================================================================================================

    With ``motes=yes`` one item follows, in which a die is its text, such as ``grey@2``. Its items:

    ====  ==========  =================================================================================================
    0     pledges     (), or (``redeemed`` or ``cursed`` by seat)
    1     prize       the mote, or ``none``
    2     cups        (), or by seat: (dice by mote, then by seat)
    3     graveyard   ((die, seat that sent it) in order of arrival)
    4     removed     (dice in order of leaving the game)
    5     stack       ((die, seat, target) from the bottom); the target is a die or a seat
    6     actor       seat that played the effect at the bottom of the stack, or -1 if it is empty
    7     waiting     (seats to be asked after the one on turn, in order)
    8…    lasting     for each power with effects that last, by the face of its mote: (its effects)
    then  must raise  ``yes`` or ``no``
    then  successor   seat that leads the next turn, from the verdict on; before it -1
    then  crown       the winning die, or ``none``
    ====  ==========  =================================================================================================

    With ``stakes=yes`` one item follows: (), or by seat (bet, funds, tickets staked, tickets owned).
    """
    challenge = state.challenge
    common: tuple[Plain, ...] = (
        state.ruleset.options(),
        state.players,
        state.round,
        state.phase,
        state.awaits.value,
        state.leader,
        state.turn,
        state.dice,
        state.live,
        tuple(map(tuple, state.bids)),
        () if challenge is None else tuple(challenge),
        "yes" if state.palifico else "no",
        state.dropped,
        tuple("unknown" if hand is None else hand for hand in state.hands),
        () if state.count is None else (state.count,),
        tuple(map(tuple, state.exits)),
    )
    if state.motes is not None:
        common = (*common, _plain_mischief(state.motes))
    if state.ruleset.stakes:
        common = (*common, tuple(map(tuple, state.wagers)))
    return common


def _plain_mischief(motes: Mischief) -> tuple[Plain, ...]:
    return (
        motes.pledges,
        motes.prize or "none",
        tuple(tuple(map(str, cup)) for cup in motes.cups),
        tuple((str(die), sent_by) for die, sent_by in motes.graveyard),
        tuple(map(str, motes.removed)),
        tuple((str(die), by, target if isinstance(target, int) else str(target)) for die, by, target in motes.stack),
        motes.actor,
        motes.waiting,
        *(tuple(each.plain() for each in lasting) for _, lasting in motes.lasting_by_name()),
        "yes" if motes.must_raise else "no",
        motes.successor,
        "none" if motes.crown is None else str(motes.crown),
    )
