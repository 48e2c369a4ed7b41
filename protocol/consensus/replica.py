"""A node's copy of the history, and everything that may still change it.

Theory of operation
-------------------
::

    signed message ──▶ take ──▶ for the open step: held            ─┐
                           ├──▶ for a later step: kept until then   │
                           ├──▶ a vote: counted                     ├──▶ settle: the open step closes, or a vote changes
                           ├──▶ proof of misconduct: kept          ─┘    how a closed step was closed
                           └──▶ of another history, or too late for this one: put aside, and compared with what its
                                author signs next

A step closes by itself when every message is there, unless this node has voted on it, or a proven cheat owes it a
message. (A complete LOCK is final all the same.) Or it closes as a majority has decided
(:mod:`protocol.consensus.absence`). A decision may drop what came after its step, but nothing before a complete LOCK.

A node that was cut off may have voted on a step that the others have long closed. It then builds their history beside
its own (:meth:`Replica.follow`). Once that history has a complete LOCK, it replaces the node's own.

No clock, no secrets, no I/O. What has to be stored, shown or passed on is in :attr:`Replica.news`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from copy import copy
from typing import NamedTuple

from protocol import limits
from protocol.consensus.absence import Absence, Ballot, ContradictionError, Entries, Place, Vote
from protocol.consensus.errors import MisconductError, OtherStateError, RejectedMessageError
from protocol.consensus.history import History, Outcome
from protocol.consensus.proofs import contradiction
from protocol.consensus.steps import FORMED
from protocol.consensus.votes import read_vote
from protocol.crypto.hashing import tagged_hash
from protocol.wire.messages import VOTES, Kind, Message, Signed


class Kept(NamedTuple):
    """A message that is new to this node. It is to be stored, and passed on to peers that cannot hear its author."""

    signed: Signed


class Heard(NamedTuple):
    """Another player's vote that is new to this node. It is to be passed on.

    It is stored once something rests on it here. If the node stops before, the vote is lost like a frame on its way.
    """

    signed: Signed


class Proven(NamedTuple):
    """A proof that somebody broke the rules."""

    misconduct: MisconductError
    is_first: bool
    """Nothing was known against its author before."""


class Replaced(NamedTuple):
    """The history of others has replaced this node's. The store is to hold these messages instead."""

    messages: tuple[Signed, ...]
    since: int
    """The first step that differs."""


class Settled(NamedTuple):
    """Some stored votes no longer matter. The store is to hold these messages instead."""

    messages: tuple[Signed, ...]


class TakenBack(NamedTuple):
    """A vote changed how a step was closed: that step and all after it are void."""

    since: int


News = Kept | Heard | Proven | Replaced | Settled | TakenBack


class _Draft:
    """The history of a peer, as far as the peer has shown it, and the votes on its open step.

    It counts every vote, also those that have no part in closing the step.
    """

    def __init__(self, record: History) -> None:
        self.record = record
        self._ballot = self._open()

    def _open(self) -> Ballot:
        place = self.record.place(self.record.position.step)
        ballot = Ballot(place)
        ballot.convict(place.live)  # as a reader of a certificate does: half of those who stay are enough
        return ballot

    def add(self, signed: Signed) -> None:
        """Take a message, or count a vote on the open step; close that step when it is complete or decided.

        :raises RejectedMessageError: if it does not belong here.
        :raises MisconductError: if it proves that its author broke a rule. A vote counts all the same.
        """
        record, message = self.record, signed.message
        try:
            if message.kind not in VOTES:
                record.add(signed)
            elif message.tip == record.position.tip:
                self._ballot.take(record.check_vote(signed))
        except ContradictionError as error:
            both = error.first.source, error.second.source
            raise MisconductError(message.author, message.step, contradiction(*both), both) from None
        finally:
            if self._ballot.decided:
                with suppress(RejectedMessageError):  # a message that belongs to the decision is not here yet
                    record.close_without([vote.source for vote in self._ballot.decided])
            if self._ballot.place.tip != record.position.tip:
                self._ballot = self._open()

    def said(self, message: Message) -> list[Signed]:
        """Return all messages and votes that are kept of the author of ``message`` in its step."""
        votes = self._ballot.by(message.author) if message.tip == self._ballot.place.tip else ()
        return self.record.said(message) + [vote.source for vote in votes]


