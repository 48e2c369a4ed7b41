"""A node: one player's program on the LAN. A thin asyncio shell that wires mesh, discovery, lobby, match and store.

Each part of its life has a room of its own: :mod:`protocol.node.host` and :mod:`protocol.node.guest` the lobby,
:mod:`protocol.node.player_session` the match, :mod:`protocol.node.spectators` who watches it,
:mod:`protocol.node.spectator_session` watching others, :mod:`protocol.node.runtime` what they share. Here it is opened
and closed, and whatever links and owner say goes to the room that it concerns.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from p2pdice import Move
from protocol import limits
from protocol.crypto.keys import Identity, KeyFileError, MatchKey, fingerprint
from protocol.crypto.tls import credentials
from protocol.errors import SEE_MATCHES, ErrorCode, NodeError, PeerError, RefuseCode
from protocol.events import NodeEvent, TableMoved, TableOpened
from protocol.limits import Limits
from protocol.match.effects import Conceded, Played
from protocol.match.lobby import NO_TABLE, HostedTable, TableSettings
from protocol.match.match import Match
from protocol.match.signer import StaleMoveError
from protocol.match.timeouts import Party
from protocol.net.addresses import Address, format_address, hosts_to_listen_at
from protocol.net.advertisement import is_table_name
from protocol.net.join_line import JoinLine, new_token
from protocol.net.listener import EVERYWHERE
from protocol.net.mesh import Mesh
from protocol.net.network_changes import mind_surroundings
from protocol.net.sightings import Sighting
from protocol.node.guest import Guest
from protocol.node.host import Host
from protocol.node.inquiry import Inquiry
from protocol.node.locator import Locator, Target, open_table, running_match
from protocol.node.player_session import PlayerSession
from protocol.node.proposals import Proposals
from protocol.node.refusals import LEFT
from protocol.node.returning import AGAIN, WayBack, come_back
from protocol.node.runtime import Runtime
from protocol.node.session import Occasion
from protocol.node.spectator_session import SpectatorSession
from protocol.node.spectators import Spectators
from protocol.node.talking import Floor, Talking
from protocol.storage import archive
from protocol.storage.home import Home
from protocol.storage.match_names import LAST
from protocol.storage.store import Store, StoredMatch, StoreError
from protocol.wire.frames import (
    Aim,
    Carried,
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
    Table,
    WatchAim,
)
from protocol.wire.genesis import PLEDGES, Genesis, Join, JoinRecord, MalformedGenesisError, make_join_record, match_id
from protocol.wire.nicknames import NicknameError, check_nickname
from protocol.wire.table_id import open_table_id, private_table_id

log = logging.getLogger(__name__)

LINGER: Final = 2.0
"""Seconds that a finished node stays for others who have not confirmed the end."""


class Node:
    """One player's node. Made by :meth:`open`; everything it has to tell comes from :meth:`events`."""

    def __init__(
        self,
        home: Home,
        name: str,
        identity: Identity,
        store: Store,
        port: int,
        interface: str | None,
        locator: Locator,
        bounds: Limits,
    ) -> None:
        self.home = home
        self.name = name
        self.identity = identity
        self.pledge = PLEDGES[0]
        """``redeemed`` or ``cursed``: what the next join record says. Means something in games with motes only."""
        self.party: Party | None = None
        """Set before a match begins or is returned to, if programs of one person sit at the table: see
        :mod:`protocol.match.timeouts`."""
        self._store = store
        self._port = port
        self._interface = interface
        self._locator = locator
        own = credentials(identity.private_key)
        self._mesh = Mesh(own, self, bounds)
        self._inquiry = Inquiry(own, bounds)
        self._runtime = Runtime(home, identity, store, self._mesh, locator, bounds)
        self._audience = Spectators(self._runtime)
        self._talking = Talking(self._runtime)
        self._hosting: Host | None = None
        self._own_table: tuple[bytes, str] | None = None
        """Id of the table that this node hosted last, and what it asks for."""
        self._joining = Guest(self._runtime, self._sign_on, self._begin)
        self._told_line = ""
        """The join line that the owner knows."""
        self._seed = b""
        """Of the next match."""
        self._playing: PlayerSession | None = None
        self._former: PlayerSession | None = None
        """The match before, which is over for the owner, and served on for others who lack its end."""
        self._way_back: WayBack | None = None
        """To the table of the last match that this node played as a guest, or watched."""
        self._watching: SpectatorSession | None = None
        self._minding: asyncio.Task[None] | None = None
        self._proposals = Proposals()
        self._is_closed = False

    @classmethod
    async def open(
        cls,
        home: Path,
        name: str,
        *,
        port: int = 0,
        interface: str | None = None,
        discovery: bool = True,
        identity: Identity | None = None,
        bounds: Limits | None = None,
    ) -> Node:
        """Open a home and make a node of it. It talks to nobody before it hosts, joins or resumes.

        :param port: where to listen; 0 for any free port.
        :param interface: listen and advertise only at this address of this machine.
        :param discovery: False never touches multicast.
        :param identity: for whoever has unlocked it already.
        :param bounds: other limits of links than the protocol's, for tests.
        :raises NodeError: if the home is in use or unreadable, or the name is none.
        """
        try:
            check_nickname(name)
            store = archive.open_store(Home(home))
        except NicknameError as error:
            raise NodeError(
                ErrorCode.FAILED, f"{name!r} cannot be a nickname: {error}", "choose another with --name"
            ) from None
        except StoreError as error:
            raise NodeError(ErrorCode.FAILED, str(error)) from None
        try:
            if identity is None:
                identity, _ = archive.unlock(Home(home), store)
        except (KeyFileError, StoreError) as error:
            store.close()
            raise NodeError(ErrorCode.FAILED, str(error)) from None
        locator = Locator(interface, is_enabled=discovery)
        return cls(Home(home), name, identity, store, port, interface, locator, bounds or Limits())

    # What the owner calls

    async def events(self) -> AsyncIterator[NodeEvent]:
        """Yield what happens until the node is closed. For one consumer."""
        while (event := await self._runtime.events.get()) is not None:
            yield event

    @property
    def port(self) -> int:
        """Where this node listens."""
        return self._mesh.port

    @property
    def former(self) -> Match | None:
        """The last match that was played here to its end and left behind for another table."""
        return self._former.match if self._former is not None else None

    @property
    def match(self) -> Match | None:
        """The match that is proposed, running or watched here, to be looked at and never fed; also when it is over, as
        long as it was not left behind for another table.

        A screen asks it for :attr:`~protocol.match.match.Match.progress`, and for
        :meth:`~protocol.match.match.Match.clock` with the time of the event loop.
        """
        session = self._playing or (self._watching.followed if self._watching is not None else None)
        return session.match if session is not None else None

    @property
    def table(self) -> bytes:
        """Id of the table that this node hosts; empty if it hosts none."""
        return self._hosting.table.table if self._hosting is not None else b""

    @property
    def join_line(self) -> str:
        """What another laptop types behind ``p2pdice join``; empty unless this node hosts."""
        if self._hosting is None:
            return ""
        return str(JoinLine(self._mesh.addresses[:1], self.identity.fingerprint, self._hosting.table.token))

    async def host(self, settings: TableSettings) -> TableOpened:
        """Open a table and advertise it, unless it is private.

        After a match the same node can open it again, with the same settings or others: it keeps its id, its token and
        its port, so that the join line stays good (unless the table was open before and is private now, or the other
        way round); a node that was restarted opens another one. Who played comes back by :meth:`rejoin`; who watched
        goes on watching with the host by doing nothing. A former guest can open a table too, which is another one.

        :raises NodeError: if the name is none that can be advertised, this node can listen nowhere, its table is open
            already, or its match is not over.
        """
        if not is_table_name(settings.name):
            raise NodeError(
                ErrorCode.FAILED, f"{settings.name!r} cannot be a table's name", "take up to 40 printable characters"
            )
        self._leave_behind()
        await self._listen(self._port)
        if self._own_table is None or settings.private is not bool(self._own_table[1]):
            token = new_token() if settings.private else ""
            self._own_table = (private_table_id(token) if token else open_table_id()), token
        table, token = self._own_table
        former = self._former.match.record.genesis.table if self._former is not None else b""
        if former != table:  # they watched another table
            for identity in self._audience.identities:
                self._mesh.disconnect(identity)
        hosted = HostedTable(settings, table, self._sign_on(table), token)
        returning = self._former.authors if self._former is not None else ()
        self._hosting = Host(
            self._runtime, hosted, self._audience, self._sign_on, self._begin, self._advertise, returning
        )
        await self._locator.withdraw()
        is_advertised = not settings.private and await self._locator.start()
        self._advertise()
        addresses = tuple(map(format_address, self._mesh.addresses))
        problem = "" if is_advertised else ("the table is private" if settings.private else self._locator.problem)
        self._told_line = self.join_line
        opened = TableOpened(
            settings.name,
            self._told_line,
            addresses,
            is_advertised,
            problem,
            is_reachable=self._is_reachable(),
            seats=settings.seats,
            ruleset=settings.ruleset,
        )
        self._runtime.tell(opened)
        self._hosting.open()
        return opened

    def start_match(self) -> None:
        """Propose a match among who sits at this node's table.

        :raises NodeError: if this node hosts no table or nobody else is there.
        """
        if self._hosting is None:
            raise NodeError(ErrorCode.FAILED, "only the host of a table starts the match")
        self._hosting.propose()

    async def tables(self, seconds: float = 2.0) -> tuple[Sighting, ...]:
        """Return the tables that are advertised on the LAN, after listening for some seconds.

        :raises NodeError: if this machine cannot do multicast.
        """
        return await self._locator.tables(seconds)

    async def join(self, target: str | Sequence[Sighting]) -> None:
        """Sit down at a table: ``NAME``, ``HOST:PORT`` or a join line. Returns when admitted.

        :param target: for one that was sighted, all sightings by its name.
        :raises NodeError: if nobody is found or reached there, more than one answers for the name, or this player is
            not admitted.
        """
        (wanted,) = await self._inquiry.settle("join", lambda: self._locator.resolve(target))
        self._leave_behind()
        await self._listen(self._port)
        await self._joining.enter(wanted)

    async def rejoin(self) -> None:
        """Go back to the table of the last match and sit down: for its guests, and for who watched it. Returns when
        admitted; cancel it to wait no longer.

        As long as the host is there and has not opened the table again, or plays with others, this waits, and
        :class:`~protocol.events.AwaitingHost` tells how it stands. A match that is played meanwhile is watched.

        :raises NodeError: if there is no such table or its match is not over, the host has been gone for long, or this
            player is not admitted. It can be tried again.
        """
        if self._hosting is not None:
            raise NodeError(ErrorCode.FAILED, "the table is your own", "open it again")
        if self._joining.is_waiting:
            raise NodeError(ErrorCode.FAILED, "you already sit at the table", "wait for the host to begin")
        self._leave_behind()
        if self._way_back is None:
            raise NodeError(ErrorCode.FAILED, "there is no table to go back to", "join one, or host one of your own")
        await self._listen(self._port)
        await self._locator.withdraw()
        while place := await come_back(self._runtime, self._way_back, self._joining.try_to_enter):
            await self._watch_meanwhile(self._way_back, place)

    async def _watch_meanwhile(self, way: WayBack, place: Target) -> None:
        """Watch the match that is played without this node, to its end."""
        self._watching = watching = SpectatorSession(self._runtime)
        try:
            await watching.enter((place,))
            await watching.over.wait()
        except NodeError as error:
            log.info("the match cannot be watched: %s", error)
            await asyncio.sleep(AGAIN)
        self._leave_behind()
        self._way_back = way  # to the same host, whoever has shown the match

    def _leave_behind(self) -> None:
        """Make room for another table: what is over is over for the owner.

        :raises NodeError: if a match goes on here, or a table is open.
        """
        playing, watching = self._playing, self._watching
        if self._hosting is not None and not self._hosting.has_begun:
            raise NodeError(ErrorCode.FAILED, "your table is already open")
        if playing is not None and playing.match.is_formed and not playing.is_over:
            raise NodeError(ErrorCode.FAILED, "the match is not over yet", "play it to its end first")
        if watching is not None:
            self._way_back = watching.way_back() or self._way_back
            watching.leave()
        elif playing is not None and playing.is_over:
            if self._hosting is None:
                self._way_back = playing.way_back(self._joining.convenor, self._joining.token)
            if self._former is not None:
                self._former.close()
            self._former = playing
            playing.retire()
        self._proposals.withdraw()
        self._proposals.close(but=self._former)
        self._mesh.forget_all()
        self._joining.leave()
        if self._hosting is not None:
            self._hosting.close()
        self._hosting = self._playing = self._watching = None
        self._joining = Guest(self._runtime, self._sign_on, self._begin)

    async def watch(self, target: str) -> None:
        """Watch a table or match: ``NAME``, ``HOST:PORT``, a join line, or the first digits of a match's id.

        Returns when it is known what is to be seen there; before the start, that is who sits at the table.

        :raises NodeError: if nobody is found or reached there, or this node may not watch.
        """
        places = await self._inquiry.settle("watch", lambda: self._locator.resolve_to_watch(target))
        if not self._joining.is_waiting:  # who has a seat there is told so by the host, and keeps it
            self._leave_behind()
        self._mind_surroundings()
        self._watching = SpectatorSession(self._runtime)
        await self._watching.enter(places)

    def unfinished(self) -> tuple[StoredMatch, ...]:
        """Return the matches of this home that can be resumed, newest first."""
        return archive.unfinished(self._store.matches())

    def _finished(self) -> tuple[StoredMatch, ...]:
        return tuple(stored for stored in self._store.matches() if stored.over)

    @property
    def loss(self) -> str:
        """What is missing of what the store had confirmed, as a sentence without its full stop; empty if nothing is."""
        return archive.describe(self._store.loss) if self._store.loss is not None else ""

    def find(self, match: str | None = None) -> StoredMatch:
        """Return the match that :meth:`resume` would return to.

        :raises NodeError: if there is none like that.
        """
        matches = self._store.matches()
        if match is not None and match.strip().lower() != LAST:
            found = archive.find(matches, match)
            archive.check_version(found)
            return found
        unfinished = archive.unfinished(matches)
        loss = self._store.loss
        if loss is not None and not any(each.match == loss.match for each in (*unfinished[:1], *self._finished())):
            hint = "put the whole folder back from a backup, if there is one; return to an older match by its id"
            raise NodeError(ErrorCode.NO_MATCH, self.loss, hint, SEE_MATCHES)
        if not unfinished:
            for old in (stored for stored in matches if stored.formed and not stored.over):
                archive.check_version(old)
            raise NodeError(ErrorCode.NO_MATCH, "there is no unfinished match here", choices=SEE_MATCHES)
        return unfinished[0]

    async def resume(self, match: str | None = None) -> str:
        """Return to a match after a crash, a nap or a quit: the last one, or the one named as :func:`archive.find` has
        it. Returns the whole id.

        A finished one is returned to only by its id: for others who still lack the end of it.

        :raises NodeError: if there is none like that.
        """
        stored = self.find(match)
        try:
            archive.check_owner(stored, self.identity)
        except (MalformedGenesisError, StoreError) as error:
            raise NodeError(ErrorCode.FAILED, f"the stored match is damaged: {error}") from None
        self._leave_behind()
        try:
            await self._listen(self._port or stored.port)
        except NodeError:
            await self._listen(0)
        await self._locator.start()
        for each in (*archive.beside(stored, self._store.matches()), stored):
            self._return_to(each)
        self._advertise()
        return stored.match.hex()

    def play(self, move: Move, token: int) -> None:
        """Make a move, in answer to the :class:`~protocol.events.YourTurn` with this token.

        :raises RulesError: if the move is illegal; nothing is lost, choose another.
        :raises NodeError: if that turn is over.
        """
        if self._playing is None:
            return
        try:
            self._playing.feed(Played(move, token))
        except StaleMoveError as error:
            raise NodeError(ErrorCode.FAILED, str(error)) from None

    def concede(self) -> None:
        """Give up: this player is out with the next message that this node owes, also after a restart."""
        if self._playing is not None:
            self._playing.feed(Conceded())

    def say(self, text: str) -> None:
        """Say something to all at the table, before, during or after the match; as long as links last.

        What is said is composed (NFC) and its spaces are made single before it is signed. Told as
        :class:`~protocol.events.Said` to all, oneself included.

        :param text: up to 200 characters.
        :raises NodeError: if it is too long or has characters that cannot be said, if it comes too fast behind other
            words (five at once, then one a second), or if nobody is there.
        """
        if self._watching is not None:
            raise NodeError(ErrorCode.REFUSED, "spectators cannot speak", "sit down for the next match")
        self._talking.say(self._runtime.player(self.name, self.identity.public), self._floors(), text)

    def _floors(self) -> tuple[Floor, ...]:
        """Return where words are said and heard."""
        if self._watching is not None:
            return self._watching.floors()
        rooms = (self._hosting, self._joining, self._playing, self._former)
        floors = (room.floor() for room in rooms if room is not None)
        return tuple(floor for floor in floors if floor is not None)

    @property
    def _sessions(self) -> tuple[PlayerSession, ...]:
        """The match that this node plays, or all that may become it, and the one before."""
        sessions = [*self._proposals.sessions]
        sessions += [each for each in (self._playing, self._former) if each is not None and each not in sessions]
        return tuple(sessions)

    async def close(self) -> None:
        """Leave. All who are linked are told; a running match can be resumed; a finished one is served to the end for a
        moment."""
        if self._is_closed:
            return
        self._is_closed = True
        if not self._runtime.is_silent:
            await self._take_leave()
        if self._minding is not None:
            self._minding.cancel()
        for room in (self._hosting, self._proposals, self._playing, self._former, self._watching):
            if room is not None:
                room.close()
        await self._mesh.close()
        await self._runtime.settled()
        await self._locator.close()
        self._store.close()
        self._runtime.events.put_nowait(None)

    async def _take_leave(self) -> None:
        ended = [session for session in self._sessions if session.match.is_ended]
        if ended and self._mesh.linked():
            try:
                async with asyncio.timeout(LINGER):
                    await asyncio.gather(*(session.all_confirmed.wait() for session in ended))
            except TimeoutError:
                log.info("left although somebody had not confirmed the end")
        self._proposals.withdraw()
        self._runtime.is_silent = True
        for identity in self._mesh.linked():
            self._runtime.post(identity, Leave("left the table"))
        self._runtime.flush()

    # Being found

    def _mind_surroundings(self) -> None:
        if self._minding is None:
            work = mind_surroundings(self._interface, self._surroundings_changed)
            self._minding = self._runtime.in_background(work)

    async def _surroundings_changed(self) -> None:
        log.warning("this machine slept or its addresses have changed: all are dialled anew")
        self._tell_where_the_table_is()
        self._mesh.dial_anew()
        if self._watching is not None:
            self._watching.dial_anew()
        await self._locator.interfaces_changed()

    def _tell_where_the_table_is(self) -> None:
        """Tell the owner what others have to type now; without a network there is nothing that would help them."""
        if self._hosting is None or self._hosting.has_begun:
            return
        line = self.join_line
        if line != self._told_line and self._is_reachable():
            self._told_line = line
            self._runtime.tell(TableMoved(self._hosting.table.settings.name, line))

    def _is_reachable(self) -> bool:
        """Tell whether this node listens at an address that other machines can have a way to."""
        return not ip_address(self._mesh.addresses[0][0]).is_loopback

    async def _listen(self, port: int) -> None:
        if self._mesh.port:
            return
        self._mind_surroundings()
        try:
            hosts = hosts_to_listen_at(self._interface) if self._interface else EVERYWHERE
            if not hosts:
                raise NodeError(
                    ErrorCode.FAILED,
                    f"this machine has no network interface {self._interface}",
                    "leave --interface away",
                )
            await self._mesh.listen(port, hosts)
        except OSError as error:
            problem = error.strerror or str(error)
            raise NodeError(
                ErrorCode.FAILED, f"cannot listen: {problem}", "choose another --port or --interface"
            ) from None

    def _advertise(self) -> None:
        """Advertise the open table or the running match, whatever it has become."""
        hosted = self._hosting.table if self._hosting is not None else None
        if self._playing is not None and self._playing.match.is_formed:
            advertisement = running_match(self._playing.match, self._playing.occasion.table)
        elif hosted is not None and not hosted.settings.private:
            advertisement = open_table(hosted)
        else:
            return
        self._runtime.in_background(self._locator.advertise(advertisement, self._mesh.port))

    def _formed(self, playing: PlayerSession) -> None:
        """Play a match that everybody has signed, and no other that was proposed."""
        self._playing = playing
        self._proposals.withdraw(but=playing)
        self._mesh.forget_all()
        playing.keep_links()
        self._audience.post(Propose(self._playing.match.record.genesis_data))
        self._runtime.in_background(self._be_found())

    def _called_off(self, proposal: PlayerSession, by: tuple[bytes, ...]) -> None:
        self._proposals.called_off(proposal)
        if self._hosting is not None:
            self._hosting.called_off(proposal, by)

    async def _be_found(self) -> None:
        await self._locator.start()
        self._advertise()

    # What the mesh calls

    def welcome(self, identity: bytes, hello: Hello) -> Aim | Refuse:
        aim = hello.aim
        if isinstance(aim, MatchAim):
            for session in self._sessions:
                if aim.match == session.match.record.match and identity in session.authors:
                    return session.aim()
            return Refuse(RefuseCode.NO_MATCH, "that match is not played at this address")
        if isinstance(aim, WatchAim):
            return self._welcome_spectator(identity, aim)
        if self._playing is not None and self._playing.match.is_formed and not self._playing.match.is_ended:
            return Refuse(RefuseCode.PLAYING, "a match is being played at this address")
        if self._hosting is None:
            return Refuse(RefuseCode.NO_TABLE, NO_TABLE)
        return self._hosting.welcome(identity, aim)

    def _welcome_spectator(self, identity: bytes, aim: WatchAim) -> Aim | Refuse:
        playing = self._playing
        if playing is not None and playing.match.is_formed:
            return playing.welcome_spectator(identity, aim)
        if self._hosting is not None:
            return self._hosting.welcome_spectator(identity, aim)
        return Refuse(RefuseCode.NO_TABLE, "there is nothing to be seen at this address")

    def peer_up(self, identity: bytes, aim: Aim, at: Address) -> None:
        with self._runtime.stopping_at_disk_errors():
            self._audience.dismiss(identity)  # until the newest link says so again
            if self._watching is not None:
                if not isinstance(aim, WatchAim):
                    self._watching.greet(identity, aim, at)
            elif isinstance(aim, WatchAim):
                self._show(identity)
            elif isinstance(aim, MatchAim):
                if self._former is not None and aim.match == self._former.match.record.match:
                    self._former.greet(identity, at)
                else:
                    for session in self._sessions:
                        if session is not self._former:
                            session.greet(identity, at)
            elif self._hosting is not None:
                self._hosting.greet(identity)
            else:
                self._joining.greet(identity, aim)

    def _show(self, identity: bytes) -> None:
        """Count a peer as spectator, and show what there is to be seen."""
        self._audience.admit(identity)
        if self._playing is not None and self._playing.match.is_formed:
            self._runtime.post(identity, Propose(self._playing.match.record.genesis_data))
        elif self._hosting is not None:
            self._hosting.greet_spectator(identity)

    def peer_down(self, identity: bytes, reason: str) -> None:
        log.info("link to %s down: %s", fingerprint(identity), reason)
        if self._runtime.is_silent:
            return
        self._audience.dismiss(identity)
        if self._watching is not None:
            self._watching.lost(identity, reason)
        for session in self._sessions:
            session.lost(identity, reason)
        self._joining.lost(identity, reason)
        if self._hosting is not None:
            self._hosting.lost(identity, reason)

    def peer_frame(self, identity: bytes, frame: Frame) -> None:
        with self._runtime.stopping_at_disk_errors():
            if isinstance(frame, Carried | Need | Page | Cut | Have) and self._watching is None:
                for session in self._sessions:
                    session.hear(identity, frame)
            elif isinstance(frame, Leave):
                self._mesh.disconnect(identity, LEFT)
            elif isinstance(frame, Say):
                if identity not in self._audience:
                    self._talking.hear(identity, frame, self._floors())
            elif self._watching is not None:
                self._watching.take(identity, frame)
            elif identity not in self._audience:
                self._take_word(identity, frame)

    def _take_word(self, identity: bytes, frame: Frame) -> None:
        """Take what concerns a table."""
        if isinstance(frame, JoinTable):
            self._take_join(identity, frame)
        elif isinstance(frame, Table | Propose | Refuse):
            self._joining.take(identity, frame)

    def _take_join(self, identity: bytes, frame: JoinTable) -> None:
        if self._hosting is None:
            self._runtime.refuse(identity, RefuseCode.NO_TABLE, NO_TABLE)
        else:
            self._hosting.take_join(identity, frame)

    # From the lobby, or the store, to the match

    def _sign_on(self, table: bytes) -> JoinRecord:
        """Make a join record for a table, and with it the seed of the match."""
        self._seed = secrets.token_bytes(32)
        match_key = MatchKey(self._seed)
        self._store.add_seed(match_key.public, self._seed)
        nonce = secrets.token_bytes(32)
        addresses = self._mesh.addresses[: limits.JOIN_ADDRESSES]
        join = Join(table, self.identity.public, match_key.public, self.name, addresses, nonce, self.pledge)
        return make_join_record(join, self.identity, match_key)

    def _begin(self, data: bytes, genesis: Genesis) -> PlayerSession:
        """Take part in a proposed match, beside earlier proposals that are still alive.

        :raises MalformedGenesisError: if they are too many.
        """
        if (known := self._proposals.find(match_id(data))) is not None:
            return known
        if self._proposals.is_full:
            raise MalformedGenesisError("one match after the other is proposed, and none withdrawn")
        match_key = MatchKey(self._seed).public
        table = self._hosting.table.settings.name if self._hosting is not None else self._joining.table_name
        occasion = Occasion(int(time.time()), table)
        is_host = self._hosting is not None
        self._store.add_match(match_id(data), data, match_key, occasion.begun, self._mesh.port, table, is_host)
        me = next(author for author, record in enumerate(genesis.roster) if record.join.match_key == match_key)
        return self._take_part(Match(data, me, self._seed, party=self.party, convenes=is_host), occasion, resumed=False)

    def _return_to(self, stored: StoredMatch) -> None:
        """Take part in a stored match.

        :raises NodeError: if what is stored of it is damaged.
        """
        try:
            messages, choices = self._store.messages(stored.match), self._store.choices(stored.match)
            seat = archive.seat(stored)
            match = Match(
                stored.genesis, seat, stored.seed, messages, choices, party=self.party, convenes=stored.hosted
            )
            self.name = match.record.genesis.roster[seat].join.nickname  # the others know no other, also afterwards
            self._take_part(match, Occasion(stored.created, stored.table), resumed=True)
        except (PeerError, StoreError) as error:
            raise NodeError(ErrorCode.FAILED, f"the stored match is damaged: {error}") from None

    def _take_part(self, match: Match, occasion: Occasion, *, resumed: bool) -> PlayerSession:
        seated = self._hosting.seated if self._hosting is not None else (self._joining.convenor,)
        beside = [each.match.record.match for each in self._proposals.sessions]
        playing = self._playing = PlayerSession(
            self._runtime, match, occasion, self._audience, self._formed, self._called_off
        )
        self._proposals.add(playing)
        playing.start(resumed=resumed, seated=seated, beside=beside)
        return playing


__all__ = ["Node", "NodeError", "TableSettings"]
