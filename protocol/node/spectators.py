"""The spectators of this node. It sends them all new messages and answers their requests; other frames of theirs are
ignored. The limits of links outside the roster bound their number (:mod:`protocol.limits`)."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from protocol import limits
from protocol.events import Watching
from protocol.net.addresses import origin
from protocol.node.runtime import Runtime
from protocol.rate_limit import Buckets
from protocol.wire.frames import Frame, encode_frame

SPECTATOR: Final = "a spectator"
"""What a spectator is called whose name is not known."""


class _Spectator(NamedTuple):
    number: int
    place: str
    """Where it comes from."""


class Spectators:
    """The spectators of this node's table or match, by identity."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._spectators: dict[bytes, _Spectator] = {}
        self._came = 0
        self._pages: Buckets[str] = Buckets(
            limits.SPECTATOR_PAGE_RATE, limits.SPECTATOR_PAGES, limits.ADDRESSES_WATCHED
        )
        """Requests that would be answered now, by where they come from: links and keys are free."""
        self._told: tuple[str, ...] = ()
        self._telling: asyncio.TimerHandle | None = None

    def __contains__(self, identity: bytes) -> bool:
        return identity in self._spectators

    def __len__(self) -> int:
        return len(self._spectators)

    @property
    def identities(self) -> tuple[bytes, ...]:
        """The identity keys of all spectators."""
        return tuple(self._spectators)

    def admit(self, identity: bytes, host: str) -> None:
        """Count a linked peer as a spectator.

        :param host: where the peer is.
        """
        self._spectators[identity] = _Spectator(self._came, origin(host))
        self._came += 1
        self._tell_later()

    def dismiss(self, identity: bytes) -> None:
        """Count a peer as a spectator no longer."""
        if self._spectators.pop(identity, None) is not None:
            self._tell_later()

    def tell(self) -> None:
        """Tell the owner who watches a table or match that has just begun, if anybody does."""
        self._told = ()
        self._tell_later()

    def close(self) -> None:
        """Cancel the timer."""
        if self._telling is not None:
            self._telling.cancel()

    def _tell_later(self) -> None:
        """Tell the owner in a moment who watches, if that has changed then: a link may be replaced by another."""
        if self._telling is None:
            self._telling = self._runtime.loop.call_later(limits.WATCHERS_TOLD, self._tell)

    def _tell(self) -> None:
        self._telling = None
        names = tuple(self._runtime.known_as(identity) or SPECTATOR for identity in self._spectators)
        if names != self._told and not self._runtime.is_silent:
            self._told = names
            self._runtime.tell(Watching(names))

    # Requests

    def may_ask(self, identity: bytes) -> bool:
        """Tell whether to answer a spectator's request now; an ignored request comes again."""
        spectator = self._spectators.get(identity)
        now = self._runtime.loop.time()
        return spectator is not None and self._pages.bucket(spectator.place, now).admits(now)

    def number(self, identity: bytes) -> int:
        """Return the number of a spectator; no other spectator of this node ever had it."""
        return self._spectators[identity].number

    def answer(self, number: int, frame: Frame) -> None:
        """Send a frame to the spectator with this number, if still linked."""
        for identity, spectator in self._spectators.items():
            if spectator.number == number:
                self._runtime.post(identity, frame)

    # Sending

    def post(self, frame: Frame) -> None:
        """Send a frame to all of them."""
        if self._spectators:
            self._runtime.post_encoded(tuple(self._spectators), encode_frame(frame))

    def relay(self, frame: Frame) -> None:
        """Send all of them a message of the match. It does not wait for the store."""
        if self._spectators:
            self._runtime.relay(tuple(self._spectators), encode_frame(frame))
