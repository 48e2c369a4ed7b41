"""The listener: it accepts links within the limits of :mod:`protocol.limits`.

Strangers, which are peers outside the roster, may hold a limited number of links per address and in total. A roster
member is never refused in favour of strangers. A peer is known only after its TLS handshake, so concurrent handshakes
have a separate limit. Each takes computing time, so their rate is limited, too.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from protocol.crypto.tls import Credentials
from protocol.limits import (
    ACCEPT_PAUSE,
    ADDRESSES_WATCHED,
    BACKLOG,
    HANDSHAKE_COST,
    REFUSAL_PAUSE,
    Limits,
)
from protocol.net.addresses import Address, from_socket_name, origin
from protocol.net.interfaces import hosts_to_tell
from protocol.net.link import Allowances, Link, LinkHandler, LinkUse, secure
from protocol.rate_limit import Bucket, Buckets

EVERYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104
"""Hosts for listening on every interface, IPv4 and IPv6, so that the table can be reached from the LAN."""


_PORT_ATTEMPTS: Final = 16


class _Door(socket.socket):
    """A listening socket that holds an accepted connection until the listener takes it.

    ``sock_accept`` loses a connection that arrives at the moment of its cancellation, and fails in the event loop if
    one arrives immediately afterwards.
    """

    let_in: socket.socket | None = None
    is_shut = False
    """Whether no more connections are accepted."""

    def accept(self) -> tuple[socket.socket, Any]:
        if self.is_shut:
            raise BlockingIOError
        self.let_in, name = super().accept()
        return self.let_in, name

    def close(self) -> None:
        super().close()
        if self.let_in is not None:
            self.let_in.close()


class Listener:
    """Accepts links; :func:`listen` creates it."""

    def __init__(
        self,
        sockets: Sequence[_Door],
        credentials: Credentials,
        handler: LinkHandler,
        limits: Limits,
        allowances: Allowances,
    ) -> None:
        self.allowances = allowances
        """What peers may still send, and which of them are not strangers."""
        self._bound = [from_socket_name(each.getsockname()) for each in sockets]
        self.port: int = self._bound[0][1]
        self._credentials = credentials
        self._handler = handler
        self._limits = limits
        self._links: list[Link] = []
        self._handshakes: dict[asyncio.Task[None], str] = {}
        self._visits: Buckets[str] = Buckets(limits.handshake_rate, limits.handshake_burst, ADDRESSES_WATCHED)
        self._all_visits = Bucket(limits.accept_rate, limits.accept_burst, asyncio.get_running_loop().time())
        self._doors = tuple(sockets)
        self._accepting = [self._accept_at(each) for each in sockets]

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The addresses at which this node can be reached now. Those that work from other machines come first."""
        return tuple((host, self.port) for host in hosts_to_tell(host for host, _ in self._bound))

    def close(self) -> None:
        """Stop accepting. Established links stay up."""
        for door in self._doors:
            door.is_shut = True
        for task in (*self._accepting, *self._handshakes):
            task.cancel()

    def _accept_at(self, listening: _Door) -> asyncio.Task[None]:
        task = asyncio.create_task(self._accept(listening))
        # A callback, because a task that is cancelled before it starts runs none of its code.
        task.add_done_callback(lambda _: listening.close())
        return task

    async def _accept(self, listening: _Door) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
                listening.let_in = None
            except OSError:
                await asyncio.sleep(ACCEPT_PAUSE)
            else:
                # One per pass of the event loop. asyncio's own servers accept as long as connections arrive.
                await asyncio.sleep(self._receive(connection))

    def _receive(self, connection: socket.socket) -> float:
        """Start a handshake or refuse the connection; return the seconds to wait before accepting the next one."""
        try:
            remote = from_socket_name(connection.getpeername())
            local = from_socket_name(connection.getsockname())
        except OSError:  # the peer is gone already
            connection.close()
            return 0.0
        link = Link(self._limits, remote=remote, local=local, outbound=False)
        pause = 0.0
        charged: list[Bucket] = []
        if not link.is_on_own_machine or self._limits.paces_own_machine:
            now = asyncio.get_running_loop().time()
            bucket = self._visits.bucket(remote[0], now)
            if bucket.wait(now):
                connection.close()
                return REFUSAL_PAUSE
            pause = self._all_visits.wait(now)
            charged = [bucket, self._all_visits]
            for each in charged:
                each.take()
        self._make_room_for_handshake()
        self._begin_handshake(link, connection, _Bill(charged))
        return pause

    def _begin_handshake(self, link: Link, connection: socket.socket, bill: _Bill) -> None:
        waiting = [connection]

        def end(task: asyncio.Task[None]) -> None:
            self._handshakes.pop(task, None)
            for each in waiting:  # non-empty if the task was cancelled before it started
                each.close()
            if task.cancelled():
                link.refuse()  # abort the channel, whether it exists already or is still being created

        task = asyncio.create_task(self._admit(link, waiting, bill))
        self._handshakes[task] = origin(link.remote[0])
        task.add_done_callback(end)

    def _make_room_for_handshake(self) -> None:
        if len(self._handshakes) >= self._limits.handshakes:
            ((busiest, _),) = Counter(self._handshakes.values()).most_common(1)
            oldest = next(task for task, place in self._handshakes.items() if place == busiest)
            del self._handshakes[oldest]
            oldest.cancel()

    async def _admit(self, link: Link, waiting: list[socket.socket], bill: _Bill) -> None:
        try:
            await secure(link, waiting.pop(), self._credentials.server, self._limits, bill.charge)
        except OSError as error:
            # The peer is not a node and has been cut off. The frames of the traceback keep the whole connection in a
            # reference cycle until garbage collection, so many strangers would fill the memory.
            traceback.clear_frames(error.__traceback__)
            return
        if self._may_stay(link):
            self._links.append(link)
            link.start(self._handler, self.allowances, self._closed)
        else:
            link.refuse()

    def _may_stay(self, link: Link) -> bool:
        """Return whether a new link may stay. If all places are taken, it may displace another link.

        A stranger is a peer outside the roster. A node puts the players of its table or match on the roster and, after
        a match, also those who played it.
        """
        limits = self._limits
        if link.peer_key == self._credentials.public_key:
            return False
        roster = self.allowances.roster
        if link.peer_key in roster:
            same = [each for each in self._links if each.peer_key == link.peer_key]
            if len(same) >= limits.links_per_member:
                # Keep the link that serves the match. A player also connects here to look for other nodes.
                self._displace(min(same, key=_use), "the same player has come back over another connection")
            return True
        strangers = [each for each in self._links if each.peer_key not in roster]
        neighbours = [each for each in strangers if each.remote[0] == link.remote[0]]
        if len(neighbours) >= limits.links_per_address and not link.is_on_own_machine:
            return self._displace_one_of(neighbours)
        return len(strangers) < limits.links_outside_roster or self._displace_one_of(strangers)

    def _displace_one_of(self, links: Sequence[Link]) -> bool:
        """End one of ``links`` whose peer is not engaged here, and return whether there was one.

        An honest peer says at once what it wants; other peers must not hold a place until a deadline. The place of
        origin with the most such links loses its link with the lowest use; among equals, the oldest.
        """
        places = {each: origin(each.remote[0]) for each in links if _use(each) is not LinkUse.ENGAGED}
        if not places:
            return False
        ((busiest, _),) = Counter(places.values()).most_common(1)
        least = min((each for each, place in places.items() if place == busiest), key=_use)
        self._displace(least, "the place was needed for somebody else")
        return True

    def _displace(self, link: Link, reason: str) -> None:
        self._links.remove(link)  # removed now: the link ends later, and another one may arrive before it does
        link.cut(reason)

    def _closed(self, link: Link) -> None:
        if link in self._links:
            self._links.remove(link)


