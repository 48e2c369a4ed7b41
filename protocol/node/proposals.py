"""The proposed matches in which this node takes part, as a guest or as the host, and what binds it.

COMMIT of the first roll binds its author: the match may be formed from then on. So a node signs it in one proposal at a
time, and waits until it has all COMMITs, or the host's RESIGN, or :data:`~protocol.limits.BOUND` seconds have passed.
After :data:`~protocol.limits.ASK_OTHERS` it asks the other players. A proposal that was given up is kept: it may have
been formed without the knowledge of this node, which then signs what the others need, and resigns. Before COMMIT a
proposal is nothing that has to be kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from protocol import limits
from protocol.consensus.kinds import parse_signed
from protocol.match.effects import Withdrawn
from protocol.node.player_session import PlayerSession
from protocol.node.runtime import Runtime
from protocol.wire.messages import MalformedMessageError


class Proposals:
    """See the module.

    :param formed: told of a match that this node plays from now on.
    :param withdrawn: told that the last proposal is not played, so that there may be another one.
    :param gave_up: told that it took too long.
    """

    def __init__(
        self,
        runtime: Runtime,
        formed: Callable[[PlayerSession], None],
        withdrawn: Callable[[], None],
        gave_up: Callable[[], None],
    ) -> None:
        self._runtime = runtime
        self._tell_formed = formed
        self._tell_withdrawn = withdrawn
        self._tell_gave_up = gave_up
        self.sessions: tuple[PlayerSession, ...] = ()

    def find(self, match: bytes) -> PlayerSession | None:
        """Return the proposal with this id."""
        return next((each for each in self.sessions if each.match.id == match), None)

    def signed_by(self, identity: bytes, signed: tuple[bytes, bytes]) -> PlayerSession | None:
        """Return the proposal to which a message belongs that somebody brings; None if it is to none, or no message."""
        try:
            session = self.find(parse_signed(*signed).message.match)
        except MalformedMessageError:
            return None
        return session if session is not None and identity in session.authors else None

    @property
    def is_bound(self) -> bool:
        """This node may have to play one of them."""
        return any(each.match.is_bound for each in self.sessions)

    @property
    def is_alive(self) -> bool:
        """A match is proposed, and neither formed nor withdrawn."""
        return any(not (each.match.is_called_off or each.match.is_formed) for each in self.sessions)

    def committed_with(self, match_key: bytes) -> int:
        """Return in how many proposals this node has signed COMMIT with one key."""
        return sum(each.match.has_committed and each.match_key == match_key for each in self.sessions)

    def add(self, playing: PlayerSession) -> None:
        """Take part in a proposal, in place of one without this node's COMMIT. Only the newest given up are kept."""
        for each in self.sessions:
            if not each.match.has_committed:
                self._drop(each)
        for each in [each for each in self.sessions if each.is_given_up][: -limits.PROPOSALS]:
            self._drop(each)
            self._runtime.store.forget(each.match.id)
        playing.match.may_commit = partial(self._may_commit, playing)
        playing.proposals = self
        self.sessions = (*self.sessions, playing)

    def _may_commit(self, playing: PlayerSession) -> bool:
        others = (each for each in self.sessions if each is not playing and not each.is_given_up)
        return playing.has_purses_in_order and not any(each.match.is_bound or each.match.is_formed for each in others)

    def _drop(self, playing: PlayerSession) -> None:
        playing.close()
        self.sessions = tuple(each for each in self.sessions if each is not playing)
        self._stop_dialling(playing)

    def _stop_dialling(self, playing: PlayerSession) -> None:
        wanted = {identity for each in self.sessions if each is not playing for identity in each.dialled}
        for identity in playing.dialled - wanted:
            self._runtime.mesh.stop_dialling(identity)
        playing.dialled = frozenset()

    # What a proposal tells

    def bound(self, playing: PlayerSession) -> None:
        """This node has signed COMMIT, or is back and had signed it."""
        self._runtime.loop.call_later(limits.ASK_OTHERS, self._ask, playing)
        self._runtime.loop.call_later(limits.BOUND, self._give_up, playing)

    def _ask(self, playing: PlayerSession) -> None:
        if playing.match.is_bound and playing in self.sessions:
            playing.keep_links()

    def _give_up(self, playing: PlayerSession) -> None:
        if playing.match.is_bound and playing in self.sessions and not self._runtime.is_silent:
            playing.feed(Withdrawn())
            self._tell_gave_up()

    def called_off(self, playing: PlayerSession) -> None:
        """This node does not play the match, even if it is formed."""
        self._stop_dialling(playing)
        if not self.is_bound:
            self._tell_withdrawn()

    def formed(self, playing: PlayerSession) -> None:
        """The match is formed: its players are to learn of it, for a while also from a node that has given it up."""
        playing.keep_links()
        if playing.is_given_up:
            self._runtime.loop.call_later(limits.BOUND, self._stop_dialling, playing)
        else:
            self._tell_formed(playing)

    # Leaving

    def turn_away(self, played: PlayerSession | None) -> None:
        """Give up whatever binds this node, as its owner turns to another table.

        :param played: is none of the proposals any more.
        """
        if played is not None:
            self.sessions = tuple(each for each in self.sessions if each is not played)
            self._stop_dialling(played)
        for each in self.sessions:
            if each.match.is_bound:
                each.feed(Withdrawn())
            elif not each.match.has_committed:
                self._drop(each)

    def close(self) -> None:
        """Take part in nothing any more."""
        for each in self.sessions:
            each.close()
