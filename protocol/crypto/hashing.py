"""The protocol's only hash construction, and joint dice derived from hashes, which no player can choose.

``H(tag, x1…xn) = SHA-256(u8 |tag| ‖ tag ‖ u8 n ‖ u32be |x1| ‖ x1 ‖ … ‖ u32be |xn| ‖ xn)``, with integers as u64be and
tags ``p2pdice/3/…``, one per use. The length before every part makes the input injective: no two lists of parts hash
the same bytes, so no value can be read in two contexts.

A *joint roll* is Blum's coin flipping among n players: each commits to a random share, all lock the list of
commitments, and all reveal. The *beacon* is the hash of all shares. One honest share makes it unpredictable. A *deal*
adds a private hand key per player: a hand follows from its owner's key and the beacon. The key is fixed before the
beacon is known, so its owner cannot choose the dice. Only the owner has the key, so nobody else can see the dice.
Opening the key lets everybody check the hand.

Every hash of a roll includes its :class:`Context` (match, step and tip of the step with the commitments) and the
author. A commitment that is copied, or replayed from elsewhere, cannot be opened by the player who copied it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Final, NamedTuple

from protocol.version import PROTOCOL_VERSION
from protocol.version import tag as written_out

HASH_BYTES: Final = 32
"""The size of every hash, and so of match ids, message ids, commitments and seeds."""

_SIZES: Final = tuple(size.to_bytes(4, "big") for size in range(256))
"""Encodings of the sizes below 256, which nearly all parts of a hash have."""
_EIGHT: Final = _SIZES[8]


@lru_cache(maxsize=64)  # there are about twenty tags
def _head(tag: str, count: int, version: int) -> bytes:
    name = written_out(tag, version).encode("ascii")
    return bytes((len(name),)) + name + bytes((count,))


def tagged_hash(tag: str, *parts: bytes | int, version: int = PROTOCOL_VERSION) -> bytes:
    """Return H(``p2pdice/3/`` + tag, parts): 32 bytes. Integers are 0…2^64-1.

    :param version: the protocol version in the tag, for data that outlive a version.

    >>> tagged_hash("example", b"a", 1).hex()
    '765858bd612cedf5f59d568ab4bb2dfad99a4af30ae5ebfe02e5220344652268'
    """
    spelled = _head(tag, len(parts), version)
    for part in parts:  # parts are so few and short that concatenation is faster than join
        if isinstance(part, bytes):
            size = len(part)
            spelled += (_SIZES[size] if size < 256 else size.to_bytes(4, "big")) + part
        else:
            spelled += _EIGHT + part.to_bytes(8, "big")
    return sha256(spelled).digest()


def hash_stream(tag: str, *parts: bytes | int) -> Iterator[int]:
    """Yield the bytes of H(tag, parts, 0), H(tag, parts, 1), … indefinitely, each 0…255."""
    counter = 0
    while True:
        yield from tagged_hash(tag, *parts, counter)
        counter += 1


def uniform(stream: Iterator[int], bound: int) -> int:
    """Draw a uniform integer from 0…bound-1 from a byte stream, for 1 ≤ bound ≤ 256.

    Bytes at or above the largest multiple of ``bound`` are rejected, because a modulo would favour low values. For a
    die (bound 6), the bytes 252…255 are rejected.
    """
    limit = 256 - 256 % bound
    for byte in stream:
        if byte < limit:
            return byte % bound
    raise AssertionError("a hash stream has no end")


class Context(NamedTuple):
    """The step in which commitments were made."""

    match: bytes
    step: int
    tip: bytes


def derive_secret(seed: bytes, context: Context, purpose: str) -> bytes:
    """Return this node's secret for one purpose in one context. It survives restarts and differs in every step."""
    return tagged_hash("secret", seed, context.match, context.step, context.tip, purpose.encode("ascii"))


def share_commitment(context: Context, author: int, share: bytes) -> bytes:
    """Return the commitment to a public share of a joint roll."""
    return tagged_hash("share-commitment", *context, author, share)


def hand_commitment(context: Context, author: int, hand_key: bytes) -> bytes:
    """Return the commitment to the private key of a hand."""
    return tagged_hash("hand-commitment", *context, author, hand_key)


def beacon(context: Context, shares: Mapping[int, bytes]) -> bytes:
    """Return the joint random value of all shares, keyed by author."""
    parts: list[bytes | int] = []
    for author in sorted(shares):
        parts += (author, shares[author])
    return tagged_hash("beacon", *context, *parts)


def hand(context: Context, author: int, hand_key: bytes, joint: bytes, dice: int) -> tuple[int, ...]:
    """Return the faces, 1–6 in ascending order, of a hand of ``dice`` dice; ``joint`` is the beacon."""
    stream = hash_stream("hand", *context, author, hand_key, joint)
    return tuple(sorted([uniform(stream, 6) + 1 for _ in range(dice)]))


def stake_commitment(context: Context, author: int, bet: int, tickets: int, salt: bytes) -> bytes:
    """Return the commitment to a stake. The salt prevents others from trying out the few possible bets."""
    return tagged_hash("stake-commitment", *context, author, bet, tickets, salt)


def public_die(joint: bytes) -> int:
    """Return the face, 1–6, of a public die drawn from the beacon."""
    return uniform(hash_stream("public-die", joint), 6) + 1


def seating(joint: bytes, players: int) -> tuple[int, ...]:
    """Return the roster index of each seat: a uniform random permutation (Fisher–Yates) drawn from the beacon."""
    stream = hash_stream("seats", joint)
    order = list(range(players))
    for last in range(players - 1, 0, -1):
        other = uniform(stream, last + 1)
        order[last], order[other] = order[other], order[last]
    return tuple(order)
