"""The kinds of messages, and the scripts composed of them.

========  =========================================  =======  ================================  =======================
kind      who owes it                                stage    body                              fold
========  =========================================  =======  ================================  =======================
COMMIT    the players in the game                    COMMIT   1 or 2 commitments                keeps them
LOCK      those in the game at the last LOCK         LOCK     the state hash                    begins a segment
REVEAL    the players in the game                    OPEN     a share, witnesses' signatures    draws seats or rolls
STAKE     the players in the game                    OPEN     bet, tickets, salt                sets the stakes
MOVE      the player whose turn it is                CHOOSE   text                              plays it
OPEN      the players in the game                    OPEN     hand key, 2 commitments,          shows the hands, keeps
                                                              witnesses' signatures             the commitments
RESIGN    nobody; replaces an owed message                    nothing                           its author is out
WITNESS   nobody; beside a LOCK                               the state hash
RESULT    nobody; after the last step                         the end
ABSENT    nobody; a vote on a root                            round, value, earlier round
CLOSE     nobody; a vote on a root                            round, value or none
========  =========================================  =======  ================================  =======================

:data:`SCRIPTS` lists the kinds that each purpose takes, in order. Each kind is a class, its
:class:`~protocol.consensus.rule.Rule`, which defines how a body is shaped, judged, folded and produced.
``docs/architecture.md`` lists what to change for a new kind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeGuard, cast

from p2pdice.engine import apply
from p2pdice.errors import RulesError
from p2pdice.events import Transition
from p2pdice.moves import Bid, Concede, Hands, Play, Roll, Rolled, Stakes, Wager, parse_move
from p2pdice.plurals import plural
from p2pdice.stakes import check_wager
from p2pdice.state import Expect, State, plain
from protocol.consensus.position import Commitments, Deal, Lock, Position, Purpose, Stage
from protocol.consensus.rule import (
    Closing,
    HistoryView,
    LostStakeError,
    MisconductError,
    OtherStateError,
    Rule,
    Secrets,
    Slot,
    feed,
    follow,
    is_hash,
    listed,
    short,
)
from protocol.crypto.hashing import (
    HASH_BYTES,
    beacon,
    hand_commitment,
    public_die,
    seating,
    share_commitment,
    stake_commitment,
    tagged_hash,
)
from protocol.crypto.keys import SIGNATURE_BYTES
from protocol.limits import MESSAGE, MOVE_CHARACTERS, PLAYERS, STEPS
from protocol.wire.canonical import NotCanonicalError, Value, decode, encode
from protocol.wire.genesis import Genesis
from protocol.wire.messages import MESSAGE_TAG, VOTES, Kind, MalformedMessageError, Message, Signed, message_id

_ROLL: Final = (Kind.COMMIT, Kind.LOCK, Kind.REVEAL)
SCRIPTS: Final[dict[Purpose, tuple[int, ...]]] = {
    Purpose.FORMING: (Kind.LOCK,),
    Purpose.SEATING: _ROLL,
    Purpose.STAKES: (Kind.COMMIT, Kind.LOCK, Kind.STAKE),
    Purpose.DEAL: _ROLL,
    Purpose.TURN: (Kind.MOVE,),
    Purpose.PUBLIC_DIE: _ROLL,
    Purpose.SHOWDOWN: (Kind.LOCK, Kind.OPEN),
    Purpose.ENDING: (Kind.LOCK,),
    Purpose.END: (),
}
"""The kinds of message that each purpose takes, in order."""
COMMITMENTS: Final[Mapping[Purpose, int]] = {
    Purpose.SEATING: 1,
    Purpose.DEAL: 2,
    Purpose.PUBLIC_DIE: 1,
    Purpose.STAKES: 1,
}
"""The number of commitments in a COMMIT for each purpose: to (share), (hand key, share) or (stake)."""
CARRIED: Final = 1 + SIGNATURE_BYTES
"""The size in bytes of one witness's signature in a REVEAL or OPEN: a roster index and the signature."""


