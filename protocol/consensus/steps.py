"""Positions: what is agreed before one step, and which position follows once the step is closed.

What a step is for is its :class:`Purpose`; each purpose is a fixed script of message kinds, :data:`SCRIPTS`. The
engine's state decides which purpose comes next: :data:`FOR` maps what the engine expects to the script that supplies
it, and the last step of the script feeds the result in. Thus no rule of the game is known here, and the engine knows
no peer::

    FORMING (lock) → SEATING (commit, lock, reveal) → STAKES? → DEAL ⇄ TURN … ⇄ PUBLIC_DIE → SHOWDOWN → DEAL … → END

The rule behind the scripts: no secret leaves a node before every live player has signed the same history. So every
REVEAL and every OPEN directly follows a LOCK. The commitments to the next deal ride in the OPEN of a showdown; the
deal then starts at its LOCK.

Whoever owed a message and is not among those who sent one has left. If it was a player who had committed, between the
LOCK and the end of a roll or deal, the roll is thrown away and made anew: somebody may have known the outcome.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final, NamedTuple, cast

from p2pdice import (
    NEWCOMER_COINS,
    Concede,
    Event,
    Evict,
    Expect,
    Hands,
    Play,
    Pledges,
    Roll,
    Rolled,
    RulesError,
    Stakes,
    State,
    Wager,
    apply,
    new_match,
    parse_move,
    plain,
)
from p2pdice import Input as GameInput
from protocol.consensus.absence import majority
from protocol.crypto.hashing import tagged_hash
from protocol.crypto.joint_randomness import Context, beacon, hand, public_die, seating
from protocol.wire.canonical import encode
from protocol.wire.genesis import Genesis
from protocol.wire.messages import Kind, Signed, carried


class Purpose(StrEnum):
    """What a step is for."""

    FORMING = "forming"
    SEATING = "seating"
    DEAL = "deal"
    TURN = "turn"
    PUBLIC_DIE = "public die"
    STAKES = "stakes"
    SHOWDOWN = "showdown"
    END = "end"


SCRIPTS: Final[Mapping[Purpose, tuple[Kind, ...]]] = {
    Purpose.FORMING: (Kind.LOCK,),
    Purpose.SEATING: (Kind.COMMIT, Kind.LOCK, Kind.REVEAL),
    Purpose.DEAL: (Kind.COMMIT, Kind.LOCK, Kind.REVEAL),
    Purpose.TURN: (Kind.MOVE,),
    Purpose.PUBLIC_DIE: (Kind.COMMIT, Kind.LOCK, Kind.REVEAL),
    Purpose.STAKES: (Kind.COMMIT, Kind.LOCK, Kind.STAKE),
    Purpose.SHOWDOWN: (Kind.LOCK, Kind.OPEN),
    Purpose.END: (),
}
"""The kinds of message that each purpose takes, in order."""

FOR: Final[Mapping[Expect, Purpose]] = {
    Expect.ROLLED: Purpose.DEAL,
    Expect.MOVE: Purpose.TURN,
    Expect.HANDS: Purpose.SHOWDOWN,
    Expect.ROLL: Purpose.PUBLIC_DIE,
    Expect.STAKES: Purpose.STAKES,
    Expect.OVER: Purpose.END,
}
"""Which script supplies what the engine expects."""

FORMED: Final = 2
"""The first step of a match that is formed: before it everybody has signed the genesis and COMMIT of the first roll."""

COMMITMENTS: Final[Mapping[Purpose, int]] = {
    Purpose.SEATING: 1,
    Purpose.DEAL: 2,
    Purpose.PUBLIC_DIE: 1,
    Purpose.STAKES: 1,
}
"""How many commitments a COMMIT of this purpose carries: (share), (hand key, share) or (stake)."""


class Standing(NamedTuple):
    """Commitments that have not been opened yet."""

    context: Context
    commitments: Mapping[int, tuple[bytes, ...]]
    """By author; the last one is to the share or the stake, the one before it (in a deal) to the hand key."""


class Deal(NamedTuple):
    """The dice in play: with a hand key, all that is needed to compute its hand."""

    context: Context
    joint: bytes
    """The beacon."""
    commitments: Mapping[int, bytes]
    """To the hand keys, by author."""


class Position(NamedTuple):
    """All that is agreed before one step, and what that step is. Never changed, only followed by another."""

    step: int
    tip: bytes
    purpose: Purpose
    stage: int
    """Index into the script of the purpose."""
    kind: Kind | None
    """The kind of message that the step takes; None at the end."""
    owed: tuple[int, ...]
    """Authors (roster indices, ascending) from whom the step wants a message each."""
    base: tuple[int, ...]
    """Authors who can vote since the last complete LOCK: more than half of them is a majority. They follow from the
    history before it, so that they are the same whatever closed it."""
    players: tuple[int, ...]
    """Authors who were in the game when the last complete LOCK was opened, and have not left: they owe the next one."""
    present: tuple[int, ...] = ()
    """Authors who are in the next base, too, unless they leave: the players who owed the last complete LOCK, and the
    witnesses whose signatures of the LOCK before it its messages carry."""
    witnessed: bytes = b""
    """The tip of the last complete LOCK, and the hash that it signs: what a witness of it has signed."""
    locked: int = 0
    """The step of that LOCK. Nothing before it can change any more."""
    state: State | None = None
    """The engine's, once the seats are drawn."""
    seats: tuple[int, ...] = ()
    """Author by seat."""
    left: tuple[int, ...] = ()
    """Authors who resigned or were found absent, ascending. Whoever is merely eliminated is not among them."""
    resigned: tuple[int, ...] = ()
    """Those of them who resigned, ascending."""
    standing: Standing | None = None
    """The commitments of the script under way."""
    riding: Standing | None = None
    """The commitments to the next deal that came with the last showdown."""
    deal: Deal | None = None
    lock: bytes = b""
    """The hash that a LOCK or RESULT of this step signs; empty where neither is possible."""
    entries: Mapping[int, Signed] = {}
    """The messages that closed the step before, by author."""
    certificate: tuple[Signed, ...] = ()
    """If somebody was missing when the step before was closed, the votes that say so: the ABSENTs that back them, then
    the CLOSEs, each by author."""
    happened: tuple[tuple[Event, State], ...] = ()
    """What closing the step before made of the game, event by event, with the state after each input."""
    is_thin: bool = False
    """State and events were dropped to save memory: :meth:`protocol.consensus.history.History.full` works them out
    again."""

    @property
    def majority(self) -> int:
        """How many of the base are more than half of it."""
        return majority(self.base)

    @property
    def live(self) -> tuple[int, ...]:
        """Authors who are in the game."""
        if self.state is None:
            return self.players
        return tuple(sorted(self.seats[seat] for seat in self.state.live))

    @property
    def witnesses(self) -> tuple[int, ...]:
        """Authors who are out of the game, of whom no more than a LOCK is wanted."""
        return () if self.state is None else tuple(self.seats[seat] for seat in self.state.out)

    @property
    def is_choice(self) -> bool:
        """The step waits for what a person chooses."""
        return self.kind is Kind.MOVE or (self.kind is Kind.COMMIT and self.purpose is Purpose.STAKES)

    def hand(self, author: int, hand_key: bytes) -> tuple[int, ...]:
        """Return the hand that ``hand_key`` opens in the deal in play: faces, ascending."""
        assert self.state is not None
        assert self.deal is not None
        dice = self.state.dice[self.seats.index(author)]
        return hand(self.deal.context, author, hand_key, self.deal.joint, dice)


