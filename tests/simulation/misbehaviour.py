"""Cheats. Each class changes one thing that an otherwise honest node signs, sends or withholds.

A cheat has the keys and secrets of one player, and all that this player's node receives. It cannot sign for others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Final

from p2pdice.engine import apply
from p2pdice.errors import RulesError
from p2pdice.moves import Play, parse_move
from p2pdice.rulesets import Ruleset
from p2pdice.stakes import NEWCOMER_COINS
from p2pdice.views import view
from protocol import limits
from protocol.consensus.kinds import COMMITMENTS, Vote, VoteValue, parse_signed, read_vote, spell_vote
from protocol.consensus.position import FORMED, Position, Purpose
from protocol.consensus.rule import MisconductError, RejectedMessageError
from protocol.crypto.hashing import Context, hand_commitment, share_commitment, stake_commitment
from protocol.crypto.keys import Identity, MatchKey
from protocol.match.effects import Broadcast, Conceded
from protocol.match.match import Match
from protocol.rate_limit import Buckets
from protocol.wire.canonical import Value
from protocol.wire.frames import Carried, Frame, Hello, MatchAim, Page, encode_frame
from protocol.wire.genesis import Genesis, make_join_record
from protocol.wire.messages import VOTES, Kind, Message, Signed, sign

if TYPE_CHECKING:
    from tests.simulation.machine import Machine


class BentMatch(Match):
    """The real class, except that a cheat decides what it signs."""

    cheat: Misbehaviour

    def __init__(self, cheat: Misbehaviour, *arguments: Any, host: int, **options: Any) -> None:
        self.cheat = cheat
        self._given_up = -1
        """The step for which the cheat signed a message that its own node rejects."""
        super().__init__(*arguments, host=host, **options)
        if cheat.signs_early:
            self.signer.is_host = False

    def _do_what_is_owed(self) -> bool:
        position = self.history.position
        if self._given_up == position.step or self.cheat.withholds(position):
            return False
        return super()._do_what_is_owed()

    def _sign(self, kind: int, body: Value) -> None:
        position = self.history.position
        body = self.cheat.body(self, kind, body)
        signed = self.cheat.sign(kind, body)
        try:
            if position.kind is not None:
                self.history.judge(position, signed)
        except (MisconductError, RejectedMessageError):
            self._given_up = position.step
            self._effects.append(Broadcast(Carried(*signed.wire)))
        else:
            super()._sign(kind, body)


class Cheat:
    """Base class of all cheats."""

    least: ClassVar = 2
    """The smallest number of players."""
    is_proven: ClassVar = False
    """Whether honest nodes that stay connected can prove who cheats."""
    hosts: ClassVar[bool | None] = None
    """Whether the culprit must be the host (True) or a guest (False); None for either."""

    @classmethod
    def suits(cls, ruleset: Ruleset) -> bool:
        """Return whether it can cheat under these rules."""
        return True


class Misbehaviour(Cheat):
    """Base class of cheats during a match.

    :param machine: the node that cheats.
    """

    may_stop: ClassVar = False
    """Whether the match may stop until an honest majority votes the culprit out."""
    signs_early: ClassVar = False
    """Whether, as the host, it does not wait with its COMMIT for those of all guests."""
    stands: Position | None = None
    """A position that must remain part of every honest node's history."""

    def __init__(self, machine: Machine, stream: Random) -> None:
        self.machine = machine
        self.random = stream
        self.acted = 0
        """How often it has cheated."""
        self.patient = stream.choice((0, 0, 1, 3))
        """How many opportunities to cheat it lets pass."""
        others = [author for author in range(machine.world.plan.players) if author != machine.author]
        stream.shuffle(others)
        self.others = tuple(others)
        self.fooled = tuple(sorted(others[: stream.randrange(1, len(others))] if len(others) > 1 else others))
        """The players to whom it shows something different."""

    # Hooks for subclasses

    def withholds(self, position: Position) -> bool:
        """Return whether it signs nothing in this step for now."""
        return False

    def body(self, match: Match, kind: int, body: Value) -> Value:
        """Return the body to sign instead of this one."""
        return body

    def outgoing(self, author: int, frame: Frame) -> Iterable[Frame | bytes]:
        """Yield the frames to send to a player instead of this one. Bytes are sent unchanged."""
        yield frame

    def noticed(self) -> None:
        """Called after every event of the world."""

    def is_detectable(self) -> bool:
        """Return whether honest players must have noticed the cheating by now."""
        return self.is_proven

    def delay(self) -> float:
        """Return by how many seconds every frame is delayed."""
        return 0.0

    # Helpers for subclasses

    @property
    def is_there(self) -> bool:
        """Whether its process runs and takes part in the match."""
        return self.machine.process.is_listening and self.machine.match is not None

    @property
    def match(self) -> Match:
        assert self.machine.match is not None
        return self.machine.match

    @property
    def position(self) -> Position:
        return self.match.history.position

    def has_come(self) -> bool:
        """Return whether to cheat at this opportunity. Each call counts as one opportunity."""
        self.patient -= 1
        return self.patient < 0

    def sign(self, kind: int, body: Value, *, at: tuple[int, bytes] | None = None, **changes: Any) -> Signed:
        """Sign a message as this player.

        :param at: (step, tip); the open step by default.
        :param changes: other fields of the message to change.
        """
        step, tip = at or (self.position.step, self.position.tip)
        message = Message(self.match.history.match, step, tip, self.machine.author, kind, body)._replace(**changes)
        return sign(message, MatchKey(self.machine.world.seeds[self.machine.author]))

    def spread(self, data: Signed | Frame | bytes, to: Iterable[int] | None = None) -> None:
        """Send a message or frame directly, so that the own node does not know of it.

        :param to: authors; all others by default.
        """
        self.acted += 1
        if isinstance(data, Signed):
            data = Carried(*data.wire)
        if not isinstance(data, bytes):
            data = encode_frame(data)
        for author in sorted(self.others if to is None else to):
            self.machine.world.network.send(self.machine.node, author, data)

    def vote(self, number: int, value: VoteValue | None, polka_round: int = -1, *, is_close: bool = False) -> Signed:
        """Sign a vote at the present root."""
        root = self.match.replica.ballot.root
        kind, body = spell_vote(Vote(root.tip, self.machine.author, is_close, number, value, polka_round))
        return self.sign(kind, body, at=(root.step, root.tip))

    def value(self, absent: Iterable[int] = ()) -> VoteValue:
        """Return the value that closes the open step without these authors and without messages that are missing."""
        ballot = self.match.replica.ballot
        position, held = ballot.line[-1], ballot.held
        if position.kind is Kind.LOCK:
            return VoteValue(position.step, position.tip, position.signed_hash)
        gone = {*absent}
        entries = (held[a].id if a in held and a not in gone else b"" for a in position.owed)
        return VoteValue(position.step, position.tip, tuple(entries))

    def own(self, frame: Frame, *kinds: Kind) -> Message | None:
        """Return the message in a frame if it is this player's own for the open step, and of one of these kinds."""
        if not isinstance(frame, Carried):
            return None
        signed = self.match.history.held.get(self.machine.author) or self.position.entries.get(self.machine.author)
        if signed is None or signed.wire != (frame.data, frame.signature) or signed.message.kind not in kinds:
            return None
        return signed.message

    def bytes(self, count: int = 32) -> bytes:
        """Return random bytes."""
        return self.random.randbytes(count)


