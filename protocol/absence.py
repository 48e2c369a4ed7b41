"""The absence rule: how the players who are there agree to go on without those who are not.

Theory of operation
-------------------
Every step since the last completed LOCK has a :class:`Ballot`. It is opened by whoever waited in vain, and counts two
kinds of votes of the *base* (the players and witnesses who signed the last completed LOCK), in rounds 0, 1, 2 …:

ABSENT(n, entries, newest)
    What I think the step should be closed with: for each author who owes a message its id, or empty for who is absent.
    One per voter and round. ``newest`` is the latest round in which a majority voted the same, and then the entries
    are that majority's; -1 if there is no such round.
CLOSE(n, entries)
    I saw a majority of identical ABSENTs of round n, my current one, and will never vote against it without a newer
    majority.

A majority of identical CLOSEs of one round *decides* the step, also for whoever had closed it otherwise. This is
single-decree consensus as in Paxos (an ABSENT majority is a prepared value, a CLOSE majority a chosen one; Lamport,
"Paxos Made Simple", 2001), with the way around it that makes it rare: who has not voted closes a step as soon as every
message is there, without any vote.

What ties the two ways together:

- Who has voted in a step closes it only by a decision.
- Who closed a step votes for it as it was closed. Two things can release them: a majority of ABSENTs for something
  else, or a proof that an author signed two messages for the step while other voters name another of them. Then the
  author counts as absent for everybody.
- Who sent a CLOSE for a later step never votes against an earlier one; who voted against an earlier one (it is
  *reopened*) signs nothing behind it until it is decided. So two decisions that exclude each other would need two
  majorities without an honest voter in common.
- A majority is more than half of the base, and the base stays as it is until the next LOCK is complete: a base that
  shrinks with each departure would let two small halves both be right.
- Entries after which those who are left would be no majority of the base are never voted for.

This module knows no message formats, no clock and no game: the caller says which rounds have lasted long enough. It is
explored exhaustively for small worlds by tests/simulation/small_worlds.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from protocol import limits

Entries = tuple[bytes, ...]
"""What a step is closed with: for each author who owes a message, in ascending order, its id; empty if it is absent."""


class Place(NamedTuple):
    """What the history says about one step before it is closed."""

    step: int
    tip: bytes
    owed: tuple[int, ...]
    base: tuple[int, ...]
    staying: tuple[int, ...]
    """Those of the base who had not left before this step."""


class Vote(NamedTuple):
    """One ABSENT or CLOSE."""

    tip: bytes
    author: int
    is_close: bool
    round: int
    entries: Entries
    newest: int = -1
    """Of an ABSENT: the latest round with a majority of identical ABSENTs that its author knew; -1 for none."""
    source: Any = None
    """The signed message, for who must show it to others."""

    def says_the_same_as(self, other: Vote) -> bool:
        """Tell whether two votes of one slot are one."""
        return self.entries == other.entries and self.newest == other.newest


class ContradictionError(Exception):
    """A voter signed two votes of which an honest one signs only one."""

    def __init__(self, first: Vote, second: Vote, reason: str) -> None:
        super().__init__(reason)
        self.first = first
        self.second = second


class History(Protocol):
    """What the rule asks about the history of the node that votes."""

    def tail(self) -> Sequence[Place]:
        """Return the steps that a vote can still change, the open one last."""

    def closed(self, step: int) -> Entries | None:
        """Return what a step of the tail was closed with; None for the open one."""

    def held(self, step: int) -> Mapping[int, bytes]:
        """Return the ids of the messages that this node holds for a step of the tail, one for each author."""

    def culprits(self) -> Collection[int]:
        """Return the authors who are proven to have broken the rules."""


class Ballot:
    """All votes on one step that one node knows."""

    __slots__ = ("_absents", "_closes", "certificates", "decided", "place", "round", "said")

    def __init__(self, place: Place) -> None:
        self.place = place
        self.round = -1
        """The round in which this node has voted last; -1 if it has not voted."""
        self._absents: dict[int, tuple[Vote, ...]] = {}
        self._closes: dict[int, tuple[Vote, ...]] = {}
        self.certificates: dict[int, tuple[Vote, ...]] = {}
        """By round: a majority of identical ABSENTs."""
        self.decided: tuple[Vote, ...] = ()
        """Exactly a majority of identical CLOSEs, by author."""
        self.said: dict[tuple[int, int], tuple[bytes, ...]] = {}
        """By (voter, place in the entries): up to two different ids that the voter has named there."""

    def copy(self) -> Ballot:
        """Return an independent copy."""
        twin = Ballot(self.place)
        twin.round = self.round
        twin._absents = self._absents.copy()
        twin._closes = self._closes.copy()
        twin.certificates = self.certificates.copy()
        twin.decided = self.decided
        twin.said = self.said.copy()
        return twin

    def key(self) -> object:
        """Return a hashable value that is equal for ballots that behave alike."""
        return (
            self.place.tip,
            self.round,
            tuple(
                sorted((author, tuple(sorted(vote[:6] for vote in votes))) for author, votes in self._absents.items())
            ),
            tuple(
                sorted((author, tuple(sorted(vote[:6] for vote in votes))) for author, votes in self._closes.items())
            ),
            tuple(vote[:6] for vote in self.decided),
        )

    @property
    def majority(self) -> int:
        """How many of the base are more than half of it."""
        return len(self.place.base) // 2 + 1

    def votes(self) -> Iterator[Vote]:
        """Yield what must be shown to somebody who knows nothing: certificates first, so that all else counts."""
        shown = set()
        groups = [self.certificates[number] for number in sorted(self.certificates)]
        groups += [votes for _, votes in sorted(self._absents.items())]
        groups += [votes for _, votes in sorted(self._closes.items())]
        for vote in (vote for group in (*groups, self.decided) for vote in group):
            if vote[:6] not in shown:
                shown.add(vote[:6])
                yield vote

    def take(self, vote: Vote) -> bool:
        """Count a vote; tell whether it was news.

        :raises ContradictionError: if it contradicts an earlier vote of its author. It counts all the same.
        """
        book = self._closes if vote.is_close else self._absents
        known = book.get(vote.author, ())
        same_slot = [other for other in known if other.round == vote.round]
        if any(other.says_the_same_as(vote) for other in same_slot) or len(same_slot) >= limits.IDS_PER_SLOT:
            return False
        kept = sorted((*known, vote), key=lambda each: each.round)[-limits.VOTES_PER_AUTHOR :]
        book[vote.author] = tuple(kept)
        if not vote.is_close:
            self._note(vote)
        self._count()
        if same_slot:
            raise ContradictionError(same_slot[0], vote, "voted twice in one round")
        closes = (vote,) if vote.is_close else self._closes.get(vote.author, ())
        absents = self._absents.get(vote.author, ()) if vote.is_close else (vote,)
        for close in closes:
            for absent in absents:
                if absent.newest < close.round < absent.round and absent.entries != close.entries:
                    raise ContradictionError(close, absent, "voted against what they had voted to close the step with")
        return True

    def _note(self, vote: Vote) -> None:
        for index, entry in enumerate(vote.entries):
            said = self.said.get((vote.author, index), ())
            if entry and entry not in said and len(said) < 2:
                self.said[vote.author, index] = (*said, entry)

    def _count(self) -> None:
        for number in sorted({vote.round for votes in self._absents.values() for vote in votes}):
            if number not in self.certificates:
                valid = (vote for votes in self._absents.values() for vote in votes if vote.round == number)
                if found := self._agreeing(vote for vote in valid if self._counts(vote)):
                    self.certificates[number] = found
        for old in sorted(self.certificates)[: -limits.VOTES_PER_AUTHOR]:
            del self.certificates[old]
        if not self.decided:
            for number in sorted({vote.round for votes in self._closes.values() for vote in votes}):
                closes = (vote for votes in self._closes.values() for vote in votes if vote.round == number)
                if (found := self._agreeing(closes)) and leaves_majority(self.place, found[0].entries):
                    self.decided = found

    def _counts(self, absent: Vote) -> bool:
        """Tell whether the majority that an ABSENT refers to is known here."""
        if absent.newest < 0:
            return True
        certificate = self.certificates.get(absent.newest)
        return certificate is not None and certificate[0].entries == absent.entries

    def _agreeing(self, votes: Iterator[Vote]) -> tuple[Vote, ...]:
        """Return exactly a majority of identical votes, by author, or nothing."""
        groups: dict[Entries, dict[int, Vote]] = {}
        for vote in votes:
            groups.setdefault(vote.entries, {}).setdefault(vote.author, vote)
        for entries in sorted(groups):
            if len(groups[entries]) >= self.majority:
                return tuple(vote for _, vote in sorted(groups[entries].items()))[: self.majority]
        return ()

    def newest(self) -> int:
        """Return the latest round with a majority of identical ABSENTs; -1 if there is none."""
        return max(self.certificates, default=-1)

    def target(self, me: int) -> int:
        """Return the round in which the others are, as far as that may be believed."""
        latest = [
            max(vote.round for vote in (*self._absents.get(author, ()), *self._closes.get(author, ())))
            for author in self.place.base
            if author != me and (author in self._absents or author in self._closes)
        ]
        near = max((number for number in latest if number <= self.round + limits.VOTE_ROUNDS_AHEAD), default=-1)
        far = sorted(latest, reverse=True)[self.majority - 2] if len(latest) >= self.majority - 1 > 0 else -1
        return max(near, far)

    def own_absent(self, me: int) -> Vote | None:
        """Return this node's latest ABSENT."""
        return max(self._absents.get(me, ()), key=lambda vote: vote.round, default=None)

    def own_close(self, me: int) -> Vote | None:
        """Return this node's latest CLOSE."""
        return max(self._closes.get(me, ()), key=lambda vote: vote.round, default=None)

    def named(self, index: int, voters: Collection[int]) -> set[bytes]:
        """Return the ids that any of ``voters`` ever named at this place of the entries."""
        return {
            entry for (voter, place), said in self.said.items() if place == index and voter in voters for entry in said
        }


