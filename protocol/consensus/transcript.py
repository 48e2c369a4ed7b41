"""The transcript: a match, finished or not, as one file that anybody can verify.

A sequence of canonical msgpack arrays with nothing between them::

    ("p2pdice/3/transcript", genesis)
    (signed bytes, signature)          every message of the history: step by step, in each step by roster index

If votes have closed a step, they follow the step's messages: first ABSENTs, then CLOSEs, each by roster index. A LOCK
that votes have closed has no messages. Messages that prove misconduct may follow the last step, each by itself
against the history, or together with the one before or after it. RESULT and WITNESS are not part of a transcript, so
all nodes with the same history write the same bytes, apart from the choice of votes and proofs.

A *proof of misconduct* is one of two files. Some messages can be judged only by the history before them: an illegal
move, a wrong opening. Their proof is a transcript up to that step with the message at its end. Two messages that
contradict each other need nothing else::

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
    """The bytes are not a transcript, or only up to some point."""


class Opened(NamedTuple):
    """A transcript whose header was read."""

    version: int
    """The version of the protocol. The rest can be read only if it is that of this program."""
    is_proof: bool
    """Two messages that contradict each other, not a history."""
    genesis: bytes
    messages: Iterator[Signed]
    """The messages, parsed one by one. Raises :class:`MalformedTranscriptError` at the first that cannot be read."""


def write_transcript(history: History, proven: Iterable[MisconductError] = ()) -> bytes:
    """Return the transcript of a history: all closed steps, the messages of the open one, and those that prove
    misconduct."""
    evidence = [
        signed
        for error in proven
        # A single message is judged by the history before it, which may have been taken back since.
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
    yield from history.closes


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

    What is made of the bytes is bounded before it is made: nothing is decoded but a genesis and messages, one by one,
    that are no longer than any can be.

    :raises MalformedTranscriptError: if the bytes do not begin with one.
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
"""How msgpack begins an array of two."""
_BEGINNING: Final = re.compile(_PAIR + rb"[\xa0-\xbf]p2pdice/([1-9][0-9]{0,3})/(transcript|proof)")
"""The header: a pair that begins with a short text, the version and kind of the file."""
_BINARY: Final = {0xC4: (1, 0), 0xC5: (2, 0x100), 0xC6: (4, 0x10000)}
"""By msgpack's first byte of a byte string: how many bytes hold its length, and the least length that needs them."""


def _byte_string(data: bytes, offset: int, longest: int) -> tuple[bytes, int]:
    """Return the byte string that is encoded at ``offset``, and the offset after it.

    :raises MalformedTranscriptError: if there is none, it is longer than ``longest``, or not in its shortest form.
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