class Replica:
    """The history of one match at one node.

    :param me: index of the node in the roster; None for a spectator.
    :raises MalformedGenesisError: if ``genesis_data`` is not a valid genesis.
    """

    def __init__(self, genesis_data: bytes, me: int | None) -> None:
        self.record = History(genesis_data)
        self.absence = Absence(me)
        self.proven: dict[int, MisconductError] = {}
        """What proves that an author broke the rules, by author."""
        self.news: list[News] = []
        """What has happened since the owner last looked."""
        self.own: dict[bytes, Signed] = {}
        """What this node has signed since the last complete LOCK, without votes, by tip. It is sent again unchanged if
        a step that was taken back returns."""
        self.is_called_off = False
        """The match is not formed and will not be. The owner decides that, by its clock."""
        self.is_silent = False
        """The node was restarted and may sign nothing yet. The owner decides that, by the peers it has heard."""
        self._later: dict[int, dict[tuple[int, int, int], Signed]] = {}
        """Messages for later steps, by author and (step, kind, vote round). The kind is 0 for all but votes and RESIGN:
        an honest author signs one message of the others in a step."""
        self._second: dict[tuple[bytes, int], Signed] = {}
        """The other message of an equivocator, by tip and author."""
        self._final = 0
        """The step of the last complete LOCK when votes were last forgotten."""
        self._stored_votes: set[bytes] = set()
        """Ids of the votes stored since then."""
        self._aside: dict[int, dict[tuple[bool, bool], Signed]] = {}
        """Messages with right signatures that have no place here: LOCKs of another state, messages for a step that was
        closed without them, and those of another history or of a dropped part of this one. The last of each author is
        kept, by whether it is a vote and whether its step is in this history: it shows when the author contradicts
        it."""
        self._tail: tuple[Place, ...] = ()
        self._tail_before = b""
        """The tip at which the tail was computed. The tail depends on nothing else."""
        self._drafts: dict[int, _Draft] = {}
        """The history of each peer, as far as the peer has shown it."""
        self._left: tuple[History, ...] = ()
        """The history that was last replaced, if no LOCK was completed since."""

    # What the absence rule asks (protocol.consensus.absence.HistoryView)

    def tail(self) -> Sequence[Place]:
        """Return the steps that a vote can still change."""
        record, position = self.record, self.record.position
        if position.step < FORMED and not self.may_vote:
            return ()
        if self._tail_before != position.tip:
            last = position.step - (position.kind is None)
            self._tail = tuple(record.place(step) for step in range(max(1, position.locked), last + 1))
            self._tail_before = position.tip
        return self._tail

    @property
    def may_vote(self) -> bool:
        """Everybody has signed COMMIT of the first roll: this node has all of them, or others have decided so.

        Before that nobody is voted absent.
        """
        position = self.record.position
        ballot = self.absence.ballots.get(position.tip)
        is_decided = ballot is not None and bool(ballot.decided)
        return position.step >= FORMED or (position.step > 0 and (self.record.is_complete or is_decided))

    def closed(self, step: int) -> Entries | None:
        """Return the ids of the messages that closed a step."""
        return self.record.closed(step)

    def held(self, step: int) -> Mapping[int, bytes]:
        """Return the ids of the messages that are here for a step."""
        chain = self.record.chain
        here = chain[step + 1].entries if step + 1 < len(chain) else self.record.held
        return {author: signed.id for author, signed in here.items()}

    def culprits(self) -> Set[int]:
        """Return the authors who are proven to have broken the rules."""
        return self.proven.keys()

    def elsewhere(self) -> Iterator[tuple[int, int]]:
        """Yield authors and rounds of votes on later steps, and on steps of other histories."""
        position = self.record.position
        for author in position.base:
            for kept in (self._later.get(author, {}), self._aside.get(author, {})):
                for signed in kept.values():
                    if signed.message.kind in VOTES and signed.message.step >= position.locked:
                        yield author, read_vote(signed).round

    def tainted(self) -> Iterator[bytes]:
        """Yield the tips of steps that need a vote at once, because an author who owes a message has cheated."""
        if not self.proven:
            return
        for place in self.tail():
            if self.absence.has_voted(place.tip):
                continue
            is_open = self.record.closed(place.step) is None
            # Messages of the others may be on their way, or a person may still be choosing: they keep their time.
            only_cheats_missing = is_open and all(author in self.proven for author in self.record.missing())
            if any(
                (place.tip, author) in self._second or (only_cheats_missing and author in self.proven)
                for author in place.owed
            ):
                yield place.tip

    @property
    def is_deciding(self) -> bool:
        """This node has joined a vote on a step that it had closed. The others cannot go on before it is decided."""
        place = self.absence.contested(self) if self.absence.ballots else None
        return place is not None and self.record.closed(place.step) is not None and self.absence.has_voted(place.tip)

    # Taking

    def take(self, signed: Signed) -> Outcome:
        """Take one message of any author, and compare it with everything that is kept of that author.

        :raises RejectedMessageError: if it does not belong here; that proves nothing about its author.
        """
        message, other = signed.message, None
        if message.author not in self.proven and (said := self._said(message)):
            signed = next((each for each in said if each.id == signed.id), signed)  # its signature was checked
            other = next((each for each in said if contradiction(each, signed)), None)
        if other is None:
            outcome = self._place(signed)
        else:
            signed, outcome = self.record.check_signature(signed), Outcome.DUPLICATE
            with suppress(RejectedMessageError):
                outcome = self._place(signed)
            self._prove(MisconductError(message.author, message.step, contradiction(other, signed), (other, signed)))
        return outcome

    def _said(self, message: Message) -> list[Signed]:
        """Return what may contradict a message, apart from what the history has in its place."""
        author = message.author
        said: list[Signed] = []
        for kept in (self._aside, self._later):
            if author in kept:
                said += kept[author].values()
        if message.kind in VOTES:
            ballot = self.absence.ballots.get(message.tip)
            said += [vote.source for vote in ballot.by(author)] if ballot is not None else ()
            said += self.record.said(message)
        others: tuple[History | _Draft, ...] = (*self._left, *self._drafts.values())
        for other in others:
            said += other.said(message)
        return said

    def _place(self, signed: Signed) -> Outcome:
        if signed.message.kind in VOTES:
            return self._take_vote(signed)
        is_witness = signed.message.kind is Kind.WITNESS
        try:
            outcome = self.record.countersign(signed) if is_witness else self.record.hold(signed)
        except MisconductError as error:
            return self._prove(error)
        except OtherStateError:
            self._put_aside(signed)
            raise
        if outcome is Outcome.ADDED:
            if signed.message.author == self.absence.me:
                self.own[signed.message.tip] = signed
            self.news.append(Kept(signed))
        if outcome is Outcome.FUTURE:
            return self._keep_for_later(self.record.check_signature(signed), 0)
        if outcome in (Outcome.ADDED, Outcome.DUPLICATE):
            return outcome
        return self._put_aside(signed)

    def _take_vote(self, signed: Signed) -> Outcome:
        record, message = self.record, signed.message
        if message.match != record.match:
            raise RejectedMessageError("a message of another match")
        if message.step > record.position.step:
            return self._keep_for_later(record.check_signature(signed), read_vote(signed).round)
        position = record.chain[message.step]
        if message.tip != position.tip:
            return self._put_aside(record.check_signature(signed))
        if message.step < record.position.locked:
            return self._put_aside(record.check_signature(signed))
        if not self.absence.may_be_news(read_vote(signed)):
            return Outcome.DUPLICATE
        try:
            vote = record.check_vote(signed)
        except RejectedMessageError:
            self._put_aside(record.check_signature(signed))
            raise
        try:
            if not self.absence.take(vote, record.place(message.step)):
                return Outcome.LATE
        except ContradictionError:
            pass  # it counts all the same
        if vote.author == self.absence.me:
            self.store_votes((vote,))
        else:
            self.news.append(Heard(vote.source))
        return Outcome.ADDED

    def _put_aside(self, signed: Signed) -> Outcome:
        """Keep a message that has no place here. Its signature was checked."""
        is_vote, is_here = signed.message.kind in VOTES, self.record.goes_through(signed.message)
        if not is_here:
            self._remember_own(signed)
        self._aside.setdefault(signed.message.author, {})[is_vote, is_here] = signed._replace(checked=True)
        return Outcome.DUPLICATE if is_here else Outcome.FOREIGN

    def store_votes(self, votes: Iterable[Vote]) -> None:
        """Have votes stored that justify what this node signs or closes."""
        for vote in votes:
            if vote.source.id not in self._stored_votes:
                self._stored_votes.add(vote.source.id)
                self.news.append(Kept(vote.source))

    def _remember_own(self, signed: Signed) -> None:
        """Remember a message that this node signed before a restart, on a history that it has left.

        A vote still binds the node, so it is counted. Any other message is kept, as that history may return.
        """
        message = signed.message
        if message.author != self.absence.me or message.step < self.record.position.locked:
            return
        if message.kind in VOTES:
            with suppress(ContradictionError):
                self.absence.take(
                    read_vote(signed),
                    Place(message.step, message.tip, owed=(), base=(), staying=(), live=(), players=()),
                )
        elif message.kind is not Kind.RESULT:
            self.own.setdefault(message.tip, signed)

    def _keep_for_later(self, signed: Signed, vote_round: int) -> Outcome:
        message = signed.message
        self._remember_own(signed)
        kept = self._later.setdefault(message.author, {})
        slot = (message.step, int(message.kind) if message.kind in (*VOTES, Kind.RESIGN) else 0, vote_round)
        if slot not in kept:
            kept[slot] = signed
            if len(kept) > limits.FUTURE_PER_AUTHOR:  # the farthest is needed last
                del kept[max(kept)]
        return Outcome.FUTURE

    def _prove(self, error: MisconductError) -> Outcome:
        last = error.evidence[-1]
        is_first = error.author not in self.proven
        is_second = len(error.evidence) == 2 and last.message.kind not in VOTES and self._is_wanted(last)
        if is_first:
            self.proven[error.author] = error
        if is_second:
            self._second[last.message.tip, error.author] = last
        if last.message.kind is Kind.RESIGN and not self._is_taken_further():
            self._hold_to(last)
        if is_first or is_second:
            self.news += [*(Kept(signed) for signed in error.evidence), Proven(error, is_first)]
        return Outcome.DUPLICATE

    def _is_wanted(self, signed: Signed) -> bool:
        """Tell whether to keep the second message of an equivocator, as a step may come to be closed with it.

        The first one is kept as proof. Another one replaces it only if a majority has voted for it.
        """
        tip = signed.message.tip
        if tip != self.record.position.tip and not any(place.tip == tip for place in self.tail()):
            return False
        known = self._second.get((tip, signed.message.author))
        ballot = self.absence.ballots.get(tip)
        best = ballot.best() if ballot is not None else ()
        return known is None or (known.id != signed.id and bool(best) and signed.id in best[0].entries)

    # Before the match is formed

    def take_up(self) -> bool:
        """Go on in a step for which somebody has signed both a RESIGN and what forms the match, if others have gone on.
        Tell whether this node goes on.

        No node goes on first when it knows of a RESIGN. So either all connected nodes go on, after one that did not
        know of it, or none does.
        """
        position = self.record.position
        declined = self.record.declined
        if not declined or not self._is_taken_further():
            return False
        for signed in [*self._second.values(), *(each for error in self.proven.values() for each in error.evidence)]:
            if signed.message.author in declined and signed.message.kind is position.kind:
                self._hold_to(signed)
        if self.record.declined:
            return False
        self.is_called_off = False
        return True

    def _hold_to(self, signed: Signed) -> None:
        """Hold one of two messages for the open step instead of the other, and keep the other."""
        message = signed.message
        other = self.record.held.get(message.author)
        with suppress(RejectedMessageError, MisconductError):
            self.record.hold_to(signed)
            assert other is not None
            self._second[message.tip, message.author] = other

    def _is_taken_further(self) -> bool:
        """Tell whether an author has signed for a later step or voted on the open one, who has not resigned here and is
        no proven cheat."""
        position = self.record.position
        ballot = self.absence.ballots.get(position.tip)
        signers = {vote.author for vote in ballot.votes()} if ballot is not None else set()
        for author, kept in self._later.items():
            if any(step > position.step for step, _, _ in kept):
                signers.add(author)
        return not signers <= {*self.proven, *self.record.declined}

    def take_stored(self, messages: Iterable[Signed]) -> None:
        """Take the messages of a store, in their order. Then the history is where the node left it.

        :raises RejectedMessageError: if one does not belong to this match.
        """
        votes = set()
        for signed in messages:
            author = signed.message.author
            try:
                self.take(signed)
            except RejectedMessageError:
                is_aside = any(each.id == signed.id for each in self._aside.get(author, {}).values())
                if author == self.absence.me or not is_aside:  # of others, half of a proof
                    raise
            self.settle()
            if signed.message.kind in VOTES:
                votes.add(signed.id)
        self._stored_votes = votes
        self.news.clear()

    # Settling

    def settle(self) -> None:
        """Close and decide all steps that can be."""
        progress = True
        while progress:
            progress = self._take_later() or self._decide() or self._close()

    def _take_later(self) -> bool:
        if not self._later:
            return False
        step = self.record.position.step
        found = False
        for author in sorted(self._later):
            kept = self._later[author]
            for slot in sorted(slot for slot in kept if slot[0] <= step):
                signed = kept.pop(slot)
                found = True
                try:
                    self.take(signed)
                except RejectedMessageError:
                    continue  # it fits no step now
        self._later = {author: kept for author, kept in self._later.items() if kept}
        return found

    def _decide(self) -> bool:
        """Close a step as it was decided, unless it was closed like that."""
        decision = self.absence.decision(self) if self.absence.ballots else None
        if decision is None:
            return False
        place, votes = decision
        draft = self.record.fork(place.step)
        known = {signed.id: signed for signed in self._known_for(place)}
        try:
            for entry in votes[0].entries:
                if entry:
                    draft.hold(known[entry])
            draft.close_without([vote.source for vote in votes])
        except (KeyError, RejectedMessageError, MisconductError):
            return False  # a message that belongs to the decision is not here yet
        is_rewind = self.record.closed(place.step) is not None
        self.store_votes(votes)
        self._go_over(draft, place.step)
        if is_rewind:
            self.news.append(TakenBack(place.step))
        return True

    def _go_over(self, draft: History, since: int) -> None:
        """Replace the history by one that closes a step otherwise; find new places for all messages that had one in
        the steps from there on, or none at all."""
        left, aside = copy(self.record), self._aside
        self.record.adopt(draft)
        self._forget()
        self._left, self._aside = (left,), {}
        entries = (position.entries for position in left.chain[since + 1 :])
        without = [signed for book in (*entries, left.held) for signed in book.values()]
        without += [signed for kept in aside.values() for signed in kept.values()]
        for signed in without:
            if self.record.goes_through(signed.message):  # who said something else to the others is in both
                with suppress(RejectedMessageError):
                    self.take(signed)
            else:
                self._put_aside(signed)

    def _known_for(self, place: Place) -> Iterator[Signed]:
        chain = self.record.chain
        yield from (chain[place.step + 1].entries if place.step + 1 < len(chain) else self.record.held).values()
        others = (*self._second.values(), *(signed for kept in self._aside.values() for signed in kept.values()))
        yield from (signed for signed in others if signed.message.tip == place.tip)
        yield from (signed for error in self.proven.values() for signed in error.evidence)

    def _close(self) -> bool:
        record, position = self.record, self.record.position
        if not record.is_complete:
            return False
        is_doubtful = self.absence.has_voted(position.tip) or any(author in self.proven for author in position.owed)
        if is_doubtful and position.kind is not Kind.LOCK:  # a complete LOCK is final, whatever was voted
            return False
        if self.is_silent and position.step < FORMED and not self._is_taken_further():
            return False  # nothing would show that to the others, who may call the match off meanwhile
        record.close()
        self._forget()
        return True

    def _forget(self) -> None:
        """Drop everything that only concerns final steps."""
        if self.record.position.locked != self._final:
            self._final = self.record.position.locked
            tips = {position.tip for position in self.record.chain[max(1, self._final) :]}
            for tip, ballot in self.absence.ballots.items():
                if tip not in tips:
                    for vote in ballot.votes():
                        self._put_aside(vote.source)
            self.absence.forget(tips)
            self.own = {tip: signed for tip, signed in self.own.items() if tip in tips}
            self._second = {slot: signed for slot, signed in self._second.items() if slot[0] in tips}
            self._drafts.clear()
            self._left = ()
            if self._stored_votes:
                self._stored_votes.clear()
                self.news.append(Settled(tuple(self.history())))

    # Showing others what is here, and being shown

    def history(self) -> Iterator[Signed]:
        """Yield all messages in an order that leads another replica to the same point."""
        yield from self._closed_with(0)
        # Votes and proofs come before messages that must not close the open step by themselves.
        yield from self._votes()
        yield from self._proofs()
        yield from self._open()

    def shown(self, step: int) -> Iterator[Signed]:
        """Yield all messages from a step on for a peer that may lack them; first those that the match goes on with."""
        yield from self._closed_with(step)
        yield from self._proofs()
        yield from self._open()
        yield from self._votes()
        # A message that does not fit yet may be the only copy left, if its author has lost it.
        for author in sorted(self._later):
            yield from (self._later[author][slot] for slot in sorted(self._later[author]))

    def _closed_with(self, step: int) -> Iterator[Signed]:
        for place in range(step + 1, len(self.record.chain)):
            position = self.record.chain[place]
            yield from position.entries.values()
            yield from position.certificate

    def _votes(self) -> Iterator[Signed]:
        for place in self.tail():
            ballot = self.absence.ballots.get(place.tip)
            if ballot is not None:
                yield from (vote.source for vote in ballot.votes())

    def _proofs(self) -> Iterator[Signed]:
        for author in sorted(self.proven):
            yield from self.proven[author].evidence
        yield from (self._second[slot] for slot in sorted(self._second))

    def _open(self) -> Iterator[Signed]:
        record = self.record
        yield from (record.held[author] for author in sorted(record.held))
        yield from (known[author] for _, known in sorted(record.countersigned.items()) for author in sorted(known))
        yield from (record.results[author] for author in sorted(record.results))

    def digests(self) -> tuple[bytes, bytes]:
        """Return digests of what is held for the open step, and of the votes that may still matter with the names of
        who is proven to have broken the rules; empty for nothing. Where two nodes differ one lacks something.
        """
        tip = self.record.position.tip
        held = {signed.id for signed in self._open()}
        held.update(signed.id for (place, _), signed in self._second.items() if place == tip)
        votes = {signed.id for signed in self._votes()}
        culprits = bytes(sorted(self.proven))
        return (
            tagged_hash("held", b"".join(sorted(held))) if held else b"",
            tagged_hash("votes", b"".join(sorted(votes)), culprits) if votes or culprits else b"",
        )

    def forget_shown(self, peer: int) -> None:
        """Drop what a peer has shown of another history: it begins again."""
        self._drafts.pop(peer, None)

    def follow(self, peer: int, messages: Iterable[Signed]) -> None:
        """Fold what a peer shows from a step of our tail on, on the side; adopt it if it has a newer complete LOCK or
        the latest majority of votes.
        """
        record = self.record
        draft = self._drafts.pop(peer, None)
        if draft is None or not draft.record.goes_through(record.chain[record.position.locked]):
            draft = _Draft(record.fork(record.position.locked))
        votes = [signed for signed in messages if signed.message.kind in VOTES]
        for signed in messages:
            if signed.message.step < draft.record.position.step:
                continue
            try:
                draft.add(signed)
            except RejectedMessageError:
                continue
            except MisconductError as error:
                if len(error.evidence) > 1:  # what one message proves there may be none here
                    self._prove(error)
        if draft.record.position.locked > record.position.locked or self._is_led_by(draft.record, votes):
            self._adopt(draft.record, votes)
        else:
            self._drafts[peer] = draft

    def _is_led_by(self, draft: History, votes: Iterable[Signed]) -> bool:
        """Tell whether a majority of votes is on a step of a peer's history that is none of ours, and all later ones
        agree with that history."""
        theirs = Absence(None)
        for signed in votes:
            try:
                vote = draft.check_vote(signed)
                if not self.record.goes_through(draft.chain[signed.message.step]):
                    theirs.take(vote, draft.place(signed.message.step))
            except (RejectedMessageError, ContradictionError):
                continue
        if not theirs.ballots:
            return False
        ours = [self.absence.ballots[place.tip] for place in self.tail() if place.tip in self.absence.ballots]
        theirs.ballots.update((ballot.place.tip, ballot) for ballot in ours)
        for ballot in theirs.leaders():
            place = ballot.place
            if not draft.goes_through(place):
                return False
            if not self.record.goes_through(place):
                return True
            if draft.closed(place.step) != ballot.best()[0].entries:
                return False
        return False

    def _adopt(self, draft: History, votes: Iterable[Signed]) -> None:
        record = self.record
        ours, theirs = record.chain, draft.chain
        same = [one.tip == other.tip for one, other in zip(ours, theirs, strict=False)]
        since = same.index(False) if False in same else min(len(ours), len(theirs))
        self._go_over(draft, since - 1)
        for signed in votes:
            with suppress(RejectedMessageError):
                self.take(signed)
        messages = (*self.history(), *self._own_elsewhere())
        self._stored_votes.update(signed.id for signed in messages if signed.message.kind in VOTES)
        self.news.append(Replaced(messages, since))

    def _own_elsewhere(self) -> Iterator[Signed]:
        """Yield what this node has signed on histories that it has left."""
        tail = {place.tip for place in self.tail()}
        yield from (signed for tip, signed in sorted(self.own.items()) if tip not in tail)
        for tip, ballot in sorted(self.absence.ballots.items()):
            if tip not in tail:
                yield from (vote.source for vote in ballot.votes() if vote.author == self.absence.me)

    @property
    def is_calm(self) -> bool:
        """This replica holds nothing but the history and messages of the open step."""
        return not (self._later or self._aside or self.absence.ballots or self.proven)

    @property
    def is_diverged(self) -> bool:
        """More than half of the base do not, or cannot any more, lock the state that this node's program has come to.

        That is no player's misconduct but a bug in somebody's program, perhaps in this one.
        """
        if not self._aside:
            return False
        position = self.record.position
        held = self.record.held
        aside = (signed.message for kept in self._aside.values() for signed in kept.values())
        others = [
            message.body
            for message in aside
            if (message.kind, message.tip) == (Kind.LOCK, position.tip) and message.author not in held
        ]
        if not others:
            return False
        base = len(position.base)
        counts = [others.count(body) for body in others]
        ours = len(held) + len(self.record.countersigned.get(position.tip, ()))
        unknown = base - ours - len(others)
        return max(counts) > base // 2 or max(ours, *counts) + unknown <= base // 2

    @property
    def is_astray(self) -> bool:
        """This node cannot go on by itself where it is: it has voted, or the open step waits only for a vote about a
        cheat, and the others may have left it behind before they knew."""
        return self.absence.round >= 0 or self.record.is_complete


__all__ = ["Heard", "Kept", "News", "Proven", "Replaced", "Replica", "Settled", "TakenBack"]