def wager(bet: int, tickets: int) -> Wager:
    """Return a stake beside what it is taken from: as long as no purse is kept, everybody is a newcomer."""
    return Wager(bet, NEWCOMER_COINS, tickets, 0)


def state_hash(state: State | None) -> bytes:
    """Return what a LOCK signs: the hash of the engine's public state, or of nothing while there is none yet."""
    return tagged_hash("state", encode(() if state is None else plain(state)))


Transition = tuple[State, tuple[Event, ...]]
"""What a move makes of the game, and the events on the way."""


def play(position: Position, author: int, text: str) -> Transition:
    """Return what a move makes of the game.

    :raises RulesError: if it is illegal or spelled otherwise than canonically.
    """
    assert position.state is not None
    move = parse_move(text)
    if str(move) != text:
        raise RulesError(f"{text!r} is not the canonical spelling {str(move)!r}")
    if isinstance(move, Concede):
        raise RulesError("conceding is a RESIGN, not a move")
    return apply(position.state, Play(position.seats.index(author), move))


class _Game:
    """The engine while a step closes: the state so far and what happened on the way."""

    def __init__(self, state: State | None) -> None:
        self.state = state
        self.happened: list[tuple[Event, State]] = []

    def feed(self, item: GameInput) -> None:
        assert self.state is not None
        self.follow(apply(self.state, item))

    def follow(self, transition: Transition) -> None:
        self.state, events = transition
        self.happened += [(event, self.state) for event in events]

    def leave(self, seats: tuple[int, ...], resigned: Collection[int], leavers: Collection[int]) -> None:
        """Take out who resigned or was found absent, in the order of seats, unless the game ended before."""
        for seat, author in enumerate(seats):
            if author not in leavers or self.state is None or self.state.expects.kind is Expect.OVER:
                continue
            if seat in self.state.live:  # witnesses are out already
                self.feed(Play(seat, Concede()) if author in resigned else Evict(seat))


