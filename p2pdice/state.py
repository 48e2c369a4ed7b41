"""The public state of a match: a value that all players compute, and sign, identically.

It contains no face before the showdown. :class:`Mischief` is the part for dice with powers. The fields that change most
often come first, so that frequent steps can build new states by position.
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
"""Stands in for a seat, as in :attr:`State.turn` when no single seat has to act."""

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
    """The kinds of input that a state can expect. The values are those of the referee's JSON."""

    MOVE = "move"
    ROLLED = "deal"
    HANDS = "hands"
    ROLL = "roll"
    PLEDGES = "pledges"
    STAKES = "stakes"
    OVER = "over"


class Expectation(NamedTuple):
    """The input that a state expects, and the seats that owe it."""

    kind: Expect
    seats: tuple[int, ...]
    """Ascending: one seat for MOVE, none for OVER, and otherwise the live seats."""


class PlacedBid(NamedTuple):
    """A bid and the seat that placed it."""

    quantity: int
    face: int
    seat: int


class Challenge(NamedTuple):
    """A call on the standing bid that has not been judged yet."""

    seat: int
    """The accuser. The accused is the bidder of the standing bid."""
    call: Call
    sides: tuple[tuple[int, str], ...]
    """(seat, ``accuser`` or ``accused``) in the order in which players took sides."""


class Exit(NamedTuple):
    """Seats that left the match at the same time, and so share a place."""

    seats: tuple[int, ...]
    """Clockwise from the caller, if a call put them out."""
    reason: Reason
    """``finished`` takes the best open place; any other reason takes the worst."""


@dataclass(frozen=True, slots=True)
class Lasting(ABC):
    """A lasting effect on a player. It ends at the latest with the match, or when its player or originator is out."""

    mote: ClassVar[Mote]
    """The mote that causes the effect."""
    voids_accusations: ClassVar[bool] = False
    """Whether the effect voids the next accusation against the player, which ends the effect."""
    is_good: ClassVar[bool] = False
    """Whether the effect is good for the player."""
    seat: int
    """The player affected."""
    by: int
    """The player who caused the effect."""

    @property
    def rank(self) -> int:
        """The sort key among effects of this mote. Effects with equal keys stay in order of arrival."""
        return 0

    def forbids(self, _group: Group) -> bool:
        """Return whether the effect bars the player from this group of dice."""
        return False

    @abstractmethod
    def to_json(self) -> int | dict[str, int | str]:
        """Return the effect's item in :func:`p2pdice.views.state_json`."""

    def plain(self) -> Plain:
        """Return the effect's item in :func:`plain`: the JSON value, or the tuple of its values if it is an object."""
        data = self.to_json()
        return tuple(data.values()) if isinstance(data, dict) else data

    @property
    def mark(self) -> str:
        """A label of one or two words beside the player's name."""
        return NOTATION[self.mote].lasting

    def note(self, who: str) -> str:
        """Return the effect as a line of text; ``who`` names the player."""
        return f"{self.mark}: {who}"


class Buried(NamedTuple):
    """A die in the graveyard."""

    die: Die
    sent_by: int
    """The seat that sent the die there. Only this seat may play it."""


class StackedEffect(NamedTuple):
    """The unresolved effect of a Cursed die."""

    die: Die
    by: int
    target: Die | int
    """A seat, a die in the graveyard, or the die whose effect an answer is meant to stop."""


