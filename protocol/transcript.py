"""The transcript: a finished match as one file that anybody can verify.

A sequence of canonical msgpack arrays, one behind the other and nothing between::

    ("p2pdice/1/transcript", genesis)
    (signed bytes, signature)          every message of the history: step by step, in each step by roster index

If somebody was missing when a step was closed, the votes of a majority to close it so follow the step's messages, by
roster index. Behind the last step may stand messages that prove misconduct, each by itself against the history or with
the one before it. Receipts (RESULT) are not part of it, so all nodes with the same history write the same bytes, but
for the choice of votes and proofs.

A *proof of misconduct* is one of two files. Where the offending message can be judged only by what came before it (an
illegal move, a wrong opening), it is a transcript up to that step with the message at its end. Where two messages
contradict each other, they are all that is needed::

    ("p2pdice/1/proof", genesis)
    (signed bytes, signature)          twice
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, cast

import msgpack

from protocol.canonical import NotCanonicalError, decode, encode
from protocol.messages import MalformedMessageError, Signed, parse_signed
from protocol.record import MisconductError, Record

TRANSCRIPT_TAG: Final = "p2pdice/1/transcript"
PROOF_TAG: Final = "p2pdice/1/proof"


class MalformedTranscriptError(ValueError):
    """The bytes are not a transcript, or stop being one at some point."""


class Opened(NamedTuple):
    """A transcript whose header was read."""

    is_proof: bool
    """Two messages that contradict each other, not a history."""
    genesis: bytes
    messages: Iterator[Signed]
    """Parsed one by one; raises :class:`MalformedTranscriptError` where the bytes stop making sense."""


def write_transcript(record: Record, proven: Iterable[MisconductError] = ()) -> bytes:
    """Return the transcript of ``record``: all closed steps, what the open one has so far, what proves misconduct."""
    told = {signed.id for position in record.chain for signed in position.entries.values()}
    told.update(signed.id for signed in record.held.values())
    evidence = [
        signed
        for error in proven
        # A single message is judged by the history before it, and that can have been taken back since.
        if len(error.evidence) > 1 or record.goes_through(error.evidence[0].message)
        for signed in error.evidence
        if signed.id not in told
    ]
    held = (record.held[author] for author in sorted(record.held))
    return _written(TRANSCRIPT_TAG, record, (*_until(record, record.position.step), *held, *evidence))


def write_proof(record: Record, error: MisconductError) -> bytes:
    """Return a file that shows somebody's misconduct to anybody."""
    if len(error.evidence) > 1:
        return _written(PROOF_TAG, record, error.evidence)
    return _written(TRANSCRIPT_TAG, record, (*_until(record, error.step), *error.evidence))


def _until(record: Record, step: int) -> Iterator[Signed]:
    for position in record.chain[1 : step + 1]:
        yield from position.entries.values()
        yield from position.certificate


def _written(tag: str, record: Record, messages: Iterable[Signed]) -> bytes:
    return encode((tag, record.genesis_data)) + b"".join(encode(signed.wire) for signed in messages)


def open_transcript(data: bytes) -> Opened:
    """Read the header of a transcript or proof.

    :raises MalformedTranscriptError: if there is none.
    """
    arrays = _arrays(data)
    header = next(arrays, None)
    if header is None or len(header) != 2 or header[0] not in (TRANSCRIPT_TAG, PROOF_TAG):
        raise MalformedTranscriptError("not a p2pdice transcript")
    if type(header[1]) is not bytes:
        raise MalformedTranscriptError("not a p2pdice transcript")
    return Opened(header[0] == PROOF_TAG, header[1], _messages(arrays))


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
