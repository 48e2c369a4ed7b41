"""The agreed history of a match: signed messages in, positions out.

Theory of operation
-------------------
A match is a chain of *steps*. ``T_0`` is the hash of the genesis; ``T_{k+1} = H(step, T_k, k, one entry per roster
index)``, where an entry is a message id or empty. Every message names ``(match, step, T)``, so it fits one history
only. A step is either a *turn* (one message, by the player whose move it is) or *joint* (one message by every live
player; at a LOCK also by every player who went out since the previous LOCK).

:mod:`protocol.consensus.steps` determines which step follows which. :mod:`protocol.consensus.kinds` has the rules of
each kind of message. This module decides whether a message belongs to the open step. It does not decide when that step
closes: :mod:`protocol.consensus.replica` does in a node, and :mod:`protocol.consensus.reading` for a file.

A RESIGN fills the slot of its author in an ordinary step; the author leaves the match when the step closes. Votes by a
majority can close a step without an author's message (:mod:`protocol.consensus.ballot`); the author is then evicted.
Votes can also close a LOCK, which evicts nobody.

A player who went out earlier is a *witness*. Witnesses may countersign a LOCK, but nobody waits for them. The players'
later messages carry these signatures, which keep the witnesses in the *base*: the authors who may vote. Nothing before
the *root*, which follows the last closed LOCK or decision, ever changes. Steps after the root can be rolled back
(:meth:`History.follow`).

A history has no clock, no secrets and no I/O, and does not depend on the node that runs it. Players, spectators, the
verifier (reading a file), resume (reading the store) and catch-up (from a peer) all use it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy

from p2pdice.events import Transition
from protocol.consensus.branches import Outcome
from protocol.consensus.kinds import RULES, contradiction, state_hash
from protocol.consensus.position import FORMED, Position, Purpose
from protocol.consensus.rule import MisconductError, OtherStateError, RejectedMessageError, Slot
from protocol.consensus.steps import advance, tip_after
from protocol.crypto.keys import PublicKey
from protocol.limits import CHECKED
from protocol.wire.genesis import match_id, parse_genesis
from protocol.wire.messages import Kind, Message, Signed, message_id

_BESIDE = (Slot.VOTE, Slot.WITNESS)
"""The slots of messages that are not part of a step."""


class History:
    """The agreed history of one match, and the messages of its open step.

    :raises MalformedGenesisError: if ``genesis_data`` is not a valid genesis.
    """

    def __init__(self, genesis_data: bytes) -> None:
        self.genesis = parse_genesis(genesis_data)
        self.genesis_data = genesis_data
        self.match = match_id(genesis_data)
        self.keys = tuple(PublicKey(record.join.match_key) for record in self.genesis.roster)
        self.roster_size = len(self.keys)
        everyone = tuple(range(self.roster_size))
        first = Position(
            step=0,
            tip=self.match,
            purpose=Purpose.FORMING,
            place_in_script=0,
            kind=Kind.LOCK,
            owed=everyone,
            base=everyone,
            players=everyone,
            signed_hash=state_hash(None),
            root_tip=self.match,
        )
        self.chain = [first]
        """The positions before each step so far; the last one belongs to the open step."""
        self.position = first
        """The position before the open step: the end of :attr:`chain`, cached for speed."""
        self.held: dict[int, Signed] = {}
        """The messages of the open step, by author."""
        self.results: dict[int, Signed] = {}
        """RESULT messages, by author, once the match has ended."""
        self.withdrawals: dict[int, Signed] = {}
        """RESIGN messages of steps 0 and 1, by author. They fill no slot."""
        self.certificates: dict[bytes, tuple[Signed, ...]] = {}
        """The votes that closed a step, by the tip of the root that the votes name."""
        self.countersigned: dict[bytes, dict[int, Signed]] = {}
        """The witnesses' signatures under the last two closed LOCKs and the open one, by LOCK tip and author."""
        self._transition: tuple[bytes, Transition] | None = None
        """The id of the move judged last, and the transition that it causes."""
        self._checked: dict[bytes, Signed] = {}
        """The messages whose signatures were checked last, by signature. All copies of a history share this cache."""

    def missing(self) -> tuple[int, ...]:
        """Return the authors whose message the open step still lacks."""
        return tuple([author for author in self.position.owed if author not in self.held])

    @property
    def root(self) -> Position:
        """The position after the last final step."""
        return self.chain[self.position.root_step]

    def follow(self, line: Sequence[Position], held: Mapping[int, Signed]) -> int | None:
        """Continue from the root along these positions instead of the current ones.

        :param line: the positions from the root to the open step.
        :param held: the messages with which the open step can close.
        :returns: the first closed step that is now closed differently or open again; None if there is none.
        """
        start = line[0].step
        old = self.chain[start:]
        pairs = enumerate(zip(old, line, strict=False))
        same = next((index for index, (one, other) in pairs if one.tip != other.tip), min(len(old), len(line)))
        self.chain[start + same :] = line[same:]
        self.position = self.chain[-1]
        self.held = dict(held)
        return start + same - 1 if same < len(old) else None

    def along(self, path: Sequence[Position]) -> History:
        """Return a copy of this history that follows these positions from the root on."""
        twin = copy(self)
        twin.chain = [*self.chain[: path[0].step], *path]
        twin.position, twin.held = path[-1], {}
        return twin

    def check_signature(self, signed: Signed) -> Signed:
        """Return ``signed``, marked as checked.

        :raises RejectedMessageError: if the match or the author is wrong, or the signature is invalid.
        """
        message = signed.message
        if message.match != self.match:
            raise RejectedMessageError("a message of another match")
        if message.author >= len(self.keys):
            raise RejectedMessageError("a message by an author who is not in the roster")
        if signed.checked:
            return signed
        known = self._checked.get(signed.signature)
        if known is not None and known.data == signed.data:
            return known
        if not self.keys[message.author].verifies(signed.signature, signed.data):
            raise RejectedMessageError("the signature is wrong")
        if len(self._checked) >= CHECKED:
            del self._checked[next(iter(self._checked))]
        checked = Signed(signed.data, signed.signature, message, signed.id, checked=True)
        self._checked[signed.signature] = checked
        return checked

    def is_right(self, signed: Signed) -> bool:
        """Return whether :meth:`check_signature` would accept a message. Thread-safe: nothing changes."""
        message = signed.message
        return signed.checked or (
            message.match == self.match
            and message.author < len(self.keys)
            and self.keys[message.author].verifies(signed.signature, signed.data)
        )

    def hold(self, signed: Signed) -> Outcome:
        """Check one message, and hold it if it is for the open step.

        :raises RejectedMessageError: if the message does not belong here; nothing changes.
        :raises MisconductError: if the message proves that its author broke a rule; nothing changes.
        """
        if signed.message.step < FORMED and signed.message.kind is Kind.RESIGN:
            return self._withdraw(signed)
        outcome, signed = self._weigh(signed)
        if outcome is Outcome.ADDED:
            (self.results if self.position.kind is None else self.held)[signed.message.author] = signed
        return outcome

    def _withdraw(self, signed: Signed) -> Outcome:
        message = signed.message
        if message.step > self.position.step:
            return Outcome.FUTURE
        signed = self.check_signature(signed)
        if message.tip != self.chain[message.step].tip:
            return Outcome.FOREIGN
        if message.author in self.withdrawals:
            return Outcome.DUPLICATE
        self.withdrawals[message.author] = signed
        return Outcome.ADDED

    def countersign(self, signed: Signed) -> Outcome:
        """Keep a witness's signature under one of the last two closed LOCKs or the open one. No step closes because of
        it.

        :raises RejectedMessageError: if the message does not belong here.
        """
        message = signed.message
        if message.step > self.position.step:
            return Outcome.FUTURE
        position = self.chain[message.step]
        known = self.countersigned.get(position.tip, {})
        if message.author in known and known[message.author].id == signed.id:
            return Outcome.DUPLICATE
        signed = self.check_signature(signed)
        if message.tip != position.tip:
            return Outcome.FOREIGN
        if position.kind is not Kind.LOCK or message.author in (*position.owed, *position.left):
            raise RejectedMessageError("a WITNESS in a step without a LOCK, or by a player who is not a witness there")
        if message.body != position.signed_hash:
            raise OtherStateError
        if message.step < self.position.locks[0].step:
            return Outcome.LATE
        self.countersigned = {**self.countersigned, position.tip: {**known, message.author: signed}}
        return Outcome.ADDED

    def countersignatures(self) -> bytes:
        """Return the witnesses' signatures under the last but one LOCK, for messages after the last LOCK to carry."""
        known = sorted(self.countersigned.get(self.position.locks[0].tip, {}).items())
        return b"".join(bytes((author,)) + signed.signature for author, signed in known)

    def weigh(self, signed: Signed) -> Outcome:
        """Return what :meth:`hold` would return, or raise what it would raise, without changing anything."""
        return self._weigh(signed)[0]

    def _weigh(self, signed: Signed) -> tuple[Outcome, Signed]:
        message = signed.message
        position = self.position
        if self._is_known(signed):
            return Outcome.DUPLICATE, signed  # skips the costly signature check
        if RULES[message.kind].slot in _BESIDE:
            raise RejectedMessageError("a vote or WITNESS is not a message of the step")
        if message.step > position.step:
            return Outcome.FUTURE, signed
        signed = self.check_signature(signed)
        if message.tip != self.chain[message.step].tip:
            return Outcome.FOREIGN, signed
        self.judge(self.full(message.step), signed)
        return (Outcome.LATE if message.step < position.step else Outcome.ADDED), signed

    def goes_through(self, place: Position | Message) -> bool:
        """Return whether this history contains the step of ``place``, open or closed."""
        step = place.step
        return step < len(self.chain) and self.chain[step].tip == place.tip

    def said(self, message: Message) -> list[Signed]:
        """Return the messages and the votes of certificates that the author of ``message`` signed for the step that it
        names."""
        author, step = message.author, message.step
        votes = self.certificates.get(message.tip, ())
        said = [vote for vote in votes if vote.message.author == author]
        if step >= len(self.chain) or self.chain[step].tip != message.tip:
            return said
        book: Mapping[int, Signed] = self.results if self.chain[step].kind is None else self.held
        if step + 1 < len(self.chain):
            book = self.chain[step + 1].entries
        return [book[author], *said] if author in book else said

    def _is_known(self, signed: Signed) -> bool:
        """Return whether a message or a vote of a certificate is already here.

        :raises MisconductError: if it contradicts another message of its author.
        """
        message = signed.message
        for known in self.said(message):
            if known.id == signed.id:
                return True
            if reason := contradiction(known, signed):
                signed = self.check_signature(signed)
                raise MisconductError(message.author, message.step, reason, (known, signed))
        return False

    # The rules by which a history continues (protocol.consensus.branches.Folding)

    def judge(self, position: Position, signed: Signed) -> None:
        """Judge a signed message by the rules of its step.

        :raises RejectedMessageError: if the message does not belong there.
        :raises MisconductError: if the message proves that its author broke a rule.
        """
        message = signed.message
        rule, due = RULES[message.kind], position.kind
        if rule.slot is not Slot.END:
            if due is None:
                raise MisconductError.of(signed, "sent a message after the end")
            if message.kind is Kind.RESIGN and position.step < FORMED:
                raise RejectedMessageError("a RESIGN of a match that is not formed is no part of its history")
            if message.author not in position.owed:
                raise MisconductError.of(signed, "sent a message out of turn")
            if message.kind != due and (rule.slot is not Slot.ANY_STEP or due is Kind.LOCK):
                raise MisconductError.of(signed, f"sent {rule.name} where {RULES[due].name} was due")
        transition: Transition | None = rule.judge(self, position, signed, message.body)
        if transition is not None:
            self._transition = signed.id, transition

    def tip_after(self, position: Position, entries: Mapping[int, Signed]) -> bytes:
        """Return the tip after a step that closes with these messages."""
        return tip_after(position, entries, self.roster_size)

    def after(
        self, position: Position, entries: Mapping[int, Signed], certificate: tuple[Signed, ...] = ()
    ) -> Position:
        """Return the position after a step that closes with these messages, and by this certificate if votes close
        it."""
        judged = self._transition
        is_judged = judged is not None and any(signed.id == judged[0] for signed in entries.values())
        transition = judged[1] if judged is not None and is_judged else None
        return advance(self.genesis, self.match, position, entries, certificate, transition)

    def is_countersigned(self, position: Position, witness: int, signature: bytes) -> bool:
        """Return whether this is a witness's signature under the last but one LOCK before a position."""
        step, tip, lock = position.locks[0]
        if witness >= self.roster_size or witness in (*position.players, *position.left):
            return False
        known = self.countersigned.get(tip, {})
        if witness in known and known[witness].signature == signature:
            return True  # skips the costly signature check
        message = Message(self.match, step, tip, witness, Kind.WITNESS, lock)
        data = message.encoded()
        if not self.keys[witness].verifies(signature, data):
            return False
        signed = Signed(data, signature, message, message_id(data), checked=True)
        # Of two signatures under the same bytes, keep the first: messages of this node may already carry it.
        self.countersigned = {**self.countersigned, tip: {witness: signed, **known}}
        return True

    def settle(self, entries: Mapping[int, Signed], certificate: tuple[Signed, ...]) -> None:
        """Close the open step with these messages, and by this certificate if votes close it."""
        before = self.position
        if certificate:
            self.certificates[before.root_tip] = certificate
        self.position = self.after(before, entries, certificate)
        self.chain.append(self.position)
        self.held = {}
        if before.kind is Kind.LOCK:
            self.countersigned = {tip: self.countersigned.get(tip, {}) for _, tip, *_ in self.position.locks}
        if self.position.kind is Kind.LOCK and not self.position.owed:
            self.settle({}, ())

    def full(self, step: int) -> Position:
        """Return the position before a step, with its state even if that was dropped."""
        return next(self.walk(step))

    def walk(self, step: int) -> Iterator[Position]:
        """Yield the positions before a step and before all later ones, with their states even if those were dropped.

        Dropped states are recomputed one at a time, so a walk holds only one of them in memory.
        """
        start = step
        while self.chain[start].is_without_state:
            start -= 1
        position = self.chain[start]
        if start == step:
            yield position
        for index in range(start + 1, len(self.chain)):
            following = self.chain[index]
            if following.is_without_state:
                again = self.after(position, following.entries, following.certificate)
                following = following._replace(state=again.state, happened=again.happened, is_without_state=False)
            position = following
            if index >= step:
                yield position
