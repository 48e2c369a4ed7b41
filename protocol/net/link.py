"""A link: one authenticated connection between two nodes that carries messages in frames.

A link comes up once TLS has proved the peer's key (see :mod:`protocol.net.channel`). Its owner must widen it before the
handshake deadline, after HELLO and WELCOME. A peer can cost this node only a bounded amount of memory and time, and
no link except its own.

What a peer sends is counted per peer rather than per link, so another link brings no new allowance. A player of the
table or match is identified by key. A stranger can have any number of keys, so strangers are counted by their place of
origin: see :func:`~protocol.net.addresses.origin`.

Everything runs in one event loop. Handlers are called there, and never during a call that they make themselves.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Collection
from enum import IntEnum
from itertools import count
from typing import TYPE_CHECKING, Final, Protocol, cast

from protocol.limits import FIRST_FRAMES, FRAMES_AT_ONCE, LOOSE_RECORDS, PEERS_PACED, THROTTLE, TLS_PIECE, Limits
from protocol.net.addresses import Address, is_own_machine, origin
from protocol.net.channel import open_channel, shake_hands
from protocol.rate_limit import Bucket, Buckets
from protocol.wire.frames import LENGTH_BYTES, FrameSplitter, FrameTooLong, frame_header

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol.net.channel import Channel

BREACH: Final = "the other program does not keep to the protocol"
ENDED: Final = "this program ended the connection"


class LinkHandler(Protocol):
    """The owner of links. Its methods are called in the event loop."""

    def link_up(self, link: Link) -> None:
        """Receive a link after TLS has proved the peer's key. Nothing else is known about the peer yet."""

    def frame_received(self, link: Link, frame: bytes) -> None:
        """Receive a message, non-empty and within the link's limit, with unchecked content."""

    def link_down(self, link: Link, reason: str) -> None:
        """Note that the link is down for good. Called once per ``link_up``, as the last call about the link.

        :param reason: a clause for people, such as "the other program ended the connection".
        """


class LinkUse(IntEnum):
    """The purpose of a link, in ascending priority. If places run out, links of low priority make room."""

    IDLE = 0
    """Nothing has been requested over the link."""
    TRYING = 1
    """The peer is proving that it knows a short code."""
    ENGAGED = 2
    """The peer waits for a seat, plays or watches. The link is not given up for another."""


class Allowances:
    """How much each peer of one node may still send."""

    def __init__(self, limits: Limits) -> None:
        self.roster: Collection[bytes] = frozenset()
        """Identities that are not strangers: the players at the table. The owner replaces the set when they change."""
        self._long = limits.frame_before_welcome
        rates = {False: limits.rate, True: limits.own_machine_rate}
        self._messages: dict[bool, Buckets[bytes | str]] = {
            is_own: Buckets(rate, limits.burst, PEERS_PACED) for is_own, rate in rates.items() if rate is not None
        }
        self._bytes: Buckets[bytes | str] = Buckets(limits.catch_up_rate, limits.catch_up_burst, PEERS_PACED)

    def of(self, key: bytes, host: str, *, is_own_machine: bool) -> Allowance | None:
        """Return the allowance of a new link to the peer with this key, or None if its messages are not counted."""
        if is_own_machine not in self._messages:
            return None
        return Allowance(self, self._messages[is_own_machine], self._bytes, key, origin(host), self._long)