class Mischief(NamedTuple):
    """The part of a state for dice with powers."""

    pledges: tuple[Group, ...] = ()
    """By seat; () until they are known."""
    prize: Mote | None = None
    """None until it is drawn."""
    cups: tuple[tuple[Die, ...], ...] = ()
    """By seat, each sorted by mote, then by seat; () until the prize is drawn."""
    graveyard: tuple[Buried, ...] = ()
    """In order of arrival."""
    removed: tuple[Die, ...] = ()
    """Dice out of the game, in order of removal."""
    stack: tuple[StackedEffect, ...] = ()
    """Bottom first. The last effect is on top and resolves first."""
    actor: int = NOBODY
    """The seat that played the effect at the bottom of the stack; :data:`NOBODY` while the stack is empty."""
    waiting: tuple[int, ...] = ()
    """Seats to ask after :attr:`State.turn`, in this window or for an answer to the top of the stack."""
    lasting: tuple[Lasting, ...] = ()
    """In the order of :data:`MOTES`, then of :attr:`Lasting.rank`, then of arrival."""
    must_raise: bool = False
    """Whether the bidder has to raise, because their accusation was void."""
    successor: int = NOBODY
    """The next leader, from the verdict to the end of the turn; otherwise :data:`NOBODY`."""
    crown: Die | None = None
    """The winning die; None until it is chosen."""

    def remove(self, die: Die) -> Mischief:
        """Move a die from the graveyard out of the game."""
        return self.unbury(die)._replace(removed=(*self.removed, die))

    def unbury(self, die: Die) -> Mischief:
        return self._replace(graveyard=tuple(buried for buried in self.graveyard if buried.die != die))

    def bury(self, die: Die, seat: int) -> Mischief:
        """Move a die from the cup of ``seat`` to the graveyard."""
        cup = tuple(other for other in self.cups[seat] if other != die)
        return self.with_cup(seat, cup)._replace(graveyard=(*self.graveyard, Buried(die, seat)))

    def with_cup(self, seat: int, dice: tuple[Die, ...]) -> Mischief:
        """Replace the contents of a cup by ``dice``, sorted."""
        cup = tuple(sorted(dice, key=lambda die: (MOTES.index(die.mote), die.seat)))
        return self._replace(cups=(*self.cups[:seat], cup, *self.cups[seat + 1 :]))

    def is_buried(self, die: Die) -> bool:
        return any(buried.die == die for buried in self.graveyard)

    def sender(self, die: Die) -> int | None:
        """Return the seat that sent a die to the graveyard; None if it is not there."""
        return next((buried.sent_by for buried in self.graveyard if buried.die == die), None)

    def popped(self) -> Mischief:
        """Remove the top of the stack."""
        return self._replace(stack=self.stack[:-1])

    def with_lasting(self, effect: Lasting) -> Mischief:
        lasting = sorted((*self.lasting, effect), key=lambda each: (MOTES.index(each.mote), each.rank))
        return self._replace(lasting=tuple(lasting))

    def without_lasting(self, effect: Lasting) -> Mischief:
        """End an effect, and any effects equal to it."""
        return self._replace(lasting=tuple(each for each in self.lasting if each != effect))

    def lasting_by_name(self) -> Iterator[tuple[str, list[Lasting]]]:
        """Yield the JSON name and the current lasting effects of each mote that has such effects."""
        for notation in NOTATION.values():
            if notation.lasting:
                yield notation.lasting, [each for each in self.lasting if each.mote == notation.mote]

    @property
    def immune(self) -> tuple[int, ...]:
        """Seats against which the next accusation is void, ascending."""
        return tuple(sorted({each.seat for each in self.lasting if each.voids_accusations}))

    def obstacle(self, seat: int, group: Group) -> Lasting | None:
        """Return the first effect that bars a seat from a group of dice; None if there is none."""
        return next((each for each in self.lasting if each.seat == seat and each.forbids(group)), None)

    @property
    def soul(self) -> TwinSoul | None:
        """The Twin Soul, once the winning die is chosen."""
        return None if self.crown is None or self.prize is None else twin_soul(self.crown.mote, self.prize)


