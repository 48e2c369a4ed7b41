"""The dialer: it opens links to nodes at the addresses where they may be."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from protocol.crypto.keys import fingerprint
from protocol.crypto.tls import Credentials
from protocol.errors import ErrorCode, PeerError
from protocol.limits import ADDRESSES_PER_PEER, Limits
from protocol.net.addresses import Address, format_address, from_socket_name, hosts_to_dial
from protocol.net.link import Link, LinkHandler, secure

Accept = Callable[[bytes], bool]
"""Tells whether the peer with this identity is wanted."""


def anybody(_: bytes) -> bool:
    """Accept every identity."""
    return True


class DialError(PeerError):
    """No link could be made. The text is one sentence for a person; it may contain text that a peer advertised.

    :param is_other: a player answers, but not the wanted one.
    """

    code = ErrorCode.UNREACHABLE

    def __init__(self, reason: str, *, is_other: bool = False) -> None:
        super().__init__(reason)
        self.is_other = is_other


async def dial(
    host: str,
    port: int,
    credentials: Credentials,
    handler: LinkHandler,
    accept: Accept = anybody,
    limits: Limits | None = None,
) -> Link:
    """Open a link to a host, by whichever of its addresses answers first. See :func:`dial_any`."""
    return await dial_any([(host, port)], credentials, handler, accept, limits)


async def dial_any(
    addresses: Iterable[Address],
    credentials: Credentials,
    handler: LinkHandler,
    accept: Accept = anybody,
    limits: Limits | None = None,
) -> Link:
    """Dial all addresses side by side, of very many the first few. The first good connection becomes the link.

    ``link_up`` is called for that one only, before this returns. A peer can refuse us only after our side of TLS is
    done. Then the link comes up and goes down again: only the exchange of HELLO and WELCOME shows that a link is good.

    :param accept: decides by the identity that TLS proved. Other peers that answer at an address are passed over.
    :raises DialError: if no address answers in time with a node that is accepted and is not this one.
    """
    bounds = limits or Limits()
    dialled = ((each, port) for host, port in addresses for each in hosts_to_dial(host))
    chosen = list(dict.fromkeys(dialled))[:ADDRESSES_PER_PEER]
    if not chosen:
        raise DialError("no address is known")
    link = await _first(_dial_host(address, credentials, accept, bounds) for address in chosen)
    link.start(handler)
    return link


async def _first(attempts: Iterable[Coroutine[Any, Any, Link]]) -> Link:
    """Run attempts side by side; return the first link and undo all others."""
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
        # Nothing is awaited here: being cancelled now would lose the winner.
        for task in tasks:
            if task is not winner:
                task.cancel()
                task.add_done_callback(_undo)


def _undo(attempt: asyncio.Task[Link]) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().refuse()


async def _dial_host(address: Address, credentials: Credentials, accept: Accept, limits: Limits) -> Link:
    where = format_address(address)
    try:
        async with asyncio.timeout(limits.handshake):
            found = await asyncio.get_running_loop().getaddrinfo(*address, type=socket.SOCK_STREAM)
            return await _first(
                _connect(where, family, name, credentials, accept, limits)
                for family, _, _, _, name in found[:ADDRESSES_PER_PEER]
            )
    except TimeoutError as error:
        raise DialError(f"{where} did not answer within {limits.handshake:g} seconds") from error
    except (socket.gaierror, ValueError, OverflowError) as error:
        raise DialError(f"no machine is known by the name {address[0]}") from error


async def _connect(
    where: str, family: int, name: Any, credentials: Credentials, accept: Accept, limits: Limits
) -> Link:
    try:
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            await asyncio.get_running_loop().sock_connect(connection, name)
            remote, local = from_socket_name(connection.getpeername()), from_socket_name(connection.getsockname())
        except BaseException:
            connection.close()
            raise
        link = Link(limits, remote=remote, local=local, outbound=True)
        await secure(link, connection, credentials.client, limits, lambda _: None)
    except ConnectionRefusedError as error:
        raise DialError(f"nobody listens at {where}") from error
    except ssl.SSLError as error:
        raise DialError(f"something other than p2pdice answers at {where}, or another version of it") from error
    except ConnectionError as error:
        raise DialError(f"{where} broke off the connection") from error
    except OSError as error:
        is_asyncio = "Connect call failed" in str(error)  # asyncio's text gives no reason
        reason = os.strerror(error.errno) if is_asyncio and error.errno else error.strerror or error
        raise DialError(f"{where} cannot be reached: {reason}") from error
    if link.peer_key == credentials.public_key:
        failure = DialError(f"{where} is this program itself")
    elif not accept(link.peer_key):
        failure = DialError(f"at {where} another player answers, {fingerprint(link.peer_key)}", is_other=True)
    else:
        return link
    link.refuse()
    raise failure
