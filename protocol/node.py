"""A node: one player's program on the LAN. A thin asyncio shell that wires mesh, discovery, lobby, match and store.

All callbacks run in one event loop. What they cause is gathered during one turn of the loop and then carried out in
this order: the store is written, frames are sent, the owner is told. So nothing leaves this node that a crash could
make it forget.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from p2pdice import Move
from p2pdice.version import VERSION
from protocol import limits
from protocol.addresses import Address, format_address, interface_addresses
from protocol.certificates import credentials
from protocol.discovery import Sighting, is_table_name
from protocol.effects import (
    Broadcast,
    Choose,
    Conceded,
    Ended,
    Formed,
    Left,
    Linked,
    MatchInput,
    Needed,
    Over,
    Paged,
    Persist,
    Played,
    Received,
    Send,
    Show,
    Ticked,
    WakeAt,
)
from protocol.errors import NodeError
from protocol.events import (
    LobbyChanged,
    MatchOver,
    NodeEvent,
    PlayerInfo,
    Stopped,
    TableClosed,
    TableJoined,
    TableOpened,
)
from protocol.genesis import (
    PLEDGES,
    Genesis,
    Join,
    MalformedGenesisError,
    UnknownRulesError,
    check_nickname,
    make_join_record,
    match_id,
)
from protocol.home import Home
from protocol.joinline import JoinLine, new_token
from protocol.keys import Identity, KeyFileError, MatchKey, fingerprint
from protocol.limits import Limits
from protocol.lobby import HostedTable, NotAdmittedError, Seat, TableSettings
from protocol.match import Match, StaleMoveError
from protocol.mesh import Mesh, RefusedError
from protocol.messages import MalformedMessageError, Signed, parse_signed
from protocol.record import MisconductError, RejectedMessageError
from protocol.store import HomeInUseError, Store, StoredMatch, StoreError
from protocol.transcript import write_transcript
from protocol.transport import EVERYWHERE, DialError
from protocol.whereabouts import Whereabouts, open_table, running_match
from protocol.wire import (
    Aim,
    Carried,
    Frame,
    Hello,
    JoinTable,
    Leave,
    MatchAim,
    Need,
    Page,
    Propose,
    Refuse,
    Table,
    TableAim,
    encode_frame,
)

log = logging.getLogger(__name__)

SOFTWARE: Final = f"p2pdice {VERSION}"
FORMING_PATIENCE: Final = 2.0
"""Seconds that the convenor waits for a guest who was lost while the match forms, before the seat is free again."""
LATER_DIALLER: Final = 1.0
"""Head start, in seconds, of the lower roster index of two players who could dial each other."""
LINGER: Final = 2.0
"""Seconds that a finished node stays for others who have not confirmed the end."""
_BATCH: Final = 64
"""Messages of others that are kept in memory before they are stored without an own one."""


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
        whereabouts: Whereabouts,
        bounds: Limits,
    ) -> None:
        self.home = home
        self.name = name
        self.identity = identity
        self.pledge = PLEDGES[0]
        """``redeemed`` or ``cursed``: what the next join record says. Means something in games with motes only."""
        self._store = store
        self._port = port
        self._interface = interface
        self._loop = asyncio.get_running_loop()
        self._bounds = bounds
        self._mesh = Mesh(credentials(identity.private_key), SOFTWARE, self, bounds)
        self._whereabouts = whereabouts
        self._events: asyncio.Queue[NodeEvent | None] = asyncio.Queue()
        # The lobby: one of the two, or neither.
        self._hosted: HostedTable | None = None
        self._seat: Seat | None = None
        self._admission: asyncio.Future[None] | None = None
        self._lost_guests: dict[bytes, asyncio.TimerHandle] = {}
        # The match, proposed or running.
        self._seed = b""
        self._match: Match | None = None
        self._authors: dict[bytes, int] = {}
        self._wake: asyncio.TimerHandle | None = None
        self._all_confirmed = asyncio.Event()
        # What this turn of the loop has caused.
        self._batch: list[Signed] = []
        self._outbox: list[tuple[bytes | None, bytes]] = []
        self._ending: list[Ended | Formed | Over | Show] = []
        self._flush_is_due = False
        self._is_silent = False
        """Nothing is taken or sent any more."""
        self._is_closed = False
        self._tasks: set[asyncio.Task[None]] = set()

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
        :param identity: for who has unlocked it already.
        :param bounds: other limits of links than the protocol's, for tests.
        :raises NodeError: if the home is in use or unreadable, or the name is none.
        """
        try:
            check_nickname(name)
            if identity is None:
                identity, _ = Identity.load_or_create(home)
            store = Store(Home(home).store)
        except MalformedGenesisError as error:
            raise NodeError("failed", f"{name!r} cannot be a nickname: {error}", "choose another with --name") from None
        except HomeInUseError as error:
            hint = "close it, or give this one a home of its own with --home DIR"
            raise NodeError("home-in-use", str(error), hint) from None
        except (KeyFileError, StoreError) as error:
            raise NodeError("failed", str(error)) from None
        whereabouts = Whereabouts(interface, is_enabled=discovery)
        return cls(Home(home), name, identity, store, port, interface, whereabouts, bounds or Limits())

    # What the owner calls

    async def events(self) -> AsyncIterator[NodeEvent]:
        """Yield what happens until the node is closed. For one consumer."""
        while (event := await self._events.get()) is not None:
            yield event

    @property
    def port(self) -> int:
        """Where this node listens."""
        return self._mesh.port

    @property
    def join_line(self) -> str:
        """What another laptop types behind ``p2pdice join``; empty unless this node hosts."""
        if self._hosted is None:
            return ""
        return str(JoinLine(self._mesh.addresses[:1], self.identity.fingerprint, self._hosted.token))

    async def host(self, settings: TableSettings) -> TableOpened:
        """Open a table and advertise it, unless it is private.

        :raises NodeError: if the name is none that can be advertised, or this node can listen nowhere.
        """
        if not is_table_name(settings.name):
            raise NodeError(
                "failed", f"{settings.name!r} cannot be a table's name", "take up to 40 printable characters"
            )
        await self._listen(self._port)
        table = secrets.token_bytes(16)
        record = make_join_record(self._join(table), self.identity, MatchKey(self._seed))
        self._hosted = HostedTable(settings, table, record, new_token() if settings.private else "")
        is_advertised = not settings.private and await self._whereabouts.start()
        self._advertise()
        addresses = tuple(map(format_address, self._mesh.addresses))
        problem = "" if is_advertised else ("the table is private" if settings.private else self._whereabouts.problem)
        opened = TableOpened(settings.name, self.join_line, addresses, is_advertised, problem)
        self._tell(opened)
        self._tell(LobbyChanged(self._sitting(self._hosted.frame()), settings.seats))
        return opened

    def start_match(self) -> None:
        """Propose a match among who sits at this node's table.

        :raises NodeError: if this node hosts no table or nobody else is there.
        """
        if self._hosted is None:
            raise NodeError("failed", "only the host of a table starts the match")
        if self._match is not None and self._match.is_formed:
            raise NodeError("failed", "the match has begun")
        if len(self._hosted.records) < 2:
            raise NodeError("failed", "a match needs two players", "wait until somebody joins")
        genesis = self._hosted.genesis()
        self._begin(genesis.encoded(), genesis)
        for identity in self._authors:
            self._post(identity, Propose(genesis.encoded()))

    async def tables(self, seconds: float = 2.0) -> tuple[Sighting, ...]:
        """Return the tables that are advertised on the LAN, after listening for some seconds.

        :raises NodeError: if this machine cannot do multicast.
        """
        return await self._whereabouts.tables(seconds)

    async def join(self, target: str | Sighting) -> None:
        """Sit down at a table: an advertised one, ``NAME``, ``HOST:PORT`` or a join line. Returns when admitted.

        :raises NodeError: if nobody is found or reached there, or this player is not admitted.
        """
        wanted = await self._whereabouts.resolve(target)
        await self._listen(self._port)

        def accept(identity: bytes) -> bool:
            return not wanted.fingerprint or fingerprint(identity) == wanted.fingerprint

        self._admission = self._loop.create_future()
        try:
            convenor = await self._mesh.connect(wanted.addresses, TableAim(wanted.table, wanted.token), accept)
            try:
                async with asyncio.timeout(self._bounds.handshake):
                    await self._admission
            except TimeoutError:
                self._seat = None
                self._mesh.disconnect(convenor)
                raise NodeError("unreachable", "somebody answers there, but gives us no seat") from None
        except DialError as error:
            raise NodeError(
                "unreachable", str(error), "check the address, and that no firewall is in between"
            ) from None
        except RefusedError as error:
            raise _refusal(error.code, str(error)) from None
        finally:
            self._admission = None
        assert self._seat is not None
        frame = self._seat.table
        assert frame is not None
        assert self._seat.ruleset is not None
        host = next((name for name, identity in frame.players if identity == convenor), "?")
        self._tell(TableJoined(frame.name, PlayerInfo(host, fingerprint(convenor)), self._seat.ruleset, frame.seats))
        self._tell(LobbyChanged(self._sitting(frame), frame.seats))

    def unfinished(self) -> tuple[StoredMatch, ...]:
        """Return the matches of this home that can be resumed, newest first.

        A proposal that this node signed last and never saw formed is among them: the others may have.
        """
        open_ones = [stored for stored in self._store.matches() if not stored.over]
        return tuple(stored for place, stored in enumerate(open_ones) if stored.formed or place == 0)

    async def resume(self, match: str | None = None) -> str:
        """Return to a match after a crash, a nap or a quit; the id's first digits are enough. Returns the whole id.

        A finished one is returned to only by its id: for others who still lack the end of it.

        :raises NodeError: if there is none like that.
        """
        stored_matches = self._store.matches() if match else self.unfinished()
        candidates = [stored for stored in stored_matches if stored.match.hex().startswith((match or "").lower())]
        if not candidates:
            what = f"no match here begins with {match}" if match else "there is no unfinished match here"
            raise NodeError("no-match", what, "see all of them with: p2pdice resume --list")
        if match and len(candidates) > 1:
            raise NodeError("no-match", f"{len(candidates)} matches begin with {match}", "give more digits")
        stored = candidates[0]
        try:
            await self._listen(self._port or stored.port)
        except NodeError:
            await self._listen(0)
        await self._whereabouts.start()
        self._seed = stored.seed
        try:
            self._begin(stored.genesis, None, stored.match)
        except (
            RejectedMessageError,
            MisconductError,
            MalformedGenesisError,
            MalformedMessageError,
            StoreError,
        ) as error:
            raise NodeError("failed", f"the stored match is damaged: {error}") from None
        self._advertise()
        return stored.match.hex()

    def play(self, move: Move, token: int) -> None:
        """Make a move, in answer to the :class:`~protocol.events.YourTurn` with this token.

        :raises RulesError: if the move is illegal; nothing is lost, choose another.
        :raises NodeError: if that turn is over.
        """
        try:
            self._feed(Played(move, token))
        except StaleMoveError as error:
            raise NodeError("failed", str(error)) from None

    def concede(self) -> None:
        """Give up: this player is out with the next message that this node owes."""
        self._feed(Conceded())

    async def close(self) -> None:
        """Leave. A lobby is told; a running match can be resumed; a finished one is served to the end for a moment."""
        if self._is_closed:
            return
        self._is_closed = True
        if not self._is_silent:
            await self._take_leave()
        for timer in (*self._lost_guests.values(), self._wake):
            if timer is not None:
                timer.cancel()
        await self._mesh.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._whereabouts.close()
        self._store.close()
        self._events.put_nowait(None)

    async def _take_leave(self) -> None:
        if self._match is not None and self._match.is_ended and self._mesh.linked():
            try:
                async with asyncio.timeout(LINGER):
                    await self._all_confirmed.wait()
            except TimeoutError:
                log.info("left although somebody had not confirmed the end")
        self._is_silent = True
        if self._match is None or not self._match.is_formed:
            for identity in self._mesh.linked():
                self._mesh.send(identity, encode_frame(Leave("left the table")))
        self._flush()

    # Network

    async def _listen(self, port: int) -> None:
        if self._mesh.port:
            return
        try:
            hosts = tuple(str(each) for each in interface_addresses(self._interface)) if self._interface else EVERYWHERE
            if not hosts:
                raise NodeError(
                    "failed", f"this machine has no network interface {self._interface}", "leave --interface away"
                )
            await self._mesh.listen(port, hosts)
        except OSError as error:
            raise NodeError("failed", f"cannot listen: {error}", "choose another --port or --interface") from None

    def _advertise(self) -> None:
        """Advertise the open table or the running match, whatever it has become."""
        hosted, match = self._hosted, self._match
        if match is not None and match.is_formed:
            name = hosted.settings.name if hosted else f"match {match.record.match.hex()[:8]}"
            advertisement = running_match(match, name)
        elif hosted is not None and not hosted.settings.private:
            advertisement = open_table(hosted)
        else:
            return
        self._in_background(self._whereabouts.advertise(advertisement, self._mesh.port))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _post(self, identity: bytes, frame: Frame) -> None:
        self._outbox.append((identity, encode_frame(frame)))
        self._schedule_flush()

    # What the mesh calls

    def welcome(self, identity: bytes, hello: Hello) -> Aim | Refuse:
        aim = hello.aim
        match = self._match
        if isinstance(aim, MatchAim):
            if match is None or aim.match != match.record.match or identity not in self._authors:
                return Refuse("no-match", "that match is not played here")
            return self._match_aim(match)
        if self._hosted is None or (match is not None and match.is_formed):
            return Refuse("no-table", "no table is open here")
        try:
            self._hosted.check_aim(aim)
        except NotAdmittedError as error:
            return Refuse(error.code, str(error))
        is_guest = any(record.join.identity == identity for record in self._hosted.records)
        if self._hosted.is_full and not is_guest:
            return Refuse("full", f"all {self._hosted.settings.seats} seats are taken")
        return TableAim(self._hosted.table, "")

    def peer_up(self, identity: bytes, aim: Aim, at: Address) -> None:
        with self._stopping_at_disk_errors():
            self._greet(identity, aim, at)

    def _greet(self, identity: bytes, aim: Aim, at: Address) -> None:
        if isinstance(aim, MatchAim):
            if identity in self._authors:
                self._store.remember_address(identity, *at, int(time.time()))
                self._feed(Linked(self._authors[identity]))
            return
        if self._hosted is not None:
            # Who got a welcome and then asks for no seat is in the way of others.
            self._loop.call_later(self._bounds.handshake, self._expect_join, identity)
        elif self._admission is not None:
            record = make_join_record(self._join(aim.table), self.identity, MatchKey(self._seed))
            self._seat = Seat(record, identity)
            self._post(identity, JoinTable(record.wire))

    def peer_down(self, identity: bytes, reason: str) -> None:
        log.info("link to %s down: %s", fingerprint(identity), reason)
        if self._is_silent:
            return
        if self._match is not None and identity in self._authors:
            self._feed(Left(self._authors[identity]))
        if self._match is not None and self._match.is_formed:
            return
        if self._seat is not None and identity == self._seat.convenor:
            self._close_table("closed", f"the host is gone ({reason})")
        elif self._hosted is not None:
            if self._match is not None and identity in self._authors:
                self._lost_guests[identity] = self._loop.call_later(FORMING_PATIENCE, self._release, identity)
            else:
                self._release(identity)

    def peer_frame(self, identity: bytes, frame: Frame) -> None:
        with self._stopping_at_disk_errors():
            match frame:
                case Carried() | Need() | Page():
                    self._take_match_frame(identity, frame)
                case JoinTable():
                    self._take_join(identity, frame)
                case Table() | Propose() | Refuse():
                    if self._seat is not None and identity == self._seat.convenor:
                        self._take_word_of_convenor(self._seat, frame)
                case Leave():
                    self._mesh.disconnect(identity)

    def _take_match_frame(self, identity: bytes, frame: Carried | Need | Page) -> None:
        match = self._match
        if match is None or identity not in self._authors:
            return
        author = self._authors[identity]
        if isinstance(frame, Carried):
            try:
                signed = parse_signed(frame.data, frame.signature)
            except MalformedMessageError as error:
                log.info("unreadable message from %s: %s", fingerprint(identity), error)
                self._mesh.disconnect(identity)
                return
            if signed.message.match == match.record.match:
                self._feed(Received(author, signed))
        elif frame.match == match.record.match:
            if isinstance(frame, Page):
                self._feed(Paged(author, frame))
            elif frame.step <= match.record.position.step:
                self._feed(Needed(author, frame))

    # The lobby, as host

    def _join(self, table: bytes) -> Join:
        self._seed = secrets.token_bytes(32)
        match_key = MatchKey(self._seed).public
        self._store.add_seed(match_key, self._seed)
        # Link-local addresses mean nothing on another machine.
        hosts = [address for address in self._mesh.addresses if "%" not in address[0]]
        nonce = secrets.token_bytes(32)
        addresses = tuple(hosts[: limits.JOIN_ADDRESSES])
        return Join(table, self.identity.public, match_key, self.name, addresses, nonce, self.pledge)

    def _expect_join(self, identity: bytes) -> None:
        if self._hosted is not None and identity not in {record.join.identity for record in self._hosted.records}:
            self._mesh.disconnect(identity)

    def _take_join(self, identity: bytes, frame: JoinTable) -> None:
        table = self._hosted
        if table is None or (self._match is not None and self._match.is_formed):
            self._post(identity, Refuse("no-table", "no table is open here"))
            return
        try:
            table.admit(identity, frame.record)
        except NotAdmittedError as error:
            self._post(identity, Refuse(error.code, str(error)))
            self._loop.call_soon(self._mesh.disconnect, identity)
            return
        self._lobby_changed(table, joined=identity)
        if table.is_full:
            self.start_match()

    def _release(self, identity: bytes) -> None:
        """Free the seat of a guest who is gone, unless they came back or the match was formed after all."""
        self._lost_guests.pop(identity, None)
        is_formed = self._match is not None and self._match.is_formed
        table = self._hosted
        if table is None or is_formed or self._mesh.is_linked(identity):
            return
        gone = [_player(record.join.nickname, record.join.identity, self) for record in table.records]
        names = {record.join.identity: player for record, player in zip(table.records, gone, strict=True)}
        if table.release(identity):
            self._lobby_changed(table, left=names[identity])

    def _lobby_changed(self, table: HostedTable, *, joined: bytes = b"", left: PlayerInfo | None = None) -> None:
        frame = table.frame()
        for record in table.records[1:]:
            self._post(record.join.identity, frame)
        sitting = self._sitting(frame)
        new = tuple(_player(name, key, self) for name, key in frame.players if key == joined)
        self._tell(LobbyChanged(sitting, table.settings.seats, new, (left,) if left else ()))
        self._mesh.set_roster(record.join.identity for record in table.records)
        self._advertise()

    def _sitting(self, frame: Table) -> tuple[PlayerInfo, ...]:
        return tuple(_player(name, identity, self) for name, identity in frame.players)

    # The lobby, as guest

    def _take_word_of_convenor(self, seat: Seat, frame: Table | Propose | Refuse) -> None:
        if self._match is not None and self._match.is_formed:
            return
        try:
            if isinstance(frame, Refuse):
                self._close_table(frame.code, frame.reason)
            elif isinstance(frame, Propose):
                self._begin(frame.genesis, seat.check_proposal(frame.genesis))
            else:
                before = seat.table
                seat.update(frame)
                if self._admission is not None and not self._admission.done():
                    self._admission.set_result(None)
                elif before is not None:
                    joined = tuple(_player(*each, self) for each in frame.players if each not in before.players)
                    left = tuple(_player(*each, self) for each in before.players if each not in frame.players)
                    self._tell(LobbyChanged(self._sitting(frame), frame.seats, joined, left))
        except MalformedGenesisError as error:
            code = "rules" if isinstance(error, UnknownRulesError) else "refused"
            self._close_table(code, f"the host's word cannot be accepted: {error}")

    def _close_table(self, code: str, reason: str) -> None:
        """The table is gone for this guest: tell whoever waits for it. The code may be a peer's, so any text."""
        if code not in _CLOSING:
            code = "refused"
        seat, self._seat = self._seat, None
        if self._admission is not None and not self._admission.done():
            self._admission.set_exception(RefusedError(code, reason))
        else:
            self._tell(TableClosed(code, reason))
        if seat is not None:
            self._mesh.disconnect(seat.convenor)

    # The match

    def _begin(self, data: bytes, genesis: Genesis | None, stored: bytes | None = None) -> None:
        """Take part in a proposed match, or a ``stored`` one with this id, in place of an earlier proposal."""
        match_key = MatchKey(self._seed).public
        if genesis is not None:
            self._store.add_match(match_id(data), data, match_key, int(time.time()), self._mesh.port)
        roster = (genesis or Match(data, None, self._seed).record.genesis).roster
        me = next(author for author, record in enumerate(roster) if record.join.match_key == match_key)
        messages = self._store.messages(stored) if stored is not None else None
        choices = self._store.choices(stored) if stored is not None else None
        self._match = match = Match(data, me, self._seed, messages, choices)
        self._authors = {record.join.identity: author for author, record in enumerate(roster) if author != me}
        self._batch.clear()
        self._mesh.forget_all()
        self._mesh.set_roster(self._authors)
        for identity, author in self._authors.items():
            known = roster[author].join.addresses
            patience = 0.0 if stored is not None or me < author else LATER_DIALLER
            self._mesh.keep(
                identity,
                lambda identity=identity, known=known: self._peer_addresses(identity, known),  # type: ignore[misc]
                lambda: self._match_aim(match),
                patience,
            )
        self._feed(Ticked())
        for identity in self._mesh.linked():
            if identity in self._authors:
                self._feed(Linked(self._authors[identity]))

    def _peer_addresses(self, identity: bytes, known: tuple[Address, ...]) -> list[Address]:
        sighted = self._whereabouts.playing(self._match.record.match) if self._match is not None else ()
        own = set(self._mesh.addresses)
        candidates = dict.fromkeys((*self._store.addresses(identity), *known, *sighted))
        return [address for address in candidates if address not in own]

    def _match_aim(self, match: Match) -> MatchAim:
        position = match.record.position
        return MatchAim(match.record.match, position.step, position.tip)

    def _feed(self, item: MatchInput) -> None:
        if self._match is None or self._is_silent:
            return
        for effect in self._match.handle(item, self._loop.time()):
            match effect:
                case Choose():
                    self._store.add_choice(self._match.record.match, effect.step, effect.text)
                case Persist():
                    self._batch.append(effect.signed)
                case Send():
                    identity = self._match.record.genesis.roster[effect.author].join.identity
                    self._outbox.append((identity, encode_frame(effect.frame)))
                case Broadcast():
                    self._outbox.append((None, encode_frame(effect.frame)))
                case WakeAt():
                    if self._wake is not None:
                        self._wake.cancel()
                    self._wake = self._loop.call_at(effect.time, self._feed, Ticked())
                case _:
                    self._ending.append(effect)
        if self._match.is_ended and len(self._match.record.results) == self._match.record.players:
            self._all_confirmed.set()
        if self._outbox or self._ending:
            self._schedule_flush()

    # Carrying out

    def _schedule_flush(self) -> None:
        if not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Store, then send, then tell: all that this turn of the loop has caused."""
        self._flush_is_due = False
        match = self._match
        outbox, self._outbox = self._outbox, []
        ending, self._ending = self._ending, []
        # Messages of others wait for the next that leaves: a crash loses nothing that their authors do not have.
        must_store = bool(outbox) or len(self._batch) >= _BATCH or any(isinstance(effect, Ended) for effect in ending)
        with self._stopping_at_disk_errors():
            if match is not None and self._batch and must_store:
                self._store.write(match.record.match, self._batch)
                self._batch.clear()
            for identity, frame in outbox:
                for receiver in self._authors if identity is None else (identity,):
                    self._mesh.send(receiver, frame)
            self._mesh.flush()
            for effect in ending:
                self._carry_out(effect)

    @contextmanager
    def _stopping_at_disk_errors(self) -> Iterator[None]:
        try:
            yield
        except (StoreError, OSError) as error:
            self._stop(f"cannot write to {self.home.path}: {error}")

    def _carry_out(self, effect: Ended | Formed | Over | Show) -> None:
        match = self._match
        assert match is not None
        record = match.record
        match effect:
            case Show():
                self._tell(effect.event)
            case Formed():
                self._store.mark_formed(record.match)
                self._in_background(self._be_found())
            case Ended():
                path = self.home.transcript(record.match)
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                draft = path.with_suffix(".part")
                draft.write_bytes(write_transcript(record))
                draft.replace(path)
            case Over():
                self._store.mark_over(record.match)
                state = record.position.state
                assert state is not None
                path = self.home.transcript(record.match)
                self._tell(MatchOver(record.match.hex(), state.places, match.by_seat(), path, effect.confirmed))

    async def _be_found(self) -> None:
        await self._whereabouts.start()
        self._advertise()

    def _stop(self, reason: str) -> None:
        """Fall silent for good: what cannot be stored must not be sent."""
        if not self._is_silent:
            self._is_silent = True
            self._in_background(self._mesh.close())
            self._tell(Stopped(reason))

    def _tell(self, event: NodeEvent) -> None:
        self._events.put_nowait(event)


def _player(name: str, identity: bytes, node: Node) -> PlayerInfo:
    return PlayerInfo(name, fingerprint(identity), is_me=identity == node.identity.public)


_CLOSING: Final = ("closed", "full", "refused", "rules", "version", "no-table")
"""The codes of :class:`~protocol.events.TableClosed`."""


def _refusal(code: str, reason: str) -> NodeError:
    return NodeError(code if code in ("version", "rules", "full") else "refused", reason)


__all__ = ["Node", "NodeError", "TableSettings"]
