"""The record: the one fold of signed messages into agreed history.

Theory of operation
-------------------
A match is a chain of *steps*. ``T_0`` is the hash of the genesis; ``T_{k+1} = H(step, T_k, k, one entry per roster
seat)``, an entry being a message id or empty. Every message names ``(match, step, T)``, so a message fits one history
only. A step is either a *turn* (one message, by the player whose move it is) or *joint* (one from every live player).

What a step is for is its :class:`Purpose`; each purpose is a fixed script of message kinds, :data:`SCRIPTS`. The
engine's state decides which purpose comes next: ``FOR`` maps what the engine expects to the script that supplies it,
and the last step of the script feeds the result in. Thus the record knows no rule of the game and the engine knows no
peer::

    FORMING (lock) → SEATING (commit, lock, reveal) → STAKES? → DEAL ⇄ TURN … ⇄ PUBLIC_DIE → SHOWDOWN → DEAL … → END

The rule behind the scripts: no secret leaves a node before every live player has signed the same history. So every
REVEAL and every OPEN directly follows a LOCK. The commitments to the next deal ride in the OPEN of a showdown; the
deal then starts at its LOCK.

A RESIGN fills any slot that its author owes once the match is formed; the author is out when the step closes. A step
can also be closed with nothing from an author, if a majority of CLOSE votes says so (:mod:`protocol.absence`): the
author is evicted. Either way, if a player who had committed is missing between the LOCK and the end of a roll or deal,
it is thrown away and made anew: somebody may have known the outcome.

Eliminated players are *witnesses*: they owe LOCKs, until they leave, at no further cost. Who signed the last complete
LOCK is the *base* that votes. Nothing behind a complete LOCK is ever dropped; what came after it can be
(:meth:`Record.fork`, :meth:`Record.adopt`).

The record has no clock, no secrets and no I/O, and does not know whose node it runs in. The live node, a spectator,
the verifier (from a file), resume (from the store) and catch-up (from a peer) all fold with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from enum import Enum
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
    check_wager,
    new_match,
    parse_move,
    plain,
)
from p2pdice import Input as GameInput
from protocol.absence import Entries, Place, Vote, leaves_majority
from protocol.canonical import encode
from protocol.genesis import match_id, parse_genesis
from protocol.hashing import tagged_hash
from protocol.keys import PublicKey
from protocol.messages import VOTES, Kind, Message, Signed
from protocol.randomness import (
    Context,
    beacon,
    hand,
    hand_commitment,
    public_die,
    seating,
    share_commitment,
    stake_commitment,
)
from protocol.votes import read_vote


class RejectedMessageError(ValueError):
    """The message does not belong in this history. Nobody is to blame for that: it proves nothing about its author."""


class OtherStateError(RejectedMessageError):
    """A LOCK signs another state of the game than follows from our history: one of the two programs has a bug."""

    def __init__(self) -> None:
        super().__init__("a LOCK on another state: one of the two programs has a bug")


class MisconductError(Exception):
    """A player signed what the rules of the game or of the protocol forbid; ``evidence`` shows it to anybody."""

    def __init__(self, author: int, step: int, reason: str, evidence: tuple[Signed, ...]) -> None:
        super().__init__(reason)
        self.author = author
        """Roster index of the culprit."""
        self.step = step
        self.reason = reason
        self.evidence = evidence


class Purpose(Enum):
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
    """Authors who signed the last completed LOCK, witnesses among them: more than half of them is a majority."""
    locked: int = 0
    """The step of that LOCK. Nothing before it can change any more."""
    state: State | None = None
    """The engine's, once the seats are drawn."""
    seats: tuple[int, ...] = ()
    """Author by seat."""
    left: tuple[int, ...] = ()
    """Authors who resigned or were found absent, ascending. Who is merely eliminated is not among them."""
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
    """If somebody was missing when the step before was closed: the CLOSE votes that say so, by author."""
    happened: tuple[tuple[Event, State], ...] = ()
    """What closing the step before made of the game, event by event, with the state after each input."""

    @property
    def witnesses(self) -> tuple[int, ...]:
        """Authors who are out of the game, of whom only LOCKs are wanted."""
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


class Outcome(Enum):
    """What became of a message that was not refused."""

    ADDED = "added"
    DUPLICATE = "duplicate"
    FUTURE = "future"
    """For a later step than the open one: keep it and offer it again."""
    LATE = "late"
    """For a step that was closed without it, on our history."""
    FOREIGN = "foreign"
    """For this match, but on another history: ask its sender for the step where it parts from ours."""


