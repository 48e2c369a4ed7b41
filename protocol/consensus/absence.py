"""The absence rule: how the players who are there agree to go on without those who are not.

Theory of operation
-------------------
Every step since the last complete LOCK has a :class:`Ballot`. The first player who has waited in vain opens it. It
counts two kinds of votes of the *base*, in rounds 0, 1, 2 … The base are the players who owed that LOCK or the one
before it, and the witnesses whose signatures the one before it carried, without those who had left by then.

ABSENT(n, entries, newest)
    The step should be closed with these entries: for each author who owes a message its id, empty for the absent.
    Each voter casts one per round. ``newest`` is the latest round in which a majority voted the same, and then the
    entries are that majority's; -1 if there is no such round.
CLOSE(n, entries)
    The voter saw a majority of identical ABSENTs of round n, its current one, and will never vote against it without a
    newer majority. Proven cheats do not count in this majority. The caller sends a CLOSE no sooner than
    :data:`~protocol.limits.RELAY` seconds after it has shown these ABSENTs to everybody.

A majority of identical CLOSEs of one round *decides* the step, also for nodes that had closed it otherwise. This is
single-decree consensus as in Paxos (an ABSENT majority is a prepared value, a CLOSE majority a chosen one; Lamport,
"Paxos Made Simple", 2001). It is rarely needed: a node that has not voted closes a step as soon as every message is
there, without any vote.

What ties the two ways together:

- A node that has voted in a step closes it only by a decision. But a complete LOCK is final, whatever was voted.
- A node that closed a step votes for it as it was closed. Two things can release it: a majority of ABSENTs for
  something else, or a proof that an author broke the rules. For such an author the message counts that most players
  named in their first ABSENTs on the step, and absence if no message leads. Everybody hears of the proof, and then
  votes like that.
- Rounds are counted over all steps that can still change. In each round a node votes in one step only, and sends at
  most one CLOSE. The latest majority leads: the steps before its step stand as they led to it, also for nodes that had
  closed them or voted otherwise. A later majority for an earlier step reopens that step.
- A decision ends its round at once. The next round is voted on in the first step that is open or in doubt. A vote that
  agrees with how a step was closed casts no doubt on it. A vote that disagrees may bind its author, who then cannot go
  on without the others. In odd rounds, and for a first vote, it counts only if its author objects to no other step, and
  nobody has come there in vain. So a liar who objects to many steps holds the others up for one decision, not for one
  each.
- A node that votes against a step that it closed (the step is *reopened*) signs nothing behind it until it is decided.
- A majority is more than half of the base, and the base stays as it is until the next LOCK is complete: a base that
  shrinks with each departure would let two small halves both be right. Only those who have not left before the step
  vote in it: else those who left and a few others could decide against a majority of those who went on.
- Nobody votes for entries that would leave no majority of the base.
- A round that a majority has not reached does not end. Otherwise a lone node would run ahead for as long as it is
  alone, and two nodes whose timers end together would follow each other for ever, one round apart.

Two majorities of one round need a liar. Then every node that knows both chooses the same one, a decision first. While
votes are under way, a liar could repeat one player's vote to another and so make two players decide differently. This
is why a CLOSE waits: among connected nodes, one knows both votes and shows them before anything is closed on either.

What this does not give:

- Honest players who are cut off from each other, and hear the same liar, can come to two complete LOCKs: at a table of
  three from one liar. In every such fork that was met where both sides put somebody out in the step in which they part,
  all messages and votes of both together held two of the liar's that contradict each other. The CLOSEs alone need not,
  if the two sides decided in different rounds: whoever wants the proof keeps the ABSENTs too. If one side put nobody
  out in that step, it may never have voted there, and nothing contradicts anything.
- A message saves its author from being voted absent if a connected player held it before those who had voted, counting
  in everybody who does not hear the connected players and every liar, were more than half of the base. It is not enough
  that fewer than half had voted by then: the others, or a liar, may still vote as those did.
- A liar can keep votes going, a round at a time, for as long as nothing is proven.

A caller that votes at once on a step where others than cheats are missing can evict players who are only slow.

This module knows no message formats, no clock and no game: the caller says which rounds have lasted long enough.
tests/simulation/small_worlds.py explores it exhaustively for small worlds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from enum import IntEnum
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

from protocol import limits
from protocol.errors import PeerError

Entries = tuple[bytes, ...]
"""What a step is closed with: for each author who owes a message, in ascending order, its id; empty if it is absent."""


def majority(base: Collection[int]) -> int:
    """Return how many of a base are more than half of it."""
    return len(base) // 2 + 1


class Place(NamedTuple):
    """What the history says about one step before it is closed."""

    step: int
    tip: bytes
    owed: tuple[int, ...]
    base: tuple[int, ...]
    staying: tuple[int, ...]
    """Those of the base who had not left before this step: only they vote on it."""
    live: tuple[int, ...]
    """The authors who are in the game."""
    players: tuple[int, ...]
    """The authors who were in the game when the base was made and have not left: all of them owe the next LOCK."""
    resignations: Entries = ()
    """The id of a RESIGN of each author who owes a message."""

    @property
    def majority(self) -> int:
        """How many of the base are more than half of it."""
        return majority(self.base)

    def leavers(self, entries: Entries) -> set[int]:
        """Return the authors who leave when the step is closed with ``entries``: they are absent there, or resign."""
        leaving = (b"", *self.resignations)
        # It is not known any more who owed what on a history that was left.
        return {author for author, entry in zip(self.owed, entries, strict=False) if entry in leaving}


class Vote(NamedTuple):
    """One ABSENT or CLOSE."""

    tip: bytes
    author: int
    is_close: bool
    round: int
    entries: Entries
    newest: int = -1
    """In an ABSENT: the latest round with a majority of identical ABSENTs that its author knew; -1 for none."""
    source: Any = None
    """The signed message, for whoever must show it to others."""

    def says_the_same_as(self, other: Vote) -> bool:
        """Tell whether two votes of one slot are one."""
        return self.entries == other.entries and self.newest == other.newest


def conflict(one: Vote, other: Vote) -> str:
    """Return how two votes of one voter on one step contradict each other; empty if they do not."""
    if one.is_close is other.is_close:
        return "" if one.round != other.round or one.says_the_same_as(other) else "voted twice in one round"
    close, absent = (one, other) if one.is_close else (other, one)
    if absent.newest < close.round < absent.round and absent.entries != close.entries:
        return "voted against what they had voted to close the step with"
    return ""


class ContradictionError(PeerError):
    """A voter signed two votes of which an honest one signs only one."""

    def __init__(self, first: Vote, second: Vote, reason: str) -> None:
        super().__init__(reason)
        self.first = first
        self.second = second


class HistoryView(Protocol):
    """What the absence rule asks about the history of the node that votes."""

    def tail(self) -> Sequence[Place]:
        """Return the steps that a vote can still change, the open one last."""

    def closed(self, step: int) -> Entries | None:
        """Return what a step of the tail was closed with; None for the open one."""

    def held(self, step: int) -> Mapping[int, bytes]:
        """Return the ids of the messages that this node holds for a step of the tail, one for each author."""

    def culprits(self) -> Set[int]:
        """Return the authors who are proven to have broken the rules."""

    def elsewhere(self) -> Iterable[tuple[int, int]]:
        """Return authors and rounds of votes on steps that this node does not know: later ones, or steps of another
        history than its own."""


class Ballot:
    """All votes on one step that one node knows."""

    __slots__ = (
        "_absents",
        "_backers",
        "_closes",
        "_first",
        "_late",
        "_majorities",
        "certificates",
        "culprits",
        "decided",
        "place",
        "round",
    )

    def __init__(self, place: Place) -> None:
        self.place = place
        self.round = -1
        """The round in which this node has voted last; -1 if it has not voted."""
        self._absents: dict[int, tuple[Vote, ...]] = {}
        self._closes: dict[int, tuple[Vote, ...]] = {}
        self._late: dict[tuple[int, bool], Vote] = {}
        """The last vote that came late, when later rounds were known, by author and kind. It may belong to a majority
        that this node sees only now."""
        self._majorities: dict[tuple[int, Entries], tuple[Vote, ...]] = {}
        """The majorities of ABSENTs of the latest rounds that have one, with what backs them, by round and entries."""
        self._backers: dict[Entries, dict[int, Vote]] = {}
        """An ABSENT for the entries of each majority, by entries and author. Votes of earlier rounds are not kept for
        ever."""
        self.certificates: dict[int, tuple[Vote, ...]] = {}
        """A majority of identical ABSENTs, after earlier ones that back it, by round."""
        self.culprits: frozenset[int] = frozenset()
        """The authors who are proven to have broken the rules."""
        self.decided: tuple[Vote, ...] = ()
        """Exactly a majority of identical CLOSEs, after ABSENTs that back it, each by author; empty if undecided."""
        self._first: dict[int, Vote] = {}
        """The first ABSENT of each author: it names what the author had closed the step with, or else held."""

    def copy(self) -> Ballot:
        """Return an independent copy, for the explorer of small worlds."""
        twin = Ballot(self.place)
        twin.round = self.round
        twin._absents = self._absents.copy()
        twin._closes = self._closes.copy()
        twin._late = self._late.copy()
        twin._majorities = self._majorities.copy()
        twin._backers = self._backers.copy()
        twin.certificates = self.certificates.copy()
        twin.culprits = self.culprits
        twin.decided = self.decided
        twin._first = self._first.copy()
        return twin

    def key(self) -> object:
        """Return a hashable value that is equal for ballots that behave alike, for the explorer of small worlds."""
        return (
            self.place.tip,
            self.round,
            self.culprits,
            tuple(
                sorted((author, tuple(sorted(vote[:6] for vote in votes))) for author, votes in self._absents.items())
            ),
            tuple(
                sorted((author, tuple(sorted(vote[:6] for vote in votes))) for author, votes in self._closes.items())
            ),
            tuple(sorted((slot, vote[:6]) for slot, vote in self._late.items())),
            tuple(sorted(self._majorities)),
            tuple(sorted((entries, *sorted(votes)) for entries, votes in self._backers.items())),
            self.decided and self.decided[0].entries,
            tuple(sorted((author, vote[:6]) for author, vote in self._first.items())),
        )

    def votes(self) -> Iterator[Vote]:
        """Yield the votes that a node without any must be shown: certificates first, so that all others count."""
        shown = set()
        groups = [self.certificates[number] for number in sorted(self.certificates)]
        groups += [(vote,) for _, vote in sorted(self._first.items())]
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
        if not self.may_be_news(vote):
            return False
        book = self._closes if vote.is_close else self._absents
        known = book.get(vote.author, ())
        same_slot = [other for other in known if other.round == vote.round]
        before = self.by(vote.author)
        if len(same_slot) >= limits.IDS_PER_SLOT and not self._is_shared(vote, book):
            return False
        rounds = sorted({other.round for other in (*known, vote)})[-limits.VOTE_ROUNDS :]
        is_late = vote.round < rounds[0]
        if is_late:
            self._late[vote.author, vote.is_close] = vote
        else:
            book[vote.author] = tuple(other for other in (*known, vote) if other.round >= rounds[0])
        if not vote.is_close and (vote.author not in self._first or vote.round < self._first[vote.author].round):
            self._first[vote.author] = vote
        best = self.best()
        self._count()
        for other in before:
            if reason := conflict(other, vote):
                raise ContradictionError(other, vote, reason)
        return not is_late or self.best() != best

    def may_be_news(self, vote: Vote) -> bool:
        """Tell whether a vote is new, so that it may change something."""
        return not any(other[:6] == vote[:6] for other in self.by(vote.author))

    def convict(self, culprits: Iterable[int]) -> None:
        """Count again, now that these authors are proven to have broken the rules."""
        if not self.culprits.issuperset(culprits):
            self.culprits = self.culprits.union(culprits)
            self._count()

    def _is_shared(self, vote: Vote, book: Mapping[int, tuple[Vote, ...]]) -> bool:
        """Tell whether another voter says the same: then it may be part of a majority that a liar made elsewhere."""
        return any(
            other.round == vote.round and other.says_the_same_as(vote)
            for author, votes in book.items()
            if author != vote.author
            for other in votes
        )

    def _count(self) -> None:
        """Find all majorities. Two of one round, or two decisions, need a liar: then all nodes choose the same one."""
        for found in self._agreeing(is_close=False):
            self._majorities.setdefault((found[-1].round, found[-1].entries), found)
            self._backers[found[-1].entries] = self.backers(found[-1].entries)
        for old in sorted({number for number, _ in self._majorities})[: -limits.VOTE_ROUNDS]:
            for slot in [slot for slot in self._majorities if slot[0] == old]:
                del self._majorities[slot]
        # Of two majorities of one round the smaller entries: they come last here.
        self.certificates = {slot[0]: self._majorities[slot] for slot in sorted(self._majorities, reverse=True)}
        for found in self._agreeing(is_close=True):
            is_better = not self.decided or (-found[-1].round, found[-1].entries) < (
                -self.decided[-1].round,
                self.decided[-1].entries,
            )
            if is_better:
                self.decided = found

    def _cast(self, *, is_close: bool) -> Iterator[Vote]:
        """Yield all votes of a kind that are counted."""
        for votes in (self._closes if is_close else self._absents).values():
            yield from votes
        yield from (vote for (_, is_late_close), vote in self._late.items() if is_late_close is is_close)
        yield from self._first.values() if not is_close else ()

    def _agreeing(self, *, is_close: bool) -> Iterator[tuple[Vote, ...]]:
        """Yield every majority of identical votes, the earliest round first: exactly a majority of each, and what
        backs it."""
        groups: dict[tuple[int, Entries], list[Vote]] = {}
        for vote in self._cast(is_close=is_close):
            groups.setdefault((vote.round, vote.entries), []).append(vote)
        for (_, entries), group in sorted(groups.items()):
            backers = self.backers(entries)
            counted = {vote.author: vote for vote in reversed(group) if self._counts(vote, group)}
            if elected := elect(self.place, entries, counted, backers, self.culprits):
                yield tuple(counted.get(author) or backers[author] for author in elected)

    def _counts(self, vote: Vote, group: Iterable[Vote]) -> bool:
        """Tell whether the majority that an ABSENT refers to is known here, or a majority of the ``group``, that votes
        the same, refers to one as late: then somebody honest knew it."""
        if vote.newest < 0 or (vote.newest, vote.entries) in self._majorities:
            return True
        known = {other.author for other in group if other.newest >= vote.newest}
        return bool(elect(self.place, vote.entries, known, self.backers(vote.entries), self.culprits))

    def backers(self, entries: Entries) -> dict[int, Vote]:
        """Return a vote of each player in the game that voted ABSENT for these entries, in any round."""
        votes = (vote for vote in self._cast(is_close=False) if vote.entries == entries)
        live = self.place.live
        return {vote.author: vote for vote in votes if vote.author in live} | self._backers.get(entries, {})

    def best(self) -> tuple[Vote, ...]:
        """Return the majority that says what to close this step with: the decision, else the newest one."""
        return self.decided or (self.certificates[max(self.certificates)] if self.certificates else ())

    def _in_majorities(self) -> Iterator[Vote]:
        """Yield the votes that make up the majorities and the decision that are kept, whatever else their authors
        said."""
        for votes in (*self._majorities.values(), self.decided):
            yield from votes

    def rank(self) -> tuple[int, bool]:
        """Return how far :meth:`best` binds in comparison with other steps: the higher, the more."""
        best = self.best()
        return (best[-1].round, best[-1].is_close) if best else (-1, False)

    def rounds(self) -> Iterator[tuple[int, int]]:
        """Yield author and round of all votes."""
        for book in (self._absents, self._closes):
            for author, votes in book.items():
                if author in self.place.staying:
                    yield from ((author, vote.round) for vote in votes)

    def by(self, author: int) -> tuple[Vote, ...]:
        """Return the votes of an author that are kept."""
        others = (*self._late.values(), *self._first.values(), *self._in_majorities())
        return (
            *self._absents.get(author, ()),
            *self._closes.get(author, ()),
            *(vote for vote in others if vote.author == author),
        )

    def own_absent(self, me: int) -> Vote | None:
        """Return this node's latest ABSENT."""
        return max(self._absents.get(me, ()), key=lambda vote: vote.round, default=None)

    def own_close(self, me: int) -> Vote | None:
        """Return this node's latest CLOSE."""
        return max(self._closes.get(me, ()), key=lambda vote: vote.round, default=None)

    def supporters(self, number: int, entries: Entries) -> set[int]:
        """Return the authors who voted ABSENT for these entries in a round."""
        return {
            author
            for author, votes in self._absents.items()
            for vote in votes
            if vote.round == number and vote.entries == entries and author in self.place.staying
        }

    def first(self, author: int) -> Entries | None:
        """Return the entries of an author's first ABSENT on this step."""
        vote = self._first.get(author)
        return None if vote is None else vote.entries


