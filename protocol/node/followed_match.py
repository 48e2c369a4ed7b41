"""A match that this node watches, through links to some of its players."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from typing import Final

from p2pdice import events as game
from protocol import limits
from protocol.consensus.replica import Learned, Replace
from protocol.crypto.keys import fingerprint
from protocol.events import (
    Continued,
    Happened,
    MatchFormed,
    MatchStarted,
    NodeEvent,
    Notice,
    Overdue,
    PeerBack,
    PeerLost,
    Suspended,
    TakenBack,
)
from protocol.match.effects import CalledOff, Ended, Formed, Over, Show, StoreChoice, Ticked
from protocol.match.match import Match
from protocol.match.progress import Clock
from protocol.net.addresses import Address
from protocol.net.dialer import DialError
from protocol.net.mesh import RefusedError
from protocol.node.runtime import Runtime
from protocol.node.session import Occasion, Session
from protocol.wire.frames import Carried, Cut, Have, Page, WatchAim

log = logging.getLogger(__name__)

PAUSE: Final = 0.5
"""Seconds between an attempt to reach a player that failed and one to reach the next."""


class FollowedMatch(Session):
    """A match that this node watches.

    :param token: of the table, if it is private.
    :param over: called when the owner has been told the end.
    :param saw_start: this node watched from before the start. If not, the owner is told the state of the
        match first.
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
        """Tip of the step that was open when this node had caught up: nobody tells it when that step began."""
        self._end: Happened | None = None
        """The end of the game, if it came before this node had caught up."""
        self._reached: dict[bytes, Address] = {}
        self._up: set[bytes] = set()
        self._losses: dict[bytes, asyncio.Event] = {}
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue()
        self._holding: list[asyncio.Task[None]] = []
        self._unreached: dict[bytes, frozenset[int]] = {}
        """The players whom a linked player cannot reach, by that player's identity."""
        self._told_away: frozenset[int] = frozenset()
        """Those who were told to be away, as far as the linked players say."""
        self._telling: asyncio.TimerHandle | None = None

    def start(self, source: bytes, at: Address) -> None:
        """Catch up from the linked player, and link with others."""
        self._runtime.mesh.set_roster(self.authors)  # whom one follows is no stranger: each relays the whole match
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

        :param keep: identity of a player whose link stays.
        """
        super().close()
        if self._telling is not None:
            self._telling.cancel()
        for task in self._holding:
            task.cancel()
        for identity in sorted(self._up - {keep}):
            self._runtime.mesh.disconnect(identity)

    def reached(self, identity: bytes) -> Address:
        """Return the address at which a player was reached."""
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
                    aim = WatchAim(self.match.id, self.token)
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
        join = self.match.history.genesis.roster[self.authors[identity]].join
        reached = [self._reached[identity]] if identity in self._reached else []
        return [*reached, *self._runtime.where(identity, self.match.id, join.addresses)]

    def greet(self, identity: bytes, at: Address) -> None:
        """Note that a player at this address lets this node watch."""
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
        self._unreached.pop(identity, None)
        self._tell_away_later()
        if identity in self._losses:
            self._losses[identity].set()
        if not self._up and not self.match.is_ended:
            self._runtime.tell(Notice("No player can be reached at the moment. You will see more as soon as one can."))

    def clock(self) -> Clock | None:
        return None if self.match.history.position.tip == self._caught_up_to else super().clock()

    def hear_cut(self, identity: bytes, cut: Cut) -> None:
        """Hear whom a player cannot reach."""
        if cut.match == self.match.id:
            self._unreached[identity] = frozenset(cut.authors) & {*self.authors.values()}
            self._tell_away_later()

    def _tell_away_later(self) -> None:
        """Tell in a moment who is away: no player says it without end, and most are back at once."""
        if self._telling is None:
            self._telling = self._runtime.loop.call_later(limits.AWAY_TOLD, self._tell_away)

    def _tell_away(self) -> None:
        """Tell who is away: those whom no linked player reaches, if this node does not follow all of them itself."""
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

    def keep(self, effect: StoreChoice | Learned | Replace) -> None:
        """A spectator stores nothing: players can resend everything."""

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
            return  # guessed from our links, which say nothing about players that we do not follow
        if self._is_current:
            self.tell(event)
        elif isinstance(event, Happened) and isinstance(event.event, game.MatchOver):
            self._end = event
        elif not isinstance(event, Happened | MatchStarted | MatchFormed | TakenBack):
            self._runtime.tell(event)

    def _follows_all(self) -> bool:
        return len(self._reached) == len(self.authors) <= limits.SPECTATOR_LINKS

    def _become_current(self) -> None:
        """Tell the state of the match, instead of the events that led to it."""
        if self._is_current:
            return
        self._is_current = True
        self._tell_away_later()
        history = self.match.history
        if not self.occasion.table_name:  # no player tells a latecomer the name of the table, but the network may
            self.occasion = self.occasion._replace(table_name=self._runtime.locator.table_of(history.match))
        state = history.position.state
        if state is not None:
            ruleset = history.genesis.ruleset
            self.tell(MatchStarted(history.match.hex(), ruleset, self.match.by_seat(), None, state, resumed=True))
        if self._end is not None:
            self._runtime.tell(self._end)
