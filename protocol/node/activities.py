"""The tables and matches of a node, and the one that a link or a frame concerns.

A node hosts a table, sits at one, plays or watches. It may also serve the match before, for others who lack its end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from protocol.crypto.keys import Identity, fingerprint
from protocol.crypto.tls import Credentials
from protocol.errors import ErrorCode, NodeError, RefuseCode
from protocol.limits import Limits
from protocol.match.lobby import NO_TABLE
from protocol.net.addresses import Address
from protocol.net.mesh import Mesh
from protocol.node.door import Door
from protocol.node.guest import Guest
from protocol.node.host import Host
from protocol.node.locator import Locator
from protocol.node.player_session import PlayerSession
from protocol.node.proposals import Proposals
from protocol.node.refusals import LEFT
from protocol.node.returning import WayBack
from protocol.node.runtime import Runtime
from protocol.node.spectator_session import SpectatorSession
from protocol.node.spectators import Spectators
from protocol.node.talking import Floor, Talking
from protocol.storage.home import Home
from protocol.storage.store import Store
from protocol.wire.frames import (
    Aim,
    Carried,
    CodeAim,
    CodeElement,
    CodeProof,
    Cut,
    Frame,
    Have,
    Hello,
    JoinTable,
    Leave,
    MatchAim,
    Need,
    Page,
    Propose,
    Refuse,
    Say,
    Seat,
    ShowLedger,
    Table,
    TableAim,
    WatchAim,
)
from protocol.wire.genesis import Genesis, JoinRecord

log = logging.getLogger(__name__)


class Activities:
    """The tables and matches of one node, and the owner of its links.

    :param sign_on: makes a join record for the table with this id, with a purse or without.
    :param begin: takes part in a proposed match.
    :param formed: plays a match that is formed.
    """

    def __init__(
        self,
        home: Home,
        identity: Identity,
        own: Credentials,
        store: Store,
        locator: Locator,
        bounds: Limits,
        sign_on: Callable[[bytes, bool], JoinRecord],
        begin: Callable[[bytes, Genesis], PlayerSession],
        formed: Callable[[PlayerSession], None],
    ) -> None:
        self.mesh = Mesh(own, self, bounds)
        self.runtime = Runtime(home, identity, store, self.mesh, locator, bounds)
        self.audience = Spectators(self.runtime)
        self.talking = Talking(self.runtime)
        self.door = Door(self.runtime)
        self._sign_on = sign_on
        self._begin = begin
        self.hosting: Host | None = None
        self.proposals = Proposals(
            self.runtime, formed, lambda: self.joining.withdrawn(), lambda: self.joining.gave_up()
        )
        self.joining = Guest(self.runtime, sign_on, begin, self.proposals, self.door)
        self.playing: PlayerSession | None = None
        self.former: PlayerSession | None = None
        """The match before. It is over for the owner, but still served to players who lack its end."""
        self.watching: SpectatorSession | None = None
        self.way_back: WayBack | None = None
        """To the table of the last match that this node played as a guest, or watched."""

    @property
    def sessions(self) -> tuple[PlayerSession, ...]:
        """The match that this node plays, or all that may become it, and the one before."""
        sessions = [*self.proposals.sessions]
        sessions += [each for each in (self.playing, self.former) if each is not None and each not in sessions]
        return tuple(each for each in sessions if not each.is_claimed)

    @property
    def formed(self) -> PlayerSession | None:
        """The match that this node plays, if it is formed."""
        playing = self.playing
        if playing is None or playing.is_given_up or playing.is_claimed:
            return None
        return playing if playing.match.is_formed else None

    def floors(self) -> tuple[Floor, ...]:
        """Return where words are said and heard."""
        if self.watching is not None:
            return self.watching.floors()
        activities = (self.hosting, self.joining, self.playing, self.former)
        floors = (each.floor() for each in activities if each is not None)
        return tuple(floor for floor in floors if floor is not None)

    def leave_behind(self) -> None:
        """Make room for another table: what is over is over for the owner.

        :raises NodeError: if a match goes on here, or a table is open.
        """
        playing, watching = self.playing, self.watching
        if self.hosting is not None and not self.hosting.has_begun:
            raise NodeError(ErrorCode.FAILED, "your table is already open")
        if self.formed is not None and not self.formed.is_over:
            raise NodeError(ErrorCode.FAILED, "the match is not over yet", "play it to its end first")
        if watching is not None:
            self.way_back = watching.way_back() or self.way_back
            watching.leave()
        elif playing is not None and playing.is_over and not playing.is_given_up:
            if self.hosting is None:
                self.way_back = playing.way_back(self.joining.host, self.joining.token)
            if self.former is not None:
                self.former.close()
            self.former = playing
            playing.retire()
        self.joining.leave()  # while it is known whether the match has begun
        if self.hosting is not None:
            self.hosting.withdraw()
            self.hosting.close()
        self.proposals.turn_away(self.former)
        self.hosting = self.playing = self.watching = None
        self.joining = Guest(self.runtime, self._sign_on, self._begin, self.proposals, self.door)

    def close(self) -> None:
        """Close every table and match."""
        self.audience.close()
        for part in (self.hosting, self.proposals, self.playing, self.former, self.watching):
            if part is not None:
                part.close()

    # For the mesh

    def welcome(self, identity: bytes, hello: Hello) -> Aim | Refuse:
        aim = hello.aim
        if isinstance(aim, MatchAim):
            for session in self.sessions:
                if aim.match == session.match.id and identity in session.authors:
                    return session.aim()
            return Refuse(RefuseCode.NO_MATCH, "that match is not played at this address")
        if isinstance(aim, WatchAim):
            return self._welcome_spectator(identity, aim)
        if isinstance(aim, CodeAim) and self.hosting is not None:
            return self.hosting.welcome_to_desk(identity, aim)
        if self.formed is not None and not self.formed.match.is_ended:
            return Refuse(RefuseCode.PLAYING, "a match is being played at this address")
        if self.hosting is None or isinstance(aim, CodeAim):
            return Refuse(RefuseCode.NO_TABLE, NO_TABLE)
        return self.hosting.welcome(identity, aim)

    def _welcome_spectator(self, identity: bytes, aim: WatchAim) -> Aim | Refuse:
        shown = self.formed or self.hosting
        if shown is None:
            return Refuse(RefuseCode.NO_TABLE, "there is nothing to be seen at this address")
        return shown.welcome_spectator(identity, aim)

    def peer_up(self, identity: bytes, aim: Aim, at: Address) -> None:
        with self.runtime.stopping_at_disk_errors():
            self.audience.dismiss(identity)  # until the newest link says so again
            if self.watching is not None:
                if isinstance(aim, TableAim | MatchAim):
                    self.watching.greet(identity, aim, at)
            elif isinstance(aim, WatchAim):
                self._show(identity, at)
            else:
                for session in self.sessions:
                    session.greet(identity, at)
                if isinstance(aim, CodeAim | TableAim) and self.hosting is not None:
                    if isinstance(aim, CodeAim):
                        self.hosting.code_desk.greet(identity, at[0])
                    self.hosting.greet(identity, at[0])
                elif isinstance(aim, TableAim):
                    self.joining.greet(identity, aim)

    def _show(self, identity: bytes, at: Address) -> None:
        """Count a peer as a spectator, and show it the match or the table."""
        self.audience.admit(identity, at[0])
        if self.formed is not None:
            self.formed.greet_spectator(identity)
        elif self.hosting is not None:
            self.hosting.greet_spectator(identity)

    def peer_down(self, identity: bytes, reason: str) -> None:
        log.info("link to %s down: %s", fingerprint(identity), reason)
        if self.runtime.is_silent:
            return
        self.audience.dismiss(identity)
        for part in (self.watching, *self.sessions, self.joining, self.hosting):
            if part is not None:
                part.lost(identity, reason)

    def peer_frame(self, identity: bytes, frame: Frame) -> None:
        with self.runtime.stopping_at_disk_errors():
            if isinstance(frame, (Carried, Need, Page, Cut, Have)) and self.watching is None:
                for session in self.sessions:
                    session.hear(identity, frame)
            elif isinstance(frame, Leave):
                self.mesh.disconnect(identity, LEFT)
            elif isinstance(frame, Say):
                floors = self.floors()
                if identity not in self.audience or any(floor.is_open for floor in floors):
                    self.talking.hear(identity, frame, floors)
            elif self.watching is not None:
                self.watching.take(identity, frame)
            elif identity in self.audience:
                pass
            elif isinstance(frame, ShowLedger) and self.hosting is not None:
                self.hosting.take_ledger(identity, frame)
            elif isinstance(frame, Table | Propose | Seat | Refuse | ShowLedger):
                self.joining.take(identity, frame)
                if isinstance(frame, Refuse) and self.formed is not None:
                    self.formed.refused(identity, frame.reason)
            elif isinstance(frame, CodeElement | CodeProof):
                if self.hosting is not None:
                    self.hosting.code_desk.take(identity, frame)
            elif isinstance(frame, JoinTable):
                if self.hosting is None:
                    self.runtime.refuse(identity, RefuseCode.NO_TABLE, NO_TABLE)
                else:
                    self.hosting.take_join(identity, frame)