def state_hash(state: State | None) -> bytes:
    """Return the state hash for a LOCK's body: the hash of the engine's public state, or of an empty value before the
    seats are drawn.

    :func:`p2pdice.state.plain` lists that state item by item: options, round, bids, shown hands, exits and so on. It
    contains no dice that are still covered.
    """
    return tagged_hash("state", encode(() if state is None else plain(state)))


# Commitments and their openings


def _dice_commitments(position: Position, secrets: Secrets, count: int) -> tuple[bytes, ...]:
    """Return commitments to the node's secrets for the next dice: (share) or (hand key, share)."""
    context, author = secrets.context(position), secrets.author
    share = share_commitment(context, author, secrets.secret(context, "share"))
    if count == 1:
        return (share,)
    return hand_commitment(context, author, secrets.secret(context, "hand")), share


def _check_opening(signed: Signed, due: bytes, commitment: bytes, broken: str) -> None:
    """Check that an opening matches its commitment.

    :raises MisconductError: if it does not.
    """
    if commitment != due:
        opened = f"committed to {short(due)}, opened {short(commitment)}"
        raise MisconductError.of(signed, f"{broken} than the one committed to: {opened}")


class CommitRule(Rule[tuple[bytes, ...]]):
    """A body (commitment…): to the share of a joint roll, to the hand key and share of a deal, or to a stake."""

    kind = Kind.COMMIT
    shape = "array of 1 or 2 byte strings of 32 bytes"
    stage = Stage.COMMIT
    choices = (Purpose.STAKES,)
    task = "commit"

    def fits(self, body: object) -> bool:
        return type(body) is tuple and len(body) in (1, 2) and all(map(is_hash, body))

    def deed(self, body: tuple[bytes, ...]) -> str:
        return f"committed to {listed(body)}"

    def judge(self, history: HistoryView, position: Position, signed: Signed, body: tuple[bytes, ...]) -> None:
        if len(body) != COMMITMENTS[position.purpose]:
            raise MisconductError.of(signed, "sent a COMMIT with a wrong number of commitments")

    def fold(self, closing: Closing[tuple[bytes, ...]], position: Position) -> Position:
        return position._replace(committed=Commitments(closing.context, closing.bodies))

    def produce(self, position: Position, secrets: Secrets) -> tuple[bytes, ...] | None:
        if position.purpose is not Purpose.STAKES:
            return _dice_commitments(position, secrets, COMMITMENTS[position.purpose])
        stake = secrets.stake(position)
        if stake is None:
            return None
        context = secrets.context(position)
        salt = secrets.secret(context, "stake")
        return (stake_commitment(context, secrets.author, stake.bet, stake.tickets, salt),)


class RevealRule(Rule[bytes]):
    """A body with the committed share, followed by witnesses' signatures. All shares together determine the dice."""

    kind = Kind.REVEAL
    shape = "byte string of 32 bytes, and 65 for each signature, ascending by roster index"
    stage = Stage.OPEN
    task = "reveal a share of the dice"

    def fits(self, body: object) -> bool:
        return type(body) is bytes and len(body) >= HASH_BYTES and _are_carried(body[HASH_BYTES:])

    def deed(self, body: bytes) -> str:
        return f"revealed the share {short(body[:HASH_BYTES])}"

    def judge(self, history: HistoryView, position: Position, signed: Signed, body: bytes) -> None:
        assert position.committed is not None
        (context, commitments), author = position.committed, signed.message.author
        opened = share_commitment(context, author, body[:HASH_BYTES])
        _check_opening(signed, commitments[author][-1], opened, "revealed another share")
        _judge_carried(history, position, signed, body[HASH_BYTES:])

    def fold(self, closing: Closing[bytes], position: Position) -> Position:
        position = _note_carried(position, (body[HASH_BYTES:] for body in closing.bodies.values()))
        if closing.is_spoilt:
            return position
        assert position.committed is not None
        context, commitments = position.committed
        joint = beacon(context, {author: body[:HASH_BYTES] for author, body in closing.bodies.items()})
        if position.purpose is Purpose.SEATING:
            return position._replace(seats=seating(joint, len(closing.genesis.roster)))
        if position.purpose is Purpose.PUBLIC_DIE:
            return feed(position, Roll(public_die(joint)))
        hand_keys = {author: commitments[author][0] for author in closing.bodies}
        return feed(position._replace(deal=Deal(context, joint, hand_keys)), Rolled())

    def binds(self, position: Position, witnessed: Collection[int]) -> bool:
        return _may_carry_more(position, witnessed)

    def produce(self, position: Position, secrets: Secrets) -> bytes:
        assert position.committed is not None
        return secrets.secret(position.committed.context, "share") + secrets.countersignatures()


