"""The dialer opens links to nodes, given addresses at which they may be."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, suppress
from ipaddress import ip_address
from typing import Any

from protocol.crypto.keys import fingerprint
from protocol.crypto.tls import Credentials
from protocol.errors import ErrorCode, PeerError
from protocol.limits import (
    ADDRESSES_PER_PEER,
    ADDRESSES_WATCHED,
    DIAL_BURST,
    DIAL_BURST_PER_ADDRESS,
    DIAL_RATE,
    DIAL_RATE_PER_ADDRESS,
    DIALS,
    Limits,
)
from protocol.net.addresses import Address, format_address, from_socket_name
from protocol.net.interfaces import hosts_to_dial, is_cut_off
from protocol.net.link import Allowances, Link, LinkHandler, secure
from protocol.rate_limit import Bucket, Buckets

Accept = Callable[[bytes], bool]
"""Returns whether a peer with this identity is wanted."""


def anybody(_: bytes) -> bool:
    return True


class DialError(PeerError):
    """No link could be established. The message is one sentence, which may contain text that a peer advertised.

    :param is_other: whether a player other than the wanted one answered.
    """

    code = ErrorCode.UNREACHABLE

    def __init__(self, reason: str, *, is_other: bool = False) -> None:
        super().__init__(reason)
        self.is_other = is_other


class Dialer:
    """Opens all outgoing links of one node.

    Addresses are hints that anybody may have supplied: in a proposal, a join record or an advertisement. So the rate of
    attempts is limited, in total and per address, and so is the number of concurrent attempts (:mod:`protocol.limits`,
    *Dialling*). Above the total rate or that number, attempts wait for their turn. Each :meth:`dial` has only one
    attempt in this queue, so a peer with many addresses does not delay others. An attempt fails if its address was
    dialled too often.

    :param credentials: this node's identity for TLS.
    :param allowances: what peers may still send, if the node shares these counts with other links.
    """

    def __init__(
        self, credentials: Credentials, limits: Limits | None = None, allowances: Allowances | None = None
    ) -> None:
        self.credentials = credentials
        self.limits = limits or Limits()
        self._allowances = allowances or Allowances(self.limits)
        self._under_way = asyncio.Semaphore(DIALS)
        self._turn = asyncio.Lock()
        self._all = Bucket(DIAL_RATE, DIAL_BURST, asyncio.get_running_loop().time())
        self._each: Buckets[str] = Buckets(DIAL_RATE_PER_ADDRESS, DIAL_BURST_PER_ADDRESS, ADDRESSES_WATCHED)

    async def dial(self, addresses: Iterable[Address], handler: LinkHandler, accept: Accept = anybody) -> Link:
        """Dial the addresses in parallel, at most :data:`~protocol.limits.ADDRESSES_PER_PEER` of them.

        The first good connection becomes the link, and ``link_up`` is called for it before this returns. A peer can
        refuse the link only after TLS is established on this side. The link then goes up and down again, so only the
        exchange of HELLO and WELCOME shows that a link is good.

        :param accept: decides by the identity proved by TLS. Other peers that answer at an address are ignored.
        :raises DialError: if no address answers in time with an accepted node other than this one.
        """
        dialled = ((each, port) for host, port in addresses for each in hosts_to_dial(host))
        chosen = list(dict.fromkeys(dialled))[:ADDRESSES_PER_PEER]
        if not chosen:
            raise DialError("no address is known")
        queue = asyncio.Lock()
        link = await _first(self._dial_host(address, accept, queue) for address in chosen)
        link.start(handler, self._allowances)
        return link

    async def _dial_host(self, address: Address, accept: Accept, queue: asyncio.Lock) -> Link:
        where = format_address(address)
        try:
            found = await self._resolved(address)
        except TimeoutError as error:
            _check_own_network(where, address[0])
            raise DialError(f"the name {address[0]} could not be looked up in time") from error
        except (socket.gaierror, ValueError, OverflowError) as error:
            _check_own_network(where, address[0])
            raise DialError(f"no machine is known by the name {address[0]}") from error
        return await _first(
            self._connect_in_turn(where, family, name, accept, queue)
            for family, _, _, _, name in found[:ADDRESSES_PER_PEER]
        )

    async def _resolved(self, address: Address) -> list[Any]:
        try:  # an IP address needs no name service, and no thread, which may start late on a busy machine
            return socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except socket.gaierror:
            async with asyncio.timeout(self.limits.handshake):
                return await asyncio.get_running_loop().getaddrinfo(*address, type=socket.SOCK_STREAM)

    async def _connect_in_turn(self, where: str, family: int, name: Any, accept: Accept, queue: asyncio.Lock) -> Link:
        loop = asyncio.get_running_loop()
        host, now = from_socket_name(name)[0], loop.time()
        if not ip_address(host).is_loopback and not self._each.bucket(host, now).admits(now):
            raise DialError(f"{where} was dialled too often in the last seconds")
        async with AsyncExitStack() as held:
            async with queue:
                await held.enter_async_context(self._under_way)
                async with self._turn:  # first come, first served
                    await asyncio.sleep(self._all.wait(loop.time()))
                    self._all.take()
            try:
                async with asyncio.timeout(self.limits.handshake):
                    return await self._connect(where, family, name, accept)
            except TimeoutError as error:
                _check_own_network(where, host)
                raise DialError(f"{where} did not answer within {self.limits.handshake:g} seconds") from error

    async def _connect(self, where: str, family: int, name: Any, accept: Accept) -> Link:
        try:
            connection = socket.socket(family, socket.SOCK_STREAM)
            try:
                connection.setblocking(False)
                await asyncio.get_running_loop().sock_connect(connection, name)
                remote, local = from_socket_name(connection.getpeername()), from_socket_name(connection.getsockname())
            except BaseException:
                connection.close()
                raise
            link = Link(self.limits, remote=remote, local=local, outbound=True)
            await secure(link, connection, self.credentials.client, self.limits, lambda _: None)
        except ConnectionRefusedError as error:
            raise DialError(f"nobody listens at {where}") from error
        except ssl.SSLError as error:
            raise DialError(f"something other than p2pdice answers at {where}, or another version of it") from error
        except ConnectionError as error:
            raise DialError(f"{where} broke off the connection") from error
        except OSError as error:
            _check_own_network(where, from_socket_name(name)[0])
            is_asyncio = "Connect call failed" in str(error)  # asyncio's own text, which has no reason
            reason = os.strerror(error.errno) if is_asyncio and error.errno else error.strerror or error
            raise DialError(f"{where} cannot be reached: {reason}") from error
        if link.peer_key == self.credentials.public_key:
            failure = DialError(f"{where} is this program itself")
        elif not accept(link.peer_key):
            failure = DialError(f"at {where} another player answers, {fingerprint(link.peer_key)}", is_other=True)
        else:
            return link
        link.refuse()
        raise failure


def _check_own_network(where: str, host: str) -> None:
    """Raise an error that blames this machine if it has no network, unless ``host`` is loopback.

    :raises DialError: in that case.
    """
    with suppress(ValueError):
        if ip_address(host).is_loopback:
            return
    if is_cut_off():
        raise DialError(f"{where} cannot be reached: this machine is in no network; connect it by Wi-Fi or cable")


async def _first(attempts: Iterable[Coroutine[Any, Any, Link]]) -> Link:
    """Run attempts in parallel; return the first link, cancel the other attempts and close their links."""
    tasks = [asyncio.create_task(attempt) for attempt in attempts]
    winner: asyncio.Task[Link] | None = None
    failures: list[DialError] = []
    try:
        waiting = set(tasks)
        while waiting:
            finished, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task in finished:
                    try:
                        link = task.result()
                    except DialError as error:
                        failures.append(error)
                    else:
                        winner = task
                        return link
        reasons = dict.fromkeys(map(str, failures))
        raise DialError("; ".join(reasons), is_other=any(failure.is_other for failure in failures))
    finally:
        # Nothing is awaited here, because a cancellation now would lose the winner.
        for task in tasks:
            if task is not winner:
                task.cancel()
                task.add_done_callback(_undo)


def _undo(attempt: asyncio.Task[Link]) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().refuse()