class Record:
    """The agreed history of one match and the messages of its open step.

    :raises MalformedGenesisError: if ``genesis_data`` is not a valid genesis.
    """

    def __init__(self, genesis_data: bytes) -> None:
        self.genesis = parse_genesis(genesis_data)
        self.genesis_data = genesis_data
        self.match = match_id(genesis_data)
        self.keys = tuple(PublicKey(record.join.match_key) for record in self.genesis.roster)
        everyone = tuple(range(len(self.keys)))
        first = Position(
            0, self.match, Purpose.FORMING, 0, Kind.LOCK, owed=everyone, base=everyone, lock=state_hash(None)
        )
        self.chain = [first]
        """The position before every step so far; the last one is open."""
        self.held: dict[int, Signed] = {}
        """The messages of the open step, by author."""
        self.results: dict[int, Signed] = {}
        """RESULT messages, by author, once the match has ended."""
        self._closes: list[Signed] = []
        """Votes to close the open step, while there are too few."""
        self._transition: _Transition | None = None
        """What the move that is held makes of the game."""

    @property
    def position(self) -> Position:
        """The open step."""
        return self.chain[-1]

    @property
    def players(self) -> int:
        """Size of the roster."""
        return len(self.keys)

    def missing(self) -> tuple[int, ...]:
        """Return the authors whose message the open step still lacks."""
        return tuple(author for author in self.position.owed if author not in self.held)

    def place(self, step: int) -> Place:
        """Return what a vote on a step, closed or open, is held against."""
        position = self.chain[step]
        staying = tuple(author for author in position.base if author not in position.left)
        return Place(step, position.tip, position.owed, position.base, staying)

    def closed(self, step: int) -> Entries | None:
        """Return the ids that a step was closed with, by owing author, empty for the missing; None if it is open."""
        if step + 1 >= len(self.chain):
            return None
        entries = self.chain[step + 1].entries
        return tuple(entries[author].id if author in entries else b"" for author in self.chain[step].owed)

    def fork(self, step: int) -> Record:
        """Return a record of the same match that shares this one's history up to ``step``, which is open in it."""
        twin = copy(self)
        twin.chain = self.chain[: step + 1]
        twin.held, twin.results, twin._closes, twin._transition = {}, {}, [], None
        return twin

    def check_signature(self, signed: Signed) -> Signed:
        """Return ``signed`` marked as checked.

        :raises RejectedMessageError: if the match, the author or the signature is not right.
        """
        message = signed.message
        if message.match != self.match:
            raise RejectedMessageError("a message of another match")
        if message.author >= len(self.keys):
            raise RejectedMessageError("a message by nobody in the roster")
        if signed.checked:
            return signed
        if not self.keys[message.author].verifies(signed.signature, signed.data):
            raise RejectedMessageError("the signature is wrong")
        return signed._replace(checked=True)

    def add(self, signed: Signed) -> Outcome:
        """Fold one message in; close the open step if it was the last one owed, or the last vote to close it without.

        :raises RejectedMessageError: if it does not belong here; nothing changes.
        :raises MisconductError: if its author proved to have broken the rules; nothing changes.
        """
        if signed.message.kind is Kind.CLOSE:
            return self._add_close(signed)
        outcome = self.hold(signed)
        if outcome is Outcome.ADDED and self.is_complete:
            self.close()
        return outcome

    def hold(self, signed: Signed) -> Outcome:
        """Check one message and keep it, if it is for the open step; close nothing.

        :raises RejectedMessageError: if it does not belong here; nothing changes.
        :raises MisconductError: if its author proved to have broken the rules; nothing changes.
        """
        message = signed.message
        position = self.chain[-1]
        if message.kind in VOTES:
            raise RejectedMessageError("a vote about a step is no part of it")
        if message.match == self.match and (known := self._slot(message.step, message.author)) is not None:
            if known.id == signed.id:
                return Outcome.DUPLICATE  # without the price of a signature check
            if known.message.tip == message.tip and message.kind is not Kind.RESULT:
                signed = self.check_signature(signed)
                raise MisconductError(message.author, message.step, "signed two messages for one slot", (known, signed))
        if message.step > position.step:
            return Outcome.FUTURE
        signed = self.check_signature(signed)
        if message.tip != self.chain[message.step].tip:
            return Outcome.FOREIGN
        if message.step < position.step:
            self._judge(self.chain[message.step], signed)
            return Outcome.LATE
        if position.purpose is Purpose.END:
            return self._add_result(signed)
        self._transition = self._judge(position, signed)
        self.held[message.author] = signed
        return Outcome.ADDED

    @property
    def is_complete(self) -> bool:
        """Everything that the open step is owed is there."""
        return len(self.held) == len(self.position.owed) and self.position.kind is not None

    def close(self) -> None:
        """Close the open step with all that is held for it."""
        entries = {author: self.held[author] for author in sorted(self.held)}
        self._close(entries, ())

    def close_without(self, closes: Sequence[Signed]) -> None:
        """Close the open step with what a majority of CLOSE votes names; what else is held for it is dropped.

        :param closes: by author, no more than a majority.
        :raises RejectedMessageError: if they are none, or what they name is not all held; nothing changes.
        """
        position = self.chain[-1]
        place = self.place(position.step)
        votes = [self.check_vote(signed) for signed in closes]
        voters = [vote.author for vote in votes]
        if voters != sorted(set(voters)) or len(votes) != len(position.base) // 2 + 1:
            raise RejectedMessageError("not a majority of votes, each once and in order")
        if len({(vote.tip, vote.is_close, vote.round, vote.entries) for vote in votes}) != 1 or not votes[0].is_close:
            raise RejectedMessageError("the votes to close the step differ")
        named = dict(zip(position.owed, votes[0].entries, strict=True))
        if votes[0].tip != position.tip or not leaves_majority(place, votes[0].entries):
            raise RejectedMessageError("the votes are not on this step, or leave no majority")
        ids = {author: signed.id for author, signed in self.held.items()}
        if any(entry and ids.get(author) != entry for author, entry in named.items()):
            raise RejectedMessageError("a message that the votes name is missing")
        entries = {author: self.held[author] for author in sorted(named) if named[author]}
        self._close(entries, tuple(closes) if len(entries) < len(named) else ())

    def check_vote(self, signed: Signed) -> Vote:
        """Return what an ABSENT or CLOSE on a step of this history says.

        :raises RejectedMessageError: if it is none, not rightly signed, or by nobody who votes on that step.
        """
        message = signed.message
        if message.kind not in VOTES or not 0 < message.step < len(self.chain):
            raise RejectedMessageError("not a vote on a step that was or is open")
        position = self.chain[message.step]
        signed = self.check_signature(signed)
        vote = read_vote(signed)
        if vote.tip != position.tip or vote.author not in position.base or len(vote.entries) != len(position.owed):
            raise RejectedMessageError("a vote that fits no step of this history")
        return vote

    def goes_through(self, place: Position | Message) -> bool:
        """Tell whether this history comes to the step, open or closed, that ``place`` is or is for."""
        return place.step < len(self.chain) and self.chain[place.step].tip == place.tip

    def adopt(self, other: Record) -> None:
        """Take over another history of this match, made by :meth:`fork`, and what is held for its open step.

        :raises ValueError: if it parts from this one before the last completed LOCK: what lies there is final.
        """
        if not other.goes_through(self.chain[self.position.locked]):
            raise ValueError("nothing behind a completed LOCK is dropped")
        self.chain, self.held, self.results = other.chain, other.held, other.results
        self._closes, self._transition = [], other._transition

    def _add_close(self, signed: Signed) -> Outcome:
        if signed.message.step > self.position.step:
            return Outcome.FUTURE
        if signed.message.step < self.position.step:
            raise RejectedMessageError("a vote on a step that is closed")
        vote = self.check_vote(signed)
        closes = [*self._closes, vote.source]
        if len(closes) > len(self.position.base) // 2:
            self.close_without(closes)
        else:
            self._closes = closes
        return Outcome.ADDED

    def _slot(self, step: int, author: int) -> Signed | None:
        if step + 1 < len(self.chain):
            return self.chain[step + 1].entries.get(author)
        if step + 1 == len(self.chain):
            return self.results.get(author) if self.position.purpose is Purpose.END else self.held.get(author)
        return None

    def _add_result(self, signed: Signed) -> Outcome:
        message = signed.message
        if message.kind is not Kind.RESULT:
            raise MisconductError(message.author, message.step, "sent a message after the end", (signed,))
        if message.body != self.position.lock:
            raise RejectedMessageError("a RESULT that names another end")
        self.results[message.author] = signed
        return Outcome.ADDED

    def _judge(self, position: Position, signed: Signed) -> _Transition | None:
        """Hold a signed message for the open step against the rules; return what a move makes of the game."""
        message = signed.message
        author = message.author
        body = message.body

        def misconduct(reason: str) -> MisconductError:
            return MisconductError(author, message.step, reason, (signed,))

        if author not in position.owed:
            raise misconduct("sent a message out of turn")
        if message.kind is Kind.RESIGN:
            if position.purpose is Purpose.FORMING:
                raise misconduct("resigned from a match that had not begun")
            return None
        if message.kind is not position.kind:
            assert position.kind is not None
            raise misconduct(f"sent {message.kind.name} where {position.kind.name} was due")
        if message.kind is Kind.LOCK:
            if body != position.lock:
                raise OtherStateError
        elif message.kind is Kind.MOVE:
            assert type(body) is str
            try:
                return _play(position, author, body)
            except RulesError as error:
                raise misconduct(f"illegal move: {error}") from None
        elif message.kind is Kind.COMMIT:
            if len(cast("tuple[bytes, ...]", body)) != COMMITMENTS[position.purpose]:
                raise misconduct("sent a COMMIT with a wrong number of commitments")
        elif message.kind is Kind.REVEAL:
            standing = position.standing
            assert standing is not None
            commitment = share_commitment(standing.context, author, cast("bytes", body))
            if commitment != standing.commitments[author][-1]:
                raise misconduct("revealed another share than the one committed to")
        elif message.kind is Kind.STAKE:
            standing = position.standing
            assert standing is not None
            bet, tickets, salt = cast("tuple[int, int, bytes]", body)
            if stake_commitment(standing.context, author, bet, tickets, salt) != standing.commitments[author][0]:
                raise misconduct("opened another stake than the one committed to")
            try:
                check_wager(wager(bet, tickets))
            except RulesError as error:
                raise misconduct(f"illegal stake: {error}") from None
        else:
            deal = position.deal
            assert deal is not None
            assert message.kind is Kind.OPEN
            hand_key = cast("tuple[bytes, ...]", body)[0]
            if hand_commitment(deal.context, author, hand_key) != deal.commitments[author]:
                raise misconduct("opened another hand key than the one committed to")
        return None

    def _close(self, entries: Mapping[int, Signed], certificate: tuple[Signed, ...]) -> None:
        position = self.chain[-1]
        transition = self._transition
        if transition is None and position.kind is Kind.MOVE:
            transition = next((self._judge(position, signed) for signed in entries.values()), None)
        self.chain.append(_advance(self, position, entries, transition)._replace(certificate=certificate))
        self.held, self._closes, self._transition = {}, [], None


