"""The proposals of one table in which this node may have to play, until one of them is formed.

A convenor who proposes anew withdraws the proposal before. But whoever has signed one cannot know what others were
shown: a proposal stays alive until it is called off, some time after somebody in it has resigned. So a node takes part
in all that are alive, and the first that is formed is played. It signs COMMIT of the first roll, which binds it, in one
at a time.
"""

from __future__ import annotations

from functools import partial

from protocol.limits import PROPOSALS
from protocol.match.effects import Ticked, Withdrawn
from protocol.node.player_session import PlayerSession


class Proposals:
    """See the module."""

    def __init__(self) -> None:
        self.sessions: tuple[PlayerSession, ...] = ()

    def find(self, match: bytes) -> PlayerSession | None:
        """Return the proposal with this id."""
        return next((each for each in self.sessions if each.match.record.match == match), None)

    @property
    def is_full(self) -> bool:
        """There is no room for a further proposal, as this node is bound by the oldest of many."""
        return len(self.sessions) >= PROPOSALS and self.sessions[0].match.is_bound

    def add(self, playing: PlayerSession) -> None:
        """Take part in a proposal. Of too many the oldest is forgotten, as it is in the store."""
        for each in self.sessions[: max(0, len(self.sessions) + 1 - PROPOSALS)]:
            each.close()
            self.sessions = self.sessions[1:]
        playing.match.may_commit = partial(self._may_commit, playing)
        self.sessions = (*self.sessions, playing)

    def _may_commit(self, playing: PlayerSession) -> bool:
        return not any(other.match.is_bound or other.match.is_formed for other in self.sessions if other is not playing)

    def called_off(self, playing: PlayerSession) -> None:
        """Note that a proposal is dead: this node may be bound by another now."""
        for other in self.sessions:
            if other is not playing:
                other.feed(Ticked())

    def withdraw(self, but: PlayerSession | None = None) -> None:
        """Resign from all proposals, as far as they can still be left."""
        for each in self.sessions:
            if each is not but and not each.match.is_formed:
                each.feed(Withdrawn())

    def close(self, but: PlayerSession | None = None) -> None:
        """Take part in nothing any more."""
        for each in self.sessions:
            if each is not but:
                each.close()
        self.sessions = ()