def advance(
    genesis: Genesis,
    match: bytes,
    position: Position,
    entries: Mapping[int, Signed],
    certificate: tuple[Signed, ...],
    transition: Transition | None,
) -> Position:
    """Return the position after ``position`` was closed with these messages.

    :param certificate: the votes to close it so, if somebody was missing.
    :param transition: what the move among them makes of the game, if there is one.
    """
    players = len(genesis.roster)
    ids = [entries[author].id if author in entries else b"" for author in range(players)]
    step = position.step + 1
    tip = tagged_hash("step", position.tip, position.step, *ids)
    given = {author: signed.message.body for author, signed in entries.items() if signed.message.kind is position.kind}
    leavers = tuple(author for author in position.owed if author not in given)
    context = Context(match, position.step, position.tip)

    game = _Game(position.state)
    seats, deal = position.seats, position.deal
    standing, riding = position.standing, position.riding
    left, resigned = position.left, position.resigned
    if leavers:
        left = tuple(sorted((*left, *leavers)))
        resigned = tuple(sorted((*resigned, *(author for author in leavers if author in entries))))
        game.leave(seats, resigned, leavers)
    # Somebody may have seen what a roll would come to and left: the others roll anew. Witnesses roll nothing.
    is_rolling = position.purpose in _ROLLS and position.kind in (Kind.LOCK, Kind.REVEAL)
    is_spoilt = is_rolling and any(author not in position.witnesses for author in leavers)

    match position.kind:
        case Kind.COMMIT:
            standing = Standing(context, cast("Mapping[int, tuple[bytes, ...]]", given))
        case Kind.MOVE:
            if transition is not None:
                game.follow(transition)
        case Kind.REVEAL:
            assert standing is not None
            if not is_spoilt:
                joint = beacon(standing.context, cast("Mapping[int, bytes]", given))
                if position.purpose is Purpose.SEATING:
                    seats = seating(joint, players)
                elif position.purpose is Purpose.PUBLIC_DIE:
                    game.feed(Roll(public_die(joint)))
                else:
                    keys = {author: standing.commitments[author][0] for author in given}
                    deal = Deal(standing.context, joint, keys)
                    game.feed(Rolled())
        case Kind.OPEN:
            assert deal is not None
            bodies = cast("Mapping[int, tuple[bytes, ...]]", given)
            if game.state is not None and game.state.expects.kind is Expect.HANDS:
                hands = tuple(
                    position.hand(author, bodies[author][0])
                    if author in bodies
                    else (None if game.state.dice[seat] else ())
                    for seat, author in enumerate(seats)
                )
                game.feed(Hands(hands))
            riding = Standing(context, {author: body[1:] for author, body in bodies.items()})
            deal = None
        case Kind.STAKE:
            if game.state is not None and game.state.expects.kind is Expect.STAKES:
                stakes = cast("Mapping[int, tuple[int, int, bytes]]", given)
                game.feed(Stakes(tuple(wager(*stakes[author][:2]) if author in stakes else None for author in seats)))

    if game.state is None and (seats or players - len(left) < 2):
        # Nobody can roll jointly alone: whoever is the only one left needs no drawn seat to have won.
        seats = seats or tuple(range(players))
        game.state = new_match(genesis.ruleset, players)
        if game.state.expects.kind is Expect.PLEDGES:
            game.feed(Pledges(tuple(genesis.roster[author].join.pledge for author in seats)))
        game.leave(seats, resigned, left)

    state = game.state
    is_lock = position.kind is Kind.LOCK
    base, locked, present, witnessed = position.base, position.locked, position.present, position.witnessed
    began = position.players
    if is_lock:
        base = tuple(sorted({*position.players, *present}.difference(position.left)))
        locked = position.step
        witnessed = position.tip + position.lock
        present = tuple(
            sorted({*position.players, *(author for body in given.values() for author in carried(cast("bytes", body)))})
        )
        began = position.live
    remaining = tuple(author for author in began if author not in left)
    purpose, stage = next_stage(position, state, riding, is_spoilt)
    if stage == 0:
        standing = None
    if purpose is Purpose.DEAL and riding is not None:
        standing, riding = riding, None
    script = SCRIPTS[purpose]
    if purpose is Purpose.TURN:
        assert state is not None
        owed: tuple[int, ...] = (seats[state.expects.seats[0]],)
    elif not script:
        owed = ()
    elif state is None or script[stage] is Kind.LOCK:
        owed = remaining
    else:
        owed = tuple(sorted(seats[seat] for seat in state.live))
    kind = script[stage] if script else None
    lock = state_hash(state) if kind is None or kind is Kind.LOCK else b""
    happened = tuple(game.happened)
    return Position(
        step,
        tip,
        purpose,
        stage,
        kind,
        owed,
        base,
        remaining,
        present,
        witnessed,
        locked,
        state,
        seats,
        left,
        resigned,
        standing,
        riding,
        deal,
        lock,
        entries,
        certificate,
        happened,
    )


_ROLLS: Final = (Purpose.SEATING, Purpose.DEAL, Purpose.PUBLIC_DIE)


def next_stage(
    position: Position, state: State | None, riding: Standing | None, is_spoilt: bool
) -> tuple[Purpose, int]:
    """Return the purpose of the next step and its stage in that purpose's script."""
    purpose = Purpose.SEATING if state is None else FOR[state.expects.kind]
    if purpose is position.purpose and position.kind in (Kind.COMMIT, Kind.LOCK) and not is_spoilt:
        return purpose, position.stage + 1  # the script goes on
    if purpose is Purpose.DEAL and riding is not None:
        return purpose, SCRIPTS[purpose].index(Kind.LOCK)  # the commitments came with the last showdown
    return purpose, 0
