"""A match under asyncio, for a player or a spectator: adds links and a clock to
:class:`~protocol.match.match.Match`."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from protocol.consensus.kinds import parse_signed
from protocol.consensus.replica import Learned, Replace
from protocol.consensus.transcript import write_transcript
from protocol.crypto.keys import fingerprint
from protocol.events import Asks, Diverged, MatchResult, MatchStarted, Misbehaved, NodeEvent
from protocol.files import write_own
from protocol.limits import PASSED_ON_BURST, PASSED_ON_RATE, PLAYERS
from protocol.match.effects import (
    Accuse,
    Announce,
    Broadcast,
    CalledOff,
    FrameReceived,
    Linked,
    MatchInput,
    PassOn,
    Received,
    Send,
    Show,
    StoreChoice,
    Ticked,
    Unlinked,
    WakeAt,
    WriteTranscript,
)
from protocol.match.match import Match
from protocol.match.waiting import Clock
from protocol.node.locator import LEFT, PossibleHost, WayBack
from protocol.node.runtime import Runtime
from protocol.rate_limit import Buckets
from protocol.storage.archive import own_rules_word, transcript_path
from protocol.storage.match_names import calendar
from protocol.wire.frames import Carried, Customs, Cut, Frame, Have, MatchAim, Page, encode_frame
from protocol.wire.messages import MalformedMessageError

log = logging.getLogger(__name__)


class Occasion(NamedTuple):
    """Facts about a match that are not signed."""

    begun: int
    """When it began, in seconds since 1970 by this machine's clock; only for people to read."""
    table_name: str
    """The name of the table, which may be any text chosen by the host; empty if unknown."""
    customs: Customs = Customs()
    """The customs of the table."""
    asks: Asks = "strangers"
    """At this node's own table: which newcomers needed consent."""

    @classmethod
    def now(cls, table_name: str, customs: Customs, asks: Asks = "strangers") -> Occasion:
        """Return the occasion of a match that begins now."""
        return cls(calendar(time.time()), table_name, customs, asks)


