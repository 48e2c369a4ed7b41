"""A match under asyncio, as a player or a spectator lives it: links and clock around
:class:`~protocol.match.match.Match`."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from protocol.consensus.kinds import parse_signed
from protocol.consensus.transcript import write_transcript
from protocol.crypto.keys import fingerprint
from protocol.events import Diverged, MatchOver, MatchStarted, Misbehaved, NodeEvent
from protocol.match.effects import (
    Accuse,
    Announce,
    Announced,
    Broadcast,
    CalledOff,
    Choose,
    Effect,
    Ended,
    Formed,
    Left,
    Linked,
    MatchInput,
    Over,
    Overheard,
    Paged,
    Persist,
    Received,
    Replace,
    Send,
    Show,
    Ticked,
    WakeAt,
)
from protocol.match.match import Match
from protocol.node.refusals import LEFT
from protocol.node.runtime import Runtime
from protocol.storage.home import write_whole
from protocol.storage.transcript_files import transcript_path
from protocol.wire.frames import Carried, Frame, Have, MatchAim, Page, encode_frame
from protocol.wire.messages import MalformedMessageError

log = logging.getLogger(__name__)


class Occasion(NamedTuple):
    """What a node knows of a match beside what is signed."""

    begun: int
    """Seconds since 1970 by this machine's clock; for people to read, never signed."""
    table: str
    """What the table is called: its host's word, any text. Empty if that is not known."""


class Session(ABC):
    """One match on one node.

    :param occasion: when and where it is played.
    """

    def __init__(self, runtime: Runtime, match: Match, occasion: Occasion) -> None:
        self.match = match
        self.occasion = occasion
        roster = match.record.genesis.roster
        self.authors = {record.join.identity: author for author, record in enumerate(roster) if author != match.me}
        """The other players' roster indices, by identity."""
        self._runtime = runtime
        self._wake: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Do nothing any more when time passes."""
        if self._wake is not None:
            self._wake.cancel()

    def aim(self) -> MatchAim:
        """Return what is said of this match in HELLO and WELCOME."""
        return MatchAim(self.match.record.match)

    # Links

    def linked(self, identity: bytes) -> None:
        """Note that a player's link is up."""
        self.feed(Linked(self.authors[identity]))

    def lost(self, identity: bytes, reason: str) -> None:
        """Note that a link is down, if it was a player's."""
        if identity in self.authors:
            self.feed(Left(self.authors[identity], on_purpose=reason == LEFT))

    def take(self, identity: bytes, frame: Carried | Page | Have) -> None:
        """Take what a player says; one who sends what is no message is cut off."""
        record = self.match.record
        if isinstance(frame, Page | Have):
            if frame.match == record.match:
                author = self.authors[identity]
                self.feed(Paged(author, frame) if isinstance(frame, Page) else Announced(author, frame))
            return
        try:
            signed = parse_signed(frame.data, frame.signature)
        except MalformedMessageError as error:
            log.info("unreadable message from %s: %s", fingerprint(identity), error)
            self._runtime.mesh.disconnect(identity)
            return
        if signed.message.match == record.match:
            self.feed(Received(self.authors[identity], signed))

    # The match

    def feed(self, item: MatchInput) -> None:
        """Give the match an input, and carry out what it wants.

        :raises StaleMoveError: if it is a move that came too late.
        :raises RulesError: if it is an illegal move.
        """
        runtime = self._runtime
        if runtime.is_silent:
            return
        effects = self.match.handle(item, runtime.loop.time())
        with runtime.stopping_at_disk_errors():
            for effect in effects:
                self._begin(effect)

    def _begin(self, effect: Effect) -> None:
        """Have an effect carried out, in its place among others."""
        runtime = self._runtime
        match effect:
            case Persist() | Choose() | Overheard() | Replace():
                self.keep(effect)
            case Show():
                runtime.outbox.afterwards(partial(self.carry_out, effect))
            case Send():
                self.send(effect.author, effect.frame)
            case Announce():
                self.announce(effect.have)
            case Broadcast():
                runtime.post_encoded(tuple(self.authors), encode_frame(effect.frame))
            case WakeAt():
                if self._wake is not None:
                    self._wake.cancel()
                self._wake = runtime.loop.call_at(effect.time, self.feed, Ticked())
            case Accuse():
                runtime.outbox.afterwards(partial(self._accuse, effect))
            case _:
                if isinstance(effect, Ended):
                    runtime.outbox.write_all()
                runtime.outbox.afterwards(partial(self.carry_out, effect))

    def announce(self, have: Have) -> None:
        """Tell all who are linked what this node holds."""
        self._runtime.relay(tuple(self.authors), encode_frame(have))

    @abstractmethod
    def keep(self, effect: Choose | Persist | Overheard | Replace) -> None:
        """Store what must not be forgotten, and show spectators the messages that are new."""

    def send(self, author: int, frame: Frame) -> None:
        """Send a frame to a player."""
        self._runtime.post(self.match.record.genesis.roster[author].join.identity, frame)

    @abstractmethod
    def carry_out(self, effect: Ended | Formed | CalledOff | Over | Show) -> None:
        """Do what is due when everything was stored and sent."""

    def tell(self, event: NodeEvent) -> None:
        """Tell the owner what happened in the match; the log keeps what only a maintainer can use."""
        if isinstance(event, Diverged):
            record = self.match.record
            log.error("match %s, step %d: the programs disagree; here: %s", record.match.hex(), event.step, event.state)
        if isinstance(event, MatchStarted):
            event = replace(event, table=self.occasion.table)
        self._runtime.tell(event)

    def keep_transcript(self) -> None:
        """Write the transcript of the match.

        :raises OSError: if it cannot be written.
        """
        write_whole(self._transcript_path, write_transcript(self.match.record, self.match.replica.proven.values()))

    @property
    def _transcript_path(self) -> Path:
        record = self.match.record
        return transcript_path(self._runtime.home, record.match, self.occasion.begun, record.genesis.ruleset)

    def _accuse(self, effect: Accuse) -> None:
        """Write the proof against a player down, and tell."""
        record = self.match.record
        path = self._runtime.home.proof(record.match, record.genesis.roster[effect.author].join.identity)
        write_whole(path, effect.proof)
        self._runtime.tell(Misbehaved(self.match.info[effect.author], effect.step, effect.reason, path))

    def result(self, confirmed: bool) -> MatchOver:
        """Return what the owner is told of the end."""
        record = self.match.record
        state = record.position.state
        assert state is not None
        return MatchOver(record.match.hex(), state.places, self.match.by_seat(), self._transcript_path, confirmed)