class OpenRule(Rule[tuple[bytes, ...]]):
    """A body (hand key, commitments to the next deal…, witnesses' signatures), which shows a hand at a showdown."""

    kind = Kind.OPEN
    shape = "array of 3 byte strings of 32 bytes, and one with 65 for each signature, ascending by roster index"
    stage = Stage.OPEN
    task = "open the dice"

    def fits(self, body: object) -> bool:
        if type(body) is not tuple or len(body) != 2 + COMMITMENTS[Purpose.DEAL]:
            return False
        return all(map(is_hash, body[:-1])) and _are_carried(body[-1])

    def deed(self, body: tuple[bytes, ...]) -> str:
        return f"opened the hand key {short(body[0])} and committed to {listed(body[1:-1])}"

    def judge(self, history: HistoryView, position: Position, signed: Signed, body: tuple[bytes, ...]) -> None:
        deal, author = position.deal, signed.message.author
        assert deal is not None
        opened = hand_commitment(deal.context, author, body[0])
        _check_opening(signed, deal.commitments[author], opened, "opened another hand key")
        _judge_carried(history, position, signed, body[-1])

    def fold(self, closing: Closing[tuple[bytes, ...]], position: Position) -> Position:
        state, bodies = position.state, closing.bodies
        position = _note_carried(position, (body[-1] for body in bodies.values()))
        if state is not None and state.expects.kind is Expect.HANDS:
            hands = tuple(
                closing.before.hand(author, bodies[author][0])
                if author in bodies
                else (None if state.dice[seat] else ())
                for seat, author in enumerate(position.seats)
            )
            position = feed(position, Hands(hands))
        ahead = Commitments(closing.context, {author: body[1:-1] for author, body in bodies.items()})
        return position._replace(committed_ahead=ahead, deal=None)

    def binds(self, position: Position, witnessed: Collection[int]) -> bool:
        return _may_carry_more(position, witnessed)

    def produce(self, position: Position, secrets: Secrets) -> tuple[bytes, ...]:
        assert position.deal is not None
        hand_key = secrets.secret(position.deal.context, "hand")
        commitments = _dice_commitments(position, secrets, COMMITMENTS[Purpose.DEAL])
        return hand_key, *commitments, secrets.countersignatures()

    def hand_key(self, body: tuple[bytes, ...]) -> bytes:
        return body[0]


class StakeRule(Rule[tuple[int, int, bytes]]):
    """A body (bet in coins, run tickets, salt), which opens a stake."""

    kind = Kind.STAKE
    shape = "array of two integers from 0 to 2^63-1 and a byte string of 32 bytes"
    stage = Stage.OPEN
    task = "open a stake"

    def fits(self, body: object) -> bool:
        return (
            type(body) is tuple
            and len(body) == 3
            and all(type(amount) is int and 0 <= amount < 2**63 for amount in body[:2])
            and is_hash(body[2])
        )

    def deed(self, body: tuple[int, int, bytes]) -> str:
        return f"staked {body[0]} {plural(body[0], 'coin')} and {body[1]} {plural(body[1], 'ticket')}"

    def judge(self, history: HistoryView, position: Position, signed: Signed, body: tuple[int, int, bytes]) -> None:
        assert position.committed is not None
        (context, commitments), author = position.committed, signed.message.author
        _check_opening(signed, commitments[author][0], stake_commitment(context, author, *body), "opened another stake")
        try:
            check_wager(_wager(history.genesis, author, body))
        except RulesError as error:
            raise MisconductError.of(signed, f"illegal stake: {error}") from None

    def fold(self, closing: Closing[tuple[int, int, bytes]], position: Position) -> Position:
        if position.state is None or position.state.expects.kind is not Expect.STAKES:
            return position
        given, genesis = closing.bodies, closing.genesis
        wagers = (_wager(genesis, each, given[each]) if each in given else None for each in position.seats)
        return feed(position, Stakes(tuple(wagers)))

    def produce(self, position: Position, secrets: Secrets) -> tuple[int, int, bytes]:
        assert position.committed is not None
        context = position.committed.context
        stake = secrets.sealed(context)
        if stake is None:
            raise LostStakeError
        secrets.open_stake(stake)
        return stake.bet, stake.tickets, secrets.secret(context, "stake")


