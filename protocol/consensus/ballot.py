"""The ballot on one root: what a node concludes from the messages after that root, and how it votes.

SPEC.md, §6 has the rules. They are Algorithm 1 of Tendermint (Buchman, Kwon, Milosevic, "The latest gossip on BFT
consensus", 2018), except that every player proposes.

Theory of operation
-------------------
:meth:`Ballot.take` adds one message, and every conclusion is derived from all messages that the ballot holds. The order
of arrival matters in two cases only: when a limit drops a message, and when an author sent several messages for one
step. Nothing here reads a clock. The caller supplies time in two ways:

- :meth:`Ballot.absent_vote` takes the authors for whom patience is over;
- :attr:`Ballot.close_vote` and :attr:`Ballot.nil_vote` propose votes, which the node signs only if they are still
  proposed some time later.

The node asks after each message and when a timer fires::

    ballot.grow()                 close steps as far as messages allow
    ballot.closed                 the closed final step, if any: begin the ballot on the next root
    ballot.line                   the history that the node follows; the last position is the open step
    ballot.may_lock, .may_resign  what the node may sign there
    ballot.absent_vote(...)       a vote to continue; first send what justifies it (ballot.grounds)
    ballot.close_vote             sign half a second after sending its grounds, if still proposed
    ballot.nil_vote               sign when a voting round's time has passed, if still proposed

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
"""An imaginary signer in :attr:`Ballot.line`. If a single message convicts its author, this signer supports the branch
by which the message is judged, so that the node stays on it."""


# Quorums


def leavers(position: Position, entries: Mapping[int, Signed]) -> set[int]:
    """Return the authors who leave if an ordinary step closes with these messages: they sent none, or a RESIGN."""
    staying = {author for author, signed in entries.items() if signed.message.kind is not Kind.RESIGN}
    return set(position.owed).difference(staying)


def is_possible(position: Position, leaving: Collection[int]) -> bool:
    """Return whether the match can continue if these authors leave. It can if more than half of the base remains, and
    at least one of them is still in the game. At a LOCK the second condition is waived if nobody is in the game."""
    remaining, live = set(position.base).difference(position.left, leaving), set(position.live)
    is_anybody_left = not remaining.isdisjoint(live) or (position.kind is Kind.LOCK and not live)
    return len(remaining) >= position.majority and is_anybody_left


def elect(
    position: Position, leaving: Collection[int], voters: Iterable[int], backers: Iterable[int]
) -> tuple[int, ...]:
    """Return the authors of the votes that form a quorum, with no superfluous votes; an empty tuple if there is no
    quorum.

    A quorum needs votes by more than half of the base in one round. In addition, at least half of the players who would
    stay in the game must have voted for the value. Otherwise players who are out of the game could evict anybody.

    :param leaving: the authors who leave if the value is decided.
    :param voters: the authors who voted for the value in the round.
    :param backers: the authors of ABSENTs for the value in any round.
    :return: first the backers needed in addition, then the voters, each group in ascending order.
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
    """A majority of identical ABSENTs in one round, backed by at least half of the players who would stay in the
    game."""

    round: int
    value: VoteValue
    voters: frozenset[int]
    """The authors of these ABSENTs."""


class Closed(NamedTuple):
    """A step that is closed for good, so that a new root follows."""

    position: Position
    entries: Mapping[int, Signed]
    """The messages that close the step, by author."""
    certificate: tuple[Signed, ...]
    """The votes that decide the step: ABSENTs, then CLOSEs, each by author. Empty if no message is missing."""


class _Count(NamedTuple):
    """The conclusions from all votes."""

    round: int
    polkas: list[Polka]
    leading: Polka | None
    clean: VoteValue | None
    """The value of the current round's clean polka, if any; the smallest value if there are several. A polka is clean
    if it keeps its majority without convicted voters."""
    decided: tuple[VoteValue, tuple[Vote, ...]] | None