_Transition = tuple[State, tuple[Event, ...]]


def _play(position: Position, author: int, text: str) -> _Transition:
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

    def follow(self, transition: _Transition) -> None:
        self.state, events = transition
        self.happened += [(event, self.state) for event in events]

    def leave(self, seats: tuple[int, ...], entries: Mapping[int, Signed], leavers: tuple[int, ...]) -> None:
        """Take out who resigned or was found absent, in the order of seats, unless the game ended before."""
        for seat, author in enumerate(seats):
            if author not in leavers or self.state is None or self.state.expects.kind is Expect.OVER:
                continue
            if seat in self.state.live:  # witnesses are out already
                self.feed(Play(seat, Concede()) if author in entries else Evict(seat))


def _advance(
    record: Record, position: Position, entries: Mapping[int, Signed], transition: _Transition | None
) -> Position:
    """Return the position after ``position`` was closed with these messages."""
    players = record.players
    ids = (entries[author].id if author in entries else b"" for author in range(players))
    step = position.step + 1
    tip = tagged_hash("step", position.tip, position.step, *ids)
    given = {author: signed.message.body for author, signed in entries.items() if signed.message.kind is position.kind}
    leavers = tuple(author for author in position.owed if author not in given)
    context = Context(record.match, position.step, position.tip)

    game = _Game(position.state)
    seats, deal = position.seats, position.deal
    standing, riding = position.standing, position.riding
    left = tuple(sorted((*position.left, *leavers)))
    game.leave(seats, entries, leavers)
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
        game.state = new_match(record.genesis.ruleset, players)
        if game.state.expects.kind is Expect.PLEDGES:
            game.feed(Pledges(tuple(record.genesis.roster[author].join.pledge for author in seats)))
        game.leave(seats, {}, left)

    state = game.state
    is_lock = position.kind is Kind.LOCK
    base = tuple(given) if is_lock else position.base
    locked = position.step if is_lock else position.locked
    purpose, stage = _next_stage(position, state, riding, is_spoilt)
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
        owed = tuple(author for author in range(players) if author not in left)
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
        locked,
        state,
        seats,
        left,
        standing,
        riding,
        deal,
        lock,
        entries,
        happened=happened,
    )


_ROLLS: Final = (Purpose.SEATING, Purpose.DEAL, Purpose.PUBLIC_DIE)


def _next_stage(
    position: Position, state: State | None, riding: Standing | None, is_spoilt: bool
) -> tuple[Purpose, int]:
    """Return the purpose of the next step and its stage in that purpose's script."""
    purpose = Purpose.SEATING if state is None else FOR[state.expects.kind]
    if purpose is position.purpose and position.kind in (Kind.COMMIT, Kind.LOCK) and not is_spoilt:
        return purpose, position.stage + 1  # the script goes on
    if purpose is Purpose.DEAL and riding is not None:
        return purpose, SCRIPTS[purpose].index(Kind.LOCK)  # the commitments came with the last showdown
    return purpose, 0