class _TwoFaced(Misbehaviour):
    """Signs two messages for one slot, and sends one to some players and the other to the rest."""

    least = 3
    is_proven = True
    may_stop = True
    kinds: ClassVar[tuple[Kind, ...]]
    faces: ClassVar = 2
    """The number of messages for the slot."""
    _original: tuple[bytes, bytes] | None = None
    _forged: tuple[Signed, ...] = ()

    def other(self, message: Message) -> tuple[Kind, Value]:
        """Return kind and body of a second message."""
        raise NotImplementedError

    def outgoing(self, author: int, frame: Frame) -> Iterable[Frame | bytes]:
        message = self.own(frame, *self.kinds)
        if message is not None and not self._forged and self.has_come():
            assert isinstance(frame, Carried)
            self._original = (frame.data, frame.signature)
            others = [self.other(message) for _ in range(self.faces - 1)]
            self._forged = tuple(self.sign(*other, at=(message.step, message.tip)) for other in others)
        if self._forged and author in self.fooled:
            forged = self._forged[self.fooled.index(author) % len(self._forged)].wire
            if isinstance(frame, Carried) and (frame.data, frame.signature) == self._original:
                self.acted += 1
                frame = Carried(*forged)
            elif isinstance(frame, Page):
                frame = frame._replace(
                    messages=tuple(forged if each == self._original else each for each in frame.messages)
                )
        yield frame

    def is_detectable(self) -> bool:
        """Honest nodes take neither message if all have already closed the step without the author."""
        step, author = self._forged[0].message.step, self.machine.author
        histories = [machine.match.history for machine in self.machine.world.honest() if machine.match is not None]
        return any(
            author in history.held if history.position.step == step else author in history.chain[step + 1].entries
            for history in histories
            if history.position.step >= step
        )


class DifferentCommitments(_TwoFaced):
    """Sends different commitments to different players."""

    kinds = (Kind.COMMIT, Kind.OPEN)

    def other(self, message: Message) -> tuple[Kind, Value]:
        assert isinstance(message.body, tuple)
        if message.kind is Kind.OPEN:
            return Kind.OPEN, (message.body[0], self.bytes(), self.bytes(), message.body[3])
        return Kind.COMMIT, tuple(self.bytes() for _ in message.body)


class ThreeCommitments(DifferentCommitments):
    """Sends different commitments to three groups of players."""

    least = 4
    faces = 3


class TwoMoves(_TwoFaced):
    """Makes two moves in one turn."""

    kinds = (Kind.MOVE,)

    def other(self, message: Message) -> tuple[Kind, Value]:
        before = self.match.history.chain[message.step]
        assert before.state is not None
        legal = view(before.state, before.seats.index(message.author), self.match._hand_at(before)).legal
        others = [str(move) for move in legal if str(move) not in (message.body, "concede")]
        return (Kind.MOVE, self.random.choice(others)) if others else (Kind.RESIGN, ())


