"""One TLS connection in the event loop: its handshake, and the channel that it becomes.

A stranger can make a node compute a handshake before the node knows anything about the stranger. OpenSSL then accepts
100 KiB of certificates, and decodes keys on elliptic curves that the stranger has made up. This can take half a minute,
because OpenSSL limits neither the bytes nor the kinds of keys. So this module limits the bytes. One thread for all
incoming connections does the work outside the event loop, and reports its computing time to the listener.

After the handshake, a peer can still send messages of TLS itself, such as key updates, or records of one byte. This
module limits the messages. It only counts the records, and the link slows the peer down.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, NamedTuple, Protocol, cast

from protocol.crypto.tls import Peer, authenticate
from protocol.limits import (
    HANDSHAKE_FROM_DIALLER,
    HANDSHAKE_FROM_LISTENER,
    HANDSHAKE_HELLO,
    HANDSHAKE_PIECES,
    TLS_PIECE,
    TLS_WASTE,
)

_ANSWERING: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="p2pdice-answers")
_DIALLING: Final = ThreadPoolExecutor(max_workers=2, thread_name_prefix="p2pdice-dials")
"""OpenSSL releases the GIL while it computes, so the event loop continues. Dialling has separate threads, so that
incoming connections cannot delay it."""
_RECORD_HEADER: Final = 5
"""Bytes of a record's header. The last two give the length of the rest."""
_RECORD_OVERHEAD: Final = 22
"""Bytes of a TLS 1.3 record in addition to its content: header, content type and tag (RFC 8446, §5.2)."""


class Secured(NamedTuple):
    """A connection with a completed handshake."""

    connection: socket.socket
    peer: Peer
    tls: ssl.SSLObject
    incoming: ssl.MemoryBIO
    """Bytes that have arrived but have not been read."""
    outgoing: ssl.MemoryBIO


async def shake_hands(
    connection: socket.socket, context: ssl.SSLContext, charge: Callable[[float], None], *, is_server: bool
) -> Secured:
    """Complete the handshake on a connected, non-blocking socket.

    :param charge: called for each piece with the computing time in seconds, even if the handshake fails.
    :raises OSError: if the peer does not do its part, proves no admissible key, or sends more than a node does.
    """
    loop = asyncio.get_running_loop()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_side=is_server)

    def go_on() -> Peer | None:
        began = time.thread_time()
        try:
            tls.do_handshake()
            return authenticate(tls)
        except ssl.SSLWantReadError:
            return None
        finally:
            spent = time.thread_time() - began
            with suppress(RuntimeError):  # the loop is closed, so there is no listener to charge
                loop.call_soon_threadsafe(charge, spent)

    async def compute() -> Peer | None:
        peer = await loop.run_in_executor(_ANSWERING if is_server else _DIALLING, go_on)
        if outgoing.pending:
            await loop.sock_sendall(connection, outgoing.read())
        return peer

    pieces = _Pieces(connection)
    if not is_server:
        await compute()
    incoming.write(await pieces.take_hello())
    remaining = HANDSHAKE_FROM_DIALLER if is_server else HANDSHAKE_FROM_LISTENER
    while (peer := await compute()) is None:
        piece = await pieces.take(remaining)
        remaining -= len(piece)
        incoming.write(piece)
    return Secured(connection, peer, tls, incoming, outgoing)


class _Pieces:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._remaining = HANDSHAKE_PIECES

    async def take(self, most: int) -> bytes:
        """Wait for up to ``most`` bytes.

        :raises OSError: if the peer ends the connection or exceeds its bytes or pieces.
        """
        if not most or not self._remaining:
            raise ssl.SSLError("the peer sends more for the handshake than a node does, or in smaller pieces")
        self._remaining -= 1
        piece = await asyncio.get_running_loop().sock_recv(self._connection, most)
        if not piece:
            raise ConnectionResetError("the peer ended the connection before the handshake")
        return piece

    async def take_hello(self) -> bytes:
        """Wait for the first record.

        :raises OSError: as in :meth:`take`, or if it is too long for a ClientHello.
        """
        record = await self.take(_RECORD_HEADER)
        while missing := self._missing(record):
            record += await self.take(missing)
        return record

    def _missing(self, record: bytes) -> int:
        if len(record) < _RECORD_HEADER:
            return _RECORD_HEADER - len(record)
        length = int.from_bytes(record[3:_RECORD_HEADER])
        if length > HANDSHAKE_HELLO:
            raise ssl.SSLError("the peer begins with something that is not a ClientHello")
        return _RECORD_HEADER + length - len(record)