class State(NamedTuple):
    """A position in a match: immutable, hashable and public."""

    turn: int
    """The seat whose move is awaited, or :data:`NOBODY`."""
    bids: tuple[PlacedBid, ...]
    """The bids of this round in order; the last one is the standing bid."""
    phase: Phase
    awaits: Expect
    challenge: Challenge | None
    leader: int
    """The seat that opened or will open this round; if it left, the next live seat clockwise."""
    dice: tuple[int, ...]
    """Dice by seat. The dice of players who left during a round stay in play until the round is settled."""
    live: tuple[int, ...]
    """Seats that are not out, ascending."""
    round: int
    """Numbered from 1; void rounds count, too."""
    palifico: bool
    """Whether this is the special round after a player's first drop to one die: see :attr:`counting`."""
    dropped: tuple[int, ...]
    """Seats that have dropped to one die, ascending; none causes a palifico again. Empty without palifico rules."""
    hands: tuple[Hand | None, ...]
    """By seat, the hands of the last judged round, kept until the next roll. None is a cup that was never opened."""
    count: int | None  # type: ignore[assignment]  # hides tuple.count, which is never used
    """How many dice in ``hands`` counted for the judged bid; None without hands."""
    exits: tuple[Exit, ...]
    """In the order of leaving."""
    ruleset: Ruleset
    players: int
    """Number of seats at the start, 2 to 10."""
    motes: Mischief | None = None
    """The part for dice with powers; None without them."""
    wagers: tuple[Wager, ...] = ()
    """By seat, once the stakes are open."""

    @property
    def bid(self) -> PlacedBid | None:
        return self.bids[-1] if self.bids else None

    @property
    def expects(self) -> Expectation:
        """The expected input. A concession or an eviction is possible at any time before the match is over."""
        if self.awaits is Expect.MOVE:
            return _MOVE_OF[self.turn]
        return Expectation(self.awaits, () if self.awaits is Expect.OVER else self.live)

    @property
    def out(self) -> tuple[int, ...]:
        """Seats in the order of going out; those who went out together are in the order of :attr:`Exit.seats`."""
        return tuple(seat for exit_ in self.exits for seat in exit_.seats)

    @property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """The seats on each place, best first; empty until the match is over.

        A remaining live player takes the open place between the players who finished and those who were eliminated.
        """
        if self.awaits is not Expect.OVER:
            return ()
        finished = [exit_.seats for exit_ in self.exits if exit_.reason == "finished"]
        fallen = [exit_.seats for exit_ in self.exits if exit_.reason != "finished"]
        return (*finished, *([self.live] if self.live else []), *reversed(fallen))

    @property
    def winners(self) -> tuple[int, ...]:
        """The seats on the first place; empty until the match is over."""
        return self.places[0] if self.awaits is Expect.OVER else ()

    @property
    def counting(self) -> Counting:
        """How dice count in this round, given its bids so far. In palifico each face counts only for itself."""
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
    """Return ``state`` with its first five fields replaced, which is faster by position than by name."""
    following: State = tuple.__new__(State, (turn, bids, phase, awaits, challenge) + state[5:])  # noqa: RUF005 - faster
    return following


def next_live(live: tuple[int, ...], seat: int) -> int:
    """Return the next live seat clockwise after ``seat``, which need not be live; ``live`` is not empty."""
    for candidate in live:
        if candidate > seat:
            return candidate
    return live[0]


def live_from(state: State, seat: int) -> tuple[int, ...]:
    """Return the live seats clockwise, starting with ``seat`` if it is live."""
    live = state.live
    return (*(other for other in live if other >= seat), *(other for other in live if other < seat))


def clockwise(state: State, first: int) -> tuple[int, ...]:
    """Return all seats clockwise, starting with ``first``."""
    return (*range(first, state.players), *range(first))


def plain(state: State) -> tuple[Plain, ...]:
    """Return the canonical public value: the whole state as nested tuples of integers and texts, ready to be signed.

    It has sixteen items in this order, followed by up to two more:

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

    With ``motes=yes`` another item follows, in which a die is its text, such as ``grey@2``. Its items are:

    ====  ==========  =================================================================================================
    0     pledges     (), or (``redeemed`` or ``cursed`` by seat)
    1     prize       the mote, or ``none``
    2     cups        (), or by seat: (dice by mote, then by seat)
    3     graveyard   ((die, seat that sent it) in order of arrival)
    4     removed     (dice in order of leaving the game)
    5     stack       ((die, seat, target) from the bottom); the target is a die or a seat
    6     actor       seat that played the effect at the bottom of the stack, or -1 if it is empty
    7     waiting     (seats to be asked after the current one, in order)
    8…    lasting     for each mote with lasting effects, in the order of :data:`MOTES`: (its effects)
    then  must raise  ``yes`` or ``no``
    then  successor   seat that leads the next turn, from the verdict on; before it -1
    then  crown       the winning die, or ``none``
    ====  ==========  =================================================================================================

    With ``stakes=yes`` a last item follows: (), or by seat (bet, funds, tickets staked, tickets owned).
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
