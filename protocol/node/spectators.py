"""The spectators of this node. It sends them all new messages and answers their requests; other frames of theirs are
ignored. The limits of links outside the roster bound their number (:mod:`protocol.limits`)."""

from __future__ import annotations

from typing import NamedTuple

from protocol import limits
from protocol.net.addresses import origin
from protocol.node.runtime import Runtime
from protocol.rate_limit import Buckets
from protocol.wire.frames import Frame, encode_frame


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

    def dismiss(self, identity: bytes) -> None:
        """Count a peer as a spectator no longer."""
        self._spectators.pop(identity, None)

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
