"""Short codes: a number and two words that a host reads out, a guest types, and both programs prove to each other.

The number finds the table and is not secret. The two words are the secret: 22 bits. That is too little against a
program that may guess freely, so each :class:`CodeExchange` allows one guess, and the host three in all.

The exchange is SPAKE2 over the Ed25519 group, with confirmation. A side that knows the code learns whether the other
side knows it, too. A side that does not know it can test one guess per exchange, and an eavesdropper none. The
confirmation covers the table and both identity keys, so a relay between two links under its own key fails on both. The
guest confirms first. So a host, which counts wrong tries, recognizes one before it sends anything that depends on the
code.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Final, NamedTuple

from protocol.crypto.hashing import tagged_hash
from protocol.crypto.words import spelling_hint, word_list
from protocol.errors import LocalError, PeerError

NUMBERS: Final = range(1, 1000)
"""Enough numbers that tables on one evening rarely draw the same one, and still easy to say."""
_FORM: Final = re.compile(r"([1-9][0-9]{0,2})[-\s]+([a-z]+)[-\s]+([a-z]+)")
_PART: Final = re.compile(r"[1-9][0-9]{0,2}[-\s]*(?:[a-z]+[-\s]*[a-z]*)?")
"""The start of a code, or a code that lacks a dash."""


class UnknownWordError(LocalError, ValueError):
    """A typed code has a word that is not in the list. The message names it and similar words."""


class ShortCode(NamedTuple):
    number: int
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.number}-{self.first}-{self.second}"


def new_short_code(taken: Collection[int] = ()) -> ShortCode:
    """Return a random code.

    :param taken: numbers to avoid as long as others are free.
    """
    free = [each for each in NUMBERS if each not in taken] or NUMBERS
    return ShortCode(secrets.choice(free), secrets.choice(word_list()), secrets.choice(word_list()))


def parse_short_code(text: str) -> ShortCode | None:
    """Return a typed code, or None if the text does not look like one. Spaces are accepted for dashes.

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
    """Return whether a text has the form of a code, even with words that are not in the list."""
    return _FORM.fullmatch(text.strip().lower()) is not None


def looks_like_a_part_of_a_code(text: str) -> bool:
    """Return whether a text can be an incomplete code.

    >>> [looks_like_a_part_of_a_code(each) for each in ("792", "792-tiger", "792tiger-olive", "Friday")]
    [True, True, True, False]
    """
    return _PART.fullmatch(text.strip().lower()) is not None


def load() -> None:
    """Load the libraries for an exchange and its link. It takes some 50 ms, so a guest does it while it listens."""
    for name in ("nacl.bindings", "spake2"):
        import_module(name)


ELEMENT_BYTES: Final = 32
_GUEST, _HOST = b"A", b"B"
"""The sides of SPAKE2, with which the library prefixes its messages. Frames omit this prefix."""


class CodeExchangeError(PeerError, ValueError):
    """The peer did not send an element of the group, or it returned this side's own element."""


class CodeExchange:
    """One side of a SPAKE2 exchange.

    :param guest: the guest's identity key.
    :param host: the host's identity key.
    :param table: the table id.
    :param is_host: whether this is the host's side.
    :param randomness: returns the given number of random bytes.
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
        from spake2 import SPAKE2_A, SPAKE2_B  # imported late, because hardly any command needs it

        self._context = guest, host, table
        self._is_host = is_host
        self._side = (SPAKE2_B if is_host else SPAKE2_A)(str(code).encode(), guest, host, entropy_f=randomness)
        self._key = b""
        self.element: bytes = self._side.start()[1:]
        """The element to send to the other side."""

    def take(self, element: bytes) -> None:
        """Process the element of the other side. To be called once.

        :raises CodeExchangeError: if it is not a valid element.
        """
        from spake2 import SPAKEError
        from spake2.ed25519_basic import NotOnCurve

        try:
            self._key = self._side.finish((_GUEST if self._is_host else _HOST) + element)
        except (SPAKEError, NotOnCurve, ValueError):
            raise CodeExchangeError("it sent no element of the group") from None

    @property
    def proof(self) -> bytes:
        """The proof to the other side that this one knows the code."""
        return self._proof(is_host=self._is_host)

    def is_proven_by(self, proof: bytes) -> bool:
        """Return whether ``proof`` shows that the other side knows the code."""
        return hmac.compare_digest(proof, self._proof(is_host=not self._is_host))

    def _proof(self, *, is_host: bool) -> bytes:
        assert self._key
        return tagged_hash("code-proof", self._key, int(is_host), *self._context)
