"""Signed messages of a match: their kinds, their shape, and the key to who may contradict whom.

What is signed is the canonical encoding of ``(tag, match, step, tip, author, kind, body)``:

========  ==========================================================================================
match     T_0, the hash of the genesis (32 bytes)
step      number of the step that the message belongs to, from 0
tip       T_step, the hash of everything agreed before that step (32 bytes)
author    index in the roster
kind      :class:`Kind`
body      depends on the kind, see :data:`BODY_SHAPES`
========  ==========================================================================================

Signatures cover the bytes as they were received; nothing is encoded again in order to be verified. A message's id is
the hash of the signed bytes *without* the signature, because a signer can make two valid signatures of one message.
"""

from __future__ import annotations

from enum import IntEnum
from itertools import pairwise
from typing import Final, NamedTuple, cast

from protocol.crypto.hashing import HASH_BYTES, tagged_hash
from protocol.crypto.keys import SIGNATURE_BYTES, MatchKey
from protocol.errors import PeerError
from protocol.limits import MESSAGE, MOVE_CHARACTERS, PLAYERS, STEPS
from protocol.version import tag
from protocol.wire.canonical import NotCanonicalError, Value, decode, encode

MESSAGE_TAG: Final = tag("message")


class MalformedMessageError(PeerError, ValueError):
    """The bytes are no message of this protocol. They prove nothing about anybody."""


class Kind(IntEnum):
    """What a message is for. The numbers are on the wire."""

    COMMIT = 1
    """(commitment…): to a share of a joint roll, or to a hand key and a share of a deal."""
    LOCK = 2
    """The hash of the engine's state: its signer has the same history and draws the same conclusion. Behind it the
    signatures of witnesses under the LOCK before that the signer has: :func:`carried`."""
    REVEAL = 3
    """The share that was committed to."""
    MOVE = 4
    """The text of a move, in the one spelling that the engine prints."""
    OPEN = 5
    """(hand key, commitments to the next deal…): one's dice, at a showdown."""
    RESIGN = 6
    """(): fills any slot that its author owes; the author is out."""
    RESULT = 7
    """The hash of the last state, outside the history: a receipt that its signer has the end too."""
    STAKE = 8
    """(bet in coins, run tickets, salt): opens the commitment to a stake."""
    ABSENT = 9
    """(round, ids, newest): a vote on what to close the step with, an empty id standing for the absent; ``newest`` is
    the latest round with a majority of identical votes that the voter knows, or -1:
    :mod:`protocol.consensus.absence`."""
    CLOSE = 10
    """(round, ids): a vote to close the step with what a majority of ABSENTs of this round has named."""
    WITNESS = 11
    """The hash that a LOCK signs, outside the history, by who is out of the game: they are there and can vote."""


BODY_SHAPES: Final = {
    Kind.COMMIT: "array of 1 or 2 byte strings of 32 bytes",
    Kind.LOCK: "byte string of 32 bytes, and 65 for each signature, ascending by roster index",
    Kind.REVEAL: "byte string of 32 bytes",
    Kind.MOVE: f"text of 1 to {MOVE_CHARACTERS} characters",
    Kind.OPEN: "array of 3 byte strings of 32 bytes",
    Kind.RESIGN: "empty array",
    Kind.RESULT: "byte string of 32 bytes",
    Kind.STAKE: "array of two integers from 0 to 2^63-1 and a byte string of 32 bytes",
    Kind.ABSENT: "array of a round, an array of byte strings of 32 or 0 bytes, and an earlier round or -1",
    Kind.CLOSE: "array of a round and an array of byte strings of 32 or 0 bytes",
    Kind.WITNESS: "byte string of 32 bytes",
}
"""The shape of each kind's body, checked when a message is parsed."""


class Message(NamedTuple):
    """The content of a message."""

    match: bytes
    step: int
    tip: bytes
    author: int
    kind: Kind
    body: Value

    def encoded(self) -> bytes:
        """Return the bytes that are signed."""
        return encode((MESSAGE_TAG, *self[:4], int(self.kind), self.body))


class Signed(NamedTuple):
    """A message as it travels: the signed bytes, the signature, and what they say."""

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


def _is_hash(value: object) -> bool:
    return type(value) is bytes and len(value) == HASH_BYTES


VOTES: Final = (Kind.ABSENT, Kind.CLOSE)
"""The kinds that are about a step and no part of it."""
ASIDE: Final = (*VOTES, Kind.RESULT, Kind.WITNESS)
"""The kinds that are no part of the history."""
CARRIED: Final = 1 + SIGNATURE_BYTES
"""Bytes of a roster index and a signature in a LOCK."""


def carried(body: bytes) -> dict[int, bytes]:
    """Return the signatures in the body of a LOCK, by roster index."""
    pairs = range(HASH_BYTES, len(body), CARRIED)
    return {body[place]: body[place + 1 : place + CARRIED] for place in pairs}