class _WrongOnce(Misbehaviour):
    """Signs a wrong body once."""

    is_proven = True
    may_stop = True
    kinds: ClassVar[tuple[Kind, ...]]

    def other(self, match: Match, kind: int, body: Value) -> Value:
        """Return the wrong body."""
        raise NotImplementedError

    def body(self, match: Match, kind: int, body: Value) -> Value:
        if kind not in self.kinds or self.acted or not self.has_come():
            return body
        self.acted += 1
        return self.other(match, kind, body)


class OtherShare(_WrongOnce):
    """Reveals a share that does not match its commitment."""

    kinds = (Kind.REVEAL,)

    def other(self, match: Match, kind: int, body: Value) -> Value:
        return self.bytes()


class OtherHand(_WrongOnce):
    """Opens a hand key that does not match its commitment."""

    kinds = (Kind.OPEN,)

    def other(self, match: Match, kind: int, body: Value) -> Value:
        assert isinstance(body, tuple)
        return (self.bytes(), *body[1:])


class IllegalMove(_WrongOnce):
    """Signs a move that the rules forbid."""

    kinds = (Kind.MOVE,)

    def other(self, match: Match, kind: int, body: Value) -> Value:
        position = match.history.position
        assert position.state is not None
        for text in ("liar", "1x2", "exact", "side accused"):
            try:
                apply(position.state, Play(position.seats.index(self.machine.author), parse_move(text)))
            except RulesError:
                return text
        return "900x6"


class FalseWitness(_WrongOnce):
    """Includes a forged signature of a witness."""

    kinds = (Kind.REVEAL, Kind.OPEN)

    def other(self, match: Match, kind: int, body: Value) -> Value:
        false = bytes((self.others[0],)) + self.bytes(64)
        if isinstance(body, tuple):
            return (*body[:-1], false)
        assert isinstance(body, bytes)
        return body[:32] + false


class WrongStateHash(_WrongOnce):
    """Signs a LOCK on a wrong state."""

    kinds = (Kind.LOCK,)
    is_proven = False

    def other(self, match: Match, kind: int, body: Value) -> Value:
        return self.bytes()


class FalseLockFirst(Misbehaviour):
    """Signs a LOCK on a wrong state for some players, and then the right LOCK."""

    is_proven = True
    may_stop = True

    def outgoing(self, author: int, frame: Frame) -> Iterable[Frame | bytes]:
        message = self.own(frame, Kind.LOCK)
        if message is not None and message.step > 0 and author in self.fooled and not self.acted and self.has_come():
            self.acted += 1
            yield Carried(*self.sign(Kind.LOCK, self.bytes(), at=(message.step, message.tip)).wire)
        yield frame


class StakeAboveFunds(Misbehaviour):
    """Stakes more coins than it has."""

    is_proven = True
    may_stop = True

    @classmethod
    def suits(cls, ruleset: Ruleset) -> bool:
        return ruleset.stakes

    def body(self, match: Match, kind: int, body: Value) -> Value:
        position = match.history.position
        salt = bytes(32)
        if kind is Kind.COMMIT and position.purpose is Purpose.STAKES:
            context = Context(match.history.match, position.step, position.tip)
            return (stake_commitment(context, self.machine.author, NEWCOMER_COINS + 1, 0, salt),)
        if kind is Kind.STAKE:
            self.acted += 1
            return (NEWCOMER_COINS + 1, 0, salt)
        return body


class WithheldReveal(Misbehaviour):
    """Does not reveal its share."""

    may_stop = True
    kind: ClassVar = Kind.REVEAL
    _since = -1

    def withholds(self, position: Position) -> bool:
        if position.kind is not self.kind or self.machine.author not in position.owed:
            return False
        if not self.acted:
            if position.step == self._since or not self.has_come():
                self._since = position.step
                return False
            self.acted += 1
        return True


class WithheldOpening(WithheldReveal):
    """Does not open its dice."""

    kind = Kind.OPEN


class WithheldLastOpening(WithheldOpening):
    """Does not open its dice when only two players are left in the game."""

    def withholds(self, position: Position) -> bool:
        return len(position.live) == 2 and super().withholds(position)


class TwoTooLate(WithheldReveal):
    """Withholds its message until it is voted out, then sends two messages for that step."""

    least = 4
    is_proven = True
    kind = Kind.COMMIT

    def withholds(self, position: Position) -> bool:
        return position.step >= FORMED and super().withholds(position)  # no votes before the match is formed

    def noticed(self) -> None:
        author, chain = self.machine.author, self.match.history.chain
        for before, after in pairwise(chain if self.acted == 1 else ()):
            if before.kind is self.kind and author in before.owed and author not in after.entries:
                place = before.step, before.tip
                commitments = tuple(self.bytes() for _ in range(COMMITMENTS[before.purpose]))
                self.spread(self.sign(Kind.RESIGN, (), at=place))
                self.spread(self.sign(Kind.COMMIT, commitments, at=place))

    def is_detectable(self) -> bool:
        return self.acted > 1


class RefusedResult(WithheldReveal):
    """Does not sign the result."""

    may_stop = False
    kind = Kind.RESULT

    def withholds(self, position: Position) -> bool:
        if position.purpose is Purpose.END:
            self.acted += 1
            return True
        return False