def _wager(genesis: Genesis, author: int, body: tuple[int, int, bytes]) -> Wager:
    """Return a player's stake together with the holdings that it comes from, unchecked."""
    funds, owned = genesis.funds(author)
    return Wager(body[0], funds, body[1], owned)


# Moves


def play(position: Position, author: int, text: str) -> Transition:
    """Return the transition that a move causes in the game.

    :raises RulesError: if the move is illegal or its spelling is not canonical.
    """
    assert position.state is not None
    move = parse_move(text)
    if str(move) != text:
        raise RulesError(f"{text!r} is not the canonical spelling {str(move)!r}")
    if isinstance(move, Concede):
        raise RulesError("conceding is a RESIGN, not a move")
    return apply(position.state, Play(position.seats.index(author), move))


class MoveRule(Rule[str]):
    """A body with the text of a move, in the canonical spelling that the engine prints."""

    kind = Kind.MOVE
    shape = f"text of 1 to {MOVE_CHARACTERS} characters"
    stage = Stage.CHOOSE
    task = "move"

    def fits(self, body: object) -> bool:
        return type(body) is str and 0 < len(body) <= MOVE_CHARACTERS

    def deed(self, body: str) -> str:
        try:
            is_bid = isinstance(parse_move(body), Bid)
        except RulesError:
            is_bid = False
        return f"bid {body}" if is_bid else f'said "{body}"'

    def owed(self, state: State | None, seats: tuple[int, ...], players: tuple[int, ...]) -> tuple[int, ...]:
        assert state is not None
        return (seats[state.turn],)

    def judge(self, history: HistoryView, position: Position, signed: Signed, body: str) -> Transition:
        try:
            return play(position, signed.message.author, body)
        except RulesError as error:
            raise MisconductError.of(signed, f"illegal move: {error}") from None

    def fold(self, closing: Closing[str], position: Position) -> Position:
        for author, text in closing.bodies.items():
            position = follow(position, closing.transition or play(position, author, text))
        return position

    def produce(self, position: Position, secrets: Secrets) -> str | None:
        return secrets.move(position)


class ResignRule(Rule[tuple[()]]):
    """An empty body, (). A RESIGN fills its author's slot in any ordinary step; the author leaves when it closes."""

    kind = Kind.RESIGN
    slot = Slot.ANY_STEP
    shape = "empty array"

    def fits(self, body: object) -> bool:
        return body == ()

    def deed(self, body: tuple[()]) -> str:
        return "gave up"

    def produce(self, position: Position, secrets: Secrets) -> tuple[()]:
        return ()


# Signatures under a state


class _HashRule(Rule[bytes]):
    """A body with the hash of an engine state."""

    shape = "byte string of 32 bytes"

    def fits(self, body: object) -> bool:
        return is_hash(body)

    def produce(self, position: Position, secrets: Secrets) -> bytes:
        return position.signed_hash