class ChannelUser(Protocol):
    """The user of a channel. Its methods are called in the event loop."""

    def connected(self, channel: Channel) -> None:
        """Receive the channel, which reads nothing until :meth:`Channel.resume_reading` is called."""

    def data_received(self, data: bytes, records: int) -> None:
        """Receive the content of consecutive TLS records, and their number."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the channel is gone: after an error, or with None if a side ended it."""


class Channel(asyncio.BufferedProtocol):
    """TLS after the handshake; :func:`open_channel` creates it.

    :param shutdown: time in seconds for the peer, after :meth:`close`, to read what remains.
    """

    def __init__(self, secured: Secured, user: ChannelUser, shutdown: float) -> None:
        self.peer = secured.peer
        self._tls, self._incoming, self._outgoing = secured.tls, secured.incoming, secured.outgoing
        self._user = user
        self._piece = memoryview(bytearray(TLS_PIECE))
        """The buffer for arriving bytes. Allocating one per piece would cost more than reading the piece."""
        self._shutdown = shutdown
        self._transport: asyncio.Transport
        self._waste = 0
        self._is_paused = True
        self._is_ending = False
        self._error: Exception | None = None
        self._timer: asyncio.TimerHandle | None = None

    # Called by the user

    def write(self, data: bytes) -> None:
        """Send ``data``, or drop it if the channel is closed."""
        if not self._is_ending:
            self._tls.write(data)
            self._flush()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size()

    def pause_reading(self) -> None:
        """Stop reading, which makes TCP hold the peer back."""
        if not self._is_ending:
            self._is_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again, starting with bytes that have already arrived."""
        if not self._is_ending:
            self._is_paused = False
            self._transport.resume_reading()
            asyncio.get_running_loop().call_soon(self._read)

    def close(self) -> None:
        """End the channel once the peer has read everything or its time is up."""
        if self._is_ending:
            return
        with suppress(ssl.SSLError):  # unwrap sends close_notify, then reports that the peer's is missing
            self._tls.unwrap()
        self._flush()
        self._timer = asyncio.get_running_loop().call_later(self._shutdown, self._transport.abort)
        # Closing with unread bytes from the peer would make the system discard bytes not sent yet.
        self.resume_reading()
        self._is_ending = True

    def abort(self) -> None:
        self._is_ending = True
        self._transport.abort()

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.pause_reading()  # until the user calls resume_reading
        self._user.connected(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._piece

    def buffer_updated(self, nbytes: int) -> None:
        if self._error is None:
            self._incoming.write(self._piece[:nbytes])
            self._read()

    def eof_received(self) -> None:
        self.close()  # asyncio closes the transport, too, when this returns None

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_ending = True
        if self._timer is not None:
            self._timer.cancel()
        self._user.connection_lost(self._error or exc)

    # Reading

    def _read(self) -> None:
        """Decrypt bytes that have arrived. End the channel if the peer has ended it or exceeded a limit."""
        if self._is_paused or self._transport.is_closing():
            return
        self._waste += self._incoming.pending
        carried: list[bytes] = []
        is_over = False
        try:
            while data := self._tls.read(TLS_PIECE):
                carried.append(data)
                if not self._incoming.pending and not self._tls.pending():
                    break  # usually everything is read, and an empty read would cost more than this test
            else:
                is_over = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            is_over = True
        except ssl.SSLError as error:
            self._error = error
        if self._is_ending:
            # Data no longer matters, only the peer's close_notify.
            if is_over:
                self._transport.close()
            return
        self._flush()  # TLS may have produced an answer
        data = b"".join(carried)
        self._waste = max(0, self._waste - len(data) - len(carried) * _RECORD_OVERHEAD)
        if self._waste > TLS_WASTE:
            self._error = ssl.SSLError("it sent too much that carries nothing")
        if carried:
            self._user.data_received(data, len(carried))
        if self._error is not None:
            self.abort()
        elif is_over:
            self.close()
            self._transport.close()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._transport.write(self._outgoing.read())


async def open_channel(secured: Secured, user: ChannelUser, shutdown: float) -> None:
    """Turn a connection into a channel for ``user``. From now on the channel owns the socket."""
    loop = asyncio.get_running_loop()
    await loop.connect_accepted_socket(lambda: Channel(secured, user, shutdown), secured.connection)
