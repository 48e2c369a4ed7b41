"""Mistakes in the absence rule that the explorer must see: one for each tie of the rule."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from protocol.absence import Absence, Ballot, Entries, History, Place, Vote


class ReopenedSigns(Absence):
    """Who votes against a step that they had closed signs the next one all the same."""

    def is_reopened(self, history: History) -> bool:
        return False


class VotersCloseByThemselves(Absence):
    """Who has voted in a step closes it without a decision when the messages arrive after all."""

    def has_voted(self, tip: bytes) -> bool:
        return False


class NothingBinds(Absence):
    """A majority of an earlier round binds nobody."""

    def due(self, history: History, expired: Collection[bytes], settling: Collection[bytes]) -> list[Vote]:
        votes = super().due(history, expired, settling)
        return [
            vote
            if vote.is_close
            else vote._replace(
                entries=self._own_entries(self.ballots.get(vote.tip) or Ballot(place), history), newest=-1
            )
            for vote in votes
            for place in history.tail()
            if place.tip == vote.tip
        ]


class LaterMajoritiesDoNotSettle(Absence):
    """A majority for what follows a step does not keep anybody from voting against that step."""

    def _is_settled(self, place: Place, later: Sequence[Place]) -> bool:
        return False


class ClosersForget(Absence):
    """Who closed a step votes for what they would close it with now, without the messages of those who are silent."""

    def _own_entries(self, ballot: Ballot, history: History) -> Entries:
        closed = history.closed(ballot.place.step)
        return super()._own_entries(ballot, history) if closed is None else (*closed[:-1], b"")


class EverySeatAlone(Absence):
    """Rounds begin although a majority has not reached the one before, and nobody follows."""

    def target(self, me: int, number: int, majority: int) -> tuple[int, bool]:
        return -1, True
