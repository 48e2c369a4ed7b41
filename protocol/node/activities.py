"""What a node is doing, and how that affects its links: whom it welcomes, which part handles a frame, and how peers
find it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from enum import Enum, auto
from ipaddress import ip_address
from typing import Final

from protocol.crypto.keys import Identity, fingerprint
from protocol.errors import ErrorCode, NodeError, RefuseCode
from protocol.events import Notice, TableMoved
from protocol.limits import Limits
from protocol.match.lobby import NO_TABLE
from protocol.net.addresses import Address, JoinLine
from protocol.net.interfaces import hosts_to_listen_at, is_cut_off, watch_network
from protocol.net.listener import EVERYWHERE
from protocol.net.mesh import Mesh, MeshOwner
from protocol.node.audience import Audience, Floor, Talking
from protocol.node.door import Door
from protocol.node.guest import Guest
from protocol.node.host import Host
from protocol.node.locator import LEFT, Locator, WayBack, open_table, running_match
from protocol.node.playing import Owner, PlayerSession, Proposals
from protocol.node.runtime import Runtime
from protocol.node.watching import SpectatorSession
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

log = logging.getLogger(__name__)


class Doing(Enum):
    """The state of a node: see :class:`Activities`."""

    IDLE = "idle"
    HOSTING = "hosting"
    GUEST = "guest"
    PLAYING = "playing"
    WATCHING = "watching"


class Role(Enum):
    """What a peer is to this node, by its key or by the HELLO or WELCOME of its present link. A peer may have several
    roles or none."""

    PLAYER = auto()
    """It plays in a match of this node, whatever the link is for."""
    SPECTATOR = auto()
    """It was welcomed to watch."""
    GUEST = auto()
    """It sits at this node's table, or was welcomed to ask for a seat there."""
    PROVER = auto()
    """It was welcomed to prove that it knows the short code, and has shown nothing else."""
    HOST = auto()
    """It hosts the table where this node sits or asks for a seat."""
    SOURCE = auto()
    """It shows this node the table or match that this node watches."""


SENDERS: Final[Mapping[type[Frame], tuple[Role, ...]]] = {
    JoinTable: (Role.GUEST,),
    ShowLedger: (Role.GUEST, Role.HOST),
    CodeElement: (Role.PROVER,),
    CodeProof: (Role.PROVER,),
    Table: (Role.HOST, Role.SOURCE),
    Propose: (Role.HOST, Role.SOURCE),
    Seat: (Role.HOST,),
    Refuse: (Role.HOST, Role.SOURCE, Role.PLAYER),
    Carried: (Role.PLAYER, Role.SOURCE),
    Page: (Role.PLAYER, Role.SOURCE),
    Have: (Role.PLAYER, Role.SOURCE),
    Cut: (Role.PLAYER, Role.SOURCE),
    Need: (Role.PLAYER, Role.SPECTATOR),
    Say: (Role.PLAYER, Role.SPECTATOR, Role.GUEST, Role.HOST, Role.SOURCE),
}
"""The roles in which a peer may send each kind of frame. LEAVE ends any link, so it is not in the table."""


