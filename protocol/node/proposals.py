"""The proposals of one table in which this node may have to play, until one of them is formed.

A host withdraws a proposal before making another. But a player who has signed one cannot know which messages the
others have seen. So a proposal stays alive until it is called off, some time after one of its players has resigned. A
node takes part in all live proposals, and plays the first that is formed. COMMIT of the first roll binds it: it signs
that in one proposal at a time.
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
        return next((each for each in self.sessions if each.match.id == match), None)

    @property
    def is_full(self) -> bool:
        """There is no room for another proposal: the oldest one binds this node."""
        return len(self.sessions) >= PROPOSALS and self.sessions[0].match.is_bound

    def make_room(self) -> None:
        """Let another proposal be added: if there are too many, the oldest is forgotten."""
        while len(self.sessions) >= PROPOSALS:
            oldest, *others = self.sessions
            self.sessions = tuple(others)
            oldest.forget(others)

    def add(self, playing: PlayerSession) -> None:
        """Take part in a proposal."""
        playing.match.may_commit = partial(self._may_commit, playing)
        self.sessions = (*self.sessions, playing)

    def _may_commit(self, playing: PlayerSession) -> bool:
        if not playing.has_purse:
            return False
        return not any(other.match.is_bound or other.match.is_formed for other in self.sessions if other is not playing)

    def called_off(self, playing: PlayerSession) -> None:
        """Note that a proposal is dead: now another may bind this node."""
        for other in self.sessions:
            if other is not playing:
                other.feed(Ticked())

    def withdraw(self, but: PlayerSession | None = None) -> None:
        """Resign from all proposals that are not formed."""
        for each in self.sessions:
            if each is not but and not each.match.is_formed:
                each.feed(Withdrawn())

    def close(self, but: PlayerSession | None = None) -> None:
        """Take part in nothing any more."""
        for each in self.sessions:
            if each is not but:
                each.close()
        self.sessions = ()
