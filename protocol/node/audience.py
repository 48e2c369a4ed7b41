"""The spectators of this node, and the chat at its table. See :mod:`protocol.match.words`.

Spectators get all new messages, and answers to their requests; their other frames are ignored. The limits for links
outside the roster bound the number of spectators (:mod:`protocol.limits`).

A :class:`Floor` is a table or match where people chat. At a table, guests are linked only with the host, who passes
their signed words on. In a match, players send words to each other. Spectators get words from the players they are
linked with. They may speak only where the customs of the table permit it; the node that receives a spectator's word
passes it on to all others.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from protocol import limits
from protocol.crypto.keys import fingerprint
from protocol.errors import ErrorCode, NodeError
from protocol.events import PlayerInfo, Said, Watching
from protocol.match.words import (
    Hearing,
    MalformedWordError,
    UnheardWordError,
    WordError,
    parse_word,
    sign_word,
    speakable,
)
from protocol.net.addresses import origin
from protocol.node.runtime import Runtime
from protocol.rate_limit import Bucket, Buckets
from protocol.wire.frames import Frame, Say, encode_frame

log = logging.getLogger(__name__)

SPECTATOR: Final = "a spectator"
"""The name displayed for a spectator whose name is unknown."""


class _Spectator(NamedTuple):
    number: int
    place: str
    """The network place that the spectator connects from, as :func:`~protocol.net.addresses.origin` returns it."""


class Audience:
    """The spectators of this node's table or match, by identity."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._spectators: dict[bytes, _Spectator] = {}
        self._former: dict[bytes, None] = {}
        """The last spectators who left: a spectator who asks for a seat leaves the audience first."""
        self._table = b""
        """The id of the table that they were welcomed to watch."""
        self._came = 0
        self._pages: Buckets[str] = Buckets(
            limits.SPECTATOR_PAGE_RATE, limits.SPECTATOR_PAGES, limits.ADDRESSES_WATCHED
        )
        """The rate limit for requests, by place: an attacker can have any number of links and keys."""
        self._told: tuple[str, ...] = ()
        self._is_anew = False
        """Whether a table or match has begun since the owner was last notified."""
        self._telling: asyncio.TimerHandle | None = None

    def __contains__(self, identity: bytes) -> bool:
        return identity in self._spectators

    def __len__(self) -> int:
        return len(self._spectators)

    def turn_to(self, table: bytes) -> None:
        """Admit spectators of the table with this id, and of its matches, from now on. The links of other
        spectators end, because they may not have shown the token of this table."""
        if table != self._table:
            for identity in tuple(self._spectators):
                self.dismiss(identity)
                self._runtime.mesh.disconnect(identity)
            self._former.clear()
        self._table = table

    def watching(self, table: bytes) -> tuple[bytes, ...]:
        """Return the identity keys of the spectators who may see what happens at the table with this id."""
        return tuple(self._spectators) if table == self._table else ()

    def admit(self, identity: bytes, host: str) -> None:
        """Admit a linked peer as a spectator.

        :param host: the peer's address.
        """
        self._spectators[identity] = _Spectator(self._came, origin(host))
        self._came += 1
        self._tell_later()

    def dismiss(self, identity: bytes) -> None:
        """Remove a peer from the spectators."""
        if self._spectators.pop(identity, None) is not None:
            self._former.pop(identity, None)
            self._former[identity] = None
            if len(self._former) > limits.LINKS_OUTSIDE_ROSTER:
                del self._former[next(iter(self._former))]
            self._tell_later()

    def has_watched(self, identity: bytes) -> bool:
        """Return whether a peer is a spectator of this table or its matches, or was one lately."""
        return identity in self._spectators or identity in self._former

    def tell(self) -> None:
        """Notify the owner of spectators again, if there are any, because a table or match has just begun."""
        self._is_anew = True
        self._tell_later()

    def close(self) -> None:
        """Cancel the timer."""
        if self._telling is not None:
            self._telling.cancel()

    def _tell_later(self) -> None:
        """Notify the owner after a moment, if the spectators still differ then. Often a link is only replaced."""
        if self._telling is None:
            self._telling = self._runtime.loop.call_later(limits.WATCHERS_TOLD, self._tell)

    def _tell(self) -> None:
        self._telling = None
        names = tuple(self._runtime.known_as(identity) or SPECTATOR for identity in self._spectators)
        if (names != self._told or (names and self._is_anew)) and not self._runtime.is_silent:
            self._told, self._is_anew = names, False
            self._runtime.tell(Watching(names))

    # Requests

    def may_ask(self, identity: bytes, table: bytes) -> bool:
        """Return whether to answer a request for a match at this table now. A spectator repeats an ignored request."""
        spectator = self._spectators.get(identity) if table == self._table else None
        now = self._runtime.loop.time()
        return spectator is not None and self._pages.bucket(spectator.place, now).admits(now)

    def number(self, identity: bytes) -> int:
        """Return the number of a spectator, which this node has given to no other."""
        return self._spectators[identity].number

    def answer(self, number: int, frame: Frame) -> None:
        """Send a frame to the spectator with this number, if still linked."""
        for identity, spectator in self._spectators.items():
            if spectator.number == number:
                self._runtime.post(identity, frame)

    # Sending

    def post(self, frame: Frame) -> None:
        """Send a frame to all spectators."""
        if self._spectators:
            self._runtime.post_encoded(tuple(self._spectators), encode_frame(frame))


