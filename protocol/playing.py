"""A match as this node plays it, under asyncio: links, store and clock around a :class:`~protocol.match.Match`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from protocol.addresses import Address
from protocol.effects import (
    Accuse,
    Broadcast,
    Choose,
    Ended,
    Formed,
    Left,
    Linked,
    MatchInput,
    Needed,
    Over,
    Paged,
    Persist,
    Received,
    Replace,
    Send,
    Severed,
    Show,
    Ticked,
    WakeAt,
)
from protocol.events import MatchOver, Misbehaved
from protocol.home import Home
from protocol.keys import fingerprint
from protocol.match import Match
from protocol.messages import MalformedMessageError, parse_signed
from protocol.record import Record
from protocol.shell import Shell
from protocol.transcript import write_transcript
from protocol.wire import Carried, Cut, MatchAim, Need, Page, encode_frame

log = logging.getLogger(__name__)

LATER_DIALLER: Final = 1.0
"""Head start, in seconds, of the lower roster index of two players who could dial each other."""


class Playing:
    """One match, proposed or running, in which this node has a seat.

    :param formed: told when everybody has signed the genesis and this is stored.
    """

    def __init__(self, shell: Shell, match: Match, formed: Callable[[], None]) -> None:
        self.match = match
        self._shell = shell
        self._formed = formed
        roster = match.record.genesis.roster
        self.authors = {record.join.identity: author for author, record in enumerate(roster) if author != match.me}
        """The other players' roster indices, by identity."""
        self.all_confirmed = asyncio.Event()
        """Every player of the roster has signed the end."""
        self._wake: asyncio.TimerHandle | None = None

    def start(self, *, resumed: bool) -> None:
        """Link with the other players from now on, whoever dials first, and do what is owed."""
        mesh, roster, me = self._shell.mesh, self.match.record.genesis.roster, self.match.me
        assert me is not None
        self._shell.keep_nothing()
        mesh.forget_all()
        mesh.set_roster(self.authors)
        for identity, author in self.authors.items():
            patience = 0.0 if resumed or me < author else LATER_DIALLER
            addresses = partial(self._addresses, identity, roster[author].join.addresses)
            mesh.keep(identity, addresses, self.aim, patience)
        self.feed(Ticked())
        for identity in mesh.linked():
            if identity in self.authors:
                self.feed(Linked(self.authors[identity]))

    def close(self) -> None:
        """Do nothing any more when time passes."""
        if self._wake is not None:
            self._wake.cancel()

    # Links

    def aim(self) -> MatchAim:
        """Return what is said of this match in HELLO and WELCOME."""
        position = self.match.record.position
        return MatchAim(self.match.record.match, position.step, position.tip)

    def _addresses(self, identity: bytes, known: tuple[Address, ...]) -> list[Address]:
        sighted = self._shell.whereabouts.playing(self.match.record.match)
        own = set(self._shell.mesh.addresses)
        candidates = dict.fromkeys((*self._shell.store.addresses(identity), *known, *sighted))
        return [address for address in candidates if address not in own]

    def greet(self, identity: bytes, at: Address) -> None:
        """Note that a player is linked, and where."""
        if identity in self.authors:
            self._shell.store.remember_address(identity, *at, int(time.time()))
            self.feed(Linked(self.authors[identity]))

    def lost(self, identity: bytes) -> None:
        """Note that a player's link is down."""
        if identity in self.authors:
            self.feed(Left(self.authors[identity]))

    def take(self, identity: bytes, frame: Carried | Need | Page | Cut) -> None:
        """Take a frame of a player's; one who sends what is no message is cut off."""
        if identity not in self.authors:
            return
        author, record = self.authors[identity], self.match.record
        if isinstance(frame, Carried):
            try:
                signed = parse_signed(frame.data, frame.signature)
            except MalformedMessageError as error:
                log.info("unreadable message from %s: %s", fingerprint(identity), error)
                self._shell.mesh.disconnect(identity)
                return
            if signed.message.match == record.match:
                self.feed(Received(author, signed))
        elif frame.match == record.match:
            match frame:
                case Page():
                    self.feed(Paged(author, frame))
                case Need():
                    self.feed(Needed(author, frame))
                case Cut():
                    self.feed(Severed(author, frame.authors))

    # The match

    def feed(self, item: MatchInput) -> None:
        """Give the match an input, and carry out what it wants.

        :raises StaleMoveError: if it is a move that came too late.
        :raises RulesError: if it is an illegal move.
        """
        shell, match = self._shell, self.match
        if shell.is_silent:
            return
        for effect in match.handle(item, shell.loop.time()):
            match effect:
                case Choose():
                    shell.store.add_choice(match.record.match, effect.step, effect.text)
                case Persist():
                    shell.keep(effect.signed)
                case Replace():
                    shell.keep_only(effect.messages)
                case Send():
                    shell.post(match.record.genesis.roster[effect.author].join.identity, effect.frame)
                case Broadcast():
                    shell.post_encoded(tuple(self.authors), encode_frame(effect.frame))
                case WakeAt():
                    self.close()
                    self._wake = shell.loop.call_at(effect.time, self.feed, Ticked())
                case _:
                    if isinstance(effect, Ended):
                        shell.write_all()
                    shell.afterwards(partial(self._carry_out, effect))
        if match.is_ended and len(match.record.results) == match.record.players:
            self.all_confirmed.set()

    def _carry_out(self, effect: Accuse | Ended | Formed | Over | Show) -> None:
        shell, record = self._shell, self.match.record
        match effect:
            case Show():
                shell.tell(effect.event)
            case Accuse():
                culprit = record.genesis.roster[effect.author].join.identity
                path = shell.home.proof(record.match, culprit)
                write_whole(path, effect.proof)
                shell.tell(Misbehaved(self.match.info[effect.author], effect.step, effect.reason, path))
            case Formed():
                shell.store.mark_formed(record.match)
                self._formed()
            case Ended():
                keep_transcript(shell.home, record)
            case Over():
                shell.store.mark_over(record.match)
                shell.tell(match_over(shell.home, self.match, effect.confirmed))


def keep_transcript(home: Home, record: Record) -> None:
    """Write the transcript of a match that has ended, whole or not at all.

    :raises OSError: if it cannot be written.
    """
    write_whole(home.transcript(record.match), write_transcript(record))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all.

    :raises OSError: if it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_bytes(data)
    draft.replace(path)


def match_over(home: Home, match: Match, confirmed: bool) -> MatchOver:
    """Return what the owner is told of the end."""
    record = match.record
    state = record.position.state
    assert state is not None
    return MatchOver(record.match.hex(), state.places, match.by_seat(), home.transcript(record.match), confirmed)
