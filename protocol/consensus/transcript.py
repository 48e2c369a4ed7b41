"""The transcript: a match, finished or not, in one file that anybody can verify.

A transcript is a sequence of canonical msgpack arrays with nothing between them::

    ("p2pdice/3/transcript", genesis)
    (signed bytes, signature)          every message of the history: step by step, in each step by roster index

If votes closed a step, the votes follow the step's messages: first ABSENTs, then CLOSEs, each by roster index. A LOCK
closed by votes has no messages. After the last step, there may be messages that prove misconduct: by themselves against
the history, or together with the message before or after. RESULT and WITNESS are not part of a transcript. So all nodes
with the same history write the same bytes, apart from their choice of votes and proofs.

A *proof of misconduct* takes one of two forms. Some messages, such as an illegal move or a wrong opening, can be judged
only by the history before them. Their proof is a transcript up to that step, ending with the message. Two messages that
contradict each other need no history::

    ("p2pdice/3/proof", genesis)
    (signed bytes, signature)          twice
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from protocol import limits
from protocol.consensus.history import History
from protocol.consensus.kinds import parse_signed
from protocol.consensus.rule import MisconductError
from protocol.crypto.keys import SIGNATURE_BYTES
from protocol.errors import PeerError
from protocol.version import tag
from protocol.wire.canonical import encode
from protocol.wire.messages import MalformedMessageError, Signed, read_pair, spell_pair

TRANSCRIPT_TAG: Final = tag("transcript")
PROOF_TAG: Final = tag("proof")


class MalformedTranscriptError(PeerError, ValueError):
    """The bytes are not a transcript, or only their beginning is one."""


class Opened(NamedTuple):
    """A transcript or proof whose header was read."""

    version: int
    """The version of the protocol. The rest of the file can be read only if this program has the same version."""
    is_proof: bool
    """Whether the file has two messages that contradict each other, rather than a history."""
    genesis: bytes
    messages: Iterator[Signed]
    """The messages, parsed one at a time. Raises :class:`MalformedTranscriptError` at the first unreadable one."""


def write_transcript(history: History, proven: Iterable[MisconductError] = ()) -> bytes:
    """Return the transcript of a history: all closed steps, the messages of the open one, and messages that prove
    misconduct."""
    evidence = [
        signed
        for error in proven
        # A single message is judged by the history before it, which may have been rolled back since.
        if len(error.evidence) > 1 or history.goes_through(error.evidence[0].message)
        for signed in error.evidence
    ]
    told = {signed.id for signed in _history(history)} if evidence else ()
    untold = [signed for signed in evidence if signed.id not in told]
    return b"".join(_pieces(TRANSCRIPT_TAG, history, chain(_history(history), untold)))


def write_proof(history: History, error: MisconductError) -> bytes:
    """Return a file that proves misconduct to anybody."""
    if len(error.evidence) > 1:
        return b"".join(_pieces(PROOF_TAG, history, error.evidence))
    return b"".join(_pieces(TRANSCRIPT_TAG, history, chain(_until(history, error.step), error.evidence)))


def _history(history: History) -> Iterator[Signed]:
    yield from _until(history, history.position.step)
    yield from (history.held[author] for author in sorted(history.held))


def _until(history: History, step: int) -> Iterator[Signed]:
    for position in history.chain[1 : step + 1]:
        yield from position.entries.values()
        yield from position.certificate


def _pieces(header: str, history: History, messages: Iterable[Signed]) -> Iterator[bytes]:
    yield encode((header, history.genesis_data))
    for signed in messages:
        pair = spell_pair(*signed.wire)
        yield _PAIR + pair if pair is not None else encode(signed.wire)


def open_transcript(data: bytes) -> Opened:
    """Read the header of a transcript or proof.

    Memory is bounded: only the genesis and the messages are decoded, one at a time, each after its length was checked.

    :raises MalformedTranscriptError: if the bytes do not begin with such a header.
    """
    found = _BEGINNING.match(data)
    if found is None or found[0] != _PAIR + encode(tag(found[2].decode(), int(found[1]))):
        raise MalformedTranscriptError("not a p2pdice transcript")
    genesis, offset = _byte_string(data, found.end(), limits.GENESIS)
    return Opened(int(found[1]), found[2] == b"proof", genesis, _messages(data, offset))


def _messages(data: bytes, offset: int) -> Iterator[Signed]:
    number = 0
    while offset < len(data):
        if data[offset : offset + 1] != _PAIR:
            raise MalformedTranscriptError(f"message {number} (byte {offset}) is not a pair of byte strings")
        if (pair := read_pair(data, offset + 1)) is not None:
            signed_bytes, signature, offset = pair
        else:
            signed_bytes, offset = _byte_string(data, offset + 1, limits.MESSAGE)
            signature, offset = _byte_string(data, offset, SIGNATURE_BYTES)
        try:
            yield parse_signed(signed_bytes, signature)
        except MalformedMessageError as error:
            raise MalformedTranscriptError(f"message {number}: {error}") from None
        number += 1


_PAIR: Final = b"\x92"
"""The byte with which msgpack begins an array of two."""
_BEGINNING: Final = re.compile(_PAIR + rb"[\xa0-\xbf]p2pdice/([1-9][0-9]{0,3})/(transcript|proof)")
"""The beginning of a file: an array of two whose first item is a short string with the version and kind of the file."""
_BINARY: Final = {0xC4: (1, 0), 0xC5: (2, 0x100), 0xC6: (4, 0x10000)}
"""By msgpack's first byte of a byte string: the size of its length field, and the least length that needs it."""


def _byte_string(data: bytes, offset: int, longest: int) -> tuple[bytes, int]:
    """Return the byte string encoded at ``offset``, and the offset after it.

    :raises MalformedTranscriptError: if there is none, it is longer than ``longest``, or it is not in its shortest
        encoding.
    """
    if offset >= len(data):
        raise MalformedTranscriptError(f"the file stops in the middle of a message (byte {len(data)})")
    width, least = _BINARY.get(data[offset], (0, 0))
    start = offset + 1 + width
    size = int.from_bytes(data[offset + 1 : start], "big")
    if not width or (start <= len(data) and not least <= size <= longest):
        raise MalformedTranscriptError(f"unreadable at byte {offset}: not a byte string of at most {longest} bytes")
    if start + size > len(data):
        raise MalformedTranscriptError(f"the file stops in the middle of a message (byte {len(data)})")
    return data[start : start + size], start + size
