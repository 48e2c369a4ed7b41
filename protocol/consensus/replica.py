"""A node's copy of the history, together with everything that may still change it.

Theory of operation
-------------------
::

    signed message ──▶ take ──▶ after the root: kept by the ballot ───────┐
                           ├──▶ a vote on the root: kept by the ballot    ├──▶ settle: the history follows the ballot's
                           ├──▶ proof of misconduct: kept                 │    line; after a final step the ballot on
                           ├──▶ for an unknown root: kept ────────────────┘    the next root begins
                           └──▶ of another history, or too late: put aside, to be compared with messages that its
                                author signs later

:class:`~protocol.consensus.ballot.Ballot` derives everything that follows from the messages after the root. Neither
that class nor this module has a clock, secrets or I/O. :attr:`Replica.news` lists the messages to store and to pass on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from protocol import limits
from protocol.consensus.ballot import Ballot, Closed
from protocol.consensus.branches import Outcome
from protocol.consensus.history import History
from protocol.consensus.kinds import RULES, contradiction, read_vote
from protocol.consensus.position import FORMED, Position
from protocol.consensus.rule import MisconductError, OtherStateError, RejectedMessageError, Slot
from protocol.consensus.transcript import write_proof
from protocol.crypto.hashing import tagged_hash
from protocol.wire.messages import VOTES, Kind, Message, Signed

# News: changes that the owner of a replica has to act on


class Learned(NamedTuple):
    """A message is new to this node. Pass it on to spectators and to peers without a link to its author."""

    signed: Signed
    must_store: bool = True
    """Whether to store the message, together with all others of the same event-loop pass, before the next frame that
    binds is sent. False for another player's vote: it is stored once something depends on it here. If the node stops
    before that, the vote is lost like a frame in transit."""


class Replace(NamedTuple):
    """Store these messages in place of everything stored for the match so far."""

    messages: tuple[Signed, ...]


class Rewound(NamedTuple):
    """The history has changed: this closed step is now closed differently or open again. Later steps are undone."""

    since: int


class Proven(NamedTuple):
    """The first proof that a player broke the rules."""

    misconduct: MisconductError
    proof: bytes
    """A file that proves the misconduct to anybody."""


News = Learned | Replace | Rewound | Proven


class Replica:
    """The history of one match at one node, together with everything that may still change it.

    :param me: the node's roster index; None for a spectator.
    :raises MalformedGenesisError: if ``genesis_data`` is not a valid genesis.
    """

    def __init__(self, genesis_data: bytes, me: int | None) -> None:
        self.history = History(genesis_data)
        self.me = me
        self.ballot = Ballot(me, self.history.position, self.history)
        """Everything held after the root."""
        self.proven: dict[int, MisconductError] = {}
        """The proof that an author broke the rules, by author."""
        self._votes_ahead: dict[int, dict[tuple[int, int, bytes, int], Signed]] = {}
        """Votes on unknown roots, by author and (step, round, tip, kind)."""
        self._aside: dict[tuple[int, bool], Signed] = {}
        """Each author's last stray message and last stray vote, with checked signatures: a LOCK of another state, a
        RESULT of another end, a message too late or of another history. A later message may contradict one."""
        self.news: list[News] = []
        """The changes since the owner last took them."""
        self._stored_votes: set[bytes] = set()
        """The ids of the stored votes on this root."""
        self._is_settled = True
        self._is_loading = False
        """Whether the messages come from this node's store."""
        self._silent_at_lock: frozenset[int] = frozenset()
        """The players who had not signed the LOCK that votes have just closed."""

    # State of this node

    @property
    def is_calm(self) -> bool:
        """Whether this node holds nothing except the history and messages for the open step."""
        ballot, later = self.ballot, self.ballot.branches.later
        return not (ballot.has_votes or self._votes_ahead or self._aside or self.proven or any(later.values()))

    @property
    def is_diverged(self) -> bool:
        """Whether players have locked different states, so that the match cannot continue here.

        That is so if more than half of the base lock a state that differs from this node's, or if no state can still be
        locked by more than half of the base. It accuses no player: some program has a bug, perhaps this one.
        """
        if self.is_calm:
            return False
        position, held = self.history.position, self.history.held
        aside = (stray.message for stray in self._aside.values() if stray.message.tip == position.tip)
        signed = {each.author: each.body for each in aside if each.kind in (Kind.LOCK, Kind.WITNESS)}
        for vote in self.ballot.votes():
            if vote.value is not None and vote.value.tip == position.tip and isinstance(vote.value.entries, bytes):
                signed[vote.author] = vote.value.entries
        others = [body for author, body in signed.items() if body != position.signed_hash and author not in held]
        if not others:
            return False
        most = max(others.count(body) for body in others)
        ours = len(held) + len(self.history.countersigned.get(position.tip, ()))
        unknown = len(position.base) - ours - len(others)
        return most >= position.majority or max(ours, most) + unknown < position.majority

    def signed_at(self, position: Position) -> Signed | None:
        """Return the kept message, other than a vote, that this node signed for a step after the root, if any."""
        if self.me is None:
            return None
        said = self.ballot.branches.said(position.tip, self.me)
        beside = self.history.countersigned.get(position.tip, {}).get(self.me)
        return said[0] if said else beside

    @property
    def hurried(self) -> frozenset[int]:
        """The players who get only half a second of patience in the open step: proven cheats, and, in the step after a
        LOCK closed by votes, players who had not signed that LOCK."""
        is_behind = self.history.position.step == self.ballot.root.step
        return self._silent_at_lock.union(self.proven) if is_behind else frozenset(self.proven)

    # Taking messages

    def take_stored(self, messages: Iterable[Signed]) -> None:
        """Take the messages of a store in their order, to bring the history to where the node left it.

        :raises RejectedMessageError: if a message does not belong to this match.
        """
        votes = set()
        self._is_loading = True
        try:
            for signed in messages:
                self.history.check_signature(signed)
                with suppress(RejectedMessageError):  # one of two contradicting messages, or an outdated vote
                    self.take(signed)
                self.settle()
                if signed.message.kind in VOTES:
                    votes.add(signed.id)
        finally:
            self._is_loading = False
        self._stored_votes = votes
        self.news.clear()

    def take(self, signed: Signed) -> Outcome:
        """Take one message by any author, and compare it with everything kept from that author.

        :raises RejectedMessageError: if the message does not belong here, which proves nothing about its author.
        """
        message = signed.message
        if message.match != self.history.match:
            raise RejectedMessageError("a message of another match")
        said = self._said(message)
        known = next((each for each in said if each.id == signed.id), None)
        if known is not None:
            signed = known  # its signature was already checked
        elif message.author not in self.proven:
            other = next((each for each in said if contradiction(each, signed)), None)
            if other is not None:
                signed = self.history.check_signature(signed)
                reason = contradiction(other, signed)
                self._prove(MisconductError(message.author, message.step, reason, (other, signed)))
                with suppress(RejectedMessageError):
                    return self._sort_in(signed)
                return Outcome.DUPLICATE
        return self._sort_in(signed)

    def _said(self, message: Message) -> list[Signed]:
        """Return all kept messages that a message by the same author might contradict."""
        author = message.author
        said = [signed for slot in (False, True) if (signed := self._aside.get((author, slot))) is not None]
        said += self.history.said(message)
        withdrawal = self.history.withdrawals.get(author)
        if withdrawal is not None and withdrawal.message.tip == message.tip:
            said.append(withdrawal)
        if message.kind is Kind.RESULT:
            said += [self.history.results[author]] if author in self.history.results else []
            said += self.ballot.branches.own(author)  # RESULTs for any tip: a player signs only one per match
        elif message.kind in VOTES:
            said += self.ballot.by(author) if message.tip == self.ballot.root.tip else ()
            said += self._votes_ahead.get(author, {}).values()
        else:
            said += self.ballot.branches.said(message.tip, author)
        return said

    def _sort_in(self, signed: Signed) -> Outcome:
        history, message = self.history, signed.message
        slot = RULES[message.kind].slot
        try:
            if slot is Slot.VOTE:
                outcome = self._take_vote(signed)
            elif slot is Slot.WITNESS:
                outcome = history.countersign(signed)
            elif slot is Slot.END or (message.kind is Kind.RESIGN and message.step < FORMED):
                outcome = history.hold(signed)
            elif message.step < self.ballot.root.step:
                outcome = history.weigh(signed)
            else:
                signed = history.check_signature(signed)
                outcome = self.ballot.take(signed, is_kept=self._is_loading or message.author == self.me)
                if outcome is Outcome.ADDED:
                    branches, position = self.ballot.branches, history.position
                    is_open = message.tip == position.tip and not (self.ballot.has_votes or self.proven)
                    is_first = is_open and len(branches.messages[message.tip][message.author]) == 1
                    if self._is_settled and is_first and not branches.is_full(position):
                        history.held[message.author] = signed  # nothing else follows from the message
                    else:
                        self._is_settled = False
        except MisconductError as error:
            self._prove(error)
            return Outcome.DUPLICATE
        except OtherStateError:
            self._put_aside(signed)
            raise
        if outcome is Outcome.ADDED and slot is not Slot.VOTE:
            self.news.append(Learned(signed))
        if outcome is Outcome.FUTURE and slot in (Slot.WITNESS, Slot.END, Slot.ANY_STEP):
            self.ballot.branches.keep_for_later(history.check_signature(signed))
        if outcome is Outcome.FUTURE and self.proven:
            self._is_settled = False  # this message may give a branch its first signer
        if outcome in (Outcome.FOREIGN, Outcome.LATE):
            self._put_aside(signed)
        return outcome

    def _take_vote(self, signed: Signed) -> Outcome:
        history, message, root = self.history, signed.message, self.ballot.root
        signed = history.check_signature(signed)
        if message.tip != root.tip:
            if message.step <= root.step:
                return Outcome.FOREIGN
            kept = self._votes_ahead.setdefault(message.author, {})
            kept.setdefault((message.step, read_vote(signed).round, message.tip, message.kind), signed)
            if len(kept) > limits.FUTURE_PER_AUTHOR:
                del kept[max(kept)]
            return Outcome.FUTURE
        outcome = self.ballot.take(signed, is_kept=self._is_loading)
        if outcome is Outcome.FOREIGN:
            self._put_aside(signed)
            raise RejectedMessageError("a vote by a player who may not vote on this root")
        if outcome in (Outcome.ADDED, Outcome.LATE):
            self._is_settled = False
        if outcome is Outcome.ADDED:
            if message.author == self.me:
                self.store_votes((signed,))
            elif read_vote(signed).round <= self.ballot.round + 1:
                self.news.append(Learned(signed, must_store=False))
        return outcome

    def _put_aside(self, signed: Signed) -> None:
        """Keep a stray message whose signature was checked."""
        self._aside[signed.message.author, signed.message.kind in VOTES] = signed._replace(checked=True)

    def store_votes(self, votes: Iterable[Signed]) -> None:
        """Queue for storage the votes that this node's own vote, or a step that it closes, depends on."""
        for signed in votes:
            if signed.id not in self._stored_votes and signed.message.kind in VOTES:
                self._stored_votes.add(signed.id)
                self.news.append(Learned(signed))

    def _prove(self, error: MisconductError) -> None:
        if error.author not in self.proven:
            self.proven[error.author] = error
            self.ballot.convict(error.author, error.evidence[0].message.tip if len(error.evidence) == 1 else b"")
            self._is_settled = False
            history, message = self.history, error.evidence[0].message
            if not history.goes_through(message) and message.tip in self.ballot.branches.positions:
                history = history.along(self.ballot.branches.path(message.tip))
            proof = write_proof(history, error)
            self.news += [*(Learned(signed) for signed in error.evidence), Proven(error, proof)]

    # Following the ballot

    def settle(self) -> None:
        """Close all steps that can close, and follow the ballot's line."""
        if self._is_settled:
            return
        while True:
            while again := self.ballot.grow():
                evidence = [signed for error in self.proven.values() for signed in error.evidence]
                for signed in (*again, *evidence):
                    with suppress(RejectedMessageError):
                        self.take(signed)
            closed = self.ballot.closed
            if closed is None:
                break
            self._close(closed)
        self._follow(self.ballot.line, self.ballot.held)
        self._is_settled = True
        for signed in [*self.ballot.branches.ripe()]:  # witnesses' signatures
            with suppress(RejectedMessageError):
                self.take(signed)

    def _follow(self, line: Sequence[Position], held: Mapping[int, Signed]) -> None:
        since = self.history.follow(line, held)
        if since is not None:
            self.news.append(Rewound(since))

    def _close(self, closed: Closed) -> None:
        """Close a step for good, and begin the ballot on the root that follows."""
        history, old = self.history, self.ballot
        self._follow(old.branches.path(closed.position.tip), closed.entries)
        history.settle(closed.entries, closed.certificate)
        is_lock = closed.position.kind is Kind.LOCK and bool(closed.certificate)
        silent = set(closed.position.owed).difference(old.branches.messages[closed.position.tip])
        self._silent_at_lock = frozenset(silent) if is_lock else frozenset()
        root = history.position
        self.ballot = Ballot(self.me, root, history, self.proven)
        kept = [signed for slots in old.branches.messages.values() for each in slots.values() for signed in each]
        final = {signed.id for position in history.chain[old.root.step + 1 :] for signed in position.entries.values()}
        stray = [signed for signed in kept if signed.id not in final]
        for signed in (*stray, *(vote.signed for vote in old.votes())):
            self._put_aside(signed)
        later = [signed for each in old.branches.later.values() for signed in each.values()]
        ahead = [signed for each in self._votes_ahead.values() for signed in each.values()]
        self._votes_ahead = {}
        for signed in (*later, *ahead):
            with suppress(RejectedMessageError):
                self.take(signed)
        if self._stored_votes or closed.certificate or stray:
            self._stored_votes.clear()
            self.news.append(Replace(tuple(self.messages())))

    # For other nodes and the store

    def messages(self) -> Iterator[Signed]:
        """Yield all messages, in an order that brings another replica to the same state."""
        yield from self._closed_with(0, self.history.position.root_step)
        yield from self._after_root()
        yield from self._later()
        yield from self._proofs()
        yield from self._beside()
        yield from (vote.signed for vote in self.ballot.votes())

    def shown(self, step: int) -> Iterator[Signed]:
        """Yield all messages from a step on, for a peer that may lack them: first those that continue the match."""
        history, told = self.history, set[bytes]()
        for signed in chain(
            self._closed_with(step, history.position.step),
            (signed for signed in self._after_root() if signed.message.tip != history.position.tip),
            self._proofs(),
            self._after_root(),
            self._beside(),
            (vote.signed for vote in self.ballot.votes()),
            self._later(),  # perhaps the only copies, if their author has lost its own
        ):
            if signed.id not in told:
                told.add(signed.id)
                yield signed

    def _closed_with(self, step: int, until: int) -> Iterator[Signed]:
        for position in self.history.chain[step + 1 : until + 1]:
            yield from position.entries.values()
            yield from position.certificate

    def _after_root(self) -> Iterator[Signed]:
        for slots in self.ballot.branches.messages.values():
            for author in sorted(slots):
                yield from slots[author]

    def _later(self) -> Iterator[Signed]:
        later, ahead = self.ballot.branches.later, self._votes_ahead
        for author in sorted({*later, *ahead}):
            yield from later.get(author, {}).values()
            yield from (signed for _, signed in sorted(ahead.get(author, {}).items()))

    def _proofs(self) -> Iterator[Signed]:
        for author in sorted(self.proven):
            yield from self.proven[author].evidence

    def _beside(self) -> Iterator[Signed]:
        history = self.history
        yield from (history.withdrawals[author] for author in sorted(history.withdrawals))
        yield from (known[author] for _, known in sorted(history.countersigned.items()) for author in sorted(known))
        yield from (history.results[author] for author in sorted(history.results))

    def digests(self) -> tuple[bytes, bytes]:
        """Return a digest of the messages for the open step, and a digest of the proven cheats and of the votes that
        may still matter. The digest of nothing is empty.

        If the digests of two nodes differ, one of the nodes lacks something.
        """
        slots = self.ballot.branches.messages[self.history.position.tip]
        held = {signed.id for kept in slots.values() for signed in kept} | {signed.id for signed in self._beside()}
        votes = {vote.signed.id for vote in self.ballot.counting()}
        culprits = bytes(sorted(self.proven))
        return (
            tagged_hash("held", b"".join(sorted(held))) if held else b"",
            tagged_hash("votes", b"".join(sorted(votes)), culprits) if votes or culprits else b"",
        )
