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

Signatures cover the bytes as they were received; nothing is encoded again to be verified. A message's id is the hash of
the signed bytes *without* the signature, because one key can make two valid signatures of one message.
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
    """The bytes are not a message of this protocol. They prove nothing about anybody."""


class Kind(IntEnum):
    """Names for the numbers of kinds on the wire. :mod:`protocol.consensus.kinds` has a rule for each kind."""

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
        """Return the bytes that are signed."""
        return encode((MESSAGE_TAG, *self[:4], int(self.kind), self.body))


class Signed(NamedTuple):
    """A message as it travels: the signed bytes, the signature, and their content."""

    data: bytes
    signature: bytes
    message: Message
    id: bytes
    checked: bool = False
    """The signature is known to be right: this process made it or has verified it. Never true of parsed bytes."""

    @property
    def wire(self) -> tuple[bytes, bytes]:
        """The pair that frames, the store and transcripts hold."""
        return self.data, self.signature


VOTES: Final = (Kind.ABSENT, Kind.CLOSE)
"""The votes on going on without somebody. They are about a root, and not among the messages of a step."""


def read_pair(data: bytes, offset: int) -> tuple[bytes, bytes, int] | None:
    """Return signed bytes and signature, encoded at ``offset`` one after the other, and the offset after them.

    This works where the signed bytes are shorter than 256, as they nearly always are; None for anything else. It takes
    a fraction of the decoder's time.
    """
    if data[offset : offset + 1] == _SHORT and offset + 1 < len(data):
        start = offset + 2
        end = start + data[offset + 1]
        behind = end + 2 + SIGNATURE_BYTES
        if data[end : end + 2] == _SIGNATURE and behind <= len(data):
            return data[start:end], data[end + 2 : behind], behind
    return None


def spell_pair(data: bytes, signature: bytes) -> bytes | None:
    """Return a pair as :func:`read_pair` reads it; None for unusual sizes, which need the encoder."""
    if len(data) < 256 and len(signature) == SIGNATURE_BYTES:
        return b"".join((_SHORT, bytes((len(data),)), data, _SIGNATURE, signature))
    return None


_SHORT: Final = b"\xc4"
"""First byte of a byte string whose length takes one byte; that byte follows."""
_SIGNATURE: Final = _SHORT + bytes((SIGNATURE_BYTES,))


def message_id(data: bytes) -> bytes:
    """Return the id of the message with these signed bytes."""
    return tagged_hash("message-id", data)


def sign(message: Message, key: MatchKey) -> Signed:
    """Return ``message`` signed with the author's match key."""
    data = message.encoded()
    return Signed(data, key.sign(data), message, message_id(data), checked=True)