def _is_lock(body: object) -> bool:
    if type(body) is not bytes or len(body) < HASH_BYTES or (len(body) - HASH_BYTES) % CARRIED:
        return False
    authors = body[HASH_BYTES::CARRIED]
    return all(one < other for one, other in pairwise(authors))


def _is_round(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**32


def _are_entries(value: object) -> bool:
    return (
        type(value) is tuple
        and 0 < len(value) <= PLAYERS
        and all(type(each) is bytes and len(each) in (0, HASH_BYTES) for each in value)
    )


def _body_fits(kind: Kind, body: object) -> bool:
    if kind is Kind.ABSENT:
        if type(body) is not tuple or len(body) != 3 or not _is_round(body[0]) or not _are_entries(body[1]):
            return False
        return type(body[2]) is int and -1 <= body[2] < body[0]
    if kind is Kind.CLOSE:
        return type(body) is tuple and len(body) == 2 and _is_round(body[0]) and _are_entries(body[1])
    if kind is Kind.MOVE:
        return type(body) is str and 0 < len(body) <= MOVE_CHARACTERS
    if kind is Kind.RESIGN:
        return body == ()
    if kind is Kind.LOCK:
        return _is_lock(body)
    if kind is Kind.COMMIT or kind is Kind.OPEN:
        counts = (1, 2) if kind is Kind.COMMIT else (3,)
        return type(body) is tuple and len(body) in counts and all(map(_is_hash, body))
    if kind is Kind.STAKE:
        return (
            type(body) is tuple
            and len(body) == 3
            and all(type(amount) is int and 0 <= amount < 2**63 for amount in body[:2])
            and _is_hash(body[2])
        )
    return _is_hash(body)


def parse_signed(data: bytes, signature: bytes) -> Signed:
    """Return the message that ``data`` spells. The signature's length is checked, the signature itself is not.

    :raises MalformedMessageError: if the bytes are not canonical or have another shape.
    """
    if len(data) > MESSAGE:
        raise MalformedMessageError(f"no message has more than {MESSAGE} bytes")
    try:
        value = decode(data)
    except NotCanonicalError as error:
        raise MalformedMessageError(str(error)) from None
    if len(signature) != SIGNATURE_BYTES:
        raise MalformedMessageError(f"a signature has {SIGNATURE_BYTES} bytes")
    if type(value) is not tuple or len(value) != 7 or value[0] != MESSAGE_TAG:
        raise MalformedMessageError("not a message of this protocol version")
    _, match, step, tip, author, kind, body = value
    if not (_is_hash(match) and _is_hash(tip) and type(step) is int and type(author) is int and type(kind) is int):
        raise MalformedMessageError("a field of the message has the wrong type")
    if not 0 <= step < STEPS or not 0 <= author < 256:
        raise MalformedMessageError("a number of the message is out of range")
    if kind not in _KINDS:
        raise MalformedMessageError(f"there is no kind {kind}")
    known = _KINDS[kind]
    if not _body_fits(known, body):
        raise MalformedMessageError(f"the body of {known.name} must be: {BODY_SHAPES[known]}")
    message = Message(cast("bytes", match), step, cast("bytes", tip), author, known, body)
    return Signed(data, signature, message, message_id(data))


def read_pair(data: bytes, place: int) -> tuple[bytes, bytes, int] | None:
    """Return signed bytes and signature, encoded at ``place`` one behind the other, and the place behind them.

    Only where the signed bytes are shorter than 256, as they nearly always are; None for anything else. It takes a
    fraction of the time of decoding whatever may stand there.
    """
    if data[place : place + 1] == _SHORT and place + 1 < len(data):
        start = place + 2
        end = start + data[place + 1]
        behind = end + 2 + SIGNATURE_BYTES
        if data[end : end + 2] == _SIGNATURE and behind <= len(data):
            return data[start:end], data[end + 2 : behind], behind
    return None


def spell_pair(data: bytes, signature: bytes) -> bytes | None:
    """Return a pair as :func:`read_pair` reads it; None if it is not of the usual sizes: then it takes an encoder."""
    if len(data) < 256 and len(signature) == SIGNATURE_BYTES:
        return b"".join((_SHORT, bytes((len(data),)), data, _SIGNATURE, signature))
    return None


_SHORT: Final = b"\xc4"
"""How a byte string begins whose length takes one byte; that byte follows."""
_SIGNATURE: Final = _SHORT + bytes((SIGNATURE_BYTES,))

_KINDS: Final = {int(kind): kind for kind in Kind}


def message_id(data: bytes) -> bytes:
    """Return the id of the message with these signed bytes."""
    return tagged_hash("message-id", data)


def sign(message: Message, key: MatchKey) -> Signed:
    """Return ``message`` signed with the author's match key."""
    data = message.encoded()
    return Signed(data, key.sign(data), message, message_id(data), checked=True)
