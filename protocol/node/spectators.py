"""The spectators of this node. It sends them all new messages and answers their requests; other frames of theirs are
ignored. The limits of links outside the roster bound their number (:mod:`protocol.limits`)."""

from __future__ import annotations

from dataclasses import dataclass

from protocol import limits
from protocol.node.runtime import Runtime
from protocol.rate_limit import Bucket
from protocol.wire.frames import Frame, encode_frame


@dataclass(slots=True)
class _Spectator:
    number: int
    pages: Bucket
    """Requests that would be answered now."""


class Spectators:
    """The spectators of this node's table or match, by identity."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._spectators: dict[bytes, _Spectator] = {}
        self._came = 0

    def __contains__(self, identity: bytes) -> bool:
        return identity in self._spectators

    def __len__(self) -> int:
        return len(self._spectators)

    @property
    def identities(self) -> tuple[bytes, ...]:
        """The identity keys of all spectators."""
        return tuple(self._spectators)

    def admit(self, identity: bytes) -> None:
        """Count a linked peer as a spectator."""
        pages = Bucket(limits.SPECTATOR_PAGE_RATE, limits.SPECTATOR_PAGES, self._runtime.loop.time())
        self._spectators[identity] = _Spectator(self._came, pages)
        self._came += 1

    def dismiss(self, identity: bytes) -> None:
        """Count a peer as a spectator no longer."""
        self._spectators.pop(identity, None)

    # Requests

    def may_ask(self, identity: bytes) -> bool:
        """Tell whether to answer a spectator's request now; an ignored request comes again."""
        spectator = self._spectators.get(identity)
        return spectator is not None and spectator.pages.admits(self._runtime.loop.time())

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
