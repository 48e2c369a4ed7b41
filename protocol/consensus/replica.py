"""A node's copy of the history, and everything that may still change it.

Theory of operation
-------------------
::

    signed message ──▶ take ──▶ behind the root: the ballot keeps it ─────┐
                           ├──▶ a vote on the root: the same              ├──▶ settle: the history follows the ballot's
                           ├──▶ proof of misconduct: kept                 │    line; behind a final step the ballot of
                           ├──▶ for a root that is not known: kept       ─┘    the next root begins
                           └──▶ of another history, or too late for this one: put aside, and compared with what its
                                author signs next

All that follows from the messages behind the root is :class:`~protocol.consensus.ballot.Ballot`'s. Neither that
nor this module has a clock, a secret or I/O. The messages to store and to pass on are in :attr:`Replica.news`.
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

# News: the changes in a replica that its owner has to act on


class Learned(NamedTuple):
    """A message is new to this node: pass it on to peers that cannot hear its author, and to spectators."""

    signed: Signed
    must_store: bool = True
    """Store it, together with all others of the same pass of the event loop, before anything is sent. False for another
    player's vote: it is stored once something rests on it here. If the node stops before, the vote is lost like a frame
    on its way."""


class Replace(NamedTuple):
    """Store these messages instead of all that was stored of the match so far."""

    messages: tuple[Signed, ...]


class Rewound(NamedTuple):
    """The history has changed: this step, which was closed, is closed otherwise or open again. All behind it is
    rolled back."""

    since: int


class Proven(NamedTuple):
    """The first proof that somebody broke the rules."""

    misconduct: MisconductError
    proof: bytes
    """A file that proves it to anybody."""


News = Learned | Replace | Rewound | Proven


class Replica:
    """The history of one match at one node, and everything that may still change it.

    :param me: index of the node in the roster; None for a spectator.
    :raises MalformedGenesisError: if ``genesis_data`` is not a valid genesis.
    """

    def __init__(self, genesis_data: bytes, me: int | None) -> None:
        self.history = History(genesis_data)
        self.me = me
        self.ballot = Ballot(me, self.history.position, self.history)
        """All that is held behind the root."""
        self.proven: dict[int, MisconductError] = {}
        """What proves that an author broke the rules, by author."""
        self._votes_ahead: dict[int, dict[tuple[int, int, bytes, int], Signed]] = {}
        """Votes on roots that are not known yet, by author and (step, round, tip, kind)."""
        self._aside: dict[tuple[int, bool], Signed] = {}
        """The last stray message, by author and whether it is a vote: a LOCK of another state, a RESULT of another end,
        a message that came too late or is of another history. Its author may contradict it. Signatures are checked."""
        self.news: list[News] = []
        """What has changed since the owner last looked."""
        self._stored_votes: set[bytes] = set()
        """Ids of the votes on this root that were stored."""
        self._is_settled = True
        self._silent_at_lock: frozenset[int] = frozenset()
        """Those who had not signed the LOCK that votes have just closed."""

    # How this node stands

    @property
    def is_calm(self) -> bool:
        """This node holds nothing but the history and messages for the open step."""
        ballot, later = self.ballot, self.ballot.branches.later
        return not (ballot.has_votes or self._votes_ahead or self._aside or self.proven or any(later.values()))

    @property
    def is_diverged(self) -> bool:
        """More than half of the base lock another state than this node's program has come to, or no state can be locked
        by more than half of them any more.

        No player has done wrong then: some program has a bug, perhaps this one.
        """
        position, held = self.history.position, self.history.held
        aside = (signed.message for signed in self._aside.values())
        signed = {each.author: each.body for each in aside if (each.kind, each.tip) == (Kind.LOCK, position.tip)}
        for vote in self.ballot.votes():
            if vote.value is not None and vote.value.tip == position.tip and isinstance(vote.value.entries, bytes):
                signed[vote.author] = vote.value.entries
        others = [body for author, body in signed.items() if body != position.lock and author not in held]
        if not others:
            return False
        most = max(others.count(body) for body in others)
        ours = len(held) + len(self.history.countersigned.get(position.tip, ()))
        unknown = len(position.base) - ours - len(others)
        return most >= position.majority or max(ours, most) + unknown < position.majority

    def signed_at(self, position: Position) -> Signed | None:
        """Return what this node has signed for a step behind the root, if it is kept; votes apart."""
        if self.me is None:
            return None
        said = self.ballot.branches.said(position.tip, self.me)
        beside = self.history.countersigned.get(position.tip, {}).get(self.me)
        return said[0] if said else beside

    @property
    def hurried(self) -> frozenset[int]:
        """Players who get no patience in the open step: proven cheats and, right after a LOCK that votes have closed,
        those who had not signed it."""
        is_behind = self.history.position.step == self.ballot.root.step
        return self._silent_at_lock.union(self.proven) if is_behind else frozenset(self.proven)

    # Taking messages

    def take_stored(self, messages: Iterable[Signed]) -> None:
        """Take the messages of a store, in their order. Then the history is where the node left it.

        :raises RejectedMessageError: if one does not belong to this match.
        """
        votes = set()
        for signed in messages:
            self.history.check_signature(signed)
            with suppress(RejectedMessageError):  # half of a proof, or a vote that nothing rests on any more
                self.take(signed)
            self.settle()
            if signed.message.kind in VOTES:
                votes.add(signed.id)
        self._stored_votes = votes
        self.news.clear()

    def take(self, signed: Signed) -> Outcome:
        """Take one message of any author, and compare it with everything that is kept of that author.

        :raises RejectedMessageError: if it does not belong here; that proves nothing about its author.
        """
        message = signed.message
        if message.match != self.history.match:
            raise RejectedMessageError("a message of another match")
        said = self._said(message)
        known = next((each for each in said if each.id == signed.id), None)
        if known is not None:
            signed = known  # its signature was checked
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
        """Return the messages that are kept of an author in the place of a message, and may contradict it."""
        author = message.author
        said = [signed for slot in (False, True) if (signed := self._aside.get((author, slot))) is not None]
        said += (*self.history.said(message), *self.history.withdrawn(message))
        if message.kind is Kind.RESULT:
            said += [self.history.results[author]] if author in self.history.results else []
            said += self.ballot.branches.own(author)  # of whatever end: one player signs one in a match
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
                outcome = self.ballot.take(signed, is_mine=message.author == self.me)
                if outcome is Outcome.ADDED and self._is_settled and self._leaves_open(message):
                    history.held[message.author] = signed
                elif outcome is Outcome.ADDED:
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
            self._is_settled = False  # it may be signed behind a branch that nobody else has signed behind
        if outcome in (Outcome.FOREIGN, Outcome.LATE):
            self._put_aside(signed)
        return outcome

    def _leaves_open(self, message: Message) -> bool:
        """Tell whether a message that was added only fills a slot of the open step: nothing else follows from it."""
        position, ballot = self.history.position, self.ballot
        if message.tip != position.tip or ballot.has_votes or self.proven:
            return False
        return len(ballot.branches.messages[message.tip][message.author]) == 1 and not ballot.branches.is_full(position)

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
        outcome = self.ballot.take(signed)
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
        """Keep a stray message, whose signature was checked."""
        self._aside[signed.message.author, signed.message.kind in VOTES] = signed._replace(checked=True)

    def store_votes(self, votes: Iterable[Signed]) -> None:
        """Have the votes stored on which a vote of this node, or a step that it closes, rests."""
        for signed in votes:
            if signed.id not in self._stored_votes and signed.message.kind in VOTES:
                self._stored_votes.add(signed.id)
                self.news.append(Learned(signed))

    def _prove(self, error: MisconductError) -> None:
        if error.author not in self.proven:
            self.proven[error.author] = error
            self.ballot.convict(error.author, error.evidence[0].message.tip if len(error.evidence) == 1 else b"")
            self._is_settled = False
            proof = write_proof(self._history_at(error.evidence[0]), error)
            self.news += [*(Learned(signed) for signed in error.evidence), Proven(error, proof)]

    # Following the ballot

    def settle(self) -> None:
        """Close all steps that can be closed, and follow the branch that the ballot follows."""
        if self._is_settled:
            return
        while True:
            self._grow()
            closed = self.ballot.closed
            if closed is None:
                break
            self._close(closed)
        self._follow(self.ballot.line, self.ballot.held)
        self._is_settled = True
        for signed in [*self.ballot.branches.ripe()]:  # signatures of witnesses
            with suppress(RejectedMessageError):
                self.take(signed)

    def _grow(self) -> None:
        while again := self.ballot.grow():
            evidence = [signed for error in self.proven.values() for signed in error.evidence]
            for signed in (*again, *evidence):
                with suppress(RejectedMessageError):
                    self.take(signed)

    def _follow(self, line: Sequence[Position], held: Mapping[int, Signed]) -> None:
        since = self.history.follow(line, held)
        if since is not None:
            self.news.append(Rewound(since))

    def _close(self, closed: Closed) -> None:
        """Close a step for good, and begin the ballot on what follows."""
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

    def _history_at(self, signed: Signed) -> History:
        """Return the history by which a message is judged: this node's own, or one along a branch."""
        tip = signed.message.tip
        if self.history.goes_through(signed.message) or tip not in self.ballot.branches.positions:
            return self.history
        return self.history.along(self.ballot.branches.path(tip))

    # For others, and for the store

    def messages(self) -> Iterator[Signed]:
        """Yield all messages, in an order that leads another replica to the same point."""
        yield from self._closed_with(0, self.history.position.root)
        yield from self._behind_root()
        yield from self._later()
        yield from self._proofs()
        yield from self._beside()
        yield from (vote.signed for vote in self.ballot.votes())

    def shown(self, step: int) -> Iterator[Signed]:
        """Yield all messages from a step on for a peer that may lack them, first those that the match goes on with."""
        history, told = self.history, set[bytes]()
        for signed in chain(
            self._closed_with(step, history.position.step),
            (signed for signed in self._behind_root() if signed.message.tip != history.position.tip),
            self._proofs(),
            self._behind_root(),
            self._beside(),
            (vote.signed for vote in self.ballot.votes()),
            self._later(),  # perhaps the only copy left, if the author has lost it
        ):
            if signed.id not in told:
                told.add(signed.id)
                yield signed

    def _closed_with(self, step: int, until: int) -> Iterator[Signed]:
        for position in self.history.chain[step + 1 : until + 1]:
            yield from position.entries.values()
            yield from position.certificate

    def _behind_root(self) -> Iterator[Signed]:
        for slots in self.ballot.branches.messages.values():
            for author in sorted(slots):
                yield from slots[author]

    def _later(self) -> Iterator[Signed]:
        for author, kept in sorted(self.ballot.branches.later.items()):
            yield from (kept[slot] for slot in sorted(kept))
            yield from (signed for _, signed in sorted(self._votes_ahead.get(author, {}).items()))

    def _proofs(self) -> Iterator[Signed]:
        for author in sorted(self.proven):
            yield from self.proven[author].evidence

    def _beside(self) -> Iterator[Signed]:
        history = self.history
        yield from (history.withdrawals[author] for author in sorted(history.withdrawals))
        yield from (known[author] for _, known in sorted(history.countersigned.items()) for author in sorted(known))
        yield from (history.results[author] for author in sorted(history.results))

    def digests(self) -> tuple[bytes, bytes]:
        """Return two digests: of the messages for the open step, and of the votes that may still matter together with
        the authors who are proven to have broken the rules. A digest of nothing is empty.

        If the digests of two nodes differ, one of them lacks something.
        """
        slots = self.ballot.branches.messages[self.history.position.tip]
        held = {signed.id for kept in slots.values() for signed in kept} | {signed.id for signed in self._beside()}
        votes = {vote.signed.id for vote in self.ballot.counting()}
        culprits = bytes(sorted(self.proven))
        return (
            tagged_hash("held", b"".join(sorted(held))) if held else b"",
            tagged_hash("votes", b"".join(sorted(votes)), culprits) if votes or culprits else b"",
        )