class Floor(NamedTuple):
    """A table or match where people chat, as one node sees it."""

    context: bytes
    """The id of the table or match."""
    players: Mapping[bytes, PlayerInfo]
    """The other players there, by identity."""
    relays: Collection[bytes] = ()
    """The identities that may pass on other people's words. All other peers may send only their own."""
    reach: tuple[bytes, ...] = ()
    """The identities to which this node sends its owner's words."""
    onward: tuple[bytes, ...] = ()
    """The identities to which this node passes on other people's words. Spectators among them may speak."""
    is_open: bool = False
    """Whether spectators may speak."""

    def speaker(self, sender: bytes, author: bytes) -> bool | None:
        """Return whether a word by this author over this link is a spectator's; None if it does not belong here."""
        if author in self.players:
            return False if sender == author or sender in self.relays else None
        is_spectator = sender == author and sender in self.onward
        return True if self.is_open and (is_spectator or sender in self.players) else None


class Talking:
    """The chat of one node."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._hearing = Hearing()
        self._pace = Bucket(limits.WORD_RATE, limits.WORD_BURST, runtime.loop.time())
        self._number = 0
        """The number of this node's last word."""

    def say(self, me: PlayerInfo, floors: Iterable[Floor], text: str) -> None:
        """Send a chat message to every floor with listeners, under one number, so that each player receives it once.

        :raises NodeError: if the text cannot be sent, comes too soon after others, or nobody is there.
        """
        try:
            spoken = speakable(text)
        except WordError as error:
            raise NodeError(ErrorCode.FAILED, f"what you say {error}", error.hint) from None
        heard_at = [floor for floor in floors if floor.reach]
        if not heard_at:
            raise NodeError(ErrorCode.FAILED, "nobody is there to hear it")
        now = self._runtime.loop.time()
        if not self._pace.admits(now):
            raise NodeError(
                ErrorCode.FAILED, "too many messages at once: the others would not receive them", "wait a second"
            )
        # Based on the clock, because the last number is not stored, and a restarted program must use a higher one.
        self._number = max(self._number + 1, time.time_ns() // 1_000_000)
        for floor in heard_at:
            word = sign_word(floor.context, self._runtime.identity, self._number, spoken)
            self._runtime.post_encoded(floor.reach, encode_frame(Say(word.data, word.signature)))
        self._runtime.tell(Said(me, spoken))

    def hear(self, sender: bytes, frame: Say, floors: Iterable[Floor]) -> None:
        """Take a word from a link. Show it to the owner and pass it on, or drop it; if malformed, close the link."""
        runtime = self._runtime
        try:
            word = parse_word(frame.data, frame.signature)
        except MalformedWordError as error:
            log.info("unreadable word from %s: %s", fingerprint(sender), error)
            runtime.mesh.disconnect(sender)
            return
        floor = next((each for each in floors if each.context == word.context), None)
        is_spectator = floor.speaker(sender, word.author) if floor is not None else None
        if floor is None or is_spectator is None:
            log.info("%s sent a word that does not belong here", fingerprint(sender))
            return
        try:
            self._hearing.take(word, runtime.loop.time())
        except UnheardWordError as error:
            log.info("a word of %s, sent by %s, %s", fingerprint(word.author), fingerprint(sender), error)
            return
        onward = floor.onward
        if is_spectator and sender == word.author:
            onward = tuple({**dict.fromkeys(floor.reach), **dict.fromkeys(floor.onward)})
        others = tuple(identity for identity in onward if identity not in (sender, word.author))
        if others:
            runtime.post_encoded(others, encode_frame(frame))
        author = runtime.player(SPECTATOR, word.author) if is_spectator else floor.players[word.author]
        runtime.tell(Said(author, word.text))