class Allowance:
    """Counts the frames of one link towards the allowance of its peer.

    :param place: the peer's place of origin, by which strangers are counted.
    :param long: length above which frames are counted by bytes. Only pages are that long.
    """

    def __init__(
        self,
        allowances: Allowances,
        messages: Buckets[bytes | str],
        long_bytes: Buckets[bytes | str],
        key: bytes,
        place: str,
        long: int,
    ) -> None:
        self._allowances, self._messages, self._bytes = allowances, messages, long_bytes
        self._key, self._place, self._long = key, place, long
        self._first = FIRST_FRAMES
        self.loose_records = 0
        """The TLS records received beyond those allowed for the counted frames: two each, and one per 16 KiB."""

    def _buckets(self, now: float) -> tuple[Bucket, Bucket]:
        known_by = self._key if self._key in self._allowances.roster else self._place
        return self._messages.bucket(known_by, now), self._bytes.bucket(known_by, now)

    def must_wait(self, now: float) -> bool:
        """Return whether reading must pause for now."""
        return not self._first and any(bucket.wait(now) for bucket in self._buckets(now))

    def count(self, frame: bytes, now: float) -> None:
        """Count a frame: a long one by its bytes, any other as one message."""
        self._first = max(0, self._first - 1)
        messages, long_bytes = self._buckets(now)
        if len(frame) > self._long:
            long_bytes.take(len(frame))
        else:
            messages.take()
        self.loose_records = max(0, self.loose_records - 2 - len(frame) // TLS_PIECE)

    def excuse(self, now: float) -> None:
        """Cancel the count of one message."""
        self._buckets(now)[0].put_back()

    def count_loose_records(self, now: float) -> None:
        """Count records as messages if there are more than the frames need."""
        if self.loose_records > LOOSE_RECORDS:
            self._first = 0
            self._buckets(now)[0].take(self.loose_records - LOOSE_RECORDS)
            self.loose_records = LOOSE_RECORDS


class Link:
    """One authenticated connection, created by :mod:`protocol.net.listener` or :mod:`protocol.net.dialer`."""

    peer_key: bytes
    """The identity of the other side: 32 bytes, proved by TLS."""
    version: int
    """The highest protocol version that both sides speak or know of. If it is not this program's version, the link can
    only be refused."""

    def __init__(self, limits: Limits, *, remote: Address, local: Address, outbound: bool) -> None:
        self.remote = remote
        self.local = local
        self.outbound = outbound
        """Whether this node dialled."""
        self.use = LinkUse.IDLE
        """The link's purpose; its owner sets it once known."""
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._handler: LinkHandler | None = None
        self._on_closed: Callable[[Link], None] | None = None
        self._channel: Channel | None = None
        self._closed = asyncio.Event()
        self._outcome = ""
        """How the connection ended."""
        self._timer: asyncio.TimerHandle | None = None
        self._splitter = FrameSplitter(limits.frame_before_welcome)
        self._outgoing: list[bytes] = []
        self._queued = 0
        self._is_over = False
        self._is_throttled = False
        self._deadline: float | None = self._loop.time() + limits.handshake
        self._frame_began: float | None = None
        self._last_arrival = self._last_sending = self._loop.time()
        self._allowance: Allowance | None = None

    # Called by the owner

    def send(self, frame: bytes) -> None:
        """Queue a message, or drop it if the link is down. One pass of the event loop sends all its messages together.

        If the queue exceeds its limit because the peer does not read, the link goes down.

        :raises ValueError: if the message is empty or longer than a frame may be.
        """
        self._schedule_flush()
        self.queue(frame)

    def queue(self, frame: bytes) -> None:
        """Queue a message like :meth:`send`, to be sent by the next :meth:`flush`.

        :raises ValueError: if the message is empty or longer than a frame may be.
        """
        if not 0 < len(frame) <= self._limits.frame:
            raise ValueError(f"a message has 1 to {self._limits.frame} bytes, not {len(frame)}")
        self._queue(frame)

    def excuse(self) -> None:
        """Do not count the frame being delivered against the peer's rate."""
        if self._allowance is not None:
            self._allowance.excuse(self._last_arrival)

    def widen(self) -> None:
        """Allow frames of full length, and drop the handshake deadline. Called after HELLO and WELCOME."""
        self._splitter.limit = self._limits.frame
        self._deadline = None

    def close(self, reason: str = ENDED) -> None:
        """Send the queue, as far as the peer reads it in time, and end the link.

        :param reason: passed on to ``link_down``.
        """
        self._end(reason, abort=False)

    def drop(self, reason: str) -> None:
        """End the link at once, and pass ``reason`` to ``link_down``."""
        self._end(reason, abort=True)

    def cut(self, reason: str) -> None:
        """End the link at once, even if it is closed and still waits for the peer to read the queue."""
        if self.is_up:
            self.drop(reason)
        elif self._channel is not None:
            self._channel.abort()

    async def wait_closed(self) -> None:
        """Wait until the connection is gone: the peer has read the queue, or its time is up."""
        await self._closed.wait()

    @property
    def is_on_own_machine(self) -> bool:
        return is_own_machine(self.remote, self.local)

    @property
    def is_up(self) -> bool:
        return self._handler is not None and not self._is_over

    # Called by the listener or the dialer

    def start(
        self, handler: LinkHandler, allowances: Allowances, on_closed: Callable[[Link], None] | None = None
    ) -> None:
        """Announce the link to its owner and start reading.

        :param on_closed: called when the connection is completely gone.
        """
        self._handler, self._on_closed = handler, on_closed
        self._allowance = allowances.of(self.peer_key, self.remote[0], is_own_machine=self.is_on_own_machine)
        self._last_arrival = self._loop.time()
        handler.link_up(self)
        if not self._is_over:
            assert self._channel is not None, "a link that is up has its channel"
            self._channel.resume_reading()
            self._watch()

    @property
    def is_connected(self) -> bool:
        """Whether TLS is established and the connection still exists."""
        return self._channel is not None

    def refuse(self) -> None:
        """End a connection that does not become a link. The owner is not notified."""
        self._is_over = True
        if self._channel is not None:
            self._channel.abort()

    # Called by the channel

    def connected(self, channel: Channel) -> None:
        """Receive the channel, which does not read before :meth:`start`."""
        self._channel = channel
        self.peer_key, self.version = channel.peer
        if self._is_over:
            channel.abort()

    def data_received(self, data: bytes, records: int) -> None:
        """Receive a piece of the stream of frames, and the number of TLS records in which it came."""
        if not self._is_over:
            self._last_arrival = self._loop.time()
            if self._allowance is not None:
                self._allowance.loose_records += records
            self._splitter.feed(data)
            self._deliver()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the connection is gone. Frames that arrived before its end are still delivered, within the rate."""
        self._channel = None
        self._outcome = _how_it_ended(exc)
        if not self._is_throttled or not self.is_up:
            self._gone()

    def _gone(self) -> None:
        """Notify the handler of the end, unless that has been done, and free the link's place at the listener."""
        if self.is_up:
            self._is_over = True
            self._stop_watching()
            cast(LinkHandler, self._handler).link_down(self, self._outcome)
        self._is_over = True
        self._closed.set()
        if self._on_closed is not None:
            self._on_closed(self)

    # Receiving

    def _deliver(self) -> None:
        now = self._last_arrival
        frame_ended = False
        for taken in count():
            if self._is_over:
                break
            if self._allowance is not None and self._allowance.must_wait(now):
                if self._channel is None:
                    break  # the peer is gone and cannot be slowed down, so drop the rest
                self._throttle(THROTTLE)
                return
            if taken == FRAMES_AT_ONCE:
                self._throttle(0)
                return
            try:
                frame = self._splitter.next_frame()
            except FrameTooLong as error:
                self.drop(f"{BREACH}: it sent {error}")
                return
            if frame is None:
                break
            if self._allowance is not None:
                self._allowance.count(frame, now)
            frame_ended = True
            if frame:
                cast(LinkHandler, self._handler).frame_received(self, frame)
        if self._allowance is not None:
            self._allowance.count_loose_records(now)
        if not self._splitter.is_mid_frame:
            self._frame_began = None
        elif self._frame_began is None or frame_ended:
            self._frame_began = now

    def _throttle(self, seconds: float) -> None:
        """Pause reading; 0 seconds is one pass of the event loop. TCP holds the peer back, so no data are lost."""
        if not self._is_throttled:
            self._is_throttled = True
            if self._channel is not None:
                self._channel.pause_reading()
        self._frame_began = None
        self._loop.call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        if self._is_over:
            return
        self._last_arrival = self._loop.time()  # reading was paused, so the peer may have sent data all along
        self._is_throttled = False
        self._deliver()
        if self._is_throttled or self._is_over:
            return
        if self._channel is not None:
            self._channel.resume_reading()
        else:
            self._gone()

    # Sending

    def _schedule_flush(self) -> None:
        if not self._outgoing:
            self._loop.call_soon(self.flush)

    def _queue(self, frame: bytes) -> None:
        if not self.is_up or self._channel is None:
            return
        self._outgoing += (frame_header(frame), frame)
        self._queued += LENGTH_BYTES + len(frame)
        if self._queued + self._channel.get_write_buffer_size() > self._limits.outgoing_queue:
            self.drop("the other program does not read fast enough")

    def flush(self) -> None:
        """Send the queue now rather than in the next pass of the event loop."""
        if self._outgoing and self._channel is not None:
            self._last_sending = self._loop.time()
            self._channel.write(b"".join(self._outgoing))
        self._outgoing.clear()
        self._queued = 0

    # Time

    def _watch(self) -> None:
        """End the link if a deadline has passed, send a keepalive if one is due, and schedule the next check."""
        now, limits = self._loop.time(), self._limits
        if self._deadline is not None and now >= self._deadline:
            self.drop("the other program said nothing in time")
        elif self._frame_began is not None and now >= self._frame_began + limits.started_frame:
            self.drop("the other program began a message and did not end it")
        elif not self._is_throttled and now >= self._last_arrival + limits.silence:
            self.drop(f"nothing was heard for {limits.silence:g} seconds")
        if self._is_over:
            return
        if now >= self._last_sending + limits.keepalive:
            self._schedule_flush()
            self._queue(b"")
            self._last_sending = now
        due = self._last_sending + limits.keepalive
        if self._deadline is not None:
            due = min(due, self._deadline)
        if self._frame_began is not None:
            due = min(due, self._frame_began + limits.started_frame)
        if not self._is_throttled:
            due = min(due, self._last_arrival + limits.silence)
        self._timer = self._loop.call_at(due, self._watch)

    def _stop_watching(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Ending

    def _end(self, reason: str, *, abort: bool) -> None:
        if self.is_up:
            self._is_over = True
            self._stop_watching()
            # Later, because a handler must not be notified of the end during its own call.
            self._loop.call_soon(self._finish, reason, abort)

    def _finish(self, reason: str, abort: bool) -> None:
        if self._channel is not None:
            if abort:
                self._channel.abort()
            else:
                self.flush()
                self._channel.close()
        cast(LinkHandler, self._handler).link_down(self, reason)
        if self._channel is None and not self._closed.is_set():
            self._gone()


def _how_it_ended(problem: Exception | None) -> str:
    if problem is None:
        return "the other program ended the connection"
    if isinstance(problem, ssl.SSLError):
        # OpenSSL's own texts contain error numbers and are not meant for people.
        return "the connection broke" if problem.errno else f"{BREACH}: {problem.args[0]}"
    if isinstance(problem, OSError) and problem.strerror:
        return f"the connection broke: {problem.strerror}"
    return "the connection broke"


async def secure(
    link: Link, connection: socket.socket, context: ssl.SSLContext, limits: Limits, charge: Callable[[float], None]
) -> None:
    """Perform the TLS handshake and pass the connection to ``link``, which does not read before it is started.

    :param charge: called with the computing time, in seconds, of each piece of the handshake.
    :raises OSError: if the peer does not complete it in time and with an admissible key.
    """
    try:
        # Otherwise each small message would wait for TCP's acknowledgement of the previous one, up to 40 ms.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        async with asyncio.timeout(limits.handshake):
            secured = await shake_hands(connection, context, charge, is_server=not link.outbound)
    except TimeoutError as error:
        connection.close()
        raise ConnectionAbortedError("the handshake takes too long") from error
    except BaseException:
        connection.close()
        raise
    await open_channel(secured, link, limits.shutdown)
    if not link.is_connected:
        raise ConnectionResetError("the connection ended with the handshake")
