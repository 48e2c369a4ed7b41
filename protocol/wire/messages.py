"""Signed messages of a match, and the numbers of their kinds.

The signed bytes are the canonical encoding of ``(tag, match, step, tip, author, kind, body)``:

========  ==========================================================================================
match     T_0, the hash of the genesis (32 bytes)
step      number of the step that the message belongs to, from 0
tip       T_step, the hash of everything agreed before that step (32 bytes)
author    index in the roster
kind      :class:`Kind`
body      depends on the kind, see :mod:`protocol.consensus.kinds`
========  ==========================================================================================

Signatures cover the bytes as received; nothing is re-encoded for verification. A message's id is the hash of the signed
bytes *without* the signature, because one key can make two valid signatures of one message.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import SIGNATURE_BYTES, MatchKey
from protocol.errors import PeerError
from protocol.version import tag
from protocol.wire.canonical import Value, encode

MESSAGE_TAG: Final = tag("message")


class MalformedMessageError(PeerError, ValueError):
    """The bytes are not a message of this protocol. They are no proof against anybody."""


class Kind(IntEnum):
    """The kinds of messages by their numbers on the wire. :mod:`protocol.consensus.kinds` has a rule for each."""

    COMMIT = 1
    LOCK = 2
    REVEAL = 3
    MOVE = 4
    OPEN = 5
    RESIGN = 6
    RESULT = 7
    STAKE = 8
    ABSENT = 9
    CLOSE = 10
    WITNESS = 11


class Message(NamedTuple):
    match: bytes
    step: int
    tip: bytes
    author: int
    kind: int
    body: Value

    def encoded(self) -> bytes:
        """Return the bytes to be signed."""
        return encode((MESSAGE_TAG, *self[:4], int(self.kind), self.body))


class Signed(NamedTuple):
    """A signed message: the signed bytes, the signature and the decoded content."""

    data: bytes
    signature: bytes
    message: Message
    id: bytes
    checked: bool = False
    """Whether this process has made or verified the signature. Never true for parsed bytes."""

    @property
    def wire(self) -> tuple[bytes, bytes]:
        """The pair stored in frames, the store and transcripts."""
        return self.data, self.signature


VOTES: Final = (Kind.ABSENT, Kind.CLOSE)
"""The votes on continuing without a player. They refer to a root, and are not among the messages of a step."""


def read_pair(data: bytes, offset: int) -> tuple[bytes, bytes, int] | None:
    """Return the signed bytes and the signature encoded consecutively at ``offset``, and the offset after them.

    Return None unless both are well-formed and the signed bytes are shorter than 256, as they nearly always are. This
    takes a fraction of the decoder's time.
    """
    if data[offset : offset + 1] == _SHORT and offset + 1 < len(data):
        start = offset + 2
        end = start + data[offset + 1]
        behind = end + 2 + SIGNATURE_BYTES
        if data[end : end + 2] == _SIGNATURE and behind <= len(data):
            return data[start:end], data[end + 2 : behind], behind
    return None


def spell_pair(data: bytes, signature: bytes) -> bytes | None:
    """Return a pair in the form that :func:`read_pair` reads, or None for sizes that need the encoder."""
    if len(data) < 256 and len(signature) == SIGNATURE_BYTES:
        return b"".join((_SHORT, bytes((len(data),)), data, _SIGNATURE, signature))
    return None


_SHORT: Final = b"\xc4"
"""The msgpack type byte of a byte string of up to 255 bytes. A length byte follows it."""
_SIGNATURE: Final = _SHORT + bytes((SIGNATURE_BYTES,))


def message_id(data: bytes) -> bytes:
    """Return the id of the message with these signed bytes."""
    return tagged_hash("message-id", data)


def sign(message: Message, key: MatchKey) -> Signed:
    """Return ``message`` signed with the author's match key."""
    data = message.encoded()
    return Signed(data, key.sign(data), message, message_id(data), checked=True)
