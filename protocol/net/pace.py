"""How much each peer may send. It is counted for the peer, not for its links: who comes again brings no new allowance.

A player of the table or match is known by the key. A stranger can have any number of keys, so strangers are counted by
the place that they come from, see :func:`~protocol.net.addresses.origin`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from protocol.limits import FIRST_FRAMES, PEERS_PACED, Limits
from protocol.net.addresses import Address, origin
from protocol.rate_limit import Bucket, Buckets


class Peer(Protocol):
    """The other end of a link."""

    peer_key: bytes
    remote: Address

    @property
    def is_on_own_machine(self) -> bool:
        """Whether the peer runs on this machine."""


class Paces:
    """What the peers of one node have left to send."""

    def __init__(self, limits: Limits) -> None:
        self.roster: Collection[bytes] = frozenset()
        """Identities that are no strangers: the players at the table. The owner replaces it as they change."""
        self._limits = limits
        rates = {False: limits.rate, True: limits.own_machine_rate}
        self._messages: dict[bool, Buckets[bytes | str]] = {
            is_own: Buckets(rate, limits.burst, PEERS_PACED) for is_own, rate in rates.items() if rate is not None
        }
        self._bytes: Buckets[bytes | str] = Buckets(limits.catch_up_rate, limits.catch_up_burst, PEERS_PACED)

    def for_link(self, peer: Peer) -> Pace | None:
        """Return what counts the frames of a new link; None if they need no counting."""
        return Pace(self, peer) if peer.is_on_own_machine in self._messages else None

    def buckets(self, key: bytes, place: str, is_own_machine: bool, now: float) -> tuple[Bucket, Bucket]:
        """Return the messages and the bytes of long frames that a peer has left, whichever it is by now.

        :param place: where it comes from; a stranger is known by it.
        """
        known_by = key if key in self.roster else place
        return self._messages[is_own_machine].bucket(known_by, now), self._bytes.bucket(known_by, now)

    def is_long(self, frame: bytes) -> bool:
        """Tell whether a frame is so long that it is counted by its bytes. Only pages are."""
        return len(frame) > self._limits.frame_before_welcome


class Pace:
    """Counts what comes over one link to what its peer has left."""

    def __init__(self, paces: Paces, peer: Peer) -> None:
        self._paces = paces
        # What cannot change is worked out once, and not for each frame.
        self._key, self._place, self._is_own_machine = peer.peer_key, origin(peer.remote[0]), peer.is_on_own_machine
        self._first = FIRST_FRAMES

    def _buckets(self, now: float) -> tuple[Bucket, Bucket]:
        return self._paces.buckets(self._key, self._place, self._is_own_machine, now)

    def must_wait(self, now: float) -> bool:
        """Tell whether nothing more may be read for now."""
        return not self._first and any(bucket.wait(now) for bucket in self._buckets(now))

    def count(self, frame: bytes, now: float) -> None:
        """Count a frame: a long one by its bytes, others as one."""
        self._first = max(0, self._first - 1)
        messages, long_bytes = self._buckets(now)
        if self._paces.is_long(frame):
            long_bytes.take(len(frame))
        else:
            messages.take()

    def excuse(self, now: float) -> None:
        """Count one message less."""
        messages, _ = self._buckets(now)
        messages.put_back()

    def count_records(self, number: int, now: float) -> None:
        """Count records of TLS that carry next to nothing as messages."""
        self._first = 0
        messages, _ = self._buckets(now)
        messages.take(number)