class LockRule(_HashRule):
    """A body with the hash of the engine's state. It confirms that its author has the same history and state."""

    kind = Kind.LOCK
    stage = Stage.LOCK
    task = "confirm the history"

    def deed(self, body: bytes) -> str:
        return f"locked the state {short(body)}"

    def owed(self, state: State | None, seats: tuple[int, ...], players: tuple[int, ...]) -> tuple[int, ...]:
        """Return the authors who owe a LOCK, including players who went out since the previous LOCK."""
        return players

    def judge(self, history: HistoryView, position: Position, signed: Signed, body: bytes) -> None:
        if body != position.signed_hash:
            raise OtherStateError

    def fold(self, closing: Closing[bytes], position: Position) -> Position:
        """Begin a segment: determine who may vote in it and who owes the next LOCK."""
        players, left = position.players, position.left
        is_ending = position.purpose is Purpose.ENDING
        return position._replace(
            base=tuple(sorted({*players, *position.carried}.union(*position.owed_locks).difference(left))),
            owed_locks=(players, *position.owed_locks[:1]),
            carried=(),
            locks=(*position.locks[-1:], Lock(position.step, position.tip, position.signed_hash)),
            players=players if is_ending else tuple(author for author in position.live if author not in left),
        )


class WitnessRule(_HashRule):
    """A body with the hash that a LOCK signs, outside the history. Its author is out of the game, but keeps a vote.

    REVEAL and OPEN directly follow a LOCK. They carry the witnesses' signatures under the LOCK before that one, so the
    history alone determines the next base.
    """

    kind = Kind.WITNESS
    slot = Slot.WITNESS

    def binds(self, position: Position, witnessed: Collection[int]) -> bool:
        return False

    def deed(self, body: bytes) -> str:
        return f"witnessed the state {short(body)}"


def _may_carry_more(position: Position, witnessed: Collection[int]) -> bool:
    """Return whether a REVEAL or OPEN can carry signatures of witnesses other than these."""
    return not {*position.out}.issubset((*position.left, *witnessed))


def _are_carried(value: object) -> TypeGuard[bytes]:
    """Return whether a value is a series of (roster index, signature), in strictly ascending order of the indices."""
    if type(value) is not bytes or len(value) % CARRIED:
        return False
    return value[::CARRIED] == bytes(sorted({*value[::CARRIED]}))


def _judge_carried(history: HistoryView, position: Position, signed: Signed, value: bytes) -> None:
    """Judge the witnesses' signatures that a message carries.

    :raises MisconductError: if one of them is not a witness's signature.
    """
    for start in range(0, len(value), CARRIED):
        if not history.is_countersigned(position, value[start], value[start + 1 : start + CARRIED]):
            raise MisconductError.of(signed, "carried a signature that is not a witness's")


def _note_carried(position: Position, values: Iterable[bytes]) -> Position:
    """Add the witnesses whose signatures these messages carry to the next base."""
    carried = {author for value in values for author in value[::CARRIED]}
    return position._replace(carried=tuple(sorted(carried.union(position.carried)))) if carried else position


class ResultRule(_HashRule):
    """A body with the hash of the last state; in a match with purses, with the hash of that and the account. RESULT is
    outside the history. A wrong hash shows that a program has a bug."""

    kind = Kind.RESULT
    slot = Slot.END

    def deed(self, body: bytes) -> str:
        return f"confirmed the end {short(body)}"

    def judge(self, history: HistoryView, position: Position, signed: Signed, body: bytes) -> None:
        if position.purpose is not Purpose.END:
            raise OtherStateError("a RESULT before the end of the match")
        if signed.message.author in position.resigned:
            raise OtherStateError("a RESULT of a player who has resigned")
        if body != position.signed_hash:
            raise OtherStateError


# Votes to continue without a player. SPEC.md, §6 has the rules; protocol.consensus.ballot counts them.

Entries = tuple[bytes, ...]
"""The message id of each author who owes an ordinary step, in ascending order of authors; empty for a hole."""


class VoteValue(NamedTuple):
    """What a vote proposes: to close a step in a given way. Only full steps lie between the root and that step."""

    step: int
    tip: bytes
    """The tip before the step that should close."""
    entries: Entries | bytes
    """The message ids for an ordinary step. For a LOCK, its state hash: the LOCK then closes, and nobody is evicted."""

    def order(self) -> bytes:
        """Return the encoding by which values are compared."""
        return encode(tuple(self))