def leaves_majority(place: Place, entries: Entries) -> bool:
    """Tell whether those who are left after closing a step with ``entries`` are more than half of the base, and at
    least one of them is in the game."""
    left = set(place.staying) - place.leavers(entries)
    return len(left) >= place.majority and not left.isdisjoint(place.live)


def elect(
    place: Place, entries: Entries, voters: Iterable[int], backers: Iterable[int] = (), culprits: Iterable[int] = ()
) -> tuple[int, ...]:
    """Return the authors of a majority for ``entries``, no more than it takes; empty if there is none.

    It is more than half of the base, and at least half of the players in the game who stay have voted so once: else
    those who are out of it, if they are many, could put out whom they like. All votes are counted here: ABSENTs and
    CLOSEs, by nodes and by whoever reads a transcript.

    :param backers: who voted ABSENT so in whatever round: they may be gone since.
    :param culprits: who is proven to have broken the rules. Where two or more stay one vote of theirs is not enough, as
        a liar could vote against a LOCK that it has signed, unless it is that of the only one who is not proven.
    :return: the backers whom it takes beside the voters, then the voters, each by author.
    """
    stay = set(place.live) - place.leavers(entries)
    counted = sorted(set(voters).intersection(place.staying), key=lambda voter: (voter not in stay, voter))
    chosen = sorted(counted[: place.majority])
    lacking = max(-(-len(stay) // 2), min(2, len(stay))) - len(stay.intersection(chosen))
    added = sorted(stay.intersection(backers).difference(chosen))[: max(lacking, 0)]
    voices = stay.intersection(chosen + added)
    is_backed = len(added) >= lacking or (2 * len(voices) >= len(stay) and voices >= stay.difference(culprits))
    is_majority = len(chosen) == place.majority and leaves_majority(place, entries)
    return (*added, *chosen) if is_majority and is_backed else ()


class _Heed(IntEnum):
    """How many of the others' votes on a closed step cast doubt on it: from the fewest to all."""

    SINGLE_OBJECTIONS = 0
    OBJECTIONS = 1
    VOTES = 2


class Absence:
    """The votes on all steps that can still change, as one node knows and casts them.

    :param me: index of this node in the roster; None for whoever has no vote.
    """

    def __init__(self, me: int | None) -> None:
        self.me = me
        self.ballots: dict[bytes, Ballot] = {}
        """The ballot on each step, by tip."""

    def copy(self) -> Absence:
        """Return an independent copy, for the explorer of small worlds."""
        twin = type(self)(self.me)
        twin.ballots = {tip: ballot.copy() for tip, ballot in self.ballots.items()}
        return twin

    def take(self, vote: Vote, place: Place) -> bool:
        """Count anybody's vote on a step of the tail; tell whether it was news.

        :raises ContradictionError: if its author contradicts themselves.
        """
        ballot = self.ballots.setdefault(vote.tip, Ballot(place))
        if place.base:
            ballot.place = place  # of a history that was left only this node's own votes are known
        if vote.author == self.me:
            ballot.round = max(ballot.round, vote.round)
        return ballot.take(vote)

    def may_be_news(self, vote: Vote) -> bool:
        """Tell whether a vote can change anything; if not, its signature need not be checked."""
        ballot = self.ballots.get(vote.tip)
        return ballot is None or ballot.may_be_news(vote)

    def has_voted(self, tip: bytes) -> bool:
        """Tell whether this node has voted in a step. If so, only a decision closes that step here."""
        ballot = self.ballots.get(tip)
        return ballot is not None and ballot.round >= 0

    @property
    def round(self) -> int:
        """The latest round in which this node has voted, in any step; -1 if there is none."""
        return max((ballot.round for ballot in self.ballots.values()), default=-1)

    def leaders(self) -> list[Ballot]:
        """Return the ballots with a majority, the latest majority first.

        The steps before that one's stand as they were on its history. The same holds for each further ballot that
        agrees with all before it.
        """
        found = (ballot for ballot in self.ballots.values() if ballot.best())
        return sorted(found, key=lambda ballot: (*(-int(each) for each in ballot.rank()), ballot.place.tip))

    def _is_settled(self, place: Place, later: Sequence[Place]) -> bool:
        """Tell whether a step stays as it was closed, because a later majority is for a step after it."""
        ballot = self.ballots.get(place.tip)
        rank = (-1, False) if ballot is None else ballot.rank()
        return any(self.ballots[each.tip].rank() > rank for each in later if each.tip in self.ballots)

    def decision(self, history: HistoryView) -> tuple[Place, tuple[Vote, ...]] | None:
        """Return the first step that was decided otherwise than it was closed, with the votes that decide it.

        All ballots are counted anew first if somebody was proven to have broken the rules since.
        """
        tail = history.tail()
        for each in self.ballots.values():
            each.convict(history.culprits())
        for index, place in enumerate(tail):
            ballot = self.ballots.get(place.tip)
            if ballot is None or not ballot.decided or self._is_settled(place, tail[index + 1 :]):
                continue
            if history.closed(place.step) != ballot.decided[0].entries:
                return place, ballot.decided
        return None

    def is_reopened(self, history: HistoryView) -> bool:
        """Tell whether this node votes against a step that it had closed. If so, it signs nothing after that step."""
        tail = history.tail()
        return any(self._is_against(place, tail[index + 1 :], history) for index, place in enumerate(tail))

    def _is_against(self, place: Place, later: Sequence[Place], history: HistoryView) -> bool:
        closed = history.closed(place.step)
        ballot = self.ballots.get(place.tip)
        if closed is None or ballot is None or ballot.decided or self.me is None or self._is_settled(place, later):
            return False
        best = ballot.best()
        if best and best[0].entries != closed:
            return True
        own = max(
            (vote for vote in (ballot.own_absent(self.me), ballot.own_close(self.me)) if vote is not None),
            key=lambda vote: vote.round,
            default=None,
        )
        return own is not None and own.entries != closed

    def due(self, history: HistoryView, expired: Collection[bytes], settling: Collection[bytes]) -> list[Vote]:
        """Return the votes that this node must sign now. They are not counted before they are taken.

        :param expired: tips of steps with which this node's patience is over, and of the one in which it voted last if
            that round has lasted long enough.
        :param settling: tips of steps in which this node does not follow others into a later round yet. A node that has
            come into its round less than half a patience ago names all steps of the tail.
        """
        if self.me is None:
            return []
        return self._absents_due(self.me, history, expired, settling) or self._closes_due(self.me, history)

    def current(self, history: HistoryView) -> Place | None:
        """Return the step in which this node's latest round goes on; None if that step is decided or settled."""
        tail = history.tail()
        for index, place in enumerate(tail):
            ballot = self.ballots.get(place.tip)
            if ballot is not None and ballot.round == self.round >= 0:
                return None if ballot.decided or self._is_settled(place, tail[index + 1 :]) else place
        return None

    def contested(self, history: HistoryView, expired: Collection[bytes] = ()) -> Place | None:
        """Return the step to vote on in the next round: the first that is open or in doubt, from the latest majority's
        on.

        A vote that says what a closed step was closed with is no reason to vote there. Whoever says otherwise may be
        bound to that, and pulls the others back. In even rounds all of this counts; in odd ones, and for a first vote,
        only if they say so of one step only, and nobody has come there in vain. So a liar holds the others up once.
        Where that leaves this node without a vote, it goes wherever anybody votes: else it could help nobody who is
        bound or waits for a majority to reach their round.
        """
        heeds_all = self.round >= 0 and self.round % 2 == 1  # then the next round is even
        place = self._first_in_doubt(history, expired, _Heed.OBJECTIONS if heeds_all else _Heed.SINGLE_OBJECTIONS)
        if place is not None:
            ballot = self.ballots.get(place.tip) or Ballot(place)
            best = ballot.best()
            if not leaves_majority(place, best[0].entries if best else self._own_entries(ballot, history)):
                return self._first_in_doubt(history, expired, _Heed.VOTES)
        return place

    def _first_in_doubt(self, history: HistoryView, expired: Collection[bytes], heed: _Heed) -> Place | None:
        tail = history.tail()
        culprits = history.culprits()
        far = cache(partial(self._far, history))
        objectors = [self._objectors(place, history, far).difference(culprits) for place in tail]
        objections = Counter(author for each in objectors for author in each)
        for index, place in enumerate(tail):
            ballot = self.ballots.get(place.tip)
            is_settled = self._is_settled(place, tail[index + 1 :])
            if is_settled or (ballot is not None and ballot.decided):
                continue
            closed = history.closed(place.step)
            if closed is None or (place.tip in expired and not self.has_voted(place.tip)):
                return place
            if ballot is None:
                continue
            best = ballot.best()
            # A node that has not closed a cheat's step closes it only by a decision.
            is_cheats = not culprits.isdisjoint(place.owed)
            is_heeding_all = heed is _Heed.VOTES or is_cheats
            near = self._near_voters(ballot, far(ballot.place.majority)) if is_heeding_all else objectors[index]
            heeded = near.difference(culprits)
            if heed is _Heed.SINGLE_OBJECTIONS:
                came = {author for author, number in ballot.rounds() if number <= self.round}
                # Two histories begin at a cheat's step on which votes differ: nobody can go on before that is settled.
                is_split = is_cheats and objectors[index]
                is_in_vain = not is_split and not came <= objectors[index] | culprits
                is_single = is_heeding_all or any(objections[author] == 1 for author in heeded)
                heeded = heeded if is_single and not is_in_vain else set()
            if self.me in objectors[index] or heeded or (best and best[0].entries != closed):
                return place
        return None

    def _objectors(self, place: Place, history: HistoryView, far: Callable[[int], int]) -> set[int]:
        """Return the authors who have voted otherwise than a step was closed."""
        ballot, closed = self.ballots.get(place.tip), history.closed(place.step)
        if ballot is None or closed is None:
            return set()
        return self._near_voters(ballot, far(ballot.place.majority), closed)

    def _far(self, history: HistoryView, majority: int) -> int:
        """Return the last round that counts: votes so far ahead that nobody would follow must hold up nobody."""
        return max(self.round + limits.VOTE_ROUNDS_AHEAD, self.target(history, self.round, majority)[0])

    def _near_voters(self, ballot: Ballot, far: int, closed: Entries | None = None) -> set[int]:
        """Return the authors who voted on a step up to round ``far``, otherwise than ``closed`` if that is given."""
        return {
            author
            for author in ballot.place.staying
            if any(vote.round <= far and vote.entries != closed for vote in ballot.by(author))
        }

    def target(self, history: HistoryView, number: int, majority: int) -> tuple[int, bool]:
        """Return the round in which the others are, as far as that may be believed; and whether this node, in round
        ``number``, may go on to the next one: a round that a majority has not reached has not failed.

        A round counts on whichever step: two nodes that vote on steps which the other one does not know would wait for
        each other for ever. Rounds of proven cheats count for nothing, as their votes decide nothing.
        """
        unheeded = {self.me, *history.culprits()}
        here = (vote for ballot in self.ballots.values() for vote in ballot.rounds())
        votes = [vote for vote in (*here, *history.elsewhere()) if vote[0] not in unheeded]
        near = max((each for _, each in votes if each <= number + limits.VOTE_ROUNDS_AHEAD), default=-1)
        rounds: dict[int, int] = {}
        for author, each in votes:
            rounds[author] = max(each, rounds.get(author, -1))
        latest_first = sorted(rounds.values(), reverse=True)
        far = latest_first[majority - 2] if len(latest_first) >= majority - 1 > 0 else -1
        return max(near, far), 1 + sum(each >= number for each in latest_first) >= majority

    def _absents_due(
        self, me: int, history: HistoryView, expired: Collection[bytes], settling: Collection[bytes]
    ) -> list[Vote]:
        place = self.contested(history, expired)
        if place is None or me not in place.staying:
            return []
        ballot = self.ballots.get(place.tip) or Ballot(place)
        number = self.round
        target, may_advance = self.target(history, number, place.majority)
        current = self.current(history)
        is_over = current is None or current.tip in expired
        is_waiting = history.closed(place.step) is None and ballot.round < 0
        if is_over and (place.tip in expired or (number >= 0 and not is_waiting)):
            number = max(number + 1 if number < 0 or may_advance else number, target)
        elif target > number and not is_waiting and (number < 0 or place.tip not in settling):
            number = target
        if self.round >= 0 and number > self.round and (number - self.round) % 2 == 0:
            number += 1  # nobody else chooses for this node which objections it heeds in every second round
        newest = max((each for each in ballot.certificates if each < number), default=-1)
        entries = ballot.certificates[newest][0].entries if newest >= 0 else self._own_entries(ballot, history)
        is_due = number > self.round and leaves_majority(place, entries)
        return [Vote(place.tip, me, False, number, entries, newest)] if is_due else []

    def _closes_due(self, me: int, history: HistoryView) -> list[Vote]:
        number = self.round
        closes = (ballot.own_close(me) for ballot in self.ballots.values())
        if any(own is not None and own.round >= number for own in closes):
            return []
        tail = history.tail()
        for index, place in enumerate(tail):
            ballot = self.ballots.get(place.tip)
            if ballot is None or ballot.decided or self._is_settled(place, tail[index + 1 :]):
                continue
            if (certificate := ballot.certificates.get(number)) and me in place.staying:
                entries = certificate[0].entries
                # Proven cheats may have shown other votes to others: their votes must not make the difference.
                honest = ballot.supporters(number, entries).difference(history.culprits())
                backers = ballot.backers(entries).keys() - set(history.culprits())
                is_elected = elect(place, entries, honest, backers, history.culprits())
                return [Vote(place.tip, me, True, number, entries)] if is_elected else []
            if self._is_against(place, tail[index + 1 :], history):
                break
        return []

    def _own_entries(self, ballot: Ballot, history: HistoryView) -> Entries:
        """Return the entries that this node itself would close a step with."""
        place = ballot.place
        closed, held = history.closed(place.step), history.held(place.step)
        culprits = history.culprits()
        own = closed if closed is not None else tuple(held.get(author, b"") for author in place.owed)
        leaving = place.leavers(own).union(culprits)
        said = {
            author: entries for author in place.players if author not in leaving and (entries := ballot.first(author))
        }
        if closed is not None and self.me in place.players and self.me not in leaving:
            said.setdefault(self.me, closed)
        return tuple(
            self._of_culprit([entries[index] for entries in said.values()], None if closed is None else closed[index])
            if author in culprits
            else own[index]
            for index, author in enumerate(place.owed)
        )

    @staticmethod
    def _of_culprit(said: Sequence[bytes], closed: bytes | None) -> bytes:
        """Return the id that counts as a cheat's message: the one that most players named in their first ABSENTs.

        So a step on which somebody has gone on stands, whatever its author shows later. Where two messages lead alike,
        or players have voted and none has named one, the cheat is absent; where none has voted, it is as this node
        closed the step, and absent if that is open.

        :param said: what each player named for the cheat, empty for absence.
        :param closed: what this node closed the step with; None if it is open.
        """
        counts = Counter(entry for entry in said if entry).most_common(2)
        if not counts:
            return b"" if said or closed is None else closed
        return counts[0][0] if len(counts) == 1 or counts[0][1] > counts[1][1] else b""

    def forget(self, keep: Collection[bytes]) -> None:
        """Drop the votes on all steps but those with these tips."""
        self.ballots = {tip: ballot for tip, ballot in self.ballots.items() if tip in keep}