class Session(ABC):
    """One match on one node.

    :param occasion: when and where the match is played.
    """

    def __init__(self, runtime: Runtime, match: Match, occasion: Occasion) -> None:
        self.match = match
        self.occasion = occasion
        roster = match.history.genesis.roster
        self.authors = {record.join.identity: author for author, record in enumerate(roster) if author != match.me}
        """The other players' roster indices, by identity."""
        self.is_over = False
        """Whether the owner has been shown the end."""
        self.is_claimed = False
        """Whether the owner has claimed the match while the other player was away. It then takes no input."""
        self.is_retired = False
        """Whether the owner has left the match behind, and is no longer notified. Other players are still served."""
        self._passed_on: Buckets[tuple[int, int]] = Buckets(PASSED_ON_RATE, PASSED_ON_BURST, PLAYERS * PLAYERS)
        """The number of messages that a player may pass on without being charged for them, by player and author."""
        self._runtime = runtime
        self._wake: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Cancel the timer."""
        if self._wake is not None:
            self._wake.cancel()

    def aim(self) -> MatchAim:
        """Return the aim that names this match in HELLO and WELCOME."""
        return MatchAim(self.match.id)

    def way_back(self, host: bytes, token: str) -> WayBack:
        """Return how to get back to the table of this match.

        :param host: the identity of its host; empty if unknown.
        :param token: the token of the table, if it is private.
        """
        history = self.match.history
        hosts = tuple(
            PossibleHost(identity, self.match.info[author], history.genesis.roster[author].join.addresses)
            for identity, author in self.authors.items()
            if identity == host or host not in self.authors
        )
        return WayBack(hosts, history.match, token)

    def clock(self) -> Clock | None:
        """Return the awaited players and their remaining time; None if no time runs."""
        return self.match.clock(self._runtime.loop.time())

    # Links

    def linked(self, identity: bytes) -> None:
        """Record that a player's link is up."""
        self.feed(Linked(self.authors[identity]))

    def lost(self, identity: bytes, reason: str) -> None:
        """Record that a player's link is down."""
        if identity in self.authors:
            self.feed(Unlinked(self.authors[identity], on_purpose=reason == LEFT))

    def take(self, identity: bytes, frame: Carried | Page | Have) -> None:
        """Take a frame from a player. A malformed message closes the link."""
        history = self.match.history
        if isinstance(frame, (Page, Have)):
            if frame.match == history.match:
                self.feed(FrameReceived(self.authors[identity], frame))
            return
        try:
            signed = parse_signed(frame.data, frame.signature)
        except MalformedMessageError as error:
            log.info("unreadable message from %s: %s", fingerprint(identity), error)
            self._runtime.mesh.disconnect(identity)
            return
        if signed.message.match == history.match:
            sender, now = self.authors[identity], self._runtime.loop.time()
            author = signed.message.author
            is_passed_on = (
                author != sender and author < history.roster_size
            )  # a forger can invent any number of other authors
            if is_passed_on and self._passed_on.bucket((sender, author), now).admits(now):
                self._runtime.mesh.excuse(identity)
            self.feed(Received(sender, signed))

    # The match

    def feed(self, item: MatchInput) -> None:
        """Give the match an input, and queue its effects to be carried out in their order.

        :raises StaleMoveError: if the input is a move that came too late.
        :raises RulesError: if the input is an illegal move.
        """
        runtime = self._runtime
        if runtime.is_silent or self.is_claimed:
            return
        with runtime.stopping_at_disk_errors():  # purses are written while the match handles its input
            for effect in self.match.handle(item, runtime.loop.time()):
                match effect:
                    case Learned() | StoreChoice() | Replace():
                        self.keep(effect)
                    case Show() | CalledOff():
                        runtime.outbox.afterwards(partial(self.carry_out, effect))
                    case WriteTranscript():
                        runtime.outbox.write_all()
                        runtime.outbox.afterwards(partial(self.carry_out, effect))
                    case Send():
                        self.send(effect.author, effect.frame)
                    case Announce():
                        runtime.relay((*self.authors, *self.spectators), encode_frame(effect.have))
                    case Broadcast():
                        also = self.spectators if isinstance(effect.frame, Cut) else ()
                        runtime.post_encoded((*self.authors, *also), encode_frame(effect.frame), binds=effect.binds)
                    case PassOn():
                        roster = self.match.history.genesis.roster
                        players = (roster[author].join.identity for author in effect.authors)
                        if receivers := (*players, *self.spectators):
                            runtime.relay(receivers, encode_frame(Carried(*effect.signed.wire)))
                    case WakeAt():
                        if self._wake is not None:
                            self._wake.cancel()
                        self._wake = runtime.loop.call_at(effect.time, self.feed, Ticked())
                    case Accuse():
                        runtime.outbox.afterwards(partial(self._accuse, effect))
            self.follow_up()

    @abstractmethod
    def follow_up(self) -> None:
        """Do what an input requires in addition to its effects.

        :raises StoreError: if the store cannot be written.
        """

    @property
    def spectators(self) -> tuple[bytes, ...]:
        """The identities of those who watch the match from this node."""
        return ()

    @abstractmethod
    def keep(self, effect: StoreChoice | Learned | Replace) -> None:
        """Store the owner's choices and messages."""

    def send(self, author: int, frame: Frame) -> None:
        self._runtime.post(self.match.history.genesis.roster[author].join.identity, frame)

    @abstractmethod
    def carry_out(self, effect: WriteTranscript | CalledOff | Show) -> None:
        """Carry out an effect after everything has been stored and sent."""

    def tell(self, event: NodeEvent) -> None:
        """Show the owner an event, unless the match is retired. Details that only a maintainer can use are logged."""
        if self.is_retired:
            return
        if isinstance(event, Diverged):
            history = self.match.history
            log.error(
                "match %s, step %d: the programs disagree; here: %s", history.match.hex(), event.step, event.state
            )
        if isinstance(event, MatchStarted):
            rules = self._runtime.rules_name(event.ruleset)
            event = replace(event, table=self.occasion.table_name, rules_name=rules)
        if isinstance(event, MatchResult):
            event = replace(event, transcript=self._transcript_path)
        self._runtime.tell(event)

    def keep_transcript(self) -> None:
        """Write the transcript of the match.

        :raises OSError: if it cannot be written.
        """
        write_own(self._transcript_path, write_transcript(self.match.history, self.match.replica.proven.values()))

    @property
    def _transcript_path(self) -> Path:
        history = self.match.history
        word = own_rules_word(self._runtime.store, history.genesis.ruleset)
        return transcript_path(self._runtime.home, history.match, self.occasion.begun, word)

    def _accuse(self, effect: Accuse) -> None:
        """Write the proof against a player, and notify the owner."""
        history = self.match.history
        path = self._runtime.home.proof(history.match, history.genesis.roster[effect.author].join.identity)
        write_own(path, effect.proof)
        self._runtime.tell(Misbehaved(self.match.info[effect.author], effect.step, effect.reason, path))