class Vote(NamedTuple):
    """One ABSENT or CLOSE."""

    root_tip: bytes
    """The tip of the root that the vote is on."""
    author: int
    is_close: bool
    round: int
    value: VoteValue | None
    """None for a CLOSE that only ends its round."""
    polka_round: int = -1
    """In an ABSENT, the round of the leading polka, whose value the author must vote for; -1 for none."""
    source: Signed | None = None
    """The signed message; None while the vote is unsigned."""

    @property
    def signed(self) -> Signed:
        """The signed message that carries the vote; only for votes that are signed."""
        assert self.source is not None
        return self.source


class AbsentRule(Rule[tuple[int, tuple[int, bytes, Entries | bytes], int]]):
    """A body (round, value, polka round): a proposal to close a step; see :attr:`Vote.polka_round`."""

    kind = Kind.ABSENT
    slot = Slot.VOTE
    shape = "array of a round, a value (step, tip, entries or state hash), and an earlier round or -1"

    def fits(self, body: object) -> bool:
        if type(body) is not tuple or len(body) != 3 or not _is_number(body[0]) or not _is_value(body[1]):
            return False
        return type(body[2]) is int and -1 <= body[2] < body[0]

    def deed(self, body: tuple[int, tuple[int, bytes, Entries | bytes], int]) -> str:
        return f"voted in round {body[0]} that {_told(body[1])}"


class CloseRule(Rule[tuple[int, tuple[int, bytes, Entries | bytes] | tuple[()]]]):
    """A body (round, value): a vote for a value that a majority's ABSENTs named in this round, or, with an empty value,
    to end the round."""

    kind = Kind.CLOSE
    slot = Slot.VOTE
    shape = "array of a round and a value (step, tip, entries or state hash), or an empty array"

    def fits(self, body: object) -> bool:
        if type(body) is not tuple or len(body) != 2 or not _is_number(body[0]):
            return False
        return body[1] == () or _is_value(body[1])

    def deed(self, body: tuple[int, tuple[int, bytes, Entries | bytes] | tuple[()]]) -> str:
        return f"closed round {body[0]} of votes: {_told(body[1])}" if body[1] else f"ended round {body[0]} of votes"


def _is_number(value: object) -> bool:
    """Return whether a value can be the number of a voting round or of a step."""
    return type(value) is int and 0 <= value < 2**32


def _is_value(value: object) -> bool:
    """Return whether this has the shape of a vote's value: a step, its tip, and its entries or state hash."""
    if type(value) is not tuple or len(value) != 3 or not _is_number(value[0]) or not is_hash(value[1]):
        return False
    entries = value[2]
    if type(entries) is not tuple:
        return is_hash(entries)
    return 0 < len(entries) <= PLAYERS and all(type(each) is bytes and len(each) in (0, HASH_BYTES) for each in entries)


def _told(value: tuple[int, bytes, Entries | bytes]) -> str:
    """Return a vote's value in words."""
    entries = value[2]
    return f"step {value[0]} holds {listed(entries) if isinstance(entries, tuple) else f'the state {short(entries)}'}"


def read_vote(signed: Signed) -> Vote:
    """Return the vote in a message of one of the kinds :data:`~protocol.wire.messages.VOTES`."""
    message = signed.message
    number, value, *polka_round = cast("tuple[Any, ...]", message.body)
    named = VoteValue(*value) if value else None
    is_close = message.kind is Kind.CLOSE
    return Vote(message.tip, message.author, is_close, number, named, -1 if is_close else polka_round[0], signed)


def spell_vote(vote: Vote) -> tuple[Kind, Value]:
    """Return the kind and body of the message that carries a vote."""
    value = () if vote.value is None else tuple(vote.value)
    return (Kind.CLOSE, (vote.round, value)) if vote.is_close else (Kind.ABSENT, (vote.round, value, vote.polka_round))


# All kinds

RULES: Final[dict[int, Rule[Any]]] = {
    rule.kind: rule
    for rule in (
        CommitRule(),
        LockRule(),
        RevealRule(),
        MoveRule(),
        OpenRule(),
        ResignRule(),
        ResultRule(),
        StakeRule(),
        AbsentRule(),
        CloseRule(),
        WitnessRule(),
    )
}
"""The rule of each kind, by the kind's number on the wire."""


