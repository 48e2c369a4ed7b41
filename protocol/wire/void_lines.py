"""Void lines: the word of one player that a match is void, as a line of text for the others to copy.

``VOID-`` and, in base32, the id of the match and the signature. People send it to each other as they like. It is no
secret: whoever has it can do nothing that its player has not agreed to.
"""

from __future__ import annotations

from base64 import b32decode, b32encode
from collections.abc import Iterable
from typing import Final

from protocol.crypto.hashing import HASH_BYTES
from protocol.crypto.keys import SIGNATURE_BYTES

_PREFIX: Final = "VOID-"
_LETTERS: Final = -(-(HASH_BYTES + SIGNATURE_BYTES) * 8 // 5)


def write_void_line(match: bytes, signature: bytes) -> str:
    """Return the line of a player.

    >>> len(write_void_line(bytes(32), bytes(64)))
    159
    """
    return _PREFIX + b32encode(match + signature).decode("ascii").rstrip("=")


def void_lines(words: Iterable[str]) -> list[str]:
    """Return the lines that people have typed or pasted. One that was broken on its way comes as several words.

    >>> void_lines(["VOID-AA", "BB", "void-CC"])
    ['VOID-AABB', 'void-CC']
    """
    lines: list[str] = []
    for word in words:
        if lines and not word.strip().upper().startswith(_PREFIX):
            lines[-1] += word
        else:
            lines.append(word)
    return lines


def parse_void_line(text: str) -> tuple[bytes, bytes]:
    """Return match and signature of a line; neither is checked.

    :raises ValueError: naming what is wrong.
    """
    line = "".join(text.split()).upper()
    if not line.startswith(_PREFIX):
        raise ValueError(f"such a line begins with {_PREFIX}")
    letters = line.removeprefix(_PREFIX)
    if len(letters) != _LETTERS:
        raise ValueError(f"such a line has {_LETTERS} letters and digits after {_PREFIX}, and this one {len(letters)}")
    try:
        data = b32decode(letters + "=" * (-len(letters) % 8))
    except ValueError:
        raise ValueError("such a line has only the letters A to Z and the digits 2 to 7") from None
    return data[:HASH_BYTES], data[HASH_BYTES:]
