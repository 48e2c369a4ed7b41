"""Canonical msgpack: one encoding per value, and a decoder that accepts exactly the encoder's output.

Values are arrays (Python tuples), integers, byte strings and text. There are no maps, floats, booleans, nil or
extension types. The ``msgpack`` package alone accepts long forms of integers, booleans, NaN, maps with duplicate keys
and 1,024 levels of nesting. This module refuses everything that would give one value two encodings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgpack

from protocol.errors import PeerError
from protocol.limits import ARRAY, DEPTH

_ALLOWED: Final = "only arrays, integers, byte strings and text are canonical"

_LEAVES: Final = frozenset((bytes, int, str))

Value = int | bytes | str | tuple["Value", ...]


class NotCanonicalError(PeerError, ValueError):
    """The bytes are not the canonical encoding of a value, or the value has no canonical encoding."""


_pack: Final[Callable[[object], bytes]] = msgpack.Packer().pack
"""A shared packer, since creating one costs more than packing a message. Only the event loop's thread uses it."""


def _check(value: object, depth: int) -> None:
    """Refuse types other than tuple, int, bytes and str, and arrays nested deeper than ``depth``."""
    if type(value) is tuple:
        if not depth:
            raise NotCanonicalError(f"nested deeper than {DEPTH} arrays")
        if not _LEAVES.issuperset(map(type, value)):
            for item in value:
                _check(item, depth - 1)
    elif type(value) not in _LEAVES:
        raise NotCanonicalError(f"{type(value).__name__}: {_ALLOWED}")


def encode(value: Value) -> bytes:
    """Return the canonical encoding of ``value``.

    >>> encode((1, b"\\x00", "a", ())).hex()
    '9401c40100a16190'

    :raises NotCanonicalError: if a type has no canonical form, an integer is outside -2^63…2^64-1, text contains
        lone surrogates, or the nesting is deeper than :data:`protocol.limits.DEPTH`.
    """
    _check(value, DEPTH)
    try:
        return _pack(value)
    except (ValueError, OverflowError) as error:
        raise NotCanonicalError(str(error)) from None


def decode(data: bytes) -> Value:
    """Return the value that ``data`` encodes, with arrays as tuples.

    >>> decode(bytes.fromhex("9401c40100a16190"))
    (1, b'\\x00', 'a', ())

    The caller limits ``len(data)``, which also limits the size of the result, whatever lengths the bytes claim.

    :raises NotCanonicalError: if ``data`` is not an output of :func:`encode`, or has trailing bytes.
    """
    try:
        value: Value = msgpack.unpackb(
            data, use_list=False, raw=False, strict_map_key=True, max_array_len=ARRAY, max_map_len=0,
            ext_hook=_refuse_extension,
        )  # fmt: skip
        _check(value, DEPTH)
        spelling = _pack(value)
    except NotCanonicalError:
        raise
    except (ValueError, TypeError, RecursionError, MemoryError, msgpack.UnpackException) as error:
        raise NotCanonicalError(f"not msgpack: {error}" if str(error) else "not msgpack") from None
    if spelling != data:
        raise NotCanonicalError("not the shortest form")
    return value


def _refuse_extension(code: int, _data: bytes) -> object:
    raise NotCanonicalError(f"extension type {code}: {_ALLOWED}")
