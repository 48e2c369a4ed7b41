"""The absence rule: how the players who are there agree to go on without those who are not.

This module says which votes a node casts. :mod:`~protocol.consensus.electorate` says who may vote on a step, and how
many votes decide; :mod:`~protocol.consensus.ballot` counts the votes on one step; :mod:`~protocol.consensus.tally`
compares the steps. SPEC.md, §6 has the whole rule.

Theory of operation
-------------------
Every step since the last complete LOCK can have a :class:`~protocol.consensus.ballot.Ballot`. The first player whose
patience is over opens it. It counts two kinds of votes of the *base*, in rounds 0, 1, 2 … In the base are the players
who owed that LOCK or the previous one, and the witnesses whose signatures the previous one carried. Players who had
left by then are not in it.

ABSENT(n, entries, newest)
    The step should be closed with these entries: for each author who owes a message its id, empty for the absent.
    Each voter casts one per round. ``newest`` is the latest round in which a majority voted the same, and then the
    entries are that majority's; -1 if there is no such round.
CLOSE(n, entries)
    The voter is in round n and has seen a majority of identical ABSENTs of that round. It will not vote against these
    entries without a newer majority. Proven cheats do not count in this majority. The caller sends a CLOSE no sooner
    than :data:`~protocol.limits.RELAY` seconds after it has shown these ABSENTs to everybody.

A majority of identical CLOSEs of one round *decides* the step, also for nodes that had closed it otherwise. This is
single-decree consensus as in Paxos (an ABSENT majority is a prepared value, a CLOSE majority a chosen one; Lamport,
"Paxos Made Simple", 2001). It is rarely needed: a node that has not voted closes a step as soon as every message is
there, without any vote.

These rules tie the two ways of closing a step together:

- A node that has voted on a step closes it only by a decision. But a complete LOCK is final, whatever was voted.
- A node that closed a step votes for it as it was closed. Two things can release it: a majority of ABSENTs for
  other entries, or a proof that an author broke the rules. Such an author's message is then the one that most players
  named in their first ABSENTs on the step; if no message leads, the author counts as absent. Everybody hears of the
  proof, and then votes like that.
- Rounds are counted over all steps that can still change. In each round a node votes on one step only, and sends at
  most one CLOSE. The latest majority leads: the steps before its step stand as they were closed on the way there, also
  for nodes that had closed them otherwise or voted against them. A later majority for an earlier step reopens that
  step.
- A decision ends its round at once. The next round is for the first step that is open or in doubt. A vote that
  agrees with how a step was closed casts no doubt on it. A vote that disagrees may bind its author, who then cannot go
  on without the others. In odd rounds, and for a first vote, it counts only if its author objects to no other step, and
  nobody has come there in vain. So a liar who objects to many steps holds the others up for one decision, not for one
  each.
- When a node votes against a step that it closed, the step is *reopened*. The node signs nothing after that step until
  it is decided.
- A majority is more than half of the base, and the base stays as it is until the next LOCK is complete: a base that
  shrinks with each departure would let two small halves both be right. Only members of the base who have not left
  before a step vote on it. Otherwise those who left could, with a few others, decide against a majority of those who
  went on.
- Nobody votes for entries that would leave no majority of the base.
- A round that a majority has not reached does not end. Otherwise a lone node would run ahead for as long as it is
  alone, and two nodes whose timers end together would follow each other for ever, one round apart.

Only a liar can cause two majorities in one round. Then every node that knows both chooses the same one, a decision
first. While votes are on their way, a liar could tell two players different votes and so make them decide differently.
This is why a CLOSE waits: among connected nodes, one gets to know both votes, and shows them before anybody closes the
step.

The rule has these limits:

- Honest players who are cut off from each other, and hear the same liar, can come to two complete LOCKs. At a table of
  three, one liar is enough. The histories of the two sides part in some step. If both sides voted somebody absent in
  that step, then among the messages and votes of both sides there were always two by the liar that contradict each
  other. The CLOSEs alone may not, if the two sides decided in different rounds: the proof takes the ABSENTs, too. If
  one side voted nobody absent in that step, it may never have voted there, and then no messages contradict each other.
- A message does not save its author from being voted absent just because a connected player held it before a majority
  had voted. Liars, and players who do not hear the connected ones, may still vote as those before them did. So the
  message must be there while those who have voted, the liars and those players together are no more than half of the
  base.
- A liar can keep votes going, a round at a time, for as long as nothing is proven.

A caller that votes at once on a step where others than cheats are missing can evict players who are only slow.

These modules know no clock and no game: the caller says which rounds have lasted long enough.
tests/simulation/small_worlds.py explores the rule exhaustively for small worlds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from enum import IntEnum
from functools import cache, partial

from protocol import limits
from protocol.consensus import electorate
from protocol.consensus.ballot import Ballot
from protocol.consensus.electorate import Entries, Place
from protocol.consensus.tally import HistoryView, Tally
from protocol.consensus.votes import Vote


class _Heed(IntEnum):
    """Which votes of others cast doubt on a closed step: each of these includes those before it."""

    SINGLE_OBJECTIONS = 0
    """Votes against it, if their author objects to no other step."""
    OBJECTIONS = 1
    """Votes against it."""
    VOTES = 2
    """Every vote on it, also one for what it was closed with."""


class Absence(Tally):
    """The votes that one node casts, and those that it knows."""

    def due(self, history: HistoryView, expired: Collection[bytes], lingering: Collection[bytes]) -> list[Vote]:
        """Return the votes that this node must sign now. They are not counted before they are taken.

        :param expired: tips of the steps on which this node's patience is over. The step on which it voted last is
            among them if that round has lasted long enough.
        :param lingering: tips of the steps on which this node does not follow others into a later round yet: all steps
            of the tail if it came into its round less than half a patience ago.
        """
        if self.me is None:
            return []
        return self._absents_due(self.me, history, expired, lingering) or self._closes_due(self.me, history)

    # The step to vote on

    def contested(self, history: HistoryView, expired: Collection[bytes] = ()) -> Place | None:
        """Return the step to vote on in the next round: the first one that is open or in doubt, not before the step of
        the latest majority; None if there is none.

        A vote that agrees with how a step was closed casts no doubt on it. A vote that disagrees, an *objection*, may
        bind its author, who then needs the others to come back. In even rounds all objections count. In odd rounds, and
        for a first vote, an objection counts only if its author objects to no other step, and nobody has come there in
        vain. So a liar holds the others up once.

        This node may find no majority for the step that it comes to. Then it goes wherever anybody votes: otherwise it
        could not help a player who is bound, or who waits for a majority to reach their round. For the same reason, if
        there is no such step at all, it follows others into a later round on an undecided step that it has voted on.
        """
        is_next_even = self.round >= 0 and self.round % 2 == 1
        place = self._first_in_doubt(history, expired, _Heed.OBJECTIONS if is_next_even else _Heed.SINGLE_OBJECTIONS)
        if place is not None:
            ballot = self.ballots.get(place.tip) or Ballot(place)
            best = ballot.best()
            if not electorate.leaves_majority(place, best[0].entries if best else self._own_entries(ballot, history)):
                return self._first_in_doubt(history, expired, _Heed.VOTES)
        return self._left_behind(history) if place is None else place

    def _left_behind(self, history: HistoryView) -> Place | None:
        """Return the first undecided step on which this node has voted, and somebody votes in a later round."""
        unheeded = {self.me, *history.culprits()}
        for place, ballot in self.unsettled(history):
            if ballot.round >= 0 and not ballot.decided:
                last_counted = self.last_counted(history, place.majority)
                voters = {author for author, number in ballot.rounds() if self.round < number <= last_counted}
                if voters.intersection(place.staying) - unheeded:
                    return place
        return None

    def _first_in_doubt(self, history: HistoryView, expired: Collection[bytes], heed: _Heed) -> Place | None:
        culprits = history.culprits()
        last_counted = cache(partial(self.last_counted, history))
        objectors = {
            place.tip: self._objectors(place, history, last_counted).difference(culprits) for place in history.tail()
        }
        objections = Counter(author for each in objectors.values() for author in each)
        for place, ballot in self.unsettled(history):
            if ballot.decided:
                continue
            closed, best = history.closed(place.step), ballot.best()
            if closed is None or (place.tip in expired and not self.has_voted(place.tip)):
                return place
            # A node that has not closed a cheat's step closes it only by a decision.
            is_cheats = not culprits.isdisjoint(place.owed)
            is_heeding_all = heed is _Heed.VOTES or is_cheats
            last = last_counted(ballot.place.majority)
            voters = self._counted_voters(ballot, last) if is_heeding_all else objectors[place.tip]
            heeded = voters.difference(culprits)
            if heed is _Heed.SINGLE_OBJECTIONS:
                came = {author for author, number in ballot.rounds() if number <= self.round}
                # Histories part at a cheat's step on which votes differ: nobody can go on before that is settled.
                is_split = is_cheats and objectors[place.tip]
                is_in_vain = not is_split and not came <= objectors[place.tip] | culprits
                is_single = is_heeding_all or any(objections[author] == 1 for author in heeded)
                heeded = heeded if is_single and not is_in_vain else set()
            if self.me in objectors[place.tip] or heeded or (best and best[0].entries != closed):
                return place
        return None

    def _objectors(self, place: Place, history: HistoryView, last_counted: Callable[[int], int]) -> set[int]:
        """Return the authors who have voted against how a step was closed.

        :param last_counted: gives the last round that counts, for the size of a majority.
        """
        ballot, closed = self.ballots.get(place.tip), history.closed(place.step)
        if ballot is None or closed is None:
            return set()
        return self._counted_voters(ballot, last_counted(ballot.place.majority), closed)

    # The rounds that count

    def last_counted(self, history: HistoryView, majority: int) -> int:
        """Return the last round that counts: nobody follows votes that are further ahead, so they hold up nobody."""
        return max(self.round + limits.VOTE_ROUNDS_AHEAD, self.target(history, self.round, majority)[0])

    def _counted_voters(self, ballot: Ballot, last: int, closed: Entries | None = None) -> set[int]:
        """Return the authors who have voted on a step in a round up to ``last``; with ``closed``, only those who have
        voted for other entries than these."""
        return {
            author
            for author in ballot.place.staying
            if any(vote.round <= last and vote.entries != closed for vote in ballot.by(author))
        }

    def target(self, history: HistoryView, number: int, majority: int) -> tuple[int, bool]:
        """Return the round in which the others are, as far as this node believes them, and whether this node may leave
        round ``number`` for the next. It may if a majority has reached that round; before that, the round has
        not failed.

        Votes on any step count, also on steps that this node does not know. Otherwise two nodes on different histories
        would wait for each other for ever. The rounds of proven cheats do not count, as their votes decide nothing.
        """
        unheeded = {self.me, *history.culprits()}
        here = (vote for ballot in self.ballots.values() for vote in ballot.rounds())
        votes = [vote for vote in (*here, *history.elsewhere()) if vote[0] not in unheeded]
        latest_near = max((each for _, each in votes if each <= number + limits.VOTE_ROUNDS_AHEAD), default=-1)
        rounds: dict[int, int] = {}
        for author, each in votes:
            rounds[author] = max(each, rounds.get(author, -1))
        latest_first = sorted(rounds.values(), reverse=True)
        of_majority = latest_first[majority - 2] if len(latest_first) >= majority - 1 > 0 else -1
        return max(latest_near, of_majority), 1 + sum(each >= number for each in latest_first) >= majority

    # The votes

    def _absents_due(
        self, me: int, history: HistoryView, expired: Collection[bytes], lingering: Collection[bytes]
    ) -> list[Vote]:
        place = self.contested(history, expired)
        if place is None or me not in place.staying:
            return []
        ballot = self.ballots.get(place.tip) or Ballot(place)
        number = self._next_round(place, ballot, history, expired, lingering)
        newest = max((each for each in ballot.majorities if each < number), default=-1)
        entries = ballot.majorities[newest][0].entries if newest >= 0 else self._own_entries(ballot, history)
        is_due = number > self.round and electorate.leaves_majority(place, entries)
        return [Vote(place.tip, me, False, number, entries, newest)] if is_due else []

    def _next_round(
        self,
        place: Place,
        ballot: Ballot,
        history: HistoryView,
        expired: Collection[bytes],
        lingering: Collection[bytes],
    ) -> int:
        """Return the round in which this node votes next, on the step of ``place``, or its latest round if it does not
        vote now."""
        number = self.round
        target, may_advance = self.target(history, number, place.majority)
        current = self.current(history)
        is_over = current is None or current.tip in expired
        is_waiting = history.closed(place.step) is None and ballot.round < 0
        if is_over and (place.tip in expired or (number >= 0 and not is_waiting)):
            number = max(number + 1 if number < 0 or may_advance else number, target)
        elif target > number and not is_waiting and (number < 0 or place.tip not in lingering):
            number = target
        if self.round >= 0 and number > self.round and (number - self.round) % 2 == 0:
            # Nobody else chooses for this node which of its rounds are even. It stays one round behind: if it went one
            # beyond, three players could follow each other for ever and never meet.
            number -= 1
        return number

    def _closes_due(self, me: int, history: HistoryView) -> list[Vote]:
        number = self.round
        closes = (ballot.own_close(me) for ballot in self.ballots.values())
        if any(own is not None and own.round >= number for own in closes):
            return []
        for place, ballot in self.unsettled(history):
            if ballot.decided:
                continue
            if (majority := ballot.majorities.get(number)) and me in place.staying:
                entries = majority[0].entries
                # Proven cheats may have shown other votes to others: their votes must not make the difference. A cheat
                # who would be alone in the game is asked nevertheless, as nobody else could be.
                culprits = history.culprits()
                honest = ballot.supporters(number, entries).difference(culprits)
                backers = set(ballot.backers(entries))
                if not culprits >= set(place.live) - place.leavers(entries):
                    backers -= culprits
                is_elected = electorate.elect(place, entries, honest, backers, culprits)
                return [Vote(place.tip, me, True, number, entries)] if is_elected else []
            if self.is_against(ballot, history.closed(place.step)):
                break
        return []

    # What this node would close a step with

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

        So a step on which somebody has gone on stands, whatever its author shows later. The cheat is absent if two ids
        tie, or if the players who have voted named none. If no player has voted, the id is the one that this
        node closed the step with, and the cheat is absent from an open step.

        :param said: the id that each player named for the cheat, empty for absence.
        :param closed: the id that this node closed the step with; None if the step is open.
        """
        counts = Counter(entry for entry in said if entry).most_common(2)
        if not counts:
            return b"" if said or closed is None else closed
        return counts[0][0] if len(counts) == 1 or counts[0][1] > counts[1][1] else b""