def _use(link: Link) -> LinkUse:
    """Return the use of a link. One that only waits for the peer to read a refusal is idle."""
    return link.use if link.is_up else LinkUse.IDLE


class _Bill:
    """The cost of one handshake, for buckets that have already been charged for a normal one."""

    def __init__(self, buckets: Sequence[Bucket]) -> None:
        self._buckets = buckets
        self._cost = 0.0
        self._paid = HANDSHAKE_COST

    def charge(self, seconds: float) -> None:
        """Add computing time in seconds, and charge the buckets at once for any excess over a normal handshake."""
        self._cost += seconds
        if self._cost > self._paid:
            for bucket in self._buckets:
                bucket.take((self._cost - self._paid) / HANDSHAKE_COST)
            self._paid = self._cost


async def listen(
    hosts: Sequence[str],
    port: int,
    credentials: Credentials,
    handler: LinkHandler,
    limits: Limits | None = None,
    allowances: Allowances | None = None,
) -> Listener:
    """Accept links on each of ``hosts`` (see :data:`EVERYWHERE`), all on one port; 0 selects any free port.

    A host is skipped if this machine has no such address, as long as one host remains.

    :param allowances: what peers may still send, if the node shares these counts with other links.
    :raises OSError: if the port is taken, or no host belongs to this machine.
    """
    for attempt in range(_PORT_ATTEMPTS):
        try:
            sockets = _bind(hosts, port)
        except _PortTaken as error:
            # A port that is free for IPv4 may be taken for IPv6. With port 0, another one is tried.
            if port or attempt == _PORT_ATTEMPTS - 1:
                raise OSError(f"port {error.port} is taken by another program") from error
        else:
            break
    bounds = limits or Limits()
    return Listener(sockets, credentials, handler, bounds, allowances or Allowances(bounds))


class _PortTaken(Exception):
    def __init__(self, port: int) -> None:
        self.port = port


def _bind(hosts: Sequence[str], port: int) -> list[_Door]:
    sockets: list[_Door] = []
    problem: OSError | None = None
    try:
        for host in hosts:
            family, _, _, _, name = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
            listening = None
            try:
                listening = _Door(family, socket.SOCK_STREAM)
                listening.setblocking(False)
                if sys.platform == "win32":
                    # SO_REUSEADDR would let any other process on this machine take over the port.
                    listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
                else:
                    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listening.bind((name[0], port, *name[2:]))
                listening.listen(BACKLOG)
            except OSError as error:
                if listening is not None:
                    listening.close()
                if error.errno in (errno.EADDRINUSE, errno.EACCES):
                    raise _PortTaken(port) from error
                problem = error
            else:
                sockets.append(listening)
                port = listening.getsockname()[1]
        if not sockets:
            raise problem or OSError("no host to listen at")
    except BaseException:
        for each in sockets:
            each.close()
        raise
    return sockets