class TwoResults(_TwoFaced):
    """Signs two different RESULTs, and sends one to some players and the other to the rest."""

    may_stop = False
    kinds = (Kind.RESULT,)

    def own(self, frame: Frame, *kinds: Kind) -> Message | None:
        result = self.match.history.results.get(self.machine.author)
        if result is None or not isinstance(frame, Carried) or result.wire != (frame.data, frame.signature):
            return None
        return result.message

    def other(self, message: Message) -> tuple[Kind, Value]:
        return Kind.RESULT, self.bytes()

    def is_detectable(self) -> bool:
        """A player whose match has ended never receives the second one."""
        return False


class CopiedCommitment(Misbehaviour):
    """Waits for another player's commitments, and copies them."""

    is_proven = True
    may_stop = True

    def withholds(self, position: Position) -> bool:
        if position.kind is not Kind.COMMIT or position.step < FORMED:  # the host signs the first COMMIT last
            return False
        # Once others vote, they may close the step before the copy arrives, and would then ignore it.
        return not self._originals(position) or self.match.replica.ballot.has_votes

    def _originals(self, position: Position) -> list[int]:
        held = self.match.history.held if self.machine.match is not None else {}
        return [author for author in position.owed if author in held and author != self.machine.author]

    def body(self, match: Match, kind: int, body: Value) -> Value:
        if kind is not Kind.COMMIT or match.history.position.step < FORMED:
            return body
        self.acted += 1
        return match.history.held[self._originals(match.history.position)[0]].message.body


class LateCommitment(Misbehaviour):
    """Signs other commitments after it has received another player's share."""

    is_proven = True
    may_stop = True

    def noticed(self) -> None:
        position, history = self.position, self.match.history
        if self.acted or position.kind is not Kind.REVEAL or not set(history.held) - {self.machine.author}:
            return
        assert position.committed is not None
        context = position.committed.context
        first = history.chain[context.step + 1].entries.get(self.machine.author)
        if first is None or not self.has_come():
            return
        message = first.message
        share, hand = self.bytes(), self.bytes()
        body: tuple[Value, ...] = (share_commitment(context, message.author, share),)
        if COMMITMENTS[position.purpose] == 2:
            body = (hand_commitment(context, message.author, hand), *body)
        if message.kind is Kind.OPEN:
            assert isinstance(message.body, tuple)
            body = (message.body[0], *body, message.body[3])
        self.spread(self.sign(message.kind, body, at=(context.step, context.tip)))


_ON_ITS_WAY: Final = 4
"""Number of steps that honest nodes may close while a message is in flight: the last turn, its showdown and the end."""


class LateContradiction(Misbehaviour):
    """Signs a second message for a step after which others have already signed."""

    least = 3
    is_proven = True
    may_stop = True
    kind: ClassVar = Kind.REVEAL

    def noticed(self) -> None:
        position, chain = self.position, self.match.history.chain
        if self.acted or position.kind is not Kind.MOVE:
            return
        mine = (step for step in range(position.step - 3, position.root_step - 1, -1) if self._is_mine(chain[step]))
        step = next(mine, -1)
        if step < 0 or not self.has_come():
            return
        self.stands = chain[step + 1]
        self._said_at = position.step
        self.spread(self.sign(self.kind, self.second(), at=(step, chain[step].tip)))

    def is_detectable(self) -> bool:
        """A player whose match has ended never receives the second message."""
        histories = [machine.match.history for machine in self.machine.world.honest() if machine.match is not None]
        return any(history.position.step > self._said_at + _ON_ITS_WAY for history in histories)

    def _is_mine(self, position: Position) -> bool:
        return position.kind is self.kind and self.machine.author in position.owed

    def second(self) -> Value:
        """Return the body of the late message."""
        return self.bytes()


class LateSecondMove(LateContradiction):
    """Signs a second move for a turn after which others have already moved."""

    kind = Kind.MOVE

    def second(self) -> Value:
        return f"{self.random.randrange(900, 999)}x6"


class OutOfTurn(Misbehaviour):
    """Moves on another player's turn. Nodes that receive the move during the turn name the culprit."""

    may_stop = True

    def noticed(self) -> None:
        position = self.position
        if self.acted or position.kind is not Kind.MOVE or self.machine.author in position.owed or not self.has_come():
            return
        self.spread(self.sign(Kind.MOVE, "liar"))


class ForgedAuthor(Misbehaviour):
    """Sends messages under another player's name, signed with its own key."""

    def noticed(self) -> None:
        position = self.position
        if self.acted < 10 and position.owed and self.has_come():
            victim = self.random.choice(position.owed)
            body: Value = "liar" if position.kind is Kind.MOVE else self.bytes()
            kind = Kind.MOVE if position.kind is Kind.MOVE else Kind.LOCK
            if victim != self.machine.author:
                self.spread(self.sign(kind, body, author=victim))


