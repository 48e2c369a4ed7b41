"""This node as a spectator: it watches a table, then its match, and verifies the whole match itself.

Only the table before a match is taken on trust. The genesis must hash to the id of the requested match, and list the
player who sent it. From then on the same class :class:`~protocol.match.match.Match` as for a player runs without a
seat, fed through links to some of the players.

A spectator sees a move with some delay, for these reasons. A player passes the move on after the other frames of the
same pass of the event loop (:meth:`~protocol.node.outbox.Outbox.relay`), and collects frames for spectators for a
moment (:data:`~protocol.limits.SPECTATOR_DELAY`). After a lost link or message, the spectator has to send NEED. The
answers come in pages (:mod:`protocol.match.catch_up`), and players answer spectators at a limited rate
(:data:`~protocol.limits.SPECTATOR_PAGE_RATE`, which :mod:`protocol.node.audience` enforces). A latecomer sees nothing
before all pages have arrived. Finally, the table delays what it shows, so that a person can follow
(:class:`cli.table.pace.Pace`), by at most a quarter of the human patience (:mod:`cli.table.live_table`).
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence

from p2pdice import events as game
from protocol import limits
from protocol.consensus.replica import Learned, Replace
from protocol.crypto.keys import fingerprint
from protocol.errors import ErrorCode, NodeError, RefuseCode
from protocol.events import (
    Continued,
    Happened,
    LobbyChanged,
    MatchFormed,
    MatchResult,
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
from protocol.match.effects import CalledOff, Show, StoreChoice, Ticked, WriteTranscript
from protocol.match.lobby import Lobby, parse_public_genesis
from protocol.match.match import Match
from protocol.match.waiting import Clock
from protocol.net.addresses import Address
from protocol.net.dialer import DialError
from protocol.net.mesh import RefusedError
from protocol.node.audience import Floor
from protocol.node.locator import (
    NEXT_PLAYER,
    PossibleHost,
    Target,
    WayBack,
    error_for_owner,
    host_gone,
    known_code,
    unreachable,
)
from protocol.node.runtime import Runtime
from protocol.node.session import Occasion, Session
from protocol.wire.frames import (
    Carried,
    Customs,
    Cut,
    Frame,
    Have,
    MatchAim,
    Page,
    Propose,
    Refuse,
    Table,
    TableAim,
    WatchAim,
)
from protocol.wire.genesis import MalformedGenesisError, UnknownRulesError, match_id

log = logging.getLogger(__name__)


class FollowedMatch(Session):
    """A match that this node watches.

    :param token: the token of the table, if it is private.
    :param over: called once the owner has been shown the end.
    :param saw_start: whether this node watched from before the start. If not, the owner is first shown the current
        state of the match.
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
        self._over = over
        self._is_current = saw_start
        self._caught_up_to = b""
        """The tip of the step that was open when this node had caught up. The beginning of that step is unknown."""
        self._end: Happened | None = None
        """The end of the game, if it came before this node had caught up."""
        self._reached: dict[bytes, Address] = {}
        self._up: set[bytes] = set()
        self._doubtful: set[bytes] = set()
        """The linked players to dial again, because this machine slept or its addresses changed."""
        self._losses: dict[bytes, asyncio.Event] = {}
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue()
        self._holding: list[asyncio.Task[None]] = []
        self._unreached: dict[bytes, frozenset[int]] = {}
        """The players that each linked player cannot reach, by the linked player's identity."""
        self._told_away: frozenset[int] = frozenset()
        """The players reported as away, based on what the linked players say."""
        self._telling: asyncio.TimerHandle | None = None

    def start(self, source: bytes, at: Address) -> None:
        """Catch up from the linked player, and link with others."""
        self._runtime.mesh.set_roster(
            self.authors
        )  # a player who relays the whole match must not be limited like a stranger
        others = [identity for identity in self.authors if identity != source]
        self._waiting.put_nowait(source)
        for identity in secrets.SystemRandom().sample(others, len(others)):  # spread spectators over the players
            self._waiting.put_nowait(identity)
        links = min(limits.SPECTATOR_LINKS, len(self.authors))
        self._holding = [self._runtime.in_background(self._hold_a_link()) for _ in range(links)]
        self._runtime.in_background(self._look_around())
        self.feed(Ticked())
        self.greet(source, at)

    async def _look_around(self) -> None:
        await self._runtime.locator.start()

    def close(self, keep: bytes = b"") -> None:
        """Stop following the match.

        :param keep: the identity of a player whose link stays.
        """
        super().close()
        if self._telling is not None:
            self._telling.cancel()
        for task in self._holding:
            task.cancel()
        for identity in sorted(self._up - {keep}):
            self._runtime.mesh.disconnect(identity)

    def reached(self, identity: bytes) -> Address:
        return self._reached[identity]

    # Links

    async def _hold_a_link(self) -> None:
        """Keep a link to one player at a time, moving on to the next when a link is lost or cannot be made."""
        mesh = self._runtime.mesh
        while True:
            identity = await self._waiting.get()
            lost = self._losses[identity] = asyncio.Event()
            try:
                if identity not in self._up or identity in self._doubtful:
                    self._doubtful.discard(identity)
                    aim = WatchAim(self.match.id, self.token)
                    await mesh.connect(self._addresses(identity), aim, identity.__eq__)
                await lost.wait()
            except (DialError, RefusedError) as error:
                log.info("cannot watch with %s: %s", fingerprint(identity), error)
            await asyncio.sleep(NEXT_PLAYER)
            self._waiting.put_nowait(identity)

    def dial_anew(self) -> None:
        """Dial all linked players again. If that fails, the old link stays: it may still bring the end of the match."""
        self._doubtful = set(self._up)
        for identity in self._up & {*self._losses}:
            self._losses[identity].set()

    def _addresses(self, identity: bytes) -> list[Address]:
        join = self.match.history.genesis.roster[self.authors[identity]].join
        reached = [self._reached[identity]] if identity in self._reached else []
        return [*reached, *self._runtime.where(identity, self.match.id, join.addresses)]

    def greet(self, identity: bytes, at: Address) -> None:
        """Record that a player at this address lets this node watch."""
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
        if identity in self._losses:
            self._losses[identity].set()
        if identity not in self._up:
            return
        self._up.discard(identity)
        self._unreached.pop(identity, None)
        self._tell_away_later()
        if not self._up and not self.match.is_ended:
            self._runtime.tell(Notice("No player can be reached at the moment. You will see more as soon as one can."))

    def clock(self) -> Clock | None:
        return None if self.match.history.position.tip == self._caught_up_to else super().clock()

    def hear_cut(self, identity: bytes, cut: Cut) -> None:
        """Record which players another player cannot reach."""
        if cut.match == self.match.id:
            self._unreached[identity] = frozenset(cut.authors) & {*self.authors.values()}
            self._tell_away_later()

    def _tell_away_later(self) -> None:
        """Report soon which players are away. The delay limits the notices, and most players are back at once."""
        if self._telling is None:
            self._telling = self._runtime.loop.call_later(limits.AWAY_TOLD, self._tell_away)

    def _tell_away(self) -> None:
        """Report players whom no linked player can reach as away, unless this node itself follows every player."""
        self._telling = None
        if self._follows_all() or not self._up or not self._is_current or self.match.is_ended:
            return
        here = {self.authors[identity] for identity in self._up}
        said = [self._unreached.get(identity, frozenset[int]()) for identity in self._up]
        away = frozenset.intersection(*said) - here
        for author in sorted(away ^ self._told_away):
            player = self.match.info[author]
            self._runtime.tell(PeerLost(player) if author in away else PeerBack(player))
        self._told_away = away

    def take(self, identity: bytes, frame: Carried | Page | Have) -> None:
        before = self.match.history.position.tip
        super().take(identity, frame)
        if isinstance(frame, Page) and self.match.history.position.tip != before:
            self._caught_up_to = self.match.history.position.tip
        if isinstance(frame, Page) and not frame.cursor and self.match.is_formed:
            self._runtime.outbox.afterwards(self._become_current)

    # The match

    def follow_up(self) -> None:
        """Do nothing: a spectator owes nothing and stores nothing."""

    def keep(self, effect: StoreChoice | Learned | Replace) -> None:
        """Store nothing: the players can resend everything."""

    def carry_out(self, effect: WriteTranscript | CalledOff | Show) -> None:
        match effect:
            case Show(MatchResult() as event):
                self._become_current()
                self.tell(event)
                self.is_over = True
                self._over()
            case Show():
                self._show(effect.event)
            case WriteTranscript():
                self.keep_transcript()
            case CalledOff():
                pass  # the store keeps only matches that can be resumed

    def _show(self, event: NodeEvent) -> None:
        if isinstance(event, PeerLost | PeerBack | Suspended | Overdue | Continued) and not self._follows_all():
            return  # inferred from this node's links, which prove nothing unless they reach all players
        if self._is_current:
            self.tell(event)
        elif isinstance(event, Happened) and isinstance(event.event, game.MatchOver):
            self._end = event
        elif not isinstance(event, Happened | MatchStarted | MatchFormed | TakenBack):
            self._runtime.tell(event)

    def _follows_all(self) -> bool:
        return len(self._reached) == len(self.authors) <= limits.SPECTATOR_LINKS

    def _become_current(self) -> None:
        """Report the current state of the match, in place of the events that led to it."""
        if self._is_current:
            return
        self._is_current = True
        self._tell_away_later()
        history = self.match.history
        if not self.occasion.table_name:  # no player sends a latecomer the table's name, but it may be advertised
            self.occasion = self.occasion._replace(table_name=self._runtime.locator.table_of(history.match))
        state = history.position.state
        if state is not None:
            ruleset = history.genesis.ruleset
            self.tell(MatchStarted(history.match.hex(), ruleset, self.match.by_seat(), None, state, resumed=True))
        if self._end is not None:
            self._runtime.tell(self._end)


