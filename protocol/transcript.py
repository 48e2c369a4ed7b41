"""The transcript: a finished match as one file that anybody can verify.

A sequence of canonical msgpack arrays, one behind the other and nothing between::

    ("p2pdice/1/transcript", genesis)
    (signed bytes, signature)          every message of the history: step by step, in each step by roster index

Receipts (RESULT) are not part of it, so every node that holds the same history writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, cast

import msgpack

from protocol.canonical import NotCanonicalError, decode, encode
from protocol.messages import MalformedMessageError, Signed, parse_signed
from protocol.record import Record

TRANSCRIPT_TAG: Final = "p2pdice/1/transcript"


class MalformedTranscriptError(ValueError):
    """The bytes are not a transcript, or stop being one at some point."""


class Opened(NamedTuple):
    """A transcript whose header was read."""

    genesis: bytes
    messages: Iterator[Signed]
    """Parsed one by one; raises :class:`MalformedTranscriptError` where the bytes stop making sense."""


def write_transcript(record: Record) -> bytes:
    """Return the transcript of all closed steps of ``record``."""
    parts = [encode((TRANSCRIPT_TAG, record.genesis_data))]
    for position in record.chain[1:]:
        parts += [encode(signed.wire) for signed in position.entries.values()]
    return b"".join(parts)


def open_transcript(data: bytes) -> Opened:
    """Read the header of a transcript.

    :raises MalformedTranscriptError: if there is none.
    """
    arrays = _arrays(data)
    header = next(arrays, None)
    if header is None or len(header) != 2 or header[0] != TRANSCRIPT_TAG or type(header[1]) is not bytes:
        raise MalformedTranscriptError("not a p2pdice transcript")
    return Opened(header[1], _messages(arrays))


def _messages(arrays: Iterator[tuple[object, ...]]) -> Iterator[Signed]:
    for number, item in enumerate(arrays):
        if len(item) != 2 or not all(type(part) is bytes for part in item):
            raise MalformedTranscriptError(f"message {number} is not a pair of byte strings")
        signed_bytes, signature = cast("tuple[bytes, bytes]", item)
        try:
            yield parse_signed(signed_bytes, signature)
        except MalformedMessageError as error:
            raise MalformedTranscriptError(f"message {number}: {error}") from None


def _arrays(data: bytes) -> Iterator[tuple[object, ...]]:
    unpacker = msgpack.Unpacker(max_buffer_size=max(1, len(data)))
    unpacker.feed(data)
    start = 0
    while start < len(data):
        try:
            unpacker.skip()
            end = unpacker.tell()
            value = decode(data[start:end])
        except msgpack.OutOfData:
            raise MalformedTranscriptError(f"the file stops in the middle of a message (byte {len(data)})") from None
        except (NotCanonicalError, ValueError, msgpack.UnpackException) as error:
            raise MalformedTranscriptError(f"unreadable at byte {start}: {error}") from None
        if type(value) is not tuple:
            raise MalformedTranscriptError(f"unreadable at byte {start}: not an array")
        yield value
        start = end
