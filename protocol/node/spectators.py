"""The spectators of this node. They are sent what it learns and may ask for what they lack; nothing else of theirs is
looked at. How many there can be is what the limits of links outside the roster leave (:mod:`protocol.limits`)."""

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
    """Answers that may be asked for now."""


class Spectators:
    """Who watches this node's table or match, by identity."""

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
        """Of all who watch."""
        return tuple(self._spectators)

    def admit(self, identity: bytes) -> None:
        """Count a linked peer as spectator."""
        pages = Bucket(limits.SPECTATOR_PAGE_RATE, limits.SPECTATOR_PAGES, self._runtime.loop.time())
        self._spectators[identity] = _Spectator(self._came, pages)
        self._came += 1

    def dismiss(self, identity: bytes) -> None:
        """Count a peer as spectator no more, if it was one."""
        self._spectators.pop(identity, None)

    # What they ask

    def may_ask(self, identity: bytes) -> bool:
        """Tell whether a spectator's request is to be answered now; others are passed over, and will be repeated."""
        spectator = self._spectators.get(identity)
        return spectator is not None and spectator.pages.admits(self._runtime.loop.time())

    def number(self, identity: bytes) -> int:
        """Return what tells a spectator from all others that this node has had."""
        return self._spectators[identity].number

    def answer(self, number: int, frame: Frame) -> None:
        """Send a frame to the spectator with a number, if still there."""
        for identity, spectator in self._spectators.items():
            if spectator.number == number:
                self._runtime.post(identity, frame)

    # What they are sent

    def post(self, frame: Frame) -> None:
        """Send a frame to all of them."""
        if self._spectators:
            self._runtime.post_encoded(tuple(self._spectators), encode_frame(frame))

    def relay(self, frame: Frame) -> None:
        """Send all of them a message of the match. What others wrote need not be stored first."""
        if self._spectators:
            self._runtime.relay(tuple(self._spectators), encode_frame(frame))
