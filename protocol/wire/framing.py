"""Frames: a big-endian u32 and that many bytes. An empty one carries no message and only says that its sender lives."""

from __future__ import annotations

import struct
from typing import Final

from protocol.errors import PeerError

_LENGTH: Final = struct.Struct(">I")
LENGTH_BYTES: Final = _LENGTH.size


def frame_header(message: bytes) -> bytes:
    """Return the bytes before the message on the wire.

    >>> frame_header(b"abc")
    b'\\x00\\x00\\x00\\x03'
    """
    return _LENGTH.pack(len(message))


class FrameTooLong(PeerError, ValueError):
    """A peer announced a frame above the limit."""


class FrameSplitter:
    """Cuts a stream into frames, in time linear in its length, whatever pieces it arrives in.

    It holds one piece from the socket and less than one frame before it. A length is judged as soon as its four bytes
    are there, before anything of the frame is waited for.
    """

    __slots__ = ("_buffer", "_start", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """The longest frame allowed, in bytes without the length itself."""
        self._buffer = bytearray()
        self._start = 0

    def feed(self, data: bytes) -> None:
        """Add a piece of the stream."""
        del self._buffer[: self._start]
        self._start = 0
        self._buffer += data

    def next_frame(self) -> bytes | None:
        """Take the message of the next complete frame, or return None until more has arrived.

        :raises FrameTooLong: if the next frame is announced with more than ``limit`` bytes.
        """
        body = self._start + LENGTH_BYTES
        if body > len(self._buffer):
            return None
        (length,) = _LENGTH.unpack_from(self._buffer, self._start)
        if length > self.limit:
            raise FrameTooLong(f"a frame of {length} bytes, where {self.limit} are allowed")
        end: int = body + length
        if end > len(self._buffer):
            return None
        self._start = end
        return bytes(self._buffer[body:end])

    @property
    def is_mid_frame(self) -> bool:
        """Whether something is left over: once :meth:`next_frame` has given None, the start of a frame."""
        return self._start < len(self._buffer)
