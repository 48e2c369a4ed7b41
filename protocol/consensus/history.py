"""The agreed history of a match: signed messages in, positions out.

Theory of operation
-------------------
A match is a chain of *steps*. ``T_0`` is the hash of the genesis; ``T_{k+1} = H(step, T_k, k, one entry per roster
seat)``, an entry being a message id or empty. Every message names ``(match, step, T)``, so a message fits one history
only. A step is either a *turn* (one message, by the player whose move it is) or *joint*: one from every live player;
a LOCK also from those who went out since the previous LOCK.

:mod:`protocol.consensus.steps` says which step follows which. :mod:`protocol.consensus.kinds` has the rule of each kind
of message. This module decides whether a message belongs to the open step, and closes that step.

A RESIGN fills any slot that its author owes; the author is out when the step closes. Before the match is formed it
fills none: the host withdraws the match by it, for all who have not seen it formed. A majority of CLOSEs can close a step without the message of an
author (:mod:`protocol.consensus.absence`); that author is evicted.

A player who went out earlier is a *witness*. A witness may sign beside a LOCK, and nobody waits for it. The players'
next LOCK carries these signatures, which keep the witnesses in the *base*, the authors who may vote. Nothing before a
complete LOCK is ever dropped; what came after it can be (:meth:`History.fork`, :meth:`History.adopt`).

A history has no clock, no secrets and no I/O, and does not know whose node it runs in. Players, spectators, the
verifier (from a file), resume (from the store) and catch-up (from a peer) all use it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from enum import Enum

from protocol.consensus.electorate import Entries, Place, elect, leaves_majority
from protocol.consensus.errors import MisconductError, OtherStateError, RejectedMessageError
from protocol.consensus.kinds import RULES
from protocol.consensus.kinds.lock import state_hash
from protocol.consensus.kinds.rule import Slot
from protocol.consensus.position import Position, Purpose, Transition
from protocol.consensus.proofs import contradiction
from protocol.consensus.steps import FORMED, advance
from protocol.consensus.votes import Vote, read_vote
from protocol.crypto.hashing import HASH_BYTES
from protocol.crypto.keys import PublicKey
from protocol.limits import CHECKED, STATES_APART
from protocol.wire.genesis import match_id, parse_genesis
from protocol.wire.messages import VOTES, Kind, Message, Signed, message_id


class Outcome(Enum):
    """What became of a message that was not refused."""

    ADDED = "added"
    DUPLICATE = "duplicate"
    FUTURE = "future"
    """For a step after the open one. A replica keeps it if there is room; a history wants it offered again."""
    LATE = "late"
    """For a step of this history that was closed without it; or a vote that later votes have overtaken."""
    FOREIGN = "foreign"
    """For this match, on another history."""


_Weighed = tuple[Outcome, Signed, Transition | None]
"""A judged message: the outcome, the message (marked as checked if its signature had to be), and the game after it, if
it is the move that is due."""


_BESIDE = (Slot.VOTE, Slot.LOCK)
"""The slots of messages that no step holds."""
_DROPPED = Position(step=0, tip=b"", purpose=Purpose.END, place_in_script=0, kind=None, owed=(), base=(), players=())
"""Stands where :meth:`History.drop_position` has dropped a position."""


class History:
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
            step=0,
            tip=self.match,
            purpose=Purpose.FORMING,
            place_in_script=0,
            kind=Kind.LOCK,
            owed=everyone,
            base=everyone,
            players=everyone,
            lock=state_hash(None),
        )
        self.chain = [first]
        """The position before every step so far; the last one is open."""
        self.position = first
        """The last of the chain: the open step. Nearly every look at a history begins here."""
        self.held: dict[int, Signed] = {}
        """The messages of the open step, by author."""
        self.withdrawals: dict[int, Signed] = {}
        """RESIGN messages of the steps that form the match, one of each author. They fill no slot and close nothing."""
        self.results: dict[int, Signed] = {}
        """RESULT messages, by author, once the match has ended."""
        self.closes: list[Signed] = []
        """Votes on the open step, ABSENTs included, while there are too few CLOSEs to close it."""
        self.countersigned: dict[bytes, dict[int, Signed]] = {}
        """Signatures of witnesses under the last complete LOCK and the open one, by tip of the LOCK and author."""
        self._transition: Transition | None = None
        """The game after the move that is held."""
        self._checked: dict[bytes, Signed] = {}
        """The messages whose signatures were checked last, by signature; all forks share them."""

    @property
    def roster_size(self) -> int:
        """Size of the roster."""
        return len(self.keys)

    def missing(self) -> tuple[int, ...]:
        """Return the authors whose message the open step still lacks."""
        return tuple([author for author in self.position.owed if author not in self.held])

    def may_close_without(self, authors: Container[int] = ()) -> bool:
        """Tell whether the others are a majority that can close the open step without ``authors`` and without all
        players whose message is missing."""
        place = self.place(self.position.step)
        entries = (self.held[each].id if each in self.held and each not in authors else b"" for each in place.owed)
        return leaves_majority(place, tuple(entries))

    def place(self, step: int) -> Place:
        """Return the place of a step, closed or open, for the absence rule."""
        position = self.full(step)
        staying = tuple(author for author in position.base if author not in position.left)
        resignations = tuple(
            message_id(Message(self.match, step, position.tip, author, Kind.RESIGN, ()).encoded())
            for author in position.owed
        )
        return Place(
            step=step,
            tip=position.tip,
            owed=position.owed,
            base=position.base,
            staying=staying,
            live=position.live,
            players=position.players,
            resignations=resignations,
        )

    def closed(self, step: int) -> Entries | None:
        """Return the ids of the messages that closed a step, by owing author, empty if missing; None if it is open."""
        if step + 1 >= len(self.chain):
            return None
        entries = self.chain[step + 1].entries
        return tuple(entries[author].id if author in entries else b"" for author in self.chain[step].owed)

    def fork(self, step: int) -> History:
        """Return another history of this match, the same up to ``step``, which is open in it."""
        twin = copy(self)
        twin.chain = self.chain[: step + 1]
        twin.position = twin.chain[-1]
        twin.held, twin.results, twin.closes, twin._transition = {}, {}, [], None
        return twin

    def check_signature(self, signed: Signed) -> Signed:
        """Return ``signed`` marked as checked.

        :raises RejectedMessageError: if the match, the author or the signature is not right.
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

    def mark(self, messages: Iterable[Signed]) -> list[Signed]:
        """Return messages, those marked as checked that :meth:`check_signature` finds right."""
        marked = []
        for signed in messages:
            try:
                marked.append(self.check_signature(signed))
            except RejectedMessageError:
                marked.append(signed)
        return marked

    def add(self, signed: Signed) -> Outcome:
        """Take one message. Close the open step if it is complete, or if enough votes close it.

        :raises RejectedMessageError: if it does not belong here; nothing changes.
        :raises MisconductError: if it proves that its author broke a rule; nothing changes.
        """
        if signed.message.kind in VOTES:
            return self._add_vote(signed)
        outcome = self.hold(signed)
        if self.is_complete and outcome is Outcome.ADDED:
            self.close()
        return outcome

    def hold(self, signed: Signed) -> Outcome:
        """Check one message, and hold it if it is for the open step; close nothing.

        :raises RejectedMessageError: if it does not belong here; nothing changes.
        :raises MisconductError: if it proves that its author broke a rule. Nothing changes, except that before the
            match is formed RESIGN is held beside LOCK or COMMIT.
        """
        if signed.message.step < FORMED and signed.message.kind is Kind.RESIGN:
            return self._withdraw(signed)
        outcome, signed, transition = self._weigh(signed)
        if outcome is Outcome.ADDED:
            if self.position.kind is None:
                self.results[signed.message.author] = signed
            else:
                self._transition = transition
                self.held[signed.message.author] = signed
                self._compare_withdrawal(signed.message.author)
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
        self._compare_withdrawal(message.author)
        return Outcome.ADDED

    def _compare_withdrawal(self, author: int) -> None:
        """:raises MisconductError: if the author has signed RESIGN beside LOCK or COMMIT."""
        withdrawal = self.withdrawals.get(author)
        for given in self.said(withdrawal.message) if withdrawal is not None else ():
            if withdrawal is not None and (reason := contradiction(withdrawal, given)):
                raise MisconductError(author, given.message.step, reason, (withdrawal, given))

    def countersign(self, signed: Signed) -> Outcome:
        """Keep the signature of a witness under the last complete LOCK or the open one; it closes nothing.

        :raises RejectedMessageError: if it does not belong here.
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
        if message.body != position.lock:
            raise OtherStateError
        if message.step < self.position.locked:
            return Outcome.LATE
        self.countersigned = {**self.countersigned, position.tip: {**known, message.author: signed}}
        return Outcome.ADDED

    def countersignatures(self) -> bytes:
        """Return the witnesses' signatures for the last complete LOCK, as the next LOCK carries them."""
        last = self.chain[self.position.locked]
        known = sorted(self.countersigned.get(last.tip, {}).items()) if self.position.step else ()
        return b"".join(bytes((author,)) + signed.signature for author, signed in known)

    def judge(self, signed: Signed) -> Outcome:
        """Return what :meth:`hold` would return for a message, or raise what it would raise; nothing changes."""
        return self._weigh(signed)[0]

    def _weigh(self, signed: Signed) -> _Weighed:
        message = signed.message
        position = self.position
        if self._is_known(signed):
            return Outcome.DUPLICATE, signed, None  # without the price of a signature check
        if RULES[message.kind].slot in _BESIDE:
            raise RejectedMessageError("a vote or WITNESS is not a message of the step")
        if message.step > position.step:
            return Outcome.FUTURE, signed, None
        signed = self.check_signature(signed)
        if message.tip != self.chain[message.step].tip:
            return Outcome.FOREIGN, signed, None
        if message.step < position.step:
            self._judge(self.full(message.step), signed)
            return Outcome.LATE, signed, None
        return Outcome.ADDED, signed, self._judge(position, signed)

    @property
    def is_complete(self) -> bool:
        """Every message that the open step is owed is here."""
        position = self.position
        return len(self.held) == len(position.owed) and position.kind is not None

    def close(self) -> None:
        """Close the open step with all messages that are held for it."""
        self._close(dict(sorted(self.held.items())), ())

    def close_without(self, votes: Sequence[Signed]) -> None:
        """Close the open step with the messages that a majority of CLOSEs names; drop any others that are held.

        :param votes: ABSENTs that back the majority, then exactly a majority of CLOSEs, each by author.
        :raises RejectedMessageError: if there is no such majority, or a message that it names is missing; nothing
            changes.
        """
        position = self.position
        read = [self.check_vote(signed) for signed in votes]
        backers = tuple(vote.author for vote in read if not vote.is_close)
        closers = tuple(vote.author for vote in read if vote.is_close)
        if len({(vote.tip, vote.entries) for vote in read}) != 1 or len({v.round for v in read if v.is_close}) != 1:
            raise RejectedMessageError("the votes to close the step differ")
        if read[0].tip != position.tip:
            raise RejectedMessageError("the votes are not on this step")
        place = self.place(position.step)
        # A reader knows of no proven cheats. With all taken for such, half of those in the game who stay are enough.
        if (*backers, *closers) != elect(place, read[0].entries, closers, backers, place.live):
            raise RejectedMessageError("the votes are not a valid certificate: one per voter, in order, a majority")
        named = dict(zip(position.owed, read[0].entries, strict=True))
        ids = {author: signed.id for author, signed in self.held.items()}
        if any(entry and ids.get(author) != entry for author, entry in named.items()):
            raise RejectedMessageError("a message that the votes name is missing")
        entries = {author: self.held[author] for author in sorted(named) if named[author]}
        self._close(entries, tuple(votes) if len(entries) < len(named) else ())

    def check_vote(self, signed: Signed) -> Vote:
        """Read an ABSENT or CLOSE on a step of this history.

        :raises RejectedMessageError: if it is not such a vote, its signature is wrong, or its author has no vote there.
        """
        message = signed.message
        if message.kind not in VOTES or not 0 < message.step < len(self.chain):
            raise RejectedMessageError("a vote on a step that has not been reached, or on step 0")
        position = self.chain[message.step]
        signed = self.check_signature(signed)
        vote = read_vote(signed)
        is_of_step = vote.tip == position.tip and len(vote.entries) == len(position.owed)
        if not is_of_step or vote.author not in position.base or vote.author in position.left:
            raise RejectedMessageError("a vote on another history, or by a player who may not vote on the step")
        return vote

    def goes_through(self, place: Position | Place | Message) -> bool:
        """Tell whether this history has the step of ``place``, open or closed."""
        step = place.step
        return step < len(self.chain) and self.chain[step].tip == place.tip

    def adopt(self, other: History) -> None:
        """Take over another history of this match, made by :meth:`fork`, and the messages held for its open step.

        :raises ValueError: if it parts from this one before the last complete LOCK. That part is final.
        """
        if not other.goes_through(self.chain[self.position.locked]):
            raise ValueError("nothing before a complete LOCK is dropped")
        self.chain, self.position = other.chain, other.position
        self.held, self.results = other.held, other.results
        self.closes, self._transition = [], other._transition

    def _add_vote(self, signed: Signed) -> Outcome:
        if signed.message.step > self.position.step:
            return Outcome.FUTURE
        if signed.message.step < self.position.step:
            raise RejectedMessageError("a vote on a step that is closed")
        vote = self.check_vote(signed)
        if self._is_known(vote.source):
            return Outcome.DUPLICATE
        closes = [*self.closes, vote.source]
        if sum(each.message.kind is Kind.CLOSE for each in closes) >= self.position.majority:
            self.close_without(closes)
        else:
            self.closes = closes
        return Outcome.ADDED

    def said(self, message: Message) -> list[Signed]:
        """Return all messages and votes that are kept of the author of ``message`` in its step."""
        if not self.goes_through(message):
            return []
        author, step = message.author, message.step
        book: Mapping[int, Signed] = self.results if self.chain[step].kind is None else self.held
        votes: Sequence[Signed] = self.closes
        if step + 1 < len(self.chain):
            after = self.chain[step + 1]
            book, votes = after.entries, after.certificate
        said = [book[author]] if author in book else []
        return said + [vote for vote in votes if vote.message.author == author] if votes else said

    def _is_known(self, signed: Signed) -> bool:
        """Tell whether a message or vote is here already.

        :raises MisconductError: if it contradicts another one of its author.
        """
        message = signed.message
        for known in self.said(message):
            if known.id == signed.id:
                return True
            if reason := contradiction(known, signed):
                signed = self.check_signature(signed)
                raise MisconductError(message.author, message.step, reason, (known, signed))
        return False

    def _judge(self, position: Position, signed: Signed) -> Transition | None:
        """Judge a signed message by the rules of its step; return the game after it, if it is a move."""
        message = signed.message
        rule, due = RULES[message.kind], position.kind
        if rule.slot is not Slot.END:
            if due is None:
                raise MisconductError.of(signed, "sent a message after the end")
            if message.author not in position.owed:
                raise MisconductError.of(signed, "sent a message out of turn")
            if message.kind != due and rule.slot is not Slot.ANY_STEP:
                raise MisconductError.of(signed, f"sent {rule.name} where {RULES[due].name} was due")
        transition: Transition | None = rule.judge(self, position, signed, message.body)
        return transition

    def is_countersigned(self, position: Position, witness: int, signature: bytes) -> bool:
        """Tell whether a signature is that of a witness for the last complete LOCK before an open one."""
        if not position.witnessed or witness >= self.roster_size or witness in (*position.players, *position.left):
            return False
        tip, lock = position.witnessed[:HASH_BYTES], position.witnessed[HASH_BYTES:]
        known = self.countersigned.get(tip, {})
        if witness in known and known[witness].signature == signature:
            return True  # without the price of a signature check
        message = Message(self.match, position.locked, tip, witness, Kind.WITNESS, lock)
        data = message.encoded()
        if not self.keys[witness].verifies(signature, data):
            return False
        signed = Signed(data, signature, message, message_id(data), checked=True)
        self.countersigned = {**self.countersigned, tip: {**known, witness: signed}}
        return True

    def _close(self, entries: Mapping[int, Signed], certificate: tuple[Signed, ...]) -> None:
        before = self.position
        self.position = self._after(before, entries, certificate, self._transition)
        self.chain.append(self.position)
        if before.kind is Kind.LOCK:
            self.countersigned = {before.tip: self.countersigned.get(before.tip, {})}
        self.held, self.closes, self._transition = {}, [], None

    def _after(
        self,
        position: Position,
        entries: Mapping[int, Signed],
        certificate: tuple[Signed, ...],
        transition: Transition | None = None,
    ) -> Position:
        return advance(self.genesis, self.match, position, entries, certificate, transition)

    def drop_state(self) -> None:
        """Drop the state of the game before the step that was closed last, unless it is one of a few that are kept.

        A state holds all bids of its round, so a long match of long rounds would fill the memory with them. Callers
        that seldom look back call this after each step.
        """
        last = len(self.chain) - 2
        if last > 0 and last % STATES_APART:
            self.chain[last] = self.chain[last]._replace(state=None, happened=(), is_without_state=True)

    def drop_position(self, kept: Container[int] = ()) -> None:
        """Drop the position before the step that was closed last, unless it is one of ``kept``.

        Callers that look back only to these call this after each step; then a match of any length takes the same
        memory. No message fits a dropped position: a message for its step counts as one of another history.
        """
        last = len(self.chain) - 2
        if last not in kept:
            self.chain[last] = _DROPPED

    def full(self, step: int) -> Position:
        """Return the position before a step, complete even if its state was dropped."""
        return next(self.walk(step))

    def walk(self, step: int) -> Iterator[Position]:
        """Yield the position before a step and all later ones, complete even if their states were dropped.

        Dropped states are computed one by one, so that a walk holds one state at a time.
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
                again = self._after(position, following.entries, following.certificate)
                following = following._replace(state=again.state, happened=again.happened, is_without_state=False)
            position = following
            if index >= step:
                yield position