class Ballot:
    """The messages that one node holds after one root, and the conclusions from them.

    :param me: the node's roster index; None for a node without a vote.
    :param root: the position after the last final step.
    :param folding: the rules by which the history continues.
    """

    def __init__(self, me: int | None, root: Position, folding: Folding, convicted: Iterable[int] = ()) -> None:
        self.me = me
        self.root = root
        self.branches: Branches = Branches(root, folding)
        self._folding = folding
        self._convicted = set(convicted)
        self._judged_at: set[bytes] = set()
        self._votes: dict[tuple[int, int, bool], tuple[Vote, ...]] = {}
        """By (round, author, is_close)."""
        self._named: dict[bytes, set[int]] = {}
        """By tip or message id: the authors of the votes that name it."""
        self._count: _Count | None = None
        self._line: list[Position] | None = None

    # Taking messages

    def take(self, signed: Signed, *, is_kept: bool = False) -> Outcome:
        """Take a message whose signature is valid: a message of a step, or a vote on this root.

        If the message contradicts an earlier one, the caller must convict the author first.

        :param is_kept: whether this node signed or stored the message, which exempts it from the limits.
        :raises RejectedMessageError: if the message does not belong here; nothing changes.
        :raises MisconductError: if the message proves that its author broke a rule; nothing changes.
        """
        if signed.message.kind in VOTES:
            return self._take_vote(read_vote(signed), is_kept=is_kept)
        outcome = self.branches.take(signed, self._named, is_kept=is_kept)
        if outcome is Outcome.ADDED:
            self._count = self._line = None
        return outcome

    def _take_vote(self, vote: Vote, *, is_kept: bool) -> Outcome:
        root = self.root
        if vote.root_tip != root.tip or root.step == 0 or vote.author not in root.base or vote.author in root.left:
            return Outcome.FOREIGN
        slot = (vote.round, vote.author, vote.is_close)
        known = self._votes.get(slot, ())
        if any(vote[:-1] == each[:-1] for each in known):
            return Outcome.DUPLICATE
        if len(known) >= limits.IDS_PER_SLOT and not is_kept:
            others = (each.value for each in self.votes() if each.author != vote.author)
            values = [each.value for each in known]
            is_full = values.count(vote.value) >= limits.IDS_PER_SLOT or len(set(values)) >= limits.SUPPORTED_PER_SLOT
            if vote.value is None or vote.value not in others or is_full:
                return Outcome.SURPLUS
        is_late = vote.round < self.round - 1
        self._votes[slot] = (*known, vote)
        self._count = self._line = None
        if not is_kept:
            self._forget()
            if slot not in self._votes:
                return Outcome.SURPLUS
        self._named = {}
        for each in self.votes():
            if each.value is not None:
                entries = () if isinstance(each.value.entries, bytes) else each.value.entries
                for name in (each.value.tip, *entries):
                    self._named.setdefault(name, set()).add(each.author)
        return Outcome.LATE if is_late else Outcome.ADDED

    def grow(self) -> list[Signed]:
        """Close every step that has all its messages. Return messages that were kept for steps unknown until now; the
        caller takes them again."""
        found = list(self.branches.grow(self._named))
        self._count = self._line = None
        return found

    def convict(self, author: int, tip: bytes = b"") -> None:
        """Record that an author provably broke a rule.

        :param tip: the tip named by the message, if one message is the whole proof. That message counts as a signature
            for the steps before it, so that this node stays on the branch by which it is judged.
        """
        self._convicted.add(author)
        if tip:
            self._judged_at.add(tip)
        self._count = self._line = None

    def _forget(self) -> None:
        """For future rounds, keep only each author's latest votes of each kind, as CometBFT's HeightVoteSet does.
        Nothing depends on a vote before its round. Votes of past rounds stay: liars alone cannot end a round, so they
        cannot add many."""
        ahead = sorted(slot for slot in self._votes if slot[0] > self.round)
        for whose in {slot[1:] for slot in ahead}:
            for slot in [slot for slot in ahead if slot[1:] == whose][: -limits.VOTE_ROUNDS_LATER]:
                del self._votes[slot]

    # Conclusions

    @property
    def _counted(self) -> _Count:
        if self._count is None:
            self._count = self._derive()
        return self._count

    def _derive(self) -> _Count:
        if not self._votes:
            return _Count(0, [], None, None, None)
        votes, closers = [*self.votes()], dict[int, set[int]]()
        for vote in votes:
            if vote.is_close:
                closers.setdefault(vote.round, set()).add(vote.author)
        closed = (each + 1 for each, authors in closers.items() if len(authors) >= self.root.majority)
        current = max([0, *closed, *(vote.round for vote in votes if vote.author == self.me)])
        absents: dict[tuple[int, VoteValue], list[Vote]] = {}
        closes: dict[tuple[int, VoteValue], list[Vote]] = {}
        firsts: dict[VoteValue, dict[int, Vote]] = {}
        """By value, each author's first ABSENT."""
        for vote in votes:
            if vote.value is not None and vote.round <= current and self._leaving(vote.value) is not None:
                (closes if vote.is_close else absents).setdefault((vote.round, vote.value), []).append(vote)
                if not vote.is_close:
                    firsts.setdefault(vote.value, {}).setdefault(vote.author, vote)
        found: dict[tuple[int, VoteValue], Polka] = {}
        for (number, value), votes in sorted(absents.items(), key=lambda item: (item[0][0], item[0][1].order())):
            voters = {each.author for each in votes if each.polka_round < 0 or (each.polka_round, value) in found}
            if self._elect(value, voters, (vote.author for vote in firsts[value].values() if vote.round <= number)):
                found[number, value] = Polka(number, value, frozenset(voters))
        polkas = [*found.values()]
        leading = [polka for polka in polkas if self._is_clean(polka) or self._is_closed(closes, polka)]
        clean = [polka.value for polka in polkas if polka.round == current and self._is_clean(polka)]
        leader = min(leading, key=lambda polka: (-polka.round, polka.value.order()), default=None)
        decided = None
        for (number, value), votes in sorted(closes.items(), key=lambda item: (-item[0][0], item[0][1].order())):
            absent = {author: vote for author, vote in firsts.get(value, {}).items() if vote.round <= number}
            known = absent | {vote.author: vote for vote in votes}
            if elected := self._elect(value, {vote.author for vote in votes}, absent):
                decided = value, tuple(known[author] for author in elected)
                break
        return _Count(current, polkas, leader, min(clean, key=VoteValue.order, default=None), decided)

    def _leaving(self, value: VoteValue) -> set[int] | None:
        """Return the authors who leave if a value is decided. Return None if the value is malformed, or if its step or
        a message that it names is unknown."""
        position = self.branches.positions.get(value.tip)
        if position is None or position.step != value.step or position.step < FORMED or position.kind is None:
            return None
        entries = value.entries
        if position.kind is Kind.LOCK or isinstance(entries, bytes):
            return set() if position.kind is Kind.LOCK and entries == position.signed_hash else None
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
        """The current round: one more than the newest round that a majority has closed, but never less than a round in
        which this node has voted."""
        return self._counted.round

    @property
    def leading(self) -> Polka | None:
        """The leading polka, if any. While there is one, its value is this node's wish."""
        return self._counted.leading

    @property
    def line(self) -> list[Position]:
        """The history that this node follows: the positions from the root to the open step."""
        if self._line is None:
            voters: dict[bytes, set[int]] = {tip: {_JUDGE} for tip in self._judged_at}
            for vote in self.votes() if self._convicted else ():
                if vote.value is not None:
                    voters.setdefault(vote.value.tip, set()).add(vote.author)
            self._line = self.branches.line(self._convicted, voters)
        return self._line

    @property
    def held(self) -> dict[int, Signed]:
        """The messages with which the open step can close, by author."""
        position = self.line[-1]
        slots = self.branches.messages[position.tip]
        is_doubtful = position.kind is not Kind.LOCK and position.step >= FORMED
        return {author: slots[author][0] for author in sorted(slots) if not (is_doubtful and author in self._convicted)}

    @property
    def missing(self) -> tuple[int, ...]:
        """The authors who owe the open step a message and have sent none that can close it."""
        held = self.held
        return tuple(author for author in self.line[-1].owed if author not in held)

    @property
    def closed(self) -> Closed | None:
        """The step that is closed for good; None while the root stays the same."""
        decided = self._counted.decided if self._votes else None
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
        """Return whether the match can continue without these authors and without players who resign in the open
        step."""
        position, held = self.line[-1], self.held
        resigning = (author for author, signed in held.items() if signed.message.kind is Kind.RESIGN)
        return is_possible(position, {*authors, *resigning})

    # This node's actions

    @property
    def has_votes(self) -> bool:
        """Whether anybody has voted on this root."""
        return bool(self._votes)

    @property
    def has_voted(self) -> bool:
        """Whether this node has voted on this root."""
        return any(author == self.me for _, author, _ in self._votes)

    @property
    def has_resigned(self) -> bool:
        """Whether this node has signed a RESIGN after this root. From then on it neither signs nor votes."""
        return self.me is not None and any(signed.message.kind is Kind.RESIGN for signed in self.branches.own(self.me))

    @property
    def may_resign(self) -> bool:
        """Whether this node may sign a RESIGN in an ordinary step: only if it has not voted on this root."""
        return not self.has_voted

    @property
    def may_lock(self) -> bool:
        """Whether this node may sign the open LOCK: only if it has not voted, there is no leading polka, and it has
        signed no LOCK of another branch."""
        own = self.branches.own(self.me) if self.me is not None else ()
        is_bound = any(signed.message.kind is Kind.LOCK for signed in own)
        return not (is_bound or self.has_voted or self.leading is not None)

    @property
    def _may_vote(self) -> bool:
        position = self.line[-1]
        is_voter = self.me in self.root.base and self.me not in position.left and not self.has_resigned
        return is_voter and position.step >= FORMED

    def wish(self, over: Collection[int]) -> VoteValue | None:
        """Return the value with which this node would continue; None if it would wait, or may not vote.

        :param over: the missing authors for whom this node's patience is over.
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
            return VoteValue(position.step, position.tip, position.signed_hash) if is_possible(position, ()) else None
        held = self.held
        entries = tuple(held[author].id if author in held else b"" for author in position.owed)
        is_enough = is_possible(position, leavers(position, held))
        return VoteValue(position.step, position.tip, entries) if is_enough else None

    def absent_vote(self, over: Collection[int]) -> Vote | None:
        """Return the ABSENT that this node should sign now, after sending its :meth:`grounds`; None if there is none.

        :param over: the missing authors for whom this node's patience is over.
        """
        number, leading = self.round, self.leading
        has_voted = (number, self.me, False) in self._votes or self._has_closed(number)
        if self.me is None or has_voted or (leading is not None and leading.round >= number):
            return None
        value = self.wish(over)
        polka_round = leading.round if leading is not None else -1
        return None if value is None else Vote(self.root.tip, self.me, False, number, value, polka_round)

    @property
    def close_vote(self) -> Vote | None:
        """The CLOSE for a value that this node should sign half a second after sending its :meth:`grounds`, if it is
        still proposed then; None if there is none."""
        value = self._counted.clean
        if self.me is None or value is None or not self._may_vote or self._has_closed(self.round):
            return None
        return Vote(self.root.tip, self.me, True, self.round, value)

    @property
    def nil_vote(self) -> Vote | None:
        """The CLOSE without a value that this node should sign when a voting round's time has passed, if it is still
        proposed then; None if there is none."""
        number, leading = self.round, self.leading
        is_in = (number, self.me, False) in self._votes or (leading is not None and leading.round == number)
        if self.me is None or not is_in or self._counted.clean is not None:
            return None
        if not self._may_vote or self._has_closed(number):
            return None
        return Vote(self.root.tip, self.me, True, number, None)

    def grounds(self, vote: Vote) -> list[Signed]:
        """Return the messages that justify a vote. The node stores and sends them before it signs the vote."""
        shown: list[Signed] = []
        if vote.value is not None:
            path = self.branches.path(vote.value.tip)
            for after in path[1:]:
                shown += self.branches.between(after)
            if not isinstance(vote.value.entries, bytes):
                named = self.branches.closing(path[-1], vote.value.entries)
                shown += (named or {}).values()
        number = vote.round if vote.is_close else vote.polka_round
        votes = [*self.votes()]
        if not vote.is_close:
            shown += (each.signed for each in votes if each.is_close and each.round == vote.round - 1)
        absents = (each for each in votes if not each.is_close and each.round <= number)
        return [*shown, *(each.signed for each in absents if each.value == vote.value)]

    def _has_closed(self, number: int) -> bool:
        return (number, self.me, True) in self._votes

    # For other nodes

    def votes(self) -> Iterator[Vote]:
        """Yield all kept votes: by round, CLOSEs before ABSENTs, so that each vote comes after its grounds."""
        for slot in sorted(self._votes, key=lambda slot: (slot[0], not slot[2], slot[1])):
            yield from self._votes[slot]

    def counting(self) -> Iterator[Vote]:
        """Yield the votes that two nodes should share: of the current and previous rounds, and of the leading polka."""
        number, leading = self.round, self.leading
        for vote in self.votes():
            is_of_leading = leading is not None and (vote.round, vote.value) == leading[:2]
            if vote.round in (number - 1, number) or is_of_leading:
                yield vote

    def by(self, author: int) -> Iterator[Signed]:
        """Yield the kept votes of one author."""
        yield from (vote.signed for vote in self.votes() if vote.author == author)