def stage_of(position: Position) -> Stage:
    """Return the stage of the open step, which is the duty of each player who owes it a message."""
    if position.kind is None:
        return Stage.CONFIRM
    rule = RULES[position.kind]
    return Stage.CHOOSE if position.purpose in rule.choices else rule.stage


def deed(message: Message) -> str:
    """Return a phrase for what the author did by signing a message, to follow the author's name in a sentence.

    The phrase may quote text by the author: escape it before display.
    """
    return RULES[message.kind].deed(message.body)


def parse_signed(data: bytes, signature: bytes) -> Signed:
    """Return the message encoded in ``data``. The length of the signature is checked, its validity is not.

    :raises MalformedMessageError: if the bytes are not canonical or do not have the shape of a message.
    """
    if len(data) > MESSAGE:
        raise MalformedMessageError(f"no message has more than {MESSAGE} bytes")
    try:
        value = decode(data)
    except NotCanonicalError as error:
        raise MalformedMessageError(str(error)) from None
    if len(signature) != SIGNATURE_BYTES:
        raise MalformedMessageError(f"a signature has {SIGNATURE_BYTES} bytes")
    if type(value) is not tuple or len(value) != 7 or value[0] != MESSAGE_TAG:
        raise MalformedMessageError("not a message of this protocol version")
    _, match, step, tip, author, kind, body = value
    if not (is_hash(match) and is_hash(tip) and type(step) is int and type(author) is int and type(kind) is int):
        raise MalformedMessageError("a field of the message has the wrong type")
    if not 0 <= step < STEPS or not 0 <= author < 256:
        raise MalformedMessageError("a number of the message is out of range")
    rule = RULES.get(kind)
    if rule is None:
        raise MalformedMessageError(f"there is no kind {kind}")
    if not rule.fits(body):
        raise MalformedMessageError(f"the body of {rule.name} must be: {rule.shape}")
    message = Message(match, step, tip, author, rule.kind, body)
    return Signed(data, signature, message, message_id(data))


# Contradictions. SPEC.md, §5 has the rules.


def contradiction(first: Signed, second: Signed) -> str:
    """Return how two messages of one author contradict each other, in words; empty if they do not.

    A contradiction proves misconduct without any history. An honest player signs one message for each *slot*. A vote's
    slot is (match, step, tip, author, kind, round); the slot of any other message in the history is (match, step, tip,
    author). Also, the author of a CLOSE never votes ABSENT for another value in a later round, unless that ABSENT names
    a newer polka. And a player signs one RESULT in a match.

    The caller checks the signatures.
    """
    one, other = first.message, second.message
    if first.id == second.id or (one.match, one.author) != (other.match, other.author):
        return ""
    if one.kind is other.kind is Kind.RESULT:
        reason = "signed two ends of one match" if one.body != other.body else ""
    elif one[:4] != other[:4]:
        return ""
    elif one.kind in VOTES and other.kind in VOTES:
        reason = vote_contradiction(read_vote(first), read_vote(second))
    else:
        is_history = {RULES[one.kind].slot, RULES[other.kind].slot} <= {Slot.STEP, Slot.ANY_STEP}
        reason = "signed two messages for one slot" if is_history else ""
    if not reason:
        return ""
    said, also = deed(one), deed(other)
    if said == also:  # the descriptions omit the bytes that differ
        said, also = f"{said} (message {short(first.id)})", f"{also} (message {short(second.id)})"
    joint = " and" if one.kind is Kind.RESULT else ", and in the same place"
    return f"{reason}: {said}{joint} {also}"


def vote_contradiction(one: Vote, other: Vote) -> str:
    """Return how two votes of one author on one root contradict each other, in words; empty if they do not."""
    if one.is_close is other.is_close:
        is_compatible = one.round != other.round or (one.value, one.polka_round) == (other.value, other.polka_round)
        return "" if is_compatible else "voted twice in one round"
    close, absent = (one, other) if one.is_close else (other, one)
    if close.value is not None and absent.polka_round < close.round < absent.round and absent.value != close.value:
        return "voted against their own vote to go on"
    return ""