class SpectatorSession:
    """A table or match that this node watches.

    :param only_match: whether to refuse a table that is still open, because this node would rather sit down there.
    """

    def __init__(self, runtime: Runtime, *, only_match: bool = False) -> None:
        self._runtime = runtime
        self._only_match = only_match
        self._target: Target | None = None
        self._source = b""
        """The peer that answered first: the host of a table, or any player of a match."""
        self._source_at: Address = ("", 0)
        self._lobby: Lobby | None = None
        self._arrival: asyncio.Future[None] | None = None
        self._next: tuple[bytes, Table] | None = None
        """The host who opened the table again, and the table as it was last shown."""
        self.followed: FollowedMatch | None = None
        self.over = asyncio.Event()
        """Set once the end of a match has been reported."""

    async def enter(self, targets: Sequence[Target]) -> None:
        """Begin to watch at the first target that shows something, and return once it does.

        :raises NodeError: if no target is reached or lets this node watch; the error gives the last reason.
        """
        problem: NodeError | None = None
        for target in targets:
            try:
                await self._enter(target)
            except DialError as error:
                problem = unreachable(error)
            except RefusedError as error:
                problem = error_for_owner(error)
            else:
                return
        raise problem or NodeError(ErrorCode.UNREACHABLE, "no address is known to connect to")

    async def _enter(self, target: Target) -> None:
        self._target, self._source, self._lobby = target, b"", None
        self._arrival = self._runtime.loop.create_future()
        try:
            await self._runtime.mesh.connect(target.addresses, WatchAim(target.id, target.token), target.may_be)
            async with asyncio.timeout(self._runtime.bounds.handshake):
                await self._arrival
        except TimeoutError:
            source, self._source = self._source, b""
            self._runtime.mesh.disconnect(source)
            raise DialError("a program answered there but showed nothing") from None
        finally:
            self._arrival = None

    # Links

    def greet(self, identity: bytes, aim: TableAim | MatchAim, at: Address) -> None:
        """Record that a peer lets this node watch a table or match."""
        if self.followed is not None:
            if isinstance(aim, MatchAim) and aim.match == self.followed.match.id:
                self.followed.greet(identity, at)
            else:
                self._runtime.mesh.disconnect(identity)
        elif self._arrival is not None:
            self._source, self._source_at = identity, at
            if isinstance(aim, TableAim) and self._only_match:
                self._close(RefuseCode.NO_MATCH, "the match is over, and the table is open again")
            elif isinstance(aim, TableAim):
                self._lobby = Lobby(aim.table, identity)

    def lost(self, identity: bytes, reason: str) -> None:
        """Record that a link is down. A match can be followed through another player; a table is gone with its host."""
        if self.followed is not None:
            if self._next is not None and self._next[0] == identity:
                self._next = None
            self.followed.lost(identity, reason)
        elif identity == self._source:
            self._close(RefuseCode.CLOSED, host_gone(reason))

    def is_shown_by(self, identity: bytes) -> bool:
        """Return whether a peer shows this node what it watches: a player of the match, or before it the peer that
        answered first."""
        return identity in self.followed.authors if self.followed is not None else identity == self._source

    def take(self, identity: bytes, frame: Frame) -> None:
        """Take a frame from a peer that :meth:`is_shown_by`."""
        if self.followed is not None:
            if isinstance(frame, Carried | Page | Have):
                self.followed.take(identity, frame)
            elif isinstance(frame, Cut):
                self.followed.hear_cut(identity, frame)
            elif isinstance(frame, Table) and self.followed.match.is_ended and self._may_host(identity):
                self._next = identity, frame
                self._go_on()
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
        """Return whether this player may have reopened the table. If the host is known, only the host may."""
        assert self.followed is not None
        return identity in self.followed.authors and (self._lobby is None or identity == self._lobby.host)

    def _ended(self) -> None:
        self.over.set()
        self._go_on()

    def _go_on(self) -> None:
        """Watch the reopened table, once the owner has been shown the end of the previous match."""
        if self._next is None or self.followed is None or not self.followed.is_over:
            return
        (identity, frame), self._next = self._next, None
        before, self.followed = self.followed, None
        before.close(keep=identity)
        table = before.match.history.genesis.table
        self._source, self._source_at = identity, before.reached(identity)
        self._target = Target((), table, fingerprint(identity), before.token)
        self._lobby = Lobby(table, identity)
        try:
            self._look_at(self._lobby, frame)
        except MalformedGenesisError as error:
            self._close_for(error)

    def way_back(self) -> WayBack | None:
        """Return the way back to the watched table, or to the table of the watched match; None before it is shown."""
        if self.followed is None:
            if self._lobby is None or self._lobby.shown is None or self._target is None:
                return None
            player = self._host(self._lobby, self._lobby.shown)
            return WayBack((PossibleHost(self._lobby.host, player, (self._source_at,)),), b"", self._target.token)
        return self.followed.way_back(self._lobby.host if self._lobby is not None else b"", self.followed.token)

    def leave(self) -> None:
        """Stop watching, and close the link to the table's host."""
        self.close()
        if self._source:
            self._runtime.mesh.disconnect(self._source)

    def dial_anew(self) -> None:
        """Replace links that may be dead."""
        if self.followed is not None:
            self.followed.dial_anew()

    def close(self) -> None:
        if self.followed is not None:
            self.followed.close()

    def floors(self) -> tuple[Floor, ...]:
        """Return the floors of the watched table and of its match."""
        floors = []
        shown = self._lobby.shown if self._lobby is not None else None
        is_open = shown is not None and bool(shown.customs.talk)
        if self._lobby is not None and self._lobby.shown is not None:
            sitting = {key: self._runtime.player(name, key) for name, key in self._lobby.shown.players}
            reach: tuple[bytes, ...] = (self._source,) if is_open and self.followed is None else ()
            floors.append(Floor(self._lobby.id, sitting, (self._source,), reach, is_open=is_open))
        if self.followed is not None:
            match = self.followed.match
            playing = {identity: match.info[author] for identity, author in self.followed.authors.items()}
            reach = tuple(filter(self._runtime.mesh.is_linked, playing)) if is_open else ()
            floors.append(Floor(match.history.match, playing, playing, reach, is_open=is_open))
        return tuple(floors)

    # Before the match

    def _look_at(self, lobby: Lobby, frame: Table) -> None:
        assert self._target is not None
        before = lobby.shown
        lobby.hear(self._runtime.loop.time())
        self._target.check_name(frame.name)
        lobby.update(frame)
        if before is not None:
            self._runtime.tell(self._runtime.lobby_changed(before, frame))
            return
        assert lobby.ruleset is not None
        self._runtime.learn_rules_name(lobby.ruleset, frame.rules_name)
        rules = self._runtime.rules_name(lobby.ruleset)
        host = self._host(lobby, frame)
        self._runtime.tell(TableWatched(frame.name, host, lobby.ruleset, frame.seats, rules, *frame.customs))
        self._runtime.tell(LobbyChanged(self._runtime.players(frame), frame.seats))
        self._arrived()

    def _host(self, lobby: Lobby, frame: Table) -> PlayerInfo:
        name = next((name for name, identity in frame.players if identity == lobby.host), "?")
        return self._runtime.player(name, lobby.host)

    def _arrived(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    def _close(self, code: str, reason: str) -> None:
        """Give up the table because it is closed. The code comes from a peer and may be any text."""
        known = known_code(code)
        source, self._source = self._source, b""
        if self._arrival is None:
            self._runtime.tell(TableClosed(known, reason))
        elif not self._arrival.done():
            self._arrival.set_exception(RefusedError(known, reason))
        self._runtime.mesh.disconnect(source)

    def _follow(self, data: bytes) -> None:
        """Follow the match that begins with this genesis.

        :raises MalformedGenesisError: if it is not the match that was requested or announced.
        """
        assert self._target is not None
        lobby = self._lobby
        genesis = lobby.check_genesis(data) if lobby is not None else parse_public_genesis(data)
        if self._target.id not in (b"", genesis.table, match_id(data)):
            raise MalformedGenesisError("it is another match than the one that was asked for")
        if all(record.join.identity != self._source for record in genesis.roster):
            raise MalformedGenesisError("the match was shown by somebody who is not playing in it")
        table = lobby.shown.name if lobby is not None and lobby.shown is not None else self._target.name
        customs = lobby.shown.customs if lobby is not None and lobby.shown is not None else Customs()
        occasion = Occasion.now(table, customs)
        match = Match(data, None, b"")
        token = self._target.token
        self.followed = FollowedMatch(self._runtime, match, occasion, token, self._ended, saw_start=lobby is not None)
        self.followed.start(self._source, self._source_at)
        self._arrived()
