"""The ballot on one root: everything that a node concludes from the messages behind it, and what it votes.

SPEC.md, §6 has the rule. It is Algorithm 1 of Tendermint (Buchman, Kwon, Milosevic, "The latest gossip on BFT
consensus", 2018), in which everybody proposes.

Theory of operation
-------------------
A node is a function of the messages that it knows, as in a model: :meth:`Ballot.take` adds one, and everything else
follows from all of them. Nothing here knows a clock. Questions with an answer that depends on time come in two kinds:

- :meth:`Ballot.absent` is told with which players patience is over;
- :attr:`Ballot.close` and :attr:`Ballot.nil` are votes that the node is to sign if they have stood for some time.

The node asks after each message, and when a time has come::

    ballot.grow()                 fold steps on where messages lead to
    ballot.closed                 the root is over: begin the ballot of the next one
    ballot.line                   the history that the node follows; the last position is the open step
    ballot.may_lock, .may_resign  what it may sign there
    ballot.absent(...)            a vote to go on, after showing what it rests on (ballot.grounds)
    ballot.close                  half a second after its grounds were shown, if it still stands
    ballot.nil                    a patience for programs after it first stood

tests/simulation/small_worlds.py explores this class exhaustively for small worlds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from protocol import limits
from protocol.consensus.branches import Branches, Folding, Outcome
from protocol.consensus.kinds import Vote, VoteValue, read_vote
from protocol.consensus.position import FORMED, Position
from protocol.wire.messages import VOTES, Kind, Signed

_JUDGE = -1
"""Stands for one more author who has signed behind a step: its message alone convicts its author, so it must stay."""


# Quorums


def leavers(position: Position, entries: Mapping[int, Signed]) -> set[int]:
    """Return the authors who leave when an ordinary step is closed with these messages: those of holes and RESIGNs."""
    staying = {author for author, signed in entries.items() if signed.message.kind is not Kind.RESIGN}
    return set(position.owed).difference(staying)


def is_possible(position: Position, leaving: Collection[int]) -> bool:
    """Tell whether the others can go on if these authors leave: more than half of the base, one of them in the game. At
    the end nobody need be in the game any more."""
    remaining, live = set(position.base).difference(position.left, leaving), set(position.live)
    is_anybody_left = not remaining.isdisjoint(live) or (position.kind is Kind.LOCK and not live)
    return len(remaining) >= position.majority and is_anybody_left


def elect(
    position: Position, leaving: Collection[int], voters: Iterable[int], backers: Iterable[int]
) -> tuple[int, ...]:
    """Return the authors whose votes are a quorum, no more than needed; empty if there is none.

    A quorum is more than half of the base in one round. And at least half of those who stay in the game have voted for
    the value: otherwise many players who are out of the game could put anybody out.

    :param leaving: the authors whom the value makes leave.
    :param voters: the authors who have voted for the value in the round.
    :param backers: the authors of ABSENTs for it in any round.
    :return: the backers needed in addition to the voters, then the voters, each in ascending order.
    """
    if not is_possible(position, leaving):
        return ()
    stay = set(position.live).difference(leaving)
    counted = set(voters).intersection(position.base).difference(position.left)
    size = position.majority
    chosen = sorted(sorted(counted, key=lambda voter: (voter not in stay, voter))[:size])
    lacking = max(0, -(-len(stay) // 2) - len(stay.intersection(chosen)))
    added = sorted(stay.intersection(backers).difference(chosen))[:lacking]
    return (*added, *chosen) if len(chosen) == size and len(added) == lacking else ()


# The ballot


class Polka(NamedTuple):
    """A majority of identical ABSENTs of one round, backed by half of those who stay in the game."""

    round: int
    value: VoteValue
    voters: frozenset[int]
    """The authors of these ABSENTs who may vote."""


class Closed(NamedTuple):
    """How a step was closed for good, so that a new root follows."""

    position: Position
    entries: Mapping[int, Signed]
    """The messages that close it, by author."""
    certificate: tuple[Signed, ...]
    """The votes that decide it: ABSENTs, then CLOSEs, each by author; nothing if all who owe it have signed."""


class _Count(NamedTuple):
    """What the votes come to."""

    round: int
    leading: Polka | None
    clean: VoteValue | None
    """The value of the clean polka of the current round."""
    kept: tuple[Polka, ...]
    decided: tuple[VoteValue, tuple[Vote, ...]] | None


class Ballot:
    """What one node holds about one root, and what follows from it.

    :param me: the node's roster index; None for a node without a vote.
    :param root: the position behind the last final step.
    :param folding: how the history goes on.
    """

    def __init__(self, me: int | None, root: Position, folding: Folding, convicted: Iterable[int] = ()) -> None:
        self.me = me
        self.root = root
        self.branches: Branches = Branches(root, folding)
        self._folding = folding
        self._convicted = set(convicted)
        self._judged_at: set[bytes] = set()
        self._votes: dict[tuple[int, int, bool], tuple[Vote, ...]] = {}
        """By round, author and kind: two at most."""
        self._late: dict[tuple[int, bool], tuple[int, int, bool]] = {}
        """The slot of the last late vote, by author and kind: a decision may arrive after its round."""
        self._polkas: set[tuple[int, VoteValue]] = set()
        """Every polka found so far: a later ABSENT may name it."""
        self._named: set[bytes] = set()
        """The tips and ids that votes name."""
        self._count: _Count | None = None
        self._line: list[Position] | None = None

    # Taking messages

    def take(self, signed: Signed, *, is_mine: bool = False) -> Outcome:
        """Take a message with a right signature: of a step, or a vote on this root.

        If it contradicts an earlier message, the caller convicts the author first.

        :param is_mine: this node has signed it.
        :raises RejectedMessageError: if it does not belong here; nothing changes.
        :raises MisconductError: if it proves that its author broke a rule; nothing changes.
        """
        if signed.message.kind in VOTES:
            return self._take_vote(read_vote(signed))
        outcome = self.branches.take(signed, self._named, is_mine=is_mine)
        if outcome is Outcome.ADDED:
            self._changed()
        return outcome

    def _take_vote(self, vote: Vote) -> Outcome:
        root = self.root
        if vote.root != root.tip or root.step == 0 or vote.author not in root.base or vote.author in root.left:
            return Outcome.FOREIGN
        slot = (vote.round, vote.author, vote.is_close)
        known = self._votes.get(slot, ())
        if any(vote[:-1] == each[:-1] for each in known):
            return Outcome.DUPLICATE
        if len(known) >= limits.IDS_PER_SLOT:
            return Outcome.SURPLUS
        is_late = vote.round < self.round - 1
        if is_late:
            self._late[vote.author, vote.is_close] = slot
        self._votes[slot] = (*known, vote)
        self._changed()
        self._forget()
        values = {each.value for each in self.votes() if each.value is not None}
        ids = (entry for value in values if not isinstance(value.entries, bytes) for entry in value.entries)
        self._named = {value.tip for value in values}.union(ids)
        return Outcome.LATE if is_late else Outcome.ADDED

    def grow(self) -> list[Signed]:
        """Fold steps on where messages lead; return kept messages whose step has become known, to be taken again."""
        found = list(self.branches.grow(self._named))
        self._changed()
        return found

    def convict(self, author: int, tip: bytes = b"") -> None:
        """Note that an author is proven to have broken a rule.

        :param tip: of the message that proves it by itself. It counts as signed behind the steps before it, so that the
            history by which it is judged stands.
        """
        self._convicted.add(author)
        if tip:
            self._judged_at.add(tip)
        self._changed()

    def _changed(self) -> None:
        self._count = self._line = None

    def _forget(self) -> None:
        """Drop votes that nothing rests on any more. A liar can add only a few in each round, and no round ends without
        an honest CLOSE."""
        counted = self._counted
        later: dict[tuple[int, bool], list[int]] = {}
        for number, author, is_close in sorted(self._votes):
            if number > counted.round:
                later.setdefault((author, is_close), []).append(number)
        polkas = {(polka.round, polka.value) for polka in counted.kept}
        backed = {polka.value for polka in counted.kept}
        late = self._late.values()
        for slot in [slot for slot in self._votes if slot[0] not in (counted.round, counted.round - 1)]:
            if slot in late:
                continue
            number, author, is_close = slot
            if number > counted.round:
                if number not in later[author, is_close][-limits.VOTE_ROUNDS_LATER :]:
                    del self._votes[slot]
                continue
            kept = tuple(
                vote
                for vote in self._votes[slot]
                if vote.value is not None
                and ((number, vote.value) in polkas or (not is_close and vote.value in backed and self._backs(vote)))
            )
            if kept:
                self._votes[slot] = kept
            else:
                del self._votes[slot]

    def _backs(self, vote: Vote) -> bool:
        """Tell whether no later ABSENT of its author is for the same value."""
        others = (each for votes in self._votes.values() for each in votes if each.author == vote.author)
        return not any(each.round > vote.round and each.value == vote.value and not each.is_close for each in others)

    # What follows

    @property
    def _counted(self) -> _Count:
        if self._count is None:
            self._count = self._derive()
        return self._count

    def _derive(self) -> _Count:
        if not self._votes:
            return _Count(0, None, None, (), None)
        root = self.root
        counting = [vote for vote in self.votes() if vote.value is None or self._leaving(vote.value) is not None]
        closers: dict[int, set[int]] = {}
        for vote in counting:
            if vote.is_close:
                closers.setdefault(vote.round, set()).add(vote.author)
        size = root.majority
        number = max((each + 1 for each, authors in closers.items() if len(authors) >= size), default=0)
        number = max([number, *(vote.round for vote in self.votes() if vote.author == self.me)])
        absents: dict[tuple[int, VoteValue], list[Vote]] = {}
        closes: dict[tuple[int, VoteValue], list[Vote]] = {}
        backers: dict[VoteValue, dict[int, Vote]] = {}
        for vote in counting:
            if vote.value is not None:
                (closes if vote.is_close else absents).setdefault((vote.round, vote.value), []).append(vote)
                if not vote.is_close:
                    backers.setdefault(vote.value, {}).setdefault(vote.author, vote)
        found = []
        for (each, value), votes in sorted(absents.items(), key=lambda item: (item[0][0], item[0][1].order())):
            voters = {
                vote.author
                for vote in votes
                if vote.polka_round < 0 or vote.polka_round < number - 1 or (vote.polka_round, value) in self._polkas
            }
            support = {*backers[value], *(vote.author for vote in closes.get((each, value), ()))}
            if each <= number and self._elect(value, voters, support):
                self._polkas.add((each, value))
                found.append(Polka(each, value, frozenset(voters)))
        leading = [polka for polka in found if self._is_clean(polka) or self._is_closed(closes, polka)]
        clean = [polka.value for polka in found if polka.round == number and self._is_clean(polka)]
        last = max((polka.round for polka in leading), default=-1)
        rounds = sorted({polka.round for polka in found})[-limits.VOTE_ROUNDS :]
        decided = None
        for (_, value), votes in sorted(closes.items(), key=lambda item: (-item[0][0], item[0][1].order())):
            by_author = {vote.author: vote for vote in votes}
            elected = self._elect(value, by_author, backers.get(value, ()))
            if elected:
                decided = value, tuple(by_author.get(author) or backers[value][author] for author in elected)
                break
        return _Count(
            number,
            min((each for each in leading if each.round == last), key=lambda each: each.value.order(), default=None),
            min(clean, key=VoteValue.order, default=None),
            tuple(polka for polka in found if polka.round in rounds),
            decided,
        )

    def _leaving(self, value: VoteValue) -> set[int] | None:
        """Return the authors whom a value makes leave; None if it is none, or not everything that it names is here."""
        position = self.branches.positions.get(value.tip)
        if position is None or position.step != value.step or position.step < FORMED or position.kind is None:
            return None
        entries = value.entries
        if position.kind is Kind.LOCK or isinstance(entries, bytes):
            return set() if position.kind is Kind.LOCK and entries == position.lock else None
        if len(entries) != len(position.owed) or b"" not in entries:
            return None
        held = self.branches.closing(position, entries)
        return None if held is None else leavers(position, held)

    def _elect(self, value: VoteValue, voters: Iterable[int], backers: Iterable[int]) -> tuple[int, ...]:
        leaving = self._leaving(value)
        assert leaving is not None
        return elect(self.branches.positions[value.tip], leaving, voters, backers)

    def _is_clean(self, polka: Polka) -> bool:
        position = self.branches.positions[polka.value.tip]
        voters = polka.voters.intersection(position.base).difference(position.left, self._convicted)
        return len(voters) >= position.majority

    def _is_closed(self, closes: Mapping[tuple[int, VoteValue], Iterable[Vote]], polka: Polka) -> bool:
        return any(vote.author not in self._convicted for vote in closes.get((polka.round, polka.value), ()))

    @property
    def round(self) -> int:
        """The current round: one more than the newest that a majority has closed, and never below one in which this
        node has voted."""
        return self._counted.round

    @property
    def leading(self) -> Polka | None:
        """The polka that leads. As long as there is one, this node wishes for its value."""
        return self._counted.leading

    @property
    def line(self) -> list[Position]:
        """The history that the node follows: positions from the root to the open step."""
        if self._line is None:
            voters: dict[bytes, set[int]] = {tip: {_JUDGE} for tip in self._judged_at}
            for vote in self.votes() if self._convicted else ():
                if vote.value is not None:
                    voters.setdefault(vote.value.tip, set()).add(vote.author)
            self._line = self.branches.line(self._convicted, voters)
        return self._line

    @property
    def held(self) -> dict[int, Signed]:
        """The messages that the open step can be closed with, by author."""
        position = self.line[-1]
        slots = self.branches.messages[position.tip]
        is_doubtful = position.kind is not Kind.LOCK and position.step >= FORMED
        return {author: slots[author][0] for author in sorted(slots) if not (is_doubtful and author in self._convicted)}

    @property
    def missing(self) -> tuple[int, ...]:
        """The authors who owe the open step and have sent nothing that can close it."""
        held = self.held
        return tuple(author for author in self.line[-1].owed if author not in held)

    @property
    def closed(self) -> Closed | None:
        """How a step was closed for good; None as long as the root stays."""
        decided = self._counted.decided
        if decided is not None:
            value, votes = decided
            position, certificate = self.branches.positions[value.tip], tuple(vote.signed for vote in votes)
            if isinstance(value.entries, bytes):
                return Closed(position, {}, certificate)
            entries = self.branches.closing(position, value.entries)
            assert entries is not None
            return Closed(position, entries, certificate)
        for position in self.branches.boundaries():
            slots = self.branches.messages[position.tip]
            return Closed(position, {author: slots[author][0] for author in position.owed}, ())
        return None

    def goes_on_without(self, authors: Collection[int]) -> bool:
        """Tell whether the others can go on without these authors, and without those who resign."""
        position, held = self.line[-1], self.held
        resigning = (author for author, signed in held.items() if signed.message.kind is Kind.RESIGN)
        return is_possible(position, {*authors, *resigning})

    # What the node does

    @property
    def has_votes(self) -> bool:
        """Somebody has voted on this root."""
        return bool(self._votes)

    @property
    def has_voted(self) -> bool:
        """This node has voted on this root."""
        return any(author == self.me for _, author, _ in self._votes)

    @property
    def has_resigned(self) -> bool:
        """This node has signed a RESIGN behind this root: it signs and votes no more."""
        return any(signed.message.kind is Kind.RESIGN for signed in self._own())

    @property
    def may_resign(self) -> bool:
        """This node may sign RESIGN in an ordinary step: it has not voted."""
        return not self.has_voted

    @property
    def may_lock(self) -> bool:
        """This node may sign the LOCK that is open: it has not voted, knows no leading polka, and has signed no LOCK of
        another branch."""
        is_bound = any(signed.message.kind is Kind.LOCK for signed in self._own())
        return not (is_bound or self.has_voted or self.leading is not None)

    def _own(self) -> Iterator[Signed]:
        return iter(()) if self.me is None else self.branches.own(self.me)

    @property
    def _may_vote(self) -> bool:
        position = self.line[-1]
        is_voter = self.me in self.root.base and self.me not in position.left and not self.has_resigned
        return is_voter and position.step >= FORMED

    def wish(self, over: Collection[int]) -> VoteValue | None:
        """Return the value by which this node would go on.

        :param over: the missing authors with whom its patience is over.
        """
        if self.leading is not None:
            return self.leading.value if self._may_vote else None
        position, missing = self.line[-1], set(self.missing)
        if position.kind is Kind.LOCK:
            voters = {author for _, author, _ in self._votes}.difference(self._convicted)
            is_mine = self.me in missing and not self.may_lock
            is_due = is_mine or not missing.isdisjoint(over) or not missing.isdisjoint(voters)
        else:
            is_due = bool(missing) and missing.issubset(over)
        if not is_due or position.kind is None or not self._may_vote:
            return None
        if position.kind is Kind.LOCK:
            return VoteValue(position.step, position.tip, position.lock) if is_possible(position, ()) else None
        held = self.held
        entries = tuple(held[author].id if author in held else b"" for author in position.owed)
        is_enough = is_possible(position, leavers(position, held))
        return VoteValue(position.step, position.tip, entries) if is_enough else None

    def absent(self, over: Collection[int]) -> Vote | None:
        """Return the ABSENT that this node is to sign now, after it has shown the :meth:`grounds`.

        :param over: the missing authors with whom its patience is over.
        """
        number, leading = self.round, self.leading
        if self.me is None or self._has_voted_in(number) or (leading is not None and leading.round >= number):
            return None
        value = self.wish(over)
        polka_round = leading.round if leading is not None else -1
        return None if value is None else Vote(self.root.tip, self.me, False, number, value, polka_round)

    @property
    def close(self) -> Vote | None:
        """The CLOSE for a value that this node is to sign, if it stands for half a second after the node has shown its
        :meth:`grounds`."""
        value = self._counted.clean
        if self.me is None or value is None or not self._may_vote or self._has_closed(self.round):
            return None
        return Vote(self.root.tip, self.me, True, self.round, value)

    @property
    def nil(self) -> Vote | None:
        """The CLOSE of nothing but the round that this node is to sign, if it stands for a patience for programs."""
        number, leading = self.round, self.leading
        is_in = (number, self.me, False) in self._votes or (leading is not None and leading.round == number)
        if self.me is None or not is_in or self._counted.clean is not None:
            return None
        if not self._may_vote or self._has_closed(number):
            return None
        return Vote(self.root.tip, self.me, True, number, None)

    def grounds(self, vote: Vote) -> list[Signed]:
        """Return the messages that a vote rests on: they are shown, and stored, before it is signed."""
        shown: list[Signed] = []
        if vote.value is not None:
            path = self.branches.path(vote.value.tip)
            for after in path[1:]:
                shown += self.branches.between(after)
            if not isinstance(vote.value.entries, bytes):
                named = self.branches.closing(path[-1], vote.value.entries)
                shown += (named or {}).values()
        number = vote.round if vote.is_close else vote.polka_round
        for each in self.votes():
            is_of_polka = not each.is_close and each.round == number
            is_of_round = each.is_close and not vote.is_close and each.round == vote.round - 1
            is_backing = number >= 0 and not each.is_close
            if is_of_round or ((is_of_polka or is_backing) and each.value == vote.value):
                shown.append(each.signed)
        return shown

    def _has_closed(self, number: int) -> bool:
        return (number, self.me, True) in self._votes

    def _has_voted_in(self, number: int) -> bool:
        return self._has_closed(number) or (number, self.me, False) in self._votes

    # For others

    def votes(self) -> Iterator[Vote]:
        """Yield all votes that are kept: by round, CLOSEs before ABSENTs, so that each finds what it rests on."""
        for slot in sorted(self._votes, key=lambda slot: (slot[0], not slot[2], slot[1])):
            yield from self._votes[slot]

    def counting(self) -> Iterator[Vote]:
        """Yield the votes of this round and the one before, and of the leading polka: two nodes should both have
        them."""
        counted = self._counted
        leads = None if counted.leading is None else (counted.leading.round, counted.leading.value)
        for vote in self.votes():
            if vote.round in (counted.round - 1, counted.round) or (vote.round, vote.value) == leads:
                yield vote

    def by(self, author: int) -> Iterator[Signed]:
        """Yield the votes that are kept of an author."""
        yield from (vote.signed for vote in self.votes() if vote.author == author)