class Activities:
    """The tables and matches of one node, and the owner of its links::

        state      begins with               welcomes                      ends with
        ---------  ------------------------  ----------------------------  ------------------------------------
        IDLE       Node.open                 nobody                        host, join, rejoin, watch, resume
        HOSTING    host                      TableAim, CodeAim, WatchAim   PLAYING when a match is formed
        GUEST      a seat, by join, rejoin   nobody                        PLAYING when a match is formed;
                                                                           IDLE when it leaves or is dismissed
        PLAYING    all COMMITs, or resume    MatchAim, WatchAim            like IDLE, once the match is over
        WATCHING   watch                     nobody                        like IDLE, at any time

    A proposed match is not a state of its own: until it is formed, its host is HOSTING and the others are GUESTs. In
    any state but WATCHING, players may connect to a match that is proposed, was given up, or was played before
    (``former``), as they may lack its end. A finished match stays PLAYING until its owner turns to another table by
    :meth:`leave_behind`.

    :param owner: the owner's name and pledge, which go into each JOIN that this node signs.
    :param interface: the name or address of the only interface to use; None to use all.
    :param mesh: makes this node's mesh, which tells the activities what happens on its links.
    """

    def __init__(
        self,
        home: Home,
        identity: Identity,
        store: Store,
        locator: Locator,
        bounds: Limits,
        owner: Owner,
        interface: str | None,
        mesh: Callable[[MeshOwner], Mesh],
    ) -> None:
        self.mesh = mesh(self)
        self.runtime = Runtime(home, identity, store, self.mesh, locator, bounds)
        self.audience = Audience(self.runtime)
        self.talking = Talking(self.runtime)
        self.door = Door(self.runtime)
        self.hosting: Host | None = None
        self.proposals = Proposals(
            self.runtime,
            self.audience,
            owner,
            self._formed,
            lambda: self.joining.gave_up(),
        )
        self.joining = Guest(self.runtime, self.proposals, self.door)
        self.former: PlayerSession | None = None
        """The previous match. It is over for the owner, but still served to players who lack its end."""
        self.watching: SpectatorSession | None = None
        self.way_back: WayBack | None = None
        """The way back to the table of the last match that this node played as a guest, or watched."""
        self._interface = interface
        self._told_line = ""
        """The join line that the owner was last shown."""
        self._minding: asyncio.Task[None] | None = None
        self._is_cut_off = False
        """Whether this machine had no network when that was last checked."""

    @property
    def doing(self) -> Doing:
        """The present state of the node."""
        if self.watching is not None:
            return Doing.WATCHING
        if self.proposals.formed is not None:
            return Doing.PLAYING
        if self.hosting is not None and not self.hosting.has_begun:
            return Doing.HOSTING
        return Doing.GUEST if self.joining.is_waiting else Doing.IDLE

    @property
    def sessions(self) -> tuple[PlayerSession, ...]:
        """The match that this node plays, or all proposals that may become it, and the previous match."""
        sessions = dict.fromkeys(filter(None, (*self.proposals.sessions, self.proposals.session, self.former)))
        return tuple(each for each in sessions if not each.is_claimed)

    def floors(self) -> tuple[Floor, ...]:
        """Return the tables and matches in which this node can chat."""
        if self.watching is not None:
            return self.watching.floors()
        parts = (self.hosting, self.joining, self.proposals.session, self.former)
        floors = (each.floor() for each in parts if each is not None)
        return tuple(floor for floor in floors if floor is not None)

    def _formed(self) -> None:
        self.runtime.in_background(self._advertise_match())

    def leave_behind(self) -> None:
        """Leave the present table or match, so that its owner can turn to another table.

        :raises NodeError: if a match is not over, or the owner's table is already open.
        """
        playing, watching = self.proposals.session, self.watching
        if self.doing is Doing.HOSTING:
            raise NodeError(ErrorCode.FAILED, "your table is already open")
        if self.proposals.formed is not None and not self.proposals.formed.is_over:
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
            playing.is_retired = True
        self.joining.leave()  # before turn_away, which forgets whether the match has begun
        if self.hosting is not None:
            self.hosting.withdraw()
            self.hosting.close()
        self.proposals.turn_away(self.former)
        self.hosting = self.watching = None
        self.joining = Guest(self.runtime, self.proposals, self.door)

    def close(self) -> None:
        """Close every table and match, and stop watching the network."""
        if self._minding is not None:
            self._minding.cancel()
        self.audience.close()
        for part in (self.hosting, self.proposals, self.former, self.watching):
            if part is not None:
                part.close()

    # Advertising

    @property
    def join_line(self) -> str:
        """The join line of the table that this node hosts; empty if it hosts none."""
        if self.hosting is None:
            return ""
        own = self.runtime.identity.fingerprint
        return str(JoinLine(self.mesh.addresses[:1], own, self.hosting.table.token))

    def tell_join_line(self) -> str:
        """Return the join line, and record that the owner has now been shown it."""
        self._told_line = self.join_line
        return self._told_line

    @property
    def is_reachable(self) -> bool:
        """Whether this node listens at an address that other machines may reach."""
        return not ip_address(self.mesh.addresses[0][0]).is_loopback

    async def listen(self, port: int) -> None:
        """Start to listen, unless this node already does.

        :raises NodeError: if that is impossible.
        """
        if self.mesh.port:
            return
        self.watch_network()
        try:
            hosts = hosts_to_listen_at(self._interface) if self._interface else EVERYWHERE
            if not hosts:
                problem = f"this machine has no network interface {self._interface}"
                raise NodeError(ErrorCode.FAILED, problem, "omit --interface")
            await self.mesh.listen(port, hosts)
        except OSError as error:
            problem = f"cannot listen: {error.strerror or error}"
            raise NodeError(ErrorCode.FAILED, problem, "choose another --port or --interface") from None

    def watch_network(self) -> None:
        """Start to watch whether this machine sleeps or its addresses change."""
        if self._minding is None:
            self._is_cut_off = is_cut_off(self._interface)
            work = watch_network(self._interface, self.interfaces_changed)
            self._minding = self.runtime.in_background(work)

    async def interfaces_changed(self) -> None:
        """Dial all peers again, and look for tables again."""
        log.warning("this machine slept or its interfaces have changed: all are dialled again")
        self._tell_whose_network_is_down()
        self._tell_where_the_table_is()
        self.mesh.dial_anew()
        if self.watching is not None:
            self.watching.dial_anew()
        await self.runtime.locator.interfaces_changed()

    def _tell_whose_network_is_down(self) -> None:
        """Notify the owner that their own network is down, before other players are reported as unreachable."""
        before, self._is_cut_off = self._is_cut_off, is_cut_off(self._interface)
        place = f"The network interface {self._interface}" if self._interface else "This machine"
        if self._is_cut_off and not before:
            self.runtime.tell(Notice(f"{place} is in no network any more: connect it by Wi-Fi or cable."))
        elif before and not self._is_cut_off:
            self.runtime.tell(Notice(f"{place} is in a network again."))

    def _tell_where_the_table_is(self) -> None:
        """Notify the owner of a new join line, unless no other machine could use it."""
        if self.hosting is None or self.doing is not Doing.HOSTING:
            return
        before = self._told_line
        if self.join_line != before and self.is_reachable:
            self.runtime.tell(TableMoved(self.hosting.table.settings.name, self.tell_join_line()))

    def advertise(self) -> None:
        """Advertise the match being played, or the open table.

        The number of a short code stays advertised until the table opens again, so that late users of the code learn
        why it fails.
        """
        playing, hosting = self.proposals.formed, self.hosting
        is_solo = playing is not None and playing.match.is_solo
        if hosting.table.settings.unlisted if hosting is not None else is_solo:
            return
        number = hosting.code_desk.number if hosting is not None else 0
        if playing is not None:
            advertisement = running_match(playing.match, playing.occasion.table_name, number)
        elif hosting is not None and (number or not hosting.table.settings.private):
            advertisement = open_table(hosting.table, number)
        else:
            return
        self.runtime.in_background(self.runtime.locator.advertise(advertisement, self.mesh.port))

    async def _advertise_match(self) -> None:
        """Start discovery, then advertise."""
        await self.runtime.locator.start()
        self.advertise()

    # For the mesh

    def welcome(self, identity: bytes, hello: Hello) -> Aim | Refuse:
        aim = hello.aim
        if isinstance(aim, MatchAim):
            for session in self.sessions if self.watching is None else ():
                if aim.match == session.match.id and identity in session.authors:
                    return session.aim()
            if self.proposals.session is not None and aim.match == self.proposals.session.match.id:
                self.proposals.session.came_back(identity)
            return Refuse(RefuseCode.NO_MATCH, "that match is not played at this address")
        if isinstance(aim, WatchAim):
            return self._welcome_spectator(identity, aim)
        if isinstance(aim, CodeAim) and self.hosting is not None:
            return self.hosting.welcome_to_desk(identity, aim)
        if self.proposals.formed is not None and not self.proposals.formed.match.is_ended:
            return Refuse(RefuseCode.PLAYING, "a match is being played at this address")
        if self.hosting is None or isinstance(aim, CodeAim):
            return Refuse(RefuseCode.NO_TABLE, NO_TABLE)
        return self.hosting.welcome(identity, aim)

    def _welcome_spectator(self, identity: bytes, aim: WatchAim) -> Aim | Refuse:
        shown = self.proposals.formed or self.hosting
        if shown is None:
            return Refuse(RefuseCode.NO_TABLE, "there is nothing to be seen at this address")
        return shown.welcome_spectator(identity, aim)

    def peer_up(self, identity: bytes, aim: Aim, at: Address) -> None:
        with self.runtime.stopping_at_disk_errors():
            self.audience.dismiss(identity)  # only the newest link makes the peer a spectator
            asked = self.mesh.asked(identity)
            if self.watching is not None:
                if isinstance(asked, WatchAim) and isinstance(aim, TableAim | MatchAim):
                    self.watching.greet(identity, aim, at)
                else:
                    self.mesh.disconnect(identity)
                return
            if self.hosting is not None:
                self.hosting.greet(identity, aim if asked is None else None, at[0])
            if asked is None and isinstance(aim, WatchAim):
                self._show(identity, at)
                return
            for session in self.sessions:
                session.greet(identity, at)
            if isinstance(asked, TableAim) and isinstance(aim, TableAim):
                self.joining.greet(identity, aim)

    def _show(self, identity: bytes, at: Address) -> None:
        """Admit a peer as a spectator, and show it the match or the table."""
        self.audience.admit(identity, at[0])
        if self.proposals.formed is not None:
            self.proposals.formed.greet_spectator(identity)
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

    def _is(self, identity: bytes, role: Role) -> bool:
        """Return whether a linked peer has this role now."""
        match role:
            case Role.PLAYER:
                return any(identity in session.authors for session in self.sessions)
            case Role.SPECTATOR:
                return identity in self.audience
            case Role.GUEST:
                return self.hosting is not None and self.hosting.may_join(identity)
            case Role.PROVER:
                return self.hosting is not None and isinstance(self.mesh.aim(identity), CodeAim)
            case Role.HOST:
                return identity == self.joining.host
            case Role.SOURCE:
                return self.watching is not None and self.watching.is_shown_by(identity)

    def peer_frame(self, identity: bytes, frame: Frame) -> None:
        with self.runtime.stopping_at_disk_errors():
            if isinstance(frame, Leave):
                self.mesh.disconnect(identity, LEFT)
            elif not any(self._is(identity, role) for role in SENDERS[type(frame)]):
                log.info("%s sent a %s, which it may not", fingerprint(identity), type(frame).__name__)
            elif isinstance(frame, Say):
                floors = self.floors()
                if identity not in self.audience or any(floor.is_open for floor in floors):
                    self.talking.hear(identity, frame, floors)
            elif self.watching is not None:
                self.watching.take(identity, frame)
            elif isinstance(frame, Carried | Need | Page | Cut | Have):
                for session in self.sessions:
                    session.hear(identity, frame)
            elif isinstance(frame, JoinTable | ShowLedger) and self.hosting is not None:
                self.hosting.take(identity, frame)
            elif isinstance(frame, CodeElement | CodeProof) and self.hosting is not None:
                self.hosting.code_desk.take(identity, frame)
            elif isinstance(frame, Table | Propose | Seat | Refuse | ShowLedger):
                self.joining.take(identity, frame)
                if isinstance(frame, Refuse) and self.proposals.formed is not None:
                    self.proposals.formed.refused(identity, frame.reason)