class Replay(Misbehaviour):
    """Sends old messages of all players again, and its own with a different match id."""

    def noticed(self) -> None:
        history = self.match.history
        if len(history.chain) < 3 or self.acted > 30 or self.random.random() < 0.5:
            return
        entries = self.random.choice(history.chain[1:]).entries
        if not entries:
            return
        signed = entries[self.random.choice(sorted(entries))]
        self.spread(signed, [self.random.choice(self.others)])
        mine = history.chain[1].entries[self.machine.author].message
        self.spread(self.sign(mine.kind, mine.body, match=self.bytes()), [self.random.choice(self.others)])


class BadHistory(Misbehaviour):
    """Sends a false history to nodes that catch up."""

    may_stop = True  # a restarted node waits until every peer has sent a readable answer

    def bend(self, wire: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        """Return what to send in place of a message of the history."""
        raise NotImplementedError

    def outgoing(self, author: int, frame: Frame) -> Iterable[Frame | bytes]:
        if isinstance(frame, Page) and frame.messages:
            self.acted += 1
            frame = frame._replace(messages=tuple(map(self.bend, frame.messages)))
        yield frame


class AlteredRelay(BadHistory):
    """Flips a bit of each message in its pages."""

    def bend(self, wire: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        data, signature = wire
        place = self.random.randrange(len(data) + len(signature))
        both = bytearray(data + signature)
        both[place] ^= 1 << self.random.randrange(8)
        return bytes(both[: len(data)]), bytes(both[len(data) :])


class ForgedHistory(BadHistory):
    """Invents messages of other players."""

    def bend(self, wire: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        message = parse_signed(*wire).message
        if message.author == self.machine.author:
            return wire
        body = "liar" if message.kind is Kind.MOVE else message.body
        return sign(message._replace(body=body), MatchKey(self.machine.world.seeds[self.machine.author])).wire


class FloodOfFutureSteps(Misbehaviour):
    """Signs messages for a hundred future steps. After these it cannot sign a RESIGN, so it falls silent."""

    may_stop = True

    def noticed(self) -> None:
        if self.position.step < 1 or self.acted or not self.has_come():
            return
        for ahead in range(1, 101):
            place = (self.position.step + ahead, self.bytes())
            self.spread(self.sign(Kind.LOCK, self.bytes(), at=place))


class Garbage(Misbehaviour):
    """Sends bytes that are not a frame, or not a message, or a message of another version. Peers disconnect it."""

    def noticed(self) -> None:
        if self.acted >= 6 or not self.has_come():
            return
        self.patient = 3
        old = self.sign(Kind.LOCK, self.bytes())
        message = old.message
        hello = Hello(7000, MatchAim(message.match))
        choices: tuple[bytes, ...] = (
            self.bytes(self.random.randrange(1, 200)),
            b"\x91" * 60_000,  # deeply nested arrays
            b"\xdd\xff\xff\xff\xff",  # an array of 2^32-1 items
            b"\x92\xcd\x00\x07\xc0",  # 7 in a longer form than necessary, and nil
            b"\x83\x01\x01\x01\x01\x01\x01",  # a map with the same key three times
            b"\xc7\x01\x05\x00",  # an extension type
            b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00",  # not a number
            encode_frame(Carried(old.data.replace(b"p2pdice/3", b"p2pdice/1"), old.signature)),
            encode_frame(Carried(old.data, old.signature[:63])),
            encode_frame(hello),
        )
        self.spread(self.random.choice(choices), [self.random.choice(self.others)])


class _Repeats(Misbehaviour):
    """Does something repeatedly."""

    may_stop = True
    most: ClassVar = 100
    """How many times at most."""
    pause: ClassVar = 0.1
    """Seconds between two times."""
    _next = 0.0

    def noticed(self) -> None:
        now = self.machine.world.scheduler.now
        if self.match.is_formed and now >= self._next and self.acted < self.most and self.has_come():
            self._next = now + self.pause
            self.again()

    def again(self) -> None:
        """Do it once."""
        raise NotImplementedError


class FloodOfVotes(_Repeats):
    """Votes in ever later rounds, also on unknown roots, and repeats some of its votes."""

    least = 3
    most = 300

    def __init__(self, machine: Machine, stream: Random) -> None:
        super().__init__(machine, stream)
        self._said: list[Signed] = []

    def again(self) -> None:
        for _ in range(2):
            value, number = self.value(self.others[:1]), len(self._said)
            vote = self.vote(number, value)
            foreign = self.sign(vote.message.kind, vote.message.body, at=(vote.message.step, self.bytes()))
            self._said.append(vote)
            for signed in (vote, foreign, self.random.choice(self._said)):
                self.spread(signed)


class FloodOfForeignHistories(_Repeats):
    """Signs messages for unknown histories."""

    def again(self) -> None:
        for _ in range(4):
            place = self.random.randrange(max(1, self.position.root_step), self.position.step + 1), self.bytes()
            self.spread(self.sign(Kind.LOCK, self.bytes(), at=place))


class FalseHave(_Repeats):
    """Announces messages that it does not have, and answers requests with endless pages of an invented history."""

    least = 3
    pause = 0.2
    _made: Sequence[tuple[bytes, bytes]] = ()
    _pages = 0

    def again(self) -> None:
        self.match.catch_up._answers = Buckets[int](1000.0, 1000, limits.ASKERS)  # it answers every request
        held = self.match.catch_up.have()
        ahead = held._replace(step=held.step + self.random.randrange(3), tip=self.bytes())
        self.spread(self.random.choice((ahead, held._replace(held=self.bytes()), held._replace(votes=self.bytes()))))

    def outgoing(self, author: int, frame: Frame) -> Iterable[Frame | bytes]:
        if isinstance(frame, Page) and self.match.is_formed and self._pages < 300:
            self._pages += 1
            if not self._made:
                places = ((self.position.root_step, self.bytes()) for _ in range(100))
                self._made = [self.sign(Kind.LOCK, self.bytes(), at=place).wire for place in places]
            frame = frame._replace(cursor=2**31 + self._pages, messages=tuple(self.random.sample(self._made, 20)))
        yield frame


class VotesBeforeWhatIsMissing(Misbehaviour):
    """Sends page after page of votes to nodes that catch up, before the messages that they need."""

    least = 3
    may_stop = True  # a restarted node waits until the last page has arrived

    def outgoing(self, author: int, frame: Frame) -> Iterable[Frame | bytes]:
        if isinstance(frame, Page) and self.match.is_formed and self.acted < 40:
            self.acted += 1
            numbers = range(20 * self.acted, 20 * (self.acted + 1))
            votes = tuple(self.vote(number, self.value(self.others[:1])).wire for number in numbers)
            frame = frame._replace(cursor=20 * self.acted, messages=votes)
        yield frame


class ReconnectStorm(Misbehaviour):
    """Breaks its links again and again."""

    def noticed(self) -> None:
        if self.acted < 40 and self.random.random() < 0.3:
            self.acted += 1
            world, other = self.machine.world, self.random.choice(self.others)

            def reset() -> None:
                world.network.reset(self.machine.node, other, self.random.random())

            world.scheduler.after(0.01, reset)


class Stalling(Misbehaviour):
    """Sends everything just before the other players lose patience."""

    may_stop = True  # others grant each player only a limited total of delays

    def delay(self) -> float:
        self.acted += 1
        return self.machine.world.plan.patience.automatic - 1.0


class OneKeyTwoMachines(Misbehaviour):
    """Plays on two machines with a copied home. Each machine by itself is honest, and has its own owner."""

    least = 3
    may_stop = True

    def noticed(self) -> None:
        if self.position.step < 1 or self.acted or not self.has_come():
            return
        self.acted += 1
        self.machine.world.copy_home(self.machine, self.fooled)


class BadVote(Misbehaviour):
    """Base class of cheats in votes to continue without a player."""

    least = 3
    may_stop = True
    kinds: ClassVar[tuple[Kind, ...]] = VOTES

    def is_own_vote(self, wire: tuple[bytes, bytes]) -> bool:
        """Return whether a message is this player's own vote, of the kinds that it cheats with."""
        message = parse_signed(*wire).message
        return message.kind in self.kinds and message.author == self.machine.author


class VotesShownToSome(BadVote):
    """Sends its votes only to some players."""

    def outgoing(self, author: int, frame: Frame) -> Iterable[Frame | bytes]:
        if author in self.fooled:
            if isinstance(frame, Carried) and self.is_own_vote((frame.data, frame.signature)):
                self.acted += 1
                return
            if isinstance(frame, Page):
                frame = frame._replace(messages=tuple(wire for wire in frame.messages if not self.is_own_vote(wire)))
        yield frame


class HiddenClose(VotesShownToSome):
    """Sends its CLOSEs only to some players."""

    kinds = (Kind.CLOSE,)


class DifferentVotes(BadVote):
    """Sends different votes to some players than to the rest."""

    def outgoing(self, author: int, frame: Frame) -> Iterable[Frame | bytes]:
        wire = (frame.data, frame.signature) if isinstance(frame, Carried) else None
        if author in self.fooled and wire is not None and self.is_own_vote(wire):
            vote = read_vote(parse_signed(*wire))
            self.acted += 1
            frame = Carried(
                *self.vote(vote.round, self.other(vote.value), vote.polka_round, is_close=vote.is_close).wire
            )
        yield frame

    def other(self, value: VoteValue | None) -> VoteValue:
        """Return the value for the players that it fools."""
        if value is None or isinstance(value.entries, bytes):
            return self.value(self.others[:1])
        entries = tuple(b"" if entry else self.bytes() for entry in value.entries)
        if self.random.random() < 0.5:  # a plausible value with another absent author
            place = self.random.randrange(len(entries))
            entries = tuple(b"" if index == place else entry for index, entry in enumerate(value.entries))
        return value._replace(entries=entries)


class BreaksItsClose(BadVote):
    """Votes against the value of its own CLOSE, as if it did not know the polka for that value."""

    def noticed(self) -> None:
        ballot, me = self.match.replica.ballot, self.machine.author
        closed = [vote for vote in ballot.votes() if vote.author == me and vote.is_close and vote.value is not None]
        if not closed or self.acted >= 8 or not self.has_come():
            return
        value = self.value(self.others[:1])
        if value != closed[-1].value:
            self.spread(self.vote(closed[-1].round + 1, value), self.fooled)


class ClosesWithNil(BadVote):
    """Closes each round with nil at once, before there can be a polka."""

    def __init__(self, machine: Machine, stream: Random) -> None:
        super().__init__(machine, stream)
        self._left: set[tuple[bytes, int]] = set()

    def noticed(self) -> None:
        ballot = self.match.replica.ballot
        place = (ballot.root.tip, ballot.round)
        if self.acted < 40 and ballot.has_voted and place not in self._left and ballot.root.kind is not None:
            self._left.add(place)
            self.spread(self.vote(ballot.round, None, is_close=True))


class VotesAboutEverybody(BadVote):
    """Votes, without reason, that all other players are absent."""

    def absent(self) -> tuple[int, ...]:
        """Return the authors to vote absent."""
        return self.others

    def noticed(self) -> None:
        position = self.position
        if position.step < FORMED or position.kind is None or self.acted >= 8 or self.random.random() < 0.7:
            return
        number, value = self.random.choice((0, 0, 0, 1, 5, 2_000)), self.value(self.absent())
        self.spread(self.vote(number, value))
        self.spread(self.vote(number, value, is_close=True))


class VotesAgainstOne(VotesAboutEverybody):
    """Votes, without reason, that one player is absent."""

    def absent(self) -> tuple[int, ...]:
        return self.others[:1]


class SilentOnTurn(BadVote):
    """Does not move on its turn, but votes in ever later rounds that another player is absent."""

    _next = 0.0
    _round = 0

    def withholds(self, position: Position) -> bool:
        is_mine = position.kind is Kind.MOVE and self.machine.author in position.owed
        return is_mine and position.step > position.root_step + 3

    def noticed(self) -> None:
        world, position = self.machine.world, self.position
        if not self.withholds(position) or world.scheduler.now < self._next or self.acted > 60:
            return
        self._next = world.scheduler.now + world.plan.patience.automatic / 2
        before = self.match.history.chain[position.step - 1]
        absent = tuple(b"" for _ in before.owed)
        self.spread(self.vote(self._round, VoteValue(before.step, before.tip, absent)))
        self._round += 1


class VotesAfterResigning(BadVote):
    """Resigns, and still votes that another player is absent."""

    may_stop = False
    _voted = b""

    def noticed(self) -> None:
        position = self.position
        if position.step < FORMED or position.kind is None or self.acted >= 12 or not self.has_come():
            return
        if self.machine.author not in position.left:
            if not self.match.signer.is_conceding:
                self.machine.feed(Conceded())
            return
        if position.tip == self._voted:
            return
        self._voted = position.tip
        value = self.value(self.others[:1])
        self.spread(self.vote(0, value))
        self.spread(self.vote(0, value, is_close=True))


class JoinsAgain(Misbehaviour):
    """Hides its signature on the proposal from the host only, and then joins again with a new join record."""

    least = 3
    hosts = False
    _is_proposed = False

    @property
    def victim(self) -> int:
        """The player who does not receive its signature."""
        return self.machine.world.host

    def signs(self, wire: tuple[bytes, bytes]) -> bool:
        """Return whether a message is this player's signature on the proposal."""
        message = parse_signed(*wire).message
        return message.author == self.machine.author and message.step == 0

    def outgoing(self, author: int, frame: Frame) -> Iterable[Frame | bytes]:
        if author == self.victim and not self.match.is_formed:
            if isinstance(frame, Carried) and self.signs((frame.data, frame.signature)):
                self.acted += 1
                return
            if isinstance(frame, Page):
                frame = frame._replace(messages=tuple(wire for wire in frame.messages if not self.signs(wire)))
        yield frame

    def noticed(self) -> None:
        if self.acted and not self._is_proposed and not self.match.is_formed and self.has_come() and self.can_propose():
            self._is_proposed = True
            self.machine.world.propose_anew(self.machine.author)

    def can_propose(self) -> bool:
        """Let the host withdraw the first proposal. Return False if it cannot."""
        world = self.machine.world
        host = world.machines[world.host]
        if not host.process.is_listening or host.match is None or host.match.is_formed:
            return False
        world.withdraw()
        return True


class ProposesAnew(JoinsAgain):
    """As the host, hides its signature on a proposal from one guest, and proposes again without withdrawing it."""

    hosts = True
    signs_early = True
    may_stop = True

    @property
    def victim(self) -> int:
        return self.others[0]

    def can_propose(self) -> bool:
        """Return whether a guest is bound. Otherwise another proposal would only replace the first one."""
        held = self.match.history.held
        return any(
            signed.message.kind is Kind.COMMIT for author, signed in held.items() if author != self.machine.author
        )


class ResignsToOne(Misbehaviour):
    """As the host, sends one guest a RESIGN for its proposal, and later sends the others its COMMIT."""

    least = 3
    may_stop = True
    hosts = True

    def withholds(self, position: Position) -> bool:
        return position.step == FORMED - 1

    def noticed(self) -> None:
        if self.acted or self.position.step != FORMED - 1 or not self.has_come():
            return
        machine = self.machine
        self.spread(self.sign(Kind.RESIGN, ()), self.others[:1])
        commit = self.sign(Kind.COMMIT, (self.bytes(),))
        later = machine.world.scheduler.now + (1.2 + self.random.random()) * limits.RELAY
        machine.process.plan(later, lambda: self.spread(commit, self.others[1:]))


class LeavesAtOnce(Misbehaviour):
    """Takes the last seat, and leaves before it is bound."""

    hosts = False

    def noticed(self) -> None:
        if self.match.is_bound or self.match.is_formed or not self.has_come():
            return
        self.acted += 1
        world = self.machine.world
        self.machine.process.is_gone = True
        self.machine.process.die()
        world.scheduler.after(world.plan.usual_latency, world.withdraw)


class Proposal(Cheat):
    """A host who proposes a different genesis than the lobby agreed on. No guest signs it, so there is no match."""

    @staticmethod
    def bend(genesis: Genesis, guest: bytes, stream: Random) -> bytes:
        """Return the genesis bytes to send to the guest with this identity."""
        raise NotImplementedError


class RulesDowngrade(Proposal):
    """Proposes rules that differ from the table's."""

    @staticmethod
    def bend(genesis: Genesis, guest: bytes, stream: Random) -> bytes:
        raise_ = "either" if genesis.ruleset.raise_ != "either" else "standard"
        return genesis._replace(ruleset=genesis.ruleset.with_options({"raise": raise_})).encoded()


class VersionDowngrade(Proposal):
    """Proposes a genesis of another version of the protocol."""

    @staticmethod
    def bend(genesis: Genesis, guest: bytes, stream: Random) -> bytes:
        return genesis.encoded().replace(b"p2pdice/3/genesis", b"p2pdice/1/genesis")


class SmallOrderKey(Proposal):
    """Includes a player whose match key is of small order, so that one signature is valid for many messages."""

    @staticmethod
    def bend(genesis: Genesis, guest: bytes, stream: Random) -> bytes:
        place = next(index for index, record in enumerate(genesis.roster) if record.join.identity != guest)
        record = genesis.roster[place]
        weak = bytes(31) + b"\x80" if stream.random() < 0.5 else b"\x01" + bytes(31)
        bent = record._replace(data=record.data.replace(record.join.match_key, weak), match_signature=weak + bytes(32))
        return genesis._replace(roster=(*genesis.roster[:place], bent, *genesis.roster[place + 1 :])).encoded()


class AlteredRecord(Proposal):
    """Changes the guest's own join record."""

    @staticmethod
    def bend(genesis: Genesis, guest: bytes, stream: Random) -> bytes:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        place = next(index for index, record in enumerate(genesis.roster) if record.join.identity == guest)
        stranger = Identity(Ed25519PrivateKey.from_private_bytes(stream.randbytes(32)))
        key = MatchKey(stream.randbytes(32))
        join = genesis.roster[place].join._replace(identity=stranger.public, match_key=key.public)
        roster = [*genesis.roster[:place], make_join_record(join, stranger, key), *genesis.roster[place + 1 :]]
        return genesis._replace(roster=tuple(sorted(roster, key=lambda record: record.join.identity))).encoded()


MISBEHAVIOURS: Final[Mapping[str, type[Misbehaviour | Proposal]]] = {
    "different commitments": DifferentCommitments,
    "three commitments": ThreeCommitments,
    "two moves": TwoMoves,
    "two RESULTs": TwoResults,
    "other share": OtherShare,
    "other hand": OtherHand,
    "illegal move": IllegalMove,
    "false witness": FalseWitness,
    "wrong state hash": WrongStateHash,
    "false LOCK first": FalseLockFirst,
    "two messages too late": TwoTooLate,
    "stake above funds": StakeAboveFunds,
    "withheld reveal": WithheldReveal,
    "withheld opening": WithheldOpening,
    "withheld last opening": WithheldLastOpening,
    "refused result": RefusedResult,
    "copied commitment": CopiedCommitment,
    "late commitment": LateCommitment,
    "late contradiction": LateContradiction,
    "late second move": LateSecondMove,
    "out of turn": OutOfTurn,
    "forged author": ForgedAuthor,
    "replay": Replay,
    "altered relay": AlteredRelay,
    "forged history": ForgedHistory,
    "flood of future steps": FloodOfFutureSteps,
    "flood of foreign histories": FloodOfForeignHistories,
    "flood of votes": FloodOfVotes,
    "false HAVE": FalseHave,
    "votes before what is missing": VotesBeforeWhatIsMissing,
    "garbage": Garbage,
    "reconnect storm": ReconnectStorm,
    "stalling": Stalling,
    "one key on two machines": OneKeyTwoMachines,
    "votes shown to some": VotesShownToSome,
    "hidden CLOSE": HiddenClose,
    "different votes": DifferentVotes,
    "breaks its CLOSE": BreaksItsClose,
    "closes with nil": ClosesWithNil,
    "votes about everybody": VotesAboutEverybody,
    "votes against one": VotesAgainstOne,
    "silent on turn, but for votes": SilentOnTurn,
    "votes after resigning": VotesAfterResigning,
    "joins again": JoinsAgain,
    "proposes anew": ProposesAnew,
    "resigns to one": ResignsToOne,
    "leaves at once": LeavesAtOnce,
    "rules downgrade": RulesDowngrade,
    "version downgrade": VersionDowngrade,
    "small-order key": SmallOrderKey,
    "altered record": AlteredRecord,
}
"""By their names in reports."""