def leaves_majority(place: Place, entries: Entries) -> bool:
    """Tell whether those who are left after closing a step with ``entries`` are more than half of the base."""
    absent = {author for author, entry in zip(place.owed, entries, strict=True) if not entry}
    return len([author for author in place.staying if author not in absent]) > len(place.base) // 2


class Absence:
    """One node's part in the votes on all steps that can still change.

    :param me: index of this node in the roster; None for who has no vote.
    """

    def __init__(self, me: int | None) -> None:
        self.me = me
        self.ballots: dict[bytes, Ballot] = {}
        """By the tip of the step."""

    def copy(self) -> Absence:
        """Return an independent copy."""
        twin = Absence(self.me)
        twin.ballots = {tip: ballot.copy() for tip, ballot in self.ballots.items()}
        return twin

    def take(self, vote: Vote, place: Place) -> bool:
        """Count a vote, of whomever, on a step of the tail; tell whether it was news.

        :raises ContradictionError: if its author contradicts themselves.
        """
        ballot = self.ballots.setdefault(vote.tip, Ballot(place))
        if vote.author == self.me:
            ballot.round = max(ballot.round, vote.round)
        return ballot.take(vote)

    def has_voted(self, tip: bytes) -> bool:
        """Tell whether this node has voted in a step: then it closes it only by a decision."""
        ballot = self.ballots.get(tip)
        return ballot is not None and ballot.round >= 0

    def decision(self, history: History) -> tuple[Place, tuple[Vote, ...]] | None:
        """Return the first step that is decided otherwise than it stands, with the votes that decide it."""
        for place in history.tail():
            ballot = self.ballots.get(place.tip)
            if ballot is not None and ballot.decided and history.closed(place.step) != ballot.decided[0].entries:
                return place, ballot.decided
        return None

    def is_reopened(self, history: History) -> bool:
        """Tell whether this node votes against a step that it had closed: then it signs nothing behind it."""
        return any(self.is_against(place, history) for place in history.tail())

    def is_against(self, place: Place, history: History) -> bool:
        """Tell whether this node votes against how it had closed a step."""
        closed = history.closed(place.step)
        ballot = self.ballots.get(place.tip)
        if closed is None or ballot is None or ballot.decided or self.me is None:
            return False
        absent, close = ballot.own_absent(self.me), ballot.own_close(self.me)
        return any(own is not None and own.entries != closed for own in (absent, close))

    def due(self, history: History, expired: Collection[bytes], settling: Collection[bytes]) -> list[Vote]:
        """Return the votes that this node must sign now. They are not counted before they are taken.

        :param expired: tips of steps whose patience, or round, has lasted long enough: their next round begins.
        :param settling: tips of steps in which this node changed the round a short while ago, so that it does
            not follow others into a later one yet.
        """
        votes: list[Vote] = []
        if self.me is None:
            return votes
        tail = history.tail()
        for index, place in enumerate(tail):
            if self.me in place.base:
                votes += self._due_at(place, tail[index + 1 :], history, place.tip in expired, place.tip in settling)
            if history.closed(place.step) is None or self.is_against(place, history):
                break  # no vote on a step while an earlier one is open
        return votes

    def _due_at(
        self, place: Place, later: Sequence[Place], history: History, is_expired: bool, is_settling: bool
    ) -> list[Vote]:
        me = self.me
        assert me is not None
        ballot = self.ballots.get(place.tip)
        if ballot is not None and ballot.decided:
            return []
        closed = history.closed(place.step)
        ballot = ballot or Ballot(place)
        target = ballot.target(me)
        if is_expired:
            number = max(ballot.round + 1, target)
        elif target > ballot.round and (closed is not None if ballot.round < 0 else not is_settling):
            number = target
        else:
            number = ballot.round
        votes: list[Vote] = []
        if number > ballot.round:
            newest = max((each for each in ballot.certificates if each < number), default=-1)
            entries = ballot.certificates[newest][0].entries if newest >= 0 else self._own_entries(ballot, history)
            if leaves_majority(place, entries) and (closed in (None, entries) or not self._is_bound(later)):
                votes.append(Vote(place.tip, me, False, number, entries, newest))
        elif number >= 0 and (certificate := ballot.certificates.get(number)):
            own = ballot.own_close(me)
            entries = certificate[0].entries
            is_free = closed in (None, entries) or not self._is_bound(later)
            if (own is None or own.round < number) and is_free and leaves_majority(place, entries):
                votes.append(Vote(place.tip, me, True, number, entries))
        return votes

    def _is_bound(self, later: Sequence[Place]) -> bool:
        """Tell whether this node sent a CLOSE for a step that rests on how the earlier ones were closed."""
        assert self.me is not None
        ballots = (self.ballots.get(place.tip) for place in later)
        return any(ballot is not None and ballot.own_close(self.me) is not None for ballot in ballots)

    def _own_entries(self, ballot: Ballot, history: History) -> Entries:
        """Return what this node itself would close a step with."""
        place = ballot.place
        closed = history.closed(place.step)
        held = history.held(place.step)
        culprits = history.culprits()
        honest = [author for author in place.base if author not in culprits]
        entries = []
        for index, author in enumerate(place.owed):
            own = closed[index] if closed is not None else held.get(author, b"")
            if author in culprits:
                # Whoever closed the step with one of their messages stands by it, unless others stand by another.
                named = ballot.named(index, honest) | ({own} if closed is not None and own else set())
                own = min(named) if len(named) == 1 else b""
            entries.append(own)
        return tuple(entries)

    def forget(self, keep: Collection[bytes]) -> None:
        """Drop the votes on all steps but those with these tips."""
        self.ballots = {tip: ballot for tip, ballot in self.ballots.items() if tip in keep}
