"""Short codes: a number and two words that a host says aloud, a guest types, and both programs prove to each other.

The number finds the table and is not secret. The two words are the secret: 22 bits. That is too little against a
program that may guess freely, so each :class:`CodeExchange` allows one guess, and the host three in all.

The exchange is SPAKE2 over the Ed25519 group, with confirmation. A side that knows the code learns whether the other
knows it too. A side that does not can check one guess in each exchange, and an eavesdropper none. Both identity keys
and the table are confirmed with the code, so somebody who relays an exchange between two links under a key of their own
fails on both. The guest confirms first: a host that counts wrong tries knows then whether there was one, before it says
anything that depends on the code.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from protocol.crypto.hashing import tagged_hash
from protocol.crypto.words import spelling_hint, word_list
from protocol.errors import LocalError, PeerError

NUMBERS: Final = range(1, 1000)
"""Enough that two tables of one evening hardly ever draw the same, and easy to say."""
_FORM: Final = re.compile(r"([1-9][0-9]{0,2})[-\s]+([a-z]+)[-\s]+([a-z]+)")
_PART: Final = re.compile(r"[1-9][0-9]{0,2}[-\s]*(?:[a-z]+[-\s]*[a-z]*)?")
"""The beginning of a code, or one with a dash left out."""


class UnknownWordError(LocalError, ValueError):
    """A typed code has a word that is in no code. The text says which, and which one may be meant."""


class ShortCode(NamedTuple):
    number: int
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.number}-{self.first}-{self.second}"


def new_short_code(taken: Collection[int] = ()) -> ShortCode:
    """Return a fresh code.

    :param taken: numbers to avoid, unless no others are left.
    """
    free = [each for each in NUMBERS if each not in taken] or NUMBERS
    return ShortCode(secrets.choice(free), secrets.choice(word_list()), secrets.choice(word_list()))


def parse_short_code(text: str) -> ShortCode | None:
    """Return a code that was typed, or None if the text does not look like one. Spaces count like dashes.

    >>> str(parse_short_code("417 Tiger olive")), parse_short_code("Friday")
    ('417-tiger-olive', None)

    :raises UnknownWordError: if a word is not in the list.
    """
    typed = _FORM.fullmatch(text.strip().lower())
    if typed is None:
        return None
    for word in typed.groups()[1:]:
        if word not in word_list():
            raise UnknownWordError(f"no short code has the word {word}{spelling_hint(word)}")
    return ShortCode(int(typed[1]), typed[2], typed[3])


def looks_like_a_code(text: str) -> bool:
    """Tell whether a text has the form of a code, whatever its words are."""
    return _FORM.fullmatch(text.strip().lower()) is not None


def looks_like_a_part_of_a_code(text: str) -> bool:
    """Tell whether a text can be a code with something left out.

    >>> [looks_like_a_part_of_a_code(each) for each in ("792", "792-tiger", "792tiger-olive", "Friday")]
    [True, True, True, False]
    """
    return _PART.fullmatch(text.strip().lower()) is not None


ELEMENT_BYTES: Final = 32
_GUEST, _HOST = b"A", b"B"
"""The sides of SPAKE2. The library marks its messages with them; frames have no need of it."""


class CodeExchangeError(PeerError, ValueError):
    """The peer sent no element of the group, or our own."""


class CodeExchange:
    """One side of one exchange.

    :param guest: identity key of the guest.
    :param host: identity key of the host.
    :param table: id of the table.
    :param is_host: which side this is.
    :param randomness: returns this many random bytes.
    """

    def __init__(
        self,
        code: ShortCode,
        guest: bytes,
        host: bytes,
        table: bytes,
        *,
        is_host: bool,
        randomness: Callable[[int], bytes] = os.urandom,
    ) -> None:
        from spake2 import SPAKE2_A, SPAKE2_B  # late: hardly any command needs it

        self._context = guest, host, table
        self._is_host = is_host
        self._side = (SPAKE2_B if is_host else SPAKE2_A)(str(code).encode(), guest, host, entropy_f=randomness)
        self._key = b""
        self.element: bytes = self._side.start()[1:]
        """To be sent to the other side."""

    def take(self, element: bytes) -> None:
        """Take the element of the other side, once.

        :raises CodeExchangeError: if it is none.
        """
        from spake2 import SPAKEError
        from spake2.ed25519_basic import NotOnCurve

        try:
            self._key = self._side.finish((_GUEST if self._is_host else _HOST) + element)
        except (SPAKEError, NotOnCurve, ValueError):
            raise CodeExchangeError("it sent no element of the group") from None

    @property
    def proof(self) -> bytes:
        """Shows the other side that this one knows the code."""
        return self._proof(is_host=self._is_host)

    def is_proven_by(self, proof: bytes) -> bool:
        """Tell whether the other side knows the code."""
        return hmac.compare_digest(proof, self._proof(is_host=not self._is_host))

    def _proof(self, *, is_host: bool) -> bytes:
        assert self._key
        return tagged_hash("code-proof", self._key, int(is_host), *self._context)
