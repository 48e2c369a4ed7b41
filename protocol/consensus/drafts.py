"""The histories that peers show, each folded beside a node's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from protocol.consensus.ballot import Ballot
from protocol.consensus.errors import MisconductError, RejectedMessageError
from protocol.consensus.history import History
from protocol.consensus.proofs import contradiction
from protocol.consensus.tally import Tally
from protocol.consensus.votes import ContradictionError
from protocol.wire.messages import VOTES, Message, Signed


class Draft:
    """The history of a peer, as far as the peer has shown it, and all votes on its open step."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._ballot = self._open()
        self._shown = Tally(None)
        """The votes that the peer has shown on any step of this history."""

    def _open(self) -> Ballot:
        place = self.history.place(self.history.position.step)
        ballot = Ballot(place)
        ballot.convict(place.live)  # like a reader of a transcript: half of those who stay are enough
        return ballot

    def fold(self, messages: Iterable[Signed]) -> list[MisconductError]:
        """Take all messages that belong here; return the contradictions among them."""
        found = []
        for signed in messages:
            if signed.message.step >= self.history.position.step:
                try:
                    self._add(signed)
                except RejectedMessageError:
                    continue
                except MisconductError as error:
                    if len(error.evidence) > 1:  # one message alone may prove nothing on the node's own history
                        found.append(error)
        return found

    def count(self, votes: Iterable[Signed]) -> None:
        """Count votes that the peer has shown, a page of them after the other: a majority need not fit into one."""
        for signed in votes:
            with suppress(RejectedMessageError, ContradictionError):
                vote = self.history.check_vote(signed)
                self._shown.take(vote, self.history.place(signed.message.step))

    def votes(self) -> Iterator[Signed]:
        """Yield the votes that were counted, as far as a ballot keeps them."""
        for ballot in self._shown.ballots.values():
            yield from (vote.source for vote in ballot.votes())

    def _add(self, signed: Signed) -> None:
        """Take a message, or count a vote on the open step. Close that step when it is complete or decided."""
        history, message = self.history, signed.message
        try:
            if message.kind not in VOTES:
                history.add(signed)
            elif message.tip == history.position.tip:
                self._ballot.take(history.check_vote(signed))
        except ContradictionError as error:
            both = error.first.source, error.second.source
            raise MisconductError(message.author, message.step, contradiction(*both), both) from None
        finally:
            if self._ballot.decided:
                with suppress(RejectedMessageError):  # a message that belongs to the decision is not here yet
                    history.close_without([vote.source for vote in self._ballot.decided])
            if self._ballot.place.tip != history.position.tip:
                self._ballot = self._open()

    def said(self, message: Message) -> list[Signed]:
        """Return all messages and votes that are kept of the author of ``message`` in its step."""
        votes = self._ballot.by(message.author) if message.tip == self._ballot.place.tip else ()
        return self.history.said(message) + [vote.source for vote in votes]

    def leads(self, own: History, ballots: Iterable[Ballot]) -> bool:
        """Tell whether a majority is on a step of this history that is not in a node's own, and all later majorities
        agree with this history.

        :param own: the node's own history.
        :param ballots: the node's ballots on its own tail.
        """
        tally = Tally(None)
        tally.ballots.update(
            (tip, ballot) for tip, ballot in self._shown.ballots.items() if not own.goes_through(ballot.place)
        )
        if not tally.ballots:
            return False
        tally.ballots.update((ballot.place.tip, ballot) for ballot in ballots)
        for ballot in tally.leaders():
            place = ballot.place
            if not self.history.goes_through(place):
                return False
            if not own.goes_through(place):
                return True
            if self.history.closed(place.step) != ballot.best()[0].entries:
                return False
        return False
