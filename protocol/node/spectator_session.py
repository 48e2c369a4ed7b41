"""This node as a spectator: it follows a match over links to some of its players, and verifies all of it itself.

Nothing is taken on a player's word but the announcement of a table that has not begun. The genesis must hash to the
match that was asked for and name the player who sent it; everything else goes through the same
:class:`~protocol.match.match.Match` as a player's own, without a seat.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Final

from p2pdice import events as game
from protocol import limits
from protocol.crypto.keys import fingerprint
from protocol.errors import ErrorCode, NodeError, RefuseCode
from protocol.events import (
    Continued,
    Happened,
    LobbyChanged,
    MatchFormed,
    MatchStarted,
    NodeEvent,
    Notice,
    Overdue,
    PeerBack,
    PeerLost,
    PlayerInfo,
    Suspended,
    TableClosed,
    TableWatched,
    TakenBack,
)
from protocol.match.effects import CalledOff, Choose, Ended, Formed, Over, Overheard, Persist, Replace, Show, Ticked
from protocol.match.lobby import Lobby, parse_public_genesis
from protocol.match.match import Match
from protocol.net.addresses import Address
from protocol.net.dialer import DialError
from protocol.net.mesh import RefusedError
from protocol.node.locator import Target
from protocol.node.refusals import closing_code, host_gone, refusal, unreachable
from protocol.node.returning import PossibleHost, WayBack, hosts_among
from protocol.node.runtime import Runtime
from protocol.node.session import Occasion, Session
from protocol.node.talking import Floor
from protocol.wire.frames import Carried, Frame, Have, MatchAim, Page, Propose, Refuse, Table, TableAim, WatchAim
from protocol.wire.genesis import MalformedGenesisError, UnknownRulesError, match_id

log = logging.getLogger(__name__)

PAUSE: Final = 0.5
"""Seconds between an attempt to reach a player that failed and one to reach the next."""


class SpectatorSession:
    """A table or match that this node looks at, from the first word of whoever answers."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._target: Target | None = None
        self._source = b""
        """Whoever answered first: the convenor of a table, or any player of a match."""
        self._source_at: Address = ("", 0)
        self._lobby: Lobby | None = None
        self._arrival: asyncio.Future[None] | None = None
        self._next: tuple[bytes, Table] | None = None
        """Who opened the table again, and the table as it was shown last."""
        self.followed: Followed | None = None
        self.over = asyncio.Event()
        """The end of a match was told."""

    async def enter(self, places: Sequence[Target]) -> None:
        """Begin to watch at the first place where that is possible. Returns when it is known what is to be seen.

        :raises NodeError: if nobody is reached or nobody lets us watch; says why the last one did not.
        """
        problem: NodeError | None = None
        for place in places:
            try:
                await self._enter(place)
            except DialError as error:
                problem = unreachable(error)
            except RefusedError as error:
                problem = refusal(error)
            else:
                return
        raise problem or NodeError(ErrorCode.UNREACHABLE, "nobody is known to dial")

    async def _enter(self, place: Target) -> None:
        def accept(identity: bytes) -> bool:
            return not place.fingerprint or fingerprint(identity) == place.fingerprint

        self._target, self._source, self._lobby = place, b"", None
        self._arrival = self._runtime.loop.create_future()
        try:
            await self._runtime.mesh.connect(place.addresses, WatchAim(place.id, place.token), accept)
            async with asyncio.timeout(self._runtime.bounds.handshake):
                await self._arrival
        except TimeoutError:
            source, self._source = self._source, b""
            self._runtime.mesh.disconnect(source)
            raise DialError("somebody answers there, but shows us nothing") from None
        finally:
            self._arrival = None

    # Links

    def greet(self, identity: bytes, aim: TableAim | MatchAim, at: Address) -> None:
        """Note that somebody lets us watch, and what."""
        if self.followed is not None:
            if isinstance(aim, MatchAim) and aim.match == self.followed.match.record.match:
                self.followed.greet(identity, at)
            else:
                self._runtime.mesh.disconnect(identity)
        elif self._arrival is not None:
            self._source, self._source_at = identity, at
            if isinstance(aim, TableAim):
                self._lobby = Lobby(aim.table, identity)

    def lost(self, identity: bytes, reason: str) -> None:
        """Note that a link is down: another player will do, but a table that has not begun is gone with its host."""
        if self.followed is not None:
            self.followed.lost(identity, reason)
        elif identity == self._source:
            self._close(RefuseCode.CLOSED, host_gone(reason))

    def take(self, identity: bytes, frame: Frame) -> None:
        """Take what a player says, or before the match whoever answered first."""
        if self.followed is not None:
            if isinstance(frame, Carried | Page | Have) and identity in self.followed.authors:
                self.followed.take(identity, frame)
            elif isinstance(frame, Table) and self.followed.match.is_ended and self._may_host(identity):
                self._next = identity, frame
                self._go_on()
            return
        if identity != self._source:
            return
        try:
            match frame:
                case Refuse():
                    self._close(frame.code, frame.reason)
                case Propose():
                    self._follow(frame.genesis)
                case Table() if self._lobby is not None:
                    self._look_at(self._lobby, frame)
        except MalformedGenesisError as error:
            self._close_for(error)

    def _close_for(self, error: MalformedGenesisError) -> None:
        code = RefuseCode.RULES if isinstance(error, UnknownRulesError) else RefuseCode.REFUSED
        self._close(code, f"what is shown there cannot be accepted: {error}")

    def _may_host(self, identity: bytes) -> bool:
        """Tell whether a player of the match may have opened its table again: who hosted it, if that is known."""
        assert self.followed is not None
        return identity in self.followed.authors and (self._lobby is None or identity == self._lobby.convenor)

    def _ended(self) -> None:
        self.over.set()
        self._go_on()

    def _go_on(self) -> None:
        """Look at the table that was opened again, as soon as the end of the match before was told."""
        if self._next is None or self.followed is None or not self.followed.is_over:
            return
        (identity, frame), self._next = self._next, None
        before, self.followed = self.followed, None
        before.close(keep=identity)
        table = before.match.record.genesis.table
        self._source, self._source_at = identity, before.reached(identity)
        self._target = Target((), table, fingerprint(identity), before.token)
        self._lobby = Lobby(table, identity)
        try:
            self._look_at(self._lobby, frame)
        except MalformedGenesisError as error:
            self._close_for(error)

    def way_back(self) -> WayBack | None:
        """Return how to sit down at the table that is watched, or whose match was; None as long as nothing is seen."""
        if self.followed is None:
            if self._lobby is None or self._lobby.table is None or self._target is None:
                return None
            player = self._host(self._lobby, self._lobby.table)
            return WayBack((PossibleHost(self._lobby.convenor, player, (self._source_at,)),), b"", self._target.token)
        record = self.followed.match.record
        hosts = tuple(
            PossibleHost(identity, self.followed.match.info[author], record.genesis.roster[author].join.addresses)
            for identity, author in self.followed.authors.items()
        )
        convenor = self._lobby.convenor if self._lobby is not None else b""
        return WayBack(hosts_among(hosts, convenor), record.match, self.followed.token)

    def leave(self) -> None:
        """Stop watching."""
        self.close()
        if self._source:
            self._runtime.mesh.disconnect(self._source)

    def dial_anew(self) -> None:
        """Give up links that may be dead, for new ones."""
        if self.followed is not None:
            self.followed.dial_anew()

    def close(self) -> None:
        """Follow nobody any more."""
        if self.followed is not None:
            self.followed.close()

    def floors(self) -> tuple[Floor, ...]:
        """Return where words are heard: at the table that was watched, and in its match."""
        floors = []
        if self._lobby is not None and self._lobby.table is not None:
            sitting = {key: self._runtime.player(name, key) for name, key in self._lobby.table.players}
            floors.append(Floor(self._lobby.id, sitting, relays=(self._source,)))
        if self.followed is not None:
            match = self.followed.match
            playing = {identity: match.info[author] for identity, author in self.followed.authors.items()}
            floors.append(Floor(match.record.match, playing, relays=playing))
        return tuple(floors)

    # Before the match

    def _look_at(self, lobby: Lobby, frame: Table) -> None:
        assert self._target is not None
        before = lobby.table
        self._target.check_name(frame.name)
        lobby.update(frame)
        if before is not None:
            self._runtime.tell(self._runtime.lobby_changed(before, frame))
            return
        assert lobby.ruleset is not None
        self._runtime.tell(TableWatched(frame.name, self._host(lobby, frame), lobby.ruleset, frame.seats))
        self._runtime.tell(LobbyChanged(self._runtime.players(frame), frame.seats))
        self._arrived()

    def _host(self, lobby: Lobby, frame: Table) -> PlayerInfo:
        name = next((name for name, identity in frame.players if identity == lobby.convenor), "?")
        return self._runtime.player(name, lobby.convenor)

    def _arrived(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    def _close(self, code: str, reason: str) -> None:
        """Nothing is to be seen there. The code may be a peer's, so any text."""
        known = closing_code(code)
        source, self._source = self._source, b""
        if self._arrival is None:
            self._runtime.tell(TableClosed(known, reason))
        elif not self._arrival.done():
            self._arrival.set_exception(RefusedError(known, reason))
        self._runtime.mesh.disconnect(source)

    def _follow(self, data: bytes) -> None:
        """Follow the match that this genesis begins.

        :raises MalformedGenesisError: if it is not the one that was asked for or announced.
        """
        assert self._target is not None
        lobby = self._lobby
        genesis = lobby.check_genesis(data) if lobby is not None else parse_public_genesis(data)
        if self._target.id not in (b"", genesis.table, match_id(data)):
            raise MalformedGenesisError("it is another match than the one that was asked for")
        if all(record.join.identity != self._source for record in genesis.roster):
            raise MalformedGenesisError("who shows the match does not play in it")
        table = lobby.table.name if lobby is not None and lobby.table is not None else self._target.name
        occasion = Occasion(int(time.time()), table)
        match = Match(data, None, b"")
        token = self._target.token
        self.followed = Followed(self._runtime, match, occasion, token, self._ended, saw_start=lobby is not None)
        self.followed.start(self._source, self._source_at)
        self._arrived()


class Followed(Session):
    """A match that this node watches.

    :param token: what its players ask for if the table is private.
    :param over: called when the owner has been told the end.
    :param saw_start: whether it was watched since before its start; if not, only where it stands is told at first.
    """

    def __init__(
        self,
        runtime: Runtime,
        match: Match,
        occasion: Occasion,
        token: str,
        over: Callable[[], None],
        *,
        saw_start: bool,
    ) -> None:
        super().__init__(runtime, match, occasion)
        self.token = token
        self.is_over = False
        """The owner was told the end."""
        self._over = over
        self._is_current = saw_start
        self._end: Happened | None = None
        """What the game said of its end before this node had caught up."""
        self._reached: dict[bytes, Address] = {}
        self._up: set[bytes] = set()
        self._losses: dict[bytes, asyncio.Event] = {}
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue()
        self._holding: list[asyncio.Task[None]] = []

    def start(self, source: bytes, at: Address) -> None:
        """Catch up with the player who is linked already, and link with others."""
        others = [identity for identity in self.authors if identity != source]
        self._waiting.put_nowait(source)
        for identity in secrets.SystemRandom().sample(others, len(others)):  # spectators spread over the players
            self._waiting.put_nowait(identity)
        links = min(limits.SPECTATOR_LINKS, len(self.authors))
        self._holding = [self._runtime.in_background(self._hold_a_link()) for _ in range(links)]
        self._runtime.in_background(self._look_around())
        self.feed(Ticked())
        self.greet(source, at)

    async def _look_around(self) -> None:
        await self._runtime.locator.start()

    def close(self, keep: bytes = b"") -> None:
        """Follow the match no more.

        :param keep: whose link stays.
        """
        super().close()
        for task in self._holding:
            task.cancel()
        for identity in sorted(self._up - {keep}):
            self._runtime.mesh.disconnect(identity)

    def reached(self, identity: bytes) -> Address:
        """Return where a player was reached."""
        return self._reached[identity]

    # Links

    async def _hold_a_link(self) -> None:
        """Stay linked with one player after another: with the next when one is gone or cannot be reached."""
        mesh = self._runtime.mesh
        while True:
            identity = await self._waiting.get()
            lost = self._losses[identity] = asyncio.Event()
            try:
                if identity not in self._up:
                    aim = WatchAim(self.match.record.match, self.token)
                    await mesh.connect(self._addresses(identity), aim, identity.__eq__)
                await lost.wait()
            except (DialError, RefusedError) as error:
                log.info("cannot watch with %s: %s", fingerprint(identity), error)
                await asyncio.sleep(PAUSE)
            self._waiting.put_nowait(identity)

    def dial_anew(self) -> None:
        """Give up the links that are up: every one is replaced by another."""
        for identity in sorted(self._up):
            self._runtime.mesh.disconnect(identity)

    def _addresses(self, identity: bytes) -> list[Address]:
        join = self.match.record.genesis.roster[self.authors[identity]].join
        reached = (self._reached[identity],) if identity in self._reached else ()
        sighted = self._runtime.locator.playing(self.match.record.match)
        return list(dict.fromkeys((*reached, *join.addresses, *sighted)))

    def greet(self, identity: bytes, at: Address) -> None:
        """Note that a player lets us watch, and where that player was reached."""
        if identity not in self.authors:
            self._runtime.mesh.disconnect(identity)
            return
        if not self._up and self._reached and self._is_current:
            self._runtime.tell(Notice("The match can be followed again."))
        self._reached[identity] = at
        self._up.add(identity)
        self.linked(identity)

    def lost(self, identity: bytes, reason: str) -> None:
        super().lost(identity, reason)
        if identity not in self._up:
            return
        self._up.discard(identity)
        if identity in self._losses:
            self._losses[identity].set()
        if not self._up and not self.match.is_ended:
            self._runtime.tell(Notice("No player can be reached at the moment. You will see more as soon as one can."))

    def take(self, identity: bytes, frame: Carried | Page | Have) -> None:
        super().take(identity, frame)
        if isinstance(frame, Page) and not frame.cursor and self.match.is_formed:
            self._runtime.outbox.afterwards(self._become_current)

    # The match

    def keep(self, effect: Choose | Persist | Overheard | Replace) -> None:
        """A spectator needs nothing again that its players cannot send again."""

    def carry_out(self, effect: Ended | Formed | CalledOff | Over | Show) -> None:
        match effect:
            case Show():
                self._show(effect.event)
            case Formed() | CalledOff():
                pass  # the store keeps matches that can be resumed
            case Ended():
                self.keep_transcript()
            case Over():
                self._become_current()
                self._runtime.tell(self.result(effect.confirmed))
                self.is_over = True
                self._over()

    def _show(self, event: NodeEvent) -> None:
        if isinstance(event, PeerLost | PeerBack | Suspended | Overdue | Continued) and not self._follows_all():
            return  # concluded from our links, which say nothing of players whom we do not follow
        if self._is_current:
            self.tell(event)
        elif isinstance(event, Happened) and isinstance(event.event, game.MatchOver):
            self._end = event
        elif not isinstance(event, Happened | MatchStarted | MatchFormed | TakenBack):
            self._runtime.tell(event)

    def _follows_all(self) -> bool:
        return len(self._reached) == len(self.authors) <= limits.SPECTATOR_LINKS

    def _become_current(self) -> None:
        """Tell where the match stands, instead of all that led there."""
        if self._is_current:
            return
        self._is_current = True
        record = self.match.record
        if not self.occasion.table:  # no player tells a latecomer the name of the table, but the network may
            self.occasion = self.occasion._replace(table=self._runtime.locator.table_of(record.match))
        state = record.position.state
        if state is not None:
            ruleset = record.genesis.ruleset
            self.tell(MatchStarted(record.match.hex(), ruleset, self.match.by_seat(), None, state, resumed=True))
        if self._end is not None:
            self._runtime.tell(self._end)
