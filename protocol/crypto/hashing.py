"""The one hash construction of the protocol: SHA-256 over a tag and length-prefixed parts.

``H(tag, x1…xn) = SHA-256(u8 |tag| ‖ tag ‖ u8 n ‖ u32be |x1| ‖ x1 ‖ … ‖ u32be |xn| ‖ xn)``, integers as u64be, tags
``p2pdice/3/…``, one per use. Lengths in front of every part make the input injective: no two lists of parts hash the
same bytes, so no value can be read in two contexts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from typing import Final

from protocol.version import PROTOCOL_VERSION
from protocol.version import tag as written_out

HASH_BYTES: Final = 32
"""Size of every hash, and so of match ids, message ids, commitments and seeds."""

_SIZES: Final = tuple(size.to_bytes(4, "big") for size in range(256))
"""The sizes below 256, spelled out: nearly all parts of a hash have one of these."""
_EIGHT: Final = _SIZES[8]


@lru_cache(maxsize=64)  # there are some twenty tags
def _head(tag: str, count: int, version: int) -> bytes:
    name = written_out(tag, version).encode("ascii")
    return bytes((len(name),)) + name + bytes((count,))


def tagged_hash(tag: str, *parts: bytes | int, version: int = PROTOCOL_VERSION) -> bytes:
    """Return H(``p2pdice/3/`` + tag, parts), 32 bytes. Integers are 0…2^64-1.

    :param version: version of the protocol, for data that outlives one.

    >>> tagged_hash("example", b"a", 1).hex()
    '765858bd612cedf5f59d568ab4bb2dfad99a4af30ae5ebfe02e5220344652268'
    """
    spelled = _head(tag, len(parts), version)
    for part in parts:  # so few and short that adding them up is faster than joining them
        if isinstance(part, bytes):
            size = len(part)
            spelled += (_SIZES[size] if size < 256 else size.to_bytes(4, "big")) + part
        else:
            spelled += _EIGHT + part.to_bytes(8, "big")
    return sha256(spelled).digest()


def hash_stream(tag: str, *parts: bytes | int) -> Iterator[int]:
    """Yield the bytes of H(tag, parts, 0), H(tag, parts, 1), … without end, each 0…255."""
    counter = 0
    while True:
        yield from tagged_hash(tag, *parts, counter)
        counter += 1


def uniform(stream: Iterator[int], bound: int) -> int:
    """Draw 0…bound-1 from a byte stream, 1 ≤ bound ≤ 256, every value equally likely.

    A byte at or above the largest multiple of ``bound`` is thrown away: taking it modulo ``bound`` would favour low
    values. For a die (bound 6) the bytes 252…255 are thrown away.
    """
    limit = 256 - 256 % bound
    for byte in stream:
        if byte < limit:
            return byte % bound
    raise AssertionError("a hash stream has no end")
