"""The votes on one step, and what they come to: the majorities of ABSENTs, and the decision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from protocol import limits
from protocol.consensus import electorate
from protocol.consensus.electorate import Entries, Place
from protocol.consensus.votes import ContradictionError, Vote, vote_contradiction


class Ballot:
    """The votes on one step that one node knows."""

    __slots__ = (
        "_absents",
        "_backers",
        "_closes",
        "_first",
        "_found",
        "_late",
        "culprits",
        "decided",
        "majorities",
        "place",
        "round",
    )

    def __init__(self, place: Place) -> None:
        self.place = place
        self.round = -1
        """The latest round in which this node has voted on the step; -1 if there is none."""
        self._absents: dict[int, tuple[Vote, ...]] = {}
        self._closes: dict[int, tuple[Vote, ...]] = {}
        self._late: dict[tuple[int, bool], Vote] = {}
        """The last vote of a round that was too old to be kept, by author and kind. It may complete a majority that
        this node is shown only now."""
        self._found: dict[tuple[int, Entries], tuple[Vote, ...]] = {}
        """All majorities of ABSENTs of the latest rounds that have one, by round and entries; before each, the votes
        that back it."""
        self._backers: dict[Entries, dict[int, Vote]] = {}
        """The ABSENTs of players in the game for the entries of a majority, by entries and author. They are kept here
        when their rounds are forgotten."""
        self.majorities: dict[int, tuple[Vote, ...]] = {}
        """The majority of identical ABSENTs that counts in a round, by round; before each, the votes that back it."""
        self.culprits: frozenset[int] = frozenset()
        """The authors who are proven to have broken the rules."""
        self.decided: tuple[Vote, ...] = ()
        """The ABSENTs that back the decision, then exactly a majority of identical CLOSEs, each by author; empty if the
        step is undecided."""
        self._first: dict[int, Vote] = {}
        """The first ABSENT of each author. It names the entries that its author had closed the step with, or held."""

    def copy(self) -> Ballot:
        """Return an independent copy, for the explorer of small worlds."""
        twin = Ballot(self.place)
        twin.round = self.round
        twin._absents = self._absents.copy()
        twin._closes = self._closes.copy()
        twin._late = self._late.copy()
        twin._found = self._found.copy()
        twin._backers = self._backers.copy()
        twin.majorities = self.majorities.copy()
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
            tuple(sorted(self._found)),
            tuple(sorted((entries, *sorted(votes)) for entries, votes in self._backers.items())),
            self.decided and self.decided[0].entries,
            tuple(sorted((author, vote[:6]) for author, vote in self._first.items())),
        )

    def votes(self) -> Iterator[Vote]:
        """Yield the votes to show to a node that has none: majorities first, as other votes may count only with
        them."""
        shown = set()
        groups = [self.majorities[number] for number in sorted(self.majorities)]
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
            if reason := vote_contradiction(other, vote):
                raise ContradictionError(other, vote, reason)
        return not is_late or self.best() != best

    def may_be_news(self, vote: Vote) -> bool:
        """Tell whether a vote is new, so that it may change anything."""
        return not any(other[:6] == vote[:6] for other in self.by(vote.author))

    def convict(self, culprits: Iterable[int]) -> None:
        """Count again, now that these authors are proven to have broken the rules."""
        if not self.culprits.issuperset(culprits):
            self.culprits = self.culprits.union(culprits)
            self._count()

    def _is_shared(self, vote: Vote, book: Mapping[int, tuple[Vote, ...]]) -> bool:
        """Tell whether another voter has cast the same vote: then the vote may belong to a majority elsewhere."""
        return any(
            other.round == vote.round and other.says_the_same_as(vote)
            for author, votes in book.items()
            if author != vote.author
            for other in votes
        )

    def _count(self) -> None:
        """Find all majorities. Only a liar can cause two of one round, or two decisions: then all nodes choose the same
        one."""
        for found in self._agreeing(is_close=False):
            self._found.setdefault((found[-1].round, found[-1].entries), found)
            self._backers[found[-1].entries] = self.backers(found[-1].entries)
        for old in sorted({number for number, _ in self._found})[: -limits.VOTE_ROUNDS]:
            for slot in [slot for slot in self._found if slot[0] == old]:
                del self._found[slot]
        # Of two majorities of one round, the one for the smaller entries counts: it comes last here.
        self.majorities = {slot[0]: self._found[slot] for slot in sorted(self._found, reverse=True)}
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
        """Yield each majority of identical votes, the earliest round first: the votes that back it, then exactly a
        majority."""
        groups: dict[tuple[int, Entries], list[Vote]] = {}
        for vote in self._cast(is_close=is_close):
            groups.setdefault((vote.round, vote.entries), []).append(vote)
        for (_, entries), group in sorted(groups.items()):
            backers = self.backers(entries)
            counted = {vote.author: vote for vote in reversed(group) if self._counts(vote, group)}
            if elected := electorate.elect(self.place, entries, counted, backers, self.culprits):
                yield tuple(counted.get(author) or backers[author] for author in elected)

    def _counts(self, vote: Vote, group: Iterable[Vote]) -> bool:
        """Tell whether a vote counts towards a majority.

        It does if it names no earlier majority, or one that is known here. It also does if enough of the ``group``, who
        vote the same, name one as late or later: then one of them is honest and knew it.
        """
        if vote.newest < 0 or (vote.newest, vote.entries) in self._found:
            return True
        known = {other.author for other in group if other.newest >= vote.newest}
        return bool(electorate.elect(self.place, vote.entries, known, self.backers(vote.entries), self.culprits))

    def backers(self, entries: Entries) -> dict[int, Vote]:
        """Return an ABSENT for these entries, of any round, by each player in the game who has voted one."""
        votes = (vote for vote in self._cast(is_close=False) if vote.entries == entries)
        live = self.place.live
        return {vote.author: vote for vote in votes if vote.author in live} | self._backers.get(entries, {})

    def best(self) -> tuple[Vote, ...]:
        """Return the majority whose entries the step should be closed with: the decision, else the latest; empty if
        there is none."""
        return self.decided or (self.majorities[max(self.majorities)] if self.majorities else ())

    def _in_majorities(self) -> Iterator[Vote]:
        """Yield the votes of the majorities and of the decision."""
        for votes in (*self._found.values(), self.decided):
            yield from votes

    def rank(self) -> tuple[int, bool]:
        """Return the round of :meth:`best` and whether it is the decision. Of two steps the higher rank leads."""
        best = self.best()
        return (best[-1].round, best[-1].is_close) if best else (-1, False)

    def rounds(self) -> Iterator[tuple[int, int]]:
        """Yield author and round of all votes."""
        for book in (self._absents, self._closes):
            for author, votes in book.items():
                if author in self.place.staying:
                    yield from ((author, vote.round) for vote in votes)

    def by(self, author: int) -> tuple[Vote, ...]:
        """Return all votes of an author that are kept."""
        others = (*self._late.values(), *self._first.values(), *self._in_majorities())
        return (
            *self._absents.get(author, ()),
            *self._closes.get(author, ()),
            *(vote for vote in others if vote.author == author),
        )

    def latest(self, author: int) -> Vote | None:
        """Return the vote of an author's latest round: the ABSENT, if there are votes of both kinds."""
        votes = (*self._absents.get(author, ()), *self._closes.get(author, ()))
        return max(votes, key=lambda vote: vote.round, default=None)

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
